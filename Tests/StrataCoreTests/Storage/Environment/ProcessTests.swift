import CLMDBShim
import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What other processes may do to a store. The other process is this test binary again.
@Suite struct ProcessTests {
  /// Another process outgrows the map of this one.
  @Test func growthByAnotherProcessIsAdopted() async throws {
    let directory = try ScratchDirectory()
    let path = directory("A")
    var options = EnvironmentOptions.scratch
    options.mapSize = 1 << 16
    let environment = try Environment.open(path: path, options: options)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    try environment.put(rows, "a", "1")
    _ = try environment.get(rows, "a")
    await #expect(processExitsWith: .success) { [path = path as String] in
      let environment = try Environment.open(path: path, options: .scratch)
      let rows = try environment.keyspace("rows")
      for number in 0..<20 {
        try environment.put(rows, "other \(number)", String(repeating: "x", count: 100_000))
      }
      environment.close()
    }
    #expect(try environment.get(rows, "other 19")?.count == 100_000)
    try environment.put(rows, "b", "2")
    #expect(try environment.read { try $0.entryCount(rows) } == 22)
  }

  #if os(Linux)
    /// Who waited for a lock file that its maker has never finished finds nothing in it, lets it go and comes again, as others do who waited for it.
    @Test(arguments: [0, 8_192]) func aLockFileThatNobodyHasFinishedIsPreparedByWhoComesAlone(size: Int)
      throws
    {
      let directory = try ScratchDirectory()
      let path = directory("A")
      let creator = try Environment.open(path: path, options: .scratch)
      try creator.put(try creator.keyspace("rows"), "a", "1")
      creator.close()
      let descriptor = Foundation.open(path + "-lock", O_RDWR | O_CREAT | O_TRUNC, 0o600)
      #expect(ftruncate(descriptor, off_t(size)) == 0)
      // Another one who waited, and has it with others now: by F_OFD_SETLK, a lock that counts within one process, too.
      @Sendable func set(_ kind: Int32) -> Int32 {
        var range = flock()
        (range.l_type, range.l_whence, range.l_len) = (Int16(kind), Int16(SEEK_SET), 1)
        return fcntl(descriptor, 37, &range)
      }
      #expect(set(F_RDLCK) == 0)
      let looks = Atomic<Int>(0)
      try withExtendedLifetime(directory) {
        var options = EnvironmentOptions.scratch
        options.fileSystem.open = { [open = options.fileSystem.open] name, flags, mode in
          if name == path + "-lock", looks.wrappingAdd(1, ordering: .relaxed).newValue == 3 {
            _ = set(F_UNLCK)
          }
          return open(name, flags, mode)
        }
        let environment = try Environment.open(path: path, options: options)
        #expect(looks.load(ordering: .relaxed) >= 3)
        #expect(try environment.get(try environment.keyspace("rows"), "a") == "1")
        environment.close()
      }
      close(descriptor)
    }
  #endif

  /// The same before a process that only reads has found its keyspaces.
  @Test func growthBetweenOpeningAndFindingKeyspacesIsAdopted() async throws {
    let directory = try ScratchDirectory()
    let path = directory("A")
    let creator = try Environment.open(path: path, options: .scratch)
    try creator.put(try creator.keyspace("rows"), "a", "1")
    creator.close()
    var options = EnvironmentOptions.scratch
    options.create = .never
    options.isReadOnly = true
    options.mapSize = 1 << 16
    let environment = try Environment.open(path: path, options: options)
    defer { environment.close() }
    await #expect(processExitsWith: .success) { [path = path as String] in
      let environment = try Environment.open(path: path, options: .scratch)
      let rows = try environment.keyspace("rows")
      for number in 0..<20 {
        try environment.put(rows, "other \(number)", String(repeating: "x", count: 100_000))
      }
      environment.close()
    }
    let rows = try #require(try environment.keyspaces(["rows"])[0])
    #expect(try environment.get(rows, "other 19")?.count == 100_000)
  }

  /// A reader here opens a keyspace that another process has made, while a transaction that began before is under way and does not know it: the
  /// write is begun again, once, and what the first run did is gone.
  @Test func aWriteThatDoesNotKnowAKeyspaceIsBegunAnew() async throws {
    let directory = try ScratchDirectory()
    let path = directory("A")
    let environment = try Environment.open(path: path, options: .scratch)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    await #expect(processExitsWith: .success) { [path = path as String] in
      let environment = try Environment.open(path: path, options: .scratch)
      try environment.put(try environment.keyspace("later"), "b", "2")
      environment.close()
    }
    let runs = Mutex(0)
    try environment.write { transaction in
      let run = runs.withLock {
        $0 += 1
        return $0
      }
      if run == 1 {
        try transaction.put(rows, "first run", "1")
        let opened = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          _ = try? environment.keyspace("later")
          opened.signal()
        }
        opened.wait()
      }
      let later = try #require(try environment.keyspaces(["later"])[0])
      try transaction.put(later, "a", "1")
    }
    #expect(runs.withLock { $0 } == 2)
    let later = try environment.keyspace("later")
    #expect(try environment.get(later, "a") == "1" && environment.get(later, "b") == "2")
    #expect(try environment.get(rows, "first run") == nil)
  }

  /// Another process keeps the write lock; writers here give up, and succeed when it is free.
  @Test func aWriterInAnotherProcessMeansBusy() async throws {
    let directory = try ScratchDirectory()
    let path = directory("A")
    let environment = try Environment.open(path: path, options: .scratch)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    let locked = directory("locked")
    let tried = directory("tried")
    // On a thread: while exit tests wait for their processes, tasks may get none.
    let outcome = Mutex<Result<[StorageError], any Error>?>(nil)
    let thread = Thread {
      let result = Result {
        try waitFor(locked)
        let first = try storageError {
          try environment.write(deadline: .milliseconds(100)) { try $0.put(rows, "ours", "1") }
        }
        #expect(try environment.get(rows, "theirs") == nil)
        let second = try storageError {
          try environment.write(deadline: .milliseconds(100)) { try $0.put(rows, "ours", "2") }
        }
        return [first, second]
      }
      outcome.withLock { $0 = result }
      do { try announce(tried) } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [path = path as String, locked = locked as String, tried = tried as String] in
      let environment = try Environment.open(path: path, options: .scratch)
      let rows = try environment.keyspace("rows")
      try environment.write { transaction in
        try transaction.put(rows, "theirs", "1")
        try announce(locked)
        try waitFor(tried)
      }
      environment.close()
    }
    let errors = try #require(outcome.withLock { $0 }, "the other process never had the lock").get()
    #expect(errors.map(\.kind) == [.busy, .busy])
    try environment.put(rows, "ours", "3")
    #expect(try environment.get(rows, "theirs") == "1")
    #expect(try environment.get(rows, "ours") == "3")
  }

  /// A killed reader holds pages until its slot is freed, which opening and saving do.
  @Test func slotsOfKilledReadersAreFreed() async throws {
    let directory = try ScratchDirectory()
    let path = directory("A")
    var options = EnvironmentOptions.scratch
    options.readerCheckInterval = 2
    let environment = try Environment.open(path: path, options: options)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    try environment.put(rows, "a", "1")
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let environment = try Environment.open(path: path, options: .scratch)
      let pin = try environment.makeSnapshot()
      withExtendedLifetime(pin) { _ = kill(getpid(), SIGKILL) }
    }
    let before = try environment.statistics().readersInUse
    for number in 0..<4 { try environment.put(rows, "\(number)", "1") }
    #expect(try environment.statistics().readersInUse < before)
  }

  /// A process killed inside a write transaction leaves a lock that the next writer inherits.
  @Test func aWriterKilledInTheMiddleHarmsNothing() async throws {
    let directory = try ScratchDirectory()
    let path = directory("A")
    let environment = try Environment.open(path: path, options: .scratch)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    try environment.put(rows, "a", "1")
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let environment = try Environment.open(path: path, options: .scratch)
      let rows = try environment.keyspace("rows")
      try environment.write { transaction in
        try transaction.put(rows, "a", "2")
        kill(getpid(), SIGKILL)
      }
    }
    #expect(try environment.get(rows, "a") == "1")
    try environment.put(rows, "a", "3")
    #expect(try environment.get(rows, "a") == "3")
  }

  /// A child made by fork is refused, and does its parent no harm.
  @Test func useAfterForkIsRefused() async throws {
    await #expect(processExitsWith: .success) {
      let directory = try ScratchDirectory()
      let environment = try Environment.open(path: directory("A"), options: .scratch)
      let rows = try environment.keyspace("rows")
      try environment.put(rows, "a", "1")
      _ = try environment.get(rows, "a")
      let pin = try environment.makeSnapshot()
      // A reader is parked again: the fast way in must be shut for the child, too.
      _ = try environment.get(rows, "a")
      // Swift hides fork, for good reasons; the child below calls only Storage and _exit.
      let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: (@convention(c) () -> Int32).self)
      let child = fork()
      if child == 0 {
        var failures: Int32 = 0
        func expectForked(_ bit: Int32, _ body: () throws -> Void) {
          do {
            try body()
            failures |= bit
          } catch {
            if (error as? StorageError)?.kind != .forked { failures |= bit }
          }
        }
        expectForked(1) { _ = try environment.get(rows, "a") }
        expectForked(2) { try environment.put(rows, "a", "2") }
        expectForked(4) { _ = try environment.makeSnapshot() }
        expectForked(8) { _ = try pin.read { $0.id } }
        expectForked(16) { _ = try environment.statistics() }
        pin.release()
        environment.close()
        // Opened again it is the child's own. For reading only: writing would start threads, which not every tool likes
        // after fork. Should it hang, it ends all the same.
        alarm(60)
        do {
          var options = EnvironmentOptions.scratch
          options.isReadOnly = true
          let own = try Environment.open(path: directory("A"), options: options)
          if try own.get(own.keyspace("rows"), "a") != "1" { failures |= 32 }
          own.close()
        } catch {
          failures |= 64
        }
        _exit(failures)
      }
      var status: Int32 = 0
      #expect(waitpid(child, &status, 0) == child)
      #expect(status == 0)
      try environment.put(rows, "a", "3")
      #expect(try environment.get(rows, "a") == "3")
      pin.release()
      environment.close()
    }
  }

  /// Programmer's errors stop the process and say why.
  @Test func writingInsideATransactionTraps() async throws {
    await #expect(processExitsWith: .failure) {
      try withEnvironment { environment in
        let rows = try environment.keyspace("rows")
        try environment.read { _ in try environment.put(rows, "a", "1") }
      }
    }
    await #expect(processExitsWith: .failure) {
      try withEnvironment { environment in
        let rows = try environment.keyspace("rows")
        try environment.write { _ in try environment.put(rows, "a", "1") }
      }
    }
    await #expect(processExitsWith: .failure) {
      try withEnvironment { $0.close() }
    }
  }
}

/// Notifies another process that waits for the file at `path`.
func announce(_ path: String) throws { try Data().write(to: URL(fileURLWithPath: path)) }

/// Waits until another process has made the file at `path`, up to an hour: a process that a test starts comes late when all tests run at once on a busy machine.
func waitFor(_ path: String) throws {
  for _ in 0..<360_000 {
    if FileManager.default.fileExists(atPath: path) { return }
    usleep(10_000)
  }
  Issue.record("the other process never came")
}
