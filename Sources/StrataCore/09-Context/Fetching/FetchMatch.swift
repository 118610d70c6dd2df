/// One match: a stored row, or an object of the context with unsaved values.
enum FetchMatch {
  case row(FetchedRow, RegisteredStores.Registered)
  case object(ManagedObject)
  /// An unsaved row; `isOwn` when a child of this context has saved it.
  case unsaved(StratumRow, StoreBinding, isOwn: Bool)

  var primaryKey: UInt64 {
    switch self {
    case .row(let row, _): row.primaryKey
    case .object(let object): object.primaryKey
    case .unsaved(let row, _, _): row.primaryKey
    }
  }

  /// The value that takes part in sorting; `layers` are the unsaved ones that the fetch sees, newest first.
  func value(_ slot: Int, _ layers: [StratumLayer]) throws -> AttributeValue {
    switch self {
    case .object(let object): return object.currentValue(slot)
    case .unsaved(let row, let store, _): return try row.value(slot, among: layers, in: store)
    case .row(let row, let store):
      guard let snapshot = row.snapshot, let bound = store.binding.entities[row.entity] else { return .null }
      return try store.binding.value(of: snapshot, slot, bound, row.primaryKey, in: store.view)
    }
  }

  /// The store the match is of.
  var storeIndex: Int {
    switch self {
    case .row(_, let store): store.binding.index
    case .object(let object): object.home.storeIndex
    case .unsaved(_, let store, _): store.index
    }
  }

  /// The match as a view of its store has it; nil for a row without values.
  var node: ContextView.Node? {
    switch self {
    case .object(let object): .object(object)
    case .unsaved(let row, _, _): .unsaved(row)
    case .row(let row, let store): store.binding.entities[row.entity].map { .row(row, $0) }
    }
  }

  /// `layers` are the context's own, as they were when the fetch began.
  func object(in context: ManagedObjectContext, _ layers: [StratumLayer]) -> ManagedObject {
    switch self {
    case .object(let object): return object
    case .unsaved(let row, _, let isOwn):
      guard let object = context.object(for: row, isOwn: isOwn, above: layers) else {
        trap("an unsaved row of a store that is not attached took part in a fetch")
      }
      return object
    case .row(let row, let store):
      guard let object = context.object(for: row, in: store, layers, readAt: SnapshotClock.now) else {
        trap("the store answered with a row of an entity that its configuration does not hold")
      }
      return object
    }
  }

  /// The match as references name it, and its store.
  var reference: (bits: UInt64, storeIndex: Int) {
    switch self {
    case .object(let object): return (object.referenceBits, object.home.storeIndex)
    case .unsaved(let row, _, _):
      return (Reference.bits(row.primaryKey, entityCode: row.bound.stamp.entityCode), row.bound.storeIndex)
    case .row(let row, let store):
      guard let bound = store.binding.entities[row.entity] else {
        trap("the store answered with a row of an entity that its configuration does not hold")
      }
      return (Reference.bits(row.primaryKey, entityCode: bound.stamp.entityCode), bound.storeIndex)
    }
  }

  func identifier(in context: ManagedObjectContext) -> ManagedObjectID {
    switch self {
    case .object(let object): return object.objectID
    case .unsaved(let row, _, _): return row.identifier.with(isTemporary: context.isUnstored(row))
    case .row(let row, let store):
      guard let bound = store.binding.entities[row.entity] else {
        trap("the store answered with a row of an entity that its configuration does not hold")
      }
      return ManagedObjectID(token: bound.token, primaryKey: row.primaryKey)
    }
  }
}
