import Foundation

/// Change sets on their way into one transaction.
struct CommitBatch: StoreWrite {
  /// One result per change set.
  typealias Outcome = WriteOutcome<[Result<CommitResult, any Error>]>

  let changeSets: [ChangeSet]
  let parts: StoreParts
  let catalogue: StoreCatalogue
  /// By hierarchy number.
  let allocators: [PrimaryKeyAllocator]
  let attempt: CommitAttempt<Outcome>

  func run(_ transaction: borrowing WriteTransaction) throws -> Outcome {
    var isUnchanged = true
    let frame = try WriteFrame(parts, catalogue, transaction) { isUnchanged = false }
    let catalogue = frame.catalogue
    var number = frame.stamp.commitNumber
    var outcome = Outcome(value: [], catalogue: catalogue)
    var journal = parts.makeRecorder()
    var hasWritten = false
    for changeSet in changeSets {
      // In a history each save has a number of its own; without one, those that are written together share theirs.
      if catalogue.history != nil, hasWritten {
        try frame.write(journal, number, transaction)
        journal = parts.makeRecorder()
        hasWritten = false
      }
      let next = hasWritten ? number : number + 1
      let history = frame.makeHistoryWriter(next, changeSet.origin)
      let writer = ChangeSetWriter(
        changeSet: changeSet, parts: parts, catalogue: catalogue, journal: journal, history: history)
      if var failure = try writer.prepare(transaction.read, isUnchanged: isUnchanged) {
        if var conflict = failure as? CommitConflict {
          // A commit raises the version of a row by one at most.
          conflict.newestVersion = UInt32(truncatingIfNeeded: next)
          failure = conflict
        }
        outcome.value.append(.failure(failure))
        continue
      }
      if writer.hasChanges {
        isUnchanged = false
        try writer.write(transaction)
        try history?.finish(transaction)
        hasWritten = true
      }
      if let metadata = changeSet.metadata {
        isUnchanged = false
        let own = metadata.withoutStandardKeys
        try parts.meta.put("metadata", try own.encoded(path: parts.environment.path), transaction)
        outcome.metadata = own
        hasWritten = true
      }
      if hasWritten { number = next }
      var result = CommitResult(
        commitNumber: number, derivedRows: writer.derivedRows, touched: writer.unsaidTouches)
      result.hasWritten = number > frame.stamp.commitNumber
      outcome.value.append(.success(result))
    }
    if number > frame.stamp.commitNumber {
      outcome.hasWritten = true
      try reserveKeys(&outcome, frame, transaction)
      if hasWritten { try frame.write(journal, number, transaction) }
      try frame.end(number, nonce: attempt.nonce, transaction)
    }
    attempt.note(outcome, number: number)
    return outcome
  }

  /// Raises the counters above all keys used, and ahead of those that will soon be.
  private func reserveKeys(
    _ outcome: inout Outcome, _ frame: WriteFrame, _ transaction: borrowing WriteTransaction
  ) throws {
    // By hierarchy; mostly there is one, and a model may have thousands.
    var largest: [(hierarchy: Int, key: UInt64)] = []
    for (changeSet, result) in zip(changeSets, outcome.value) {
      guard case .success = result else { continue }
      changeSet.inserts.withUnsafeBufferPointer { inserts in
        var place = 0
        while place < inserts.count {
          // Runs of one entity after the other: the entity is looked up once for each.
          let entity = inserts[place].entity
          var key: UInt64 = 0
          while place < inserts.count, inserts[place].entity == entity {
            key = max(key, inserts[place].primaryKey)
            place += 1
          }
          let hierarchy = parts.schema.entities[entity].hierarchyNumber
          if let known = largest.firstIndex(where: { $0.hierarchy == hierarchy }) {
            largest[known].key = max(largest[known].key, key)
          } else {
            largest.append((hierarchy, key))
          }
        }
      }
    }
    for (hierarchy, key) in largest {
      let allocator = allocators[hierarchy]
      let keys = try frame.reserveKeys(
        hierarchy, above: key, ahead: allocator.wanted, allocator, transaction)
      if !keys.isEmpty { outcome.reserved.append((hierarchy, keys)) }
    }
  }
}
