import StrataCore

/// A snapshot taken apart: values by the names of properties, without optionals.
struct SnapshotContent {
  let identifier: PersistentIdentifier
  let values: [String: Any]
}

/// The rows that a save is about.
struct SavedRows {
  var inserted: [ModelRow] = []
  var updated: [ModelRow] = []
  var deleted: [ModelRow] = []
  var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}

/// What a store says of a save.
struct SaveOutcome {
  var remapped: [PersistentIdentifier: PersistentIdentifier] = [:]
  /// The new and changed models as the store was given them.
  var sent: [SnapshotContent] = []
  /// The models that have other values now.
  var reregistered: [SnapshotContent] = []
}

/// A condition that a store that deletes by itself is asked to delete by.
protocol BatchDeletion {
  /// - Throws: what the store throws.
  func run(_ store: any DataStoreBatching, _ state: EditingState) throws
}

/// A store of whatever class.
class AnyStoreBox {
  /// The name of the store's class.
  var typeName: String { stop("a box without a store") }
  var name: String { stop("a box without a store") }
  var schema: Schema { stop("a box without a store") }
  var store: AnyObject { stop("a box without a store") }

  func begin(_ state: EditingState) {}
  func end(_ state: EditingState) {}
  func erase() throws {}
  func fetch<T: PersistentModel>(_ descriptor: FetchDescriptor<T>, _ state: EditingState) throws -> (
    found: [SnapshotContent], related: [SnapshotContent]
  ) { ([], []) }
  func count<T: PersistentModel>(_ descriptor: FetchDescriptor<T>, _ state: EditingState) throws -> Int { 0 }
  func identifiers<T: PersistentModel>(_ descriptor: FetchDescriptor<T>, _ state: EditingState) throws
    -> [PersistentIdentifier]
  { [] }
  func cached(_ identifiers: [PersistentIdentifier], _ state: EditingState) throws -> [SnapshotContent] { [] }
  func save(_ rows: SavedRows, _ state: EditingState) throws -> SaveOutcome { SaveOutcome() }
}

/// A store of one class.
final class StoreBox<Store: DataStore>: AnyStoreBox {
  private let typed: Store
  init(_ store: Store) { typed = store }

  override var typeName: String { "\(Store.self)" }
  override var name: String { typed.identifier }
  override var schema: Schema { typed.schema }
  override var store: AnyObject { typed }

  override func begin(_ state: EditingState) { typed.initializeState(for: state) }
  override func end(_ state: EditingState) { typed.invalidateState(for: state) }
  override func erase() throws { try typed.erase() }

  private func content(_ snapshot: Store.Snapshot) throws -> SnapshotContent {
    SnapshotContent(
      identifier: snapshot.persistentIdentifier, values: try SnapshotValues.values(in: snapshot))
  }

  override func fetch<T: PersistentModel>(_ descriptor: FetchDescriptor<T>, _ state: EditingState) throws -> (
    found: [SnapshotContent], related: [SnapshotContent]
  ) {
    let result = try typed.fetch(DataStoreFetchRequest(editingState: state, descriptor: descriptor))
    let known = Set(result.fetchedSnapshots.map(\.persistentIdentifier))
    return (
      try result.fetchedSnapshots.map(content),
      try result.relatedSnapshots.values.filter { !known.contains($0.persistentIdentifier) }.map(content)
    )
  }

  override func count<T: PersistentModel>(_ descriptor: FetchDescriptor<T>, _ state: EditingState) throws
    -> Int
  {
    try typed.fetchCount(DataStoreFetchRequest(editingState: state, descriptor: descriptor))
  }

  override func identifiers<T: PersistentModel>(_ descriptor: FetchDescriptor<T>, _ state: EditingState)
    throws -> [PersistentIdentifier]
  {
    try typed.fetchIdentifiers(DataStoreFetchRequest(editingState: state, descriptor: descriptor))
  }

  override func cached(_ identifiers: [PersistentIdentifier], _ state: EditingState) throws
    -> [SnapshotContent]
  {
    try typed.cachedSnapshots(for: identifiers, editingState: state).values.map(content)
  }

  override func save(_ rows: SavedRows, _ state: EditingState) throws -> SaveOutcome {
    var backings: [PersistentIdentifier: any BackingData] = [:]
    for row in rows.inserted + rows.updated {
      if let identifier = row.rowIdentifier, let backing = row as? any BackingData {
        backings[identifier] = backing
      }
    }
    func snapshots(_ rows: [ModelRow]) -> [Store.Snapshot] {
      rows.compactMap { row in
        // Rows of models are backing data.
        guard let backing = row as? any BackingData else { return nil }
        return Store.Snapshot(from: backing, relatedBackingDatas: &backings)
      }
    }
    let request = DataStoreSaveChangesRequest(
      editingState: state, inserted: snapshots(rows.inserted), updated: snapshots(rows.updated),
      deleted: snapshots(rows.deleted))
    // Before the store writes: what cannot be read is found while nothing has happened yet.
    let sent = try (request.inserted + request.updated).map(content)
    let result = try typed.save(request)
    return SaveOutcome(
      remapped: result.remappedIdentifiers, sent: sent,
      reregistered: try result.snapshotsToReregister.values.map(content))
  }
}
