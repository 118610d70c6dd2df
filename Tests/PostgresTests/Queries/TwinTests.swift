import Foundation
import Strata
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// One random story played on a server and in memory: both stores must hold what the plain reference says, and the same as each other.
@Suite struct TwinTests {
  /// `STRATA_TWINS=n`: how many stories.
  private static let stories = ProcessInfo.processInfo.environment["STRATA_TWINS"].flatMap { UInt64($0) } ?? 4

  @Test(arguments: 1...Self.stories)
  func bothStoresTellTheSameStory(seed: UInt64) throws {
    let stand = try ServerStand(QueryModel.make(isIndexed: seed % 2 == 0))
    let memory = PersistentStoreCoordinator(managedObjectModel: QueryModel.make(isIndexed: true))
    try memory.addPersistentStore(.inMemory)
    let server = Player(stand.context(), seed)
    let twin = Player(ManagedObjectContext(.confinement, coordinator: memory), seed)
    for round in 0..<12 {
      for player in [server, twin] {
        try player.play(round == 0 ? 120 : 40)
        try player.level.context.save()
      }
      let found = try server.read(stand.context())
      let failure = found.difference(from: server.level.world)
      #expect(failure == nil, "seed \(seed), round \(round)")
      let other = try twin.read(ManagedObjectContext(.confinement, coordinator: memory))
      #expect(found.visits == other.visits, "the order of members, seed \(seed), round \(round)")
      if failure != nil { return }
    }
    // As another process sees it.
    let neighbour = try stand.neighbour(QueryModel.make(isIndexed: seed % 2 == 0))
    #expect(try server.read(neighbour.context()).difference(from: server.level.world) == nil)
  }
}

/// Makes the same random changes as every other player of the same seed.
private final class Player {
  let level: QueryLevel
  private let identifiers = SerialIdentifiers()
  private var random: SeededGenerator
  private let values = QueryValues()

  init(_ context: ManagedObjectContext, _ seed: UInt64) {
    random = SeededGenerator(seed: seed)
    level = QueryLevel(context, QueryWorld(), identifiers)
  }

  func play(_ count: Int) throws {
    if level.world.records.isEmpty {
      for entity in ["Place", "Tag", "Desk", "Agent", "Pilot", "Visit"] {
        for _ in 0..<6 { try level.insert(entity, &random, values) }
      }
    }
    for _ in 0..<count { try level.change(&random, values) }
  }

  /// What a context without changes shows of everything.
  func read(_ context: ManagedObjectContext) throws -> Picture {
    var picture = Picture()
    for entity in ["Agent", "Place", "Tag", "Visit", "Desk"] {
      for object in try context.fetch(FetchRequest<ManagedObject>(entityName: entity)) {
        let serial = Int(object.value(forKey: "serial") as? Int64 ?? -1)
        let name = object.entity.name ?? ""
        var record = QueryWorld.Record(entity: name)
        for attribute in QueryModel.attributes[name] ?? [] {
          let value = object.value(forKey: attribute.name)
          record.values[attribute.name] =
            value.map { AttributeValue($0, type: attribute.type) ?? .null } ?? .null
        }
        for (key, link) in QueryModel.links[name] ?? [:] {
          func serial(_ other: ManagedObject) -> Int { Int(other.value(forKey: "serial") as? Int64 ?? -1) }
          if !link.isToMany {
            record.ones[key] = (object.value(forKey: key) as? ManagedObject).map(serial)
            continue
          }
          let members = object.value(forKey: key)
          let ordered = members as? [ManagedObject]
          if let ordered { picture.visits["\(name) \(serial(object))"] = ordered.map(serial) }
          record.manies[key] = Set((ordered ?? Array(members as? Set<ManagedObject> ?? [])).map(serial))
        }
        picture.records[serial] = record
      }
    }
    return picture
  }
}

private struct Picture {
  var records: [Int: QueryWorld.Record] = [:]
  /// The members of ordered relationships, by owner.
  var visits: [String: [Int]] = [:]

  /// What differs from the reference, in words; nil when nothing does.
  func difference(from world: QueryWorld) -> String? {
    if Set(records.keys) != Set(world.records.keys) {
      return
        "records \(Set(records.keys).symmetricDifference(world.records.keys).sorted()) are in one of both only"
    }
    for (serial, expected) in world.records.sorted(by: { $0.key < $1.key }) {
      guard let found = records[serial] else { return "no \(serial)" }
      if found.entity != expected.entity { return "\(serial) is a \(found.entity)" }
      for (name, value) in expected.values where found.values[name] != value {
        return "\(expected.entity) \(serial).\(name) is \(found.values[name] ?? .null) instead of \(value)"
      }
      for (name, link) in QueryModel.links[expected.entity] ?? [:] {
        if !link.isToMany {
          if found.ones[name] != expected.ones[name] {
            return
              "\(expected.entity) \(serial).\(name) leads to \(found.ones[name] ?? 0), not \(expected.ones[name] ?? 0)"
          }
        } else if found.manies[name] != world.members(serial, name) {
          return
            "\(expected.entity) \(serial).\(name) has \(found.manies[name] ?? []), not \(world.members(serial, name))"
        }
      }
    }
    return nil
  }
}
