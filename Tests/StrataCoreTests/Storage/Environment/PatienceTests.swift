import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// Opening waits for other processes once when it must write, and never when it need not write.
@Suite struct PatienceTests {
  private static let model = { @Sendable (attribute: String) in
    ManagedObjectModel(entities: [
      EntityDescription(
        "Note",
        properties: [AttributeDescription("title", .string), AttributeDescription("text", .string)],
        indexes: [FetchIndexDescription(name: "by", attributes: [attribute])])
    ])
  }

  private func open(_ path: String, _ attribute: String, _ patience: Patience) throws -> LMDBStore {
    var options = LMDBStoreOptions()
    options.patience = patience
    return try LMDBStore(
      url: URL(fileURLWithPath: path), schema: Self.model(attribute).schema(), options: options)
  }

  /// Another process keeps the lock for writing until the test lets it go.
  ///
  /// The test's own part runs on a thread: while exit tests wait for their processes, tasks may get none.
  @Test func whatMustBeWrittenWaitsOnce() async throws {
    let directory = try ScratchDirectory()
    let path = directory("A")
    try open(path, "title", Patience(.seconds(30))).close()
    let (locked, done) = (directory("locked"), directory("done"))
    let outcome = Mutex<Result<Void, any Error>?>(nil)
    let thread = Thread {
      for _ in 0..<60_000 where !FileManager.default.fileExists(atPath: locked) { usleep(10_000) }
      let result = Result { try openBesideAWriter(path) }
      outcome.withLock { $0 = result }
      do { try Data().write(to: URL(fileURLWithPath: done)) } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [path = path as String, locked = locked as String, done = done as String] in
      let environment = try Environment.open(path: path)
      try environment.write { _ in
        try Data().write(to: URL(fileURLWithPath: locked))
        for _ in 0..<60_000 where !FileManager.default.fileExists(atPath: done) { usleep(10_000) }
      }
      environment.close()
    }
    try #require(outcome.withLock { $0 }, "the other process never had the lock").get()
    try open(path, "text", Patience(.seconds(30))).close()
  }

  private func openBesideAWriter(_ path: String) throws {
    // Nothing is missing: not a single wait.
    let fitting = Patience(.seconds(3_600))
    try open(path, "title", fitting).close()
    #expect(fitting.vainWaits == 0)
    // Another index: one wait, and none after it.
    let patience = Patience(.milliseconds(200))
    #expect(try storageError { try open(path, "text", patience).close() }.kind == .busy)
    #expect(patience.vainWaits == 1 && patience.left == .zero)
    // An older version: opening says so without a wait, the migration waits once.
    let wider = Self.model("title")
    wider.entities[0].properties.append(AttributeDescription("more", .string))
    var options = LMDBStoreOptions()
    let opening = Patience(.seconds(3_600))
    options.patience = opening
    let (url, schema) = (URL(fileURLWithPath: path), try wider.schema())
    let misfit = #expect(throws: CoreDataError.self) {
      try LMDBStore(url: url, schema: schema, options: options).close()
    }
    #expect(misfit?.code == .persistentStoreIncompatibleVersionHash)
    #expect(opening.vainWaits == 0 && opening.left > .zero)
    let migrating = Patience(.milliseconds(200))
    options.patience = migrating
    #expect(try storageError { try LMDBStore.migrate(at: url, to: wider, options: options) }.kind == .busy)
    #expect(migrating.vainWaits == 1 && migrating.left == .zero)
  }

  @Test func waitsAreTakenFromOneSum() throws {
    let patience = Patience(.seconds(3_600))
    patience.spend(.seconds(4))
    #expect(patience.left == .seconds(3_596))
    try withEnvironment { environment in
      let written = try environment.write(within: patience) { _ in 7 }
      #expect(written == 7)
      struct Mishap: Error {}
      #expect(throws: Mishap.self) { try environment.write(within: patience) { _ in throw Mishap() } }
    }
    // Neither what was done nor what went wrong otherwise is a wait in vain.
    #expect(patience.left > .zero && patience.vainWaits == 0)
    patience.spend(.seconds(3_600))
    #expect(patience.left == .zero)
  }
}
