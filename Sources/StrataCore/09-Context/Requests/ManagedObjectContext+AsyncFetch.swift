import Foundation

extension ManagedObjectContext {
  /// What `fetch(request)` returns, read away from the context's queue: it is free meanwhile. For IDs, rows of values and counts,
  /// which any task may have.
  ///
  /// May be called from any task; the request is begun as an event on the context's queue. Cancelling the task ends the fetch
  /// within about a thousand rows.
  ///
  /// - Throws: `CancellationError`; what `fetch(_:)` throws; `CoreDataError` 134060 when the context has no queue.
  public func fetchAsynchronously<T: FetchRequestResult & Sendable>(_ request: FetchRequest<T>) async throws
    -> [T]
  {
    let monitor = FetchMonitor()
    return try await found(by: request, monitor) { context, ahead, found in
      try context.results(of: found, ahead)
    }
  }

  /// Fetches objects, reading rows away from the context's queue, and hands them to `body` on that queue, as an event.
  ///
  ///     let names = try await context.fetchAsynchronously(request) { flights in flights.map(\.name) }
  ///
  /// May be called from any task. Cancelling the task ends the fetch within about a thousand rows; `body` is not called then.
  ///
  /// - Throws: `CancellationError`; what `fetch(_:)` and `body` throw; `CoreDataError` 134060 when the context has no queue.
  public func fetchAsynchronously<T: ManagedObject, R: Sendable>(
    _ request: FetchRequest<T>, _ body: @escaping @Sendable ([T]) throws -> R
  ) async throws -> R {
    let monitor = FetchMonitor()
    return try await found(by: request, monitor) { context, ahead, found in
      try body(try context.results(of: found, ahead))
    }
  }

  /// The objects that match `request`, their rows read away from the context's queue: for callers that are on that queue and come
  /// back to it, as `@MainActor` code does with a main-queue context, and an actor with the context it is pinned to.
  ///
  /// Cancelling the task ends the fetch within about a thousand rows. Traps, in debug builds, when the caller is not on the
  /// context's queue: use the form that takes a closure there.
  ///
  /// - Throws: `CancellationError`; what `fetch(_:)` throws.
  public func fetchAsynchronously<T: ManagedObject>(
    _ request: FetchRequest<T>, isolation: isolated (any Actor)? = #isolation
  ) async throws -> [T] {
    checkAccess(request.entityName)
    let monitor = FetchMonitor()
    let specification = try checkedSpecification(of: request)
    let ahead = try FetchAhead(self, specification, .managedObject, monitor)
    let found = try await withTaskCancellationHandler {
      try await ahead.read()
    } onCancel: {
      monitor.stop()
    }
    try Task.checkCancellation()
    checkAccess(request.entityName)
    return try results(of: found, ahead)
  }

  /// Begins on the context's queue, reads elsewhere, ends on the context's queue.
  private func found<T: FetchRequestResult, R: Sendable>(
    by request: FetchRequest<T>, _ monitor: FetchMonitor,
    _ end: @escaping @Sendable (ManagedObjectContext, FetchAhead, FetchedAhead) throws -> R
  ) async throws -> R {
    try requireQueue()
    return try await withTaskCancellationHandler {
      try Task.checkCancellation()
      let ahead = try await perform {
        try FetchAhead(self, self.checkedSpecification(of: request), T.fetchResultType, monitor)
      }
      let found = try await ahead.read()
      try Task.checkCancellation()
      return try await perform { try end(self, ahead, found) }
    } onCancel: {
      monitor.stop()
    }
  }

  // MARK: Shared steps

  /// - Throws: `CoreDataError` 134060 for a context that is confined to a thread.
  func requireQueue() throws {
    if queue.queue != nil { return }
    throw CoreDataError(
      .coreData,
      "\(self) has no queue that an asynchronous fetch could come back to; make it with .privateQueue or .mainQueue."
    )
  }

  /// The request, with everything checked that can be before the store is read.
  func checkedSpecification<T: FetchRequestResult>(of request: FetchRequest<T>) throws -> FetchSpecification {
    try requireQueue()
    let specification = try specification(of: request)
    if T.fetchResultType == .dictionary {
      try requireStores()
      var steady: SteadyReading?
      _ = try settling(specification, ofStored: true, &steady) {
        try ResolvedDictionaryRequest($0, schema: schema)
      }
    } else {
      let resolved = try resolved(specification)
      _ = try prefetch(specification.relationshipKeyPathsForPrefetching, of: [], resolved.entity)
    }
    return specification
  }

  /// What was found, as what was asked for. On the context's queue.
  func results<T: FetchRequestResult>(of found: FetchedAhead, _ ahead: FetchAhead) throws -> [T] {
    switch found {
    case .objects(let found): try cast(try ahead.objects(found, in: self))
    case .identifiers(let identifiers): try cast(identifiers)
    case .dictionaries(let rows): try cast(rows)
    case .count(let count): try cast([count])
    }
  }

  /// What a request wants done with its objects.
  ///
  /// - Throws: why what it wants read cannot be.
  func finish(_ objects: [ManagedObject], _ specification: FetchSpecification) throws -> [ManagedObject] {
    if !specification.shouldRefreshRefetchedObjects, specification.returnsObjectsAsFaults,
      specification.relationshipKeyPathsForPrefetching.isEmpty
    {
      return objects
    }
    return try throwingFailures { try finishAsRead(objects, specification) }
  }

  private func finishAsRead(_ objects: [ManagedObject], _ specification: FetchSpecification) throws
    -> [ManagedObject]
  {
    if specification.shouldRefreshRefetchedObjects { refreshRefetched(objects) }
    if !specification.relationshipKeyPathsForPrefetching.isEmpty,
      let entity = schema.entity(named: specification.entityName)
    {
      event.prefetched = try prefetch(specification.relationshipKeyPathsForPrefetching, of: objects, entity)
    }
    if !specification.returnsObjectsAsFaults { for object in objects { object.fire() } }
    return objects
  }
}
