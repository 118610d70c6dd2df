import Foundation
import Strata
import Testing
import TortureKit

@testable import FlightLog
@testable import StrataPostgres

/// The example's whole job on a store on a server: import, queries, edits, deletions, reopening, export, and each answer compared with the files.
@MainActor
@Suite struct FlightLogServerTests {
  @Test func theWholeJobAgreesWithTheFixture() async throws {
    let type = PersistentStoreDescription.StoreType.postgres
    let url = try TestServer.required().url(TestServer.freshNamespace())
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("flights-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var store = try FlightStore(place: url.absoluteString)
    store.exportFolder = folder
    let run = FlightLogRun(
      source: try DataFolder(DataFolder.fixture), store: store,
      terminal: Terminal(output: .nullDevice, errors: .nullDevice))
    try await run.run()
    #expect(run.report.failures == [])
    #expect(run.report.checkCount > 40)
    #expect(FileManager.default.fileExists(atPath: store.exportURL.path))
    // The stores of the stacks are gone, the log is there.
    let container = try await store.open()
    #expect(container.persistentStoreCoordinator.persistentStores.first?.storeType == type.rawValue)
    #expect(try container.viewContext.count(for: FetchRequest<Flight>(entityName: "Flight")) > 0)
    try store.close(container)
    try store.destroy()
    #expect(throws: (any Error).self) { try PostgresStores.metadata(at: url) }
    #expect(throws: (any Error).self) { try PostgresStores.metadata(at: store.sibling("stack-writer").url) }
  }

  @Test func placesArePathsOrAddresses() throws {
    let server = try FlightStore(place: "postgres:///app?host=/tmp&namespace=log")
    #expect(!server.url.isFileURL)
    let items = URLComponents(url: server.sibling("a").url, resolvingAgainstBaseURL: false)?.queryItems
    #expect(items?.filter { $0.name == "namespace" }.map(\.value) == ["log_a"])
    #expect(items?.contains { $0.name == "host" && $0.value == "/tmp" } == true)
    let file = try FlightStore(place: "/tmp/logs/a.strata")
    #expect(file.sibling("b").url.path == "/tmp/logs/b.strata")
    #expect(file.exportURL.path == "/tmp/logs/flights.csv")
  }

  /// `make run ENGINE=postgres` says in a sentence why there is no server, and leaves nothing behind.
  @Test func aServerThatDoesNotStartIsASentence() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "programs-\(UUID().uuidString)")
    let temporary = folder.appendingPathComponent("temporary")
    try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func run() throws -> (status: Int32, words: String) {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Scripts/run-postgres")
      var environment = ProcessInfo.processInfo.environment
      environment["PG_BIN"] = folder.path
      environment["TMPDIR"] = temporary.path
      process.environment = environment
      let pipe = Pipe()
      process.standardError = pipe
      process.standardOutput = FileHandle.nullDevice
      try process.run()
      let words = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return (process.terminationStatus, words)
    }
    func put(_ program: String, _ text: String) throws {
      try ChildProcess.write(program: text, to: folder.appendingPathComponent(program).path)
    }
    var result = try run()
    #expect(result.status == 1)
    #expect(result.words.contains("PG_BIN names a folder without them: \(folder.path)"))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
    try put("initdb", "#!/bin/sh\necho no room for a cluster\nexit 1\n")
    try put("postgres", "#!/bin/sh\necho this one does not start\nexit 1\n")
    result = try run()
    #expect(result.status == 1)
    #expect(result.words.contains("no room for a cluster"))
    try put("initdb", "#!/bin/sh\nexit 0\n")
    result = try run()
    #expect(result.status == 1)
    #expect(result.words.contains("PostgreSQL does not start: this one does not start"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path) == [])
  }
}
