import Foundation
import Strata
import Testing
import TortureKit

/// Fetches that an index serves whose parts name to-one relationships.
///
///     Sensor ──readings──▶▶ Reading    indexes: sensor and number descending; number and sensor descending
///      └ Beacon              └ Probe
@Suite struct ReferenceIndexTests {
  /// Without beacons a reference to a sensor is one value, and its readings have an order in the index.
  static func model(hasBeacons: Bool = true) -> ManagedObjectModel {
    let beacon = EntityDescription("Beacon")
    let sensor = EntityDescription(
      "Sensor", properties: [AttributeDescription("name", .string)], subentities: hasBeacons ? [beacon] : [])
    let probe = EntityDescription("Probe")
    func index(_ name: String, _ parts: (String, Bool)...) -> FetchIndexDescription {
      FetchIndexDescription(
        name: name,
        elements: parts.map { FetchIndexElementDescription(propertyName: $0.0, isAscending: $0.1) })
    }
    let reading = EntityDescription(
      "Reading",
      properties: [AttributeDescription("number", .integer32), AttributeDescription("note", .string)],
      indexes: [
        index("newest", ("sensor", true), ("number", false)),
        index("numbered", ("number", true), ("sensor", false)),
      ], subentities: [probe])
    let readings = RelationshipDescription("readings", to: reading, maxCount: 0)
    let own = RelationshipDescription("sensor", to: sensor, maxCount: 1)
    readings.inverseRelationship = own
    own.inverseRelationship = readings
    sensor.properties.append(readings)
    reading.properties.append(own)
    return ManagedObjectModel(entities: [sensor, reading, probe] + (hasBeacons ? [beacon] : []))
  }

  @Test("a reference and a value are one place in the index, a reference alone is in its order")
  func plans() throws {
    // Sensors of one entity: the reference is one value.
    let store = try TemporaryStore(ReferenceKeyTests.model())
    let context = store.context()
    let sensors = ["a", "b"].map { context.new("Sensor", ["name": $0]) }
    for number in 0..<200 {
      context.new("Reading", ["sensor": sensors[number % 2], "number": Int32(number)])
    }
    try context.save()
    func explained(_ format: String, _ arguments: [Any], sorts: [FetchSort] = [], limit: Int = 0) throws
      -> String
    {
      var request = FetchRequest<ManagedObject>(
        entityName: "Reading", predicate: try FetchPredicate(format: format, argumentArray: arguments))
      request.sortDescriptors = sorts
      request.fetchLimit = limit
      return "\(try context.explain(request, .executing))"
    }
    let one = try explained("sensor == %@ AND number == 7", [sensors[1]])
    #expect(one.contains("where sensor IN 1 identifiers, number == 7") && !one.contains("then"), "\(one)")
    let last = try explained(
      "sensor == %@", [sensors[1]], sorts: [FetchSort("number", ascending: false)], limit: 3)
    #expect(
      last.contains("index Reading.newest where sensor IN 1 identifiers") && !last.contains("sort by"),
      "\(last)")
    let some = try explained("sensor IN %@ AND number > 190", [sensors.map(\.objectID)])
    #expect(some.contains("where sensor IN 2 identifiers, number > 190") && !some.contains("then"), "\(some)")
    // Without more to ask, members are as good.
    let all = try explained("sensor == %@", [sensors[1]])
    #expect(all.contains("members of 1 objects by sensor"), "\(all)")
  }

  @Test(
    "random questions for references have the answers of a walk over all objects, saved and unsaved",
    arguments: 0..<8, [true, false])
  func random(round: Int, hasBeacons: Bool) throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let store = try TemporaryStore(Self.model(hasBeacons: hasBeacons))
    let context = store.context()
    func sensors() throws -> [ManagedObject] {
      try context.all("Sensor").sorted { $0.objectID.recordKey < $1.objectID.recordKey }
    }
    func edit() throws {
      for _ in 0..<(1 + random.below(60)) {
        let known = try sensors()
        let sensor = known.isEmpty || random.chance(10) ? nil : known[random.below(known.count)]
        switch random.below(10) {
        case 0: context.new(hasBeacons && random.chance(50) ? "Beacon" : "Sensor", ["name": "s"])
        case 1: if known.count > 3, random.chance(30) { context.delete(known[random.below(known.count)]) }
        case 2...6:
          let reading = context.new(
            random.chance(30) ? "Probe" : "Reading", ["number": Int32(random.below(12)) - 3])
          if random.chance(10) { reading["number"] = nil }
          reading["sensor"] = sensor
        default:
          let readings = try context.all("Reading")
          guard let reading = readings.randomElement(using: &random) else { continue }
          if random.chance(50) {
            reading["sensor"] = sensor
          } else {
            reading["number"] = Int32(random.below(12)) - 3
          }
          if random.chance(10) { context.delete(reading) }
        }
      }
    }
    for step in 0..<12 {
      try edit()
      let isSaved = random.chance(70)
      if isSaved { try context.save() }
      let all = try context.all("Reading")
      let known = try sensors()
      for _ in 0..<10 {
        let asked = (0..<(1 + random.below(3))).compactMap { _ in known.randomElement(using: &random) }
        if asked.isEmpty { continue }
        let isOne = random.chance(50)
        let (low, high) = (random.below(10) - 3, random.below(10) - 3)
        let parts: [(String, [Any], (Int?) -> Bool)] = [
          ("", [], { _ in true }), (" AND number == %ld", [low], { $0 == low }),
          (" AND number > %ld", [low], { $0.map { $0 > low } ?? false }),
          (" AND number <= %ld", [low], { $0.map { $0 <= low } ?? false }),
          (" AND number == nil", [], { $0 == nil }),
          (" AND number IN %@", [[low, high]], { $0 == low || $0 == high }),
          (
            " AND number BETWEEN {%ld, %ld}", [min(low, high), max(low, high)],
            { $0.map { (min(low, high)...max(low, high)).contains($0) } ?? false }
          ),
        ]
        let part = parts[random.below(parts.count)]
        let format = (isOne ? "sensor == %@" : "sensor IN %@") + part.0
        let entity = random.chance(20) ? "Probe" : "Reading"
        let ids: [Any] = random.chance(50) ? asked : asked.map { $0.objectID as Any }
        let first: Any = isOne ? ids[0] : ids
        var request = FetchRequest<ManagedObject>(
          entityName: entity, predicate: try FetchPredicate(format: format, argumentArray: [first] + part.1))
        let ascending = random.chance(50)
        let isSorted = random.chance(70)
        if isSorted { request.sortDescriptors = [FetchSort("number", ascending: ascending)] }
        if isSorted, random.chance(40) {
          request.fetchLimit = 1 + random.below(5)
          request.fetchOffset = random.below(3)
        }
        let wanted = Set((isOne ? [asked[0]] : asked).map(\.objectID))
        func number(_ reading: ManagedObject) -> Int? {
          (reading["number"] as? NSNumber)?.intValue ?? (reading["number"] as? Int64).map { Int($0) }
        }
        let matching = all.filter { reading in
          guard let sensor = reading["sensor"] as? ManagedObject, wanted.contains(sensor.objectID) else {
            return false
          }
          return (entity == "Reading" || reading.entity.name == "Probe") && part.2(number(reading))
        }
        let found = try context.fetch(request)
        let about =
          "seed \(seed), round \(round), beacons \(hasBeacons), step \(step): \(entity) \(format) \(part.1), \(request.fetchOffset)/\(request.fetchLimit)"
        if request.fetchLimit == 0 {
          #expect(
            found.count == matching.count && Set(found.map(\.objectID)) == Set(matching.map(\.objectID)),
            "\(about)")
          #expect(try context.count(for: request) == matching.count, "\(about)")
        } else {
          #expect(Set(found.map(\.objectID)).isSubset(of: Set(matching.map(\.objectID))), "\(about)")
        }
        if isSorted {
          let sorted = matching.map(number).sorted { a, b in
            let (x, y) = (a ?? .min, b ?? .min)
            return ascending ? x < y : x > y
          }
          var window = sorted[...]
          if request.fetchLimit > 0 {
            window = sorted.dropFirst(request.fetchOffset).prefix(request.fetchLimit)
          }
          #expect(found.map(number) == Array(window), "\(about)")
        }
      }
    }
    try context.save()
    #expect(try store.problems() == [])
  }

  @Test("an ID that names the superentity of its object finds the same")
  func bySuperentity() throws {
    let store = try TemporaryStore(Self.model())
    let context = store.context()
    let beacon = context.new("Beacon", ["name": "b"])
    context.new("Reading", ["sensor": beacon, "number": 4 as Int32])
    try context.save()
    let uri = beacon.objectID.uriRepresentation().absoluteString.replacingOccurrences(
      of: "/Beacon/", with: "/Sensor/")
    let url = try #require(URL(string: uri))
    let id = try #require(context.persistentStoreCoordinator?.managedObjectID(forURIRepresentation: url))
    let request = FetchRequest<ManagedObject>(
      entityName: "Reading",
      predicate: try FetchPredicate(format: "sensor == %@ AND number == 4", argumentArray: [id]))
    #expect(try store.context().fetch(request).count == 1)
  }
}
