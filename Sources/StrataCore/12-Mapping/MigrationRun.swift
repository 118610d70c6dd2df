import Foundation

/// One migration of a manager: two stacks, the mappings with their policies, the three passes (rule 310).
final class MigrationRun {
  let mappings: MappingModel
  let source: ManagedObjectContext
  let destination: ManagedObjectContext
  var associations = MigrationAssociations()
  /// What was asked for and cannot be, by code that cannot throw: ends the migration at the next step.
  private(set) var failure: CoreDataError?
  private(set) var mapping: EntityMapping
  private unowned let manager: MigrationManager
  private let coordinators: [PersistentStoreCoordinator]
  private var policies: [(mapping: EntityMapping, policy: EntityMigrationPolicy)] = []

  init(
    _ manager: MigrationManager, source: PersistentStoreDescription, destination: PersistentStoreDescription,
    mappings: MappingModel, foundation: Bool
  ) throws {
    self.manager = manager
    self.mappings = mappings
    mapping = mappings.entityMappings?.first ?? EntityMapping()
    var here = source
    here.isReadOnly = here.type != .inMemory
    here.migratesAutomatically = false
    var there = destination
    there.migratesAutomatically = false
    let old = try Self.open(manager.sourceModel, here, .migrationManagerSourceStore, "source")
    do {
      let new = try Self.open(
        manager.destinationModel, there, .migrationManagerDestinationStore, "destination")
      coordinators = [old, new]
    } catch {
      Self.close(old)
      throw error
    }
    let contexts = coordinators.map { coordinator in
      let context =
        foundation ? ManagedObjectContext(foundation: .confinement) : ManagedObjectContext(.confinement)
      context.joinForPlainObjects(coordinator)
      context.undoManager = nil
      return context
    }
    (self.source, self.destination) = (contexts[0], contexts[1])
  }

  private static func open(
    _ model: ManagedObjectModel, _ description: PersistentStoreDescription, _ code: CoreDataError.Code,
    _ what: String
  ) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description = description
    // Classes are written for one version of a model, and policies ask objects by key.
    description.takesUndeclaredSlots = true
    do {
      try coordinator.addPersistentStore(description)
    } catch {
      throw CoreDataError(
        code, "The \(what) store cannot be opened: \(error)", userInfo: [NSUnderlyingErrorKey: error])
    }
    return coordinator
  }

  func close() {
    for context in [source, destination] { context.reset() }
    for coordinator in coordinators { Self.close(coordinator) }
  }

  private static func close(_ coordinator: PersistentStoreCoordinator) {
    for store in coordinator.persistentStores { try? coordinator.remove(store) }
  }

  // MARK: Passes

  func start() throws {
    try MappingCheck(manager: manager, mappings: mappings.entityMappings ?? []).run()
    policies = try (mappings.entityMappings ?? []).map { ($0, try $0.makePolicy()) }
    handDownMetadata()
    try createInstances()
    try createRelationships()
    try validate()
    do {
      try destination.saveChanges()
    } catch let error as CoreDataError where error.code == .managedObjectConstraintMerge {
      throw CoreDataError(
        .migrationConstraintViolation, "Values that must be unique are not: \(error)",
        userInfo: [NSUnderlyingErrorKey: error])
    }
    try handDownLineage()
  }

  /// What programs have noted in the source's metadata stands in those of the destination, too, where it has no value of its own. From the start, so that policies
  /// can change it; the save at the end writes it.
  private func handDownMetadata() {
    let stores = coordinators.compactMap { $0.engines.first }
    guard stores.count == 2 else { return }
    let own = stores[1].metadata
    var merged = own
    merged.values.merge(stores[0].metadata.withoutStandardKeys.values) { own, _ in own }
    if merged != own { coordinators[1].setPendingMetadata(merged, for: stores[1]) }
  }

  /// The destination has been what the source has been, too: programs put it in the source's place.
  private func handDownLineage() throws {
    let stores = coordinators.compactMap { $0.engines.first }
    guard stores.count == 2 else { return }
    try stores[1].addLineage(of: stores[0])
  }

  private func createInstances() throws {
    for (place, (mapping, policy)) in policies.enumerated() {
      try turn(to: mapping, pass: 0, place, 0)
      try policy.begin(mapping, with: manager)
      if mapping.mappingType != .remove, mapping.mappingType != .add {
        let objects = try sourceObjects(mapping, policy)
        for (number, object) in objects.enumerated() {
          try turn(to: mapping, pass: 0, place, Float(number) / Float(objects.count))
          try policy.createDestinationInstances(forSource: object, in: mapping, manager: manager)
        }
      }
      try policy.endInstanceCreation(forMapping: mapping, manager: manager)
    }
  }

  private func createRelationships() throws {
    for (place, (mapping, policy)) in policies.enumerated() {
      let objects = associations.destinations(mapping.name, nil)
      for (number, object) in objects.enumerated() {
        try turn(to: mapping, pass: 1, place, Float(number) / Float(objects.count))
        try policy.createRelationships(forDestination: object, in: mapping, manager: manager)
      }
      try turn(to: mapping, pass: 1, place, 1)
      try policy.endRelationshipCreation(forMapping: mapping, manager: manager)
    }
  }

  private func validate() throws {
    for (place, (mapping, policy)) in policies.enumerated() {
      try turn(to: mapping, pass: 2, place, 0)
      try policy.performCustomValidation(forMapping: mapping, manager: manager)
      try policy.end(mapping, manager: manager)
    }
    try manager.step(1)
  }

  private func turn(to mapping: EntityMapping, pass: Int, _ place: Int, _ part: Float) throws {
    self.mapping = mapping
    try manager.step((Float(pass) + (Float(place) + part) / Float(max(policies.count, 1))) / 3)
  }

  private func sourceObjects(_ mapping: EntityMapping, _ policy: EntityMigrationPolicy) throws
    -> [ManagedObject]
  {
    if let expression = mapping.sourceObjects {
      let input = MigrationInput(
        manager: manager, source: nil, destination: nil, entityMapping: mapping, propertyMapping: nil,
        policy: policy)
      let value = try expression.value(input)
      if let request = value as? FetchRequest<ManagedObject> { return try source.fetch(request) }
      guard let value, !(value is NSNull) else { return [] }
      guard let objects = MigrationManager.onlyObjects(value) else {
        throw CoreDataError(
          .migration,
          "The source objects of the mapping “\(mapping.name ?? "")” are no objects: \(type(of: value)) “\(value)”."
        )
      }
      return objects
    }
    guard let name = mapping.sourceEntityName else { return [] }
    var request = FetchRequest<ManagedObject>(entityName: name)
    request.includesSubentities = false
    return try source.fetch(request)
  }

  /// The objects of the mapping of that name are asked for.
  func noteMapping(_ name: String) {
    if failure != nil || associations.isKnown(name) { return }
    if (mappings.entityMappings ?? []).contains(where: { $0.name == name }) { return }
    failure = CoreDataError(
      .migration, "There is no entity mapping “\(name)”, whose objects “\(mapping.name ?? "")” asks for.",
      userInfo: ["reason": "unknown entity mapping \(name)"])
  }
}
