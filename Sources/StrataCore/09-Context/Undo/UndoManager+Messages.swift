import Foundation

#if canImport(Darwin)
  /// Foundation's own; elsewhere a class of the same name and API.
  public typealias UndoManager = Foundation.UndoManager

  /// What a context asks of its manager. Foundation's class is isolated to the main actor for the compiler; contexts of other
  /// queues have managers too, which belong to those queues, as in Core Data.
  @objc protocol UndoManagerMessages {
    var isUndoRegistrationEnabled: Bool { get }
    var groupsByEvent: Bool { get }
    var groupingLevel: Int { get }
    var isUndoing: Bool { get }
    var isRedoing: Bool { get }
    func endUndoGrouping()
    func undo()
    func redo()
    func removeAllActions()
    func removeAllActions(withTarget target: Any)
    @objc(registerUndoWithTarget:handler:)
    func registerUndo(withTarget target: AnyObject, handler: @escaping (AnyObject) -> Void)
  }

  extension UndoManagerMessages {
    /// The event is over: its group ends, unless a group begun by hand is open.
    func endEvent() {
      if groupsByEvent, groupingLevel == 1, !isUndoing, !isRedoing { endUndoGrouping() }
    }

    /// A job of a context is over. Foundation's class knows the run loop's.
    func endJob() {}

    /// Notes `handler`. Foundation's class cannot skip an action: one that is done otherwise does nothing.
    func registerUndo(
      withTarget target: AnyObject, unless isDone: @escaping () -> Bool,
      handler: @escaping (AnyObject) -> Void
    ) {
      registerUndo(withTarget: target) { if !isDone() { handler($0) } }
    }

    /// An action that is registered does more from now on. Foundation's class ends what can be redone when something is registered: here what does nothing.
    func endRedo() {
      if !isUndoing, !isRedoing { registerUndo(withTarget: self) { _ in } }
    }
  }

  extension UndoManager {
    /// The manager, for calls on its own queue.
    nonisolated var messages: any UndoManagerMessages {
      // Unsafe: an Objective-C protocol has no table, its methods are found by their selectors, and the class has them all.
      unsafeBitCast(self, to: (any UndoManagerMessages).self)
    }

    /// Notes `handler`, which needs no target, to be called by `undo()`; while an undo is under way, by `redo()`.
    public func registerUndo(handler: @escaping () -> Void) {
      // The manager does not keep targets alive: the handler does.
      let target = NSObject()
      registerUndo(withTarget: target) { _ in withExtendedLifetime(target, handler) }
    }
  }
#else
  extension UndoManager {
    /// The manager, for a context's calls: on Apple's platforms these go another way.
    var messages: UndoManager { self }
  }
#endif
