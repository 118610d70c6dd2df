import Dispatch
import StrataCore

/// Tells of whatever is committed to the stores of a container: by its contexts, by batches, by other programs.
final class CommitSignal: @unchecked Sendable {
  // @unchecked Sendable: `rows` is used on the queue only.

  private let rows = RowContext(.confinement)
  private let queue = DispatchQueue(label: "swiftdata.observer")

  /// `changed` is called on a queue of its own, some time after each commit and once for several that come together.
  init(_ core: ContainerCore, _ changed: @escaping @Sendable () -> Void) {
    let queue = queue
    let reference = Reference()
    rows.serveAnyThread(
      CommitInbox {
        queue.async {
          // It has no objects: there is nothing to merge, but the next commit is told again.
          reference.rows?.mergeArrived()
          changed()
        }
      })
    reference.rows = rows
    rows.persistentStoreCoordinator = core.coordinator
  }

  private final class Reference: @unchecked Sendable {
    // @unchecked Sendable: set before the first commit can come.
    weak var rows: RowContext?
  }
}
