import Foundation
import Synchronization

/// Migrates a store by a mapping model, with objects in two contexts. Core Data's `NSMigrationManager`.
///
///     let manager = MigrationManager(sourceModel: old, destinationModel: new)
///     try manager.migrateStore(from: PersistentStoreDescription(url: here), with: mapping, to: PersistentStoreDescription(url: there))
///
/// Belongs to one thread; ``cancelMigrationWithError(_:)`` and ``migrationProgress`` may be used from any. Holds all objects in memory until the end: where the models alone say what to do, opening the store is the better
/// way (`LMDBStore.migrate`). Objects that are made get new IDs.
///
/// It needs contexts, and so it stands above them; lightweight migration, which does not, stands below.
open class MigrationManager: NSObject {
  /// The model of the store there is.
  open var sourceModel: ManagedObjectModel { models.source }
  /// The model of the store that is made.
  open var destinationModel: ManagedObjectModel { models.destination }
  private let models: (source: ManagedObjectModel, destination: ManagedObjectModel)
  /// For policies.
  open var userInfo: [AnyHashable: Any]?
  /// Whether a mapping model that is as it was inferred may be carried out row by row, without objects and contexts, when the destination
  /// does not exist. Then there are no policies to call, and IDs stay. Default true.
  open var usesStoreSpecificMigrationManager = true
  /// Whether key-value coding of the two contexts speaks Foundation.
  package var speaksFoundation = false

  private var run: MigrationRun?
  private let state = Mutex(State())

  /// What other threads look at and change.
  private struct State {
    var cancellation: (any Error)?
    var progress: Float = 0
    /// Of a mapping that is carried out row by row.
    var rows: BatchProgress?
  }

  /// A manager for stores of one model.
  public init(sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel) {
    models = (sourceModel, destinationModel)
    super.init()
  }

  /// A manager whose models have no entities: for subclasses that override ``sourceModel`` and ``destinationModel``.
  public override init() {
    models = (ManagedObjectModel(), ManagedObjectModel())
    super.init()
  }

  // MARK: During a migration

  /// The mapping model that is carried out. Only while a migration runs; traps otherwise.
  open var mappingModel: MappingModel { current.mappings }
  /// The mapping that is being worked off. Only while a migration runs; traps otherwise.
  open var currentEntityMapping: EntityMapping { current.mapping }
  /// The context with the objects there are. Only while a migration runs; traps otherwise.
  open var sourceContext: ManagedObjectContext { current.source }
  /// The context with the objects that are made. Only while a migration runs; traps otherwise.
  open var destinationContext: ManagedObjectContext { current.destination }
  /// How far the migration is, from 0 to 1; 0 while none runs (rule 312).
  open var migrationProgress: Float {
    state.withLock { state in
      guard let rows = state.rows, let total = rows.totalCount, total > 0 else { return state.progress }
      return min(1, Float(rows.completedCount) / Float(total))
    }
  }

  private var current: MigrationRun {
    guard let run else {
      trap("a MigrationManager was asked for the state of a migration while none is running.")
    }
    return run
  }

  /// The source entity of a mapping; nil for one that is new.
  open func sourceEntity(for mEntity: EntityMapping) -> EntityDescription? {
    mEntity.sourceEntityName.flatMap { sourceModel.entitiesByName[$0] }
  }

  /// The destination entity of a mapping; nil for one that goes.
  open func destinationEntity(for mEntity: EntityMapping) -> EntityDescription? {
    mEntity.destinationEntityName.flatMap { destinationModel.entitiesByName[$0] }
  }

  /// Remembers that `destinationInstance` is made of `sourceInstance` by that mapping.
  open func associate(
    sourceInstance: ManagedObject, withDestinationInstance destinationInstance: ManagedObject,
    for entityMapping: EntityMapping
  ) {
    current.associations.add(sourceInstance, destinationInstance, entityMapping.name)
  }

  /// What has become of these objects by the mapping of that name; of all that it was applied to for nil. A name that no mapping has ends the
  /// migration with error 134110.
  open func destinationInstances(
    forEntityMappingName mappingName: String, sourceInstances: [ManagedObject]?
  ) -> [ManagedObject] {
    current.noteMapping(mappingName)
    return current.associations.destinations(mappingName, sourceInstances)
  }

  /// What these objects were before, by the mapping of that name; all that it was applied to for nil. A name that no mapping has ends the
  /// migration with error 134110.
  open func sourceInstances(
    forEntityMappingName mappingName: String, destinationInstances: [ManagedObject]?
  ) -> [ManagedObject] {
    current.noteMapping(mappingName)
    return current.associations.sources(mappingName, destinationInstances)
  }

  /// What has become of these objects, by whatever mapping, in their order.
  public func destinationInstances(of sourceInstances: [ManagedObject]) -> [ManagedObject] {
    current.associations.destinations(of: sourceInstances)
  }

  /// Ends the migration as soon as it looks, which it does when it begins and before each object, or every few thousand rows: it throws `error`,
  /// and the destination stays what it was. From any thread.
  open func cancelMigrationWithError(_ error: any Error) {
    state.withLock { state in
      state.cancellation = error
      state.rows?.cancel()
    }
  }

  /// Forgets associations and a cancellation: the manager can be used once more.
  open func reset() {
    run?.associations = MigrationAssociations()
    state.withLock { $0.cancellation = nil }
  }

  // MARK: Migrating

  /// Migrates the store at `sourceURL` into the one at `dURL`, which is made when it does not exist and appended to otherwise. Here so that subclasses can override it; the types and
  /// options are those of the module `CoreData`, which does the work. Without that module it traps: use `migrateStore(from:with:to:)`.
  /// - Throws: `CocoaError` 134140 without mappings, 134150 and 134160 when the source or the destination cannot be opened, 134120 when
  ///   it was cancelled; validation errors; what policies throw.
  open func migrateStore(
    from sourceURL: URL, sourceType sStoreType: String, options sOptions: [AnyHashable: Any]? = nil,
    with mappings: MappingModel?, toDestinationURL dURL: URL, destinationType dStoreType: String,
    destinationOptions dOptions: [AnyHashable: Any]? = nil
  ) throws {
    guard let manager = self as? any MigratingByNames else {
      trap(
        "a MigrationManager was asked for stores by the names of their types, which the module CoreData knows; "
          + "use migrateStore(from:with:to:).")
    }
    try manager.migrateByNames(
      from: NamedStore(url: sourceURL, type: sStoreType, options: sOptions), with: mappings,
      to: NamedStore(url: dURL, type: dStoreType, options: dOptions))
  }

  /// Migrates the store that `source` describes into the one that `destination` describes, which is made when it does not exist and appended
  /// to otherwise (rule 313).
  ///
  /// The source is opened for reading only. The objects of both contexts are plain ones, whatever classes their entities have: code of classes
  /// that follow the newest model is not run on the objects of a migration. Nothing is saved before all passes are through; then everything at once, validated as in any save.
  /// - Throws: ``CoreDataError`` 134150 and 134160 when the source or the destination cannot be opened, the error that it was cancelled with, 134110 for a
  ///   mapping that does not fit the models, or whose expressions make values that do not fit, with the reason; 134111 for duplicates; validation errors; what policies throw. A destination that did not exist is
  ///   removed then.
  public func migrateStore(
    from source: PersistentStoreDescription, with mappings: MappingModel,
    to destination: PersistentStoreDescription
  ) throws {
    guard run == nil else { trap("a MigrationManager migrates one store at a time.") }
    try stopIfCancelled()
    let isNew = destination.url.map { !FileManager.default.fileExists(atPath: $0.path) } ?? true
    let kind = try StoreEngines.kind(destination.type)
    if usesStoreSpecificMigrationManager, isNew, kind.keepsFiles, source.type == destination.type,
      source.url != nil, let there = destination.url, isAsInferred(mappings)
    {
      return try carryOver(source, there, destination, kind)
    }
    // A store in a file that is made has its name when it is complete.
    let draft = isNew && kind.keepsFiles ? destination.url.flatMap { Self.draft(beside: $0) } : nil
    var made = destination
    if let draft { made.url = draft.url }
    let run = try MigrationRun(
      self, source: source, destination: made, mappings: mappings, foundation: speaksFoundation)
    draft?.hold()
    self.run = run
    defer {
      self.run = nil
      state.withLock { $0.progress = 0 }
    }
    do {
      try run.start()
      run.close()
      if let draft {
        try draft.flush()
        try stopIfCancelled()
        try draft.publish()
      }
    } catch {
      run.close()
      draft?.remove()
      try stopIfCancelled()
      throw error
    }
  }

  /// Whether the mappings still are what was inferred: they are objects, which may have been changed one by one since.
  private func isAsInferred(_ mappings: MappingModel) -> Bool {
    guard mappings.isInferred else { return false }
    let inferred = try? MappingModel.inferredMappingModel(
      forSourceModel: sourceModel, destinationModel: destinationModel)
    return inferred?.entityMappings == mappings.entityMappings
  }

  private func carryOver(
    _ source: PersistentStoreDescription, _ there: URL, _ destination: PersistentStoreDescription,
    _ kind: any StoreEngineKind
  ) throws {
    let draft = Self.draft(beside: there)
    var made = destination
    made.url = draft?.url ?? there
    defer { draft?.remove() }
    do {
      try requireSourceModel(of: source, kind)
      try kind.replace(made, with: source)
    } catch {
      throw CoreDataError(
        .migrationManagerSourceStore, "The source store cannot be copied: \(error)",
        userInfo: [NSUnderlyingErrorKey: error])
    }
    // What it takes away the source has, which stays.
    var permission = MigrationPermission()
    permission.isForCopy = true
    let rows = BatchProgress()
    state.withLock { $0.rows = rows }
    defer { state.withLock { $0.rows = nil } }
    do {
      let model = destinationModel
      try stopIfCancelled()
      try kind.migrate(
        made, to: model, permission: permission, patience: Patience(destination.timeout), progress: rows)
      try draft?.flush()
    } catch {
      try stopIfCancelled()
      throw error
    }
    try stopIfCancelled()
    try draft?.publish()
  }

  /// Nil when the folder cannot be used, of which opening tells.
  private static func draft(beside url: URL) -> StoreDraft? {
    guard let file = try? StoreFile(url.path, .system) else { return nil }
    StoreDraft.removeLeftovers(beside: file)
    return StoreDraft(.migration, beside: file)
  }

  /// What is inferred is inferred from the model in the store: it must be the one that the mapping was made for.
  private func requireSourceModel(
    of source: PersistentStoreDescription, _ kind: any StoreEngineKind
  ) throws {
    let (stored, known) = (
      try kind.metadata(of: source).versionHashes, sourceModel.entityVersionHashesByName
    )
    let differing = stored.filter { known[$0.key] != $0.value }.keys.sorted()
    if differing.isEmpty { return }
    throw CoreDataError(
      .persistentStoreIncompatibleVersionHash,
      "The store was written with another model than the source model: \(differing.joined(separator: ", ")) differ.",
      userInfo: ["NSStoreIncompatibleEntities": differing])
  }

  /// - Throws: what `cancelMigrationWithError` was called with.
  private func stopIfCancelled() throws {
    if let cancellation = state.withLock({ $0.cancellation }) { throw cancellation }
  }

  /// - Throws: what `cancelMigrationWithError` was called with; what a policy or a mapping has failed with.
  func step(_ fraction: Float) throws {
    state.withLock { $0.progress = fraction }
    try stopIfCancelled()
    if let failure = run?.failure { throw failure }
  }

  /// Mappings for the properties that both have; none unless the mapping copies.
  func sameNames(
    _ mapping: EntityMapping, _ source: (some Sequence<String>)?, _ destination: some Sequence<String>,
    _ make: (String) -> PropertyMapping
  ) -> [PropertyMapping] {
    guard mapping.mappingType == .copy, let source else { return [] }
    return Set(source).intersection(destination).sorted().map(make)
  }

  /// The objects in a value of a relationship, or of an expression.
  package static func objects(_ value: Any?) -> [ManagedObject] {
    guard let value else { return [] }
    if let objects = ManagedObject.objects(in: value) { return objects }
    return (FoundationCollections.elements(of: value) ?? []).compactMap { $0 as? ManagedObject }
  }

  /// The same; nil when there is anything else in it.
  static func onlyObjects(_ value: Any) -> [ManagedObject]? {
    if let object = value as? ManagedObject { return [object] }
    guard let elements = FoundationCollections.elements(of: value) else { return nil }
    let objects = elements.compactMap { $0 as? ManagedObject }
    return objects.count == elements.count ? objects : nil
  }
}

/// A store as Core Data's methods name it.
package struct NamedStore {
  package let url: URL
  package let type: String
  package let options: [AnyHashable: Any]?
}

/// What the module with Core Data's names makes of ``MigrationManager``: a method of its own cannot be overridden, being in an extension.
package protocol MigratingByNames: MigrationManager {
  func migrateByNames(
    from source: NamedStore, with mappings: MappingModel?, to destination: NamedStore
  ) throws
}
