import Observation

/// A property of an object as the Observation framework names it: by a key path with the property's slot in it.
///
/// The framework hashes the key path of a property that is read only inside an observation. That is how an object
/// learns whether it needs to remember the reading at all; there is no other way to ask.
struct ObservedSlot: Hashable, Sendable {
  /// The property's slot; below zero for what the object is to its context.
  let number: Int

  static let hasChanges = -1
  static let isDeleted = -2
  static let managedObjectContext = -3
  private static let lowest = -3

  func hash(into hasher: inout Hasher) {
    ThreadScope.current.hasHashedSlot = true
    hasher.combine(number)
  }

  /// The key path of a slot. Most are made once.
  static func keyPath(_ slot: Int) -> KeyPath<ManagedObject, Void> {
    let place = slot - lowest
    return place < common.count ? common[place] : makeKeyPath(slot)
  }

  private static func makeKeyPath(_ slot: Int) -> KeyPath<ManagedObject, Void> {
    \ManagedObject.[observed: ObservedSlot(number: slot)]
  }

  /// Unsafe: constant; key paths are immutable, and what is in these is Sendable.
  private nonisolated(unsafe) static let common = (lowest..<256).map(makeKeyPath)
}

extension ManagedObject {
  /// Only ever named in key paths.
  subscript(observed slot: ObservedSlot) -> Void { () }
}

/// What a thread reads to learn whether it is being observed.
struct ObservationProbe: Observation.Observable {
  /// Unsafe: constant; a key path is immutable, and what is in this one is Sendable.
  nonisolated(unsafe) static let path: KeyPath<ObservationProbe, Void> =
    \ObservationProbe.[observed: ObservedSlot(number: 0)]

  /// Only ever named in the key path.
  subscript(observed slot: ObservedSlot) -> Void { () }
}

/// What a thread reads it by. The registrar is a constant: so that calling it counts no references either.
final class ReadProbe {
  let registrar = ObservationRegistrar()
}

extension ThreadScope {
  /// Whether the calling thread runs inside `withObservationTracking`. Some nanoseconds.
  static var observes: Bool { withCurrent { $0.observes() } }

  @inline(__always)
  private func observes() -> Bool {
    hasHashedSlot = false
    probe._withUnsafeGuaranteedRef {
      $0.registrar.access(ObservationProbe(), keyPath: ObservationProbe.path)
    }
    if !hasHashedSlot { return false }
    // Each observation gets one of its own, which goes with it.
    probe.release()
    probe = Unmanaged.passRetained(ReadProbe())
    return true
  }
}
