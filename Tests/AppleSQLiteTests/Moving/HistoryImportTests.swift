import CStrataSQLite
import Foundation
import StrataCore
import Testing
import TortureKit

@testable import StrataAppleSQLite
@testable import StrataCommand

/// A history that Core Data has recorded goes on in Strata, if asked.
@Suite struct HistoryImportTests {
  struct Change: Equatable, CustomStringConvertible {
    var kind: PersistentHistoryChangeType
    var entity: String
    var key: Int64
    var properties: Set<String> = []
    var tombstone: [String: String] = [:]

    var description: String { "\(kind) \(entity)/p\(key) \(properties.sorted()) \(tombstone)" }
  }

  struct Transaction: Equatable {
    var number: Int64
    var time: Double
    var author: String?
    var contextName: String?
    var process = ""
    var changes: [Change]
  }

  // MARK: Written from the description of the format

  /// What a change can name, in the order of its bits.
  private static func names(_ entity: EntityDescription) -> [String] {
    entity.properties.filter { !$0.isTransient && !($0 is FetchedPropertyDescription) }.map(\.name).sorted()
  }

  private static func kept(_ entity: EntityDescription) -> [String] {
    entity.attributesByName.values.filter { !$0.isTransient && $0.preservesValueInHistoryOnDeletion }
      .map(\.name).sorted()
  }

  private static func bits(_ properties: Set<String>, _ names: [String]) -> Data {
    var bytes = Data(count: (names.count + 7) / 8)
    for (place, name) in names.enumerated() where properties.contains(name) {
      bytes[place / 8] |= 0x80 >> UInt8(place % 8)
    }
    return bytes
  }

  static func write(_ history: [Transaction], _ model: ManagedObjectModel, to path: String) throws {
    let database = try SQLiteDatabase(path, flags: SQLITE_OPEN_READWRITE, name: path)
    defer { database.close() }
    let most = model.entities.map { kept($0).count }.max() ?? 0
    let tombstones = (0..<most).map { ", ZTOMBSTONE\($0) BLOB" }.joined()
    try database.run(
      """
      DROP TABLE IF EXISTS ACHANGE; DROP TABLE IF EXISTS ATRANSACTION; DROP TABLE IF EXISTS ATRANSACTIONSTRING;
      CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB\(tombstones));
      CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER, ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR, ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR, ZQUERYGEN BLOB);
      CREATE TABLE ATRANSACTIONSTRING (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
      BEGIN
      """)
    var strings: [String: Int64] = [:]
    func string(_ text: String?) throws -> SQLiteValue {
      guard let text else { return .null }
      if let known = strings[text] { return .integer(known) }
      let number = Int64(strings.count + 1)
      strings[text] = number
      let statement = try database.prepare("INSERT INTO ATRANSACTIONSTRING VALUES (?1, 16003, 1, ?2)")
      try statement.bind(.integer(number), 1)
      try statement.bind(.text(text), 2)
      try statement.run()
      return .integer(number)
    }
    var key: Int64 = 100
    for transaction in history {
      // Older files have the texts in the row.
      let isInline = transaction.number % 3 == 0
      let row = try database.prepare(
        "INSERT INTO ATRANSACTION (Z_PK, Z_ENT, Z_OPT, ZTIMESTAMP, \(isInline ? "ZAUTHOR, ZCONTEXTNAME, ZPROCESSID" : "ZAUTHORTS, ZCONTEXTNAMETS, ZPROCESSIDTS")) VALUES (?1, 16002, NULL, ?2, ?3, ?4, ?5)"
      )
      try row.bind(.integer(transaction.number), 1)
      try row.bind(.real(transaction.time), 2)
      for (place, text) in [transaction.author, transaction.contextName, transaction.process].enumerated() {
        try row.bind(isInline ? .text(text) : try string(text), 3 + place)
      }
      try row.run()
      for change in transaction.changes {
        let entity = try #require(model.entitiesByName[change.entity])
        let number = try database.value("SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = '\(change.entity)'")
        let kept = kept(entity)
        let columns = kept.indices.map { ", ZTOMBSTONE\($0)" }.joined()
        let row = try database.prepare(
          "INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS\(columns)) VALUES (?1, 16001, ?2, ?3, ?4, ?5, ?6\(kept.indices.map { ", ?\(7 + $0)" }.joined()))"
        )
        try row.bind(.integer(key), 1)
        try row.bind(.integer(Int64(change.kind.rawValue)), 2)
        try row.bind(number ?? .null, 3)
        try row.bind(.integer(change.key), 4)
        try row.bind(.integer(transaction.number), 5)
        if change.kind == .update { try row.bind(.blob(bits(change.properties, names(entity))), 6) }
        for (place, name) in kept.enumerated() {
          guard let text = change.tombstone[name] else { continue }
          try row.bind(Int64(text).map { .integer($0) } ?? .text(text), 7 + place)
        }
        try row.run()
        key += 1
      }
    }
    try database.run("COMMIT")
  }

  // MARK: Read by the public interface

  static func coordinator(_ url: URL, _ model: ManagedObjectModel) throws
    -> PersistentStoreCoordinator
  {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription(url: url)
    description.recordsHistory = true
    description.historyRetention = .forever
    try coordinator.addPersistentStore(description)
    return coordinator
  }

  static func history(_ coordinator: PersistentStoreCoordinator) throws -> [Transaction] {
    try coordinator.history(.fetchHistory(after: .beginning)).transactions.map { transaction in
      Transaction(
        number: transaction.transactionNumber, time: transaction.timestamp.timeIntervalSinceReferenceDate,
        author: transaction.author, contextName: transaction.contextName, process: transaction.processID,
        changes: (transaction.changes ?? []).map { change in
          let tombstone = (change.tombstone ?? [:]).map { ("\($0.key)", "\($0.value)") }
          return Change(
            kind: change.changeType, entity: change.changedObjectID.entity.name ?? "",
            key: Int64(change.changedObjectID.uriRepresentation().lastPathComponent.dropFirst()) ?? 0,
            properties: change.updatedPropertyNames,
            tombstone: Dictionary(tombstone, uniquingKeysWith: { first, _ in first }))
        })
    }
  }

  static func options(_ model: ManagedObjectModel) -> AppleImportOptions {
    var options = AppleImportOptions()
    options.model = model
    options.importsHistory = true
    return options
  }

  // MARK: Tests

  private static func random(_ model: ManagedObjectModel, _ path: String, _ random: inout SeededGenerator)
    throws -> [Transaction]
  {
    let database = try SQLiteDatabase(path, flags: SQLITE_OPEN_READWRITE, name: path)
    defer { database.close() }
    var history: [Transaction] = []
    var number = Int64(random.below(9))
    let entities = model.entities.filter { !$0.isAbstract }.sorted { ($0.name ?? "") < ($1.name ?? "") }
    for _ in 0..<(1 + random.below(30)) {
      number += 1 + Int64(random.below(3))
      var transaction = Transaction(
        number: number, time: 700_000_000 + Double(number) / 8,
        author: random.chance(70) ? ["editor", "widget", "é"][random.below(3)] : nil,
        contextName: random.chance(40) ? "view" : nil, process: "App", changes: [])
      for _ in 0..<(1 + random.below(40)) {
        // Side by side, as saves of new objects are.
        let last = random.chance(40) ? transaction.changes.last : nil
        let own = last.flatMap { model.entitiesByName[$0.entity] } ?? entities[random.below(entities.count)]
        var root = own
        while let parent = root.superentity { root = parent }
        guard
          case .integer(let most)? = try database.value(
            "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = '\(root.name ?? "")'")
        else { continue }
        var change = Change(
          kind: [.insert, .update, .delete][random.below(3)], entity: own.name ?? "",
          key: 1 + Int64(random.below(Int(most))))
        if let last, last.key < most {
          change = last
          change.key += 1
        }
        if change.kind == .update, change.properties.isEmpty {
          change.properties = Set(names(own).filter { _ in random.chance(40) })
        } else if change.kind == .delete {
          change.tombstone = [:]
          for name in kept(own) where random.chance(60) {
            let isText = own.attributesByName[name]?.attributeType == .string
            change.tombstone[name] = isText ? "text \(random.below(100))" : "\(random.below(100))"
          }
        }
        transaction.changes.append(change)
      }
      history.append(transaction)
    }
    return history
  }

  @Test(arguments: RoundTripTests.seeds)
  func aRandomHistoryIsTheSameInStrata(seed: Int) throws {
    let folder = try ScratchFolder()
    var random = SeededGenerator(seed: UInt64(seed) &+ 77)
    let model = RandomModel.make(&random)
    for entity in model.entities {
      let own = Set((entity.superentity?.properties ?? []).map(\.name))
      for attribute in entity.attributesByName.values.sorted(by: { $0.name < $1.name })
      where !own.contains(attribute.name) && [.string, .integer64].contains(attribute.attributeType) {
        attribute.preservesValueInHistoryOnDeletion = random.chance(60)
      }
    }
    let schema = try model.schema()
    var fixture = AppleFixture(
      schema, PlainGraph.random(schema, &random, count: 40), path: folder("App.sqlite"))
    fixture.keepsHistory = true
    try fixture.write()
    let wanted = try Self.random(model, folder("App.sqlite"), &random)
    try Self.write(wanted, model, to: folder("App.sqlite"))
    let report = try AppleSQLite.importStore(
      from: folder.url("App.sqlite"), to: folder.url("A.strata"), options: Self.options(model))
    #expect(report.isComplete, "seed \(seed): \(report.findings)")
    #expect(report.transactionCount == wanted.count)
    #expect(report.changeCount == wanted.reduce(0) { $0 + $1.changes.count })
    let found = try Self.history(try Self.coordinator(folder.url("A.strata"), model))
    #expect(found.map(\.number) == wanted.map(\.number), "seed \(seed)")
    for (a, b) in zip(found, wanted) where a != b {
      Issue.record("seed \(seed), transaction \(b.number): \(a) instead of \(b)")
    }
    let store = try LMDBStore(url: folder.url("A.strata"), schema: schema)
    #expect(try store.check().isSound)
    store.close()
  }

  static let saves = [
    Transaction(
      number: 7, time: 800_000_000, author: "editor", contextName: "view", process: "App",
      changes: [
        Change(kind: .insert, entity: "Person", key: 2), Change(kind: .insert, entity: "Person", key: 3),
        Change(kind: .insert, entity: "Boss", key: 4),
      ]),
    Transaction(
      number: 9, time: 800_000_060, author: nil, contextName: nil, process: "App",
      changes: [
        Change(kind: .update, entity: "Person", key: 2, properties: ["name", "team"]),
        Change(kind: .update, entity: "Team", key: 1, properties: ["members"]),
        Change(kind: .delete, entity: "Person", key: 7),
      ]),
  ]

  @Test("the store goes on from the history that it has taken over, and knows where it began")
  func itGoesOn() throws {
    let store = try SmallStore(history: true)
    let model = SmallStore.model()
    try Self.write(Self.saves, model, to: store.path)
    let report = try AppleSQLite.importStore(
      from: store.url, to: store.new, options: Self.options(model))
    #expect(report.isComplete && report.transactionCount == 2 && report.changeCount == 6, "\(report)")
    // A store that is opened without a word would delete what is older than 30 days.
    #expect(
      report.remarks.contains { $0.contains("2026-05-09") && $0.contains("historyRetention") },
      "\(report.remarks)")
    let coordinator = try Self.coordinator(store.new, model)
    #expect(try Self.history(coordinator) == Self.saves)
    let context = ManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let team = try #require(model.entitiesByName["Team"])
      let object = ManagedObject(entity: team, insertInto: context)
      object.setValue("new", forKey: "title")
      try context.save()
    }
    let all = try coordinator.history(.fetchHistory(after: .beginning)).transactions
    #expect(all.count == 3 && all[2].transactionNumber > 9)
    let first = try #require(all.first)
    #expect(
      try coordinator.history(.fetchHistory(after: first.token)).transactions.map(\.transactionNumber)
        == all.dropFirst().map(\.transactionNumber))
    #expect(
      try coordinator.history(.fetchHistory(after: Date(timeIntervalSinceReferenceDate: 800_000_030)))
        .transactions.count == 2)
    #expect(try coordinator.history(.deleteHistory(before: all[1])).count == 1)
    try coordinator.remove(try #require(coordinator.persistentStores.first))
    #expect(try store.isSound)
  }

  @Test("tools that write delete nothing of an old history")
  func toolsKeepIt() throws {
    let store = try SmallStore(history: true)
    let model = SmallStore.model()
    try Self.write(Self.saves, model, to: store.path)
    func run(_ arguments: String...) -> (code: Int32, output: String, error: String) {
      let (output, errors) = (Output.capturing(), Output.capturing())
      let code = Output.$current.withValue(output) {
        Output.$errors.withValue(errors) { StrataCommand.execute(arguments) }
      }
      return (code, output.text, errors.text)
    }
    var said = run("import", store.path, store.new.path, "--history")
    #expect(
      said.code == 0 && said.output.contains("2 transactions of the history (6 changes)")
        && said.error.contains("historyRetention"), "\(said)")
    said = run("history", store.new.path, "--changes")
    #expect(
      said.output.contains("by editor in view") && said.output.contains("update Team p1: members"), "\(said)")
    // What comes out of a file makes no line of its own, and steers no terminal.
    try store.run(
      "UPDATE ATRANSACTION SET ZAUTHORTS = NULL, ZAUTHOR = 'Eve' || x'0A' || '3  fake' || x'1B' || '[2J' WHERE Z_PK = 9"
    )
    #expect(run("import", store.path, store.folder("Forged.strata"), "--history").code == 0)
    said = run("history", store.folder("Forged.strata"))
    #expect(
      said.output.split(separator: "\n").count == 2 && said.output.contains("by Eve␊3  fake␛[2J"), "\(said)")
    // A page that edits.
    do {
      let open = try OpenStore(store.new.path, writes: true)
      let context = ManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = open.coordinator
      try context.performAndWait {
        let team = try #require(open.coordinator.managedObjectModel.entitiesByName["Team"])
        ManagedObject(entity: team, insertInto: context).setValue("edited", forKey: "title")
        try context.save()
      }
    }
    let more = store.folder("more.jsonl")
    #expect(run("dump", store.new.path, more).code == 0)
    said = run("load", more, store.new.path, "--into")
    #expect(said.code == 0, "\(said)")
    said = run("compact", store.new.path)
    #expect(said.code == 0, "\(said)")
    let found = try Self.history(try Self.coordinator(store.new, model))
    #expect(found.prefix(2) == Self.saves[...] && found.count > 3, "\(found)")
  }

  @Test("what the model does not explain is left out, counted and told; a strict import refuses it")
  func findings() throws {
    let store = try SmallStore(history: true)
    let model = SmallStore.model()
    try Self.write(Self.saves, model, to: store.path)
    // An entity and a key that there are not, a kind, a transaction, and a property beyond the last.
    try store.run(
      """
      INSERT INTO ACHANGE (Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) VALUES
        (1, 0, 99, 1, 7), (2, 0, 2, 4000, 7), (3, 0, 2, -1, 7), (4, 7, 2, 2, 7), (5, 0, 2, 2, 8), (6, 0, 2, 2, NULL), (7, 0, 2, 2, 12);
      INSERT INTO ACHANGE (Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS) VALUES (8, 1, 2, 3, 9, x'00000001');
      INSERT INTO ATRANSACTION (Z_PK) VALUES (10);
      INSERT INTO ATRANSACTION (Z_PK, ZTIMESTAMP) VALUES (0, 1), (9223372036854775807, 1), (34359738368, 1);
      INSERT INTO ATRANSACTION (Z_PK, ZTIMESTAMP, ZAUTHORTS) VALUES (11, 1, 999);
      """)
    let number = try SQLiteDatabase(store.path, flags: SQLITE_OPEN_READWRITE, name: store.path)
    #expect(try number.value("SELECT Z_NAME FROM Z_PRIMARYKEY WHERE Z_ENT = 2") == .text("Boss"))
    number.close()
    var options = Self.options(model)
    options.refusesLosses = true
    let error = #expect(throws: AppleStoreError.self) {
      try AppleSQLite.importStore(from: store.url, to: store.new, options: options)
    }
    #expect(error?.kind == .losses, "\(String(describing: error))")
    #expect(try store.names == ["App.sqlite", ".App_SUPPORT"])
    let report = try AppleSQLite.importStore(
      from: store.url, to: store.new, options: Self.options(model))
    let found = report.findings.map(\.message)
    for part in [
      "an entity that the model does not have were left out: 1", "the store has never given were left out: 2",
      "an unknown kind were left out: 1", "no transaction were left out: 3", "a property that the model",
      "transactions without a time", "transactions with a number that is none were left out: 3",
      "cannot be read were left out: 1",
    ] { #expect(found.contains { $0.contains(part) }, "\(part): \(found)") }
    #expect(report.findingCounts == [.lostHistory: 8], "\(report.findingCounts)")
    var wanted = Self.saves
    wanted[1].changes.insert(Change(kind: .update, entity: "Boss", key: 3), at: 0)
    #expect(try Self.history(try Self.coordinator(store.new, model)) == wanted)
  }

  @Test("a history that cannot be read keeps nobody from the objects; it is an error for who wants it")
  func damaged() throws {
    let store = try SmallStore(history: true)
    try Self.write(Self.saves, SmallStore.model(), to: store.path)
    try store.damage("ACHANGE")
    let error = #expect(throws: AppleStoreError.self) {
      try AppleSQLite.importStore(from: store.url, to: store.new, options: Self.options(SmallStore.model()))
    }
    #expect(error?.kind == .damaged, "\(String(describing: error))")
    let report = try store.importNew(strict: true)
    #expect(
      report.objectCount == 7 && report.remarks.contains { $0.contains("cannot be read") },
      "\(report.remarks)")
  }

  @Test("values that stay of deleted objects are told when the model does not say that they do")
  func unknownValues() throws {
    let store = try SmallStore(history: true)
    let model = SmallStore.model()
    model.entitiesByName["Person"]?.attributesByName["name"]?.preservesValueInHistoryOnDeletion = true
    var saves = Self.saves
    saves[1].changes[2].tombstone = ["name": "gone"]
    try Self.write(saves, model, to: store.path)
    try store.run("ALTER TABLE ACHANGE ADD COLUMN ZTOMBSTONE1 BLOB")
    // A team keeps none, and a person one.
    try store.run(
      "INSERT INTO ACHANGE (Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZTOMBSTONE0, ZTOMBSTONE1) VALUES (1, 2, 3, 2, 9, 'title', NULL), (2, 2, 1, 3, 9, 'name', 'more')"
    )
    let report = try AppleSQLite.importStore(from: store.url, to: store.new, options: Self.options(model))
    #expect(
      report.findings.count == 1 && report.findings[0].message.hasSuffix("name the model: 2"),
      "\(report.findings)")
    saves[1].changes =
      [
        Change(kind: .delete, entity: "Team", key: 2), Change(kind: .delete, entity: "Person", key: 3),
      ] + saves[1].changes
    #expect(try Self.history(try Self.coordinator(store.new, model)) == saves)
  }

  @Test("numbers go on behind those of transactions that the app has deleted")
  func numbersGoOn() throws {
    let store = try SmallStore(history: true)
    let model = SmallStore.model()
    try store.run("UPDATE Z_PRIMARYKEY SET Z_MAX = 5000 WHERE Z_ENT = 16002")
    let report = try AppleSQLite.importStore(from: store.url, to: store.new, options: Self.options(model))
    #expect(report.isComplete && report.transactionCount == 0)
    let coordinator = try Self.coordinator(store.new, model)
    let context = ManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let team = try #require(model.entitiesByName["Team"])
    try context.performAndWait {
      ManagedObject(entity: team, insertInto: context).setValue("new", forKey: "title")
      try context.save()
    }
    let all = try coordinator.history(.fetchHistory(after: .beginning)).transactions
    #expect(all.count == 1 && all[0].transactionNumber > 5_000)
  }

  @Test("no new object has the key of one that only the history knows")
  func keysOfTheHistory() throws {
    let store = try SmallStore(history: true)
    let model = SmallStore.model()
    try Self.write(Self.saves, model, to: store.path)
    // A row that is left out.
    try store.run("INSERT INTO ZPERSON (Z_PK, Z_ENT) VALUES (500, 77)")
    try store.run(
      "INSERT INTO ACHANGE (Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) VALUES (1, 2, 1, 500, 9)")
    let report = try AppleSQLite.importStore(from: store.url, to: store.new, options: Self.options(model))
    #expect(report.findingCounts == [.unknownRow: 1] && report.changeCount == 7, "\(report.findings)")
    #expect(try store.isSound)
    let context = ManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = try Self.coordinator(store.new, model)
    let person = try #require(model.entitiesByName["Person"])
    try context.performAndWait {
      let object = ManagedObject(entity: person, insertInto: context)
      try context.save()
      #expect((Int(object.objectID.uriRepresentation().lastPathComponent.dropFirst()) ?? 0) > 500)
    }
  }

  @Test("a transaction of many changes and large values is written in steps")
  func large() throws {
    let store = try SmallStore(history: true)
    let model = SmallStore.model()
    model.entitiesByName["Person"]?.attributesByName["name"]?.preservesValueInHistoryOnDeletion = true
    try Self.write(Self.saves, model, to: store.path)
    try store.run(
      """
      UPDATE Z_PRIMARYKEY SET Z_MAX = 100000 WHERE Z_NAME = 'Person';
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70000)
        INSERT INTO ACHANGE (Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS) SELECT 1000 + i, 1, 1, i, 9, CASE i % 2 WHEN 0 THEN x'80' ELSE x'40' END FROM n;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
        INSERT INTO ACHANGE (Z_PK, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZTOMBSTONE0) SELECT 100000 + i, 2, 1, 80000 + i, 9, i || printf('%60000s', 'x') FROM n;
      """)
    let report = try AppleSQLite.importStore(from: store.url, to: store.new, options: Self.options(model))
    #expect(report.isComplete && report.changeCount == 70_106, "\(report)")
    let found = try Self.history(try Self.coordinator(store.new, model))
    #expect(found.map(\.number) == [7, 9] && found[1].changes.prefix(3) == Self.saves[1].changes[...])
    let names = Self.names(try #require(model.entitiesByName["Person"]))
    let rest = found[1].changes.dropFirst(3)
    #expect(rest.count == 70_100)
    for (place, change) in rest.enumerated() {
      let wanted =
        place < 70_000
        ? Change(
          kind: .update, entity: "Person", key: Int64(place + 1),
          properties: [names[(place + 1) % 2 == 0 ? 0 : 1]])
        : Change(
          kind: .delete, entity: "Person", key: Int64(place + 10_001),
          tombstone: ["name": "\(place - 69_999)" + String(repeating: " ", count: 59_999) + "x"])
      if change != wanted {
        Issue.record("\(place): \(change.kind) \(change.key)")
        break
      }
    }
    let opened = try LMDBStore(url: store.new, schema: try model.schema())
    #expect(try opened.check().isSound)
    opened.close()
  }

  @Test("without a history a new one begins, and that is said; without the option none is taken over")
  func none() throws {
    let store = try SmallStore()
    let model = SmallStore.model()
    let report = try AppleSQLite.importStore(
      from: store.url, to: store.new, options: Self.options(model))
    #expect(report.isComplete && report.remarks.contains { $0.contains("no history") }, "\(report.remarks)")
    #expect(try Self.history(try Self.coordinator(store.new, model)).isEmpty)
    let other = try SmallStore(history: true)
    try Self.write(Self.saves, model, to: other.path)
    let without = try other.importNew()
    #expect(
      without.transactionCount == 0 && without.remarks.contains { $0.contains("importsHistory") },
      "\(without.remarks)")
    #expect(try Self.history(try Self.coordinator(other.new, model)).isEmpty)
  }
}
