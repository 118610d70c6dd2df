import CLMDBShim
import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// Flushes that fail, logs that are removed, readers that leave no room: nothing that was acknowledged depends on what the medium does not have.
struct LogFailureTests {
  private let store: LoggedStore

  init() throws { store = try LoggedStore() }

  /// Runs `body` while LMDB's flushes of the data file fail: its descriptor leads elsewhere.
  private func whileFlushesFail(_ environment: Environment, _ body: () throws -> Void) throws {
    let (slot, handle) = try environment.claimSection()
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(handle, &data)
    environment.pool.leave(slot)
    let kept = fcntl(data, F_DUPFD_CLOEXEC, 0)
    // One that leads to a name and not to bytes (O_PATH).
    let place = open("/", 0x20_0000 | O_CLOEXEC)
    try #require(kept >= 0 && place >= 0 && dup2(place, data) >= 0)
    defer {
      dup2(kept, data)
      _ = fcntl(data, F_SETFD, FD_CLOEXEC)
      for descriptor in [place, kept] { close(descriptor) }
    }
    try body()
  }

  // MARK: The data file is not flushed

  /// The system calls the pages clean, and the next flush succeeds.
  @Test(arguments: Durability.allCases)
  func aStoreThatIsClosedAfterAFailedFlushKeepsItsLog(durability: Durability) throws {
    let (environment, _) = try store.openFilled(LoggedStore.options(durability))
    try whileFlushesFail(environment) { #expect(throws: StorageError.self) { try environment.flush() } }
    environment.close()
    #expect(store.hasLog)
    #expect(try store.image().head.flags.contains(.suspect))
    try KilledStoreTests.tear(store.image()).put(store)
    let again = try store.open()
    defer { again.close() }
    #expect(try again.get(try again.keyspace("rows"), "a") == "3")
    #expect(!store.hasLog)
  }

  /// The log's medium has failed, too: only this process knows that the store must be recovered.
  @Test func whatCouldNotBeNotedInTheLogIsNotForgotten() throws {
    let fails = Atomic<Bool>(false)
    let isUsedElsewhere = Atomic<Bool>(false)
    try withExtendedLifetime(store) {
      var options = LoggedStore.options()
      let system = options.fileSystem
      // What is to succeed has to get through on a busy machine; each refusal takes as long.
      options.writerDeadline = .seconds(3)
      options.fileSystem.write = { descriptor, bytes, offset in
        fails.load(ordering: .relaxed) ? -Int(EIO) : system.write(descriptor, bytes, offset)
      }
      options.fileSystem.holderOfFirstByte = { descriptor in
        isUsedElsewhere.load(ordering: .relaxed) ? .success(4_711) : system.holderOfFirstByte(descriptor)
      }
      let (environment, rows) = try store.openFilled(options)
      fails.store(true, ordering: .relaxed)
      try whileFlushesFail(environment) { #expect(throws: StorageError.self) { try environment.flush() } }
      fails.store(false, ordering: .relaxed)
      #expect(try !store.image().head.flags.contains(.suspect))
      isUsedElsewhere.store(true, ordering: .relaxed)
      for _ in 0..<2 {
        #expect(try storageError { try environment.put(rows, "a", "4") }.kind == .busy)
      }
      isUsedElsewhere.store(false, ordering: .relaxed)
      try environment.put(rows, "a", "5")
      #expect(try environment.get(rows, "a") == "5")
      environment.close()
      #expect(!store.hasLog)
    }
  }

  /// Its flush may fail without harm: no page of an earlier commit depends on it.
  @Test(arguments: [Durability.full, .relaxed])
  func aLargeCommitIsMadeBehindACheckpoint(durability: Durability) throws {
    let (environment, rows) = try store.openFilled(LoggedStore.options(durability))
    defer { environment.close() }
    for round in 0..<2 {
      try environment.put(rows, "large", String(repeating: "x", count: 1_200_000))
      let last = UInt64(try environment.statistics().transactionID)
      #expect(try store.image().head.checkpoint == last - 1)
      #expect(try environment.logState()?.recordCount == 1)
      try environment.put(rows, "a", "\(round)")
    }
  }

  // MARK: What is not known

  /// Fails once for the log's name.
  private final class FailingStatus: Sendable {
    let isArmed = Atomic<Bool>(false)

    func watch(_ path: String, _ system: FileSystem) -> FileSystem {
      var system = system
      system.status = { [status = system.status] name in
        name == path && self.isArmed.exchange(false, ordering: .relaxed)
          ? .failure(.init(number: EIO)) : status(name)
      }
      return system
    }
  }

  @Test func aFlushThatCannotFindOutWhetherThereIsALogFails() throws {
    let failing = FailingStatus()
    var options = LoggedStore.options(.relaxed)
    options.fileSystem = failing.watch(store.logPath, options.fileSystem)
    let (environment, _) = try store.openFilled(options)
    defer { environment.close() }
    failing.isArmed.store(true, ordering: .relaxed)
    #expect(try storageError { try environment.flush() }.kind == .io)
    try environment.flush()
    #expect(try environment.logState()?.recordCount == 0)
  }

  /// Its commit would have no record, and could overwrite pages of the checkpoint.
  @Test func aWriteThatCannotFindOutWhetherThereIsALogFails() async throws {
    let (path, written, tried) = (store.path, store.directory("written"), store.directory("tried"))
    let failing = FailingStatus()
    var options = EnvironmentOptions()
    options.mapSize = 1 << 24
    options.fileSystem = failing.watch(store.logPath, options.fileSystem)
    let environment = try store.open(options)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    let thread = Thread {
      // Else the other process would wait.
      defer { try? announce(tried) }
      do {
        try waitFor(written)
        failing.isArmed.store(true, ordering: .relaxed)
        #expect(try storageError { try environment.put(rows, "a", "lost") }.kind == .io)
        try environment.put(rows, "b", "4")
      } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [path = path as String, written = written as String, tried = tried as String] in
      let environment = try Environment.open(path: path, options: LoggedStore.options())
      let rows = try environment.keyspace("rows")
      for number in 1...3 { try environment.put(rows, "a", "\(number)") }
      try announce(written)
      try waitFor(tried)
      environment.close()
    }
    #expect(try environment.get(rows, "a") == "3")
    #expect(try store.valueAfterPowerCut("b") == "4")
  }

  /// An error does not mean that this process is alone: the log stays, and an opening goes no further.
  @Test func whoCannotFindOutWhetherItIsAloneTakesNothingBack() throws {
    let fails = Atomic<Bool>(false)
    try withExtendedLifetime(store) {
      var options = LoggedStore.options()
      let system = options.fileSystem
      options.fileSystem.holderOfFirstByte = { descriptor in
        fails.load(ordering: .relaxed)
          ? .failure(.init(number: ENOLCK)) : system.holderOfFirstByte(descriptor)
      }
      let (environment, _) = try store.openFilled(options)
      fails.store(true, ordering: .relaxed)
      #expect(!environment.isAlone)
      #expect(try storageError { try environment.requireSoleUse() }.code == ENOLCK)
      environment.close()
      #expect(store.hasLog)
      let image = try store.image()
      #expect(try storageError { _ = try store.open(options) }.code == ENOLCK)
      #expect(try store.image() == image)
      fails.store(false, ordering: .relaxed)
      let again = try store.open(options)
      #expect(try again.get(try again.keyspace("rows"), "a") == "3")
      again.close()
      #expect(!store.hasLog)
    }
  }

  // MARK: The mark outlives its log

  /// Whoever has emptied the log may be killed, or fail, before it has removed the mark. The next log is made over the old one, and that may be cut off, too:
  /// at no moment does the store ask for a log that is gone.
  @Test func aLogThatIsMadeOverAnOldOneNeverLeavesAMarkAlone() throws {
    let fails = Atomic<Bool>(false)
    let removals = Atomic<Int>(0)
    let store = store
    try withExtendedLifetime(store) {
      var options = LoggedStore.options()
      let system = options.fileSystem
      options.fileSystem.write = { descriptor, bytes, offset in
        fails.load(ordering: .relaxed) && offset == LogMark.offset
          ? -Int(EIO) : system.write(descriptor, bytes, offset)
      }
      let (environment, _) = try store.openFilled(options)
      fails.store(true, ordering: .relaxed)
      environment.close()
      #expect(store.hasLog)
      #expect(try store.image().head.state == .empty)
      options = LoggedStore.options()
      options.fileSystem.unlink = { path in
        let code = system.unlink(path)
        if path == store.logPath {
          removals.add(1, ordering: .relaxed)
          do {
            // What another process would find, had this one been killed here.
            let mark = try fileBytes(store.path)[LogMark.offset..<LogMark.offset + LogMark.size]
            #expect(mark.allSatisfy { $0 == 0 })
          } catch { Issue.record(error) }
        }
        return code
      }
      let again = try store.open(options)
      let rows = try again.keyspace("rows")
      for number in 4...6 { try again.put(rows, "b", "\(number)") }
      #expect(removals.load(ordering: .relaxed) > 0)
      again.close()
    }
  }

  // MARK: The log is removed by name

  @Test(arguments: [Durability.full, .relaxed])
  func aLogThatIsRemovedWhileItIsUsedIsMadeAnew(durability: Durability) throws {
    let (environment, rows) = try store.openFilled(LoggedStore.options(durability))
    unlink(store.logPath)
    try environment.put(rows, "a", "4")
    #expect(store.hasLog)
    #expect(try store.valueAfterPowerCut() == "4")
    try environment.put(rows, "a", "5")
    #expect(try store.valueAfterPowerCut() == "5")
    environment.close()
    #expect(!store.hasLog)
    let mark = try fileBytes(store.path)[LogMark.offset..<LogMark.offset + LogMark.size]
    #expect(mark.allSatisfy { $0 == 0 })
  }

  @Test func aLogThatIsRemovedBeforeTheStoreIsClosedIsNotMissed() throws {
    let (environment, _) = try store.openFilled()
    unlink(store.logPath)
    environment.close()
    let mark = try fileBytes(store.path)[LogMark.offset..<LogMark.offset + LogMark.size]
    #expect(mark.allSatisfy { $0 == 0 } && !store.hasLog)
    let again = try store.open()
    defer { again.close() }
    #expect(try again.get(try again.keyspace("rows"), "a") == "3")
  }

  /// Another file has the name now.
  @Test func aLogWhoseNameIsGivenToAnotherFileIsMadeAnew() throws {
    let (environment, rows) = try store.openFilled()
    let other = try LoggedStore()
    let stranger = try other.open()
    let otherRows = try stranger.keyspace("rows")
    for number in 1...3 { try stranger.put(otherRows, "a", "other \(number)") }
    let log = try #require(try other.image().log)
    stranger.close()
    unlink(store.logPath)
    try Data(log).write(to: URL(fileURLWithPath: store.logPath))
    try environment.put(rows, "a", "4")
    #expect(try store.valueAfterPowerCut() == "4")
    environment.close()
    #expect(!store.hasLog)
  }

  /// The process that notices it last finds the log that the other one has made.
  @Test func aLogThatIsRemovedIsMadeAnewForAllProcesses() async throws {
    let (path, written, removed) = (store.path, store.directory("written"), store.directory("removed"))
    let (again, done) = (store.directory("again"), store.directory("done"))
    let environment = try store.open()
    let rows = try environment.keyspace("rows")
    try environment.put(rows, "c", "0")
    let this = self
    let thread = Thread {
      defer { for name in [removed, done] { try? announce(name) } }
      do {
        try waitFor(written)
        try environment.put(rows, "c", "1")
        unlink(this.store.logPath)
        try environment.put(rows, "c", "2")
        try announce(removed)
        try waitFor(again)
        #expect(try this.store.valueAfterPowerCut("a") == "4")
        try environment.put(rows, "c", "3")
        #expect(try this.store.valueAfterPowerCut("c") == "3")
        #expect(try this.store.valueAfterPowerCut("a") == "4")
      } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [
        path = path as String, written = written as String, removed = removed as String,
        again = again as String,
        done = done as String
      ] in
      let environment = try Environment.open(path: path, options: LoggedStore.options())
      let rows = try environment.keyspace("rows")
      for number in 1...3 { try environment.put(rows, "a", "\(number)") }
      try announce(written)
      try waitFor(removed)
      try environment.put(rows, "a", "4")
      try announce(again)
      try waitFor(done)
      environment.close()
    }
    environment.close()
    #expect(!store.hasLog)
  }

  // MARK: The pin

  @Test func aCheckpointNeedsNoFurtherPlaceInTheTableOfReaders() throws {
    var options = LoggedStore.options()
    options.maxReaders = 4
    let (environment, rows) = try store.openFilled(options)
    defer { environment.close() }
    var snapshots: [SnapshotPin] = []
    while let snapshot = try? environment.makeSnapshot() { snapshots.append(snapshot) }
    #expect(!snapshots.isEmpty)
    try environment.flush()
    try environment.put(rows, "a", "4")
    #expect(try store.valueAfterPowerCut() == "4")
    for snapshot in snapshots { snapshot.release() }
  }
}
