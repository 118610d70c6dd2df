import Synchronization

/// Contexts that get their coordinator, or their parent, after they were made.
///
///     let writer = ManagedObjectContext(.privateQueue)
///     let main = ManagedObjectContext(.mainQueue)
///     main.parent = writer
///     writer.persistentStoreCoordinator = coordinator   // main has it too, now
///
/// Until then a context behaves as one over a coordinator that has no entities and no stores. Set either before other code
/// uses the context.
extension ManagedObjectContext {
  /// `init(concurrencyType:)` by StrataCore's names.
  package convenience init(foundation concurrencyType: ConcurrencyType) {
    switch concurrencyType {
    case .confinement: self.init(concurrencyType: .confinementConcurrencyType)
    case .privateQueue: self.init(concurrencyType: .privateQueueConcurrencyType)
    case .mainQueue: self.init(concurrencyType: .mainQueueConcurrencyType)
    }
  }

  /// The coordinator the context reads from and saves to; of a context with a parent, the one at the bottom of the stack.
  /// Nil until it is set, here or in the parent.
  ///
  /// May be read from any thread. Set it before the context is used, from any thread; contexts whose parent this is have it as
  /// well from then on. Setting nil, on the context's queue, waits for a save that is under way, resets the context and takes it off its coordinator; its
  /// children stay on that: they go on reading it, and their saves throw `CoreDataError` 134060. Traps when the context already has another coordinator or a parent: neither is exchanged.
  public var persistentStoreCoordinator: PersistentStoreCoordinator? {
    get { isJoined ? coordinator : nil }
    set {
      if newValue === (isJoined ? coordinator : nil) { return }
      if storedParent != nil {
        trap("\(description) has a parent; its coordinator is its parent's and cannot be set.")
      }
      guard let newValue else { return leave() }
      if isJoined {
        trap(
          "\(description) already has a coordinator, which cannot be exchanged for another. Make a new context."
        )
      }
      join(newValue, parent: nil, classes: EntityClasses(newValue.requireSchema()))
      tellWaiting()
    }
  }

  /// Gives a context that has none its coordinator, for objects that are plain ones whatever classes their entities have: those of a
  /// migration.
  func joinForPlainObjects(_ coordinator: PersistentStoreCoordinator) {
    join(coordinator, parent: nil, classes: .plain(coordinator.requireSchema()))
  }

  /// The context this one reads through and saves to; nil for a context on a coordinator (rule 10).
  ///
  /// May be read from any thread. Set it before the context is used. Traps when the context already has another parent or a
  /// coordinator, and for a context that has this one below it.
  public var parent: ManagedObjectContext? {
    get { storedParent }
    set {
      if newValue === storedParent { return }
      if storedParent != nil {
        trap(
          "\(description) already has a parent, which cannot be exchanged for another. Make a new context.")
      }
      if isJoined {
        trap("\(description) already has a coordinator, so it cannot get a parent. Make a new context.")
      }
      guard let newValue else { return }
      var below: ManagedObjectContext? = newValue
      while let context = below {
        if context === self { trap("\(description) cannot be a parent of its own.") }
        below = context.storedParent
      }
      join(newValue.coordinator, parent: newValue, classes: newValue.classes)
      newValue.becomeParent()
      newValue.waitsForCoordinator(self)
      if isJoined { tellWaiting() }
    }
  }

  /// Whether the context, or the one at the bottom of its stack, has a coordinator.
  var isJoined: Bool { coordinator !== PersistentStoreCoordinator.none }

  /// `child` gets this context's coordinator when this context gets one.
  func waitsForCoordinator(_ child: ManagedObjectContext) {
    shared.withLock { settings in
      settings.offspring.removeAll { $0.context == nil }
      settings.offspring.append(WeakContext(child))
    }
    guard !isJoined else { return }
    shared.withLock { $0.waiting.append(WeakContext(child)) }
  }

  private func tellWaiting() {
    let waiting = shared.withLock { settings in
      defer { settings.waiting = [] }
      return settings.waiting
    }
    for child in waiting {
      guard let child = child.context else { continue }
      child.join(coordinator, parent: self, classes: classes)
      child.tellWaiting()
    }
  }

  private func leave() {
    reset()
    joinFlight()
    // Who is told of that may have made or changed something, which is of the coordinator that is left, too.
    for _ in 0..<4 where changes.hasChanges || stores.count > 0 { reset() }
    if changes.hasChanges || stores.count > 0 {
      trap("\(description) is taken off its coordinator, and observers of that go on changing it.")
    }
    // Keys of the next coordinator's records may be those of new ones that have gone here.
    changes.forgetGone()
    stopListening()
    // Of commits that nobody has merged yet the next coordinator knows nothing.
    mergeBacklog = MergeBacklog()
    _ = inbox?.takeAll()
    leaveChildren()
    join(.none, parent: nil, classes: EntityClasses.none)
  }
}

/// A context that is not to be kept.
struct WeakContext: @unchecked Sendable {
  // Safe: weak references may be loaded from any thread.
  weak var context: ManagedObjectContext?

  init(_ context: ManagedObjectContext) { self.context = context }
}

extension PersistentStoreCoordinator {
  /// Stands for the coordinator of contexts that have none: no entities, no stores.
  static let none = PersistentStoreCoordinator(managedObjectModel: ManagedObjectModel())
}

extension EntityClasses {
  static let none = EntityClasses(PersistentStoreCoordinator.none.requireSchema())
}
