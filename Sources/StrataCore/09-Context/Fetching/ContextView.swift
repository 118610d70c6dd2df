import Foundation

/// The objects of one store as a context sees them, for predicates and sort keys that look at more than one object.
///
/// ```
///   what the context has edited        objects, by the values they have now
///   what children have saved to it     unsaved rows
///   what contexts below have not saved unsaved rows
///   the store, or its pinned generation
/// ```
///
/// Makes no objects. On the context's queue, for the length of one fetch.
final class ContextView: ObjectView {
  enum Node {
    case object(ManagedObject)
    case unsaved(StratumRow)
    case row(FetchedRow, BoundEntity)
  }

  let binding: StoreBinding
  let schema: Schema
  var storeIdentifier: UUID { binding.store.identifier }
  private let context: ManagedObjectContext
  /// What is read where nothing is unsaved.
  private let store: any StoreReading
  /// Whether the context's own changes and those of its children take part.
  private let includesPendingChanges: Bool
  private let ownLayers: [StratumLayer]
  private let layersBelow: [StratumLayer]
  private let tables: [IdentityTable]
  private var rows: [RowPlace: FetchedRow?] = [:]
  private static var mostRows: Int { 65_536 }

  private struct RowPlace: Hashable {
    let hierarchy: Int
    let primaryKey: UInt64
  }

  /// - Parameters:
  ///   - store: What is read where nothing is unsaved.
  ///   - ownLayers: The layers of the context itself, newest first.
  ///   - layersBelow: Those of the contexts below, newest first, taken before `store` if that is one commit.
  init(
    _ context: ManagedObjectContext, _ binding: StoreBinding, _ store: any StoreReading,
    ownLayers: [StratumLayer], layersBelow: [StratumLayer], includesPendingChanges: Bool
  ) {
    self.context = context
    self.binding = binding
    self.includesPendingChanges = includesPendingChanges
    self.ownLayers = includesPendingChanges ? ownLayers : []
    schema = context.schema
    self.layersBelow = layersBelow
    self.store = store
    tables = context.stores.tables(for: binding).tables
  }

  // MARK: Objects

  func reference(_ node: Node) -> UInt64 {
    switch node {
    case .object(let object): object.referenceBits
    case .unsaved(let row): Reference.bits(row.primaryKey, entityCode: row.bound.stamp.entityCode)
    case .row(let row, let bound): Reference.bits(row.primaryKey, entityCode: bound.stamp.entityCode)
    }
  }

  func entityName(_ node: Node) -> String { bound(node).entity.name }

  func value(_ node: Node, _ slot: Int) throws -> AttributeValue {
    switch node {
    case .object(let object): return object.currentValue(slot)
    case .unsaved(let row): return try row.value(slot, among: ownLayers + layersBelow, in: binding)
    case .row(let row, let bound):
      guard let snapshot = row.snapshot else { return .null }
      return try binding.value(of: snapshot, slot, bound, row.primaryKey, in: store)
    }
  }

  func node(_ reference: UInt64, hierarchy: Int) throws -> Node? {
    guard hierarchy >= 0, !Strangers.contains(reference) else { return nil }
    let key = Reference.primaryKey(reference)
    if includesPendingChanges, let object = tables[hierarchy].object(for: key), object.hidesStoredRow {
      return object.isMarkedDeleted ? nil : .object(object)
    }
    let table = StratumLayer.Table(storeIndex: binding.index, hierarchy: hierarchy)
    for layer in ownLayers { if let row = layer.row(table, key) { return Self.node(row) } }
    for layer in layersBelow { if let row = layer.row(table, key) { return Self.node(row) } }
    guard let row = try storedRow(key, hierarchy), let bound = binding.entities[row.entity] else {
      return nil
    }
    return .row(row, bound)
  }

  private static func node(_ row: StratumRow) -> Node? { row.kind == .delete ? nil : .unsaved(row) }

  private func storedRow(_ key: UInt64, _ hierarchy: Int) throws -> FetchedRow? {
    let place = RowPlace(hierarchy: hierarchy, primaryKey: key)
    if let known = rows[place] { return known }
    let row = try store.row(hierarchy: hierarchy, primaryKey: key)
    if rows.count >= Self.mostRows { rows.removeAll(keepingCapacity: true) }
    rows[place] = row
    return row
  }

  /// Reads rows that will be asked for together.
  func preload(_ keys: [UInt64], hierarchy: Int) throws {
    if rows.count + keys.count > Self.mostRows { rows.removeAll(keepingCapacity: true) }
    for (key, row) in zip(keys, try store.rows(hierarchy: hierarchy, primaryKeys: keys)) {
      rows[RowPlace(hierarchy: hierarchy, primaryKey: key)] = row
    }
  }

  // MARK: Members

  func memberCount(_ node: Node, _ relationship: RelationshipSchema) throws -> Int {
    try members(node, relationship).count
  }

  func members(_ node: Node, _ relationship: RelationshipSchema) throws -> [UInt64] {
    try members(of: Reference.primaryKey(reference(node)), hierarchy: hierarchy(of: node), relationship)
  }

  /// The same by the owner's key: also of one that is deleted, to which others may have been related meanwhile.
  func members(of key: UInt64, hierarchy: Int, _ relationship: RelationshipSchema) throws -> [UInt64] {
    var members = Set(try store.members(EdgeSet(relationship: relationship.number), of: key))
    let table = StratumLayer.Table(storeIndex: binding.index, hierarchy: hierarchy)
    for layer in layersBelow.reversed() {
      Self.apply(layer.changes(of: relationship, table, key, isSkipped: { _ in false }), to: &members)
    }
    for layer in ownLayers.reversed() {
      // What the context has published of its own edits is told by its objects.
      Self.apply(
        layer.changes(of: relationship, table, key, isSkipped: { self.context.isOwnEdit($0) }), to: &members)
    }
    if includesPendingChanges, let object = tables[hierarchy].object(for: key),
      let state = object.relations?.known(relationship)
    {
      for entry in state.pending {
        if entry.isRemoval { members.remove(entry.member) } else { members.insert(entry.member) }
      }
    }
    return members.sorted()
  }

  private static func apply(_ change: LayerMembers, to members: inout Set<UInt64>) {
    for entry in change.changes.effective {
      if entry.isRemoval { members.remove(entry.member) } else { members.insert(entry.member) }
    }
  }

  /// The entity of a node.
  func bound(_ node: Node) -> BoundEntity {
    switch node {
    case .object(let object): object.home
    case .unsaved(let row): row.bound
    case .row(_, let bound): bound
    }
  }

  private func hierarchy(of node: Node) -> Int {
    switch node {
    case .object(let object): object.home.hierarchyNumber
    case .unsaved(let row): row.bound.hierarchyNumber
    case .row(_, let bound): bound.hierarchyNumber
    }
  }
}

/// A request's predicate and sort keys, ready for the objects of one store as a context sees them.
final class ContextEvaluation {
  let view: ContextView
  private let evaluation: Evaluation<ContextView>
  private let request: ResolvedFetchRequest
  private let program: CompiledPredicate?
  private let sorts: [BoundExpression]

  init(_ request: ResolvedFetchRequest, _ view: ContextView) {
    self.request = request
    self.view = view
    evaluation = Evaluation(view, entityName: request.entity.name)
    let binder = request.binder(storeIdentifier: view.storeIdentifier)
    program = request.predicate == .all ? nil : binder.compile(request.predicate, request.entity.number)
    sorts = request.sorts.map { binder.bind($0.expression) }
  }

  /// Whether an object takes part in the result.
  func matches(_ node: ContextView.Node, entity: Int) throws -> Bool {
    guard request.entityNumbers.contains(entity) else { return false }
    guard let program else { return true }
    return try evaluation.matches(program, node)
  }

  /// What an expression about the request's objects comes to.
  func value(of expression: BoundExpression, _ node: ContextView.Node) throws -> AttributeValue {
    try evaluation.evaluate(expression, for: node).single
  }

  /// The values that an object is sorted by.
  func sortValues(_ node: ContextView.Node) throws -> [AttributeValue] {
    try sorts.map { try evaluation.evaluate($0, for: node).single }
  }
}
