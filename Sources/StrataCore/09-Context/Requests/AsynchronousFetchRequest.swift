import Foundation
import Synchronization

/// A fetch whose store work runs away from the context's queue. Core Data's `NSAsynchronousFetchRequest` (rule 112).
///
///     let request = AsynchronousFetchRequest(FetchRequest<Flight>(predicate: …)) { result in
///       show(result.finalResult ?? [])
///     }
///     let running = try context.execute(request)
///     …
///     running.cancel()
///
/// `execute` returns at once. The rows are read on another queue; meanwhile the context's queue is free. The objects are then made,
/// and `completionBlock` is called, on the context's queue.
///
/// What is found is what a fetch would have found at some moment between: unsaved changes take part as they were when the request
/// was executed or later, and objects that are deleted before it completes are left out. The context needs a queue.
public struct AsynchronousFetchRequest<Result: FetchRequestResult>: Sendable {
  /// What is fetched.
  public var fetchRequest: FetchRequest<Result>
  /// About how many rows will be looked at, for the progress; 0 when it is unknown. Default 0.
  public var estimatedResultCount = 0
  /// Called on the context's queue when the fetch has ended, whatever the end. Not called when the context is gone by then.
  public var completionBlock: (@Sendable (AsynchronousFetchResult<Result>) -> Void)?

  /// A fetch of `fetchRequest`.
  public init(
    _ fetchRequest: FetchRequest<Result>, estimatedResultCount: Int = 0,
    completionBlock: (@Sendable (AsynchronousFetchResult<Result>) -> Void)? = nil
  ) {
    self.fetchRequest = fetchRequest
    self.estimatedResultCount = estimatedResultCount
    self.completionBlock = completionBlock
  }
}

extension AsynchronousFetchRequest: PersistentStoreRequest {
  /// A fetch.
  public var requestType: PersistentStoreRequestType { .fetch }
  /// The stores of the fetch request.
  public var affectedStores: Set<UUID>? { fetchRequest.affectedStores }

  /// Begins to fetch.
  ///
  /// - Throws: `FetchError` when the request is wrong; `CoreDataError` 134060 when the context has no queue.
  public func outcome(in context: ManagedObjectContext) throws -> AsynchronousFetchResult<Result> {
    let specification = try context.checkedSpecification(of: fetchRequest)
    let result = AsynchronousFetchResult<Result>(self, context)
    let ahead = try FetchAhead(context, specification, Result.fetchResultType, result.monitor)
    let completion = completionBlock
    ahead.start { [weak context] found in
      guard let context else { return }
      context.perform {
        result.end(with: Swift.Result { try context.results(of: found.get(), ahead) })
        completion?(result)
      }
    }
    return result
  }
}

/// A fetch that is under way, or has ended. Core Data's `NSAsynchronousFetchResult`.
///
/// `cancel()`, `progress` and `fetchRequest` may be used from any thread; the rest on the context's queue.
public final class AsynchronousFetchResult<Result: FetchRequestResult>: @unchecked Sendable {
  // @unchecked Sendable: `outcome` may hold managed objects; it is written and read on the context's queue, which `finalResult`
  // and `operationError` check in debug builds. The rest is constant and Sendable.

  /// What was asked for.
  public let fetchRequest: AsynchronousFetchRequest<Result>
  /// The context of the fetch; nil when it is gone.
  public private(set) weak var managedObjectContext: ManagedObjectContext?
  /// How many rows have been looked at, of `estimatedResultCount` when that was given; at the end how many were found, of as many: 0 of 0 is
  /// not `isFinished`, as Foundation sees it. Cancelling it cancels the fetch.
  public let progress: Progress

  let monitor: FetchMonitor
  private var outcome: Swift.Result<[Result], any Error>?

  init(_ request: AsynchronousFetchRequest<Result>, _ context: ManagedObjectContext) {
    fetchRequest = request
    managedObjectContext = context
    // Foundation's progress may be used from any thread.
    let progress = Progress.ofFetch(estimatedCount: request.estimatedResultCount)
    self.progress = progress
    let box = ProgressBox(progress)
    monitor = FetchMonitor { count in box.progress.completedUnitCount = Int64(count) }
    progress.cancellationHandler = { [monitor] in monitor.stop() }
  }

  /// What was found, in the order of the request; nil until the fetch has ended, and when it was cancelled or failed.
  public var finalResult: [Result]? {
    managedObjectContext?.checkAccess()
    return try? outcome?.get()
  }

  /// Why there is no result: `CancellationError` when it was cancelled; what `context.fetch` throws. Nil until the fetch has ended.
  public var operationError: (any Error)? {
    managedObjectContext?.checkAccess()
    if case .failure(let error)? = outcome { return error }
    return nil
  }

  /// Ends the fetch: it stops reading within about a thousand rows, and completes with a `CancellationError`. Does nothing when the
  /// fetch has ended.
  public func cancel() {
    monitor.stop()
    progress.cancel()
  }

  func end(with outcome: Swift.Result<[Result], any Error>) {
    // Foundation may tell the monitor of a cancelled progress later.
    let wasCancelled = monitor.wasStopped || progress.isCancelled
    self.outcome = wasCancelled ? .failure(CancellationError()) : outcome
    guard !wasCancelled, case .success(let found) = outcome else { return }
    progress.endFetch(
      count: Result.fetchResultType == .count ? found.first as? Int ?? 0 : found.count)
  }
}

extension Progress {
  /// The progress of a fetch of about so many rows; 0 when it is unknown.
  package static func ofFetch(estimatedCount: Int) -> Progress {
    let progress = Progress(totalUnitCount: estimatedCount > 0 ? Int64(estimatedCount) : -1)
    progress.isCancellable = true
    return progress
  }

  /// The fetch has found so many rows.
  package func endFetch(count: Int) {
    // Foundation on Linux traps where a total becomes zero at once; of an unknown one it may.
    if count == 0 { totalUnitCount = -1 }
    totalUnitCount = Int64(count)
    completedUnitCount = Int64(count)
  }
}

/// Carries a progress into a Sendable closure.
private struct ProgressBox: @unchecked Sendable {
  // @unchecked Sendable: Foundation says that a Progress may be used from several threads.
  let progress: Progress
  init(_ progress: Progress) { self.progress = progress }
}
