import Foundation
import Strata
import Testing

/// Constraints and indexes that name to-one relationships.
///
///     Sensor    unique: name    ──readings──▶▶ Reading
///     Reading   unique: sensor and number; socket    index: sensor and number descending    ──socket──▶ Socket, without inverse
///      └ Probe
struct ReferenceKeyTests {
  static func model() -> ManagedObjectModel {
    let sensor = EntityDescription(
      "Sensor", properties: [AttributeDescription("name", .string)], uniquenessConstraints: [["name"]])
    let socket = EntityDescription("Socket", properties: [AttributeDescription("name", .string)])
    let probe = EntityDescription("Probe")
    let reading = EntityDescription(
      "Reading",
      properties: [AttributeDescription("number", .integer32), AttributeDescription("note", .string)],
      uniquenessConstraints: [["sensor", "number"], ["socket"]],
      indexes: [
        FetchIndexDescription(
          name: "newest",
          elements: [
            FetchIndexElementDescription(propertyName: "sensor"),
            FetchIndexElementDescription(propertyName: "number", isAscending: false),
          ])
      ], subentities: [probe])
    let readings = RelationshipDescription("readings", to: reading, maxCount: 0)
    let own = RelationshipDescription("sensor", to: sensor, maxCount: 1)
    readings.inverseRelationship = own
    own.inverseRelationship = readings
    sensor.properties.append(readings)
    reading.properties += [own, RelationshipDescription("socket", to: socket, maxCount: 1)]
    return ManagedObjectModel(entities: [sensor, socket, reading, probe])
  }

  @Test("a conflict tells the ID of what the reference leads to")
  func conflict() throws {
    let store = try TemporaryStore(Self.model())
    let context = store.context()
    let sensor = context.new("Sensor", ["name": "roof"])
    context.new("Reading", ["sensor": sensor, "number": 3 as Int32])
    try context.save()
    let duplicate = context.new("Probe", ["sensor": sensor, "number": 3 as Int32])
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectConstraintMerge)
    let found = try #require((error?.userInfo["conflictList"] as? [ConstraintConflict])?.first)
    #expect(found.constraint == ["sensor", "number"] && found.conflictingObjects == [duplicate])
    #expect(found.constraintValues["sensor"] as? ManagedObjectID == sensor.objectID)
    #expect(found.constraintValues["number"] as? Int64 == 3)
    #expect(found.databaseSnapshot?["sensor"] as? ManagedObjectID == sensor.objectID)
    #expect("\(found)".contains("sensor Sensor/p\(sensor.objectID.recordKey), number 3"), "\(found)")
    // Made by hand, it has the same values.
    let own = ConstraintConflict(
      constraint: ["sensor"], database: nil, databaseSnapshot: nil, conflicting: [duplicate],
      conflictingSnapshots: [nil])
    #expect(own.constraintValues["sensor"] as? ManagedObjectID == sensor.objectID)
  }

  @Test("a child that asks for it meets duplicates among what its parent has not saved")
  func inChildren() throws {
    let store = try TemporaryStore(Self.model())
    let parent = store.context()
    let sensor = parent.new("Sensor", ["name": "roof"])
    parent.new("Reading", ["sensor": sensor, "number": 3 as Int32])
    parent.processPendingChanges()
    let child = ManagedObjectContext(.confinement, parent: parent)
    child.checksUniquenessAtParent = true
    let mine = try #require(try child.all("Sensor").first)
    child.new("Reading", ["sensor": mine, "number": 3 as Int32, "note": "child"])
    let error = #expect(throws: CoreDataError.self) { try child.save() }
    #expect(error?.code == .managedObjectConstraintMerge)
    child.mergePolicy = .mergeByPropertyObjectTrump
    try child.save()
    try parent.save()
    #expect(try store.context().all("Reading").map { $0["note"] as? String } == ["child"])
  }

  @Test("records are put in by a key with a reference: objects and IDs, saved and unsaved")
  func upserted() throws {
    let store = try TemporaryStore(Self.model())
    let context = store.context()
    let (roof, door) = (context.new("Sensor", ["name": "roof"]), context.new("Sensor", ["name": "door"]))
    context.new("Reading", ["sensor": roof, "number": 1 as Int32, "note": "old"])
    try context.save()
    context.new("Reading", ["sensor": door, "number": 1 as Int32, "note": "unsaved"])
    func put(_ records: [[String: any Sendable]]) throws -> UpsertResult<ManagedObject> {
      try context.upsert(entityName: "Reading", by: ["number", "sensor"], records: records)
    }
    let result = try put([
      ["sensor": roof.objectID, "number": 1 as Int32, "note": "new"],
      ["sensor": door.objectID, "number": 1 as Int32, "note": "seen"],
      ["sensor": door.objectID, "number": 2 as Int32, "note": "second"],
    ])
    #expect(result.insertedCount == 1 && result.updatedCount == 2)
    try context.save()
    #expect(
      try store.context().all("Reading").map { $0["note"] as? String } == ["new", "seen", "second"])
    #expect((roof["readings"] as? Set<ManagedObject>)?.count == 1)
    let error = #expect(throws: CoreDataError.self) { try put([["number": 1 as Int32]]) }
    #expect(error?.localizedDescription.contains("Reading.sensor") == true)
    #expect(try store.problems() == [])
  }

  @Test("records whose key leads to a second store are found and made there; all lead to one store")
  func upsertedInASecondStore() throws {
    let store = try TemporaryStore(Self.model())
    let context = store.context()
    let second = try #require(context.persistentStoreCoordinator).addPersistentStore(.inMemory)
    let (here, there) = (context.new("Sensor", ["name": "here"]), context.new("Sensor", ["name": "there"]))
    try context.assign(there, to: second)
    try context.save()
    func put(_ note: String, _ sensors: [ManagedObject]) throws -> UpsertResult<ManagedObject> {
      try context.upsert(
        entityName: "Reading", by: ["sensor", "number"],
        records: sensors.map { ["sensor": $0, "number": 1 as Int32, "note": note] })
    }
    #expect(try put("new", [there]).insertedCount == 1)
    try context.save()
    let found = try put("newer", [there])
    #expect(found.updatedCount == 1 && found.objects.map(\.objectID.storeIdentifier) == [second.identifier])
    try context.save()
    #expect(throws: CoreDataError.self) { try put("both", [here, there]) }
    #expect(!context.hasChanges)
  }

  @Test("an index that begins with a reference answers as a walk over all rows does")
  func index() throws {
    let store = try TemporaryStore(Self.model())
    let context = store.context()
    let sensors = ["a", "b", "c"].map { context.new("Sensor", ["name": $0]) }
    for number in 0..<60 {
      let reading = context.new(number % 7 == 0 ? "Probe" : "Reading", ["number": Int32(number / 4)])
      if number % 4 < 3 { reading["sensor"] = sensors[number % 4] }
    }
    try context.save()
    typealias Test = (_ sensor: String?, _ number: Int) -> Bool
    let questions: [(String, Test)] = [
      ("sensor == %@", { sensor, _ in sensor == "b" }),
      ("sensor == %@ AND number > 4", { $0 == "b" && $1 > 4 }),
      ("sensor != %@", { sensor, _ in sensor != "b" }),
      ("sensor == nil AND number < 9", { $0 == nil && $1 < 9 }),
      ("sensor == nil", { sensor, _ in sensor == nil }),
      ("sensor != nil AND number == 3", { $0 != nil && $1 == 3 }),
      ("sensor.name == 'b' AND number BETWEEN {2, 8}", { $0 == "b" && (2...8).contains($1) }),
    ]
    for (format, test) in questions {
      let predicate = try FetchPredicate(
        format: format, argumentArray: format.contains("%@") ? [sensors[1]] : [])
      var request = FetchRequest<ManagedObject>(entityName: "Reading", predicate: predicate)
      request.sortDescriptors = [FetchSort("number", ascending: false)]
      let found = try store.context().fetch(request)
      let all = try context.all("Reading").filter {
        test(
          ($0["sensor"] as? ManagedObject)?["name"] as? String, ($0["number"] as? Int64).map { Int($0) } ?? -1
        )
      }
      #expect(
        Set(found.map(\.objectID)) == Set(all.map(\.objectID)) && found.count == all.count, "\(format)")
      let numbers = found.compactMap { $0["number"] as? Int64 }
      #expect(numbers == numbers.sorted(by: >) && !numbers.isEmpty, "\(format)")
    }
    #expect(try store.problems() == [])
  }

  @Test(
    "whatever is inserted, edited, deleted and merged, no two records share a key, and a save is refused only for that",
    arguments: 0..<10)
  func random(round: Int) throws {
    let named = ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) }
    let seed = named ?? UInt64.random(in: 0 ... .max)
    print("ReferenceKeyTests seed \(seed)")
    var run = try ReferenceKeyRun(seed: seed)
    for step in 0..<150 {
      do { try run.step() } catch {
        Issue.record(
          "seed \(seed), step \(step): \(error)\n\(run.story.suffix(20).joined(separator: "\n"))")
        return
      }
    }
    #expect(try run.store.problems() == [], "seed \(seed)")
  }
}

private struct ReferenceKeyRun {
  struct Mismatch: Error { let text: String }

  private var dice: Dice
  let store: TemporaryStore
  private let context: ManagedObjectContext
  private(set) var story: [String] = []

  init(seed: UInt64) throws {
    dice = Dice(seed: seed)
    store = try TemporaryStore(ReferenceKeyTests.model())
    context = store.context()
    for name in ["a", "b", "c"] {
      context.new("Sensor", ["name": name])
      context.new("Socket", ["name": name])
    }
    try context.save()
  }

  mutating func step() throws {
    switch dice.roll(16) {
    case 0..<11: try change(context)
    case 11:
      let child = ManagedObjectContext(.confinement, parent: context)
      for _ in 0...dice.roll(3) { try change(child) }
      story.append("child saves")
      try child.save()
    case 12: try batch()
    default: try save()
    }
  }

  private mutating func change(_ context: ManagedObjectContext) throws {
    context.processPendingChanges()
    let readings = try context.all("Reading")
    let sensors = try context.all("Sensor")
    let sockets = try context.all("Socket")
    func pick(_ objects: [ManagedObject]) -> ManagedObject? {
      objects.isEmpty || dice.roll(6) == 0 ? nil : objects[dice.roll(objects.count)]
    }
    let choice = dice.roll(12)
    if choice < 4 || readings.isEmpty {
      let reading = context.new(dice.roll(3) == 0 ? "Probe" : "Reading", ["note": dice.word()])
      let sensor = pick(sensors)
      reading["sensor"] = sensor
      if dice.roll(8) > 0 { reading["number"] = Int32(dice.roll(3)) }
      if dice.roll(5) == 0 { reading["socket"] = pick(sockets) }
      return story.append("insert \(reading.objectID.recordKey) \(sensor?["name"] ?? "-")")
    }
    let reading = readings[dice.roll(readings.count)]
    switch choice {
    case 4, 5:
      let sensor = pick(sensors)
      reading["sensor"] = sensor
      story.append("\(reading.objectID.recordKey) to \(sensor?["name"] ?? "-")")
    case 6:
      reading["number"] = dice.roll(5) == 0 ? nil : Int32(dice.roll(3))
      story.append("\(reading.objectID.recordKey) number \(reading["number"] ?? "-")")
    case 7:
      reading["socket"] = pick(sockets)
      story.append("\(reading.objectID.recordKey) socket")
    case 8:
      story.append("delete \(reading.objectID.recordKey)")
      context.delete(reading)
    case 9 where sensors.count > 1:
      let sensor = sensors[dice.roll(sensors.count)]
      story.append("delete sensor \(sensor["name"] ?? "-")")
      context.delete(sensor)
    case 10:
      // Its name may be taken, and then both sensors become one, with the readings of both.
      let name = ["a", "b", "c"][dice.roll(3)]
      let sensor = context.new("Sensor", ["name": name])
      story.append("insert sensor \(name)")
      reading["sensor"] = sensor
    default: reading["note"] = dice.word()
    }
  }

  private func key(_ reading: ManagedObject) -> String? {
    guard let sensor = reading["sensor"] as? ManagedObject, let number = reading["number"] else { return nil }
    return "\(sensor.objectID.recordKey) \(number)"
  }

  private func hasDuplicates(_ context: ManagedObjectContext) throws -> Bool {
    func isRepeated<Value: Hashable>(_ values: [Value]) -> Bool { Set(values).count < values.count }
    let (readings, sensors) = (try context.all("Reading"), try context.all("Sensor"))
    return isRepeated(readings.compactMap(key))
      || isRepeated(readings.compactMap { ($0["socket"] as? ManagedObject)?.objectID })
      || isRepeated(sensors.compactMap { $0["name"] as? String })
  }

  private mutating func save() throws {
    let policy = [
      MergePolicyType.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback,
    ][dice.roll(5)]
    context.mergePolicy = MergePolicy(merge: policy)
    let isRefused = try hasDuplicates(context)
    story.append("save \(policy)\(isRefused ? ", with duplicates" : "")")
    do {
      try context.save()
      if isRefused, policy == .error { throw Mismatch(text: "duplicates were saved") }
    } catch let error as CoreDataError where error.code == .managedObjectConstraintMerge {
      if !isRefused || policy != .error { throw error }
      context.rollback()
    }
    try compare()
  }

  private mutating func batch() throws {
    context.mergePolicy = .error
    if try hasDuplicates(context) { context.rollback() } else { try context.save() }
    let before = try states(store.context())
    do {
      if dice.roll(2) == 0 {
        story.append("batch deletion")
        var request = FetchRequest<ManagedObject>(entityName: "Sensor")
        request.predicate = .comparison(key: "name", .equal, .string(["a", "b", "c"][dice.roll(3)]))
        _ = try context.execute(BatchDeleteRequest(fetchRequest: request))
      } else {
        let expression = try FetchExpression(format: ["number + 1", "2 - number", "1"][dice.roll(3)])
        story.append("batch update \(expression)")
        _ = try context.execute(
          BatchUpdateRequest(
            entityName: "Reading", predicate: try FetchPredicate(format: "number < 3"),
            propertiesToUpdate: ["number": expression]))
      }
    } catch let error as CoreDataError where error.code == .managedObjectConstraintMerge {
      if try states(store.context()) != before {
        throw Mismatch(text: "a refused batch has changed something")
      }
    }
    context.refreshAllObjects()
    try compare()
  }

  private func states(_ context: ManagedObjectContext) throws -> [String] {
    try context.all("Reading").map {
      "\($0.objectID.recordKey) \(key($0) ?? "-") \($0["note"] ?? "-") \(($0["socket"] as? ManagedObject)?["name"] ?? "-")"
    }.sorted()
  }

  /// The context shows what is stored, which has no duplicates, and what leads back is what leads there.
  private func compare() throws {
    let fresh = store.context()
    let stored = try states(fresh)
    if try hasDuplicates(fresh) { throw Mismatch(text: "duplicates are stored: \(stored)") }
    let shown = try states(context)
    if shown != stored { throw Mismatch(text: "the context has \(shown), the store \(stored)") }
    for context in [context, fresh] {
      for sensor in try context.all("Sensor") {
        let members = Set((sensor["readings"] as? Set<ManagedObject> ?? []).map(\.objectID))
        let expected = try context.all(
          "Reading", try FetchPredicate(format: "sensor == %@", argumentArray: [sensor]))
        if members != Set(expected.map(\.objectID)) {
          throw Mismatch(text: "\(sensor["name"] ?? "-") has \(members), should have \(expected)")
        }
      }
    }
  }
}
