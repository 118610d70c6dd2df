import Foundation
import Strata
import Testing
import TortureKit

#if os(Linux)
  /// Another process that has stopped (SIGSTOP) in the middle of a commit to a crowd's store, and keeps the store's lock for writing until it is
  /// resumed or killed.
  final class StoppedWriter {
    let url: URL
    private let child: ChildProcess
    private let folder: TemporaryFolder

    init() async throws {
      folder = try TemporaryFolder()
      url = folder.url.appendingPathComponent("Crowd.strata")
      try Crowd.close(Self.prepare(url))
      child = try ChildProcess(
        ChildProcess.program("Torture"),
        ["member", url.path, "--worker", "1", "--until", "1000", "--stop-at", "5"])
      while !child.hasStopped() {
        try #require(!child.linesAtHand().contains("done") && !child.isSilenced)
        try await Task.sleep(for: .milliseconds(5))
      }
    }

    private static func prepare(_ url: URL) throws -> PersistentContainer {
      let container = try Crowd.open(url.path)
      try Crowd.prepare(container)
      return container
    }

    deinit {
      child.kill()
      folder.remove()
    }

    /// Lets it continue.
    func resume() { child.resume() }
    /// Ends it where it is.
    func kill() { child.kill() }
  }

  extension Crowd {
    static func close(_ container: PersistentContainer) throws {
      let coordinator = container.persistentStoreCoordinator
      for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
  }
#endif
