import CoreData
import OpenCombine
import StrataCore

/// Objects announce their changes, as Core Data's do.
///
/// ``objectWillChange`` sends on the context's queue: before a setter changes a property, in a setter of either end of a relationship; at the
/// end of the event for everything else that changes an object, such as merges, refreshes, undo, redo, rollback and saves of children, when the object
/// shows it already. Primitive writes are not announced.
extension ManagedObject: OpenCombine.ObservableObject {
  /// Sends before a property of the object changes. It is the same publisher each time, and lives as long as the object. Fires a fault. On the
  /// context's queue; an object that was never asked for it pays nothing.
  public final var objectWillChange: ObservableObjectPublisher {
    guard let announcer = companion({ ChangeAnnouncer() }) else {
      // Unreachable: nothing else in this package gives an object a companion.
      preconditionFailure("\(self) has another companion than a publisher of its changes.")
    }
    return announcer.publisher
  }
}

/// Sends for an object that it is about to change.
private final class ChangeAnnouncer: ObjectWatcher {
  let publisher = ObservableObjectPublisher()

  func objectWillChange(_ object: ManagedObject, slot: Int, isShown: Bool) { publisher.send() }
  func objectDidChange(_ object: ManagedObject, slot: Int) {}
}
