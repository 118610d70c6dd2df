import StrataCore

/// A migration plan as the store beneath carries it out.
///
///     plan: V1 ─ lightweight ─▶ V2 ─ custom ─▶ V3        which of them the store is of, its model's checksum tells
struct SchemaMigration {
  private let plan: any SchemaMigrationPlan.Type
  private let parts: StoreParts

  init(_ plan: any SchemaMigrationPlan.Type, _ parts: StoreParts) {
    self.plan = plan
    self.parts = parts
  }

  /// Lets a store be migrated by the plan. Of several stores each has models of its own: which entities it has, they say by its configuration.
  ///
  /// - Throws: ``SwiftDataError/loadIssueModelContainer`` for versions that contradict themselves.
  func prepare(_ description: inout PersistentStoreDescription) throws {
    var models: [ObjectIdentifier: ManagedObjectModel] = [:]
    // What errors call the versions.
    var names: [String: String] = [:]
    let (configuration, file) = (description.configuration, StoredEntities(description))
    func model(of version: any VersionedSchema.Type) throws -> ManagedObjectModel {
      if let known = models[ObjectIdentifier(version)] { return known }
      let made: ManagedObjectModel
      do { made = try Schema(versionedSchema: version).managedObjectModel(rowClass: rowClass) } catch {
        throw SwiftDataError(.loadIssueModelContainer, "version \(version): \(error)", underlying: error)
      }
      if let configuration { parts.divide(made, for: configuration, as: file) }
      models[ObjectIdentifier(version)] = made
      names[made.versionChecksum] = "\(version.versionIdentifier)"
      return made
    }
    var stages: [StrataCore.MigrationStage] = []
    for stage in plan.stages {
      switch stage {
      case .lightweight(let from, let to):
        stages.append(
          LightweightMigrationStage([
            try model(of: from).versionChecksum, try model(of: to).versionChecksum,
          ]))
      case .custom(let from, let to, let will, let did):
        stages.append(
          Self.custom(try model(of: from), try model(of: to), from, to, will, did))
      }
    }
    description.knownModels = try plan.schemas.map(model)
    // A plan of one version has no step: what differs is inferred.
    if stages.isEmpty { return }
    let manager = StagedMigrationManager(stages)
    manager.versionNames = names
    description.stagedMigrationManager = manager
  }

  private static func custom(
    _ from: ManagedObjectModel, _ to: ManagedObjectModel, _ fromVersion: any VersionedSchema.Type,
    _ toVersion: any VersionedSchema.Type, _ will: (@Sendable (ModelContext) throws -> Void)?,
    _ did: (@Sendable (ModelContext) throws -> Void)?
  ) -> CustomMigrationStage {
    let stage = CustomMigrationStage(
      migratingFrom: ManagedObjectModelReference(model: from, versionChecksum: from.versionChecksum),
      to: ManagedObjectModelReference(model: to, versionChecksum: to.versionChecksum))
    stage.label = "\(fromVersion) to \(toVersion)"
    if let will {
      stage.willMigrateHandler = { manager, _ in try Self.run(will, manager, fromVersion) }
    }
    if let did {
      stage.didMigrateHandler = { manager, _ in try Self.run(did, manager, toVersion) }
    }
    return stage
  }

  /// Calls a handler with a context of the store as it is between two steps.
  private static func run(
    _ handler: @Sendable (ModelContext) throws -> Void, _ manager: StagedMigrationManager,
    _ version: any VersionedSchema.Type
  ) throws {
    guard let opening = manager.opening else { stop("a stage of a migration runs without a store") }
    let container = try ModelContainer(
      stage: Schema(versionedSchema: version), opening.model, opening.description)
    defer { container.core.close() }
    let context = ModelContext(container)
    context.autosaveEnabled = false
    try handler(context)
  }
}
