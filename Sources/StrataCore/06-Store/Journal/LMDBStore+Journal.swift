import Foundation

extension LMDBStore {
  /// What has been committed after commit `number`, by whomever, in order. One read of the store; nearly nothing when there is
  /// nothing new.
  package func journal(after number: UInt64) throws -> JournalReading {
    try read { reader, transaction in
      let newest = try parts.stamp(transaction).commitNumber
      var reading = JournalReading(newest: newest)
      if newest <= number { return reading }
      var generation: UInt64?
      var told = number
      try parts.journal?.forEach(after: number, transaction) { number, bytes in
        // Beyond the newest lies nothing that has happened.
        if number > newest { return }
        let commit = try commit(number, bytes, reader) {
          let stored = try generation ?? parts.meta.number("generation", UInt64.self, transaction) ?? 0
          generation = stored
          return stored
        }
        if number > told + 1 { reading.commits.append(unknownCommit(number - 1)) }
        reading.commits.append(commit ?? unknownCommit(number))
        told = number
      }
      // The newest commit was written without a journal, or there is none.
      if told < newest { reading.commits.append(unknownCommit(newest)) }
      return reading
    }
  }

  /// Commits up to that number whose changes are unknown.
  package func unknownCommit(_ number: UInt64) -> JournaledCommit {
    var changes = BatchChanges(entityCount: parts.schema.entities.count)
    changes.uncertain = parts.held.indices.filter { parts.held[$0] }
    return JournaledCommit(number: number, isOwn: false, changes: changes, isUnknown: true)
  }

  /// Nil for an entry that cannot be read.
  private func commit(
    _ number: UInt64, _ bytes: UnsafeRawBufferPointer, _ reader: RowReader, _ generation: () throws -> UInt64
  ) throws -> JournaledCommit? {
    guard let entry = JournalEntry(bytes) else { return nil }
    var changes = BatchChanges(entityCount: parts.schema.entities.count)
    if entry.writer == parts.writer { return JournaledCommit(number: number, isOwn: true, changes: changes) }
    var uncertain = SlotBitmap()
    for list in entry.lists {
      guard let entity = reader.catalogue.entity(code: list.entityCode) else {
        // Of an entity that another process has added since, or that this model does not have.
        if try generation() == reader.catalogue.generation { continue }
        throw UnknownCode(detail: "The catalogue changes again and again.")
      }
      let count = list.runs.reduce(0) { $0 + Int($1.upperBound - $1.lowerBound) + 1 }
      if list.kind == .any || count > parts.journalLimits.listedRows {
        uncertain.insert(entity)
        continue
      }
      switch list.kind {
      case .inserted: changes.inserted.append(list.runs, of: entity)
      case .updated: changes.updated.append(list.runs, of: entity)
      case .deleted: changes.deleted.append(list.runs, of: entity)
      case .related: changes.related.append(list.runs, of: entity)
      case .any: break
      }
    }
    uncertain.forEach { changes.uncertain.append($0) }
    return JournaledCommit(number: number, isOwn: false, changes: changes)
  }

  /// Whether the file still lies where it was opened.
  package var isInPlace: Bool {
    (try? parts.environment.file.status())?.identity == parts.environment.identity
  }

  /// The file to watch for other processes' commits; nil when no other can write to it.
  var watchedPath: String? { url == nil ? nil : parts.environment.path }

  package var isShared: Bool { watchedPath != nil || memoryName != nil }

  package func makeWatch(_ handler: @escaping @Sendable (StoreWatchEvent) -> Void)
    -> (any AnyObject & Sendable)?
  {
    guard let watchedPath else { return parts.environment.bell.watch { handler(.written) } }
    return FileWatch(path: watchedPath) { handler($0 == .moved ? .moved : .written) }
  }

  /// LMDB shows a commit a moment after it has written it.
  package var followingHabits: FollowingHabits {
    var habits = FollowingHabits()
    habits.recheckDelays = [2, 10, 50, 250, 1_000].map { .milliseconds($0) }
    return habits
  }
}

extension BatchKeys {
  fileprivate mutating func append(_ runs: [ClosedRange<UInt64>], of entity: Int) {
    for run in runs { append(run, of: entity) }
  }
}
