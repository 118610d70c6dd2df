import Dispatch
import StrataCore

/// What runs the jobs of a model actor.
public protocol ModelExecutor: Executor {
  /// The context, which the jobs alone use.
  var modelContext: ModelContext { get }
}

/// What runs the jobs of a model actor, one after the other.
public protocol SerialModelExecutor: ModelExecutor, SerialExecutor {}

/// Runs jobs on a serial queue of its own, never on the main thread.
public class DefaultSerialModelExecutor: SerialModelExecutor, @unchecked Sendable {
  // @unchecked Sendable: the context is used by the queue's jobs only.

  /// The context, which the jobs alone use.
  public final let modelContext: ModelContext
  private let queue = DispatchQueue(label: "swiftdata.actor")

  /// An executor for the jobs that use `modelContext`.
  public init(modelContext: ModelContext) {
    self.modelContext = modelContext
    modelContext.leaveMainThread()
  }

  /// Runs the job behind those that wait.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    Errand.hand(to: queue) { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// The executor, as the runtime asks for it.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
