import CLMDBShim
import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// The gate, the reader pool, the writer thread, deadlines, reopening.
@Suite struct ConcurrencyTests {
  // MARK: Growth

  @Test func theMapGrowsByItself() throws {
    var options = EnvironmentOptions.scratch
    options.mapSize = 1 << 16
    try withEnvironment(options) { environment in
      let rows = try environment.keyspace("rows")
      let before = try environment.statistics().mapSize
      for number in 0..<20 {
        try environment.write { transaction in
          for part in 0..<50 {
            try transaction.put(rows, "\(number).\(part)", String(repeating: "x", count: 1000))
          }
        }
      }
      #expect(try environment.read { try $0.entryCount(rows) } == 1000)
      #expect(try environment.statistics().mapSize > before)
      try inspect(environment.path)
    }
  }

  @Test func oneValueLargerThanTheMapFits() throws {
    var options = EnvironmentOptions.scratch
    options.mapSize = 1 << 16
    try withEnvironment(options) { environment in
      let rows = try environment.keyspace("rows")
      let value = String(repeating: "x", count: 5_000_000)
      try environment.put(rows, "k", value)
      #expect(try environment.get(rows, "k") == value)
    }
  }

  /// Readers, nested readers, pins and a writer that repeatedly outgrows the map.
  @Test func growthUnderReadersLosesNothing() throws {
    var options = EnvironmentOptions.scratch
    options.mapSize = 1 << 16
    try withEnvironment(options) { environment in
      let rows = try environment.keyspace("rows")
      try environment.put(rows, "0", "0")
      let isDone = Atomic(false)
      let commits = 60
      DispatchQueue.concurrentPerform(iterations: 5) { worker in
        do {
          if worker == 0 {
            defer { isDone.store(true, ordering: .relaxed) }
            for number in 1...commits {
              try environment.put(rows, "\(number)", String(repeating: "x", count: 40_000))
            }
          } else if worker == 1 {
            while !isDone.load(ordering: .relaxed) {
              let pin = try environment.makeSnapshot()
              let first = try pin.read { try $0.entryCount(rows) }
              let again = try environment.read { _ in try pin.read { try $0.entryCount(rows) } }
              #expect(first == again)
              pin.release()
            }
          } else {
            while !isDone.load(ordering: .relaxed) {
              try environment.read { outer in
                let count = try outer.entryCount(rows)
                let inner = try environment.read { try $0.entryCount(rows) }
                #expect(inner >= count)
                let text = try outer.get(rows, "\(count - 1)")
                #expect(text?.isEmpty == false)
              }
            }
          }
        } catch {
          Issue.record(error)
        }
      }
      #expect(try environment.read { try $0.entryCount(rows) } == commits + 1)
      try inspect(environment.path)
    }
  }

  /// Growth waits for a running read, which may read again meanwhile; others wait until the map has grown.
  @Test func aReadMayReadAgainWhileTheGateIsShut() throws {
    var options = EnvironmentOptions.scratch
    options.mapSize = 1 << 16
    try withEnvironment(options) { environment in
      let rows = try environment.keyspace("rows")
      try environment.put(rows, "a", "1")
      let pin = try environment.makeSnapshot()
      let isGrown = DispatchSemaphore(value: 0)
      let other = Mutex<Int?>(nil)
      let isOtherDone = DispatchSemaphore(value: 0)
      try environment.read { transaction in
        environment.submitWrite {
          try $0.put(rows, "b", String(repeating: "x", count: 1 << 20))
        } completion: {
          if case .failure(let error) = $0 { Issue.record(error) }
          isGrown.signal()
        }
        while !environment.pool.isShut { usleep(100) }
        SystemThread.startForTest {
          let count = try? environment.read { try $0.entryCount(rows) }
          other.withLock { $0 = count }
          isOtherDone.signal()
        }
        let again = try environment.get(rows, "a")
        #expect(again == "1")
        let pinned = try pin.read { try $0.entryCount(rows) }
        #expect(pinned == 1)
        let outer = try transaction.entryCount(rows)
        #expect(outer == 1)
        #expect(other.withLock { $0 } == nil)
      }
      isGrown.wait()
      isOtherDone.wait()
      #expect(other.withLock { $0 } != nil)
      #expect(try environment.get(rows, "b")?.count == 1 << 20)
    }
  }

  @Test func aSnapshotOutlivesGrowth() throws {
    var options = EnvironmentOptions.scratch
    options.mapSize = 1 << 16
    try withEnvironment(options) { environment in
      let rows = try environment.keyspace("rows")
      try environment.put(rows, "a", "old")
      let pin = try environment.makeSnapshot()
      try environment.put(rows, "a", String(repeating: "new", count: 300_000))
      let value = try pin.read { try $0.get(rows, "a") }
      #expect(value == "old")
      #expect(pin.age >= .zero)
      #expect(try environment.read { $0.id } > pin.transactionID)
      pin.release()
      pin.release()
      #expect(try storageError { _ = try pin.read { try $0.get(rows, "a") } }.kind == .closed)
    }
  }

  /// LMDB's transaction behind a pin is one thread's at a time.
  @Test func readersOfOneSnapshotTakeTurns() throws {
    try withEnvironment { environment in
      let pin = try environment.makeSnapshot()
      defer { pin.release() }
      let isInside = Atomic(false)
      let started = DispatchSemaphore(value: 0)
      let ended = DispatchSemaphore(value: 0)
      try pin.read { _ in
        Thread {
          started.signal()
          do { try pin.read { _ in isInside.store(true, ordering: .relaxed) } } catch { Issue.record(error) }
          ended.signal()
        }.start()
        started.wait()
        usleep(50_000)
        let came = isInside.load(ordering: .relaxed)
        #expect(!came)
      }
      ended.wait()
      let came = isInside.load(ordering: .relaxed)
      #expect(came)
    }
  }

  /// Who releases a snapshot waits no longer than others; what was released then goes with the next write.
  @Test func aSnapshotReleasedAtAShutGateEndsWithTheNextWrite() throws {
    var options = EnvironmentOptions.scratch
    options.writerDeadline = .seconds(1)
    try withEnvironment(options) { environment in
      let rows = try environment.keyspace("rows")
      try environment.put(rows, "a", "1")
      let pin = try environment.makeSnapshot()
      let isReleased = DispatchSemaphore(value: 0)
      try environment.pool.exclusively(until: .now.advanced(by: .seconds(30))) { mapped in
        SystemThread.startForTest {
          pin.release()
          isReleased.signal()
        }
        isReleased.wait()
        return try .success(#require(mapped))
      }
      try environment.put(rows, "a", "2")
      #expect(environment.lock.withLock { environment.pins.isEmpty })
      #expect(try storageError { _ = try pin.read { try $0.get(rows, "a") } }.kind == .closed)
    }
  }

  @Test func aSnapshotEndsWithItsEnvironment() throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"), options: .scratch)
    let pin = try environment.makeSnapshot()
    environment.close()
    #expect(try storageError { _ = try pin.read { $0.id } }.kind == .closed)
    pin.release()
  }

  // MARK: Readers

  @Test func readersAreParkedAndFew() throws {
    try withEnvironment { environment in
      for _ in 0..<1000 { _ = try environment.read { $0.id } }
      // The parked one and that of `statistics` itself.
      #expect(try environment.statistics().readersInUse <= 2)
    }
  }

  @Test func moreReadersThanSlotsTakeTurns() throws {
    var options = EnvironmentOptions.scratch
    options.maxReaders = 4
    try withEnvironment(options) { environment in
      let rows = try environment.keyspace("rows")
      try environment.put(rows, "a", "1")
      let reads = Atomic(0)
      // Concurrent readers never outnumber the threads that dispatch gives us, so hold slots ourselves, too.
      let pins = try (0..<3).map { _ in try environment.makeSnapshot() }
      DispatchQueue.concurrentPerform(iterations: 16) { _ in
        do {
          for _ in 0..<20 where try environment.get(rows, "a") == "1" { reads.add(1, ordering: .relaxed) }
        } catch {
          Issue.record(error)
        }
      }
      #expect(reads.load(ordering: .relaxed) == 320)
      for pin in pins { pin.release() }
    }
  }

  @Test func fullReaderTableIsAClearError() throws {
    var options = EnvironmentOptions.scratch
    options.maxReaders = 2
    try withEnvironment(options) { environment in
      let pins = try (0..<2).map { _ in try environment.makeSnapshot() }
      #expect(try storageError { _ = try environment.read { $0.id } }.kind == .readersFull)
      for pin in pins { pin.release() }
      #expect(try environment.read { $0.id } >= 0)
    }
  }

  // MARK: The writer

  @Test func completionsComeInCommitOrder() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let order = Mutex<[Int]>([])
      let done = DispatchSemaphore(value: 0)
      for number in 0..<200 {
        environment.submitWrite { transaction in
          try transaction.put(rows, "\(number)", "x")
          return transaction.read.id
        } completion: { result in
          order.withLock { $0.append((try? result.get()) ?? -1) }
          if number == 199 { done.signal() }
        }
      }
      done.wait()
      let ids = order.withLock { $0 }
      #expect(ids.count == 200)
      #expect(ids == ids.sorted())
    }
  }

  @Test func closeServesTheQueueFirst() throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"), options: .scratch)
    let rows = try environment.keyspace("rows")
    let successes = Atomic(0)
    for number in 0..<100 {
      environment.submitWrite {
        try $0.put(rows, "\(number)", "x")
      } completion: { result in
        if case .success = result { successes.add(1, ordering: .relaxed) }
      }
    }
    environment.close()
    #expect(successes.load(ordering: .relaxed) == 100)
    let again = try Environment.open(path: directory("A"), options: .scratch)
    defer { again.close() }
    let reopened = try again.keyspace("rows")
    #expect(try again.read { try $0.entryCount(reopened) } == 100)
  }

  @Test func theLastCloseMayComeFromACompletion() throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"), options: .scratch)
    let closed = DispatchSemaphore(value: 0)
    environment.submitWrite { _ in
    } completion: { _ in
      environment.close()
      closed.signal()
    }
    closed.wait()
    // Opening waits until the writer thread has finished closing, or takes over what is just being closed.
    let again = try Environment.open(path: directory("A"), options: .scratch)
    let rows = try again.keyspace("rows")
    try again.put(rows, "a", "1")
    #expect(try again.get(rows, "a") == "1")
    again.close()
  }

  @Test func waitingWritesEndAsBusy() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      let isInside = DispatchSemaphore(value: 0)
      let release = DispatchSemaphore(value: 0)
      let first = DispatchSemaphore(value: 0)
      environment.submitWrite { transaction in
        isInside.signal()
        release.wait()
        try transaction.put(rows, "first", "1")
      } completion: { _ in
        first.signal()
      }
      isInside.wait()
      let error = try storageError {
        try environment.write(deadline: .milliseconds(50)) { try $0.put(rows, "second", "1") }
      }
      #expect(error.kind == .busy)
      release.signal()
      first.wait()
      #expect(try environment.get(rows, "first") == "1")
      #expect(try environment.get(rows, "second") == nil)
      try environment.put(rows, "third", "1")
    }
  }

  // MARK: A failed anchor write

  /// Makes LMDB's write of the anchor fail as a broken disk would: through its own descriptor.
  @Test func afterAFailedAnchorTheStoreIsOpenedAgain() throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"))
    defer { environment.close() }
    let spaces = try environment.keyspaces(["rows", "more"]).compactMap(\.self)
    let rows = spaces[0]
    try environment.put(rows, "a", "1")
    let pin = try environment.makeSnapshot()
    let anchor = try #require(
      openDescriptors(of: environment.path).first { fcntl($0, F_GETFL) & O_DSYNC != 0 })
    let full = open("/dev/full", O_WRONLY)
    #expect(dup2(full, anchor) >= 0)
    close(full)
    let error = try storageError { try environment.put(rows, "a", "2") }
    #expect(error.kind == .diskFull)
    // LMDB took the anchor back, and the commit numbers show it.
    #expect(!error.isOutcomeUnknown)
    #expect(try environment.get(rows, "a") == "1")
    #expect(try storageError { _ = try pin.read { $0.id } }.kind == .closed)
    try environment.put(spaces[1], "b", "3")
    #expect(try environment.get(spaces[1], "b") == "3")
    #expect(try environment.keyspaces(["rows", "more"]).compactMap(\.self) == spaces)
  }

  // MARK: Reads that never wait

  @Test func readsFromManyThreads() throws {
    try withEnvironment { environment in
      let rows = try environment.keyspace("rows")
      for number in 0..<100 { try environment.put(rows, "\(number)", "\(number)") }
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        do {
          for round in 0..<2000 {
            let key = "\(round % 100)"
            let value = try environment.get(rows, key)
            if value != key { Issue.record("\(key) reads \(value ?? "nil")") }
          }
        } catch {
          Issue.record(error)
        }
      }
    }
  }
}

extension SystemThread {
  /// Starts a thread; a test that cannot have one fails.
  fileprivate static func startForTest(_ body: @escaping @Sendable () -> Void) {
    do { try start("test", body) } catch { Issue.record(error) }
  }
}
