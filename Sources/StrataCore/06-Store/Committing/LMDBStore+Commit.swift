import Foundation
import Synchronization

extension LMDBStore {
  package func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) { commit(changeSets, deadline: deadline, here: false, completion: completion) }

  package func commitHere(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) { commit(changeSets, deadline: deadline, here: true, completion: completion) }

  private func commit(
    _ changeSets: [ChangeSet], deadline: Duration?, here: Bool,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    do {
      try requireWritable()
    } catch {
      return completion(changeSets.map { _ in .failure(error) })
    }
    if !unkeyed.isEmpty, let refusals = unkeyed.refusals(of: changeSets, parts.schema) {
      let sound = zip(changeSets, refusals).compactMap { $1 == nil ? $0 : nil }
      if sound.isEmpty { return completion(UnkeyedObjects.merged([], refusals)) }
      return commit(sound, deadline: deadline, here: here) { results in
        completion(UnkeyedObjects.merged(results, refusals))
      }
    }
    let batch = CommitBatch(
      changeSets: changeSets, parts: parts, catalogue: catalogue, allocators: allocators,
      attempt: CommitAttempt(parts.nextNonce()))
    submit(batch, deadline: deadline, here: here) { result in
      switch result {
      case .success(let results): completion(results)
      case .failure(let error):
        // Each is tried alone, unless what failed concerns them all.
        if changeSets.count == 1 || self.concernsAll(error) {
          return completion(changeSets.map { _ in .failure(error) })
        }
        self.commitAlone(changeSets[...], [], deadline: deadline, completion: completion)
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
}
