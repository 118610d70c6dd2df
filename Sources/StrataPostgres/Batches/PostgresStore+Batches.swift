import Foundation
import StrataCore

extension PostgresStore {
  package func execute(
    _ batch: StoreBatch, deadline: Duration?,
    completion: @escaping @Sendable (Result<BatchOutcome, any Error>) -> Void
  ) {
    writeBatch(batch, deadline, completion)
  }
}

extension CommitRun {
  /// Carries a batch out, whole or not at all, in one transaction.
  /// - Throws: what is wrong with the batch, ``SQLError`` and ``StorageError``: nothing of it was written unless ``isCommitSent``.
  func run(_ batch: StoreBatch) throws -> BatchOutcome {
    try batch.progress.stopIfCancelled()
    begin()
    let number = try requireNumber()
    beginBatch()
    let reading = PostgresReading(mapping, identifier: identifier, connection: connection, deadline: nil)
    let writing = BatchWriting(
      self, reading: reading, progress: batch.progress, number: { number }, send: { try self.send($0) })
    switch batch.operation {
    case .insert(let rows, let duplicates):
      var inserting = BatchInserting(rows, duplicates, writing)
      try inserting.run()
    case .update(let update): try BatchUpdating(update, writing).run()
    case .delete(let deletion):
      var deleting = BatchDeleting(writing)
      try deleting.run(deletion)
    }
    try batch.progress.stopIfCancelled()
    guard writing.hasWritten else {
      _ = connection.reset()
      return BatchOutcome(commitNumber: number - 1, changes: writing.finish(), hasWritten: false)
    }
    let mark = UInt64.random(in: 1...UInt64(Int64.max))
    let note = note(batch.origin, writing.notes, mark)
    marks = [mark]
    batchChanges = writing.finish()
    try finish([], nil, note)
    return BatchOutcome(commitNumber: number, changes: writing.finish())
  }
}
