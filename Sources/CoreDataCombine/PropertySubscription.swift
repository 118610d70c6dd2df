import CoreData
import OpenCombine
import StrataCore

/// Sends one subscriber what a key path leads to. On the queue of the object's context.
final class PropertySubscription<Subject: NSManagedObject, Value, Downstream: Subscriber>: Subscription,
  ObjectWatcher
where Downstream.Input == Value, Downstream.Failure == Never {
  private let keyPath: KeyPath<Subject, Value>
  private let options: NSKeyValueObservingOptions
  /// Both nil once it is cancelled.
  private var object: Subject?
  private var subscriber: Downstream?
  private var demand = Subscribers.Demand.none
  /// The newest value that nobody has wanted yet.
  private var kept: Value?
  /// The slots that the key path has read. None: any property may have a part in it.
  private var slots: Set<Int> = []

  init(
    _ object: Subject, _ keyPath: KeyPath<Subject, Value>, _ options: NSKeyValueObservingOptions,
    _ subscriber: Downstream
  ) {
    self.object = object
    self.keyPath = keyPath
    self.options = options
    self.subscriber = subscriber
  }

  /// The subscriber has the subscription, and may have cancelled it.
  func begin() {
    guard let object else { return }
    let value = read(object)
    object.addWatcher(self)
    if options.contains(.initial) { send(value) }
  }

  // MARK: The object

  func objectWillChange(_ object: ManagedObject, slot: Int, isShown: Bool) {
    guard !isShown, options.contains(.prior), concerns(slot), let object = self.object else { return }
    send(object[keyPath: keyPath])
  }

  func objectDidChange(_ object: ManagedObject, slot: Int) {
    guard concerns(slot), let object = self.object else { return }
    send(read(object))
  }

  private func concerns(_ slot: Int) -> Bool { slots.isEmpty || slots.contains(slot) }

  private func read(_ object: Subject) -> Value {
    let (value, slots) = object.recordingReads { object[keyPath: keyPath] }
    self.slots = slots
    return value
  }

  // MARK: The subscriber

  private func send(_ value: Value) {
    guard let subscriber else { return }
    guard demand > .none else {
      kept = value
      return
    }
    kept = nil
    demand -= 1
    // It may change the object, which sends before this comes back.
    demand += subscriber.receive(value)
  }

  func request(_ demand: Subscribers.Demand) {
    self.demand += demand
    guard let value = kept, self.demand > .none else { return }
    send(value)
  }

  func cancel() {
    object?.removeWatcher(self)
    object = nil
    subscriber = nil
    kept = nil
  }
}
