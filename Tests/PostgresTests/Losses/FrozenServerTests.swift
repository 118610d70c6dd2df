import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// A server that stands still: its connections are there, and nothing is to be heard from it.
@Suite struct FrozenServerTests {
  @Test(.timeLimit(.minutes(3))) func aReadEndsWhenItsTimeIsOver() throws {
    let server = try TestServer.own()
    var options = PostgresStoreOptions()
    options.timeout = .seconds(5)
    options.listens = false
    options.pollInterval = .seconds(3_600)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Library.make())
    let store = try PostgresStore(
      url: try server.url("app"), schema: try coordinator.managedObjectModel.schema(), options: options)
    try coordinator.attach(store)
    #expect(try ManagedObjectContext(.confinement, coordinator: coordinator).all("Author").isEmpty)
    let processes = try processes(of: server)
    for process in processes { #expect(kill(process, SIGSTOP) == 0) }
    defer {
      for process in processes { kill(process, SIGCONT) }
      withExtendedLifetime(server) {}
    }
    let isOver = DispatchSemaphore(value: 0)
    let kind = Mutex<StorageError.Kind?>(nil)
    Thread {
      do {
        _ = try ManagedObjectContext(.confinement, coordinator: coordinator).all("Author")
      } catch {
        let found = (error as? StorageError)?.kind
        kind.withLock { $0 = found }
      }
      isOver.signal()
    }.start()
    #expect(isOver.wait(timeout: .now() + 60) == .success)
    #expect(kind.withLock { $0 } == .serverBusy)
  }

  /// The process that takes connections, and those that serve them.
  private func processes(of server: TestServer) throws -> [pid_t] {
    let note = try String(
      contentsOf: server.folder.appendingPathComponent("data/postmaster.pid"), encoding: .utf8)
    var processes = [try #require(note.split(separator: "\n").first.flatMap { pid_t($0) })]
    let connection = try PostgresConnection(
      ServerAddress(try server.url("none")), password: nil, deadline: ContinuousClock.now + .seconds(30))
    let found = try #require(
      try connection.runText(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"))
    for row in 0..<found.rowCount {
      let text = try found.text(row, 0)
      processes.append(try #require(pid_t(text)))
    }
    return processes
  }
}
