import Foundation
import Strata
import Testing

/// Predicates and sorts that follow relationships (rules 86, 92, 107, 109).
@Suite struct RelatedPredicateTests {
  @Test("rule 107: an object of a sibling entity is never at the end of a one-to-one relationship")
  func siblingsOfTheDestination() throws {
    let person = EntityDescription("Person")
    let company = EntityDescription("Company", properties: [AttributeDescription("turnover", .integer64)])
    let party = EntityDescription(
      "Party", properties: [AttributeDescription("name", .string)], subentities: [person, company])
    let badge = EntityDescription("Badge")
    let holder = RelationshipDescription("holder", to: person, maxCount: 1)
    let back = RelationshipDescription("badge", to: badge, maxCount: 1)
    holder.inverseRelationship = back
    back.inverseRelationship = holder
    badge.properties.append(holder)
    person.properties.append(back)
    let store = try TemporaryStore(ManagedObjectModel(entities: [party, person, company, badge]))
    let context = store.context()
    let objects = [person, company, party].map { ManagedObject(entity: $0, insertInto: context) }
    ManagedObject(entity: badge, insertInto: context).setValue(objects[0], forKey: "holder")
    // As a reference would lie in the slot of the relationship.
    objects[1].setValue(Int64(1) << 16, forKey: "turnover")
    try context.save()
    let counts = try objects.map { object in
      try store.context().count(
        for: FetchRequest<ManagedObject>(
          entityName: "Badge", predicate: .compare(.key("holder"), .equal, .objects([object.objectID]))))
    }
    #expect(counts == [1, 0, 0])
  }

  @Test func keyPathsFollowToOneRelationships() throws {
    let stand = try QueryStand()
    #expect(try stand.agents(.comparison(key: "base.code", .equal, "LGA")) == ["bob", "cid"])
    #expect(try stand.agents(.comparison(key: "boss.base.code", .equal, "JFK")) == ["bob", "cid"])
    #expect(try stand.agents(.comparison(key: "base.size", .greater, 2)) == ["ann"])
    // A path through nil is nil.
    #expect(try stand.agents(.comparison(key: "base.code", .equal, .null)) == ["dan"])
    #expect(try stand.agents(.comparison(key: "base.code", .notEqual, "LGA")) == ["ann", "dan"])
    #expect(try stand.agents(!(.comparison(key: "base.size", .greater, 2))) == ["bob", "cid", "dan"])
  }

  @Test("rule 109: ANY, ALL, SUBQUERY and collection functions")
  func quantifiersAndFunctionsOfMembers() throws {
    let stand = try QueryStand()
    #expect(try stand.agents(.any("visits.score", .greater, 4)) == ["ann", "bob"])
    #expect(
      try stand.agents(.compare(.key("visits.score"), .greater, .constant(4), .all)) == ["bob", "dan"])
    #expect(try stand.agents(!(.any("visits.score", .greater, 4))) == ["cid", "dan"])
    #expect(try stand.agents(.any("staff.visits.score", .equal, 2)) == ["ann"])
    func visits(_ aggregate: FetchAggregate, _ key: String = "visits.score") -> FetchExpression {
      .aggregate(aggregate, .key(key))
    }
    #expect(try stand.agents(.compare(visits(.count, "visits"), .equal, .constant(3))) == ["ann"])
    #expect(try stand.agents(.compare(visits(.count, "visits"), .equal, .constant(0))) == ["dan"])
    #expect(try stand.agents(.compare(visits(.sum), .equal, .constant(15))) == ["ann"])
    #expect(try stand.agents(.compare(visits(.average), .equal, .constant(5))) == ["ann", "bob"])
    #expect(try stand.agents(.compare(visits(.minimum), .less, .constant(3))) == ["ann", "cid"])
    #expect(try stand.agents(.compare(visits(.maximum), .equal, .constant(.null))) == ["dan"])
    #expect(try stand.agents(.compare(.key("visits.@max.score"), .equal, .constant(9))) == ["ann"])
    let many = FetchExpression.aggregate(
      .count,
      .subquery(
        .key("visits"), variable: "v",
        .compare(.keyPath(base: .variable("v"), keys: ["score"]), .greaterOrEqual, .constant(5))))
    #expect(try stand.agents(.compare(many, .equal, .constant(2))) == ["ann"])
    #expect(try stand.agents(.compare(many, .greater, .constant(0))) == ["ann", "bob"])
    // Beside the member, a sub-query sees the object it is about.
    let own = FetchExpression.aggregate(
      .count,
      .subquery(
        .key("visits"), variable: "v",
        .compare(.keyPath(base: .variable("v"), keys: ["place"]), .equal, .key("base"))))
    #expect(try stand.agents(.compare(own, .greater, .constant(0))) == ["ann", "bob"])
  }

  @Test("rule 107: objects and their IDs on either side")
  func objectsAreCompared() throws {
    let stand = try QueryStand()
    let ann = try stand.object("Agent", "name", "ann").objectID
    let guardia = try stand.object("Place", "code", "LGA").objectID
    #expect(try stand.agents(.compare(.key("boss"), .equal, .objects([ann]))) == ["bob", "cid"])
    #expect(try stand.agents(.compare(.objects([ann]), .equal, .key("boss"))) == ["bob", "cid"])
    #expect(try stand.agents(.compare(.key("boss"), .notEqual, .objects([ann]))) == ["ann", "dan"])
    #expect(try stand.agents(.compare(.key("boss"), .equal, .constant(.null))) == ["ann"])
    #expect(try stand.agents(.compare(.key("boss.base"), .in, .objects([guardia]))) == ["dan"])
    #expect(try stand.agents(.compare(.evaluatedObject, .equal, .objects([ann]))) == ["ann"])
    #expect(
      try stand.agents(.compare(.key("objectID"), .notEqual, .objects([ann]))) == ["bob", "cid", "dan"])
    #expect(try stand.names("Place", "code", .compare(.objects([ann]), .in, .key("agents"))) == ["JFK"])
    #expect(try stand.names("Place", "code", .compare(.key("agents"), .contains, .objects([ann]))) == ["JFK"])
    // An object of another hierarchy is never the one, although its key may be the same.
    #expect(try stand.agents(.compare(.key("boss"), .equal, .objects([guardia]))).isEmpty)
  }

  @Test func unsavedRelatedObjectsCount() throws {
    let stand = try QueryStand()
    let guardia = try stand.object("Place", "code", "LGA")
    guardia.setValue("XXX", forKey: "code")
    #expect(try stand.agents(.comparison(key: "base.code", .equal, "LGA")).isEmpty)
    #expect(try stand.agents(.comparison(key: "base.code", .equal, "XXX")) == ["bob", "cid"])
    let visit = try stand.object("Visit", "note", "v2")
    visit.setValue(try stand.object("Agent", "name", "dan"), forKey: "agent")
    #expect(try stand.agents(.any("visits.score", .equal, 2)) == ["dan"])
    // One level up everything is seen too, and what is changed there comes on top.
    let child = ManagedObjectContext(.confinement, parent: stand.context)
    #expect(try stand.agents(.any("visits.score", .equal, 2), child) == ["dan"])
    child.delete(try stand.object("Visit", "note", "v2", in: child))
    #expect(try stand.agents(.any("visits.score", .equal, 2), child).isEmpty)
    #expect(try stand.agents(.any("visits.score", .equal, 2)) == ["dan"])
    try child.save()
    #expect(try stand.agents(.any("visits.score", .equal, 2)).isEmpty)
  }

  @Test("rule 108: IN folds the texts of a list")
  func foldedLists() throws {
    let stand = try QueryStand()
    let texts = ["ANN", "Böb"] + (0..<20_000).map { "nobody \($0)" }
    func names(_ format: String) throws -> [String] {
      try stand.context.fetch(
        FetchRequest<ManagedObject>(
          entityName: "Agent", predicate: try FetchPredicate(format: format, texts),
          sortDescriptors: [FetchSort("name")])
      ).compactMap { $0["name"] as? String }
    }
    #expect(try names("name IN[c] %@") == ["ann"])
    #expect(try names("name IN[cd] %@") == ["ann", "bob"])
    #expect(try names("name IN %@") == [])
    #expect(try names("NOT name IN[cd] %@") == ["cid", "dan"])
  }

  @Test("rule 87: without pending changes the store alone decides")
  func pendingChangesCanBeLeftOut() throws {
    let stand = try QueryStand()
    try stand.object("Place", "code", "LGA").setValue("XXX", forKey: "code")
    var request = FetchRequest<ManagedObject>(entityName: "Agent")
    request.predicate = .comparison(key: "base.code", .equal, "LGA")
    request.includesPendingChanges = false
    #expect(try stand.context.fetch(request).count == 2)
    request.includesPendingChanges = true
    #expect(try stand.context.fetch(request).isEmpty)
  }

  @Test func sortsFollowToOneRelationships() throws {
    let stand = try QueryStand()
    func order(_ sorts: FetchSort..., limit: Int = 0, offset: Int = 0) throws -> [String] {
      try stand.context.fetch(
        FetchRequest<ManagedObject>(
          entityName: "Agent", sortDescriptors: sorts, fetchLimit: limit, fetchOffset: offset)
      ).map { $0.value(forKey: "name") as? String ?? "" }
    }
    #expect(
      try order(FetchSort("base.code"), FetchSort("name", ascending: false)) == ["dan", "ann", "cid", "bob"])
    #expect(try order(FetchSort("base.code", ascending: false), limit: 2, offset: 1) == ["cid", "ann"])
    // The window is cut from what the context sees.
    try stand.object("Place", "code", "JFK").setValue("ZZZ", forKey: "code")
    #expect(try order(FetchSort("base.code", ascending: false), limit: 2) == ["ann", "bob"])
  }

  @Test func expressionsAreCalculated() throws {
    let stand = try QueryStand()
    let tenfold = FetchExpression.function(.multiply, [.key("medium"), .constant(10)])
    #expect(try stand.agents(.compare(.key("long"), .equal, tenfold)) == ["ann", "bob", "cid", "dan"])
    #expect(try stand.agents(.compare(tenfold, .greater, .constant(25))) == ["cid", "dan"])
    #expect(
      try stand.agents(.compare(.function(.uppercase, [.key("name")]), .like, .constant("?N*"))) == ["ann"])
    let either = FetchExpression.conditional(
      .comparison(key: "base", .equal, .null), .constant(100), .key("medium"))
    #expect(try stand.agents(.compare(either, .greater, .constant(2))) == ["cid", "dan"])
    #expect(
      try stand.agents(
        .compare(
          .key("medium"), .between, .list([.constant(2), .function(.add, [.constant(1), .constant(2)])])))
        == ["bob", "cid"])
    #expect(
      try stand.agents(.compare(.key("visits.score"), .greater, .key("medium"), .any)) == ["ann", "bob"])
  }

  @Test func sumsThatDoNotFitAreErrors() throws {
    let stand = try QueryStand()
    let ann = try stand.object("Agent", "name", "bob")
    ann.setValue(Int64.max, forKey: "long")
    let sum = FetchExpression.aggregate(.sum, .key("staff.long"))
    let error = #expect(throws: FetchError.self) {
      try stand.agents(.compare(sum, .greater, .constant(0)))
    }
    #expect(error?.reason == .overflow("A sum"))
  }
}
