import StrataCore

/// Opens the stores of a container.
struct StoreOpening {
  private let schema: Schema
  private let plan: (any SchemaMigrationPlan.Type)?
  private let configurations: [any DataStoreConfiguration]
  private let parts: StoreParts

  init(
    _ schema: Schema, _ plan: (any SchemaMigrationPlan.Type)?,
    _ configurations: [any DataStoreConfiguration]
  ) {
    self.schema = schema
    self.plan = plan
    self.configurations = configurations
    parts = StoreParts(configurations, of: schema)
  }

  /// A coordinator with all stores.
  ///
  /// - Throws: ``SwiftDataError``. Stores that were opened are closed then.
  func open() throws -> PersistentStoreCoordinator {
    try check()
    let model = try makeModel()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let isAlone = configurations.count <= 1
    for (configuration, part) in zip(configurations, parts.names) {
      do {
        let name = isAlone ? nil : part
        if let configuration = configuration as? ModelConfiguration {
          try add(configuration, to: coordinator, name: name)
        } else {
          try OwnStoreOpening(schema, plan, model).add(configuration, to: coordinator, name: name)
        }
      } catch {
        for store in coordinator.persistentStores {
          do { try coordinator.remove(store) } catch { report("a store could not be closed", error) }
        }
        throw error is SwiftDataError ? error : Self.error(for: error, plan != nil)
      }
    }
    return coordinator
  }

  private func check() throws {
    var names: Set<String> = []
    var files: Set<String> = []
    for configuration in configurations {
      do { try configuration.validate() } catch {
        throw error is SwiftDataError ? error : Self.error(for: error, false)
      }
      let isNamed = (configuration as? ModelConfiguration)?.isNamed ?? true
      if isNamed, !names.insert(configuration.name).inserted {
        throw SwiftDataError(.duplicateConfiguration, "two configurations are called “\(configuration.name)”")
      }
      if let configuration = configuration as? ModelConfiguration {
        let path = configuration.url.standardizedFileURL.path
        if !configuration.isStoredInMemoryOnly, !files.insert(path).inserted {
          throw SwiftDataError(.duplicateConfiguration, "two configurations have the file \(path)")
        }
      }
      try checkModels(configuration.schema, configuration.name)
    }
  }

  private func checkModels(_ part: Schema?, _ name: String) throws {
    let strangers = part?.entities.map(\.name).filter { schema.entitiesByName[$0] == nil } ?? []
    if strangers.isEmpty { return }
    throw SwiftDataError(
      .configurationSchemaNotFoundInContainerSchema,
      "the configuration “\(name)” has \(strangers.sorted().joined(separator: ", ")), which the container’s schema does not have"
    )
  }

  /// The model, with one configuration for each store where there are several.
  private func makeModel() throws -> ManagedObjectModel {
    do {
      if configurations.count <= 1 { return try schema.managedObjectModel(rowClass: rowClass) }
      // What is said of configurations belongs to this container alone.
      let model = try SchemaTranslation(schema, rowClass: rowClass).model()
      parts.divide(model)
      return model
    } catch {
      throw SwiftDataError(.loadIssueModelContainer, "\(error)", underlying: error)
    }
  }

  private func add(
    _ configuration: ModelConfiguration, to coordinator: PersistentStoreCoordinator, name: String?
  ) throws {
    var description =
      configuration.isStoredInMemoryOnly ? .inMemory : PersistentStoreDescription(url: configuration.url)
    description.configuration = name
    description.isReadOnly = !configuration.allowsSave && !configuration.isStoredInMemoryOnly
    // Histories are what code for SwiftData expects to be there.
    description.recordsHistory = !description.isReadOnly
    description.postsRemoteChangeNotifications = true
    // Without a plan what the classes no longer declare goes, as on Apple's systems (M1). The file from before stays beside the store: another program may want it.
    description.followsStoredModel = plan == nil
    description.keepsReplacedFiles = plan == nil
    if let plan { try SchemaMigration(plan, parts).prepare(&description) }
    if !configuration.isStoredInMemoryOnly, !description.isReadOnly {
      try FileManager.default.createDirectory(
        at: configuration.url.deletingLastPathComponent(), withIntermediateDirectories: true)
    }
    try coordinator.addPersistentStore(description)
  }

  /// What a failure to open is by SwiftData's names.
  static func error(for error: any Error, _ hasPlan: Bool) -> SwiftDataError {
    if let error = error as? CoreDataError, let refusal = Self.refusal(of: error, hasPlan) { return refusal }
    let code = (error as? CoreDataError)?.code
    if hasPlan, code == .stagedMigrationBackwardMigration {
      return SwiftDataError(.backwardMigration, "\(error)", underlying: error)
    }
    if hasPlan, code == .managedObjectModelReferenceNotFound {
      return SwiftDataError(.unknownSchema, "\(error)", underlying: error)
    }
    if (error as? StorageError)?.isOfOwnUse == true {
      return SwiftDataError(
        .loadIssueModelContainer,
        "\(error) A ModelContainer, ModelContext or ModelActor of another version still has it: make this container when they have gone.",
        underlying: error)
    }
    return SwiftDataError(.loadIssueModelContainer, "\(error)", underlying: error)
  }

  /// A migration that is refused for what it would take away; nil for another error. What can be done about it is not what Strata's own description of a store offers.
  private static func refusal(of error: CoreDataError, _ hasPlan: Bool) -> SwiftDataError? {
    guard let losses = error.userInfo[MigrationPermission.lossesTextKey] as? String else { return nil }
    if error.userInfo[MigrationPermission.wasOfVersionKey] as? Bool == true {
      return SwiftDataError(
        hasPlan ? .backwardMigration : .loadIssueModelContainer,
        "\(losses) The store has been of this version before, and a program of a later version has migrated it since: open it with that program.",
        underlying: error)
    }
    // Without a plan a program follows the one that wrote the store.
    if !hasPlan { return nil }
    return SwiftDataError(
      .unknownSchema,
      "\(losses) The store is of a version that the migration plan does not have, which may be a later one. If it is an earlier one, add it to the plan’s schemas.",
      underlying: error)
  }
}
