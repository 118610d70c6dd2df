import CLMDBShim
import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What other processes and users do with the log and the names of a store.
struct LogSharingTests {
  private let store: LoggedStore

  init() throws { store = try LoggedStore() }

  // MARK: Who has the store open

  /// Leaves the store as a power cut does.
  private func cutPower() throws {
    let (environment, _) = try store.openFilled()
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

  /// One process opens the store while another makes its log.
  @Test func aLogThatIsMadeWhileTheStoreIsOpenedIsNotMissed() async throws {
    let environment = try store.open()
    let rows = try environment.keyspace("rows")
    let (path, asked, made) = (store.path, store.directory("asked"), store.directory("made"))
    let thread = Thread {
      // Else the other process would wait.
      defer { try? announce(made) }
      do {
        try waitFor(asked)
        for number in 1...3 { try environment.put(rows, "a", "\(number)") }
      } catch { Issue.record(error) }
    }
    thread.start()
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      [path = path as String, asked = asked as String, made = made as String] in
      let isFirst = Mutex(true)
      var options = LoggedStore.options()
      let system = options.fileSystem
      options.fileSystem.status = { name in
        let found = system.status(name)
        if name == path + "-log", case .failure = found,
          isFirst.withLock({ first in
            defer { first = false }; return first
          })
        {
          try? announce(asked)
          try? waitFor(made)
        }
        return found
      }
      let environment = try Environment.open(path: path, options: options)
      #expect(try environment.get(try environment.keyspace("rows"), "a") == "3")
      environment.close()
    }
    environment.close()
    let errors = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(!errors.contains("its log is missing"), "\(errors)")
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

  // MARK: A log is retired, and nothing comes of it

  private struct Stop: Error {}

  @Test func aProcessGoesOnWhenAnotherHasRetiredTheLogForNothing() async throws {
    for keepsMark in [false, true] {
      let store = try LoggedStore()
      let (path, opened, written) = (store.path, store.directory("opened"), store.directory("written"))
      let (retired, done) = (store.directory("retired"), store.directory("done"))
      let environment = try store.open()
      let rows = try environment.keyspace("rows")
      let thread = Thread {
        defer { for name in [written, done] { try? announce(name) } }
        do {
          try waitFor(opened)
          for number in 1...3 { try environment.put(rows, "a", "\(number)") }
          try announce(written)
          try waitFor(retired)
          for number in 4...9 {
            try environment.put(rows, "a", "\(number)")
            let copy = try LoggedStore()
            // Without a log each commit is flushed.
            let image = try store.image()
            let isLogged = image.log != nil && LogProbe.Look(data: image.data, log: image.log).isInForce
            try (isLogged ? KilledStoreTests.tear(image) : image).put(copy)
            let opened = try copy.open()
            #expect(try opened.get(try opened.keyspace("rows"), "a") == "\(number)")
            opened.close()
          }
        } catch { Issue.record(error) }
      }
      thread.start()
      await #expect(processExitsWith: .success) {
        [
          path = path as String, opened = opened as String, written = written as String,
          retired = retired as String, done = done as String, keepsMark = keepsMark as Bool
        ] in
        var options = LoggedStore.options()
        let isArmed = Atomic<Bool>(false)
        try withExtendedLifetime(path) {
          let system = options.fileSystem
          options.fileSystem.write = { descriptor, bytes, offset in
            offset == LogMark.offset && bytes.allSatisfy { $0 == 0 } && isArmed.load(ordering: .relaxed)
              ? -Int(EIO) : system.write(descriptor, bytes, offset)
          }
          let environment = try Environment.open(path: path, options: options)
          let rows = try environment.keyspace("rows")
          try environment.put(rows, "b", "0")
          try announce(opened)
          try waitFor(written)
          try environment.put(rows, "b", "1")
          isArmed.store(keepsMark, ordering: .relaxed)
          #expect(throws: Stop.self) {
            try environment.write { transaction in
              try environment.retireLog(transaction)
              throw Stop()
            }
          }
          isArmed.store(false, ordering: .relaxed)
          try announce(retired)
          try waitFor(done)
          environment.close()
        }
      }
      environment.close()
      #expect(!FileManager.default.fileExists(atPath: store.logPath))
    }
  }

  /// The head that says so is written, and may not have reached the medium.
  @Test func aProcessGoesOnWhenItCouldNotRetireTheLog() throws {
    let fails = Atomic<Bool>(false)
    try withExtendedLifetime(store) {
      var options = LoggedStore.options()
      options.fileSystem.syncData = { [sync = options.fileSystem.syncData] descriptor in
        fails.load(ordering: .relaxed) ? -EIO : sync(descriptor)
      }
      let (environment, rows) = try store.openFilled(options)
      fails.store(true, ordering: .relaxed)
      #expect(throws: StorageError.self) {
        try environment.write { transaction in
          try environment.retireLog(transaction)
          throw Stop()
        }
      }
      // Nothing is written while it is not certain that the log counts no more.
      #expect(try storageError { try environment.put(rows, "a", "lost") }.kind == .io)
      fails.store(false, ordering: .relaxed)
      for number in 4...8 {
        try environment.put(rows, "a", "\(number)")
        #expect(try environment.get(rows, "a") == "\(number)")
      }
      #expect(try store.valueAfterPowerCut() == "8")
      environment.close()
      #expect(!store.hasLog)
    }
  }

  // MARK: The file is exchanged below those who have it open

  private func move(_ environment: Environment, keeps: Bool, _ draft: String) throws {
    let file = environment.file
    let replaced = keeps ? try file.makeReplaced() : nil
    do {
      try environment.write { transaction in
        try environment.retireLog(transaction)
        if let replaced {
          try Environment.move(draft, over: file, keeping: replaced)
        } else {
          try Environment.move(draft, over: file)
        }
        throw Stop()
      }
    } catch is Stop {}
  }

  /// Else its readers are in a table that nobody looks at who opens the store from now on.
  @Test(arguments: [true, false], [true, false])
  func anExchangeThatFailsLeavesTheLockFile(keeps: Bool, nameFails: Bool) throws {
    let path = store.path
    let fails = Atomic<Bool>(false)
    try withExtendedLifetime(store) {
      var options = LoggedStore.options()
      let system = options.fileSystem
      options.fileSystem.exchange = { first, second in
        fails.load(ordering: .relaxed) && !nameFails ? -EIO : system.exchange(first, second)
      }
      options.fileSystem.rename = { from, to in
        fails.load(ordering: .relaxed) && to == path ? -EIO : system.rename(from, to)
      }
      options.fileSystem.renameExclusively = { from, to in
        fails.load(ordering: .relaxed) ? -EIO : system.renameExclusively(from, to)
      }
      let (environment, rows) = try store.openFilled(options)
      let draft = store.directory("draft")
      try environment.copy(to: draft, compacting: true)
      let lock = try environment.file.lockIdentity()
      let before = Set(try FileManager.default.contentsOfDirectory(atPath: store.directory.path))
      fails.store(true, ordering: .relaxed)
      #expect(throws: StorageError.self) { try move(environment, keeps: keeps, draft) }
      fails.store(false, ordering: .relaxed)
      #expect(try environment.file.lockIdentity() == lock)
      try environment.put(rows, "a", "4")
      #expect(try environment.get(rows, "a") == "4")
      environment.close()
      let after = Set(try FileManager.default.contentsOfDirectory(atPath: store.directory.path))
      #expect(after.isSubset(of: before))
    }
  }

  /// It is that of a process that has opened the new file.
  @Test(arguments: [true, false])
  func anExchangeRemovesNoLogAfterwards(keeps: Bool) throws {
    let (path, logPath) = (store.path, store.logPath)
    var options = LoggedStore.options()
    let system = options.fileSystem
    let makeLog: @Sendable (Int32) -> Int32 = { code in
      if code == 0 { try? announce(logPath) }
      return code
    }
    options.fileSystem.exchange = { first, second in makeLog(system.exchange(first, second)) }
    options.fileSystem.rename = { from, to in
      let code = system.rename(from, to)
      return to == path ? makeLog(code) : code
    }
    let (environment, _) = try store.openFilled(options)
    let draft = store.directory("draft")
    try environment.copy(to: draft, compacting: true)
    try move(environment, keeps: keeps, draft)
    #expect(store.hasLog)
    environment.close()
    #expect(store.hasLog)
  }

  // MARK: Other users

  @Test(arguments: [0o600, 0o640, 0o660, 0o666] as [mode_t])
  func theLogHasThePermissionsOfTheStore(mode: mode_t) throws {
    let environment = try store.open()
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    try #require(chmod(store.path, mode) == 0)
    // Only root may give a file away.
    if getuid() == 0 { try #require(chown(store.path, 4_711, 4_712) == 0) }
    for number in 1...3 { try environment.put(rows, "a", "\(number)") }
    var (data, log) = (stat(), stat())
    try #require(stat(store.path, &data) == 0 && stat(store.logPath, &log) == 0)
    #expect(log.st_mode & 0o777 == mode)
    #expect(log.st_uid == data.st_uid && log.st_gid == data.st_gid)
  }

  /// Both files are brought from elsewhere, without a lock file: it is made for the recovery.
  @Test func theLockFileOfARecoveryHasThePermissionsOfTheStore() throws {
    try cutPower()
    _ = unlink(store.path + "-lock")
    for path in [store.path, store.logPath] {
      try #require(chmod(path, 0o666) == 0)
      if getuid() == 0 { try #require(chown(path, 4_711, 4_712) == 0) }
    }
    let environment = try store.open()
    defer { environment.close() }
    var (data, lock) = (stat(), stat())
    try #require(stat(store.path, &data) == 0 && stat(store.path + "-lock", &lock) == 0)
    #expect(lock.st_mode & 0o777 == 0o666)
    #expect(lock.st_uid == data.st_uid && lock.st_gid == data.st_gid)
  }
}
