import CStrataSQLite
import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataAppleSQLite

/// Files that were made to do harm, or were damaged, end in a store or in one clear error.
@Suite struct HostileFileTests {
  static let spoils: [(sql: String, kind: AppleStoreError.Kind)] = [
    ("DROP TABLE Z_METADATA", .notAStore),
    ("DROP TABLE Z_PRIMARYKEY", .notAStore),
    ("DELETE FROM Z_METADATA", .damaged),
    ("UPDATE Z_METADATA SET Z_UUID = 'mine'", .damaged),
    ("DELETE FROM Z_MODELCACHE", .noModel),
    ("DROP TABLE Z_MODELCACHE", .noModel),
    ("UPDATE Z_MODELCACHE SET Z_CONTENT = x'03'", .noModel),
    ("UPDATE Z_MODELCACHE SET Z_CONTENT = zeroblob(1000000)", .noModel),
    ("UPDATE Z_PRIMARYKEY SET Z_NAME = NULL WHERE Z_ENT = 1", .damaged),
    ("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Boss'", .damaged),
    ("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Stranger' WHERE Z_ENT = 1", .model),
    ("UPDATE Z_PRIMARYKEY SET Z_ENT = -1 WHERE Z_ENT = 1", .damaged),
    ("DELETE FROM Z_PRIMARYKEY WHERE Z_ENT = 3", .model),
    ("INSERT INTO Z_PRIMARYKEY VALUES (9, 'Surplus', 0, 0)", .model),
    ("DROP TABLE ZPERSON", .model),
    ("ALTER TABLE ZPERSON DROP COLUMN ZNAME", .model),
    ("DROP TABLE Z_1TAGS", .model),
    // A view would run whatever it likes.
    ("ALTER TABLE ZPERSON RENAME TO HIDDEN; CREATE VIEW ZPERSON AS SELECT * FROM HIDDEN", .model),
    // Without a key each look-up would go through the whole table.
    ("ALTER TABLE ZTEAM RENAME TO HIDDEN; CREATE TABLE ZTEAM AS SELECT * FROM HIDDEN", .damaged),
    ("ALTER TABLE ZTEAM RENAME COLUMN Z_ENT TO OTHER", .damaged),
  ]

  @Test(arguments: spoils)
  func whatIsNoStoreIsRefusedInWords(sql: String, kind: AppleStoreError.Kind) throws {
    let store = try SmallStore()
    try store.run(sql)
    let before = try contents(of: store.folder)
    let error = #expect(throws: AppleStoreError.self) { try store.importNew() }
    #expect(error?.kind == kind, "\(error?.description ?? "")")
    #expect(try contents(of: store.folder) == before)
  }

  /// Counts and numbers that lead nowhere change nothing but what they are about.
  @Test(arguments: [
    "UPDATE Z_PRIMARYKEY SET Z_SUPER = Z_ENT", "UPDATE Z_PRIMARYKEY SET Z_SUPER = 3 WHERE Z_ENT = 1",
    "UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775807", "UPDATE Z_PRIMARYKEY SET Z_MAX = NULL",
    "UPDATE Z_PRIMARYKEY SET Z_MAX = 'many'",
    "CREATE TRIGGER t AFTER INSERT ON ZTEAM BEGIN SELECT NSCoreDataNow(); END",
    "CREATE VIEW v AS SELECT load_extension('x')", "CREATE TABLE ANSCKEVENT (Z_PK INTEGER PRIMARY KEY)",
    "CREATE VIRTUAL TABLE r USING rtree(a, b, c)",
    "UPDATE ZPERSON SET Z_FOK_TEAM = 9223372036854775807", "UPDATE ZPERSON SET Z_FOK_TEAM = NULL",
  ])
  func bookkeepingThatIsWrongDoesNoHarm(sql: String) throws {
    let store = try SmallStore()
    try store.run(sql)
    let report = try store.importNew()
    #expect(report.isComplete, "\(report.findings)")
    #expect(report.objectCount == store.graph.objects.count)
    // New objects get keys behind those that there are.
    #expect(try store.isSound)
  }

  @Test func aKeyThatLeavesTooFewForNewObjectsIsRefused() throws {
    let store = try SmallStore()
    try store.run("INSERT INTO ZTEAM (Z_PK, Z_ENT) VALUES (\(StoreReference.largestTaken + 1), 3)")
    let error = #expect(throws: AppleStoreError.self) { try store.importNew() }
    #expect(
      error?.description.contains("Team/p\(StoreReference.largestTaken + 1) would leave too few") == true,
      "\(error?.description ?? "")")
    try store.run("UPDATE ZTEAM SET Z_PK = 77 WHERE Z_PK > 77")
    try store.run("UPDATE Z_PRIMARYKEY SET Z_MAX = \(StoreReference.largestTaken + 1)")
    let report = try store.importNew()
    #expect(report.remarks.contains { $0.contains("new objects get keys behind those there are") })
    #expect(try store.isSound)
  }

  @Test func aKeyBeyondAllKeysIsRefused() throws {
    let store = try SmallStore()
    try store.run("INSERT INTO ZTEAM (Z_PK, Z_ENT) VALUES (9223372036854775807, 3)")
    let error = #expect(throws: AppleStoreError.self) { try store.importNew() }
    #expect(error?.description.contains("p9223372036854775807") == true, "\(error?.description ?? "")")
    #expect(try store.names == ["App.sqlite", ".App_SUPPORT"])
  }

  @Test func otherFilesAreRefusedByTheirKind() throws {
    let folder = try ScratchFolder()
    func kind(_ name: String) -> AppleStoreError.Kind? {
      do {
        _ = try AppleSQLite.importStore(from: folder.url(name), to: folder.url("New.strata"))
        return nil
      } catch let error as AppleStoreError { return error.kind } catch { return nil }
    }
    #expect(kind("missing.sqlite") == .missing)
    try Data().write(to: folder.url("empty"))
    #expect(kind("empty") == .notAStore)
    try Data("SQLite format 3\0".utf8).write(to: folder.url("short"))
    #expect(kind("short") == .notAStore)
    try FileManager.default.createDirectory(atPath: folder("folder"), withIntermediateDirectories: false)
    #expect(kind("folder") == .notAStore)
    let database = try SQLiteDatabase(
      folder("other.db"), flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, name: "other.db")
    try database.run("CREATE TABLE t (a)")
    database.close()
    #expect(kind("other.db") == .notAStore)
    #expect(!AppleSQLite.isStore(at: folder.url("other.db")))
    #expect(
      try Set(FileManager.default.contentsOfDirectory(atPath: folder.path)) == [
        "empty", "short", "folder", "other.db",
      ])
  }

  /// Bytes anywhere in the file were changed, or its end is missing.
  @Test(arguments: 1...8)
  func damagedPagesEndInAStoreOrAnError(seed: Int) throws {
    let store = try SmallStore()
    let whole = try Data(contentsOf: store.url)
    var random = SeededGenerator(seed: UInt64(seed))
    var outcomes: [String: Int] = [:]
    for _ in 0..<40 {
      var damaged = whole
      if random.chance(20) {
        damaged.removeLast(random.below(damaged.count))
      } else {
        for _ in 0..<(1 + random.below(20)) {
          damaged[random.below(damaged.count)] = UInt8(truncatingIfNeeded: random.next())
        }
      }
      try damaged.write(to: store.url)
      do {
        _ = try store.importNew()
        #expect(try store.isSound)
        outcomes["store", default: 0] += 1
      } catch is AppleStoreError {
        outcomes["error", default: 0] += 1
      } catch is ModelError {
        outcomes["error", default: 0] += 1
      }
      #expect(try Data(contentsOf: store.url) == damaged)
      for name in ["New.strata", "New.strata-lock"] {
        try? FileManager.default.removeItem(atPath: store.folder(name))
      }
      #expect(try store.names == ["App.sqlite", ".App_SUPPORT"])
    }
    #expect(outcomes["error", default: 0] > 0)
  }
}
