import Foundation
import Testing

@testable import StrataCore

/// A fetch that is stopped ends wherever it is: among entries of an index, among the rows that others are found by (rule 112).
struct StoppedDetourTests {
  private let store: LMDBStore
  private let schema: Schema
  private static let ownerCount = 3_000
  private static let itemCount = 12_000

  /// Owners with four items each; items are found by their number, owners by nothing.
  init() throws {
    let owner = EntityDescription(
      "Owner", properties: [AttributeDescription("name", .string, isOptional: true)])
    let item = EntityDescription(
      "Item",
      properties: [
        AttributeDescription("number", .integer64, isOptional: true),
        AttributeDescription("size", .integer64, isOptional: true),
        AttributeDescription("weight", .integer64, isOptional: true),
      ],
      indexes: [
        FetchIndexDescription(name: "byNumber", attributes: ["number"]),
        FetchIndexDescription(name: "bySizeNumber", attributes: ["size", "number"]),
      ])
    let items = RelationshipDescription("items", to: item, maxCount: 0)
    let inverse = RelationshipDescription("owner", to: owner, maxCount: 1)
    items.inverseRelationship = inverse
    inverse.inverseRelationship = items
    owner.properties.append(items)
    item.properties.append(inverse)
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: ManagedObjectModel(entities: [owner, item]))
    schema = coordinator.requireSchema()
    store = try LMDBStore(url: nil, schema: schema, options: .scratch)
    try coordinator.attach(store)
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    var number = 0
    _ = try context.execute(
      BatchInsertRequest(entityName: "Owner") { (values: inout [String: Any]) in
        values = ["name": "owner \(number)"]
        number += 1
        return number > Self.ownerCount
      })
    let owners = try context.fetch(
      FetchRequest<ManagedObjectID>(entityName: "Owner", sortDescriptors: [FetchSort("name")]))
    number = 0
    _ = try context.execute(
      BatchInsertRequest(entityName: "Item") { (values: inout [String: Any]) in
        values = [
          "number": number, "weight": number % 7, "owner": owners[number / 4 % owners.count],
        ]
        number += 1
        return number > Self.itemCount
      })
  }

  private func resolve(_ entity: String, _ format: String) throws -> ResolvedFetchRequest {
    try ResolvedFetchRequest(
      FetchRequest<ManagedObjectID>(entityName: entity, predicate: FetchPredicate(format: format)),
      schema: schema)
  }

  private static let ways: [(entity: String, format: String, mode: FetchMode, words: String)] = [
    // Entries of several indexes, of which the rows are not looked at.
    ("Item", "number < 1500 OR number == 5000", .count, "either"),
    // Entries that decide by themselves.
    ("Item", "size == nil AND number != 5", .count, "by its entries alone"),
    // Owners, by which items are found.
    ("Item", "owner.name == 'nobody'", .rows, "by owner"),
    // All items, to know how many of them each owner has.
    ("Owner", "SUBQUERY(items, $i, $i.weight == 3).@count > 5", .rows, "scan"),
    // The members of many objects that are named.
    ("Item", "SELF IN OWNERS", .identifiers, "members"),
  ]

  @Test("rule 112: a fetch that is stopped ends within 1,024 rows, on detours, too", arguments: ways.indices)
  func stopping(way: Int) throws {
    let (entity, format, mode, words) = Self.ways[way]
    var request: ResolvedFetchRequest
    if format == "SELF IN OWNERS" {
      let owners = try store.fetch(resolve("Owner", "TRUEPREDICATE"), mode: .identifiers).rows.prefix(450)
      let token = StoreEntityToken.token(
        storeIdentifier: store.identifier, entity: try #require(schema.entity(named: "Owner")), in: schema)
      let identifiers = owners.map { ManagedObjectID(token: token, primaryKey: $0.primaryKey) }
      request = try ResolvedFetchRequest(
        FetchRequest<ManagedObjectID>(
          entityName: "Item",
          predicate: .compare(FetchComparison(.key("owner"), .in, .objects(identifiers)))),
        schema: schema)
    } else {
      request = try resolve(entity, format)
    }
    #expect(try store.plan(request, mode: mode).description.contains(words))
    let whole = FetchMonitor()
    request.monitor = whole
    let found = try store.fetch(request, mode: mode)
    #expect(whole.rowCount >= 1_024)
    let stopped = FetchMonitor()
    stopped.stop()
    request.monitor = stopped
    #expect(throws: CancellationError.self) { try store.fetch(request, mode: mode) }
    #expect(stopped.rowCount == 0)
    // Stopped after the first question, it ends at the next one, when there is one.
    let later = Later()
    let monitor = FetchMonitor { _ in later.monitor?.stop() }
    later.monitor = monitor
    request.monitor = monitor
    if whole.rowCount >= 2_048 {
      #expect(throws: CancellationError.self) { try store.fetch(request, mode: mode) }
    } else {
      #expect(try store.fetch(request, mode: mode).count == found.count)
    }
    #expect(monitor.rowCount == 1_024)
  }

  @Test("rule 112: the pass over all members is watched as well")
  func members() throws {
    var request = try resolve("Owner", "SUBQUERY(items, $i, $i.weight == 3).@count > 5")
    let whole = FetchMonitor()
    request.monitor = whole
    #expect(try store.fetch(request, mode: .rows).count == 0)
    #expect(whole.rowCount > Self.itemCount)
  }
}
