import CLMDBShim
import Foundation
import Testing

@testable import StrataCore

/// A store's file is put in place, or removed, by hand, while somebody has the old one open, whose lock file keeps the name. LMDB would take the number of the last commit from there, and begin with an
/// older commit of the new file, or none.
@Suite struct ExchangedByHandTests {
  private let directory: ScratchDirectory
  private var path: String { directory("A") }

  init() throws { directory = try ScratchDirectory() }

  /// Opens the store, which gets `count` commits: one row each.
  private func filled(_ count: Int) throws -> (Environment, Keyspace) {
    let environment = try Environment.open(path: path, options: .scratch)
    let rows = try environment.keyspace("rows")
    try Self.add(environment, 0..<count)
    return (environment, rows)
  }

  private static func add(_ environment: Environment, _ numbers: Range<Int>) throws {
    let rows = try environment.keyspace("rows")
    for number in numbers { try environment.put(rows, "key \(number)", "\(number)") }
  }

  /// How many rows there are, of which every one is read.
  private static func count(_ environment: Environment) throws -> Int {
    let rows = try environment.keyspace("rows")
    return try environment.read { view in
      var count = 0
      try view.forEach(in: rows) { _ in count += 1 }
      #expect(try view.entryCount(rows) == count)
      return count
    }
  }

  /// Another process opens the store, which must have `count` rows, adds three, and finds them again.
  private func expectInAnotherProcess(count: Int, from start: Int) async {
    await #expect(processExitsWith: .success) {
      [path = path as String, count = count as Int, start = start as Int] in
      for round in 0..<2 {
        let environment = try Environment.open(path: path, options: .scratch)
        #expect(try ExchangedByHandTests.count(environment) == count + 3 * round)
        if round == 0 { try ExchangedByHandTests.add(environment, start..<start + 3) }
        #expect(try ExchangedByHandTests.count(environment) == count + 3)
        environment.close()
      }
      try Environment.inspect(path: path, .full)
    }
  }

  /// Who has the old file open reads that as it was, and writes nothing.
  private func expectOld(_ environment: Environment, _ rows: Keyspace, count: Int) throws {
    #expect(try Self.count(environment) == count)
    #expect(try storageError { try environment.put(rows, "late", "1") }.kind == .replaced)
    let copy = directory("Copy \(UUID().uuidString)")
    try environment.copy(to: copy, compacting: false)
    let opened = try Environment.open(path: copy, options: .scratch)
    defer { opened.close() }
    #expect(try Self.count(opened) == count)
  }

  /// Numbers of commits that are the same, greater and smaller, of both parities.
  @Test(arguments: [true, false], [0, 1, 2, 5])
  func aCopyPutInPlaceIsOpenedAsItIs(compacting: Bool, commits: Int) async throws {
    let (environment, rows) = try filled(5)
    try environment.copy(to: directory("B"), compacting: compacting)
    try Self.add(environment, 5..<5 + commits)
    try #require(rename(directory("B"), path) == 0)
    await expectInAnotherProcess(count: 5, from: 100)
    try expectOld(environment, rows, count: 5 + commits)
    // The same in the process that has the old file open.
    let new = try Environment.open(path: path, options: .scratch)
    #expect(new !== environment)
    #expect(try Self.count(new) == 8)
    try Self.add(new, 200..<202)
    try expectOld(environment, rows, count: 5 + commits)
    await expectInAnotherProcess(count: 10, from: 300)
    environment.close()
    try Self.add(new, 400..<401)
    await expectInAnotherProcess(count: 14, from: 500)
    #expect(try Self.count(new) == 17)
    new.close()
  }

  /// A larger store, whose last commit has a greater number.
  @Test(arguments: [1, 2, 3, 8]) func aStoreWithMoreCommitsIsOpenedAsItIs(commits: Int) async throws {
    let other = try Environment.open(path: directory("B"), options: .scratch)
    try Self.add(other, 0..<6 + commits)
    other.close()
    let (environment, rows) = try filled(6)
    try #require(rename(directory("B"), path) == 0)
    await expectInAnotherProcess(count: 6 + commits, from: 100)
    try expectOld(environment, rows, count: 6)
    environment.close()
  }

  @Test(arguments: 0...3) func aStoreMadeBesideALockFileThatWasLeftIsNew(commits: Int) async throws {
    let (environment, rows) = try filled(commits)
    try #require(unlink(path) == 0)
    await expectInAnotherProcess(count: 0, from: 100)
    try expectOld(environment, rows, count: commits)
    environment.close()
    await expectInAnotherProcess(count: 3, from: 200)
  }

  @Test(arguments: [true, false]) func oneProcessHasTheOldFileAndTheNewOneOpen(isNew: Bool) throws {
    let (environment, rows) = try filled(4)
    try environment.copy(to: directory("B"), compacting: false)
    let code = isNew ? unlink(path) : rename(directory("B"), path)
    try #require(code == 0)
    var options = EnvironmentOptions.scratch
    if isNew { options.create = .mustBeNew }
    let new = try Environment.open(path: path, options: options)
    #expect(try Self.count(new) == (isNew ? 0 : 4))
    try Self.add(new, 10..<13)
    try expectOld(environment, rows, count: 4)
    // Its locks stay when those of the old one go.
    environment.close()
    try Self.add(new, 20..<22)
    #expect(try Self.count(new) == (isNew ? 5 : 9))
    #expect(try new.file.lockIdentity() == new.lock.withLock { new.lockIdentity })
    new.close()
  }

  /// A store that was not closed is recovered, with its log, although the lock file beside it is held.
  @Test func anUnclosedStorePutInPlaceWithItsLogIsRecovered() async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) { [other = directory("B") as String] in
      let environment = try Environment.open(path: other, options: LoggedStore.options())
      try ExchangedByHandTests.add(environment, 0..<7)
      _ = kill(getpid(), SIGKILL)
    }
    #expect(FileManager.default.fileExists(atPath: directory("B-log")))
    let (environment, rows) = try filled(4)
    for suffix in ["", "-log"] { try #require(rename(directory("B" + suffix), path + suffix) == 0) }
    await expectInAnotherProcess(count: 7, from: 100)
    try expectOld(environment, rows, count: 4)
    environment.close()
  }

  // MARK: Programs that know nothing of it

  /// An earlier version, or a tool of LMDB's: it uses the lock file of the old file for the new one.
  private static func writeWithLMDB(_ path: String, commits: Int) throws {
    var environment: OpaquePointer?
    try #require(mdb_env_create(&environment) == 0)
    mdb_env_set_maxdbs(environment, 4)
    try #require(mdb_env_open(environment, path, UInt32(MDB_NOSUBDIR | MDB_NOTLS), 0o600) == 0)
    for number in 0..<commits {
      var transaction: OpaquePointer?
      try #require(mdb_txn_begin(environment, nil, 0, &transaction) == 0)
      var keyspace: MDB_dbi = 0
      try #require(mdb_dbi_open(transaction, "strange", UInt32(MDB_CREATE), &keyspace) == 0)
      let code = "strange \(number)".bytes { bytes in
        var (key, value) = (MDB_val(bytes), MDB_val(bytes))
        return mdb_put(transaction, keyspace, &key, &value, 0)
      }
      try #require(code == 0)
      try #require(mdb_txn_commit(transaction) == 0)
    }
    mdb_env_close(environment)
  }

  /// The number in the lock file goes on, and the old file has no such commit: LMDB would read an older one, whose pages are used again.
  @Test(arguments: [true, false], 1...2)
  func whereTheNumberIsAnotherFilesByNowNothingIsReadOrWritten(compacting: Bool, commits: Int) async throws {
    let (environment, rows) = try filled(6)
    try environment.copy(to: directory("B"), compacting: compacting)
    let snapshot = try environment.makeSnapshot()
    try #require(rename(directory("B"), path) == 0)
    await #expect(processExitsWith: .success) {
      [path = path as String, commits = commits as Int] in
      try ExchangedByHandTests.writeWithLMDB(path, commits: commits)
    }
    #expect(try storageError { _ = try Self.count(environment) }.kind == .replaced)
    #expect(try storageError { _ = try environment.makeSnapshot() }.kind == .replaced)
    #expect(try storageError { try environment.put(rows, "late", "1") }.kind == .replaced)
    for isCompact in [true, false] {
      let error = try storageError { try environment.copy(to: directory("C"), compacting: isCompact) }
      #expect(error.kind == .replaced)
    }
    #expect(!FileManager.default.fileExists(atPath: directory("C")))
    // What began before is as it was.
    #expect(try snapshot.read { try $0.entryCount(rows) } == 6)
    snapshot.release()
    environment.close()
  }

  /// The file keeps its identity: the lock file is its own, and the bytes are not.
  @Test(arguments: 1...2) func bytesWrittenOverAnOpenStoreAreNeitherReadNorWritten(commits: Int) async throws
  {
    let (environment, rows) = try filled(5)
    try environment.copy(to: directory("B"), compacting: true)
    try Self.add(environment, 5..<5 + commits)
    let before = try fileBytes(directory("B"))
    let descriptor = Foundation.open(path, O_WRONLY | O_CLOEXEC)
    try #require(before.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) } == before.count)
    close(descriptor)
    #expect(try storageError { _ = try Self.count(environment) }.kind == .replaced)
    #expect(try storageError { try environment.put(rows, "late", "1") }.kind == .replaced)
    await #expect(processExitsWith: .success) { [path = path as String] in
      let error = try storageError { _ = try Environment.open(path: path, options: .scratch) }
      #expect(error.kind == .replaced && error.operation == "mdb_env_open")
    }
    environment.close()
    await expectInAnotherProcess(count: 5, from: 100)
  }

  // MARK: Lock files that stay

  /// A commit was cut off between the anchor and the number in the lock file. That is no foreign lock file.
  @Test func anAnchorThatIsOneAheadIsNoForeignLockFile() async throws {
    let (environment, rows) = try filled(3)
    defer { environment.close() }
    let lock = try environment.file.lockIdentity()
    let bytes = try fileBytes(path)
    let pageSize = MetaPage(bytes).pageSize
    let number = try environment.read { $0.id }
    // Of the next commit, as one that compacts the file leaves it: with the same rows.
    let newest = Array(bytes[(number & 1) * pageSize..<(number & 1) * pageSize + MetaPage.size])
    var next = newest
    next.withUnsafeMutableBytes {
      $0.storeBytes(of: UInt64(number + 1), toByteOffset: MetaPage.transactionOffset, as: UInt64.self)
      $0.storeBytes(of: UInt64((number + 1) & 1), toByteOffset: MetaPage.numberOffset, as: UInt64.self)
    }
    let descriptor = Foundation.open(path, O_WRONLY | O_CLOEXEC)
    let place = off_t(((number + 1) & 1) * pageSize)
    try #require(next.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, place) } == next.count)
    close(descriptor)
    #expect(try Self.count(environment) == 3)
    await #expect(processExitsWith: .success) { [path = path as String] in
      let environment = try Environment.open(path: path, options: .scratch)
      #expect(try ExchangedByHandTests.count(environment) == 3)
      environment.close()
    }
    #expect(try environment.file.lockIdentity() == lock)
    try environment.put(rows, "more", "1")
    #expect(try Self.count(environment) == 4)
    await expectInAnotherProcess(count: 4, from: 100)
    #expect(try environment.file.lockIdentity() == lock)
    #expect(try Self.count(environment) == 7)
  }

  /// Two processes see at once that the lock file is another file's: the second one leaves the one that the first has made.
  @Test func whoComesLateRemovesNobodyElsesLockFile() throws {
    let file = try StoreFile(path, .system)
    for name in ["A", "A-lock"] { try Data("old".utf8).write(to: URL(fileURLWithPath: directory(name))) }
    let identity = try #require(try file.status()).identity
    let lock = try #require(try file.lockIdentity())
    let probe = try #require(try LockFileProbe(file, lock))
    defer { probe.close() }
    let turn = FileTurn(file, identity, isNeeded: true)
    defer { turn.close() }
    // The first one is about to.
    let first = try #require(try LockFileProbe(file, lock))
    defer { first.close() }
    try #require(first.tryRemoving())
    #expect(
      try storageError { try ForeignLockFile.remove(lock, probe, file, identity, turn) }.kind == .replaced)
    #expect(try file.lockIdentity() == lock)
    first.endRemoving()
    // It has.
    try Data("new".utf8).write(to: URL(fileURLWithPath: directory("made")))
    try #require(rename(directory("made"), directory("A-lock")) == 0)
    let new = try file.lockIdentity()
    try ForeignLockFile.remove(lock, probe, file, identity, turn)
    #expect(try file.lockIdentity() == new && new != lock)
  }

  /// While another process has the data file open, its lock file stays, whatever is in it.
  @Test func theLockFileOfAProcessThatHasTheDataFileOpenStays() throws {
    let file = try StoreFile(path, .system)
    for name in ["A", "A-lock"] { try Data("old".utf8).write(to: URL(fileURLWithPath: directory(name))) }
    let identity = try #require(try file.status()).identity
    let lock = try #require(try file.lockIdentity())
    let probe = try #require(try LockFileProbe(file, lock))
    defer { probe.close() }
    let turn = FileTurn(file, identity, isNeeded: true)
    defer { turn.close() }
    let other = FileTurn(file, identity, isNeeded: true)
    defer { other.close() }
    other.announce()
    #expect(other.hasAnnounced && !turn.hasAnnounced)
    #expect(
      try storageError { try ForeignLockFile.remove(lock, probe, file, identity, turn) }.kind == .replaced)
    #expect(try file.lockIdentity() == lock)
    other.withdraw()
    try ForeignLockFile.remove(lock, probe, file, identity, turn)
    #expect(try file.lockIdentity() == nil)
  }
}
