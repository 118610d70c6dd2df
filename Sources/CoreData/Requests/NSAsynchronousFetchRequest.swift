import StrataCore

/// What is called when an asynchronous fetch of any type has ended.
public typealias NSPersistentStoreAsynchronousFetchResultCompletionBlock = (
  NSAsynchronousFetchResult<any NSFetchRequestResult>
) -> Void

/// A fetch whose store work runs away from the context's queue (rule 112): give it to `context.execute(_:)`, which returns at once.
///
/// `completionBlock` is called on the context's queue. The context needs a queue, and the request a predicate and an order that the store has;
/// where all stores are in memory or atomic, a request without them is worked out on the context's queue.
open class NSAsynchronousFetchRequest<ResultType>: NSPersistentStoreRequest {
  /// What is fetched.
  public let fetchRequest: NSFetchRequest<ResultType>
  /// Called when the fetch has ended, whatever the end.
  public let completionBlock: ((NSAsynchronousFetchResult<ResultType>) -> Void)?
  /// About how many rows will be looked at, for the progress; 0 when it is unknown.
  open var estimatedResultCount = 0

  /// A fetch of `request`.
  public init(
    fetchRequest request: NSFetchRequest<ResultType>,
    completionBlock blk: ((NSAsynchronousFetchResult<ResultType>) -> Void)? = nil
  ) {
    fetchRequest = request
    completionBlock = blk
  }

  open override var requestType: NSPersistentStoreRequestType { .fetch }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy = NSAsynchronousFetchRequest(fetchRequest: fetchRequest, completionBlock: completionBlock)
    copy.affectedStores = affectedStores
    copy.estimatedResultCount = estimatedResultCount
    return copy
  }

  override func outcome(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    try context.fetching(fetchRequest, affected: affectedStoreIdentifiers) { try outcome($0, context) }
  }

  private func outcome(_ lowered: LoweredFetch, _ context: NSManagedObjectContext) throws
    -> NSPersistentStoreResult
  {
    let result = NSAsynchronousFetchResult(self, context, finalResult: nil)
    if lowered.isForMemory {
      try startHere(lowered, result, context)
      return result
    }
    try lowered.requireStoresOrder("An asynchronous fetch")
    var request = lowered.request
    if let affectedStoreIdentifiers { request.affectedStores = affectedStoreIdentifiers }
    switch fetchRequest.resultType {
    case .managedObjectResultType: try start(request.returning(ManagedObject.self), result, context) { $0 }
    case .managedObjectIDResultType: try start(request, result, context) { $0 }
    case .dictionaryResultType:
      try start(request.returning(FetchedDictionary.self), result, context) {
        NSDictionary(dictionary: $0.dictionary)
      }
    default: try start(request.returning(Int.self), result, context) { NSNumber(value: $0) }
    }
    return result
  }

  /// Fetches on the context's queue, later: what the context decides about its objects is decided there.
  /// - Throws: `CoreDataError` 134060 when the context has no queue.
  private func startHere(
    _ lowered: LoweredFetch, _ result: NSAsynchronousFetchResult<ResultType>,
    _ context: NSManagedObjectContext
  ) throws {
    if context.concurrencyType == .confinementConcurrencyType {
      throw CoreDataError(
        .coreData,
        "\(context) has no queue that an asynchronous fetch could come back to; make it with .privateQueue or .mainQueue."
      )
    }
    var lowered = lowered
    if let affectedStoreIdentifiers { lowered.request.affectedStores = affectedStoreIdentifiers }
    let asked = lowered
    let progress = Progress.ofFetch(estimatedCount: estimatedResultCount)
    result.running = (progress, { progress.cancel() })
    context.perform {
      let outcome = Result {
        if progress.isCancelled { throw CancellationError() }
        let values: [ResultType] = try cocoa {
          guard let values = try context.found(asked, self.fetchRequest) as? [ResultType] else {
            throw CoreDataError(.coreData, "The fetched values are not of type \(ResultType.self).")
          }
          return values
        }
        if progress.isCancelled { throw CancellationError() }
        return values
      }
      result.end(outcome)
      if case .success(let values) = outcome {
        let isCount = self.fetchRequest.resultType == .countResultType
        progress.endFetch(count: isCount ? (values.first as? NSNumber)?.intValue ?? 0 : values.count)
      }
      self.completionBlock?(result)
    }
  }

  private func start<Found: FetchRequestResult>(
    _ request: FetchRequest<Found>, _ result: NSAsynchronousFetchResult<ResultType>,
    _ context: NSManagedObjectContext, _ spelled: @escaping (Found) -> Any
  ) throws {
    let ending = Ending { (found: AsynchronousFetchResult<Found>) in
      if let error = found.operationError {
        result.end(.failure(cocoa(error)))
      } else if let values = (found.finalResult ?? []).map(spelled) as? [ResultType] {
        result.end(.success(values))
      } else {
        result.end(
          .failure(CoreDataError(.coreData, "The fetched values are not of type \(ResultType.self).")))
      }
      self.completionBlock?(result)
    }
    let running = try context.execute(
      AsynchronousFetchRequest(request, estimatedResultCount: estimatedResultCount) { ending.body($0) })
    result.running = (running.progress, running.cancel)
  }
}

/// Carries what happens at the end to the context's queue.
private struct Ending<Found: FetchRequestResult>: @unchecked Sendable {
  // @unchecked Sendable: made on the context's queue and called there, once.
  let body: (AsynchronousFetchResult<Found>) -> Void
}

/// A fetch that is under way, or has ended. On the context's queue, but for `progress` and `cancel()`.
open class NSAsynchronousFetchResult<ResultType>: NSPersistentStoreAsynchronousResult {
  /// What was asked for.
  public let fetchRequest: NSAsynchronousFetchRequest<ResultType>
  private var outcome: Result<[ResultType], any Error>?
  fileprivate var running: (progress: Progress, cancel: () -> Void)?

  init(
    _ request: NSAsynchronousFetchRequest<ResultType>, _ context: NSManagedObjectContext,
    finalResult: [ResultType]?
  ) {
    fetchRequest = request
    outcome = finalResult.map { .success($0) }
    super.init(context)
  }

  /// What was found; nil until the fetch has ended, and when it was cancelled or failed.
  open var finalResult: [ResultType]? { try? outcome?.get() }

  /// Why there is no result: `CancellationError` when it was cancelled; nil until the fetch has ended.
  open override var operationError: (any Error)? {
    if case .failure(let error)? = outcome { return error }
    return nil
  }

  open override var progress: Progress? { running?.progress }

  open override func cancel() { running?.cancel() }

  fileprivate func end(_ outcome: Result<[ResultType], any Error>) { self.outcome = outcome }
}
