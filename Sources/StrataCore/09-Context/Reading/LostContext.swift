import Synchronization

/// Objects that are in no context any more, and are asked for what only a context could read.
enum LostContext {
  /// Whether that was told.
  static let wasTold = Atomic<Bool>(false)
}

extension ManagedObject {
  /// The object was asked for what was not read while it was in a context: it shows a default value, or nothing. That is told, once in a process.
  @inline(never)
  final func noteReadWithoutContext() {
    // A new object has all that it has, and of a record that is gone there is nothing to read.
    guard contextReference == nil, let bound, bound.storeIndex >= 0,
      state.isDisjoint(with: [.probe, .inserted, .rowGone])
    else { return }
    if LostContext.wasTold.exchange(true, ordering: .relaxed) { return }
    Diagnostics.write(
      "\(bound.token.entityName)/p\(primaryKey) was read when it was in no context any more, since that had gone or was reset: what had not "
        + "been read before shows as nil, 0 or no objects. Keep the container or the context for as long as its objects. This is said once.",
      .warning)
  }
}
