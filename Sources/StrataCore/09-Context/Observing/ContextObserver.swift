import Observation

/// What one event or one merge has changed in what a context shows: the IDs of objects and of rows that are no objects here.
///
/// An ID may stand in several of the lists, and more than once.
struct ContextChange: Sendable {
  var inserted: [ManagedObjectID] = []
  var updated: [ManagedObjectID] = []
  var deleted: [ManagedObjectID] = []
  /// Changed elsewhere and merged here, or brought in line with the store.
  var refreshed: [ManagedObjectID] = []
  /// All objects have been refreshed: rows that are no objects here may be other ones, too.
  var isAllRefreshed = false
  /// The context was reset: nothing that was known before counts.
  var isEverythingInvalidated = false

  var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty && !isAllRefreshed
      && !isEverythingInvalidated
  }

  /// Calls `body` with every ID.
  func forEach(_ body: (ManagedObjectID) -> Void) {
    inserted.forEach(body)
    updated.forEach(body)
    deleted.forEach(body)
    refreshed.forEach(body)
  }
}

/// An observer of what a context shows differently: at the end of each event, behind its did-change notification, and at the
/// end of each merge, behind the did-merge notification. Told on the context's queue, under no lock, when the context shows it.
///
/// Unlike the notifications it is also about rows that are no objects here (rule 178).
protocol ContextObserver: AnyObject {
  func contextDidChange(_ change: ContextChange)
  /// The context is being destroyed, on the thread that released it last. The default does nothing.
  func contextDidEnd()
}

extension ContextObserver {
  func contextDidEnd() {}
}

/// Who observes a context, and what they have not been told yet. On the context's queue.
struct ContextObservation {
  private struct Observer {
    weak var object: (any ContextObserver)?
  }

  private var observers: [Observer] = []
  /// Whether there are observers: without them nothing is noted.
  private(set) var isObserved = false
  /// What will be told next.
  var pending = ContextChange()
  /// A merge is reporting objects and will report rows: both at once.
  var holds = 0
  /// Observers are being told: what they change is told when they have come back.
  var isTelling = false
  /// See `observesObjects`.
  var includesObjects = false { didSet { settleObjects() } }
  /// See `accessorsNoteReads`.
  var isNotedByAccessors = false { didSet { settleObjects() } }
  /// Some object is observed, or has been.
  private var hasObservedObjects = false
  /// Some object has, or has had, a watcher.
  var hasWatchedObjects = false { didSet { settleObjects() } }
  /// What is read is being recorded.
  var recording: ReadRecording? { didSet { settleObjects() } }
  /// Whether reading a property has to be noted, whether that is so for attributes that are read in place, too, and whether there may be objects whose observers
  /// are to be told.
  private(set) var notesReads = false
  private(set) var notesFastReads = false
  private(set) var tellsObjects = false
  /// For the next observed object.
  var spareRegistrar = ObservationRegistrar()

  mutating func add(_ observer: any ContextObserver) {
    observers.removeAll { $0.object == nil || $0.object === observer }
    observers.append(Observer(object: observer))
    isObserved = true
  }

  mutating func remove(_ observer: any ContextObserver) {
    observers.removeAll { $0.object == nil || $0.object === observer }
    settle()
  }

  /// Those who are there to be told.
  mutating func listeners() -> [any ContextObserver] {
    let present = observers.compactMap(\.object)
    if present.count < observers.count {
      observers.removeAll { $0.object == nil }
      settle()
    }
    return present
  }

  private mutating func settleObjects() {
    notesReads = includesObjects || recording != nil
    notesFastReads = includesObjects && !isNotedByAccessors || recording != nil
    tellsObjects = includesObjects && hasObservedObjects || hasWatchedObjects
  }

  /// An object is observed from now on.
  mutating func noteObservedObject() {
    if hasObservedObjects { return }
    hasObservedObjects = true
    settleObjects()
  }

  private mutating func settle() {
    isObserved = !observers.isEmpty
    if !isObserved { pending = ContextChange() }
  }
}

extension ManagedObjectContext {
  /// Tells `observer`, which is not kept alive, of what changes from now on. What was edited before counts when its event has ended.
  func addObserver(_ observer: any ContextObserver) {
    checkAccess()
    observation.add(observer)
  }

  func removeObserver(_ observer: any ContextObserver) {
    checkAccess()
    observation.remove(observer)
  }

  // MARK: Noting

  /// What a did-change notification tells.
  func note(_ sets: ObjectSets) {
    guard observation.isObserved else { return }
    func append(_ objects: [ManagedObject], _ list: WritableKeyPath<ContextChange, [ManagedObjectID]>) {
      if objects.isEmpty { return }
      observation.pending[keyPath: list].reserveCapacity(
        observation.pending[keyPath: list].count + objects.count)
      ManagedObject.forEach(objects) { observation.pending[keyPath: list].append($0.objectID) }
    }
    append(sets.inserted, \.inserted)
    append(sets.updated, \.updated)
    append(sets.deleted, \.deleted)
    append(sets.refreshed, \.refreshed)
  }

  /// A row that another context has changed, whether it is an object here or not.
  @inline(__always)
  func noteRow(
    _ key: UInt64, _ bound: BoundEntity, _ list: WritableKeyPath<ContextChange, [ManagedObjectID]>
  ) {
    guard observation.isObserved else { return }
    observation.pending[keyPath: list].append(ManagedObjectID(token: bound.token, primaryKey: key))
  }

  // MARK: Telling

  /// Tells the observers what has been noted.
  func tellObservers() {
    guard observation.isObserved, observation.holds == 0, !observation.isTelling,
      !observation.pending.isEmpty
    else { return }
    // While a save blocks this queue, what is published stands still, and what its merge policy changes does not show there: it is told
    // when the save is over.
    if saving.blocksWhileFrozen { return }
    saving.encodingAhead?.wait()
    observation.isTelling = true
    defer { observation.isTelling = false }
    // Observers may change more, within reason.
    for _ in 0..<Self.mostTellings {
      if observation.pending.isEmpty { return }
      let change = observation.pending
      observation.pending = ContextChange()
      for observer in observation.listeners() { observer.contextDidChange(change) }
    }
  }

  private static let mostTellings = 100
}
