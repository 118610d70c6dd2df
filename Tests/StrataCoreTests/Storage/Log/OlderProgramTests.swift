import CLMDBShim
import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// A log is begun only when every program that has the store open knows of logs.
struct OlderProgramTests {
  /// Commits until a log would have been begun many times; whether there is one.
  private static func hasLog(_ environment: Environment, _ path: String) throws -> Bool {
    let rows = try environment.keyspace("rows")
    for number in 0..<12 { try environment.put(rows, "a", "\(number)") }
    return FileManager.default.fileExists(atPath: path + "-log")
  }

  /// What other processes do is played by liblmdb alone: a program that was built before there were logs.
  @Test func noLogIsBegunBesideAnOlderProgramAndOneIsWhenItHasGone() async throws {
    let store = try LoggedStore()
    let (path, opened, tried) = (store.path, store.directory("opened"), store.directory("tried"))
    let environment = try store.open()
    defer { environment.close() }
    _ = try environment.keyspace("rows")
    let outcome = Mutex<Result<Bool, any Error>?>(nil)
    let thread = Thread {
      let result = Result {
        try waitFor(opened)
        return try Self.hasLog(environment, path)
      }
      outcome.withLock { $0 = result }
      do { try announce(tried) } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [path = path as String, opened = opened as String, tried = tried as String] in
      var environment: OpaquePointer?
      var transaction: OpaquePointer?
      mdb_env_create(&environment)
      mdb_env_set_maxdbs(environment, 8)
      try #require(mdb_env_open(environment, path, UInt32(MDB_NOSUBDIR | MDB_NOTLS), 0o600) == 0)
      try #require(mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction) == 0)
      mdb_txn_reset(transaction)
      try announce(opened)
      try waitFor(tried)
      // What it writes must not destroy anything, either.
      var keyspace: MDB_dbi = 0
      var writing: OpaquePointer?
      try #require(mdb_txn_begin(environment, nil, 0, &writing) == 0)
      try #require(mdb_dbi_open(writing, "rows", 0, &keyspace) == 0)
      try "old".bytes { key in
        var (key, value) = (MDB_val(key), MDB_val(key))
        try #require(mdb_put(writing, keyspace, &key, &value, 0) == 0)
      }
      try #require(mdb_txn_commit(writing) == 0)
      mdb_txn_abort(transaction)
      mdb_env_close(environment)
    }
    #expect(try #require(outcome.withLock { $0 }).get() == false)
    #expect(try environment.get(try environment.keyspace("rows"), "old") == "old")
    #expect(try Self.hasLog(environment, path))
  }

  /// Two processes of this version.
  @Test func aLogIsBegunBesideAProgramOfThisVersion() async throws {
    let store = try LoggedStore()
    let (path, opened, tried) = (store.path, store.directory("opened"), store.directory("tried"))
    let environment = try store.open()
    defer { environment.close() }
    _ = try environment.keyspace("rows")
    let outcome = Mutex<Result<Bool, any Error>?>(nil)
    let thread = Thread {
      let result = Result {
        try waitFor(opened)
        return try Self.hasLog(environment, path)
      }
      outcome.withLock { $0 = result }
      do { try announce(tried) } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [path = path as String, opened = opened as String, tried = tried as String] in
      let environment = try Environment.open(path: path, options: EnvironmentOptions())
      _ = try environment.keyspace("rows")
      try announce(opened)
      try waitFor(tried)
      environment.close()
    }
    #expect(try #require(outcome.withLock { $0 }).get())
  }

  /// How the readers of a store look to this process.
  private enum Others: CaseIterable {
    /// They have announced themselves.
    case known
    /// They have the numbers of processes that have announced themselves in another container.
    case inAnotherSpace
    /// The system has no number for them here.
    case nameless
    /// The one that has the number here is not the one that has the lock.
    case ofAnotherNumber
    case unlocked
    case unreadable
    case spaceUnknown
  }

  @Test(arguments: Others.allCases)
  private func aLogIsBegunOnlyBesideProcessesThatAreKnownForCertain(others: Others) async throws {
    let store = try LoggedStore()
    let (path, opened, tried) = (store.path, store.directory("opened"), store.directory("tried"))
    var options = LoggedStore.options()
    let system = options.fileSystem
    options.fileSystem.processSpace = {
      others == .spaceUnknown ? nil : others == .inAnotherSpace ? 7 : system.processSpace()
    }
    options.fileSystem.holderOfByte = { descriptor, place in
      let found = system.holderOfByte(descriptor, place)
      guard case .success(let holder?) = found else { return found }
      switch others {
      case .nameless: return .success(0)
      case .ofAnotherNumber: return .success(holder + 1)
      case .unlocked: return .success(nil)
      case .unreadable: return .failure(.init(number: EIO))
      default: return found
      }
    }
    let environment = try store.open(options)
    defer { environment.close() }
    _ = try environment.keyspace("rows")
    let outcome = Mutex<Result<Bool, any Error>?>(nil)
    let thread = Thread {
      let result = Result {
        try waitFor(opened)
        return try Self.hasLog(environment, path)
      }
      outcome.withLock { $0 = result }
      do { try announce(tried) } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [path = path as String, opened = opened as String, tried = tried as String] in
      let environment = try Environment.open(path: path, options: EnvironmentOptions())
      _ = try environment.keyspace("rows")
      try environment.read { _ in }
      try announce(opened)
      try waitFor(tried)
      environment.close()
    }
    #expect(try #require(outcome.withLock { $0 }).get() == (others == .known))
  }

  /// A process of another container that has this one's number: LMDB does not let both read, but only one of them is in its table.
  @Test func aLogIsNotBegunWhenAnotherProcessHasThisOnesNumber() throws {
    let store = try LoggedStore()
    var options = LoggedStore.options()
    options.fileSystem.holderOfByte = { _, _ in .success(0) }
    let environment = try store.open(options)
    defer { environment.close() }
    _ = try environment.keyspace("rows")
    // So that the number is in the table.
    try environment.read { _ in }
    #expect(try !Self.hasLog(environment, store.path))
  }

  @Test func spacesOfNumbersAreToldApart() throws {
    #if os(Linux)
      #expect(ProcessSpace.current() != nil && ProcessSpace.current() == ProcessSpace.current())
    #endif
    // The first table of processes has the same number on every system.
    let one = ProcessSpace.number(container: 4_026_531_836, device: 4, start: "one")
    #expect(one != ProcessSpace.number(container: 4_026_531_836, device: 4, start: "two"))
    #expect(one != ProcessSpace.number(container: 4_026_531_837, device: 4, start: "one"))
    let places = [one, one &+ 1].flatMap { space in [1, 2, 4_194_303].map { FileTurn.knowing($0, in: space) }
    }
    #expect(Set(places).count == 6 && places.allSatisfy { (0..<FileTurn.writing).contains($0) })
  }
}
