import StrataCore
import Synchronization

/// The stores of the program's own that were opened in this process: what the identifiers of their models are. They stay, as identifiers do.
enum ForeignStores {
  private static let tables = Mutex<[UUID: ReferenceTable]>([:])
  /// So that most processes, in which there are none, need not look.
  private static let isUsed = Atomic<Bool>(false)

  static func note(_ identifier: UUID, _ table: ReferenceTable) {
    isUsed.store(true, ordering: .releasing)
    tables.withLock { $0[identifier] = table }
  }

  /// How a row is identified by the store that it is of; nil for a row of Strata's own stores.
  @inline(__always)
  static func form(of row: ManagedObjectID) -> PersistentIdentifier.Form? {
    isUsed.load(ordering: .acquiring) ? foreignForm(of: row) : nil
  }

  @inline(never)
  private static func foreignForm(of row: ManagedObjectID) -> PersistentIdentifier.Form? {
    guard let table = tables.withLock({ $0[row.storeIdentifier] }) else { return nil }
    let reference = table.entry(row.recordKey, entityName: row.entityName)?.reference
    return (reference as? PersistentIdentifier)?.id.form
  }
}

/// The models that snapshots may be of.
enum DataStoreModels {
  /// The schema of the container whose store is being called.
  @TaskLocal private static var current: Schema?
  private static let known = Mutex<[String: ModelDescriptor]>([:])

  /// Snapshots of these models can be decoded from now on.
  static func note(_ schema: Schema) {
    let descriptors = schema.types.map { ModelDescriptor.of($0) }
    known.withLock { known in
      for descriptor in descriptors { known[descriptor.entityName] = descriptor }
    }
  }

  /// Calls a store of a container.
  static func calling<R>(_ schema: Schema, _ body: () throws -> R) rethrows -> R {
    try $current.withValue(schema, operation: body)
  }

  static func type(of identifier: PersistentIdentifier) -> (any PersistentModel.Type)? {
    current?.type(forEntity: identifier.entityName)
      ?? known.withLock { $0[identifier.entityName] }?.type
  }
}
