import Foundation

/// Which slots the handler of a batch insert gives values, as against those that have a default or were set at birth.
///
/// An object notes what is set in an event. A handler may end events, by a fetch for example: then they are added up. On the queue of the
/// context that executes the batch.
final class GivenSlots {
  private weak var object: ManagedObject?
  private var earlier = SlotBitmap()
  private var token: (any NSObjectProtocol)?

  /// Notes what is set of objects in `context`, one after the other.
  init(in context: ManagedObjectContext) {
    let box = Box()
    box.slots = self
    token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { _ in box.slots?.endEvent() }
  }

  /// Unchecked: the notification is posted on the thread that uses the context and this.
  private final class Box: @unchecked Sendable { weak var slots: GivenSlots? }

  deinit { if let token { NotificationCenter.default.removeObserver(token) } }

  /// From now on `object`, which has just been born, is given values.
  func begin(_ object: ManagedObject) {
    self.object = object
    earlier = SlotBitmap()
    object.draft?.eventChanged = SlotBitmap()
    object.draft?.primitive = SlotBitmap()
  }

  /// `object` was given nil for a to-one relationship that is nil: that is no edit, in whichever event it is done.
  func note(_ slot: Int, of object: ManagedObject) {
    if object === self.object { earlier.insert(slot) }
  }

  private func endEvent() {
    guard let object else { return }
    earlier = slots(of: object)
    // After the report it may still be noted when the object is read next.
    object.draft?.eventChanged = SlotBitmap()
  }

  /// What it was given so far.
  func slots(of object: ManagedObject) -> SlotBitmap {
    guard let draft = object.draft else { return earlier }
    return earlier.union(draft.eventChanged).union(draft.primitive)
  }
}
