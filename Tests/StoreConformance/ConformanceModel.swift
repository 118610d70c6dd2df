import Foundation
import StrataCore

/// The model of the cases.
///
/// ```
///   Item       an attribute of every kind, and a number that tells the objects apart
///   Person     name · boss ─▶ Person ◀◀ team · desk ─ Desk.owner · groups ◀◀──▶▶ Group.people · diary ──▶▶ Page (ordered, cascade)
///              mentor ─▶ Person (no inverse) · guard ─▶ Group (deny)
///     Manager  level
///   Account    number, unique · owner and year, unique together
///   Seat       row and person ─▶ Person.seats ◀◀, unique together · screen ─▶ Desk (no inverse), unique · note
///   Total      name · parts ──▶▶ Part, derived: the number of parts
/// ```
package enum ConformanceModel {
  package static func make() -> ManagedObjectModel {
    let person = EntityDescription("Person", properties: [AttributeDescription("name", .string)])
    let manager = EntityDescription("Manager", properties: [AttributeDescription("level", .integer32)])
    let desk = EntityDescription("Desk", properties: [AttributeDescription("room", .string)])
    let group = EntityDescription("Group", properties: [AttributeDescription("title", .string)])
    let page = EntityDescription("Page", properties: [AttributeDescription("text", .string)])
    person.subentities = [manager]
    relate(person, "boss", 1, .nullify, person, "team", 0, .nullify)
    relate(person, "desk", 1, .cascade, desk, "owner", 1, .nullify)
    relate(person, "groups", 0, .nullify, group, "people", 0, .nullify)
    relate(person, "diary", 0, .cascade, page, "writer", 1, .nullify, isOrdered: true)
    relate(group, "guards", 0, .deny, person, "guarded", 1, .nullify)
    person.properties.append(RelationshipDescription("mentor", to: person, maxCount: 1))
    let seat = EntityDescription(
      "Seat", properties: [AttributeDescription("row", .integer32), AttributeDescription("note", .string)],
      uniquenessConstraints: [["person", "row"], ["screen"]])
    relate(person, "seats", 0, .nullify, seat, "person", 1, .nullify)
    seat.properties.append(RelationshipDescription("screen", to: desk, maxCount: 1))
    return ManagedObjectModel(
      entities: [item(), person, manager, desk, group, page, seat, account()] + totals())
  }

  private static func item() -> EntityDescription {
    EntityDescription(
      "Item",
      properties: [
        AttributeDescription("number", .integer64), AttributeDescription("small", .integer16),
        AttributeDescription("medium", .integer32), AttributeDescription("large", .integer64),
        AttributeDescription("double", .double), AttributeDescription("float", .float),
        AttributeDescription("decimal", .decimal), AttributeDescription("string", .string),
        AttributeDescription("boolean", .boolean), AttributeDescription("date", .date),
        AttributeDescription("data", .binaryData), AttributeDescription("uuid", .uuid),
        AttributeDescription("url", .uri), AttributeDescription("list", .transformable),
      ])
  }

  private static func account() -> EntityDescription {
    EntityDescription(
      "Account",
      properties: [
        AttributeDescription("number", .integer64), AttributeDescription("owner", .string),
        AttributeDescription("year", .integer32), AttributeDescription("balance", .double),
      ], uniquenessConstraints: [["number"], ["owner", "year"]])
  }

  private static func totals() -> [EntityDescription] {
    let part = EntityDescription("Part", properties: [AttributeDescription("amount", .integer64)])
    let total = EntityDescription("Total", properties: [AttributeDescription("name", .string)])
    total.properties.append(
      DerivedAttributeDescription("partCount", .integer64, derivationExpression: "parts.@count"))
    relate(total, "parts", 0, .cascade, part, "total", 1, .nullify)
    return [part, total]
  }

  private static func relate(
    _ owner: EntityDescription, _ name: String, _ count: Int, _ rule: DeleteRule, _ other: EntityDescription,
    _ back: String, _ backCount: Int, _ backRule: DeleteRule, isOrdered: Bool = false
  ) {
    let there = RelationshipDescription(
      name, to: other, maxCount: count, isOrdered: isOrdered, deleteRule: rule)
    let here = RelationshipDescription(back, to: owner, maxCount: backCount, deleteRule: backRule)
    there.inverseRelationship = here
    here.inverseRelationship = there
    owner.properties.append(there)
    other.properties.append(here)
  }
}

/// A kind of value: an attribute of `Item`, its values in ascending order, and whether requests may compare them.
struct ValueKind: Sendable {
  let attribute: String
  let values: [AttributeValue]
  let isOrdered: Bool

  static let all: [ValueKind] = [
    ValueKind(attribute: "small", values: [-32_768, -1, 0, 7, 32_767].map { .integer($0) }, isOrdered: true),
    ValueKind(
      attribute: "medium", values: [-2_147_483_648, -5, 0, 65_536, 2_147_483_647].map { .integer($0) },
      isOrdered: true),
    ValueKind(
      attribute: "large",
      values: [Int64.min, -9_007_199_254_740_993, 0, 9_007_199_254_740_993, Int64.max].map { .integer($0) },
      isOrdered: true),
    ValueKind(
      attribute: "double",
      values: [-Double.greatestFiniteMagnitude, -0.1, 0, Double.leastNonzeroMagnitude, 1e300].map {
        .double($0)
      },
      isOrdered: true),
    ValueKind(
      attribute: "float", values: [-3.5, -0.1, 0, 0.1, 16_777_216].map { .float($0) }, isOrdered: true),
    ValueKind(
      attribute: "decimal",
      values: ["-12345678901234567890.5", "-0.1", "0", "0.1", "99999999999999999999999999999999999999"]
        .compactMap {
          Decimal(string: $0).map { .decimal($0) }
        }, isOrdered: true),
    ValueKind(
      attribute: "string", values: ["", "A", "a", "aa", "ä", "日本"].map { .string($0) }, isOrdered: true),
    ValueKind(attribute: "boolean", values: [.boolean(false), .boolean(true)], isOrdered: true),
    ValueKind(
      attribute: "date",
      values: [-1e9, -0.25, 0, 700_000_000.125, 7e9].map { .date(Date(timeIntervalSinceReferenceDate: $0)) },
      isOrdered: true),
    ValueKind(
      attribute: "data",
      values: [[], [0], [0, 255], [1], [255, 0, 255]].map { .data(Data($0 as [UInt8])) }, isOrdered: false),
    ValueKind(
      attribute: "uuid",
      values: [
        "00000000-0000-0000-0000-000000000001", "7FFFFFFF-0000-0000-0000-000000000000",
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
      ].compactMap { UUID(uuidString: $0).map { .uuid($0) } }, isOrdered: false),
    ValueKind(
      attribute: "url",
      values: ["http://a.example/", "http://a.example/x?y=1", "mailto:b@c.example"].compactMap {
        URL(string: $0).map { .url($0) }
      }, isOrdered: false),
  ]
}

extension ManagedObjectContext {
  /// A new object of the entity with these values.
  @discardableResult
  func make(_ entity: String, _ values: [String: Any?] = [:]) -> ManagedObject {
    guard let description = persistentStoreCoordinator?.managedObjectModel.entitiesByName[entity] else {
      fatalError("the model of the cases has no entity \(entity)")
    }
    let object = ManagedObject(entity: description, insertInto: self)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }

  /// An item for each value of a kind and one without, each with a number; they are saved.
  func makeItems(_ kind: ValueKind) throws {
    for (number, value) in ([.null] + kind.values).enumerated() {
      make("Item", ["number": Int64(number), kind.attribute: value.anyValue])
    }
    try save()
  }

  func all(_ entity: String, _ predicate: FetchPredicate? = nil, by keys: FetchSort...) throws
    -> [ManagedObject]
  {
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.predicate = predicate
    request.sortDescriptors = keys
    return try fetch(request)
  }

  func all(_ entity: String, format: String, _ arguments: [Any?] = [], by key: String) throws
    -> [ManagedObject]
  {
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.predicate = try FetchPredicate(format: format, argumentArray: arguments)
    request.sortDescriptors = [FetchSort(key)]
    return try fetch(request)
  }

  /// The one object of the entity with that value.
  func one(_ entity: String, _ key: String, _ value: AttributeValue) throws -> ManagedObject {
    let found = try all(entity, .comparison(key: key, .equal, value))
    guard found.count == 1 else {
      throw NotConforming(
        description: "\(found.count) objects of \(entity) have \(key) \(value), where one was expected")
    }
    return found[0]
  }
}

extension ManagedObject {
  func text(_ key: String) -> String { value(forKey: key) as? String ?? "nil" }
  func integer(_ key: String) -> Int64? { value(forKey: key) as? Int64 }
  func object(_ key: String) -> ManagedObject? { value(forKey: key) as? ManagedObject }
  func members(_ key: String) -> Set<ManagedObject> { value(forKey: key) as? Set<ManagedObject> ?? [] }
  func list(_ key: String) -> [ManagedObject] { value(forKey: key) as? [ManagedObject] ?? [] }
}

func texts(_ objects: some Sequence<ManagedObject>, _ key: String) -> [String] {
  objects.map { $0.text(key) }
}
