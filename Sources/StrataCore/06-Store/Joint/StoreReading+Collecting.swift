import Foundation

extension StoreReading {
  /// Hands every row that matches to `collector`, which makes rows of values from them. The default reads the rows with `fetch` and
  /// what they lead to row by row.
  /// - Throws: what the engine's `fetch` and `rows` throw.
  package func collect(into collector: DictionaryCollector) throws {
    let request = collector.request.fetch
    let view = ReadingView(self, schema: request.schema, storeIdentifier: collector.storeIdentifier)
    let evaluation = Evaluation(view, entityName: request.entity.name)
    let sources = BoundSources(collector.request, storeIdentifier: collector.storeIdentifier)
    let found = try fetch(request, mode: .rows).rows
    for row in try valued(found, hierarchy: request.hierarchyNumber) {
      guard let snapshot = row.snapshot else { continue }
      let node = ReadingView.Node(row: snapshot, entity: row.entity, primaryKey: row.primaryKey)
      if try !collector.add(node, sources, evaluation) { return }
    }
  }
}

extension StoreReading {
  /// The rows with their values: those of a store that names records first, and reads them when their values are wanted, are read now, all at once.
  /// Rows that have gone meanwhile are left out.
  /// - Throws: what the engine's `rows` throws.
  package func valued(_ rows: ContiguousArray<FetchedRow>, hierarchy: Int) throws
    -> ContiguousArray<FetchedRow>
  {
    let bare = rows.filter { $0.snapshot == nil }.map(\.primaryKey)
    if bare.isEmpty { return rows }
    let read = zip(bare, try self.rows(hierarchy: hierarchy, primaryKeys: bare))
    let values = Dictionary(read, uniquingKeysWith: { first, _ in first })
    return ContiguousArray(rows.compactMap { $0.snapshot == nil ? values[$0.primaryKey] ?? nil : $0 })
  }
}

/// The objects of any engine's store, each read once as long as there are not too many. Used by one thread, for one state of a store.
final class ReadingView: ObjectView {
  struct Node {
    let row: RowSnapshot
    let entity: Int
    let primaryKey: UInt64
  }

  private struct Address: Hashable {
    /// Of a hierarchy or of a relationship.
    let number: Int
    let key: UInt64
  }

  private let reading: any StoreReading
  let schema: Schema
  let storeIdentifier: UUID
  private var nodes: [Address: Node?] = [:]
  private var memberLists: [Address: [UInt64]] = [:]
  private static let mostRemembered = 65_536

  init(_ reading: any StoreReading, schema: Schema, storeIdentifier: UUID) {
    self.reading = reading
    self.schema = schema
    self.storeIdentifier = storeIdentifier
  }

  func reference(_ node: Node) -> UInt64 { Reference.bits(node.primaryKey, entityCode: node.row.entityCode) }

  func entityName(_ node: Node) -> String { schema.entities[node.entity].name }

  func value(_ node: Node, _ slot: Int) throws -> AttributeValue {
    let layout = schema.entities[node.entity].layout
    if let value = node.row.value(slot, layout) { return value }
    guard let reference = node.row.externalReference(slot, layout),
      let bytes = try reading.externalValue(
        entity: node.entity, primaryKey: node.primaryKey, slot: slot, version: reference.version)
    else { return .null }
    return RowBytes.externalValue(bytes, kind: layout.kind(of: slot)) ?? .null
  }

  func node(_ reference: UInt64, hierarchy: Int) throws -> Node? {
    let key = Reference.primaryKey(reference)
    let address = Address(number: hierarchy, key: key)
    if let known = nodes[address] { return known }
    let found = try reading.row(hierarchy: hierarchy, primaryKey: key).flatMap { row in
      row.snapshot.map { Node(row: $0, entity: row.entity, primaryKey: key) }
    }
    if nodes.count >= Self.mostRemembered { nodes = [:] }
    nodes[address] = .some(found)
    return found
  }

  func members(_ node: Node, _ relationship: RelationshipSchema) throws -> [UInt64] {
    let address = Address(number: relationship.number, key: node.primaryKey)
    if let known = memberLists[address] { return known }
    let found = try reading.members(EdgeSet(relationship: relationship.number), of: node.primaryKey)
    if memberLists.count >= Self.mostRemembered { memberLists = [:] }
    memberLists[address] = found
    return found
  }

  func memberCount(_ node: Node, _ relationship: RelationshipSchema) throws -> Int {
    if let known = memberLists[Address(number: relationship.number, key: node.primaryKey)] {
      return known.count
    }
    return try reading.memberCount(EdgeSet(relationship: relationship.number), of: node.primaryKey)
  }
}
