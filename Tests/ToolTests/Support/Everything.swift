import Foundation
import Strata
import TortureKit

/// A model with attributes of all types and relationships of all kinds, and random graphs of it.
enum Everything {
  static func model() -> ManagedObjectModel {
    let thing = EntityDescription("Thing")
    let special = EntityDescription("Special")
    let group = EntityDescription("Group")
    func link(_ name: String, _ to: EntityDescription, many: Bool, ordered: Bool = false)
      -> RelationshipDescription
    {
      RelationshipDescription(name, to: to, maxCount: many ? 0 : 1, isOrdered: ordered)
    }
    func pair(_ a: RelationshipDescription, _ b: RelationshipDescription) {
      a.inverseRelationship = b
      b.inverseRelationship = a
    }
    let (things, owner) = (link("things", thing, many: true), link("group", group, many: false))
    pair(things, owner)
    let (queue, queued) = (
      link("queue", thing, many: true, ordered: true), link("queuedIn", group, many: false)
    )
    pair(queue, queued)
    let (tags, tagged) = (link("tags", group, many: true), link("tagged", thing, many: true))
    pair(tags, tagged)
    let (steps, stepOf) = (
      link("steps", thing, many: true, ordered: true), link("stepOf", group, many: true, ordered: true)
    )
    pair(steps, stepOf)
    let (partner, partnerOf) = (link("partner", thing, many: false), link("partnerOf", thing, many: false))
    pair(partner, partnerOf)
    let friends = link("friends", thing, many: true)
    friends.inverseRelationship = friends
    let mentor = link("mentor", thing, many: false)
    let loose = link("loose", thing, many: true)
    let geo = CompositeAttributeDescription(
      "geo", elements: [AttributeDescription("lat", .double), AttributeDescription("lon", .double)])
    thing.properties = [
      AttributeDescription("text", .string), AttributeDescription("int16", .integer16),
      AttributeDescription("int32", .integer32), AttributeDescription("int64", .integer64),
      AttributeDescription("decimal", .decimal), AttributeDescription("double", .double),
      AttributeDescription("float", .float), AttributeDescription("flag", .boolean),
      AttributeDescription("date", .date), AttributeDescription("data", .binaryData),
      AttributeDescription("uuid", .uuid), AttributeDescription("uri", .uri),
      AttributeDescription("list", .transformable),
      CompositeAttributeDescription(
        "address", elements: [AttributeDescription("city name", .string), geo]),
      AttributeDescription("kind", .string, isOptional: false, defaultValue: "plain"),
      AttributeDescription("memo", .string, isTransient: true),
      DerivedAttributeDescription("loud", .string, derivationExpression: "uppercase:(text)"),
      DerivedAttributeDescription("changed", .date, derivationExpression: "now()"),
      owner, queued, tags, stepOf, partner, partnerOf, friends, mentor,
    ]
    thing.indexes = [FetchIndexDescription(name: "byText", attributes: ["text", "int64"])]
    special.properties = [AttributeDescription("extra", .string), AttributeDescription("number", .integer64)]
    thing.subentities = [special]
    group.properties = [
      AttributeDescription("name", .string), things, queue, tagged, steps, loose,
      DerivedAttributeDescription("size", .integer64, derivationExpression: "things.@count"),
    ]
    group.uniquenessConstraints = [["name"]]
    return ManagedObjectModel(entities: [thing, group])
  }

  // MARK: Random graphs

  static let texts = [
    "", " ", "a", "\u{0}\u{1}\t\n\r\"\\/,", "é e\u{301} 日本 👩‍👩‍👧 \u{FEFF}", "line\r\nline",
    "“quoted”, \"twice\"\"", "p7", "null", "x-",
  ]
  static let doubles: [Double] = [
    0, -0.0, 1, 0.1, .pi, 1e300, -1e-300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity,
    -.infinity, .nan,
    Double(bitPattern: 0x7FF8_0000_0000_0123), Double(bitPattern: 0xFFF8_0000_0000_0000), 1 / 3,
    123_456_789_012_345_680,
  ]

  static func value(_ type: AttributeType, _ random: inout SeededGenerator) -> Any? {
    if random.chance(20) { return nil }
    switch type {
    case .integer16:
      return random.chance(30) ? random.pick([Int16.min, .max, 0]) : Int16(truncatingIfNeeded: random.next())
    case .integer32:
      return random.chance(30) ? random.pick([Int32.min, .max, 0]) : Int32(truncatingIfNeeded: random.next())
    case .integer64:
      return random.chance(30) ? random.pick([Int64.min, .max, 0]) : Int64(truncatingIfNeeded: random.next())
    case .boolean: return random.chance(50)
    case .double: return random.chance(40) ? random.pick(doubles) : Double(bitPattern: random.next())
    case .float:
      return random.chance(30)
        ? random.pick([Float.infinity, -.infinity, .nan, -0.0, .leastNonzeroMagnitude, 0.1])
        : Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))
    case .date:
      return Date(
        timeIntervalSinceReferenceDate: random.chance(30)
          ? random.pick([0, -63_113_904_000, 1e11, -1e11, 0.1, -978_307_200.123])
          : Double(random.next() % 2_000_000_000) / 3)
    case .decimal:
      if random.chance(10) {
        return random.pick([Decimal.nan, 0, -1, Decimal(string: "1e127")!, Decimal(string: "1e-127")!])
      }
      let digits = (0..<(1 + random.below(38))).map { _ in
        Character(UnicodeScalar(UInt8(48 + random.below(10))))
      }
      // Digits and a small exponent: a decimal.
      return Decimal(string: "\(random.chance(50) ? "-" : "")\(String(digits))e\(random.below(40) - 50)")!
    case .string:
      if random.chance(10) { return String(repeating: random.pick(texts) + "ä", count: 400) }
      return random.pick(texts) + random.pick(texts)
    case .binaryData:
      let count = random.chance(15) ? 3_000 : random.below(20)
      return Data((0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    case .uuid: return UUID(uuid: unsafeBitCast((random.next(), random.next()), to: uuid_t.self))
    case .uri:
      return URL(
        string: random.pick([
          "https://example.org/a%20b?q=1#f", "file:///tmp/x", "mailto:a@b.c", "relative/path",
        ]))
    default: return nil
    }
  }

  /// Fills a new store with some objects, links them, and deletes a few.
  static func fill(_ path: String, seed: UInt64, count: Int) throws {
    var random = SeededGenerator(seed: seed)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model())
    var description = PersistentStoreDescription(url: URL(fileURLWithPath: path))
    description.recordsHistory = random.chance(50)
    let store = try coordinator.addPersistentStore(description)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    nonisolated(unsafe) var generator = random
    try context.performAndWait {
      var random = generator
      var things: [ManagedObject] = []
      var groups: [ManagedObject] = []
      let entities = coordinator.managedObjectModel.entitiesByName
      for number in 0..<count {
        let name = random.chance(25) ? "Group" : random.chance(30) ? "Special" : "Thing"
        // The model has them.
        let entity = entities[name]!
        let object = ManagedObject(entity: entity, insertInto: context)
        for (key, attribute) in entity.attributesByName
        where !attribute.isTransient && !(attribute is DerivedAttributeDescription) {
          if key == "address" {
            if random.chance(60) {
              object.setValue(
                [
                  "city name": "Ulm \(number)", "geo": ["lat": Double(number) / 7],
                ] as [String: Any], forKey: key)
            }
          } else if key == "list" {
            if random.chance(50) { object.setValue(["a", "b \(number)"], forKey: key) }
          } else if key == "kind" {
            if random.chance(50) { object.setValue("kind \(number)", forKey: key) }
          } else if key == "name", name == "Group" {
            object.setValue("group \(number)", forKey: key)
          } else if let value = value(attribute.attributeType, &random) {
            object.setValue(value, forKey: key)
          }
        }
        if name == "Group" { groups.append(object) } else { things.append(object) }
        if random.chance(10) { try context.save() }
      }
      link(things, groups, &random)
      try context.save()
      for object in things + groups where random.chance(10) { context.delete(object) }
      try context.save()
      generator = random
    }
    random = generator
    if random.chance(50) {
      try coordinator.setMetadata(["note": "kept \"as\" it is", "number": 7], for: store)
      try context.performAndWait { try context.save() }
    }
    try coordinator.remove(store)
  }

  private static func link(
    _ things: [ManagedObject], _ groups: [ManagedObject], _ random: inout SeededGenerator
  ) {
    func some(_ objects: [ManagedObject]) -> [ManagedObject] {
      var chosen: [ManagedObject] = []
      for object in objects.shuffled(using: &random) where random.chance(40) { chosen.append(object) }
      return chosen
    }
    for thing in things {
      if let group = random.pickAny(groups), random.chance(60) { thing.setValue(group, forKey: "group") }
      if let group = random.pickAny(groups), random.chance(60) { thing.setValue(group, forKey: "queuedIn") }
      if let other = random.pickAny(things), random.chance(40) { thing.setValue(other, forKey: "mentor") }
      if let other = random.pickAny(things), random.chance(40) { thing.setValue(other, forKey: "partner") }
      thing.setValue(Set(some(groups)), forKey: "tags")
      thing.setValue(Set(some(things)), forKey: "friends")
    }
    for group in groups {
      group.setValue(some(things), forKey: "steps")
      group.setValue(Set(some(things)), forKey: "loose")
    }
  }

  // MARK: What is in a store

  /// Every object with every value and link, as a program sees them; nothing of a dump has a part in it.
  static func graph(_ path: String) throws -> [String: [String: String]] {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model())
    let store = try coordinator.addPersistentStore(
      PersistentStoreDescription(url: URL(fileURLWithPath: path)))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    func name(_ object: ManagedObject) -> String {
      "\(object.objectID.entityName)/\(object.objectID.uriRepresentation().lastPathComponent)"
    }
    let graph = try context.performAndWait {
      var graph: [String: [String: String]] = [:]
      for entity in ["Thing", "Group"] {
        for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity)) {
          var values: [String: String] = ["entity": object.objectID.entityName]
          for (key, property) in object.entity.propertiesByName where !property.isTransient {
            let value = object.value(forKey: key)
            if let relationship = property as? RelationshipDescription {
              if !relationship.isToMany {
                values[key] = (value as? ManagedObject).map(name) ?? "nil"
              } else if let members = value as? [ManagedObject] {
                values[key] = members.map(name).joined(separator: " ")
              } else if let members = value as? Set<ManagedObject> {
                values[key] = members.map(name).sorted().joined(separator: " ")
              }
            } else {
              values[key] = text(value)
            }
          }
          graph[name(object)] = values
        }
      }
      return graph
    }
    try coordinator.remove(store)
    return graph
  }

  /// A value so that different bits have different texts.
  private static func text(_ value: Any?) -> String {
    switch value {
    case nil: return "nil"
    case let value as Double: return "double \(value.bitPattern)"
    case let value as Float: return "float \(value.bitPattern)"
    case let value as Date: return "date \(value.timeIntervalSinceReferenceDate.bitPattern)"
    case let value as Data: return "data \(value.base64EncodedString())"
    case let value as String: return "text \(Array(value.utf8))"
    case let value as URL: return "url \(value.absoluteString)"
    case let value as [String: Any]:
      return "{" + value.keys.sorted().map { "\($0): \(text(value[$0]))" }.joined(separator: ", ") + "}"
    case let value as [Any]: return "[" + value.map { text($0) }.joined(separator: ", ") + "]"
    case let value?: return "\(type(of: value)) \(value)"
    }
  }
}
