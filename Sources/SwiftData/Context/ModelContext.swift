import Dispatch
import StrataCore

/// A scratchpad of models: those that were fetched or inserted, and what has changed since the last save.
///
///     let context = ModelContext(container)
///     context.insert(Trip(name: "Oslo"))
///     try context.save()
///
/// A context and its models are used by one thread, or one actor, at a time. ``ModelContainer/mainContext`` is the main actor's; a ``ModelActor`` has one of its own; any
/// other belongs to the code that made it. All contexts of a container are siblings. What one of them saves the others show from their next use on: models without changes take
/// the new values, changed ones keep their changes on top, property by property.
public class ModelContext: Equatable, _SendableMetatype {
  /// The container. Its stores stay open as long as the context is there.
  public var container: ModelContainer {
    if let container = kept ?? known { return container }
    let made = ModelContainer(of: self, core)
    known = made
    return made
  }
  /// The open stores.
  let core: ContainerCore
  /// The container, which has its main context and is not kept by it.
  private let kept: ModelContainer?
  private weak var known: ModelContainer?
  /// Where the rows are.
  let rows: RowContext
  /// Whether changes are saved by themselves, on a later turn of the main queue. Contexts that were made elsewhere than on the main thread never save by themselves, whatever this
  /// says. A save that fails is written to standard error, and its changes stay. Default true.
  // U1: Apple's pages say false for contexts made by hand, and measurements true.
  public var autosaveEnabled = true { didSet { if autosaveEnabled { noteChange() } } }
  /// Who saves: recorded in the history of the store.
  public var author: String? { didSet { rows.transactionAuthor = author } }
  /// The context as stores of the program's own know it: an identity of its own, and the ``author``.
  public var editingState: EditingState {
    get {
      rows.editingState.author = author
      return rows.editingState
    }
    set {
      if newValue.id != rows.editingState.id {
        for store in core.ownStores { store.end(rows.editingState) }
      }
      rows.editingState = newValue
      author = newValue.author
    }
  }

  /// Rows with temporary identifiers.
  @exclusivity(unchecked) final var temporaryRows = TemporaryRows()
  /// Drafts that are to be inserted, since an initialiser has related them to a model of this context.
  // `@exclusivity(unchecked)`: used where the context is, and no access spans a call into other code.
  @exclusivity(unchecked) final var expected: [AnyDraft] = []
  /// While a save runs: what the saves that its observers began have deleted.
  @exclusivity(unchecked) final var deletedByInnerSaves: Set<ManagedObjectID>?
  /// Whether jobs of the main queue may use the context: it was made on the main thread, and no actor has it.
  @exclusivity(unchecked) private(set) final var servesMainThread = MainQueue.isCurrent

  /// A sibling of the container's other contexts.
  public convenience init(_ container: ModelContainer) { self.init(container, isMain: false) }

  /// The context that the container has itself.
  convenience init(mainOf container: ModelContainer) { self.init(container, isMain: true) }

  private init(_ container: ModelContainer, isMain: Bool) {
    core = container.core
    kept = isMain ? nil : container
    known = container
    rows = RowContext(.confinement)
    rows.followDuplicates()
    rows.followTakenBack()
    rows.keepChanged()
    rows.takeEditedByBatches()
    let reference = WeakModelContext()
    let isOnMainThread = servesMainThread
    // Objects of `managedObjectContext` may be edited as well. The context of models is not asked in the middle of the change: whoever let go of it there would end it.
    if isOnMainThread { rows.whenEdited { [unowned rows] in ModelContext.scheduleTurnEnd(rows, reference) } }
    rows.serveAnyThread(
      CommitInbox(isOfMainQueue: isOnMainThread) {
        // What is on the screen follows without being asked.
        guard isOnMainThread else { return }
        DispatchQueue.main.async {
          if let context = reference.context, context.servesMainThread { context.mergeArrived() }
        }
      })
    rows.persistentStoreCoordinator = core.coordinator
    rows.mergePolicy = ModelMergePolicy.shared
    rows.observesObjects = true
    rows.accessorsNoteReads = true
    rows.modelContext = self
    reference.context = self
  }

  deinit {
    rows.letGoOfAll()
    if rows.hasChanges { ModelRow.keepRelationships(of: rows.unsavedInsertions + rows.unsavedUpdates) }
    for store in core.ownStores { store.end(rows.editingState) }
  }

  /// Contexts are equal when they are the same.
  public static func == (lhs: ModelContext, rhs: ModelContext) -> Bool { lhs === rhs }

  /// The context of Strata beneath: child contexts, query generations, explanations of fetches. Its objects are the rows of this context's models, and are used where this
  /// context is.
  ///
  /// What a child context saves the models show at once, unless it saves in a block that its own queue runs by itself, such as one of `perform`: then when this context is asked for
  /// something next, and in a context of the main thread in the next turn of the main queue at the latest.
  public var managedObjectContext: ManagedObjectContext { rows }

  // MARK: Using

  /// Before anything is asked of the context: what siblings have saved is merged, and drafts that wait come in.
  @inline(__always)
  func enter() {
    mergeArrived()
    settleExpected()
  }

  @inline(__always)
  private func mergeArrived() {
    rows.mergeArrived()
    letGoMissing()
    rows.letGoIfSettled()
  }

  /// What others have deleted is no unsaved change: its models leave the context.
  @inline(__always)
  private func letGoMissing() { rows.letGoMissing { ($0 as? ModelRow)?.keepTargets() } }

  /// Whether anything is to be saved: new, changed or deleted models.
  public var hasChanges: Bool {
    enter()
    return rows.hasChanges
  }

  /// The models that were inserted since the last save, in the order in which they were.
  public var insertedModelsArray: [any PersistentModel] {
    enter()
    return models(of: rows.unsavedInsertions)
  }

  /// The models that have unsaved changes and are neither new nor deleted.
  public var changedModelsArray: [any PersistentModel] {
    enter()
    return models(of: rows.unsavedUpdates)
  }

  /// The models that the next save deletes.
  public var deletedModelsArray: [any PersistentModel] {
    enter()
    return models(of: rows.unsavedDeletions)
  }

  private func models(of objects: [ManagedObject]) -> [any PersistentModel] {
    objects.compactMap { ($0 as? ModelRow)?.anyPersistentModel() }
  }

  /// Ends a group of changes: they can be undone together, delete rules are carried out, observers are told. In a context of the main thread each turn of the main queue ends one
  /// by itself, whether the context saves by itself or not.
  public func processPendingChanges() {
    enter()
    rows.processPendingChanges()
  }

  /// Records how to take changes back. Nil, the default: nothing is recorded.
  ///
  /// That a new model has become a row with the same unique values is taken back together with its insertion, also after the save: the row has the values of before.
  public var undoManager: UndoManager? {
    get { rows.undoManager }
    set { rows.undoManager = newValue }
  }

  /// Drops all unsaved changes: new models leave the context, deleted ones are back, changed ones have their saved values. What could be undone is forgotten. A new model that is
  /// inserted again brings the new models that it led to along.
  public func rollback() {
    for draft in expected { draft.destination = nil }
    expected = []
    rows.mergeArrived()
    rows.letGoUnsaved()
    ModelRow.keepRelationships(of: rows.unsavedInsertions)
    // What is back leads to what it led to by itself.
    for object in rows.unsavedDeletions { (object as? ModelRow)?.takeKept() }
    rows.rollback()
  }

  /// Runs `block`, then saves.
  ///
  /// - Throws: what `block` throws; then nothing is saved, and what it changed stays unsaved. What ``save()`` throws.
  // U4: Apple does not say what becomes of the changes.
  public func transaction(block: () throws -> Void) throws {
    try block()
    try save()
  }

  // MARK: The turns of the main queue

  /// Something has changed: schedules what ends the turn of the main queue, where the context is used there.
  @inline(__always)
  func noteChange() {
    if servesMainThread, !rows.isTurnEndScheduled { scheduleTurnEnd() }
  }

  private func scheduleTurnEnd() { ModelContext.scheduleTurnEnd(rows, WeakModelContext(self)) }

  private static func scheduleTurnEnd(_ rows: RowContext, _ reference: WeakModelContext) {
    if rows.isTurnEndScheduled { return }
    rows.isTurnEndScheduled = true
    DispatchQueue.main.async { reference.context?.endTurn() }
  }

  /// An executor has the context from now on.
  func leaveMainThread() { servesMainThread = false }

  /// Saves where the context saves by itself. Elsewhere the turn is one event all the same, as it would be with a save: undo takes it back by itself, delete rules are carried
  /// out, observers are told.
  private func endTurn() {
    guard servesMainThread else { return }
    rows.isTurnEndScheduled = false
    // A save whose observers let the main queue run writes everything itself.
    if rows.isSaving { return rows.followNextEdit() }
    guard autosaveEnabled, hasChanges else {
      rows.followNextEdit()
      return processPendingChanges()
    }
    // What a save changes beneath is written with it, and no reason to try again when it fails.
    defer { rows.followNextEdit() }
    do {
      try save()
      // Observers of the save may have changed objects beneath.
      if rows.hasChanges { noteChange() }
    } catch { report("a context could not save by itself, its changes stay", error) }
  }
}

@available(
  *, unavailable,
  message: "a context and its models stay where they are; pass the container and persistentModelIDs"
)
extension ModelContext: @unchecked Sendable {}

/// A context that a block on the main queue looks for, and does not keep.
private final class WeakModelContext: @unchecked Sendable {
  // @unchecked Sendable: set where the context is made, before the block can run, and read on the main queue only, to which the context belongs then.
  weak var context: ModelContext?
  init(_ context: ModelContext? = nil) { self.context = context }
}

/// The main queue, which is not always on the main thread: once a program has called `dispatchMain()`, its jobs and those of the main actor run elsewhere.
private enum MainQueue {
  private static let key = DispatchSpecificKey<Bool>()
  private static let mark: Void = DispatchQueue.main.setSpecific(key: key, value: true)

  /// Whether the caller runs on it.
  static var isCurrent: Bool {
    _ = mark
    return DispatchQueue.getSpecific(key: key) == true || Thread.isMainThread
  }
}

/// How saves settle what others have saved meanwhile.
///
/// Two contexts that change one model: property by property, what is saved last stays. A model that one deletes stays deleted, also where that is found out in the middle of the
/// other's save: the edit goes, as it does when the deletion is merged before. Two models with the same unique values become one row, with all values of the new model.
// U3: Apple reports no conflicts; S57, S58.
final class ModelMergePolicy: MergePolicy, @unchecked Sendable {
  // @unchecked Sendable: as its superclass, it has no state of its own.
  static let shared = ModelMergePolicy(merge: .mergeByPropertyObjectTrump)

  override func resolve(optimisticLockingConflicts conflicts: [MergeConflict]) throws {
    // Of version 0 are rows that have been deleted.
    let gone = conflicts.filter { $0.newVersionNumber == 0 }
    if gone.isEmpty { return try super.resolve(optimisticLockingConflicts: conflicts) }
    // All of them are asked before any of them leaves.
    for conflict in gone { (conflict.sourceObject as? ModelRow)?.keepTargets() }
    try MergePolicy.mergeByPropertyStoreTrump.resolve(optimisticLockingConflicts: gone)
    try super.resolve(optimisticLockingConflicts: conflicts.filter { $0.newVersionNumber != 0 })
  }

  override func resolve(constraintConflicts list: [ConstraintConflict]) throws {
    try MergePolicy.overwrite.resolve(constraintConflicts: list)
  }
}
