import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// How long a store's lock file keeps others away while the store's file is exchanged or removed.
struct SoleUseTests {
  private let directory: ScratchDirectory
  private let file: StoreFile

  init() throws {
    directory = try ScratchDirectory()
    file = try StoreFile(directory("Test.strata"), .system)
    let environment = try Environment.open(path: file.path, options: .scratch)
    try environment.put(try environment.keyspace("rows"), "a", "1")
    environment.close()
  }

  private func isThere(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private func lockIdentity() throws -> FileSystem.Identity? { try file.lockIdentity() }

  @Test func theLockFileGoesLastWhenAStoreIsDestroyed() throws {
    let (lock, data) = (file.lockPath, file.path)
    let seen = Mutex<[Bool]>([])
    var system = FileSystem.system
    // The folder's, after the file has gone.
    system.sync = { descriptor in
      seen.withLock { $0.append(FileManager.default.fileExists(atPath: lock)) }
      #expect(!FileManager.default.fileExists(atPath: data))
      return FileSystem.system.sync(descriptor)
    }
    try Environment.destroy(path: file.path, fileSystem: system)
    #expect(seen.withLock { $0 } == [true])
    #expect(!isThere(lock))
  }

  @Test func aLockFileThatIsAnothersByThenStays() throws {
    let lock = file.lockPath
    try SoleUse.run(file) { _ in
      try #require(rename(lock, directory("gone")) == 0)
      try Data().write(to: URL(fileURLWithPath: lock))
    }
    #expect(isThere(lock))
  }

  @Test(arguments: [true, false])
  func anotherLockFileHasTheNameWhileTheStoreIsExchanged(canExchange: Bool) throws {
    var system = FileSystem.system
    if !canExchange { system.exchange = { _, _ in -EINVAL } }
    let file = try StoreFile(file.path, system)
    let environment = try Environment.open(path: file.path, options: .scratch)
    defer { environment.close() }
    let before = try #require(try lockIdentity())
    // Not exchanged after all.
    _ = try Environment.withoutLockFile(file) {
      let now = try lockIdentity()
      #expect(now != before && (now != nil) == canExchange)
      return false
    }
    #expect(try lockIdentity() == before)
    struct Failure: Error {}
    #expect(throws: Failure.self) { _ = try Environment.withoutLockFile(file) { throw Failure() } }
    #expect(try lockIdentity() == before)
    // Exchanged.
    let done = try Environment.withoutLockFile(file) {
      let now = try lockIdentity()
      #expect((now != nil) == canExchange)
      return true
    }
    #expect(done)
    #expect(try lockIdentity() == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["Test.strata"])
  }

  /// A process that comes while the file is exchanged waits, and opens the new one.
  @Test func whoComesToOpenAStoreThatIsBeingExchangedWaits() async throws {
    let (path, came, go) = (file.path, directory("came"), directory("go"))
    let other = directory("other.strata")
    do {
      let environment = try Environment.open(path: other, options: .scratch)
      try environment.put(try environment.keyspace("rows"), "a", "2")
      environment.close()
    }
    let thread = Thread {
      do {
        let environment = try Environment.open(path: path, options: .scratch)
        defer { environment.close() }
        _ = try Environment.withoutLockFile(try StoreFile(path, .system)) {
          try announce(came)
          try waitFor(go)
          return rename(other, path) == 0
        }
      } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [path = path as String, came = came as String, go = go as String] in
      try waitFor(came)
      let isFirst = Mutex(true)
      var options = EnvironmentOptions.scratch
      let system = options.fileSystem
      // It looks at the lock file before LMDB opens it.
      options.fileSystem.status = { name in
        if name == path + "-lock",
          isFirst.withLock({ first in
            defer { first = false }; return first
          })
        {
          Thread.detachNewThread {
            usleep(300_000)
            try? announce(go)
          }
        }
        return system.status(name)
      }
      let environment = try Environment.open(path: path, options: options)
      #expect(try environment.get(try environment.keyspace("rows"), "a") == "2")
      // The lock file that it has is the store's.
      try environment.put(try environment.keyspace("rows"), "a", "3")
      environment.close()
    }
    #expect(isThere(file.lockPath))
  }

  // MARK: Turns of several steps

  @Test func oneProcessGoesThroughItsStepsWhileAnotherWaits() async throws {
    let (path, came, asked) = (file.path, directory("came"), directory("asked"))
    let thread = Thread {
      do {
        try StageTurn.take(StoreFile(path, .system), Patience(.seconds(30))) {
          try announce(came)
          try waitFor(asked)
          usleep(100_000)
          try announce(path + ".done")
        }
      } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [path = path as String, came = came as String, asked = asked as String] in
      let file = try StoreFile(path, .system)
      try waitFor(came)
      let error = #expect(throws: StorageError.self) {
        try StageTurn.take(file, Patience(.milliseconds(20))) { Issue.record("both had the turn") }
      }
      #expect(error?.kind == .busy)
      try announce(asked)
      try StageTurn.take(file, Patience(.seconds(300))) {
        #expect(FileManager.default.fileExists(atPath: path + ".done"))
      }
    }
    #expect(!isThere(path + "-stages"))
  }

  @Test func theTurnOfAKilledProcessIsFree() async throws {
    let path = file.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      try StageTurn.take(StoreFile(path, .system), Patience(.seconds(30))) { _ = kill(getpid(), SIGKILL) }
    }
    #expect(isThere(path + "-stages"))
    var isTaken = false
    try StageTurn.take(file, Patience(.zero)) { isTaken = true }
    #expect(isTaken)
    #expect(!isThere(path + "-stages"))
  }

  @Test func whatIsNoFileOfTurnsIsLeftAlone() throws {
    let path = file.path + "-stages"
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
    let error = #expect(throws: StorageError.self) {
      try StageTurn.take(file, Patience(.zero)) { Issue.record("there was a turn") }
    }
    #expect(error?.kind == .aliased)
    #expect(FileManager.default.contents(atPath: path) == Data("mine".utf8))
  }

  @Test func whoHasTheTurnRemovesNobodyElsesFile() throws {
    let path = file.path + "-stages"
    try StageTurn.take(file, Patience(.zero)) {
      try #require(unlink(path) == 0)
      try Data().write(to: URL(fileURLWithPath: path))
    }
    #expect(isThere(path))
  }
}
