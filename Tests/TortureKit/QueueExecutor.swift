import Dispatch

/// Runs tasks on a queue of its own: they continue while those that all tasks share wait for something, of which there are no more threads than
/// processors.
public final class QueueExecutor: TaskExecutor {
  private let queue: DispatchQueue

  public init(_ label: String) { queue = DispatchQueue(label: label) }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
