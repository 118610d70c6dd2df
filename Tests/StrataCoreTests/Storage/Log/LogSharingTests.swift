import CLMDBShim
import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What other processes and users do with the log and the names of a store.
struct LogSharingTests {
  private let store: LoggedStore

  init() throws { store = try LoggedStore() }

  private var hasLog: Bool { FileManager.default.fileExists(atPath: store.logPath) }

  private func fill(_ options: EnvironmentOptions = LoggedStore.options()) throws -> (Environment, Keyspace) {
    let environment = try store.open(options)
    let rows = try environment.keyspace("rows")
    for number in 1...3 { try environment.put(rows, "a", "\(number)") }
    return (environment, rows)
  }

  private func valueAfterPowerCut(_ key: String = "a") throws -> String? {
    let copy = try LoggedStore()
    try KilledStoreTests.tear(store.image()).put(copy)
    let environment = try copy.open()
    defer { environment.close() }
    return try environment.get(try environment.keyspace("rows"), key)
  }

  // MARK: Who has the store open

  /// Leaves the store as a power cut does.
  private func cutPower() throws {
    let (environment, _) = try fill()
    let image = try KilledStoreTests.tear(store.image())
    environment.close()
    try image.put(store)
  }

  @Test func whoExchangesAStoreHasTheTurnAtItsLog() throws {
    try cutPower()
    let file = try StoreFile(store.path, .system)
    try SoleUse.run(file) { _ in
      let other = open(store.logPath, O_RDWR | O_CLOEXEC)
      try #require(other >= 0)
      defer { close(other) }
      #expect(flock(other, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    }
  }

  enum Stranger: CaseIterable {
    /// As a program that exchanges the store.
    case alone
    /// As a program that knows LMDB only.
    case reader
  }

  /// Whoever locks the first byte need not have recovered anything.
  @Test(arguments: Stranger.allCases)
  func aLockIsNotTakenForAProcessThatHasTheStoreOpen(stranger: Stranger) async throws {
    try cutPower()
    let (path, locked, tried) = (store.path, store.directory("locked"), store.directory("tried"))
    let isReader = stranger == .reader
    let thread = Thread {
      // Else the other process would wait.
      defer { try? announce(tried) }
      do {
        try waitFor(locked)
        var options = LoggedStore.options()
        options.writerDeadline = .milliseconds(200)
        let error = try storageError { try Environment.open(path: path, options: options).close() }
        #expect(error.kind == .busy)
      } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [path = path as String, locked = locked as String, tried = tried as String, isReader = isReader as Bool]
      in
      let descriptor = open(path + "-lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      var range = flock()
      range.l_type = Int16(isReader ? F_RDLCK : F_WRLCK)
      range.l_whence = Int16(SEEK_SET)
      range.l_len = 1
      try #require(fcntl(descriptor, F_SETLK, &range) == 0)
      try announce(locked)
      try waitFor(tried)
      close(descriptor)
    }
    unlink(path + "-lock")
    let environment = try store.open()
    defer { environment.close() }
    #expect(try environment.get(try environment.keyspace("rows"), "a") == "3")
  }
}
