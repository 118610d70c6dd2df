#if !canImport(Darwin)
  import Dispatch
  import Foundation

  /// Two stacks of groups of actions: what undo runs, and what redo runs.
  ///
  ///     undo stack   [ group ][ group ][ group ] ◀── open groups close into it
  ///                                        │ undo(): runs the actions of a group, last first;
  ///                                        ▼          what they register meanwhile becomes
  ///     redo stack                     [ group ]      a group of the other stack
  ///
  /// Apple's class of this name, which Foundation has only on Apple's platforms: there `UndoManager` is Foundation's own. What
  /// needs the Objective-C runtime is missing here (`registerUndo(withTarget:selector:object:)`,
  /// `prepare(withInvocationTarget:)`). Titles are in English.
  ///
  /// A manager belongs to one queue, that of the contexts and other objects that register with it.
  ///
  /// An *event* is what `groupsByEvent` makes one group of. There being no run loop, it ends
  /// - where a context that registers with the manager ends its own: after each `perform` block, at
  ///   `ManagedObjectContext.processPendingChanges()`, at a save, and for a main-queue context used without `perform` in its job
  ///   on the main queue;
  /// - for what is registered on the main queue, in a job on the main queue;
  /// - at `undo()`.
  ///
  /// Differences: a group in which nothing was registered leaves nothing behind to undo, and an action whose target is gone is
  /// skipped.
  open class UndoManager: NSObject {
    private var undoStack: [UndoGroup] = []
    private var redoStack: [UndoGroup] = []
    /// Groups that have begun and not ended, outermost first.
    private var openGroups: [UndoGroup] = []
    /// Those that were open when an undo of a nested group began.
    private var suspendedGroups: [UndoGroup] = []
    private var disableCount = 0
    private var hasScheduledEnd = false
    /// What was said of the event before anything of it was registered, as a group without actions: the event's group takes it over. Nil for nothing.
    private var eventNotes: UndoGroup?
    /// Where in the undo stack the group is that has ended in the job at hand without a word about it.
    private var silentPlace: Int?

    /// Makes a manager with nothing to undo.
    public override init() { super.init() }

    // MARK: Registering

    /// Notes what takes back what is being done now: `undo()` calls `handler` with `target`. While an undo is under way it is
    /// noted for redo.
    ///
    /// The manager keeps `handler` alive, but not `target`; when that is gone the action is skipped. With nothing to group it
    /// (`groupsByEvent` off and no group open) this traps. Does nothing while registration is disabled.
    public func registerUndo<TargetType: AnyObject>(
      withTarget target: TargetType, handler: @escaping (TargetType) -> Void
    ) {
      register(
        UndoAction(target: target) {
          // The action is called with the target it was made for.
          if let target = $0 as? TargetType { handler(target) }
        })
    }

    /// The same for an action that another one may come to do: once `isDone` says so it is skipped, as if its target were gone.
    func registerUndo(
      withTarget target: AnyObject, unless isDone: @escaping () -> Bool,
      handler: @escaping (AnyObject) -> Void
    ) {
      register(UndoAction(target: target, { if let target = $0 { handler(target) } }, isDone: isDone))
    }

    /// An action that is registered does more from now on: what was undone cannot be done again, as after a registration.
    func endRedo() { if !isUndoing && !isRedoing { redoStack = [] } }

    /// Notes `handler`, which needs no target, to be called by `undo()`; while an undo is under way, by `redo()`.
    public func registerUndo(handler: @escaping () -> Void) {
      register(UndoAction(handler))
    }

    private func register(_ action: UndoAction) {
      guard isUndoRegistrationEnabled else { return }
      if openGroups.isEmpty {
        guard groupsByEvent else {
          trap(
            "registerUndo was called outside any undo group, and groupsByEvent is off: call beginUndoGrouping() first."
          )
        }
        openEventGroup()
      }
      openGroups[openGroups.count - 1].items.append(.action(action))
      if !isUndoing && !isRedoing { redoStack = [] }
    }

    /// Whether registering does anything. False between `disableUndoRegistration()` and the call that balances it.
    public var isUndoRegistrationEnabled: Bool { disableCount == 0 }

    /// Registering does nothing until `enableUndoRegistration()` has been called as often.
    public func disableUndoRegistration() { disableCount += 1 }

    /// Takes back one `disableUndoRegistration()`. Traps without one.
    public func enableUndoRegistration() {
      guard disableCount > 0 else {
        trap("enableUndoRegistration() was called without a disableUndoRegistration() before it.")
      }
      disableCount -= 1
    }

    // MARK: Grouping

    /// Whether what is registered in one event becomes one group by itself. Default true.
    public var groupsByEvent = true { didSet { if !groupsByEvent { eventNotes = nil } } }

    /// Kept for callers that read it. Events end where it is said above, whatever the mode of a run loop: there is none that ends them.
    public var runLoopModes: [RunLoop.Mode] = [.default]

    /// How many groups are open. That of the event, with `groupsByEvent`, is one of them.
    public var groupingLevel: Int { openGroups.count }

    /// Begins a group, inside the open one if there is one, and, with `groupsByEvent`, always inside the event's.
    public func beginUndoGrouping() {
      if openGroups.isEmpty, groupsByEvent { openEventGroup() }
      open()
    }

    /// Ends the group begun last. A group inside another becomes a part of it, the outermost one something to undo. Traps when
    /// no group is open.
    public func endUndoGrouping() {
      if openGroups.isEmpty { trap("endUndoGrouping() was called without a beginUndoGrouping() before it.") }
      post(.NSUndoManagerCheckpoint)
      post(.NSUndoManagerWillCloseUndoGroup, isDiscardable: openGroups[openGroups.count - 1].isDiscardable)
      let group = openGroups.removeLast()
      if !group.isEmpty {
        keep(group)
        if openGroups.isEmpty, !isUndoing, !isRedoing, groupsByEvent, !group.isNoted {
          silentPlace = undoStack.count - 1
        }
      }
      post(.NSUndoManagerDidCloseUndoGroup)
    }

    private func openEventGroup() {
      let group = eventNotes ?? UndoGroup()
      eventNotes = nil
      open(group)
      scheduleEndOfEvent()
    }

    private func open(_ group: UndoGroup = UndoGroup()) {
      if !openGroups.isEmpty { post(.NSUndoManagerCheckpoint) }
      silentPlace = nil
      openGroups.append(group)
      post(.NSUndoManagerDidOpenUndoGroup)
    }

    /// A group that has ended goes where it belongs.
    private func keep(_ group: UndoGroup) {
      if !openGroups.isEmpty {
        openGroups[openGroups.count - 1].items.append(.group(group))
      } else if !suspendedGroups.isEmpty, !isUndoing {
        suspendedGroups[suspendedGroups.count - 1].items.append(.group(group))
      } else if isUndoing {
        redoStack.append(group)
      } else {
        undoStack.append(group)
      }
      trimToLevels()
    }

    /// The event is over: its group ends, unless a group begun by hand is open.
    func endEvent() {
      guard groupsByEvent, !isUndoing, !isRedoing else { return }
      // Other contexts may have changed what is meant, and have it registered only now.
      if eventNotes != nil, openGroups.isEmpty { post(.NSUndoManagerCheckpoint) }
      if openGroups.count == 1 { endUndoGrouping() }
      if openGroups.isEmpty { eventNotes = nil }
    }

    /// A job of a context is over, or one of the main queue: what is said from now on is not about a group that has ended.
    func endJob() { silentPlace = nil }

    /// On the main queue an event ends with the job.
    private func scheduleEndOfEvent() {
      // A block of another context that the main queue waits for is not an event of the main queue.
      let context = ThreadScope.current.current
      guard context.map({ $0.concurrencyType == .mainQueue }) ?? ContextQueue.isOnMainQueue else { return }
      if hasScheduledEnd { return }
      hasScheduledEnd = true
      let end = EndOfEvent(manager: self)
      DispatchQueue.main.async { end.run() }
    }

    /// On its way to the main queue. Unchecked: made and used there only.
    private struct EndOfEvent: @unchecked Sendable {
      weak var manager: UndoManager?
      func run() {
        manager?.hasScheduledEnd = false
        manager?.endEvent()
        manager?.endJob()
      }
    }

    /// How many groups are kept, the oldest going first. Default 0: all of them.
    public var levelsOfUndo = 0 { didSet { trimToLevels() } }

    private func trimToLevels() {
      guard levelsOfUndo > 0 else { return }
      if undoStack.count > levelsOfUndo { undoStack.removeFirst(undoStack.count - levelsOfUndo) }
      if redoStack.count > levelsOfUndo { redoStack.removeFirst(redoStack.count - levelsOfUndo) }
    }

    // MARK: Undoing

    /// Whether there is something to undo.
    public var canUndo: Bool {
      Self.dropDead(&undoStack)
      return openGroups.contains { $0.isAlive } || !undoStack.isEmpty
    }

    /// Whether there is something to redo. Posts a checkpoint first: changes that are not registered yet end what can be redone.
    public var canRedo: Bool {
      post(.NSUndoManagerCheckpoint)
      Self.dropDead(&redoStack)
      return !redoStack.isEmpty
    }

    /// How often `undo()` finds something to do.
    public var undoCount: Int {
      undoStack.count { $0.isAlive } + (!isUndoing && openGroups.first?.isEmpty == false ? 1 : 0)
    }

    /// How often `redo()` finds something to do.
    public var redoCount: Int { redoStack.count }

    /// Whether `undo()` is running.
    public private(set) var isUndoing = false

    /// Whether `redo()` is running.
    public private(set) var isRedoing = false

    /// Ends the outermost group, usually that of the event, if it is open, and undoes the last group. Does nothing when there is
    /// none. Traps while more than one group is open: `undoNestedGroup()` is for those.
    open func undo() {
      if !isUndoing, !isRedoing {
        post(.NSUndoManagerCheckpoint)
        if openGroups.count == 1 { endUndoGrouping() }
        if !openGroups.isEmpty {
          trap(
            "undo() was called while \(openGroups.count) groups are open; end them first, or call undoNestedGroup()."
          )
        }
        eventNotes = nil
      }
      undoNestedGroup()
    }

    /// Undoes the last group that has ended: inside the open group if there is one, else the last of all. What is done becomes
    /// one group to redo. Traps when something was registered in the open group since.
    open func undoNestedGroup() {
      if isUndoing || isRedoing { trap("undo was called by an action that is being undone or redone.") }
      post(.NSUndoManagerCheckpoint)
      Self.dropDead(&undoStack)
      let group: UndoGroup
      if let last = openGroups.last?.items.last {
        guard case .group(let nested) = last else {
          trap(
            "undoNestedGroup() was called while the open group has actions of its own at its end; end that group first."
          )
        }
        openGroups[openGroups.count - 1].items.removeLast()
        group = nested
      } else if openGroups.isEmpty, let last = undoStack.popLast() {
        group = last
      } else {
        return
      }
      silentPlace = nil
      post(.NSUndoManagerWillUndoChange)
      isUndoing = true
      run(group)
      isUndoing = false
      post(.NSUndoManagerDidUndoChange)
    }

    /// Does again what the last undo has taken back. Does nothing when there is nothing: anything registered after an undo, by
    /// others than actions, ends what can be redone. Traps while an undo is running.
    open func redo() {
      if isUndoing || isRedoing { trap("redo() was called by an action that is being undone or redone.") }
      post(.NSUndoManagerCheckpoint)
      Self.dropDead(&redoStack)
      guard let group = redoStack.popLast() else { return }
      silentPlace = nil
      post(.NSUndoManagerWillRedoChange)
      isRedoing = true
      run(group)
      isRedoing = false
      post(.NSUndoManagerDidRedoChange)
    }

    /// Runs the actions of a group; what they register becomes a group of the same name on the other stack.
    private func run(_ group: UndoGroup) {
      suspendedGroups = openGroups
      openGroups = [group.emptied]
      group.run()
      // What the actions' targets have not registered yet belongs to it.
      post(.NSUndoManagerCheckpoint)
      // Groups that actions have begun and not ended end here.
      while let inner = openGroups.popLast() { if !inner.isEmpty { keep(inner) } }
      openGroups = suspendedGroups
      suspendedGroups = []
    }

    /// Takes away what would do nothing, because its targets are gone.
    private static func dropDead(_ stack: inout [UndoGroup]) {
      while let last = stack.last, !last.isAlive { stack.removeLast() }
    }

    // MARK: Forgetting

    /// Forgets everything that could be undone or redone, and enables registration. Open groups stay open and are empty.
    open func removeAllActions() {
      (undoStack, redoStack, eventNotes, silentPlace) = ([], [], nil, nil)
      for place in openGroups.indices { openGroups[place].items = [] }
      for place in suspendedGroups.indices { suspendedGroups[place].items = [] }
      disableCount = 0
    }

    /// Forgets every action that was registered with `target`.
    open func removeAllActions(withTarget target: Any) {
      let target = target as AnyObject
      for place in openGroups.indices { openGroups[place].remove(target) }
      for place in suspendedGroups.indices { suspendedGroups[place].remove(target) }
      undoStack = undoStack.compactMap { $0.removing(target) }
      redoStack = redoStack.compactMap { $0.removing(target) }
    }

    // MARK: Names and notes

    /// Names what is being registered: the outermost open group. While an undo is under way the name is for redo, which otherwise
    /// keeps that of the undo.
    ///
    /// With no group open and `groupsByEvent` on, the name is that of the event, whether it is said before its changes or after them:
    /// contexts that have changes register them first. Where nothing is to be registered, a group of the same job that has ended without
    /// a name gets it, and what the event goes on to register; when nothing follows, the name is gone with the event. A job is a block of a
    /// private-queue context, or what the main queue runs at a time; contexts of confinement have none, and what has ended last counts.
    ///
    /// With no group open and `groupsByEvent` off, the name is that of the last group that has ended.
    public func setActionName(_ actionName: String) { note { $0.name = actionName } }

    /// Marks the group that `setActionName(_:)` would name as one that needs no save, such as a change of selection.
    public func setActionIsDiscardable(_ discardable: Bool) { note { $0.isDiscardable = discardable } }

    /// Attaches a value to the group that `setActionName(_:)` would name; nil takes it away.
    public func setActionUserInfoValue(_ info: Any?, forKey key: String) { note { $0.userInfo[key] = info } }

    private func note(_ change: (inout UndoGroup) -> Void) {
      let isAboutEvent = groupsByEvent && openGroups.isEmpty && !isUndoing && !isRedoing
      // Contexts register at the end of their events: what they have changed by now is meant. What is kept out of undo may be no part of that.
      if isAboutEvent, isUndoRegistrationEnabled { post(.NSUndoManagerCheckpoint) }
      if !openGroups.isEmpty { return change(&openGroups[0]) }
      if !isAboutEvent {
        if !undoStack.isEmpty { change(&undoStack[undoStack.count - 1]) }
        return
      }
      if let silentPlace, silentPlace == undoStack.count - 1 { change(&undoStack[silentPlace]) }
      var notes = eventNotes ?? UndoGroup()
      change(&notes)
      eventNotes = notes
      scheduleEndOfEvent()
    }

    /// The group that `undo()` would undo.
    private var nextUndo: UndoGroup? {
      if !isUndoing, !isRedoing, let open = openGroups.first, !open.isEmpty { return open }
      return undoStack.last
    }

    /// The name of what `undo()` takes back; empty when it has none.
    public var undoActionName: String { nextUndo?.name ?? "" }
    /// The name of what `redo()` does again; empty when it has none.
    public var redoActionName: String { redoStack.last?.name ?? "" }
    /// Whether what `undo()` takes back was said to need no saving.
    public var undoActionIsDiscardable: Bool { nextUndo?.isDiscardable ?? false }
    /// Whether what `redo()` does again was said to need no saving.
    public var redoActionIsDiscardable: Bool { redoStack.last?.isDiscardable ?? false }
    /// A value attached to what `undo()` takes back.
    public func undoActionUserInfoValue(forKey key: String) -> Any? { nextUndo?.userInfo[key] }
    /// A value attached to what `redo()` does again.
    public func redoActionUserInfoValue(forKey key: String) -> Any? { redoStack.last?.userInfo[key] }

    /// The title of a menu's undo item: “Undo”, and the name if there is one.
    public var undoMenuItemTitle: String { undoMenuTitle(forUndoActionName: undoActionName) }
    /// The title of a menu's redo item: “Redo”, and the name if there is one.
    public var redoMenuItemTitle: String { redoMenuTitle(forUndoActionName: redoActionName) }
    /// The title of the undo item for an action of that name. Override it to translate.
    open func undoMenuTitle(forUndoActionName actionName: String) -> String {
      actionName.isEmpty ? "Undo" : "Undo " + actionName
    }
    /// The title of the redo item for an action of that name. Override it to translate.
    open func redoMenuTitle(forUndoActionName actionName: String) -> String {
      actionName.isEmpty ? "Redo" : "Redo " + actionName
    }

    // MARK: Telling

    private func post(_ name: Notification.Name, isDiscardable: Bool = false) {
      NotificationCenter.default.post(
        name: name, object: self, userInfo: isDiscardable ? [NSUndoManagerGroupIsDiscardableKey: true] : nil)
    }
  }
#endif
