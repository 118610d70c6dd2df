import StrataCore

/// Opens a store of the program's own for a container.
struct OwnStoreOpening {
  private let schema: Schema
  private let plan: (any SchemaMigrationPlan.Type)?
  private let model: ManagedObjectModel

  init(_ schema: Schema, _ plan: (any SchemaMigrationPlan.Type)?, _ model: ManagedObjectModel) {
    self.schema = schema
    self.plan = plan
    self.model = model
  }

  /// - Parameter name: The configuration whose entities the store holds; nil for all.
  /// - Throws: ``SwiftDataError/unknownDataStoreSchema`` for a store that does not know the models; what the store throws.
  func add(
    _ configuration: any DataStoreConfiguration, to coordinator: PersistentStoreCoordinator, name: String?
  ) throws {
    let held = Set((model.entities(forConfigurationName: name) ?? []).compactMap(\.name))
    // Snapshots may be decoded by the store's initialiser already.
    DataStoreModels.note(schema)
    let box = try DataStoreModels.calling(schema) { try open(configuration, held) }
    let strangers = held.filter { box.schema.entitiesByName[$0] == nil }.sorted()
    if !strangers.isEmpty {
      throw SwiftDataError(
        .unknownDataStoreSchema,
        "the store “\(box.name)” has a schema without \(strangers.joined(separator: ", ")), which it is to keep"
      )
    }
    try coordinator.attach(DataStoreEngine(box, try model.schema(), schema, configurationName: name))
  }

  private func open<Configuration: DataStoreConfiguration>(
    _ configuration: Configuration, _ held: Set<String>
  ) throws -> AnyStoreBox {
    var configuration = configuration
    if configuration.schema == nil {
      configuration.schema =
        held.count == schema.entities.count
        ? schema : Schema(schema.entities.filter { held.contains($0.name) }.compactMap(\.modelType))
    }
    return StoreBox(try Configuration.Store(configuration, migrationPlan: plan))
  }
}
