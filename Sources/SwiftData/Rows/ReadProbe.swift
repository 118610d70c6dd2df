import StrataCore
import Synchronization

/// Tells whether whoever reads a row runs inside of `withObservationTracking`. One for each plan, used where the plan's context is.
///
/// The Observation framework hashes the key path of a property that is read only there. There is no other way to ask.
final class ReadProbe {
  /// Notes that it was hashed. Perhaps by another thread, on which an observation ends: that looks as if somebody observed, and costs a moment.
  private final class Mark: Hashable, Sendable {
    let isHashed = Atomic<Bool>(false)
    static func == (a: Mark, b: Mark) -> Bool { a === b }
    func hash(into hasher: inout Hasher) {
      isHashed.store(true, ordering: .relaxed)
      hasher.combine(ObjectIdentifier(self))
    }
  }
  /// What is read.
  private struct Subject: Observation.Observable {
    /// Only ever named in a key path.
    subscript(mark: Mark) -> Void { () }
  }
  private final class Box {
    let registrar = ObservationRegistrar()
  }

  private let mark: Mark
  private let path: KeyPath<Subject, Void>
  // Unmanaged, so that asking counts no references: the probe holds one. `@exclusivity(unchecked)`: used where the context is.
  @exclusivity(unchecked) private var box = Unmanaged.passRetained(Box())

  init() {
    let mark = Mark()
    self.mark = mark
    path = \Subject.[mark]
  }

  deinit { box.release() }

  /// Whether somebody observes the reading of `row`, which the plan is of, or has observed it, or the row cannot be read: all that the long way of reading looks after.
  @inline(__always)
  func takesTheLongWay(_ row: ManagedObject) -> Bool {
    if !row.isReadInPlace, let isLong = asksTheRow(row) { return isLong }
    box._withUnsafeGuaranteedRef { $0.registrar.access(Subject(), keyPath: path) }
    return mark.isHashed.load(ordering: .relaxed) ? renew() : false
  }

  /// What the row alone answers; nil where it is asked who observes.
  @inline(never)
  private func asksTheRow(_ row: ManagedObject) -> Bool? {
    switch row.readiness {
    case .ready: nil
    case .observed, .unreadable: true
    // Rows that have no context belong to nobody who could use the probe alone.
    case .withoutContext: ManagedObject.isReadObserved
    }
  }

  /// Each observation gets a registrar of its own, which goes with it.
  @inline(never)
  private func renew() -> Bool {
    mark.isHashed.store(false, ordering: .relaxed)
    box.release()
    box = Unmanaged.passRetained(Box())
    return true
  }
}
