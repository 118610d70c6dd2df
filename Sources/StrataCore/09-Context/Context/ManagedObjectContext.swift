import Dispatch
import Foundation
import Observation
import Synchronization

/// A scratchpad of changes: the objects one piece of work looks at, edits, and saves or throws away.
///
///     context (own objects, own unsaved changes, one queue)
///        │ fetch, fault, save
///        ▼
///     coordinator ── store ── file
///
/// A context is confined: to the main queue, to a private queue of its own, or to the thread that made it. Its objects are
/// touched only there. `perform`, `performAndWait` and `await perform` bring work to it and may be called from anywhere;
/// so may the properties documented as such. Everything else belongs on its queue: debug builds check every access and
/// trap with advice, release builds do so when `checksConfinement` is on (or `STRATA_CHECK_CONFINEMENT=1` is set).
///
/// Within a context there is one object per record (rule 40). Unchanged objects that are held nowhere else are released.
open class ManagedObjectContext: NSObject, @unchecked Sendable {
  // Safe: state outside `shared` is confined to the context's queue, which every entry point checks in debug builds;
  // `shared` has its own lock; the rest are constants.

  /// How the context is confined.
  @_disfavoredOverload public final var concurrencyType: ConcurrencyType { queue.type }
  /// The coordinator the context reads from and saves to; of a context with a parent, the one at the bottom of the stack. One without
  /// stores and entities while the context has none yet. Set by `join` and `leave` alone, as the next ones are.
  @exclusivity(unchecked) private(set) final var coordinator = PersistentStoreCoordinator.none
  /// See `parent`.
  @exclusivity(unchecked) private(set) final var storedParent: ManagedObjectContext?
  /// What the context has not saved, for its children. Another one once the context has left its coordinator: children that it had stay with this one.
  @exclusivity(unchecked) private(set) final var strata = Strata()
  /// The unsaved changes of the contexts below, nearest first.
  @exclusivity(unchecked) private(set) final var ancestors: [Strata] = []
  /// The query generation, shared with the contexts above.
  @exclusivity(unchecked) private(set) final var generation = PinnedGeneration()

  /// Set again while the context is being made, at most.
  @exclusivity(unchecked) private(set) final var queue: ContextQueue
  @exclusivity(unchecked) private(set) final var schema = PersistentStoreCoordinator.none.requireSchema()
  /// Settings that may be read and set from any thread (rule 7).
  final let shared = Mutex(Settings())

  struct Settings {
    var name: String?
    var transactionAuthor: String?
    var mergePolicy = MergePolicy.error
    var mergesAutomatically = false
    var detectsConflictsWithParent = false
    var checksUniquenessAtParent = false
    var undoManager: SharedUndoManager?
    /// Children that were made before this context had a coordinator.
    var waiting: [WeakContext] = []
    /// All children there are.
    var offspring: [WeakContext] = []
  }

  // MARK: State, on the context's queue

  /// A dictionary for the context's owner (rule 21).
  public final var userInfo: NSMutableDictionary { checkAccess(); return storedUserInfo }
  private final lazy var storedUserInfo = NSMutableDictionary()

  /// Whether objects stay registered although they are held nowhere else (rule 13). Default false.
  public final var retainsRegisteredObjects = false {
    didSet { stores.setRetainsObjects(retainsRegisteredObjects) }
  }

  /// Whether a fault whose row is gone becomes a deleted object with nil values instead of stopping the process
  /// (rule 48). Default true.
  public final var shouldDeleteInaccessibleFaults = true

  /// Whether delete rules are applied at the end of the event in which an object was deleted, or only by the save (rule 23).
  /// Default true.
  public final var propagatesDeletesAtEndOfEvent = true

  /// How old, in seconds, a row may be that is in memory and fulfils a fault: negative for any age (the default), zero to
  /// ask the store each time (rule 64). Objects in use are never changed by it.
  @exclusivity(unchecked) public final var stalenessInterval: TimeInterval = -1

  /// Gets the errors of reads whose call cannot throw; on the context's queue. Nil, the default, writes one
  /// line to standard error for each.
  ///
  /// A record that cannot be read (the medium failed, the store is busy, closed, replaced or removed, the pinned query generation has ended)
  /// is not one that is gone: its fault stays a fault that shows nil, or what it showed before, and is tried again when it is next used;
  /// relationships keep showing the members that were known; nothing becomes deleted, and merges leave objects as they are. Calls that can
  /// throw do so instead: fetches and counts, `existingObject(with:)`, and saves, for everything that they, the hooks and the validation
  /// need. A deletion or an edit that could not be carried out in full waits for the next save, which finishes it or fails.
  ///
  /// The handler may use the context. What cannot be read while it runs goes to standard error. Core Data raises an exception instead, or
  /// takes the record for deleted.
  @exclusivity(unchecked) public final var readFailureHandler: ((ReadFailure) -> Void)?
  /// What is done about it.
  @exclusivity(unchecked) final var failures = ReadFailures()

  /// See `init(concurrencyType:)`. Set before the context is used.
  @exclusivity(unchecked) final var speaksFoundation = false

  /// Classes by entity and entities by class.
  @exclusivity(unchecked) private(set) final var classes = EntityClasses.none
  @exclusivity(unchecked) final var latest = LatestNew()
  /// What the class that was asked last declares by itself: most questions by key come one after the other.
  @exclusivity(unchecked) private final var lastKeys: (type: ObjectIdentifier, keys: ClassKeys?)?
  final func declaredKeys(of type: ManagedObject.Type) -> ClassKeys? {
    let identifier = ObjectIdentifier(type)
    if let lastKeys, lastKeys.type == identifier { return lastKeys.keys }
    let keys = ClassKeys.of(type)
    lastKeys = (identifier, keys)
    return keys
  }

  final class HomeForNew {
    let entity: EntityDescription
    let store: StoreBinding
    let bound: BoundEntity
    let table: IdentityTable
    let generation: Int

    init(
      entity: EntityDescription, store: StoreBinding, bound: BoundEntity, table: IdentityTable,
      generation: Int
    ) {
      self.entity = entity
      self.store = store
      self.bound = bound
      self.table = table
      self.generation = generation
    }
  }

  /// Objects by store and hierarchy.
  @exclusivity(unchecked) private(set) final var stores = RegisteredStores(hierarchyCount: 0)
  /// Children that ask to be notified of this context's saves.
  final let children = ChildObservers()
  @exclusivity(unchecked) final var untold = UntoldRows()
  @exclusivity(unchecked) final var saving = SavingState()
  /// Where commits wait for a context that any thread uses.
  @exclusivity(unchecked) final var inbox: CommitInbox?
  /// Which objects of far stores came together; nil without such a store.
  @exclusivity(unchecked) final var batchFaulting: BatchFaulting?
  /// Commits that are being merged automatically.
  @exclusivity(unchecked) final var mergeBacklog = MergeBacklog()
  /// By relationship number: grows when another context may have changed members, so that members are loaded again.
  @exclusivity(unchecked) final var relationEpochs: [UInt32] = []
  @exclusivity(unchecked) final var deletions = DeletionState()
  @exclusivity(unchecked) final var unpublished = UnpublishedEdits()
  @exclusivity(unchecked) final var duplicates = DuplicateState()
  @exclusivity(unchecked) final var event = EventState()
  @exclusivity(unchecked) final var provisional = ProvisionalState()
  /// A child has saved objects here that have provisional IDs. Set on the child's thread.
  final let awaitsProvisional = Atomic<Bool>(false)
  /// What has changed since the last save, and since the last did-change notification.
  // `@exclusivity(unchecked)`: its methods call no user code and come back before other code looks.
  @exclusivity(unchecked) final var changes = ChangeTracker()
  /// While a request is explained: how long each answer of a store took.
  @exclusivity(unchecked) final var askedTimes: [Duration]?
  /// The observers of what the context shows, apart from notifications.
  @exclusivity(unchecked) final var observation = ContextObservation()
  /// In the scratch context of a batch: which slots its handler gives values.
  @exclusivity(unchecked) final weak var givenSlots: GivenSlots?
  /// What an event changes, for the undo manager; nil without one.
  @exclusivity(unchecked) final var undoRecorder: UndoRecorder?
  /// The faults of this event, while somebody asks for them.
  @exclusivity(unchecked) final var faultCounts: FaultCounts?
  /// Counts what the context did, for tests and for people who look for waste.
  @exclusivity(unchecked) public internal(set) final var statistics = Statistics()

  /// The context's name, if it has one, and its kind.
  open override var description: String {
    let kind =
      switch concurrencyType {
      case .confinement: "confinement"
      case .privateQueue: "private queue"
      case .mainQueue: "main queue"
      }
    return "<context \(name.map { "“\($0)” " } ?? "")(\(kind))>"
  }

  // MARK: Making contexts

  /// Makes a context of the given kind that has no coordinator yet: set `persistentStoreCoordinator` or `parent`.
  ///
  /// A private-queue context makes its own serial queue; a confinement context belongs to the calling thread.
  @_disfavoredOverload public convenience init(_ concurrencyType: ConcurrencyType) {
    self.init(confinement: concurrencyType)
  }

  /// What `init(_:)` calls: a class that inherits it may be made by either.
  public init(confinement concurrencyType: ConcurrencyType) {
    queue = ContextQueue(concurrencyType)
    super.init()
    settle()
  }

  /// The same by Core Data's name: key-value coding hands out `NSNumber`s of numbers and an `NSOrderedSet` of an ordered relationship, where
  /// it hands out Swift's values and arrays otherwise, and errors are those that Foundation knows. Contexts above this one do as it does.
  public init(concurrencyType: ManagedObjectContextConcurrencyType) {
    queue = ContextQueue(ConcurrencyType(concurrencyType))
    speaksFoundation = true
    super.init()
    KeyedValues.speakFoundation.store(true, ordering: .relaxed)
    settle()
  }

  /// Makes a context of the given kind over `coordinator`.
  ///
  /// A private-queue context makes its own serial queue; a confinement context belongs to the calling thread.
  public convenience init(_ concurrencyType: ConcurrencyType, coordinator: PersistentStoreCoordinator) {
    self.init(
      concurrencyType, coordinator, parent: nil, classes: EntityClasses(coordinator.requireSchema()))
  }

  /// A context confined to the calling thread, which gets its coordinator or its parent afterwards, with values as Core Data hands them out.
  public override convenience init() { self.init(concurrencyType: .confinementConcurrencyType) }

  /// - Parameter isForAnyone: whether a confinement context belongs to no thread.
  convenience init(
    _ concurrencyType: ConcurrencyType, _ coordinator: PersistentStoreCoordinator,
    parent: ManagedObjectContext?,
    classes: EntityClasses, isForAnyone: Bool = false
  ) {
    self.init(confinement: concurrencyType)
    if isForAnyone { belongToAnyone() }
    join(coordinator, parent: parent, classes: classes)
  }

  /// Lets any thread use a confinement context, one after another. Before it is used.
  final func belongToAnyone() { queue = ContextQueue(.confinement, isForAnyone: true) }

  private final func settle() {
    _ = Self.environmentSwitch
    _ = DebugOutput.environmentSwitch
    changes.owner = .passUnretained(self)
  }

  /// The children that the context has had, which stay on the coordinator that it leaves, share nothing with it any more.
  final func leaveChildren() {
    strata.close()
    strata = Strata()
    // Children can neither move it nor let go of it.
    generation.set(nil)
    generation = PinnedGeneration()
    children.removeAll()
    shared.withLock { $0.offspring = [] }
  }

  /// Puts the context over `coordinator`, above `parent` if there is one. Nothing of the context has been used yet.
  final func join(
    _ coordinator: PersistentStoreCoordinator, parent: ManagedObjectContext?, classes: EntityClasses
  ) {
    self.coordinator = coordinator
    storedParent = parent
    ancestors = parent.map { [$0.strata] + $0.ancestors } ?? []
    if let parent {
      generation = parent.generation
      speaksFoundation = speaksFoundation || parent.speaksFoundation
    }
    schema = coordinator.requireSchema()
    self.classes = classes
    stores = RegisteredStores(hierarchyCount: schema.hierarchies.count)
    stores.setRetainsObjects(retainsRegisteredObjects)
    relationEpochs = Array(repeating: 0, count: schema.relationships.count)
    latest = LatestNew()
    if automaticallyMergesChangesFromParent { listen() }
  }

  deinit {
    stopListening()
    for observer in observation.listeners() { observer.contextDidEnd() }
    #if canImport(Darwin)
      // Foundation's manager would call a target that is gone.
      undoRecorder?.manager.messages.removeAllActions(withTarget: self)
    #endif
    // The objects outlive their context safely: last values readable, no context (contexts 9).
    stores.forEach { $0.context = nil }
    changes.forEachListed { $0.context = nil }
  }

  // MARK: What subclasses may override

  /// Writes all unsaved changes to their stores, all or nothing per store, and returns when they are as durable as the
  /// store promises.
  ///
  /// Order (rules 125, 135): pending changes are processed → `willSave()` on changed objects until they rest → will-save
  /// notification → validation, until it changes nothing more, all failures collected → the store's transaction;
  /// conflicting rows go to the merge policy, then it is tried again → `didSave()` → did-save notifications. A save with no
  /// changes posts its notifications with empty sets and writes nothing (rule 129).
  ///
  /// - Throws: In contexts made by Core Data's names a `CocoaError` with Core Data's code; in others `CoreDataError` for failed validation (1550 to 1680, or 1560 with all failures in `NSDetailedErrorsKey`), for
  ///   unresolved conflicts (133020), violated uniqueness (133021) that the merge policy does not settle and read-only stores;
  ///   `StorageError` for the disk and the
  ///   file; 134040 when several stores are concerned and only some could be written. The context keeps its changes.
  ///
  /// Throws 132001 and does nothing inside a save of the same context: in `willSave()`, in observers of the will-save notification and of a did-change
  /// notification about what `willSave()` or validation did, in validation and in merge policies. Observers of the did-change
  /// notification that begins a save, `didSave()` and observers of the did-save notifications may save.
  open func save() throws {
    // Inside of a save that is listed, as observers begin it, this is one of its own.
    let listing = saving.listing
    saving.listing = nil
    defer { saving.listing = listing }
    do { try saveChanges() } catch { throw speaksFoundation ? FoundationErrors.error(for: error) : error }
  }

  /// Whether a fault whose record is gone becomes a deleted object with nil values; otherwise it stops the process. Called on the context's queue when
  /// such a fault fires. By default `shouldDeleteInaccessibleFaults`.
  ///
  /// - Parameters:
  ///   - fault: The fault whose record is gone.
  ///   - oid: Its ID.
  ///   - property: Always nil: a fault is fulfilled as a whole.
  open func shouldHandleInaccessibleFault(
    _ fault: ManagedObject, for oid: ManagedObjectID, triggeredByProperty property: PropertyDescription?
  ) -> Bool { shouldDeleteInaccessibleFaults }

  // MARK: Settings, from any thread

  /// A label for people: shown in messages, recorded with the context's saves.
  public final var name: String? {
    get { shared.withLock { $0.name } }
    set { shared.withLock { $0.name = newValue } }
  }

  /// The author of the context's saves.
  public final var transactionAuthor: String? {
    get { shared.withLock { $0.transactionAuthor } }
    set { shared.withLock { $0.transactionAuthor = newValue } }
  }

  /// What stores record with the context's changes.
  final var changeOrigin: ChangeOrigin {
    shared.withLock { ChangeOrigin(author: $0.transactionAuthor, contextName: $0.name) }
  }

  /// What happens to objects whose rows changed underneath. Default `MergePolicy.error` (rule 188).
  @_disfavoredOverload public final var mergePolicy: MergePolicy {
    get { shared.withLock { $0.mergePolicy } }
    set { shared.withLock { $0.mergePolicy = newValue } }
  }

  /// Whether what sibling contexts save to the same coordinator, or what the parent context saves (rule 167), is merged in
  /// by itself, in commit order, on this context's queue (rule 184). Default false.
  public final var automaticallyMergesChangesFromParent: Bool {
    get { shared.withLock { $0.mergesAutomatically } }
    set {
      let changed = shared.withLock { settings in
        defer { settings.mergesAutomatically = newValue }
        return settings.mergesAutomatically != newValue
      }
      guard changed else { return }
      if newValue { listen() } else { stopListening() }
    }
  }

  private final func listen() {
    guard isJoined else { return }
    if let parent {
      // A parent that has left the coordinator saves to another one, if to any.
      guard ancestors.first?.isClosed == false else { return }
      parent.children.add(CommitListener(self), for: ObjectIdentifier(self))
    } else {
      coordinator.addObserver(CommitListener(self), for: ObjectIdentifier(self))
    }
  }

  final func stopListening() {
    if let parent {
      parent.children.remove(for: ObjectIdentifier(self))
    } else {
      coordinator.removeObserver(for: ObjectIdentifier(self))
    }
  }

  /// Whether a save to the parent looks for changes that the parent, or one of its other children, has made to the same
  /// records since they were read here, and asks the merge policy about them, as a save to a coordinator does (rule 155).
  /// Default false: what was changed here wins, property by property. Means nothing without a parent.
  public final var detectsConflictsWithParent: Bool {
    get { shared.withLock { $0.detectsConflictsWithParent } }
    set { shared.withLock { $0.detectsConflictsWithParent = newValue } }
  }

  /// Whether a save to the parent checks uniqueness constraints against what this context, the contexts below and the store
  /// hold, and asks the merge policy about duplicates, as the save to the coordinator does (rule 156). Default false: only that one
  /// checks them. Costs a pass over what is unsaved and, for each constraint, one over its index. Means nothing without a parent.
  public final var checksUniquenessAtParent: Bool {
    get { shared.withLock { $0.checksUniquenessAtParent } }
    set { shared.withLock { $0.checksUniquenessAtParent = newValue } }
  }

  // MARK: What is in the context

  /// Whether there is anything to save: new, changed or deleted objects (rule 15).
  /// What children have saved counts, until this context saves it (rule 151).
  public final var hasChanges: Bool { checkAccess(); return changes.hasChanges || hasReceivedChanges }
  /// New objects that have not been saved.
  public final var insertedObjects: Set<ManagedObject> {
    checkAccess()
    return Set(changes.inserted + receivedObjects(.insert))
  }
  /// Objects with unsaved edits.
  public final var updatedObjects: Set<ManagedObject> {
    checkAccess()
    return Set(changes.updated + receivedObjects(.update))
  }
  /// Objects the next save deletes.
  public final var deletedObjects: Set<ManagedObject> {
    checkAccess()
    return Set(changes.deleted + receivedObjects(.delete))
  }
  // The same in the order in which they came to be so. Quicker than the sets where there are many.

  /// New objects that have not been saved.
  package final var unsavedInsertions: [ManagedObject] { changes.inserted + receivedInsertions }
  /// Objects with unsaved edits.
  package final var unsavedUpdates: [ManagedObject] {
    checkAccess()
    return changes.updated + receivedObjects(.update)
  }
  /// Objects the next save deletes.
  package final var unsavedDeletions: [ManagedObject] {
    checkAccess()
    return changes.deleted + receivedObjects(.delete)
  }
  /// New objects that children have saved, and this context has not.
  package final var receivedInsertions: [ManagedObject] {
    checkAccess()
    return receivedObjects(.insert)
  }
  /// The objects in the context that are held elsewhere or have changes.
  public final var registeredObjects: Set<ManagedObject> {
    checkAccess()
    var result: Set<ManagedObject> = []
    stores.forEachLive { result.insert($0) }
    return result
  }

  /// The object for `id` if it is in the context. Never reads the store (rule 44).
  public final func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    checkAccess()
    settleProvisional()
    drainReceived()
    return locate(id)?.table.object(for: id.primaryKey)
  }
}
