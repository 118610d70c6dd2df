import StrataCore

/// What is called when an asynchronous fetch of any type has ended.
public typealias NSPersistentStoreAsynchronousFetchResultCompletionBlock = (
  NSAsynchronousFetchResult<any NSFetchRequestResult>
) -> Void

/// A fetch whose store work runs away from the context's queue (rule 112): give it to `context.execute(_:)`, which returns at once.
///
/// `completionBlock` is called on the context's queue. The context needs a queue, and the request an order that the store has.
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
    let lowered = try fetchRequest.lowered(for: context)
    try lowered.requireStoresOrder("An asynchronous fetch")
    let result = NSAsynchronousFetchResult(self, context, finalResult: nil)
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
