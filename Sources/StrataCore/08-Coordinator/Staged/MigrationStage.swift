import Foundation

/// One step of a staged migration (rule 314). Core Data's `NSMigrationStage`.
public class MigrationStage: NSObject {
  /// For people.
  public var label: String! = ""

  /// The checksums of the versions that the stage leads through, in order.
  var checksums: [String] { [] }

  override init() { super.init() }
}

/// Versions that follow from each other by what can be inferred (rule 307). Core Data's `NSLightweightMigrationStage`.
public final class LightweightMigrationStage: MigrationStage {
  /// The checksums of the versions, oldest first (rule 315).
  public let versionChecksums: [String]

  override var checksums: [String] { versionChecksums }

  /// A stage of the versions with these checksums, oldest first.
  public init(_ checksums: [String]) {
    versionChecksums = checksums
    super.init()
  }
}

/// A step from one version to the next, with code before and behind it. Core Data's `NSCustomMigrationStage`.
///
/// What can be inferred between the two is done between the two handlers.
public final class CustomMigrationStage: MigrationStage {
  /// The version before.
  public let currentModel: ManagedObjectModelReference
  /// The version afterwards.
  public let nextModel: ManagedObjectModelReference
  /// Called before the step. The manager's `container` has the store open with the current model.
  public var willMigrateHandler: ((StagedMigrationManager, CustomMigrationStage) throws -> Void)?
  /// Called after the step. The manager's `container` has the store open with the next model.
  public var didMigrateHandler: ((StagedMigrationManager, CustomMigrationStage) throws -> Void)?

  override var checksums: [String] { [currentModel.versionChecksum, nextModel.versionChecksum] }

  /// A step between two versions.
  public init(
    migratingFrom currentModel: ManagedObjectModelReference, to nextModel: ManagedObjectModelReference
  ) {
    self.currentModel = currentModel
    self.nextModel = nextModel
    super.init()
  }
}

/// The steps by which a store of any earlier version becomes one of the newest. Core Data's `NSStagedMigrationManager`.
///
///     description.stagedMigrationManager = StagedMigrationManager([
///       LightweightMigrationStage([one.versionChecksum, two.versionChecksum]), step,
///     ])
///
/// A version that a lightweight stage names is reached, or left, by what can be inferred, whichever stage comes before or behind it. Of
/// custom stages that follow each other, the one begins where the other ends.
///
/// Used by one migration at a time.
public final class StagedMigrationManager: NSObject, @unchecked Sendable {
  // @unchecked Sendable: `stages` is a constant whose handlers run on the thread that opens the store; the rest belongs to that thread.

  /// The stages, oldest first.
  public let stages: [MigrationStage]

  /// What a handler's container is to open.
  package struct Opening {
    package let model: ManagedObjectModel
    package let description: PersistentStoreDescription
  }
  /// While a handler runs.
  package var opening: Opening?
  /// The container that the handler has asked for, and how it is closed.
  package var opened: (container: AnyObject, close: () -> Void)?

  /// What versions are called, by their models' checksums: what errors say of them.
  package var versionNames: [String: String] = [:]
  private func name(_ checksum: String) -> String { versionNames[checksum] ?? checksum }

  /// A manager for these stages, oldest first.
  public init(_ stages: [MigrationStage]) { self.stages = stages }

  /// So often others may get in between.
  private static let mostRounds = 16

  /// Brings the store to `model`. One thread after the other, of this process and of all others.
  ///
  /// - Throws: ``CoreDataError`` 134190 when a step between handlers cannot be inferred, which is found before a handler runs unless the store
  ///   holds the entities of a configuration; 134110 when objects lack values that the next step needs, which handlers may have given them; 134504 when the store's version or the model's is in no stage, or a stage's model is not found; 134506 when the stages lead from
  ///   `model` to the store's version; 134110 when a custom stage does not begin where the one before it ends; ``StorageError`` `.busy` while another process
  ///   migrates the store, and when this process has it open, which is found before a handler runs; what `LMDBStore.migrate` and the handlers throw. The store is of the last version then that was reached.
  func migrate(
    _ description: PersistentStoreDescription, _ kind: any StoreEngineKind, to model: ManagedObjectModel,
    _ patience: Patience
  ) throws {
    try requireChain()
    try kind.inTurn(description, patience) {
      // A program that knows no stages takes no turns: then it is looked at again what is to be done.
      for _ in 0..<Self.mostRounds {
        if try migrateAlone(description, kind, to: model, patience) { return }
      }
      throw StorageError(
        .busy, operation: "migrate", path: description.url?.path ?? "",
        detail:
          "Other programs have brought the store to another version again and again while it was migrated in stages."
      )
    }
  }

  /// False when another program has brought the store to another version meanwhile.
  private func migrateAlone(
    _ description: PersistentStoreDescription, _ kind: any StoreEngineKind, to model: ManagedObjectModel,
    _ patience: Patience
  ) throws -> Bool {
    // Stages name the versions that the program knows, and the store's is one of them.
    var permission = description.migrationPermission
    permission.knowsSource = true
    func stored() throws -> ManagedObjectModel { try kind.model(of: description, withClasses: false) }
    let start = try stored()
    var reached = start.versionChecksum
    let work = try stages(from: reached, to: model.versionChecksum)
    // Of a store that holds a part of the entities only each step tells.
    if description.configuration == nil {
      try requireInferable(work, from: start, to: model)
    }
    // What handlers have saved stays, also when the store can then not be migrated: so that is asked before.
    let customs = work.compactMap { $0 as? CustomMigrationStage }
    for stage in customs {
      _ = try stage.currentModel.resolve()
      _ = try stage.nextModel.resolve()
    }
    if !customs.isEmpty { try kind.requireMigratable(description) }
    func advance(to model: ManagedObjectModel) throws -> Bool {
      let found = try stored().versionChecksum
      if found != reached { return false }
      if found == model.versionChecksum { return true }
      try kind.migrate(description, to: model, permission: permission, patience: patience)
      // A store that holds the entities of a configuration goes on with its model when nothing else changes.
      let now = try stored().versionChecksum
      reached = now == found ? found : model.versionChecksum
      return true
    }
    for stage in work {
      guard let stage = stage as? CustomMigrationStage else { continue }
      let current = try stage.currentModel.resolve()
      guard try advance(to: current) else { return false }
      try call(stage.willMigrateHandler, stage, current, description)
      let next = try stage.nextModel.resolve()
      guard try advance(to: next) else { return false }
      try call(stage.didMigrateHandler, stage, next, description)
    }
    return try advance(to: model)
  }

  /// What lies between the handlers of custom stages, before the first and behind the last has to be inferred. A step that cannot be is found before the first
  /// handler runs. Whether objects have the values that they must have is asked by the step itself: to give them some is what handlers are for.
  private func requireInferable(
    _ work: ArraySlice<MigrationStage>, from store: ManagedObjectModel, to model: ManagedObjectModel
  ) throws {
    var reached = store
    func step(to next: ManagedObjectModel) throws {
      if reached.versionChecksum != next.versionChecksum {
        try InferredMappingModel.require(ModelPairing(reached, next))
      }
      reached = next
    }
    for case let stage as CustomMigrationStage in work {
      try step(to: try stage.currentModel.resolve())
      try step(to: try stage.nextModel.resolve())
    }
    try step(to: model)
  }

  /// A custom stage that was left out may be the one whose handlers keep what would be lost.
  private func requireChain() throws {
    for (stage, next) in zip(stages, stages.dropFirst()) {
      guard let stage = stage as? CustomMigrationStage, let next = next as? CustomMigrationStage else {
        continue
      }
      let (end, start) = (stage.nextModel.versionChecksum, next.currentModel.versionChecksum)
      if end == start { continue }
      throw CoreDataError(
        .migration,
        "There is a gap between two stages of the migration: “\(stage.label ?? "")” ends with the version \(name(end)), and “\(next.label ?? "")” "
          + "begins with \(name(start)). Put a stage between them that leads from the one to the other; a lightweight one where that can be inferred."
      )
    }
  }

  /// The stages that have something to do.
  private func stages(from store: String, to wanted: String) throws -> ArraySlice<MigrationStage> {
    let steps = stages.enumerated().flatMap { place, stage in
      stage.checksums.enumerated().map {
        (stage: place, checksum: $1, isFirst: $0 == 0, isLast: $0 == stage.checksums.count - 1)
      }
    }
    guard let start = steps.firstIndex(where: { $0.checksum == store }) else {
      throw CoreDataError(
        .managedObjectModelReferenceNotFound,
        "The store is of a version that is in none of the stages: "
          + (versionNames[store].map { "it is \($0)." } ?? "its checksum is \(store)."))
    }
    guard let end = steps.lastIndex(where: { $0.checksum == wanted }) else {
      // A stage that was forgotten may be the one whose handlers keep what would be lost.
      throw CoreDataError(
        .managedObjectModelReferenceNotFound,
        "The coordinator's model is of a version that is in none of the stages: "
          + (versionNames[wanted].map { "it is \($0)." } ?? "its checksum is \(wanted)."))
    }
    if end < start {
      throw CoreDataError(
        .stagedMigrationBackwardMigration,
        "The store is of a later version than the model: the stages lead from \(name(wanted)) to \(name(store))."
      )
    }
    let first = steps[start].isLast ? steps[start].stage + 1 : steps[start].stage
    // What begins with the wanted version leads away from it.
    let last =
      stages[steps[end].stage] is CustomMigrationStage && steps[end].isFirst
      ? steps[end].stage - 1 : steps[end].stage
    return first <= last ? stages[first...last] : []
  }

  private func call(
    _ handler: ((StagedMigrationManager, CustomMigrationStage) throws -> Void)?,
    _ stage: CustomMigrationStage,
    _ model: ManagedObjectModel, _ description: PersistentStoreDescription
  ) throws {
    guard let handler else { return }
    var plain = description
    plain.stagedMigrationManager = nil
    plain.migratesAutomatically = false
    plain.shouldAddStoreAsynchronously = false
    // What a step before has replaced stays until the first save to the finished store.
    plain.keepsReplacedFiles = true
    opening = Opening(model: model, description: plain)
    defer {
      opening = nil
      opened?.close()
      opened = nil
    }
    try handler(self, stage)
  }
}
