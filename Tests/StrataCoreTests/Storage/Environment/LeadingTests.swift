import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// Decisions/0027: a thread writes by itself when no other thread writes or waits; otherwise it joins the queue.
@Suite struct LeadingTests {
  /// Where a write ran, and how it ended.
  private final class Record: Sendable {
    let thread = Mutex<SystemThread.Number?>(nil)
    let result = Mutex<Result<Void, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)

    var isHere: Bool { thread.withLock { $0 } == SystemThread.current }
    var isDone: Bool { result.withLock { $0 != nil } }
    var error: StorageError? {
      guard case .failure(let error) = result.withLock({ $0 }) else { return nil }
      return error as? StorageError
    }
  }

  /// Writes a value and notes it in the record.
  private func write(
    _ environment: Environment, _ rows: Keyspace, _ key: String, _ value: String = "x",
    deadline: Duration? = nil, meanwhile: @escaping @Sendable () -> Void = {}
  ) -> Record {
    let record = Record()
    environment.submitWrite(deadline: deadline, here: true) { transaction in
      record.thread.withLock { $0 = SystemThread.current }
      try transaction.put(rows, key, value)
      meanwhile()
    } completion: { result in
      record.result.withLock { $0 = result }
      record.done.signal()
    }
    return record
  }

  @Test func aThreadWritesByItselfWhenNobodyElseDoes() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      for number in 0..<100 {
        let record = write(environment, rows, "\(number)")
        #expect(record.isDone && record.isHere)
      }
      #expect(try environment.read { try $0.entryCount(rows) } == 100)
      // The writer thread and this one take turns.
      try environment.put(rows, "other", "x")
      #expect(write(environment, rows, "own").isHere)
    }
  }

  @Test(.timeLimit(.minutes(20))) func besideAnotherWriteItQueuesUp() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let isInside = DispatchSemaphore(value: 0)
      let release = DispatchSemaphore(value: 0)
      let order = Mutex<[String]>([])
      environment.submitWrite { _ in
        isInside.signal()
        release.wait()
      } completion: { _ in
        order.withLock { $0.append("first") }
      }
      isInside.wait()
      let records = (0..<3).map { number in
        write(environment, rows, "\(number)") { order.withLock { $0.append("\(number)") } }
      }
      #expect(records.allSatisfy { !$0.isDone })
      release.signal()
      for record in records { record.done.wait() }
      #expect(records.allSatisfy { !$0.isHere && $0.error == nil })
      #expect(order.withLock { $0 } == ["first", "0", "1", "2"])
    }
  }

  /// What comes while a thread writes by itself is served when it is done, in its order.
  @Test(.timeLimit(.minutes(20))) func behindAThreadThatWritesByItselfOthersQueueUp() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let others = Mutex<[Record]>([])
      let first = write(environment, rows, "first") {
        let added = (0..<3).map { self.write(environment, rows, "\($0)") }
        others.withLock { $0 = added }
        #expect(added.allSatisfy { !$0.isDone })
      }
      #expect(first.isDone && first.isHere)
      for record in others.withLock({ $0 }) { record.done.wait() }
      #expect(others.withLock { $0 }.allSatisfy { !$0.isHere && $0.error == nil })
      #expect(try environment.read { try $0.entryCount(rows) } == 4)
    }
  }

  @Test(.timeLimit(.minutes(20))) func aWaitBehindAThreadThatWritesByItselfEndsAsBusy() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      _ = write(environment, rows, "first") {
        let late = self.write(environment, rows, "late", deadline: .milliseconds(50))
        late.done.wait()
        #expect(late.error?.kind == .busy)
      }
      #expect(try environment.get(rows, "late") == nil)
      #expect(write(environment, rows, "next").isHere)
    }
  }

  /// A thread inside a read must not replace the map, nor wait for itself.
  @Test(.timeLimit(.minutes(20))) func insideAReadItIsLeftToTheWriterThread() throws {
    var options = EnvironmentOptions.scratch
    options.mapSize = 1 << 16
    try withEnvironment(options) { environment in
      let rows = try environment.keyspace("rows")
      let record = try environment.read { _ in
        write(environment, rows, "large", String(repeating: "x", count: 1 << 20))
      }
      record.done.wait()
      #expect(!record.isHere && record.error == nil)
      #expect(try environment.get(rows, "large")?.count == 1 << 20)
    }
  }

  @Test(.timeLimit(.minutes(20))) func theMapGrowsForIt() throws {
    var options = EnvironmentOptions.scratch
    options.mapSize = 1 << 16
    try withEnvironment(options) { environment in
      let rows = try environment.keyspace("rows")
      for number in 0..<20 {
        let record = write(environment, rows, "\(number)", String(repeating: "x", count: 40_000))
        record.done.wait()
        #expect(record.error == nil)
      }
      #expect(try environment.read { try $0.entryCount(rows) } == 20)
      try inspect(environment.path)
    }
  }

  @Test func whatItThrowsIsToldAndLeavesNothing() throws {
    struct Refused: Error {}
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let error = Mutex<(any Error)?>(nil)
      environment.submitWrite(here: true) { transaction in
        try transaction.put(rows, "a", "1")
        throw Refused()
      } completion: { result in
        if case .failure(let failure) = result { error.withLock { $0 = failure } }
      }
      #expect(error.withLock { $0 } is Refused)
      #expect(try environment.get(rows, "a") == nil)
      #expect(write(environment, rows, "b").isHere)
    }
  }

  @Test(.timeLimit(.minutes(20))) func closingWaitsForAThreadThatWritesByItself() throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"), options: .scratch)
    // Only here: no writer thread has been started before.
    let rows = try environment.keyspace("rows")
    let isInside = DispatchSemaphore(value: 0)
    let isClosing = DispatchSemaphore(value: 0)
    let written = DispatchSemaphore(value: 0)
    let ended = Mutex<[String]>([])
    Thread {
      let record = write(environment, rows, "a") {
        isInside.signal()
        isClosing.wait()
        while environment.queue.isOpen { sched_yield() }
        ended.withLock { $0.append("written") }
      }
      #expect(record.isDone && record.error == nil)
      written.signal()
    }.start()
    isInside.wait()
    isClosing.signal()
    environment.close()
    ended.withLock { $0.append("closed") }
    written.wait()
    #expect(ended.withLock { $0 } == ["written", "closed"])
    let again = try Environment.open(path: directory("A"), options: .scratch)
    defer { again.close() }
    #expect(try again.get(try again.keyspace("rows"), "a") == "x")
  }

  @Test func theLastCloseMayComeFromItsCompletion() throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"), options: .scratch)
    environment.submitWrite(here: true) { _ in
    } completion: { _ in
      environment.close()
    }
    let again = try Environment.open(path: directory("A"), options: .scratch)
    let rows = try again.keyspace("rows")
    #expect(write(again, rows, "a").error == nil)
    again.close()
    #expect(write(again, rows, "b").error?.kind == .closed)
  }

  /// Threads that write by themselves, others that queue up, reads, and a map that grows.
  @Test(.timeLimit(.minutes(20))) func allKindsOfWritesTakeTurns() throws {
    var options = EnvironmentOptions.scratch
    options.mapSize = 1 << 16
    try withEnvironment(options) { environment in
      let rows = try environment.keyspace("rows")
      let (threads, writes) = (8, 150)
      let done = DispatchSemaphore(value: 0)
      for thread in 0..<threads {
        Thread {
          for number in 0..<writes {
            let key = "\(thread).\(number)"
            if thread % 2 == 0 {
              let record = self.write(environment, rows, key, String(repeating: "x", count: 300))
              record.done.wait()
              #expect(record.error == nil)
            } else {
              do { try environment.put(rows, key, "x") } catch { Issue.record(error) }
            }
            #expect((try? environment.get(rows, key)) != nil)
          }
          done.signal()
        }.start()
      }
      for _ in 0..<threads { done.wait() }
      #expect(try environment.read { try $0.entryCount(rows) } == threads * writes)
      try inspect(environment.path)
    }
  }

  // MARK: Other processes

  /// A thread must not get into LMDB's own wait, which nothing ends.
  @Test func besideAnotherProcessItEndsAsBusy() async throws {
    let directory = try ScratchDirectory()
    let path = directory("A")
    let environment = try Environment.open(path: path, options: .scratch)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    let (locked, tried) = (directory("locked"), directory("tried"))
    // On a thread: while exit tests wait for their processes, tasks may get none.
    let outcome = Mutex<Result<[StorageError.Kind?], any Error>?>(nil)
    let thread = Thread {
      let result = Result {
        try waitFor(locked)
        return (0..<2).map { number in
          let record = self.write(environment, rows, "ours \(number)", deadline: .milliseconds(100))
          record.done.wait()
          return record.error?.kind
        }
      }
      outcome.withLock { $0 = result }
      do { try announce(tried) } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [path = path as String, locked = locked as String, tried = tried as String] in
      let environment = try Environment.open(path: path, options: .scratch)
      let rows = try environment.keyspace("rows")
      let failure = Mutex<(any Error)?>(nil)
      // It writes by itself, too.
      environment.submitWrite(here: true) { transaction in
        try transaction.put(rows, "theirs", "1")
        try announce(locked)
        try waitFor(tried)
      } completion: { result in
        if case .failure(let error) = result { failure.withLock { $0 = error } }
      }
      if let error = failure.withLock({ $0 }) { throw error }
      environment.close()
    }
    let kinds = try #require(outcome.withLock { $0 }, "the other process never had the lock").get()
    #expect(kinds == [.busy, .busy])
    let record = write(environment, rows, "ours")
    record.done.wait()
    #expect(record.error == nil)
    #expect(try environment.get(rows, "theirs") == "1")
  }

  /// The turn ends with a process that is killed while it writes.
  @Test func aKilledProcessLeavesTheTurn() async throws {
    let directory = try ScratchDirectory()
    let path = directory("A")
    let environment = try Environment.open(path: path, options: .scratch)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let environment = try Environment.open(path: path, options: .scratch)
      let rows = try environment.keyspace("rows")
      environment.submitWrite(here: true) { transaction in
        try transaction.put(rows, "a", "2")
        kill(getpid(), SIGKILL)
      } completion: { _ in
      }
    }
    #expect(try environment.get(rows, "a") == nil)
    let record = write(environment, rows, "a")
    #expect(record.isDone && record.isHere && record.error == nil)
  }

  /// A file at its size limit raises a signal that ends the process, unless its thread blocks it.
  @Test func aFileAtItsSizeLimitIsAFullDisk() async throws {
    await #expect(processExitsWith: .success) {
      try withEnvironment { environment in
        let rows = try environment.keyspace("rows")
        try environment.put(rows, "a", "1")
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        limit.rlim_cur = rlim_t(try environment.statistics().fileSize + 20_000)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        let record = LeadingTests().write(environment, rows, "b", String(repeating: "x", count: 100_000))
        record.done.wait()
        #expect(record.error?.kind == .diskFull)
        #expect(try environment.get(rows, "a") == "1")
      }
    }
  }

  /// A child made by fork would keep the turn of a parent that is killed.
  @Test func aChildMadeByForkDoesNotHoldTheTurn() async throws {
    await #expect(processExitsWith: .success) {
      try withEnvironment { environment in
        let rows = try environment.keyspace("rows")
        #expect(LeadingTests().write(environment, rows, "a").isHere)
        let before = openDescriptors(of: environment.path)
        // Swift hides fork, for good reasons; the child below calls only fcntl and _exit.
        let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: (@convention(c) () -> Int32).self)
        let child = fork()
        if child == 0 {
          var count: Int32 = 0
          for descriptor in before where fcntl(descriptor, F_GETFD) >= 0 { count += 1 }
          _exit(count)
        }
        var status: Int32 = 0
        #expect(waitpid(child, &status, 0) == child)
        #expect(before.count == 3 && status >> 8 == 2, "LMDB's two are open, the third is closed")
        #expect(LeadingTests().write(environment, rows, "b").isHere)
      }
    }
  }

  @Test func nobodyGoesPastAProcessThatWaitsForEver() throws {
    try withEnvironment { environment in
      let turn = FileTurn(environment.file, environment.identity, isNeeded: true)
      defer { turn.close() }
      let file = environment.file
      let other = file.system.open(file.path, O_RDWR | O_CLOEXEC, 0)
      defer { _ = file.system.close(other) }
      #expect(file.system.lockByte(other, FileTurn.waiting, false) == 0)
      var count = 0
      while turn.tryTake(), count < 100 {
        turn.leave()
        count += 1
      }
      #expect(count < FileTurn.mostTurnsInARow)
      #expect(!turn.tryTake())
      #expect(file.system.unlockByte(other, FileTurn.waiting) == 0)
      #expect(turn.tryTake())
      #expect(file.system.lockByte(other, FileTurn.writing, false) == -EAGAIN)
      turn.leave()
      #expect(file.system.lockByte(other, FileTurn.writing, false) == 0)
      #expect(!turn.tryTake())
    }
  }

  /// Where there is no descriptor to spare, or no such lock, the writer thread writes, as it always could.
  @Test(.timeLimit(.minutes(20))) func withoutALockTheWriterThreadWrites() throws {
    for isUnsupported in [false, true] {
      var options = EnvironmentOptions.scratch
      let failure = Flag()
      if isUnsupported {
        options.fileSystem.lockByte = { _, _, _ in -EINVAL }
      } else {
        let open = options.fileSystem.open
        // The file is opened once to be looked at, then for the turn.
        options.fileSystem.open = { path, flags, mode in
          if failure.isSet { return -EMFILE }
          if path.hasSuffix(".strata") { failure.set() }
          return open(path, flags, mode)
        }
      }
      try withEnvironment(options) { environment in
        #expect(isUnsupported || failure.isSet)
        let rows = try environment.keyspace("rows")
        let record = write(environment, rows, "a")
        record.done.wait()
        #expect(record.error == nil && !record.isHere)
        #expect(try environment.get(rows, "a") == "x")
      }
    }
  }
}

/// Set once.
private final class Flag: Sendable {
  private let value = Atomic(false)
  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}
