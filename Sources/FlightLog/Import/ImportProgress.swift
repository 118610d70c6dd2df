import Synchronization

/// How far the import has come: written by the importing context, read by the code that draws it.
final class ImportProgress: Sendable {
  struct Count {
    var table = ""
    /// Rows saved, of the tables before this one too.
    var rows = 0
  }

  private let count = Mutex(Count())

  var current: Count { count.withLock { $0 } }

  func start(_ table: String) { count.withLock { $0.table = table } }
  func add(rows: Int) { count.withLock { $0.rows += rows } }
}
