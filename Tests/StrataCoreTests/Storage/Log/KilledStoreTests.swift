import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What the operations on files make of a log that a killed process has left beside a store.
///
/// A killed process is a copy of both files, taken while the store is open. The newest anchor of the data file is overwritten in it, as a power cut may leave it:
/// whatever looks at the data file alone fails.
struct KilledStoreTests {
  private let killed: LoggedStore
  private let image: LoggedStore.Image

  init() throws {
    let store = try LoggedStore()
    let environment = try store.open()
    let rows = try environment.keyspace("rows")
    for number in 1...3 { try environment.put(rows, "a", "\(number)") }
    image = try Self.tear(store.image())
    environment.close()
    killed = try LoggedStore()
    try image.put(killed)
  }

  /// The image without the newest anchor.
  static func tear(_ image: LoggedStore.Image) throws -> LoggedStore.Image {
    var image = image
    let pageSize = MetaPage.systemPageSize
    let anchors = [0, pageSize].map { MetaPage(Array(image.data[$0..<$0 + MetaPage.size])).transactionID }
    let newest = anchors[0] > anchors[1] ? 0 : pageSize
    // Behind the mark there is nothing of LMDB's.
    for place in newest + 16..<newest + MetaPage.size { image.data[place] = 0xFF }
    return image
  }

  private func hasLog(_ store: LoggedStore) -> Bool { FileManager.default.fileExists(atPath: store.logPath) }

  private func value(_ store: LoggedStore, _ options: EnvironmentOptions = EnvironmentOptions()) throws
    -> String?
  {
    let environment = try store.open(options)
    defer { environment.close() }
    return try environment.get(try environment.keyspace("rows"), "a")
  }

  @Test func anEnvironmentThatKeepsNoLogRecoversOne() throws {
    #expect(try value(killed) == "3")
    #expect(!hasLog(killed))
  }

  @Test func aReadOnlyEnvironmentRecoversOne() throws {
    var options = EnvironmentOptions()
    options.isReadOnly = true
    options.create = .never
    #expect(try value(killed, options) == "3")
    #expect(!hasLog(killed))
  }

  @Test func aLogThatCannotBeWrittenSaysWhy() throws {
    let logPath = killed.logPath
    for (code, kind) in [(EACCES, StorageError.Kind.permission), (EROFS, .readOnlyMedia)] {
      var options = EnvironmentOptions()
      options.fileSystem.open = { path, flags, mode in
        flags & O_RDWR != 0 && path == logPath ? -code : FileSystem.system.open(path, flags, mode)
      }
      let error = try storageError { try Environment.open(path: killed.path, options: options).close() }
      #expect(error.kind == kind && error.code == code)
    }
    #expect(try killed.image() == image)
  }

  @Test func anInspectionSeesTheCheckpointAndChangesNothing() throws {
    try Environment.inspect(path: killed.path, .full)
    #expect(try killed.image() == image)
    unlink(killed.logPath)
    #expect(throws: StorageError.self) { try Environment.inspect(path: killed.path, .full) }
  }

  @Test func anInspectionTellsOfADamagedLog() throws {
    var image = image
    image.damageHeads(100) { $0 ^= 1 }
    try image.put(killed)
    #expect(try storageError { try Environment.inspect(path: killed.path, .full) }.kind == .damaged)
    #expect(try killed.image() == image)
  }

  @Test func destroyingAndEmptyingRemoveTheLog() throws {
    try Environment.empty(path: killed.path)
    #expect(!hasLog(killed))
    try image.put(killed)
    try Environment.destroy(path: killed.path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: killed.directory.path) == [])
  }

  @Test func replacingRemovesTheLogOfTheOldStoreAndReadsThatOfTheNew() throws {
    let other = try LoggedStore()
    try image.put(other)
    let environment = try LoggedStore(in: killed.directory, name: "New.strata").open()
    try environment.put(try environment.keyspace("rows"), "a", "new")
    environment.close()
    try Environment.replace(path: killed.path, with: killed.directory("New.strata"))
    #expect(!hasLog(killed))
    #expect(try value(killed) == "new")
    try Environment.replace(path: killed.path, with: other.path)
    #expect(try value(killed) == "3")
    #expect(!hasLog(other))
  }

  @Test func aNewStoreIgnoresTheLogOfOneThatWasDeletedByHand() throws {
    unlink(killed.path)
    let environment = try killed.open()
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    for number in 5...8 { try environment.put(rows, "a", "\(number)") }
    #expect(try environment.get(rows, "a") == "8")
    let found = try environment.logState()?.recordCount ?? 0
    #expect(found > 0)
  }

  @Test func aBackupHasWhatOnlyTheLogHasAndNoMark() throws {
    let target = LoggedStore(in: killed.directory, name: "Backup.strata")
    for isCompact in [true, false] {
      try image.put(killed)
      // The log of a store that had the backup's name.
      try Data(try #require(image.log)).write(to: URL(fileURLWithPath: target.logPath))
      let environment = try killed.open()
      try environment.copy(to: target.path, compacting: isCompact)
      environment.close()
      #expect(!hasLog(target))
      let mark = try fileBytes(target.path)[LogMark.offset..<LogMark.offset + LogMark.size]
      #expect(mark.allSatisfy { $0 == 0 })
      #expect(try value(target) == "3")
      unlink(target.path)
    }
  }

  @Test func aBackupOfAStoreWhoseLogIsInUseHasEverySave() throws {
    let store = try LoggedStore()
    let environment = try store.open(LoggedStore.options(.relaxed))
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    for number in 1...5 { try environment.put(rows, "a", "\(number)") }
    let before = try #require(try environment.logState())
    let target = LoggedStore(in: store.directory, name: "Backup.strata")
    try environment.copy(to: target.path, compacting: true)
    #expect(before.recordCount > 0 && !hasLog(target))
    #expect(try value(target) == "5")
  }

  /// One that may not write the file leaves the log; the next one to open the store recovers it.
  @Test(arguments: [true, false])
  func aReadOnlyEnvironmentThatClosesLastRemovesTheLogIfItCan(mayWrite: Bool) async throws {
    let store = try LoggedStore()
    // Made first, so that there is something to open.
    let first = try store.open()
    _ = try first.keyspace("rows")
    first.close()
    let (path, written, opened) = (store.path, store.directory("written"), store.directory("opened"))
    let outcome = Mutex<Result<Environment, any Error>?>(nil)
    let thread = Thread {
      let result = Result {
        try waitFor(written)
        var options = EnvironmentOptions()
        (options.create, options.isReadOnly) = (.never, true)
        let system = options.fileSystem
        options.fileSystem.open = { name, flags, mode in
          name == path && flags & O_ACCMODE == O_RDWR && !mayWrite ? -EACCES : system.open(name, flags, mode)
        }
        return try Environment.open(path: path, options: options)
      }
      outcome.withLock { $0 = result }
      do { try announce(opened) } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [path = path as String, written = written as String, opened = opened as String] in
      let environment = try Environment.open(path: path, options: LoggedStore.options())
      let rows = try environment.keyspace("rows")
      for number in 1...3 { try environment.put(rows, "a", "\(number)") }
      try announce(written)
      try waitFor(opened)
      environment.close()
    }
    let reader = try #require(outcome.withLock { $0 }).get()
    #expect(hasLog(store))
    #expect(try reader.get(try reader.keyspace("rows"), "a") == "3")
    reader.close()
    #expect(hasLog(store) == !mayWrite)
    // As a power cut may leave it now.
    if !mayWrite { try Self.tear(store.image()).put(store) }
    #expect(try value(store) == "3")
    #expect(!hasLog(store))
  }

  @Test func aStoreWithoutItsLogSaysSoOnce() throws {
    let store = try LoggedStore()
    let environment = try store.open()
    let rows = try environment.keyspace("rows")
    for number in 1...3 { try environment.put(rows, "a", "\(number)") }
    var whole = try store.image()
    environment.close()
    whole.log = nil
    try whole.put(killed)
    #expect(try value(killed) == "3")
    let mark = try fileBytes(killed.path)[LogMark.offset..<LogMark.offset + LogMark.size]
    #expect(mark.allSatisfy { $0 == 0 })
  }

  @Test func aSalvageReadsWhatOnlyTheLogHas() throws {
    var options = LMDBStoreOptions.scratch
    options.keepsLog = true
    options.commitsBeforeLog = 1
    let fixture = try StoreFixture(options: options)
    for number in 0..<6 {
      try fixture.commit(inserts: [fixture.insert("Place", ["x": .integer(Int64(number))])])
    }
    let file = LoggedStore(in: killed.directory, name: "Killed.strata")
    let open = Data(try fileBytes(fixture.url.path))
    let log = try fileBytes(fixture.url.path + "-log")
    let torn = try Self.tear(.init(data: [UInt8](open), log: log))
    try torn.put(file)
    let before = Set(try FileManager.default.contentsOfDirectory(atPath: killed.directory.path))
    let target = killed.directory("Saved.strata")
    let report = try LMDBStore.salvage(
      from: URL(fileURLWithPath: file.path), to: URL(fileURLWithPath: target), includesLoosePages: false)
    #expect(report.remarks == [])
    #expect(try file.image() == torn)
    let names = Set(try FileManager.default.contentsOfDirectory(atPath: killed.directory.path))
    #expect(names.subtracting(before).filter { !$0.hasSuffix("-lock") } == ["Saved.strata"])
    let saved = try LMDBStore(url: URL(fileURLWithPath: target), schema: fixture.schema)
    defer { saved.close() }
    #expect(try fixture.fetch("Place", store: saved).count == 6)
    // Without the log the newest saves are missing: the test would notice.
    unlink(file.logPath)
    let less = try LMDBStore.salvage(
      from: URL(fileURLWithPath: file.path), to: URL(fileURLWithPath: killed.directory("Less.strata")),
      includesLoosePages: false)
    #expect(less.remarks != [])
  }
}

/// The log of a store that is in use.
struct LogInUseTests {
  private func format(_ store: LMDBStore) throws -> UInt32? {
    try store.parts.environment.read { try store.parts.meta.number("format", UInt32.self, $0) }
  }

  private func insert(_ fixture: StoreFixture) throws {
    try fixture.commit(inserts: [fixture.insert("Place", ["x": .integer(1)])])
  }

  @Test func anOldStoreIsCarriedOverAtItsFirstSaveAndHasALogOnlyThen() throws {
    var options = LMDBStoreOptions.scratch
    options.keepsLog = false
    let fixture = try StoreFixture(options: options)
    try insert(fixture)
    #expect(try format(fixture.store) == MetaKeyspace.plainFormat)
    options.keepsLog = true
    options.commitsBeforeLog = 0
    try fixture.reopen(options: options)
    #expect(try format(fixture.store) == MetaKeyspace.plainFormat)
    #expect(try fixture.store.parts.environment.logState() == nil)
    try insert(fixture)
    #expect(try format(fixture.store) == MetaKeyspace.loggedFormat)
    #expect(try fixture.store.parts.environment.logState() == nil)
    for _ in 0..<3 { try insert(fixture) }
    #expect(try fixture.store.parts.environment.logState() != nil)
    #expect(try fixture.store.statistics().logSize > 0)
    fixture.close()
    #expect(!FileManager.default.fileExists(atPath: fixture.url.path + "-log"))
  }

  @Test func aStoreOfALaterFormatIsRefused() throws {
    let fixture = try StoreFixture()
    let meta = fixture.store.parts.meta
    try fixture.store.parts.environment.write { transaction in
      try meta.put("format", number: MetaKeyspace.filledFormat + 1, transaction)
    }
    #expect(try storageError { try fixture.reopen() }.kind == .unsupportedFormat)
  }

  @Test func aQuietMomentMakesACheckpoint() throws {
    let store = try LoggedStore()
    let environment = try store.open()
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    for number in 1...3 { try environment.put(rows, "a", "\(number)") }
    #expect(try environment.logState()?.recordCount == 3)
    // A time limit for a test that fails, not a measurement.
    for _ in 0..<600 where try environment.logState()?.recordCount != 0 { usleep(50_000) }
    #expect(try environment.logState()?.recordCount == 0)
    try environment.put(rows, "a", "4")
    #expect(try environment.logState()?.recordCount == 1)
  }

  @Test func flushMakesACheckpoint() throws {
    let store = try LoggedStore()
    let environment = try store.open(LoggedStore.options(.relaxed))
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    for number in 1...3 { try environment.put(rows, "a", "\(number)") }
    try environment.flush()
    let image = try store.image()
    #expect(try image.head.checkpoint == UInt64(environment.statistics().transactionID))
    #expect(try environment.logState()?.recordCount == 0)
  }

  @Test func noneKeepsThePromiseOfRelaxedWithALog() throws {
    let store = try LoggedStore()
    let environment = try store.open(LoggedStore.options(.none))
    let rows = try environment.keyspace("rows")
    for number in 1...3 { try environment.put(rows, "a", "\(number)") }
    #expect(try environment.logState()?.recordCount == 3)
    let image = try store.image()
    environment.close()
    let copy = try LoggedStore()
    try image.put(copy)
    let opened = try copy.open()
    defer { opened.close() }
    #expect(try opened.get(try opened.keyspace("rows"), "a") == "3")
  }
}
