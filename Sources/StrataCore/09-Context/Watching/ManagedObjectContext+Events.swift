import Foundation

// What a context tells the observers. Each place asks first whether somebody wants to know; what follows is kept out of the way of those who do not.

extension ManagedObjectContext {
  // MARK: Saves

  /// `saveChanges()` while somebody asks for saves.
  @inline(never)
  func saveWatched() throws {
    let outer = saving.watch
    let watch = SaveWatch()
    watch.isForParent = parent != nil
    saving.watch = watch
    defer { saving.watch = outer }
    let start = ContinuousClock.now
    do {
      try runSave()
      watch.tell(self, since: start, error: nil)
    } catch {
      // What has been written is pending no more, and was noted.
      watch.note(pendingOf: self)
      watch.tell(self, since: start, error: error)
      throw error
    }
  }

  /// An asynchronous save could not begin, or not again after `attempts`.
  @inline(never)
  func tellNotStarted(_ error: any Error, _ watched: SaveFlight.Watched, attempts: Int) {
    let watch = SaveWatch()
    watch.isAsynchronous = true
    watch.isForParent = parent != nil
    watch.attempts = attempts
    watch.timeInStore = watched.timeInStore
    watch.note(pendingOf: self)
    watch.tell(self, since: watched.since, error: error)
  }

  /// An asynchronous save has come home.
  @inline(never)
  func tellLanded(_ flight: SaveFlight, _ watched: SaveFlight.Watched, attempts: Int) {
    let watch = SaveWatch()
    watch.attempts = attempts
    watch.timeInStore = watched.timeInStore
    watch.isAsynchronous = true
    watch.isForParent = flight.isForParent
    for part in flight.parts {
      watch.timeInStore += part.timeRefused
      if let notice = part.notice { watch.note(notice, part.store) }
    }
    var failure: (any Error)?
    switch flight.ending {
    case .failed(let error): failure = error
    case .refused, .disputed: failure = conflictsGoOn
    case .saved, nil: break
    }
    // A save of nothing is none.
    if failure == nil, flight.isForParent ? flight.parts.isEmpty : watch.stores.isEmpty { return }
    // By now there may be edits that were made meanwhile.
    if flight.isForParent || failure != nil {
      (watch.inserted, watch.updated, watch.deleted) = watched.counts
    }
    watch.tell(self, since: watched.since, error: failure)
  }

  // MARK: Fetches

  @inline(never)
  func tellFetch(
    _ request: ResolvedFetchRequest, _ mode: FetchMode, _ fetched: FetchedRows?, of store: StoreBinding,
    _ duration: Duration, error: (any Error)? = nil
  ) {
    let answer: FetchEvent.Answer =
      switch mode {
      case .count: .count
      case .identifiers: .identifiers
      case .rows: .objects
      }
    let (source, plan) = (request.source, fetched?.plan)
    StrataObservers.tell(
      .fetch(
        FetchEvent(
          context: description, entityName: request.entity.name, answer: answer,
          store: store.store.identifier,
          returnedCount: fetched?.count, examinedCount: fetched?.examinedCount,
          duration: duration, error: error, makePredicate: { source?.predicate.map { "\($0)" } },
          makePlan: { plan?.description })))
  }

  /// A request for rows of values. How many rows there are is known when all stores have answered: it is not told.
  @inline(never)
  func tellValues(
    _ collector: DictionaryCollector, of store: StoreBinding, _ duration: Duration, error: (any Error)? = nil
  ) {
    let request = collector.request.fetch
    let source = request.source
    StrataObservers.tell(
      .fetch(
        FetchEvent(
          context: description, entityName: request.entity.name, answer: .values,
          store: store.store.identifier, duration: duration, error: error,
          makePredicate: { source?.predicate.map { "\($0)" } }, makePlan: { nil })))
  }

  // MARK: Batches

  @inline(never)
  func tellBatch(_ type: PersistentStoreRequestType, _ count: Int, _ duration: Duration) {
    let operation: BatchEvent.Operation
    switch type {
    case .batchInsert: operation = .insert
    case .batchUpdate: operation = .update
    case .batchDelete: operation = .delete
    default: return
    }
    StrataObservers.tell(
      .batch(BatchEvent(context: description, operation: operation, rowCount: count, duration: duration)))
  }

  // MARK: Conflicts

  /// Asks the merge policy, and tells how that ended.
  func askPolicy(_ conflicts: [Any]) throws {
    guard Watching.concerns(.conflicts) else { return try mergePolicy.resolve(mergeConflicts: conflicts) }
    let policy = mergePolicy
    // What policies do to objects comes after this.
    var event = ConflictEvent(
      context: description, rowCount: 0, uniquenessCount: 0, entityNames: [], policy: policy.spelling,
      error: nil)
    var names: Set<String> = []
    for conflict in conflicts {
      if let conflict = conflict as? MergeConflict {
        event.rowCount += 1
        names.insert(conflict.sourceObject.home.token.entityName)
      } else if let conflict = conflict as? ConstraintConflict {
        event.uniquenessCount += 1
        for object in conflict.conflictingObjects { names.insert(object.home.token.entityName) }
      }
    }
    event.entityNames = names.sorted()
    do {
      try policy.resolve(mergeConflicts: conflicts)
    } catch {
      event.error = error
      StrataObservers.tell(.conflict(event))
      throw error
    }
    StrataObservers.tell(.conflict(event))
  }

  // MARK: Waits

  /// Tells that `performAndWait` has waited for the queue, if it was long.
  @inline(never)
  func tellQueueWait(_ waited: Duration?) {
    let shortest = StrataObservers.least(\.shortestQueueWait, for: .waits)
    guard let waited, let shortest, waited >= shortest
    else { return }
    StrataObservers.tell(.wait(WaitEvent(subject: .contextQueue(context: description), duration: waited)))
  }
}

/// What is known of a save under way.
final class SaveWatch {
  var attempts = 0
  var isAsynchronous = false
  var isForParent = false
  var (inserted, updated, deleted) = (0, 0, 0)
  var stores: [UUID] = []
  var timeInStore = Duration.zero
  var timeWaited = Duration.zero

  init() {}

  /// The parent has taken the changes.
  func note(handedOver outcome: ManagedObjectContext.SaveOutcome) {
    (inserted, updated, deleted) = (outcome.inserted.count, outcome.updated.count, outcome.deleted.count)
  }

  /// A store has written the changes.
  func note(_ notice: CommitNotice, _ store: StoreBinding) {
    inserted += notice.changes.inserts.count
    updated += notice.changes.updates.count
    deleted += notice.changes.deletes.count
    timeInStore += notice.timeInStore
    timeWaited += notice.timeWaited
    if !stores.contains(store.store.identifier) { stores.append(store.store.identifier) }
  }

  /// It has failed: these were to be saved.
  func note(pendingOf context: ManagedObjectContext) {
    inserted += context.changes.insertedCount
    updated += context.changes.updatedCount
    deleted += context.changes.deletedCount
  }

  func tell(_ context: ManagedObjectContext, since start: ContinuousClock.Instant, error: (any Error)?) {
    var event = SaveEvent(
      context: context.description, author: context.transactionAuthor,
      destination: isForParent ? .parent : .stores(stores), duration: ContinuousClock.now - start)
    (event.insertedCount, event.updatedCount, event.deletedCount) = (inserted, updated, deleted)
    event.attemptCount = attempts
    event.timeInStore = timeInStore
    event.timeWaited = timeWaited
    event.isAsynchronous = isAsynchronous
    event.error = error
    // A save of nothing is none.
    if attempts == 0, error == nil { return }
    StrataObservers.tell(.save(event))
  }
}

extension MergePolicy {
  /// The name of a ready-made policy, or of the class.
  fileprivate var spelling: String {
    if type(of: self) != MergePolicy.self { return "\(type(of: self))" }
    return switch mergeType {
    case .error: "error"
    case .mergeByPropertyStoreTrump: "mergeByPropertyStoreTrump"
    case .mergeByPropertyObjectTrump: "mergeByPropertyObjectTrump"
    case .overwrite: "overwrite"
    case .rollback: "rollback"
    }
  }
}
