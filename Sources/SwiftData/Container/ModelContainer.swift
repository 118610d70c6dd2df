import StrataCore
import Synchronization

/// The stores of a program's models, and the contexts over them.
///
///     let container = try ModelContainer(for: Trip.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
///
/// May be used from any thread. It closes its stores when it and all of its contexts have gone.
public class ModelContainer: Equatable, @unchecked Sendable {
  // @unchecked Sendable: everything is constant or has its own lock; the main context belongs to the main actor.

  /// The models: those that were given, and all that they lead to.
  public final let schema: Schema
  /// How stores of earlier versions are migrated.
  public final let migrationPlan: (any SchemaMigrationPlan.Type)?
  /// The stores.
  public var configurations: Set<ModelConfiguration>

  /// What contexts need of the container. They keep it, and the main context nothing else: the container has that one.
  let core: ContainerCore
  var coordinator: PersistentStoreCoordinator { core.coordinator }
  private let main = Mutex<MainContext?>(nil)
  private struct MainContext: @unchecked Sendable {
    // @unchecked Sendable: handed out to the main actor only.
    let context: ModelContext
  }

  /// Opens the stores, makes those that are missing, and migrates those of an earlier version.
  ///
  /// - Parameters:
  ///   - givenSchema: The models.
  ///   - migrationPlan: The versions and the steps between them; without, what can be inferred is done.
  ///   - configurations: The stores; one in the program's folder for data when there is none.
  /// - Throws: ``SwiftDataError``: `loadIssueModelContainer` with the reason for a store that cannot be opened or migrated and for models that contradict themselves;
  ///   `backwardMigration` and `unknownSchema` for a store of a version that the plan does not lead from; `duplicateConfiguration` and its like for configurations. A store that
  ///   could not be migrated stays of the last version that was reached.
  public init(
    for givenSchema: Schema, migrationPlan: (any SchemaMigrationPlan.Type)? = nil,
    configurations: [ModelConfiguration]
  ) throws {
    schema = givenSchema
    self.migrationPlan = migrationPlan
    let list = configurations.isEmpty ? [ModelConfiguration()] : configurations
    self.configurations = Set(list)
    core = ContainerCore(
      givenSchema, migrationPlan, Set(list), try StoreOpening(givenSchema, migrationPlan, list).open())
  }

  /// Opens the stores; see the initialiser that takes a list.
  /// - Throws: as that one.
  public convenience init(
    for givenSchema: Schema, migrationPlan: (any SchemaMigrationPlan.Type)? = nil,
    configurations: ModelConfiguration...
  ) throws {
    try self.init(for: givenSchema, migrationPlan: migrationPlan, configurations: configurations)
  }

  /// Opens the stores of these models and of those that they lead to; see the initialiser that takes a schema.
  /// - Throws: as that one.
  public convenience init(
    for forTypes: any PersistentModel.Type..., migrationPlan: (any SchemaMigrationPlan.Type)? = nil,
    configurations: ModelConfiguration...
  ) throws {
    try self.init(for: Schema(forTypes), migrationPlan: migrationPlan, configurations: configurations)
  }

  /// Opens stores of whatever kind: those of the program's own, and Strata's.
  ///
  /// - Parameters:
  ///   - givenSchema: The models.
  ///   - configurations: The stores.
  /// - Throws: as the initialiser that takes ``ModelConfiguration``s; `loadIssueModelContainer` with the error that a store of the program's own has thrown.
  @_disfavoredOverload
  public init(for givenSchema: Schema, configurations: [any DataStoreConfiguration]) throws {
    schema = givenSchema
    migrationPlan = nil
    let list: [any DataStoreConfiguration] = configurations.isEmpty ? [ModelConfiguration()] : configurations
    let own = Set(list.compactMap { $0 as? ModelConfiguration })
    self.configurations = own
    core = ContainerCore(givenSchema, nil, own, try StoreOpening(givenSchema, nil, list).open())
  }

  /// Opens stores of whatever kind for these models and those that they lead to.
  /// - Throws: as the initialiser that takes a schema.
  @_disfavoredOverload
  public convenience init(
    for forTypes: any PersistentModel.Type..., configurations: any DataStoreConfiguration...
  ) throws {
    try self.init(for: Schema(forTypes), configurations: configurations)
  }

  /// The store of a migration between two steps.
  init(stage schema: Schema, _ model: ManagedObjectModel, _ description: PersistentStoreDescription) throws {
    self.schema = schema
    migrationPlan = nil
    configurations = []
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(description)
    core = ContainerCore(schema, nil, [], coordinator)
  }

  /// A container again for the main context of one that has gone.
  init(of context: ModelContext, _ core: ContainerCore) {
    schema = core.schema
    migrationPlan = core.migrationPlan
    configurations = core.configurations
    self.core = core
    main.withLock { $0 = MainContext(context: context) }
  }

  /// Containers are equal when they have the same stores open.
  public static func == (lhs: ModelContainer, rhs: ModelContainer) -> Bool { lhs.core === rhs.core }

  /// The main actor's context, made when it is first asked for. It saves by itself.
  @MainActor public var mainContext: ModelContext {
    if let known = main.withLock({ $0 }) { return known.context }
    let context = ModelContext(mainOf: self)
    main.withLock { $0 = MainContext(context: context) }
    return context
  }

  /// Deletes all models of all stores. Contexts show it from their next use on.
  /// - Throws: `CocoaError` for a store that cannot be written.
  public func erase() throws {
    try StoreErasure(self).run()
  }

  /// Deletes all models of all stores; a failure is written to standard error.
  @available(*, deprecated, renamed: "erase()")
  public func deleteAllData() {
    do { try erase() } catch { report("the models could not be deleted", error) }
  }

  /// Posted when another program has written a store of the container.
  public static let remoteChange = PersistentStoreCoordinator.remoteChangeNotification
}
