import CStrataSQLite
import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataAppleSQLite

/// What an export needs, what it refuses, and that nothing is left then.
@Suite struct ExportTests {
  /// A store of Strata, and an empty one of the app.
  private func prepared(history: Bool = false) throws -> (store: SmallStore, template: URL) {
    let store = try SmallStore()
    #expect(try store.importNew().isComplete)
    let template = store.folder("Empty.sqlite")
    var fixture = AppleFixture(store.schema, PlainGraph(), path: template)
    fixture.keepsHistory = history
    try fixture.write()
    return (store, URL(fileURLWithPath: template))
  }

  private func run(_ url: URL, _ sql: String) throws {
    let database = try SQLiteDatabase(url.path, flags: SQLITE_OPEN_READWRITE, name: url.path)
    try database.run(sql)
    database.close()
  }

  private func refused(_ store: SmallStore, _ hashes: AppleEntityHashes, permits: Bool = false) throws
    -> AppleStoreError?
  {
    let before = try contents(of: store.folder).filter { !$0.key.hasSuffix("-lock") }
    let error = #expect(throws: AppleStoreError.self) {
      try AppleSQLite.exportStore(
        from: store.new, to: store.folder.url("Out.sqlite"), hashes: hashes, permitsLosses: permits)
    }
    #expect(try contents(of: store.folder).filter { !$0.key.hasSuffix("-lock") } == before)
    return error
  }

  @Test func templatesThatCannotBeKeptInStepAreRefused() throws {
    for (sql, kind) in [
      ("CREATE TABLE ANSCKEVENT (Z_PK INTEGER PRIMARY KEY)", AppleStoreError.Kind.unsupported),
      ("INSERT INTO ZPERSON (Z_PK, Z_ENT) VALUES (1, 1)", .unsupported),
      ("INSERT INTO Z_1TAGS VALUES (1, 1)", .unsupported),
      ("CREATE TRIGGER Z_RTREE AFTER INSERT ON ZTEAM BEGIN SELECT 1; END", .unsupported),
      ("ALTER TABLE ZTEAM DROP COLUMN ZTITLE", .model),
      ("INSERT INTO Z_PRIMARYKEY VALUES (9, 'Surplus', 0, 0)", .model),
      ("UPDATE Z_METADATA SET Z_PLIST = x'01'", .damaged),
    ] {
      let (store, template) = try prepared()
      try run(template, sql)
      #expect(try refused(store, .template(template))?.kind == kind, "\(sql)")
    }
  }

  /// Triggers of derived attributes call functions of Apple's framework: they are not run, and stay.
  @Test func triggersOfDerivedAttributesStay() throws {
    let (store, template) = try prepared()
    try run(
      template,
      "CREATE TRIGGER Z_DA_ZTEAM_Team_title_INSERT AFTER INSERT ON ZTEAM BEGIN UPDATE ZTEAM SET ZTITLE = NSCoreDataNow(); END"
    )
    let out = store.folder.url("Out.sqlite")
    let report = try AppleSQLite.exportStore(from: store.new, to: out, hashes: .template(template))
    #expect(report.isComplete)
    let file = try SourceFile(out.path)
    defer { file.close() }
    #expect(try file.database.value("SELECT ZTITLE FROM ZTEAM WHERE Z_PK = 2") == .text("team 2"))
    #expect(
      try file.database.value("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'") == .integer(1))
  }

  @Test func hashesMustBeThoseOfTheModel() throws {
    let (store, _) = try prepared()
    let url = store.folder.url("VersionInfo.plist")
    func write(_ list: [String: Any]) throws {
      try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0).write(to: url)
    }
    #expect(try refused(store, .versionInfo(url))?.kind == .missing)
    try Data("nonsense".utf8).write(to: url)
    #expect(try refused(store, .versionInfo(url))?.kind == .needsHashes)
    let hashes = AppleFixture.hashes(store.schema)
    try write(["NSManagedObjectModel_VersionHashes": ["Old": hashes, "New": hashes]])
    let several = try refused(store, .versionInfo(url))
    #expect(several?.kind == .noVersion && several?.description.contains("New, Old") == true)
    #expect(try refused(store, .versionInfo(url, version: "Other"))?.kind == .noVersion)
    try write(["NSManagedObjectModel_VersionHashes": ["New": hashes.filter { $0.key != "Boss" }]])
    let lacking = try refused(store, .versionInfo(url))
    #expect(lacking?.kind == .model && lacking?.description.contains("Boss") == true)
    try write(["NSManagedObjectModel_VersionHashes": ["New": hashes.mapValues { $0.dropLast() }]])
    #expect(try refused(store, .versionInfo(url))?.kind == .needsHashes)
    try write(["NSManagedObjectModel_VersionHashes": ["Old": hashes, "New": hashes]])
    let report = try AppleSQLite.exportStore(
      from: store.new, to: store.folder.url("Out.sqlite"), hashes: .versionInfo(url, version: "Old"))
    #expect(report.isComplete && report.externalFileCount == 1)
    #expect(AppleSQLite.isStore(at: store.folder.url("Out.sqlite")))
  }

  /// Numbers without an exact form, and members with two owners.
  @Test func lossesAreRefusedOrReported() throws {
    let (store, template) = try prepared()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: SmallStore.model())
    let opened = try coordinator.addPersistentStore(PersistentStoreDescription(url: store.new))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      let persons = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
      let teams = try context.fetch(FetchRequest<ManagedObject>(entityName: "Team"))
      persons[0].setValue(Decimal(string: "12345678901234567890.12345"), forKey: "pay")
      persons[1].setValue(Double.nan, forKey: "weight")
      for team in teams { team.setValue(Set([persons[2]]), forKey: "loose") }
      try context.save()
    }
    try coordinator.remove(opened)
    let error = try refused(store, .template(template))
    #expect(error?.kind == .losses, "\(error?.description ?? "")")
    let report = try AppleSQLite.exportStore(
      from: store.new, to: store.folder.url("Out.sqlite"), hashes: .template(template), permitsLosses: true)
    #expect(
      report.findings.contains { $0.property == "pay" && $0.kind == .inexactValue }, "\(report.findings)")
    #expect(report.findings.contains { $0.property == "weight" && $0.kind == .inexactValue })
    #expect(report.findings.contains { $0.property == "loose" && $0.kind == .lostLink })
  }

  @Test func theHistoryTellsTheExport() throws {
    let (store, template) = try prepared(history: true)
    let out = store.folder.url("Out.sqlite")
    _ = try AppleSQLite.exportStore(from: store.new, to: out, hashes: .template(template))
    let file = try SourceFile(out.path)
    defer { file.close() }
    #expect(
      try file.database.value("SELECT count(*) FROM ATRANSACTION WHERE Z_PK = 1 AND Z_ENT = 16002")
        == .integer(1))
    #expect(
      try file.database.value(
        "SELECT count(*) FROM ACHANGE JOIN ZPERSON ON ZENTITYPK = ZPERSON.Z_PK AND ZENTITY = ZPERSON.Z_ENT")
        == .integer(5))
    #expect(try file.database.value("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = 16001") == .integer(7))
  }

  @Test func namesThatAreTakenAreRefused() throws {
    for name in ["Out.sqlite", ".Out_SUPPORT", "Out.sqlite-wal"] {
      let (store, template) = try prepared()
      try Data("mine".utf8).write(to: store.folder.url(name))
      #expect(try refused(store, .template(template))?.kind == .exists)
    }
  }

  /// Columns, keys, orders and marks as the format has them.
  @Test func rowsHaveTheFormOfApples() throws {
    let (store, template) = try prepared()
    let out = store.folder.url("Out.sqlite")
    _ = try AppleSQLite.exportStore(from: store.new, to: out, hashes: .template(template))
    let file = try SourceFile(out.path)
    defer { file.close() }
    func value(_ sql: String) throws -> SQLiteValue? { try file.database.value(sql) }
    #expect(try value("SELECT Z_FOK_TEAM FROM ZPERSON WHERE Z_PK = 3") == .integer(2_048))
    #expect(try value("SELECT Z_FOK_TEAM FROM ZPERSON WHERE Z_PK = 1") == .integer(3_072))
    #expect(try value("SELECT Z_FOK_TEAM FROM ZPERSON WHERE Z_PK = 2") == .integer(4_096))
    #expect(try value("SELECT Z1_MENTOR FROM ZPERSON WHERE Z_PK = 2") == .integer(2))
    #expect(try value("SELECT Z3LOOSE FROM ZPERSON WHERE Z_PK = 4") == .integer(1))
    #expect(try value("SELECT ZBORN FROM ZPERSON WHERE Z_PK = 2") == .integer(1_000))
    #expect(try value("SELECT count(*) FROM Z_1TAGS WHERE Z_1TAGGED = 2") == .integer(2))
    guard case .blob(let mark)? = try value("SELECT ZPHOTO FROM ZPERSON WHERE Z_PK = 3"),
      case .blob(let inline)? = try value("SELECT ZPHOTO FROM ZPERSON WHERE Z_PK = 4")
    else {
      Issue.record("There are no large values.")
      return
    }
    let name = try #require(ExternalValues.name(mark))
    let data = try Data(contentsOf: store.folder.url(".Out_SUPPORT/_EXTERNAL_DATA/" + name))
    #expect(data == Data(repeating: 2, count: 130_000))
    #expect(inline == Data([1]) + Data(repeating: 3, count: 30))
  }
}
