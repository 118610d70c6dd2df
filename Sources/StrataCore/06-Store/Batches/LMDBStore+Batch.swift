import Foundation

extension LMDBStore {
  public func execute(
    _ batch: StoreBatch, deadline: Duration?,
    completion: @escaping @Sendable (Result<BatchOutcome, any Error>) -> Void
  ) {
    do {
      if isReadOnly {
        throw CoreDataError(.persistentStoreSave, "The store at \(parts.environment.path) is read-only.")
      }
      try requireOpen()
    } catch {
      return completion(.failure(error))
    }
    let run = BatchRun(
      batch: batch, parts: parts, catalogue: catalogue, allocators: allocators,
      attempt: CommitAttempt<BatchRun.Outcome>(parts.nextNonce()))
    submitWrite(deadline: deadline) { transaction in
      try run.run(transaction)
    } completion: { result in
      switch result {
      case .success(let outcome):
        self.adopt(outcome)
        completion(.success(outcome.result))
      case .failure(let error):
        if (error as? StorageError)?.isOutcomeUnknown == true,
          let outcome = self.committedOutcome(of: run.attempt)
        {
          self.adopt(outcome)
          return completion(.success(outcome.result))
        }
        completion(.failure(error))
      }
    }
  }
}

extension LMDBStore {
  private func adopt(_ outcome: BatchRun.Outcome) {
    adopt(catalogue: outcome.catalogue, metadata: nil)
    if outcome.hasWritten { removeReplacedFiles() }
  }
}

/// A batch on its way through its transaction.
///
/// `run` is the body of the transaction: it may be run again from the beginning and leaves its traces only in what it returns.
struct BatchRun: Sendable {
  /// What a run did.
  struct Outcome: Sendable {
    let result: BatchOutcome
    let catalogue: StoreCatalogue
    let hasWritten: Bool
  }

  let batch: StoreBatch
  let parts: StoreParts
  let catalogue: StoreCatalogue
  /// By hierarchy number.
  let allocators: [PrimaryKeyAllocator]
  let attempt: CommitAttempt<Outcome>

  func run(_ transaction: borrowing WriteTransaction) throws -> Outcome {
    try batch.progress.stopIfCancelled()
    let catalogue = try parts.currentCatalogue(catalogue, transaction)
    let stamp = try parts.stamp(transaction.read)
    let number = stamp.commitNumber + 1
    let now = catalogue.history == nil ? Date() : parts.history.clock()
    let history = parts.makeHistoryWriter(number, batch.origin, catalogue, at: now)
    let writing = try write(catalogue, history, transaction)
    if writing.hasWritten {
      if case .insert(let rows, _) = batch.operation { try secureKeys(of: rows, writing, transaction) }
      try parts.putStamp(number, nonce: attempt.nonce, transaction)
      try parts.write(writing.journal, number, catalogue, transaction)
      try history?.finish(transaction)
      try parts.trimHistory(catalogue, at: now, transaction)
    }
    try batch.progress.stopIfCancelled()
    let outcome = Outcome(
      result: BatchOutcome(
        commitNumber: writing.hasWritten ? number : stamp.commitNumber, changes: writing.finish()),
      catalogue: catalogue, hasWritten: writing.hasWritten)
    attempt.note(outcome, number: number)
    return outcome
  }

  private func write(
    _ catalogue: StoreCatalogue, _ history: HistoryWriter?, _ transaction: borrowing WriteTransaction
  ) throws -> BatchWriting {
    switch batch.operation {
    case .insert(let rows, let duplicates):
      let writing = BatchWriting(
        parts: parts, catalogue: catalogue, progress: batch.progress, step: batch.step, tracksRows: true,
        history: history)
      try BatchInserting(rows, duplicates, writing).run(transaction)
      return writing
    case .update(let update):
      var updating = BatchUpdating(
        update, parts: parts, catalogue: catalogue, progress: batch.progress, step: batch.step,
        history: history)
      try updating.run(transaction)
      return updating.writing
    case .delete(let deletion):
      let writing = BatchWriting(
        parts: parts, catalogue: catalogue, progress: batch.progress, step: batch.step, tracksRows: true,
        history: history)
      var deleting = BatchDeleting(writing)
      try deleting.run(deletion, transaction)
      return writing
    }
  }

  /// Raises the counter above the keys of the new rows: some may have been given out while the store could not be written.
  private func secureKeys(
    of rows: BatchRows, _ writing: BatchWriting, _ transaction: borrowing WriteTransaction
  ) throws {
    let hierarchy = parts.schema.entities[rows.entity].hierarchyNumber
    let largest = writing.outcome.inserted.lists[rows.entity].max() ?? 0
    let old = try parts.counter(hierarchy, transaction.read)
    let end = max(old, largest + 1, allocators[hierarchy].unsecuredEnd)
    if end > old { try parts.setCounter(hierarchy, end, transaction) }
  }
}
