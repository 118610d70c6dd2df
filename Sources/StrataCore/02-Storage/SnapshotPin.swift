/// skeleton
final class SnapshotPin: Sendable {
  var transactionID: Int { 0 }
  var age: Duration { .zero }
  func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R { trap("unfinished") }
  func release() {}
}
