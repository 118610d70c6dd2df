/// The objects that a list has handed out, until they leave it: for controllers that promise the same instances, with what they hold beside their rows, as long as
/// these are shown. On the context's queue.
final class ResultsKeeper {
  /// By the identity of their entries.
  private var objects: [UInt64: ManagedObject] = [:]
  /// Of another list, of which it is not known yet whether this one has them.
  private var former: [ManagedObject]

  /// - Parameter former: What the list of before has kept.
  init(_ former: [ManagedObject]) { self.former = former }

  var all: [ManagedObject] { former + objects.values }

  func keep(_ object: ManagedObject, _ identity: UInt64) { objects[identity] = object }

  /// The object of an entry that the list does not have any more; nil when it was never handed out.
  func release(_ identity: UInt64) -> ManagedObject? { objects.removeValue(forKey: identity) }

  func releaseAll() {
    objects = [:]
    former = []
  }
}
