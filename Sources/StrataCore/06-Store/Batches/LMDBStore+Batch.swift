import Foundation

extension LMDBStore {
  /// What makes the index entries of new rows of `entity` while these are still made; nil where the writer does that.
  func makeBatchEntries(entity: Int, folder: String) -> BatchEntries? {
    if isReadOnly || parts.schema.derivedSources != nil { return nil }
    return BatchEntries(entity: entity, reader: RowReader(parts: parts, catalogue: catalogue), folder: folder)
  }

  package func execute(
    _ batch: StoreBatch, deadline: Duration?,
    completion: @escaping @Sendable (Result<BatchOutcome, any Error>) -> Void
  ) {
    do {
      try requireWritable()
    } catch {
      return completion(.failure(error))
    }
    let run = BatchRun(
      batch: batch, parts: parts, catalogue: catalogue, allocators: allocators,
      attempt: CommitAttempt(parts.nextNonce()))
    submit(run, deadline: deadline, completion: completion)
  }
}

/// A batch on its way through its transaction.
struct BatchRun: StoreWrite {
  let batch: StoreBatch
  let parts: StoreParts
  let catalogue: StoreCatalogue
  /// By hierarchy number.
  let allocators: [PrimaryKeyAllocator]
  let attempt: CommitAttempt<WriteOutcome<BatchOutcome>>

  func run(_ transaction: borrowing WriteTransaction) throws -> WriteOutcome<BatchOutcome> {
    try batch.progress.stopIfCancelled()
    let frame = try WriteFrame(parts, catalogue, transaction)
    let number = frame.stamp.commitNumber + 1
    let history = frame.makeHistoryWriter(number, batch.origin)
    let writing = try write(frame.catalogue, history, transaction)
    if writing.hasWritten {
      if case .insert(let rows, _) = batch.operation {
        // Some keys may have been given out while the store could not be written.
        let hierarchy = parts.schema.entities[rows.entity].hierarchyNumber
        let largest = writing.outcome.inserted.lists[rows.entity].max() ?? 0
        _ = try frame.reserveKeys(hierarchy, above: largest, allocators[hierarchy], transaction)
      }
      try frame.write(writing.journal, number, transaction)
      try history?.finish(transaction)
      try frame.end(number, nonce: attempt.nonce, transaction)
    }
    try batch.progress.stopIfCancelled()
    let outcome = WriteOutcome(
      value: BatchOutcome(
        commitNumber: writing.hasWritten ? number : number - 1, changes: writing.finish(),
        hasWritten: writing.hasWritten),
      catalogue: frame.catalogue, hasWritten: writing.hasWritten)
    attempt.note(outcome, number: number)
    return outcome
  }

  private func write(
    _ catalogue: StoreCatalogue, _ history: HistoryWriter?, _ transaction: borrowing WriteTransaction
  ) throws -> BatchWriting {
    func makeWriting(tracksRows: Bool = true, defersUniqueness: Bool = false) -> BatchWriting {
      BatchWriting(
        parts: parts, catalogue: catalogue, progress: batch.progress, step: batch.step,
        heldLength: batch.heldLength, tracksRows: tracksRows, defersUniqueness: defersUniqueness,
        history: history)
    }
    let writing: BatchWriting
    switch batch.operation {
    case .insert(let rows, let duplicates):
      writing = makeWriting()
      try BatchInserting(rows, duplicates, writing).run(transaction)
    case .update(let update):
      writing = makeWriting(
        tracksRows: !update.partnerships(parts.schema).isEmpty, defersUniqueness: true)
      var updating = BatchUpdating(update, writing)
      try updating.run(transaction)
    case .delete(let deletion):
      writing = makeWriting()
      var deleting = BatchDeleting(writing)
      try deleting.run(deletion, transaction)
    }
    return writing
  }
}
