import Synchronization

/// Where tests can look at a migration, or disturb it.
enum MigrationHooks {
  enum Place: String { case looked, compared, copied, filled, exchanged, changed }

  private static let hooks = Mutex<[String: @Sendable (Place) -> Void]>([:])

  /// From now on `hook` is called at each place of the migrations of the store at that path; nil ends it.
  static func set(_ hook: (@Sendable (Place) -> Void)?, for path: String) {
    hooks.withLock { $0[path] = hook }
  }

  static func reached(_ place: Place, _ path: String) { hooks.withLock { $0[path] }?(place) }
}
