import StrataCore

/// The open stores of a container, and what they hold. Closes them when the container and all of its contexts have gone.
final class ContainerCore: @unchecked Sendable {
  // @unchecked Sendable: constants.

  let schema: Schema
  let migrationPlan: (any SchemaMigrationPlan.Type)?
  let configurations: Set<ModelConfiguration>
  let coordinator: PersistentStoreCoordinator
  /// The stores of the program's own.
  let ownStores: [DataStoreEngine]
  private let types: Set<ObjectIdentifier>
  private let storeIdentifiers: [UUID]

  init(
    _ schema: Schema, _ migrationPlan: (any SchemaMigrationPlan.Type)?,
    _ configurations: Set<ModelConfiguration>, _ coordinator: PersistentStoreCoordinator
  ) {
    self.schema = schema
    self.migrationPlan = migrationPlan
    self.configurations = configurations
    self.coordinator = coordinator
    types = Set(schema.types.map { ObjectIdentifier($0) })
    storeIdentifiers = coordinator.persistentStores.map(\.identifier)
    ownStores = coordinator.engines.compactMap { $0 as? DataStoreEngine }
  }

  deinit { close() }

  /// Closes the stores: contexts that are left find nothing.
  func close() {
    for store in coordinator.persistentStores {
      do { try coordinator.remove(store) } catch { report("a store could not be closed", error) }
    }
  }

  func holds(_ type: any PersistentModel.Type) -> Bool { types.contains(ObjectIdentifier(type)) }

  /// Whether other models inherit from a class.
  func hasSubmodels(_ type: any PersistentModel.Type) -> Bool {
    schema.entitiesByName[Schema.name(of: type)]?.subentities.isEmpty == false
  }

  /// An identifier as the stores know it.
  func objectID(of identifier: PersistentIdentifier) -> ManagedObjectID? {
    switch identifier.id.form {
    case .temporary: nil
    case .foreign: ownID(of: identifier)
    case .row(let id):
      storeIdentifiers.contains(id.storeIdentifier) ? id : ownID(of: identifier)
    case .named(let store, let name, let key):
      // A store of the program's own may be called by a UUID, and a key of its be spelled as one of Strata's.
      ownID(of: identifier)
        ?? coordinator.managedObjectID(storeIdentifier: store, entityName: name, key: key)
    }
  }

  /// An identifier as a store of the program's own knows it.
  private func ownID(of identifier: PersistentIdentifier) -> ManagedObjectID? {
    for store in ownStores { if let id = store.objectID(of: identifier) { return id } }
    return nil
  }
}
