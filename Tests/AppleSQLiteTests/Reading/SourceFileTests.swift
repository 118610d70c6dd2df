import CStrataSQLite
import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataAppleSQLite

/// The source is never written, nothing is left beside it, and what is in its write-ahead log is read.
@Suite struct SourceFileTests {
  /// A store all of whose rows are in the log, and the connection that keeps it open.
  private func living() throws -> (SmallStore, SQLiteDatabase) {
    let store = try SmallStore(journalMode: "WAL")
    let app = try SQLiteDatabase(store.path, flags: SQLITE_OPEN_READWRITE, name: store.path)
    _ = try app.value("PRAGMA wal_autocheckpoint = 0")
    try app.run("UPDATE ZPERSON SET ZNAME = 'from the log', ZAGE = 55")
    #expect((FileMark(store.path + "-wal")?.length ?? 0) > 0)
    return (store, app)
  }

  private func isFromLog(_ store: SmallStore) throws -> Bool {
    let found = try PlainGraph(strata: store.new.path)
    let names = found.objects.values.compactMap { $0.values["name"] }
    return names.count == 5 && names.allSatisfy { $0 == .string("from the log") }
  }

  @Test func aLivingAppIsReadWithWhatIsInItsLog() throws {
    let (store, app) = try living()
    let before = try Data(contentsOf: URL(fileURLWithPath: store.path + "-wal"))
    #expect(try store.importNew().isComplete)
    #expect(try isFromLog(store))
    #expect(try Data(contentsOf: URL(fileURLWithPath: store.path + "-wal")) == before)
    #expect(
      try store.names == ["App.sqlite", "App.sqlite-wal", "App.sqlite-shm", ".App_SUPPORT", "New.strata"])
    // The app goes on.
    try app.run("UPDATE ZPERSON SET ZAGE = 56")
    #expect(try app.value("SELECT max(ZAGE) FROM ZPERSON") == .integer(56))
  }

  /// One state of the store is read, whatever is saved meanwhile.
  @Test func savesMeanwhileAreNotSeenByHalves() throws {
    let (store, app) = try living()
    var saves = 0
    let report = try AppleSQLite.importStore(from: store.url, to: store.new) { progress in
      guard progress.phase == .checking else { return }
      // All objects were read; the comparison reads them once more.
      saves += 1
      try app.run("UPDATE ZPERSON SET ZNAME = 'later'; DELETE FROM ZPERSON WHERE Z_PK = 3")
    }
    #expect(saves == 1 && report.isComplete)
    #expect(try isFromLog(store))
  }

  /// As a copy of an app's folder has it: SQLite would leave a file there.
  @Test func aLogWithoutItsIndexIsReadFromACopy() throws {
    let (store, app) = try living()
    let copy = try ScratchFolder()
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: store.path + suffix, toPath: copy("App.sqlite" + suffix))
    }
    try FileManager.default.copyItem(
      atPath: store.folder(".App_SUPPORT"), toPath: copy(".App_SUPPORT"))
    app.close()
    let before = try contents(of: copy)
    let report = try AppleSQLite.importStore(from: copy.url("App.sqlite"), to: store.new)
    #expect(report.isComplete && report.externalFileCount == 1)
    #expect(try isFromLog(store))
    #expect(try contents(of: copy) == before)
  }

  /// The log lies beside the file, and not beside the link.
  @Test func aLinkStandsForWhatItLeadsTo() throws {
    let (store, app) = try living()
    defer { app.close() }
    let other = try ScratchFolder()
    try FileManager.default.createSymbolicLink(
      atPath: other("Link.sqlite"), withDestinationPath: store.path)
    let report = try AppleSQLite.importStore(from: other.url("Link.sqlite"), to: store.new)
    #expect(report.isComplete && report.externalFileCount == 1)
    #expect(try isFromLog(store))
    #expect(try FileManager.default.contentsOfDirectory(atPath: other.path) == ["Link.sqlite"])
  }

  /// In a folder that cannot be written, with a log or without: as a person who may only read.
  @Test(arguments: ["log and index", "log", "at rest"])
  func aFolderThatCannotBeWrittenIsNoObstacle(what: String) throws {
    let setpriv = "/usr/bin/setpriv"
    // Only root can become somebody else; nobody else can make such a folder here.
    guard geteuid() == 0, access(setpriv, X_OK) == 0 else { return }
    let (store, app) = try living()
    let (source, target) = (try ScratchFolder(), try ScratchFolder())
    for suffix in what == "log and index" ? ["", "-wal", "-shm"] : what == "log" ? ["", "-wal"] : [] {
      try FileManager.default.copyItem(atPath: store.path + suffix, toPath: source("App.sqlite" + suffix))
    }
    if what == "at rest" {
      _ = try app.value("PRAGMA wal_checkpoint(TRUNCATE)")
      try FileManager.default.copyItem(atPath: store.path, toPath: source("App.sqlite"))
    }
    try FileManager.default.copyItem(atPath: store.folder(".App_SUPPORT"), toPath: source(".App_SUPPORT"))
    app.close()
    for name in FileManager.default.enumerator(atPath: source.path)?.compactMap({ $0 as? String }) ?? [] {
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: source(name), isDirectory: &isFolder)
      chmod(source(name), isFolder.boolValue ? 0o555 : 0o444)
    }
    chmod(source.path, 0o555)
    defer { chmod(source.path, 0o755) }
    chmod(target.path, 0o777)
    let before = try contents(of: source)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: setpriv)
    process.arguments = [
      "--reuid=65534", "--regid=65534", "--clear-groups", ChildProcess.program("strata"), "import",
      source("App.sqlite"), target("New.strata"),
    ]
    let errors = Pipe()
    process.standardError = errors
    process.standardOutput = FileHandle.nullDevice
    // The folder of this run may be closed to others.
    process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": target.path]) { $1 }
    try process.run()
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(said)")
    #expect(try contents(of: source) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: target.path) == ["New.strata"])
    let names = try PlainGraph(strata: target("New.strata")).objects.values.compactMap { $0.values["name"] }
    #expect(names.count == 5 && names.allSatisfy { $0 == .string("from the log") })
  }

  @Test func aStoreAtRestIsReadInPlace() throws {
    for mode in ["WAL", "DELETE"] {
      let store = try SmallStore(journalMode: mode)
      #expect(try store.names == ["App.sqlite", ".App_SUPPORT"])
      let before = try contents(of: store.folder)
      let file = try SourceFile(store.path)
      #expect(try file.database.value("SELECT count(*) FROM ZPERSON") == .integer(5))
      file.close()
      #expect(try contents(of: store.folder) == before)
    }
  }

  /// An empty log beside its index, as an app leaves both when it is killed at rest.
  @Test func anEmptyLogIsNoObstacle() throws {
    let store = try SmallStore(journalMode: "WAL")
    try Data().write(to: URL(fileURLWithPath: store.path + "-wal"))
    try Data(count: 32_768).write(to: URL(fileURLWithPath: store.path + "-shm"))
    let main = try Data(contentsOf: store.url)
    #expect(try store.importNew().isComplete)
    #expect(try Data(contentsOf: store.url) == main)
    #expect(FileMark(store.path + "-wal")?.length == 0)
    #expect(try PlainGraph(strata: store.new.path) == store.graph)
    // An index without a log: SQLite would make one.
    let other = try SmallStore(journalMode: "WAL")
    try Data(count: 32_768).write(to: URL(fileURLWithPath: other.path + "-shm"))
    let before = try other.names
    #expect(try other.importNew().isComplete)
    #expect(try other.names == before.union(["New.strata"]))
  }

  /// A save that was cut off is rolled back in a copy.
  /// Systems forget all locks of a process on a file when it closes it once: whoever asks about a store must not close it while it is read.
  @Test func aStoreThatIsReadStaysLockedWhoeverAsksAboutIt() async throws {
    let store = try SmallStore()
    let path = store.path
    func mayWrite() async -> Bool {
      let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
        [path = path as String] in
        do {
          let app = try SQLiteDatabase(path, flags: SQLITE_OPEN_READWRITE, name: path)
          try app.run("BEGIN EXCLUSIVE; UPDATE ZPERSON SET ZAGE = 57; COMMIT")
          print("written")
        } catch let error as AppleStoreError where error.kind == .busy {}
      }
      return String(decoding: result?.standardOutputContent ?? [], as: UTF8.self).contains("written")
    }
    let source = try SourceFile(path)
    #expect(AppleSQLite.isStore(at: store.url))
    _ = try AppleSQLite.model(at: store.url)
    let second = try SourceFile(path)
    second.close()
    #expect(await !mayWrite())
    source.close()
    #expect(await mayWrite())
    withExtendedLifetime(store) {}
  }

  @Test func aHotJournalIsRolledBackElsewhere() throws {
    let store = try SmallStore()
    let app = try SQLiteDatabase(store.path, flags: SQLITE_OPEN_READWRITE, name: store.path)
    try app.run("PRAGMA cache_size = 1; BEGIN IMMEDIATE")
    for key in 100..<400 {
      try app.run(
        "INSERT INTO ZPERSON (Z_PK, Z_ENT, ZNAME) VALUES (\(key), 1, '\(String(repeating: "x", count: 900))')"
      )
    }
    // As after a crash: the pages are half written, the journal has what they were.
    let crashed = try ScratchFolder()
    for suffix in ["", "-journal"] {
      try FileManager.default.copyItem(atPath: store.path + suffix, toPath: crashed("App.sqlite" + suffix))
    }
    try FileManager.default.copyItem(atPath: store.folder(".App_SUPPORT"), toPath: crashed(".App_SUPPORT"))
    app.close()
    let before = try contents(of: crashed)
    #expect(before["App.sqlite-journal"]?.isEmpty == false)
    let report = try AppleSQLite.importStore(from: crashed.url("App.sqlite"), to: store.new)
    #expect(report.isComplete)
    #expect(try PlainGraph(strata: store.new.path) == store.graph)
    #expect(try contents(of: crashed) == before)
  }

  /// A journal that names another file would have SQLite remove that file; links would lead elsewhere from a copy.
  @Test func journalsThatNameOtherFilesAreRefused() throws {
    let store = try SmallStore()
    let victim = store.folder("precious")
    try Data("mine".utf8).write(to: URL(fileURLWithPath: victim))
    var journal = Data([0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]) + Data(count: 504)
    journal += Data(count: 4) + Data(victim.utf8)
    for number in [UInt32(victim.utf8.count), victim.utf8.reduce(0) { $0 + UInt32($1) }] {
      journal += withUnsafeBytes(of: number.bigEndian) { Data($0) }
    }
    journal += Data([0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7])
    try journal.write(to: URL(fileURLWithPath: store.path + "-journal"))
    let error = #expect(throws: AppleStoreError.self) { try store.importNew() }
    #expect(error?.kind == .unsupported, "\(error?.description ?? "")")
    #expect(try Data(contentsOf: URL(fileURLWithPath: victim)) == Data("mine".utf8))
    for suffix in ["-journal", "-wal"] {
      let other = try SmallStore()
      try FileManager.default.createSymbolicLink(
        atPath: other.path + suffix, withDestinationPath: "elsewhere")
      let error = #expect(throws: AppleStoreError.self) { try other.importNew() }
      #expect(error?.kind == .unsupported)
    }
  }

  /// Where nobody can be kept from writing, it is noticed, and nothing is made.
  @Test func aFileThatWasWrittenMeanwhileIsRefused() throws {
    let store = try SmallStore(journalMode: "WAL")
    let error = #expect(throws: AppleStoreError.self) {
      try AppleSQLite.importStore(from: store.url, to: store.new) { progress in
        guard progress.phase == .checking else { return }
        try store.run("PRAGMA journal_mode = DELETE; UPDATE ZPERSON SET ZAGE = 1")
      }
    }
    #expect([.busy, .difference, .damaged].contains(error?.kind), "\(error?.description ?? "")")
    #expect(try !store.names.contains("New.strata"))
  }

  @Test func whatProgressThrowsEndsTheWorkAndLeavesNothing() throws {
    struct Enough: Error {}
    let store = try SmallStore()
    let before = try contents(of: store.folder)
    for phase in [AppleStoreProgress.Phase.checking] {
      #expect(throws: Enough.self) {
        try AppleSQLite.importStore(from: store.url, to: store.new) {
          if $0.phase == phase { throw Enough() }
        }
      }
      #expect(try contents(of: store.folder) == before)
    }
  }

  /// A place that is taken stays what it is; so does the log of a store that was deleted by hand.
  @Test func namesThatAreTakenAreRefused() throws {
    let store = try SmallStore()
    try Data("mine".utf8).write(to: store.new)
    let error = #expect(throws: AppleStoreError.self) { try store.importNew() }
    #expect(error?.kind == .exists)
    #expect(try Data(contentsOf: store.new) == Data("mine".utf8))
    try FileManager.default.removeItem(at: store.new)
    try FileManager.default.createSymbolicLink(atPath: store.new.path, withDestinationPath: "nowhere")
    #expect(throws: AppleStoreError.self) { try store.importNew() }
    try FileManager.default.removeItem(at: store.new)
    #expect(throws: AppleStoreError.self) {
      try AppleSQLite.importStore(from: store.url, to: store.folder.url("no/New.strata"))
    }
  }

  @Test func whatAKilledProcessHasLeftGoesWithTheNextImport() throws {
    let store = try SmallStore()
    // No process has this number: it is above the largest one there can be.
    let left = store.folder(".strata-apple-2000000000-abcdef")
    try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: false)
    let own = store.folder(".strata-apple-\(getpid())-abcdef")
    try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: false)
    #expect(try store.importNew().isComplete)
    #expect(!FileManager.default.fileExists(atPath: left) && FileManager.default.fileExists(atPath: own))
  }
}
