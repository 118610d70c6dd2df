import Dispatch

/// A context is the executor of actors that are pinned to it: their code runs on the context's queue, each piece as an event of
/// its own, and may use the context and its objects directly (contexts 2).
///
///     actor Importer {
///       private let context: ManagedObjectContext
///       nonisolated var unownedExecutor: UnownedSerialExecutor { context.asUnownedSerialExecutor() }
///       init(_ container: PersistentContainer) { context = container.newBackgroundContext() }
///
///       func insert(_ rows: [Row]) throws { … ; try context.save() }
///     }
///
/// The actor must hold the context. For a main-queue context the actor runs on the main queue. A confinement context has no
/// queue and traps.
extension ManagedObjectContext: SerialExecutor {
  /// Runs `job` as an event on the context's queue. Called by the concurrency runtime.
  public func enqueue(_ job: consuming ExecutorJob) {
    guard let queue = queue.queue else {
      trap(
        "\(description) has no queue, so no actor can be pinned to it; make it with .privateQueue or .mainQueue."
      )
    }
    let job = UnownedJob(job)
    // The job itself has its task go on elsewhere: who then gives up the actor may find the context held for a moment.
    Errand.hand(to: queue, isForMainQueue: isOfMainQueue) {
      self.runAsEvent { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

  /// Traps when the caller is not where the context may be used. Called by `assumeIsolated` and its like.
  public func checkIsolated() { checkAccessAlways() }

  /// Returns when the queue has let go of all that has run on it. For who has been there as a job.
  func settleQueue() async {
    guard let queue = queue.queue else { return }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      queue.async { continuation.resume() }
    }
  }
}
