import Foundation
import Strata
import Testing

/// Numbers that get a wider type in the next version of a model (rule 307).
struct WiderNumberTests {
  let stand: MigrationStand

  init() throws { stand = try MigrationStand() }

  /// Shelf ──items──▶▶ Item. All numbers of one width, or of the width above.
  private static func model(isWide: Bool) -> ManagedObjectModel {
    func number(_ name: String, _ narrow: AttributeType, _ wide: AttributeType, _ value: Any? = nil)
      -> AttributeDescription
    {
      AttributeDescription(
        name, isWide ? wide : narrow, isOptional: value == nil, defaultValue: value)
    }
    let item = EntityDescription(
      "Item",
      properties: [
        AttributeDescription("name", .string), number("small", .integer16, .integer32),
        number("code", .integer16, .integer64), number("middle", .integer32, .integer64),
        number("share", .float, .double), number("exact", .integer32, .double),
        number("least", .integer16, .double),
        isWide
          ? number("grade", .integer16, .integer64, Int64(5_000_000_000))
          : number("grade", .integer16, .integer64),
      ],
      uniquenessConstraints: [["code"]],
      indexes: [
        FetchIndexDescription(name: "byMiddle", attributes: ["middle"]),
        FetchIndexDescription(name: "byExact", attributes: ["exact"]),
      ])
    let shelf = EntityDescription(
      "Shelf",
      properties: [
        AttributeDescription("name", .string),
        DerivedAttributeDescription("total", .integer64, derivationExpression: "items.@sum.small"),
      ])
    let items = RelationshipDescription("items", to: item, maxCount: 0)
    let home = RelationshipDescription("shelf", to: shelf, maxCount: 1)
    (items.inverseRelationship, home.inverseRelationship) = (home, items)
    shelf.properties.append(items)
    item.properties.append(home)
    return ManagedObjectModel(entities: [item, shelf])
  }

  private func names(_ context: ManagedObjectContext, _ predicate: FetchPredicate) throws -> [String] {
    let request = FetchRequest<ManagedObject>(entityName: "Item", predicate: predicate)
    return try context.fetch(request).compactMap { $0.textValue("name") }.sorted()
  }

  @Test(
    "rule 307: integers, and floats, become wider: values, indexes, constraints, derived values and history go on"
  )
  func widened() throws {
    let old = try stand.open(Self.model(isWide: false)) { $0.recordsHistory = true }
    let id = try old.performAndWait {
      let shelf = old.newObject("Shelf", ["name": "top"])
      for (name, number) in [("least", -32_768), ("one", 1), ("most", 32_767)] {
        old.newObject(
          "Item",
          [
            "name": name, "small": number, "code": number, "middle": number * 65_536,
            "exact": number * 65_536, "least": number, "share": Float(number) / 10, "grade": number,
            "shelf": shelf,
          ])
      }
      let none = old.newObject("Item", ["name": "none"])
      try old.save()
      return none.objectID.uriRepresentation()
    }
    let token = try #require(try stand.coordinator?.currentHistoryToken())

    let new = try stand.open(Self.model(isWide: true))
    #expect(try stand.problems() == [])
    try new.performAndWait {
      let items = try new.objectsByName("Item")
      #expect(items.keys.sorted() == ["least", "most", "none", "one"])
      for (name, number) in [("least", -32_768), ("one", 1), ("most", 32_767)] {
        let item = try #require(items[name])
        #expect(item.value(forKey: "small") as? Int64 == Int64(number))
        #expect(item.value(forKey: "code") as? Int64 == Int64(number))
        #expect(item.value(forKey: "middle") as? Int64 == Int64(number) * 65_536)
        #expect(item.value(forKey: "exact") as? Double == Double(number) * 65_536)
        #expect(item.value(forKey: "least") as? Double == Double(number))
        #expect(item.value(forKey: "share") as? Double == Double(Float(number) / 10))
        #expect(item.value(forKey: "grade") as? Int64 == Int64(number))
      }
      let none = try #require(items["none"])
      #expect(none.objectID.uriRepresentation() == id)
      for key in ["small", "code", "middle", "exact", "least", "share"] {
        #expect(none.value(forKey: key) == nil)
      }
      #expect(none.value(forKey: "grade") as? Int64 == 5_000_000_000, "the default value of the new type")
      #expect(try new.objectsByName("Shelf")["top"]?.value(forKey: "total") as? Int64 == 0)

      // By the indexes, on both sides of nought and beyond what the old types held.
      #expect(try names(new, Attribute("middle") < Int64(0)) == ["least"])
      #expect(try names(new, Attribute("middle") > Int64(65_536)) == ["most"])
      #expect(try names(new, Attribute("exact") < 65_536.5) == ["least", "one"])
      items["one"]?.setValue(Int64(1) << 40, forKey: "middle")
      items["one"]?.setValue(0.5, forKey: "exact")
      items["one"]?.setValue(100_000, forKey: "small")
      try new.save()
      new.refreshAllObjects()
      #expect(try names(new, Attribute("middle") > Int64(1) << 39) == ["one"])
      #expect(try names(new, Attribute("exact") < 0.75) == ["least", "one"])
      #expect(try new.objectsByName("Shelf")["top"]?.value(forKey: "total") as? Int64 == 99_999)

      // What is there already is known to the constraint.
      new.newObject("Item", ["name": "other", "code": 32_767])
      let error = #expect(throws: CoreDataError.self) { try new.save() }
      #expect(error?.code == .managedObjectConstraintMerge)
      new.rollback()
    }
    let later = try #require(stand.coordinator).history(.fetchHistory(after: token)).transactions
    #expect(later.last?.changes?.map(\.changedObjectID.entityName).contains("Item") == true)
    #expect(try stand.problems() == [])
  }

  @Test(
    "rule 307: what a type cannot hold all values of is refused with 134190 as ever",
    arguments: [
      (AttributeType.integer32, AttributeType.integer16), (.integer64, .integer32), (.double, .float),
      (.integer64, .double), (.integer32, .float), (.double, .integer64), (.integer16, .boolean),
      (.boolean, .integer16), (.integer16, .string), (.integer64, .decimal), (.date, .double),
    ])
  func narrowed(old: AttributeType, new: AttributeType) throws {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      ManagedObjectModel(entities: [
        EntityDescription("Item", properties: [AttributeDescription("number", type)])
      ])
    }
    let error = #expect(throws: CoreDataError.self) {
      try InferredMappingModel(from: model(old), to: model(new))
    }
    #expect(error?.code == .inferredMappingModel)
    #expect(error?.description.contains("Item.number has another type") == true)
    #expect(error?.description.contains("write a mapping model") == true)
  }

  @Test(
    "rule 309: the error says which numbers a narrower type has no room for",
    arguments: [
      (AttributeType.integer64, AttributeType.integer32, "below -2147483648 or above 2147483647"),
      (.integer32, .integer16, "below -32768 or above 32767"), (.double, .integer64, ", and for fractions"),
      (.double, .float, "more than 7 digits"), (.integer64, .double, "more than 15 digits"),
    ])
  func saidOfNarrowed(old: AttributeType, new: AttributeType, words: String) throws {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      ManagedObjectModel(entities: [
        EntityDescription("Item", properties: [AttributeDescription("number", type)])
      ])
    }
    let error = #expect(throws: CoreDataError.self) {
      try InferredMappingModel(from: model(old), to: model(new))
    }
    let reasons = error?.errorUserInfo[InferredMappingModel.reasonsKey] as? [String]
    #expect(reasons?.count == 1 && reasons?.first?.hasSuffix(words) == true, "\(reasons ?? [])")
  }
}
