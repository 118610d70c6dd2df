/// How an object is known to those it owns: they find it while it lives, and nil afterwards.
///
/// The owner makes one, gives it to those it owns, and calls `end` in its `deinit`. Works as a weak reference does, but does
/// not slow down the counting of references to the owner, as a single weak reference does for good: entity descriptions
/// are passed along whenever an object is made. Not for targets that may end on one thread while another asks.
final class BackReference<Target: AnyObject> {
  private var reference: Unmanaged<Target>?

  /// A reference that leads nowhere yet; the owner sets it in its `init`.
  init() {}

  /// The target, while it lives.
  var target: Target? { reference?.takeUnretainedValue() }

  /// From now on this leads to `target`.
  func lead(to target: Target) { reference = .passUnretained(target) }

  /// The target ends.
  func end() { reference = nil }
}
