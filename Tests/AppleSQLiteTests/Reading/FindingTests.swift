import CStrataSQLite
import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataAppleSQLite

/// What is wrong in Apple's store is told by row, becomes nil, and ends the import where that is asked for.
@Suite struct FindingTests {
  typealias Kind = AppleStoreReport.Finding.Kind

  @Test func requiredPropertiesWithoutValuesAreCounted() throws {
    let store = try SmallStore()
    try store.run("UPDATE ZPERSON SET ZNAME = NULL WHERE Z_PK IN (2, 3)")
    try store.run("UPDATE ZPERSON SET ZTEAM = NULL WHERE Z_PK = 4")
    let model = SmallStore.model()
    for property in model.entitiesByName["Person"]?.properties ?? []
    where ["name", "team"].contains(property.name) {
      property.isOptional = false
    }
    var options = AppleImportOptions()
    options.model = model
    let report = try AppleSQLite.importStore(from: store.url, to: store.new, options: options)
    // Nothing was lost.
    #expect(report.isComplete)
    #expect(
      report.remarks.filter { $0.contains("requires") }.map { $0.prefix { $0 != "," } } == [
        "1 object of Boss has no value for “team”", "2 objects of Person have no value for “name”",
      ], "\(report.remarks)")
  }

  static let damages: [(sql: String, kind: Kind, row: String, property: String?)] = [
    ("UPDATE ZPERSON SET ZTEAM = 99 WHERE Z_PK = 2", .danglingLink, "Person/p2", "team"),
    ("UPDATE ZPERSON SET ZTEAM = -1 WHERE Z_PK = 2", .danglingLink, "Person/p2", "team"),
    ("UPDATE ZPERSON SET ZTEAM = x'00' WHERE Z_PK = 2", .misfit, "Person/p2", "team"),
    ("UPDATE ZPERSON SET ZMENTOR = 77 WHERE Z_PK = 4", .danglingLink, "Boss/p4", "mentor"),
    // Only a boss can lead.
    ("UPDATE ZTEAM SET ZLEAD = 2 WHERE Z_PK = 2", .danglingLink, "Team/p2", "lead"),
    ("UPDATE ZTEAM SET ZLEAD = 4 WHERE Z_PK = 2", .oneSidedLink, "Team/p2", "lead"),
    ("UPDATE ZPERSON SET ZAGE = 70000 WHERE Z_PK = 3", .misfit, "Person/p3", "age"),
    ("UPDATE ZPERSON SET ZAGE = 'old' WHERE Z_PK = 3", .misfit, "Person/p3", "age"),
    ("UPDATE ZPERSON SET ZAGE = 1.5 WHERE Z_PK = 3", .misfit, "Person/p3", "age"),
    ("UPDATE ZPERSON SET ZNAME = x'4142' WHERE Z_PK = 3", .misfit, "Person/p3", "name"),
    ("UPDATE ZPERSON SET ZNAME = CAST(x'FFFE' AS TEXT) WHERE Z_PK = 3", .misfit, "Person/p3", "name"),
    ("UPDATE ZPERSON SET ZBORN = 9e999 WHERE Z_PK = 1", .misfit, "Boss/p1", "born"),
    ("UPDATE ZPERSON SET ZPAY = 'seven' WHERE Z_PK = 1", .misfit, "Boss/p1", "pay"),
    ("UPDATE ZPERSON SET ZKEY = x'01' WHERE Z_PK = 1", .misfit, "Boss/p1", "key"),
    ("UPDATE ZPERSON SET ZSITE = 'a b<c' WHERE Z_PK = 1", .misfit, "Boss/p1", "site"),
    ("UPDATE ZPERSON SET ZWEIGHT = x'01' WHERE Z_PK = 1", .misfit, "Boss/p1", "weight"),
    ("UPDATE ZPERSON SET ZPHOTO = x'07' WHERE Z_PK = 1", .misfit, "Boss/p1", "photo"),
    ("UPDATE ZPERSON SET ZPHOTO = x'' WHERE Z_PK = 1", .misfit, "Boss/p1", "photo"),
    // No name of a file: nothing outside of the folder is ever read.
    (
      "UPDATE ZPERSON SET ZPHOTO = CAST(x'02' || '../../../../../../../../../../etc/passwd' AS BLOB) WHERE Z_PK = 1",
      .misfit, "Boss/p1", "photo"
    ),
    (
      "UPDATE ZPERSON SET ZPHOTO = CAST(x'02' || '9E107D9D-372B-4C1D-8B6A-3A3F2B7C0D11' AS BLOB) WHERE Z_PK = 1",
      .missingFile, "Boss/p1", "photo"
    ),
    ("INSERT INTO ZPERSON (Z_PK, Z_ENT, ZNAME) VALUES (50, 3, 'stray')", .unknownRow, "ZPERSON row 50", nil),
    (
      "INSERT INTO ZPERSON (Z_PK, Z_ENT, ZNAME) VALUES (50, NULL, 'stray')", .unknownRow, "ZPERSON row 50",
      nil
    ),
    ("INSERT INTO ZPERSON (Z_PK, Z_ENT, ZNAME) VALUES (-7, 1, 'stray')", .unknownRow, "ZPERSON row -7", nil),
    ("UPDATE ZPERSON SET Z3LOOSE = 9 WHERE Z_PK = 2", .danglingLink, "Team/p9", "loose"),
    ("INSERT INTO Z_1TAGS VALUES (4, 99)", .danglingLink, "Boss/p4", "tags"),
    ("INSERT INTO Z_1TAGS VALUES (98, 4)", .danglingLink, "Person/p98", "tags"),
  ]

  /// Where the model in the store does not say whether values have marks, bytes are kept as they are, and that is told.
  @Test func marksThatTheModelDoesNotTellOfAreTold() throws {
    let store = try SmallStore()
    let database = try SQLiteDatabase(store.path, flags: SQLITE_OPEN_READWRITE, name: store.path)
    let statement = try database.prepare("UPDATE Z_MODELCACHE SET Z_CONTENT = ?1")
    let model = store.schema.model
    try statement.bind(.blob(ModelArchive.packed(ModelArchive.bytes(model, saysExternal: false))), 1)
    try statement.run()
    database.close()
    let report = try store.importNew()
    // The one reference to a file, and the column as a whole.
    #expect(report.findingCounts == [.misfit: 2], "\(report.findings)")
    #expect(report.findings.contains { $0.row == "ZPERSON" && $0.property == "ZPHOTO" })
    var options = AppleImportOptions()
    options.model = SmallStore.model()
    let named = try AppleSQLite.importStore(
      from: store.url, to: store.folder.url("Named.strata"), options: options)
    #expect(named.isComplete)
    #expect(try PlainGraph(strata: store.folder("Named.strata")) == store.graph)
  }

  /// What no property of the model is for is told, and never passed over.
  @Test(arguments: [
    (
      "ALTER TABLE ZPERSON ADD COLUMN ZNICK VARCHAR; UPDATE ZPERSON SET ZNICK = 'x' WHERE Z_PK = 1",
      Kind.unknownColumn, "ZPERSON"
    ),
    (
      "CREATE TABLE Z_1OTHERS (Z_1A INTEGER, Z_3B INTEGER); INSERT INTO Z_1OTHERS VALUES (1, 1)",
      .unknownColumn, "Z_1OTHERS"
    ),
    // Of a relationship that the model does not call ordered.
    (
      "ALTER TABLE Z_1TAGS ADD COLUMN Z_FOK_3TAGS INTEGER; UPDATE Z_1TAGS SET Z_FOK_3TAGS = 2048",
      .unknownColumn, "Z_1TAGS"
    ),
    ("UPDATE Z_METADATA SET Z_PLIST = x'00'", .lostMetadata, "Z_METADATA"),
  ])
  func whatTheModelHasNoPlaceForIsTold(sql: String, kind: Kind, row: String) throws {
    let store = try SmallStore()
    // A column without values says nothing.
    try store.run(
      "ALTER TABLE ZPERSON ADD COLUMN ZEMPTY VARCHAR; CREATE TABLE Z_1NONE (Z_1A INTEGER, Z_3B INTEGER)")
    try store.run(sql)
    let error = #expect(throws: AppleStoreError.self) { try store.importNew(strict: true) }
    #expect(error?.kind == .losses)
    let report = try store.importNew()
    #expect(report.findingCounts == [kind: 1] && report.findings.first?.row == row, "\(report.findings)")
    #expect(try PlainGraph(strata: store.new.path) == store.graph)
  }

  @Test(arguments: damages)
  func whatIsWrongIsToldByRow(sql: String, kind: Kind, row: String, property: String?) throws {
    let store = try SmallStore()
    try store.run(sql)
    let before = try contents(of: store.folder)
    // Where it must not be, nothing is made.
    let error = #expect(throws: AppleStoreError.self) { try store.importNew(strict: true) }
    #expect(error?.kind == .losses && error?.description.contains(row) == true, "\(error?.description ?? "")")
    #expect(try contents(of: store.folder) == before)
    let report = try store.importNew()
    #expect(!report.isComplete && report.findingCounts[kind] ?? 0 >= 1, "\(report.findings)")
    let finding = try #require(report.findings.first { $0.kind == kind })
    #expect(finding.row == row && finding.property == property, "\(finding)")
    // Everything else came along.
    let found = try PlainGraph(strata: store.new.path)
    #expect(found.objects.count == store.graph.objects.count)
    var differences = 0
    for (address, object) in store.graph.objects where found.objects[address] != object { differences += 1 }
    #expect(differences <= 3)
    #expect(try store.isSound)
  }

  @Test func bothEndsOfAContradictionAreNil() throws {
    let store = try SmallStore()
    // The first boss leads the first team, which says that the other one does.
    try store.run("UPDATE ZTEAM SET ZLEAD = 4 WHERE Z_PK = 1")
    let report = try store.importNew()
    #expect(report.findingCounts == [.oneSidedLink: 2])
    let found = try PlainGraph(strata: store.new.path)
    #expect(found.objects.values.allSatisfy { $0.toOne["Team.lead"] == nil && $0.toOne["Boss.leads"] == nil })
  }

  @Test func membersOfRowsThatWereLeftOutAreLeftOut() throws {
    let store = try SmallStore()
    try store.run("UPDATE ZPERSON SET Z_ENT = 77 WHERE Z_PK = 2")
    let report = try store.importNew()
    #expect(report.findingCounts[.unknownRow] == 1 && (report.findingCounts[.danglingLink] ?? 0) >= 2)
    let found = try PlainGraph(strata: store.new.path)
    #expect(found.objects.count == store.graph.objects.count - 1)
    #expect(try store.isSound)
  }

  /// A file that is larger than any value can be is not read into memory.
  @Test func aFileThatIsTooLargeIsNotRead() throws {
    let store = try SmallStore()
    let folder = store.folder(".App_SUPPORT/_EXTERNAL_DATA")
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
    #expect(truncate(folder + "/" + name, off_t(ExternalValues.largest) + 1) == 0)
    #expect(try store.importNew().findingCounts == [.missingFile: 1])
  }

  /// A constraint of the model that the rows break ends the import, and both objects are named.
  @Test func uniquenessIsKept() throws {
    let store = try SmallStore()
    let model = SmallStore.model()
    model.entitiesByName["Team"]?.uniquenessConstraints = [["title"]]
    var options = AppleImportOptions()
    options.model = model
    try store.run("UPDATE ZTEAM SET ZTITLE = 'same'")
    let error = #expect(throws: AppleStoreError.self) {
      try AppleSQLite.importStore(from: store.url, to: store.new, options: options)
    }
    #expect(error?.kind == .model)
    #expect(error?.description.contains("Team/p1") == true && error?.description.contains("Team/p2") == true)
    #expect(try store.names == ["App.sqlite", ".App_SUPPORT"])
  }

  /// Derived attributes are computed anew, whatever the column says.
  @Test func derivedValuesAreComputedAnew() throws {
    let store = try SmallStore()
    let model = SmallStore.model()
    let team = try #require(model.entitiesByName["Team"])
    team.properties += [
      DerivedAttributeDescription("loud", .string, derivationExpression: "uppercase:(title)"),
      DerivedAttributeDescription("size", .integer64, derivationExpression: "members.@count"),
    ]
    var options = AppleImportOptions()
    options.model = model
    try store.run(
      "ALTER TABLE ZTEAM ADD COLUMN ZLOUD VARCHAR; ALTER TABLE ZTEAM ADD COLUMN ZSIZE INTEGER; UPDATE ZTEAM SET ZLOUD = 'stale', ZSIZE = 77"
    )
    #expect(try AppleSQLite.importStore(from: store.url, to: store.new, options: options).isComplete)
    let found = try PlainGraph(strata: store.new.path)
    let teams = found.objects.values.filter { $0.values["title"] != nil }
    #expect(Set(teams.map { $0.values["loud"] }) == [.string("TEAM 1"), .string("TEAM 2")])
    #expect(Set(teams.map { $0.values["size"] }) == [.integer(3), .integer(2)])
  }

  /// A store may hold the entities of a configuration only.
  @Test func aConfigurationIsEnough() throws {
    let store = try SmallStore()
    func model(hasConfiguration: Bool) -> ManagedObjectModel {
      let model = SmallStore.model()
      if hasConfiguration { model.setEntities(model.entities, forConfigurationName: "Main") }
      model.entities += [EntityDescription("Other", properties: [AttributeDescription("x", .string)])]
      return model
    }
    var options = AppleImportOptions()
    options.model = model(hasConfiguration: true)
    #expect(try AppleSQLite.importStore(from: store.url, to: store.new, options: options).isComplete)
    #expect(try PlainGraph(strata: store.new.path).objects.count == store.graph.objects.count)
    options.model = model(hasConfiguration: false)
    let error = #expect(throws: AppleStoreError.self) {
      try AppleSQLite.importStore(from: store.url, to: store.folder.url("B.strata"), options: options)
    }
    #expect(error?.kind == .model && error?.description.contains("Other") == true)
  }

  @Test func aHundredFindingsAreKeptAndAllAreCounted() throws {
    let store = try SmallStore()
    try store.run(
      "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 399) INSERT INTO ZPERSON (Z_PK, Z_ENT, ZTEAM) SELECT i, 1, 55 FROM n"
    )
    let report = try store.importNew()
    #expect(report.findingCount == 300 && report.findings.count == 100)
  }

  /// Forms that are allowed, if unusual: whole seconds and numbers come back as integers.
  @Test func valuesMayHaveSeveralForms() throws {
    let store = try SmallStore()
    try store.run(
      """
      UPDATE ZPERSON SET ZBORN = 7, ZPAY = 3, ZKEY = '0F7E28B9-3A3E-4B0A-9B6F-0D8E2D2F4E11', ZWEIGHT = 5 WHERE Z_PK = 1;
      UPDATE ZPERSON SET ZBORN = 7.5, ZPAY = 12.5, ZKEY = x'0F7E28B93A3E4B0A9B6F0D8E2D2F4E11', ZISON = 1 WHERE Z_PK = 2;
      """)
    #expect(try store.importNew().isComplete)
    let found = try PlainGraph(strata: store.new.path)
    let boss = try #require(found.objects.first { $0.key.key == 1 && $0.value.values["name"] != nil }?.value)
    let person = try #require(
      found.objects.first { $0.key.key == 2 && $0.value.values["name"] != nil }?.value)
    let key = try #require(UUID(uuidString: "0F7E28B9-3A3E-4B0A-9B6F-0D8E2D2F4E11"))
    #expect(
      boss.values["born"] == .date(Date(timeIntervalSinceReferenceDate: 7))
        && boss.values["pay"] == .decimal(3))
    #expect(boss.values["key"] == .uuid(key) && boss.values["weight"] == .double(5))
    #expect(person.values["pay"] == .decimal(Decimal(string: "12.5")!) && person.values["key"] == .uuid(key))
    #expect(person.values["isOn"] == .boolean(true))
  }

  @Test(arguments: [
    ("12", true), ("-0.5e3", true), (".5", true), ("5.", true), ("1e+2", true), ("", false), ("e5", false),
    ("1e", false),
    ("1 2", false), ("1-2", false), ("0x1", false), ("nan", false), ("--1", false),
  ])
  func decimalsAreTextsThatAreNothingElse(text: String, isOne: Bool) {
    #expect((AppleValue.decimal(text) != nil) == isOne)
  }
}
