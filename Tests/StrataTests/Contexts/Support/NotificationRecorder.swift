import Foundation
import Strata
import struct StrataCore.Mutex

/// Writes down what a context posts. It holds IDs, no objects, so that it keeps nothing alive.
final class NotificationRecorder: Sendable {
  /// One notification.
  struct Event: Sendable {
    let name: Notification.Name
    /// The keys of the user info; nil when there was none.
    let keys: Set<String>?
    /// The sets of objects and of IDs, as IDs.
    let sets: [String: Set<ManagedObjectID>]
    /// Keys whose value was a set of objects.
    let objectKeys: Set<String>
    /// Whether the value of `invalidatedAll` was an array of IDs.
    let hasArrayOfIDs: Bool
    /// What distinguishes the posting thread from others.
    let thread: UInt

    subscript(key: ManagedObjectContext.NotificationKey) -> Set<ManagedObjectID> { sets[key.rawValue] ?? [] }
    var inserted: Set<ManagedObjectID> { self[.insertedObjects] }
    var updated: Set<ManagedObjectID> { self[.updatedObjects] }
    var deleted: Set<ManagedObjectID> { self[.deletedObjects] }
    var refreshed: Set<ManagedObjectID> { self[.refreshedObjects] }
    var insertedIDs: Set<ManagedObjectID> { self[.insertedObjectIDs] }
    var updatedIDs: Set<ManagedObjectID> { self[.updatedObjectIDs] }
    var deletedIDs: Set<ManagedObjectID> { self[.deletedObjectIDs] }
    var refreshedIDs: Set<ManagedObjectID> { self[.refreshedObjectIDs] }
  }

  private let events = Mutex<[Event]>([])
  private let tokens: Tokens

  /// Safe: the tokens are only handed back to the notification centre, once, by the last owner.
  private struct Tokens: @unchecked Sendable { var list: [any NSObjectProtocol] = [] }

  /// Listens to all notifications of `context`.
  init(_ context: ManagedObjectContext) {
    var tokens = Tokens()
    let box = Box()
    for name in Notification.Name.ofContexts {
      tokens.list.append(
        NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { notification in
          let event = Self.event(notification)
          box.recorder?.events.withLock { $0.append(event) }
        })
    }
    self.tokens = tokens
    box.recorder = self
  }

  deinit { for token in tokens.list { NotificationCenter.default.removeObserver(token) } }

  /// Written once, before the initialiser returns; read by observers afterwards.
  private final class Box: @unchecked Sendable { weak var recorder: NotificationRecorder? }

  /// Everything so far, in order.
  var all: [Event] { events.withLock { $0 } }
  /// The names so far, in order.
  var names: [Notification.Name] { all.map(\.name) }
  /// Everything so far under one name.
  func all(_ name: Notification.Name) -> [Event] { all.filter { $0.name == name } }

  /// Everything so far; forgets it.
  @discardableResult
  func take() -> [Event] {
    events.withLock { events in
      defer { events = [] }
      return events
    }
  }

  private static func event(_ notification: Notification) -> Event {
    var sets: [String: Set<ManagedObjectID>] = [:]
    var objectKeys: Set<String> = []
    var hasArrayOfIDs = false
    let userInfo = notification.userInfo
    for (key, value) in userInfo ?? [:] {
      guard let key = key as? String else { continue }
      switch value {
      case let objects as Set<ManagedObject>:
        sets[key] = Set(objects.map(\.objectID))
        objectKeys.insert(key)
      case let ids as Set<ManagedObjectID>: sets[key] = ids
      case let ids as [ManagedObjectID]:
        sets[key] = Set(ids)
        hasArrayOfIDs = true
      default: break
      }
    }
    return Event(
      name: notification.name, keys: userInfo.map { Set($0.keys.compactMap { $0 as? String }) }, sets: sets,
      objectKeys: objectKeys, hasArrayOfIDs: hasArrayOfIDs, thread: currentThreadNumber())
  }
}

extension Notification.Name {
  static let didChange = ManagedObjectContext.didChangeObjectsNotification
  static let willSave = ManagedObjectContext.willSaveObjectsNotification
  static let didSave = ManagedObjectContext.didSaveObjectsNotification
  static let didSaveIDs = ManagedObjectContext.didSaveObjectIDsNotification
  static let didMerge = ManagedObjectContext.didMergeChangesObjectIDsNotification
  static let ofContexts = [didChange, willSave, didSave, didSaveIDs, didMerge]
}

/// A number that distinguishes the calling thread from every other living one.
func currentThreadNumber() -> UInt { UInt(pthread_self()) }

/// Carries something that is not Sendable to a place where a test knows it is safe, or means to be wrong.
struct Smuggled<Value>: @unchecked Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}
