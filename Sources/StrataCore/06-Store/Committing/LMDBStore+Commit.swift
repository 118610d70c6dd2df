import Foundation
import Synchronization

extension LMDBStore {
  public func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) { commit(changeSets, deadline: deadline, here: false, completion: completion) }

  public func commitHere(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) { commit(changeSets, deadline: deadline, here: true, completion: completion) }

  private func commit(
    _ changeSets: [ChangeSet], deadline: Duration?, here: Bool,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    if isReadOnly {
      let error = CoreDataError(.persistentStoreSave, "The store at \(parts.environment.path) is read-only.")
      return completion(changeSets.map { _ in .failure(error) })
    }
    do {
      try requireOpen()
    } catch {
      return completion(changeSets.map { _ in .failure(error) })
    }
    let batch = CommitBatch(
      changeSets: changeSets, parts: parts, catalogue: catalogue, allocators: allocators,
      attempt: CommitAttempt<CommitBatch.Outcome>(parts.nextNonce()))
    submitWrite(deadline: deadline, here: here) { transaction in
      try batch.run(transaction)
    } completion: { result in
      switch result {
      case .success(let outcome):
        self.adopt(outcome)
        completion(outcome.results)
      case .failure(let error):
        self.recover(batch, from: error, deadline: deadline, completion: completion)
      }
    }
  }

  /// Commits one change set and waits for the answer.
  func commitAndWait(_ changeSet: ChangeSet) throws {
    let done = DispatchSemaphore(value: 0)
    // Written before the signal and read after it: hence unsafe.
    nonisolated(unsafe) var answer: Result<CommitResult, any Error>?
    commit([changeSet], deadline: nil) { results in
      answer = results.first
      done.signal()
    }
    done.wait()
    guard let answer else { trap("a commit of one change set had no answer") }
    _ = try answer.get()
  }

  private func adopt(_ outcome: CommitBatch.Outcome) {
    for (hierarchy, keys) in outcome.reserved { allocators[hierarchy].add(keys) }
    adopt(catalogue: outcome.catalogue, metadata: outcome.metadata)
    if outcome.hasWritten { removeReplacedFiles() }
  }

  /// After a transaction that failed as a whole: finds out whether it took place all the same; otherwise tries
  /// each change set alone, unless what failed concerns them all.
  private func recover(
    _ batch: CommitBatch, from error: any Error, deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    if (error as? StorageError)?.isOutcomeUnknown == true, let outcome = committedOutcome(of: batch.attempt) {
      adopt(outcome)
      return completion(outcome.results)
    }
    if batch.changeSets.count == 1 || concernsAll(error) {
      return completion(batch.changeSets.map { _ in .failure(error) })
    }
    commitAlone(batch.changeSets[...], [], deadline: deadline, completion: completion)
  }

  private func commitAlone(
    _ rest: ArraySlice<ChangeSet>, _ results: [Result<CommitResult, any Error>], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    guard let first = rest.first else { return completion(results) }
    commit([first], deadline: deadline) { result in
      self.commitAlone(rest.dropFirst(), results + result, deadline: deadline, completion: completion)
    }
  }

  private func concernsAll(_ error: any Error) -> Bool {
    guard let error = error as? StorageError else { return false }
    if error.isOutcomeUnknown { return true }
    switch error.kind {
    case .busy, .closed, .forked, .replaced, .permission, .readOnlyMedia, .io, .damaged: return true
    default: return false
    }
  }

  /// What an attempt did, when the store's stamp says that it took place.
  func committedOutcome<Outcome>(of attempt: CommitAttempt<Outcome>) -> Outcome? {
    let meta = parts.meta
    return try? parts.environment.read { attempt.outcome(stamp: try meta.bytes("stamp", $0)) }
  }
}
