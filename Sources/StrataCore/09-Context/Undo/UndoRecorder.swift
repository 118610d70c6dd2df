import Foundation

/// What a context with an undo manager notes during an event: each object's state before its first change.
///
/// Lives on the context's queue. Costs one look-up for each object's first change in an event, and a copy of its draft if it has
/// one; a context without an undo manager has no recorder.
final class UndoRecorder {
  let manager: UndoManager
  /// In the order of their first changes.
  private var states: [ObjectUndoState] = []
  private var known: Set<ObjectIdentifier> = []
  /// How many saves the context has made since it has the recorder.
  private(set) var saveCount = 0
  private var observation: (any NSObjectProtocol)?

  init(_ manager: UndoManager, for context: ManagedObjectContext) {
    self.manager = manager
    // The manager is about to begin or end a group, or to undo: what was changed so far is registered before that.
    observation = NotificationCenter.default.addObserver(
      forName: .NSUndoManagerCheckpoint, object: manager, queue: nil
    ) { [weak context] _ in
      // The manager may serve contexts of other queues as well.
      if let context, context.isAccessible { context.tellChanges() }
    }
  }

  deinit { if let observation { NotificationCenter.default.removeObserver(observation) } }

  /// Whether what is noted will be registered.
  var isEnabled: Bool { manager.messages.isUndoRegistrationEnabled }

  /// Notes the state of `object`, unless its first change in this event is noted.
  func note(_ object: ManagedObject, _ state: (Int) -> ObjectUndoState) {
    if known.insert(ObjectIdentifier(object)).inserted { states.append(state(saveCount)) }
  }

  /// What the event has changed; forgets it.
  func takeStates() -> [ObjectUndoState] {
    defer {
      states = []
      known = []
    }
    return states
  }

  func noteSave() { saveCount += 1 }

  /// Ends the manager's group of this event.
  func endEvent() { manager.messages.endEvent() }

  /// Forgets what could be undone or redone (rules 18, 237).
  func removeAll() {
    _ = takeStates()
    manager.messages.removeAllActions()
  }
}
