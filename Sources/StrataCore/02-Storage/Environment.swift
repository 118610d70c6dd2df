/// skeleton
final class Environment: Sendable {
  static func open(path: String, options: EnvironmentOptions) throws -> Environment { trap("unfinished") }
  func close() {}
  var path: String { "" }
  var isReadOnly: Bool { false }
  func keyspaces(_ names: [String]) throws -> [Keyspace?] { [] }
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R { trap("unfinished") }
  func write<R: Sendable>(deadline: Duration? = nil, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> R) throws -> R { trap("unfinished") }
  func submitWrite<R: Sendable>(deadline: Duration? = nil, _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> R, completion: @escaping @Sendable (Result<R, any Error>) -> Void) {}
  func makeSnapshot() throws -> SnapshotPin { trap("unfinished") }
  func copy(to path: String, compacting: Bool) throws {}
  func statistics() throws -> EnvironmentStatistics { trap("unfinished") }
  static func destroy(path: String) throws {}
  static func replace(path: String, with source: String) throws {}
}
