import Foundation
import Strata
import Testing
import TortureKit

/// Plans, and what executing them took.
@Suite struct ExplainTests {
  @Test func testsCanAskForAnIndex() throws {
    let stand = try QueryStand()
    let explanation = try stand.explain("Agent", Attribute("name") == "bob")
    #expect(explanation.indexName == "Agent.byName")
    #expect(!explanation.isScan)
    #expect(explanation.stores[0].estimatedRows == 1)
    #expect(explanation.stores[0].execution?.rowsExamined == 1)
    #expect(explanation.returned == 1)
    #expect(explanation.description.contains("index Agent.byName where name == \"bob\""))
    #expect(try stand.explain("Agent", Attribute("nick") == "x").isScan)
    #expect(try stand.context.explain(FetchRequest<ManagedObject>(entityName: "Agent")).returned == nil)
  }

  @Test func relationshipsAreWalkedBackwards() throws {
    let stand = try QueryStand(padding: 300)
    // From the place, found by its index, to its agents.
    let agents = try stand.explain("Agent", .comparison(key: "base.code", .equal, "LGA"))
    #expect(agents.stores[0].access == .related)
    #expect(agents.indexName == "Place.byCode")
    #expect(agents.returned == 2)
    #expect((agents.stores[0].execution?.rowsExamined ?? .max) < 10)
    // Through two relationships.
    let staff = try stand.explain("Agent", .comparison(key: "boss.base.code", .equal, "JFK"))
    #expect(staff.indexName == "Place.byCode" && staff.returned == 2)
    // From the members, found by theirs, to their owners.
    let visited = try stand.explain("Agent", .any("visits.score", .equal, 2))
    #expect(visited.indexName == "Visit.byScore" && visited.returned == 1)
    // From an object that is known.
    let ann = try stand.object("Agent", "name", "ann").objectID
    let known = try stand.explain("Agent", .compare(.key("boss"), .equal, .objects([ann])))
    #expect(known.stores[0].access == .related && known.returned == 2)
    #expect((known.stores[0].execution?.rowsExamined ?? .max) < 10)
  }

  @Test func alternativesAreLookedUpOneByOne() throws {
    let stand = try QueryStand(padding: 300)
    let either = try stand.explain("Agent", Attribute("name") == "ann" || Attribute("medium") == 3)
    #expect(either.stores[0].access == .union)
    #expect(either.stores[0].indexNames == ["Agent.byName", "Agent.byMedium"])
    #expect(either.returned == 2 && either.stores[0].execution?.rowsExamined == 2)
    // One part without an index: all rows must be looked at.
    #expect(try stand.explain("Agent", Attribute("name") == "ann" || Attribute("nick") == "x").isScan)
  }

  @Test func tooManyCandidatesAreScanned() throws {
    let stand = try QueryStand(padding: 3_000)
    let most = try stand.explain("Agent", Attribute("name") == "ann" || Attribute("medium") > 5)
    #expect(most.stores[0].execution?.hasScannedInstead == true)
    #expect(most.returned == 3_001)
  }

  @Test func entriesOfAnIndexCanDecideAlone() throws {
    let stand = try QueryStand(padding: 300)
    var request = FetchRequest<ManagedObject>(entityName: "Visit")
    request.predicate = Attribute("day") == nil && Attribute("score") != 5 && Attribute("score") < 9
    let covered = try stand.context.explainCount(for: request, .executing)
    #expect(covered.indexName == "Visit.byDayScore")
    #expect(covered.stores[0].isCovering)
    #expect(covered.stores[0].execution?.rowsExamined == 0)
    #expect(covered.returned == 2)
  }

  @Test func unsavedChangesAreTold() throws {
    let stand = try QueryStand()
    try stand.object("Agent", "name", "ann").setValue("eve", forKey: "name")
    let own = try stand.explain("Agent", Attribute("name") == "eve")
    #expect(own.overlay?.matching == 1 && own.overlay?.hidden == 1)
    #expect(own.overlay?.isEvaluatedInContext == false)
    try stand.object("Place", "code", "LGA").setValue("XXX", forKey: "code")
    let related = try stand.explain("Agent", .comparison(key: "base.code", .equal, "XXX"))
    #expect(related.overlay?.isEvaluatedInContext == true)
    #expect(related.returned == 2)
  }

  @Test("rules 88, 98: of rows of values, the rows are counted; what is unsaved takes no part")
  func rowsOfValues() throws {
    let stand = try QueryStand(padding: 50)
    try stand.object("Agent", "name", "ann").setValue("eve", forKey: "name")
    var request = FetchRequest<FetchedDictionary>(entityName: "Agent")
    request.propertiesToFetch = ["base.code", .count(as: "agents")]
    request.propertiesToGroupBy = ["base.code"]
    request.predicate = Attribute("name") < "padding"
    // A name that only the columns have.
    request.sortDescriptors = [FetchSort("agents", ascending: false)]
    let planned = try stand.context.explain(request)
    #expect(planned.indexName == "Agent.byName" && planned.returned == nil && planned.overlay == nil)
    let explanation = try stand.context.explain(request, .executing)
    #expect(explanation.returned == 3)
    #expect(explanation.overlay == nil)
    #expect(explanation.stores[0].execution?.rowsExamined == 4)
    #expect(explanation.stores[0].execution?.rowsReturned == 4)
    #expect(explanation.description.contains("returned: 3 rows of values"))
    #expect(try stand.context.explainCount(for: request, .executing).returned == 3)
    request.propertiesToFetch = ["name"]
    request.propertiesToGroupBy = []
    request.sortDescriptors = []
    let counted = try stand.context.explainCount(for: request, .executing)
    #expect(counted.returned == 4 && counted.stores[0].execution?.rowsExamined == 0)
    // The ends of an index.
    var ends = FetchRequest<FetchedDictionary>(entityName: "Agent")
    ends.propertiesToFetch = [.expression("most", .aggregate(.maximum, .key("medium"))), .count(as: "n")]
    let found = try stand.context.explain(ends, .executing)
    #expect(found.indexName == "Agent.byMedium" && found.returned == 1)
    #expect((found.stores[0].execution?.rowsExamined ?? .max) <= 1)
    ends.sortDescriptors = [FetchSort("nobody")]
    #expect(throws: FetchError.self) { try stand.context.explain(ends) }
  }

  @Test func whatTheStoresTookIsPartOfTheWhole() throws {
    let stand = try QueryStand(padding: 500)
    try stand.object("Place", "code", "LGA").setValue("XXX", forKey: "code")
    for predicate in [
      Attribute("name") == "padding", .comparison(key: "base.code", .equal, "XXX"), .everything,
    ] {
      for explanation in [
        try stand.explain("Agent", predicate),
        try stand.context.explainCount(
          for: FetchRequest<ManagedObject>(entityName: "Agent", predicate: predicate), .executing),
        try stand.context.explain(
          FetchRequest<FetchedDictionary>(entityName: "Agent", predicate: predicate), .executing),
      ] {
        let parts = explanation.stores.reduce(Duration.zero) { $0 + ($1.execution?.duration ?? .zero) }
        #expect(try #require(explanation.duration) >= parts)
      }
    }
    let counted = try stand.context.explain(FetchRequest<Int>(entityName: "Agent"), .executing)
    #expect(counted.returned == 504)
  }

  @Test func likeAndKeyPathsUseRanges() throws {
    let stand = try QueryStand(padding: 100)
    #expect(try stand.explain("Agent", .comparison(key: "name", .like, "an*")).indexName == "Agent.byName")
    #expect(try stand.explain("Agent", .comparison(key: "name", .like, "a?n*")).indexName == "Agent.byName")
    #expect(try stand.explain("Agent", .comparison(key: "name", .like, "*n")).isScan)
    #expect(
      try stand.explain(
        "Agent",
        .compare(FetchComparison(.key("name"), .beginsWith, .constant("an"), options: .caseInsensitive))
      ).isScan)
  }

  @Test func indexesCanBeAddedToAStore() throws {
    let stand = try QueryStand(isIndexed: false)
    #expect(try stand.explain("Agent", Attribute("name") == "bob").isScan)
    // Indexes are not part of version hashes (rule 346): the store opens, and builds what it has not.
    let reopened = try stand.store.reopened(QueryModel.make(isIndexed: true))
    let context = reopened.context()
    let request = FetchRequest<ManagedObject>(entityName: "Agent", predicate: Attribute("name") == "bob")
    #expect(try context.explain(request).indexName == "Agent.byName")
    #expect(try context.fetch(request).count == 1)
  }
}
