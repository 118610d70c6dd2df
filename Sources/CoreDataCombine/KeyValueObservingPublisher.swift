import CoreData
import OpenCombine
import StrataCore

/// When a publisher of a property sends, with Apple's names and numbers. It always sends the value that the property has then.
public struct NSKeyValueObservingOptions: OptionSet, Sendable {
  /// The bits of the set.
  public let rawValue: UInt
  /// Makes the set from its bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }
  /// Changes nothing: what is sent is the value, after each change.
  public static let new = NSKeyValueObservingOptions(rawValue: 1)
  /// Changes nothing: what is sent is the value, after each change.
  public static let old = NSKeyValueObservingOptions(rawValue: 2)
  /// Sends once when something subscribes.
  public static let initial = NSKeyValueObservingOptions(rawValue: 4)
  /// Sends before a setter changes the property, too.
  public static let prior = NSKeyValueObservingOptions(rawValue: 8)
}

extension NSObjectProtocol where Self: NSManagedObject {
  /// Publishes what a key path leads to: now, and each time that a property of the object changes that it reads.
  ///
  /// Sends on the context's queue, and has to be subscribed to and cancelled there. After a setter of an attribute or a to-one relationship it
  /// sends at once, also when the value is the same; of to-many relationships, of what changes because the other end was set, and of merges, refreshes,
  /// undo, redo, rollback and saves of children, at the end of the event, and only when something is different. A computed
  /// property counts as changed when one of the object's properties does that it has read. Properties of other objects do not count.
  ///
  /// While a subscriber wants nothing, the newest value is kept for it. Never finishes; the subscription keeps the object.
  public func publisher<Value>(
    for keyPath: KeyPath<Self, Value>, options: NSKeyValueObservingOptions = [.initial, .new]
  ) -> NSObject.KeyValueObservingPublisher<Self, Value> {
    NSObject.KeyValueObservingPublisher(object: self, keyPath: keyPath, options: options)
  }
}

extension NSObject {
  /// Publishes the values of a property: see `publisher(for:options:)` of managed objects.
  public struct KeyValueObservingPublisher<Subject: NSManagedObject, Value>: OpenCombine.Publisher, Equatable
  {
    public typealias Output = Value
    public typealias Failure = Never

    /// Whose property it is.
    public let object: Subject
    /// Leads to the value.
    public let keyPath: KeyPath<Subject, Value>
    /// When it sends.
    public let options: NSKeyValueObservingOptions

    /// Makes a publisher. Costs nothing until something subscribes.
    public init(object: Subject, keyPath: KeyPath<Subject, Value>, options: NSKeyValueObservingOptions) {
      self.object = object
      self.keyPath = keyPath
      self.options = options
    }

    /// Begins to observe, on the context's queue. Fires a fault.
    public func receive<Downstream: Subscriber>(subscriber: Downstream)
    where Downstream.Input == Value, Downstream.Failure == Never {
      let subscription = PropertySubscription(object, keyPath, options, subscriber)
      subscriber.receive(subscription: subscription)
      subscription.begin()
    }

    /// Whether both publish the same property of the same object, with the same options.
    public static func == (left: Self, right: Self) -> Bool {
      left.object === right.object && left.keyPath == right.keyPath && left.options == right.options
    }
  }
}
