import Foundation
import Strata
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// The random queries that the other engines answer, on a server: against a plain filter and sort of what contexts must show.
@Suite struct ServerQueryTests {
  /// `STRATA_QUERIES=n`: how many queries are asked in all.
  private static let queries =
    ProcessInfo.processInfo.environment["STRATA_QUERIES"].flatMap { Int($0) } ?? 400
  /// `STRATA_SEED=n`: that seed alone.
  private static let seeds: [UInt64] =
    ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap { UInt64($0) }.map { [$0] } ?? [1, 2]

  @Test(arguments: [true, false])
  func fetchesEqualAPlainFilterAndSort(isIndexed: Bool) throws {
    let perSeed = max(1, Self.queries / 2 / Self.seeds.count)
    for seed in Self.seeds {
      var asked = 0
      var round: UInt64 = 0
      while asked < perSeed {
        let count = min(200, perSeed - asked)
        let stand = try QueryRound(seed: seed &* 1_000 &+ round, isIndexed: isIndexed)
        if let failure = try stand.ask(count) {
          Issue.record("seed \(seed), round \(round): \(failure)")
          return
        }
        asked += count
        round += 1
      }
    }
  }
}

/// One store with random records, contexts with unsaved changes above it, and queries about all of them.
private final class QueryRound {
  private let stand: ServerStand
  private let identifiers = SerialIdentifiers()
  private var random: SeededGenerator
  /// What is stored, what the first context shows, what its child shows.
  private var levels: [QueryLevel] = []
  private let storedWorld: QueryWorld

  init(seed: UInt64, isIndexed: Bool) throws {
    random = SeededGenerator(seed: seed)
    stand = try ServerStand(QueryModel.make(isIndexed: isIndexed))
    let values = QueryValues()
    let first = QueryLevel(stand.context(), QueryWorld(), identifiers)
    for entity in ["Place", "Tag", "Desk"] { for _ in 0..<8 { try first.insert(entity, &random, values) } }
    for _ in 0..<60 { try first.insert(random.chance(70) ? "Agent" : "Pilot", &random, values) }
    for _ in 0..<90 { try first.insert("Visit", &random, values) }
    for _ in 0..<150 { try first.change(&random, values) }
    try first.context.save()
    for _ in 0..<60 { try first.change(&random, values) }
    try first.context.save()
    storedWorld = first.world
    levels = [QueryLevel(stand.context(), storedWorld, identifiers)]
    let parent = QueryLevel(stand.context(), storedWorld, identifiers)
    for _ in 0..<random.below(25) { try parent.change(&random, values) }
    levels.append(parent)
    let child = QueryLevel(
      ManagedObjectContext(.confinement, parent: parent.context), parent.world, identifiers)
    for _ in 0..<random.below(25) { try child.change(&random, values) }
    levels.append(child)
  }

  /// What is wrong; nil when nothing is.
  func ask(_ count: Int) throws -> String? {
    var named: [String: [ManagedObjectID]] = [:]
    for entity in QueryModel.attributes.keys {
      named[entity] =
        levels[2].world.serials(entity).compactMap { identifiers.bySerial[$0] }
        + storedWorld.serials(entity).compactMap { identifiers.bySerial[$0] }
    }
    var queries = RandomQueries(seed: random.next(), identifiers: named)
    for _ in 0..<count { if let failure = try ask(&queries) { return failure } }
    return nil
  }

  private func ask(_ queries: inout RandomQueries) throws -> String? {
    let entity = queries.random.pick([
      "Agent", "Agent", "Agent", "Pilot", "Visit", "Visit", "Place", "Tag", "Desk",
    ])
    var request = FetchRequest<ManagedObject>(entityName: entity)
    if queries.random.chance(92) { request.predicate = queries.predicate(entity) }
    request.sortDescriptors = queries.sorts(entity)
    if queries.random.chance(35) { request.fetchLimit = queries.random.below(12) }
    if queries.random.chance(25) { request.fetchOffset = queries.random.below(12) }
    request.includesSubentities = queries.random.chance(80)
    request.includesPendingChanges = queries.random.chance(85)
    let number = queries.random.below(3)
    let level = levels[number]
    // Contexts below count as stored.
    let world = request.includesPendingChanges ? level.world : number == 2 ? levels[1].world : storedWorld
    let expected = matches(request, world)
    let words =
      "\(request.entityName)\(request.includesSubentities ? "" : " only") where \(request.predicate ?? .everything) "
      + "sorted \(request.sortDescriptors.map { $0.key + ($0.ascending ? "" : "-") }) "
      + "window \(request.fetchOffset)+\(request.fetchLimit) level \(number)"
      + (request.includesPendingChanges ? "" : " without pending changes")
    do {
      let found: [ManagedObjectID]
      switch queries.random.below(4) {
      case 0:
        var copy = FetchRequest<ManagedObjectID>(
          entityName: request.entityName, predicate: request.predicate,
          sortDescriptors: request.sortDescriptors,
          fetchLimit: request.fetchLimit, fetchOffset: request.fetchOffset)
        copy.includesSubentities = request.includesSubentities
        copy.includesPendingChanges = request.includesPendingChanges
        found = try level.context.fetch(copy)
      case 1: found = try level.context.fetchInBatches(request).objectIDs
      default: found = try level.context.fetch(request).map(\.objectID)
      }
      let count = try level.context.count(for: request)
      let failure = compare(found.map { identifiers.serials[$0] ?? -1 }, count, expected, request)
      return failure.map { "\($0)\n\(words)" }
    } catch {
      return "\(error)\n\(words)"
    }
  }

  private func compare(
    _ found: [Int], _ count: Int, _ expected: [Int], _ request: FetchRequest<ManagedObject>
  ) -> String? {
    var window = expected.dropFirst(request.fetchOffset)
    if request.fetchLimit > 0 { window = window.prefix(request.fetchLimit) }
    if count != window.count { return "count \(count) instead of \(window.count)" }
    // Without sort descriptors the order is unspecified (rule 105).
    let isSame =
      request.sortDescriptors.isEmpty
      ? found.count == window.count && Set(found).count == found.count && Set(found).isSubset(of: expected)
      : found == Array(window)
    return isSame ? nil : "found \(found) instead of \(Array(window))"
  }

  /// The plain filter and sort.
  private func matches(_ request: FetchRequest<ManagedObject>, _ world: QueryWorld) -> [Int] {
    let reference = ReferenceInterpreter(world: world, serials: identifiers.serials)
    let serials = world.serials(request.entityName, includesSubentities: request.includesSubentities)
      .filter { reference.isTrue(request.predicate ?? .everything, ReferenceInterpreter.Scope(object: $0)) }
    let keyed = serials.map { serial in
      (
        serial: serial, key: identifiers.primaryKey(serial),
        values: request.sortDescriptors.map { sort -> AttributeValue in
          let value = reference.value(.key(sort.key), ReferenceInterpreter.Scope(object: serial))
          if case .value(let value) = value { return value }
          return .null
        }
      )
    }
    return keyed.sorted { left, right in
      for (place, sort) in request.sortDescriptors.enumerated() {
        let order = AttributeValue.compare(left.values[place], right.values[place])
        if order != 0 { return (order < 0) == sort.ascending }
      }
      return left.key < right.key
    }.map(\.serial)
  }
}
