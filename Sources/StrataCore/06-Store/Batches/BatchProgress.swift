import Synchronization

/// How far a batch has come, to be looked at and cancelled from any thread while it is under way.
///
///     let progress = BatchProgress()
///     button.action = { progress.cancel() }
///     request.progress = progress
///
/// One progress belongs to one execution: a cancelled one stays cancelled.
public final class BatchProgress: Sendable {
  private let completed = Atomic<Int>(0)
  private let total = Atomic<Int>(-1)
  /// Stops the search for rows as well.
  package let monitor: FetchMonitor
  /// Gets reports of the progress.
  let report: (@Sendable (BatchProgress) -> Void)?

  /// Makes a progress.
  public convenience init() { self.init(monitor: FetchMonitor()) }

  /// A progress of a batch whose search tells `monitor` what it looks at.
  package init(monitor: FetchMonitor) {
    self.monitor = monitor
    report = nil
  }

  /// A progress that calls `report` about ten times a second, on the queue of the context that executes the batch and waits for
  /// it: outside of the store's transaction. It may cancel.
  public init(report: @escaping @Sendable (BatchProgress) -> Void) {
    monitor = FetchMonitor()
    self.report = report
  }

  /// How many rows have been written. They count for nothing until the batch has been committed.
  public var completedCount: Int { completed.load(ordering: .relaxed) }
  /// How many rows there are to write; nil while it is unknown. A batch update does not know before it is done.
  public var totalCount: Int? {
    let count = total.load(ordering: .relaxed)
    return count < 0 ? nil : count
  }
  /// Whether the batch is to stop, or has stopped.
  public var isCancelled: Bool { monitor.wasStopped }

  /// Stops the batch as soon as it looks, which it does every few thousand rows, whether they match or not: `execute(_:)` throws `CancellationError` and
  /// nothing has been written. A batch that has been committed stays.
  public func cancel() { monitor.stop() }

  package func begin(total count: Int?) {
    completed.store(0, ordering: .relaxed)
    total.store(count ?? -1, ordering: .relaxed)
  }

  package func complete(_ count: Int) { completed.store(count, ordering: .relaxed) }

  /// - Throws: `CancellationError` when the batch is to stop.
  package func stopIfCancelled() throws { if isCancelled { throw CancellationError() } }
}
