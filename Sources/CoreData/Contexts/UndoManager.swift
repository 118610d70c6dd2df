import StrataCore

/// Two stacks of groups of actions. Foundation has none on Linux; what needs the Objective-C runtime or a run loop is missing.
public typealias UndoManager = StrataCore.UndoManager

/// The key, in the user info of will-close notifications, of `true` for a group that needs no saving.
public let NSUndoManagerGroupIsDiscardableKey = StrataCore.NSUndoManagerGroupIsDiscardableKey

/// Where Apple's undo managers stand among what a run loop does at the end of a pass. Events end without a run loop here.
public let NSUndoCloseGroupingRunLoopOrdering = 350_000

extension StrataCore.UndoManager {
  /// What a value that is attached to a group is called.
  public struct UserInfoKey: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public init(_ rawValue: String) { self.rawValue = rawValue }
  }

  /// Attaches a value to the group that is being registered; nil takes it away.
  public func setActionUserInfoValue(_ info: Any?, forKey key: UserInfoKey) {
    setActionUserInfoValue(info, forKey: key.rawValue)
  }

  /// A value attached to what `undo()` takes back.
  public func undoActionUserInfoValue(forKey key: UserInfoKey) -> Any? {
    undoActionUserInfoValue(forKey: key.rawValue)
  }

  /// A value attached to what `redo()` does again.
  public func redoActionUserInfoValue(forKey key: UserInfoKey) -> Any? {
    redoActionUserInfoValue(forKey: key.rawValue)
  }
}
