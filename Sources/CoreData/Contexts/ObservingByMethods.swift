import StrataCore

/// Who observes by methods, and by which tokens Foundation knows them.
private struct MethodObserver: @unchecked Sendable {
  // Safe: weak references may be loaded from any thread; tokens are only handed back to Foundation.
  weak var observer: AnyObject?
  let center: ObjectIdentifier
  let name: Notification.Name?
  let source: ObjectIdentifier?
  let token: any NSObjectProtocol
}

private struct MethodObservers {
  var entries: [ObjectIdentifier: [MethodObserver]] = [:]
  /// With how many observers those that are gone are looked for again.
  var limit = 64

  /// Takes out the entries of observers that are gone, now and then: their addresses may be those of others by now.
  mutating func takeEnded(of center: ObjectIdentifier) -> [MethodObserver] {
    if entries.count < limit { return [] }
    var ended: [MethodObserver] = []
    for (key, all) in entries {
      let gone = all.filter { $0.observer == nil && $0.center == center }
      if gone.isEmpty { continue }
      ended += gone
      let left = all.filter { $0.observer != nil || $0.center != center }
      entries[key] = left.isEmpty ? nil : left
    }
    limit = max(64, entries.count * 2)
    return ended
  }
}

private let methodObservers = Mutex(MethodObservers())

extension NotificationCenter {
  /// Calls `handler` with the observer and each notification of that name and object, for as long as the observer lives or until it is removed: what
  /// `addObserver(_:selector:name:object:)` does where there are selectors.
  ///
  ///     NotificationCenter.default.addObserver(self, name: .NSManagedObjectContextDidSave, object: nil) { $0.contextDidSave($1) }
  ///
  /// Does not hold the observer. The handler runs on the thread that posts; `removeObserver(_:)` and `removeObserver(_:name:object:)` with the observer end it.
  public func addObserver<Observer: AnyObject>(
    _ observer: Observer, name: Notification.Name?, object: Any?,
    calling handler: @escaping (Observer, Notification) -> Void
  ) {
    let carried = Carried((handler, WeakObserver(observer)))
    let token = addObserver(forName: name, object: object, queue: nil) { notification in
      if let observer = carried.value.1.observer { carried.value.0(observer, notification) }
    }
    let source = object.flatMap { type(of: $0) is AnyClass ? ObjectIdentifier($0 as AnyObject) : nil }
    let entry = MethodObserver(
      observer: observer, center: ObjectIdentifier(self), name: name, source: source, token: token)
    let ended = methodObservers.withLock { known in
      let ended = known.takeEnded(of: ObjectIdentifier(self))
      known.entries[ObjectIdentifier(observer), default: []].append(entry)
      return ended
    }
    for entry in ended { removeObserver(entry.token as Any) }
  }

  /// Ends what the observer observes in this centre, by methods or by a token of Foundation's.
  public func removeObserver<Observer: AnyObject>(_ observer: Observer) {
    removeMethods(of: observer) { _ in true }
    removeObserver(observer as Any)
  }

  /// The same for one name and one object, nil standing for all.
  public func removeObserver<Observer: AnyObject>(
    _ observer: Observer, name: Notification.Name?, object: Any?
  ) {
    let source = object.map { ObjectIdentifier($0 as AnyObject) }
    removeMethods(of: observer) { (name == nil || $0.name == name) && (source == nil || $0.source == source) }
    removeObserver(observer as Any, name: name, object: object)
  }

  private func removeMethods(of observer: AnyObject, where isMeant: (MethodObserver) -> Bool) {
    let center = ObjectIdentifier(self)
    let removed = methodObservers.withLock { known in
      let all = known.entries[ObjectIdentifier(observer)] ?? []
      let removed = all.filter { $0.center == center && $0.observer === observer && isMeant($0) }
      let left = all.filter { one in !removed.contains { $0.token === one.token } }
      known.entries[ObjectIdentifier(observer)] = left.isEmpty ? nil : left
      return removed
    }
    for entry in removed { removeObserver(entry.token as Any) }
  }
}

private struct WeakObserver<Observer: AnyObject> {
  weak var observer: Observer?
  init(_ observer: Observer) { self.observer = observer }
}

/// Runs `body`: what Apple's systems release at its end is released at once here. For source that loops over many objects.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }
