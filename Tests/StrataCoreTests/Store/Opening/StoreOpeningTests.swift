import Foundation
import Testing

@testable import StrataCore

@Suite struct StoreOpeningTests {
  /// Rule 303.
  @Test func metadataCarriesTheStandardKeysAndTheUsers() throws {
    let fixture = try StoreFixture()
    var metadata = StoreMetadata()
    metadata["author"] = .string("me")
    metadata["list"] = .array([.integer(1), .boolean(true), .date(Date(timeIntervalSinceReferenceDate: 1))])
    metadata[StoreMetadata.identifierKey] = .string("mine")  // refused silently: the standard keys stay
    try fixture.commit(metadata: metadata)
    for current in [fixture.store.metadata, try LMDBStore.metadata(at: fixture.url)] {
      #expect(current["author"] == .string("me"))
      #expect(current["list"] == metadata["list"])
      #expect(current[StoreMetadata.identifierKey] == .string(fixture.store.identifier.uuidString))
      #expect(current[StoreMetadata.typeKey] == .string(LMDBStore.type))
      #expect(current.versionHashes == fixture.schema.model.entityVersionHashesByName)
    }
    let identifier = fixture.store.identifier
    try fixture.reopen()
    #expect(fixture.store.identifier == identifier)
    #expect(fixture.store.metadata["author"] == .string("me"))
    #expect(StoreMetadata(fixture.store.metadata.dictionary)?["author"] == .string("me"))
  }

  /// Rule 148: the class-level setter writes at once.
  @Test func metadataOfAClosedStoreCanBeReplaced() throws {
    let fixture = try StoreFixture()
    fixture.store.close()
    try LMDBStore.setMetadata(StoreMetadata(values: ["a": .integer(5)]), at: fixture.url)
    #expect(try LMDBStore.metadata(at: fixture.url)["a"] == .integer(5))
    try fixture.reopen()
    #expect(fixture.store.metadata["a"] == .integer(5))
  }

  /// Whoever began to make a store may have been killed, before or after the header's keyspace: the file says so, and becomes a store.
  @Test(arguments: [false, true]) func aStoreWhoseMakerWasInterruptedSaysSo(hasKeyspace: Bool) throws {
    let fixture = try StoreFixture()
    fixture.store.close()
    try LMDBStore.empty(at: fixture.url)
    if hasKeyspace {
      var options = EnvironmentOptions()
      options.maxKeyspaces = 4
      let environment = try Environment.open(path: fixture.url.path, options: options)
      _ = try environment.keyspaces([MetaKeyspace.name])
      environment.close()
    }
    let questions: [(String, () throws -> Void)] = [
      ("metadata", { _ = try LMDBStore.metadata(at: fixture.url) }),
      ("model", { _ = try LMDBStore.model(at: fixture.url) }),
      ("setMetadata", { try LMDBStore.setMetadata(StoreMetadata(), at: fixture.url) }),
    ]
    for (name, question) in questions {
      let error = #expect(throws: StorageError.self, "\(name)") { try question() }
      #expect(error?.kind == .notADatabase, "\(name)")
      #expect(error?.detail.contains("was interrupted") == true, "\(name): \(error?.detail ?? "")")
    }
    try fixture.reopen()
    #expect(
      try LMDBStore.metadata(at: fixture.url).versionHashes == fixture.schema.model.entityVersionHashesByName)
  }

  @Test func aModelWithoutEntitiesMakesAStoreWithoutRows() throws {
    let fixture = try StoreFixture(model: ManagedObjectModel())
    try fixture.commit(metadata: StoreMetadata(values: ["a": .integer(5)]))
    try fixture.reopen()
    #expect(fixture.store.metadata["a"] == .integer(5))
    let check = try fixture.store.check()
    #expect(check.isSound && check.rowCount == 0)
  }

  @Test func theModelCanBeReadFromTheStore() throws {
    let fixture = try StoreFixture()
    fixture.store.close()
    let model = try LMDBStore.model(at: fixture.url)
    #expect(model.entityVersionHashesByName == fixture.schema.model.entityVersionHashesByName)
    let store = try LMDBStore(url: fixture.url, schema: model.schema(), options: .scratch)
    store.close()
  }

  /// Rules 304, 316: the error lists the entities that differ, and the file stays as it is.
  @Test func anotherModelIsRefusedWithTheDifferingEntities() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Item", ["s": "a"])])
    fixture.store.close()
    let bytes = try Data(contentsOf: fixture.url)
    let model = ManagedObjectModel(entities: [
      EntityDescription(
        "Place", properties: [AttributeDescription("name", .string, isOptional: false)],
        uniquenessConstraints: [["name"]]),
      EntityDescription("Person", properties: [AttributeDescription("name", .string)]),
    ])
    let schema = try model.schema()
    let error = #expect(throws: CoreDataError.self) {
      try LMDBStore(url: fixture.url, schema: schema, options: .scratch)
    }
    #expect(error?.code == .persistentStoreIncompatibleVersionHash)
    #expect(
      error?.userInfo["NSStoreIncompatibleEntities"] as? [String] == ["Item", "Person", "Place", "Special"])
    #expect(
      error?.description.contains("Item is only in the store; Person is only in the model; Place differs")
        == true)
    #expect(try Data(contentsOf: fixture.url) == bytes)
  }

  @Test func foreignFilesAreRefusedAndStayAsTheyAre() throws {
    let fixture = try StoreFixture()
    let url = fixture.directory.appendingPathComponent("Other.lmdb")
    let environment = try Environment.open(path: url.path, options: .init())
    _ = try environment.keyspaces(["theirs"])
    environment.close()
    let bytes = try Data(contentsOf: url)
    let error = #expect(throws: StorageError.self) {
      try LMDBStore(url: url, schema: fixture.schema, options: .scratch)
    }
    #expect(error?.kind == .notADatabase)
    #expect(throws: StorageError.self) { try LMDBStore.metadata(at: url) }
    #expect(try Data(contentsOf: url) == bytes)
    let text = fixture.directory.appendingPathComponent("Text.strata")
    try Data(repeating: 65, count: 20_000).write(to: text)
    #expect(throws: StorageError.self) { try LMDBStore(url: text, schema: fixture.schema, options: .scratch) }
    #expect(try Data(contentsOf: text) == Data(repeating: 65, count: 20_000))
  }

  /// Entries of the header have one length each; others are neither read beyond their end nor cut.
  @Test(arguments: ["format", "identity", "stamp"]) func headersOfTheWrongLengthAreRefused(key: String) throws
  {
    let fixture = try StoreFixture()
    let parts = fixture.store.parts
    let whole = try #require(
      try parts.environment.read { try parts.meta.bytes(key, $0).map { Array($0) } })
    fixture.close()
    for bytes in [[], Array(whole.prefix(1)), whole.dropLast(), whole + [0], whole + whole] {
      let environment = try Environment.open(path: fixture.url.path, options: .scratch)
      let meta = MetaKeyspace(keyspace: try environment.keyspace(MetaKeyspace.name))
      try environment.write { try meta.put(key, bytes, $0) }
      environment.close()
      let error = #expect(throws: StorageError.self, "\(bytes.count) bytes") { try fixture.reopen() }
      #expect([.notADatabase, .damaged].contains(error?.kind))
    }
  }

  @Test func missingFileIsOnlyCreatedWhenWanted() throws {
    let fixture = try StoreFixture()
    let url = fixture.directory.appendingPathComponent("New.strata")
    var options = LMDBStoreOptions.scratch
    options.createsIfMissing = false
    let error = #expect(throws: StorageError.self) {
      try LMDBStore(url: url, schema: fixture.schema, options: options)
    }
    #expect(error?.kind == .missing)
    #expect(!FileManager.default.fileExists(atPath: url.path))
    #expect(throws: CoreDataError.self) {
      try LMDBStore(url: url, schema: fixture.schema, configurationName: "nobody", options: .scratch)
    }
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  /// Rules 321, 323: a store holds the entities of its configuration.
  @Test func configurationLimitsWhatAStoreHolds() throws {
    let model = StoreFixture.model()
    model.setEntities(model.entities.filter { $0.name == "Place" }, forConfigurationName: "Places")
    let fixture = try StoreFixture(model: model)
    let url = fixture.directory.appendingPathComponent("Places.strata")
    let store = try LMDBStore(
      url: url, schema: fixture.schema, configurationName: "Places", options: .scratch)
    defer { store.close() }
    #expect(store.metadata.versionHashes.keys.sorted() == ["Place"])
    try fixture.commit(inserts: [fixture.insert("Place", ["name": "a"], store: store)], store: store)
    #expect(try fixture.fetch("Place", store: store).count == 1)
    #expect(try fixture.fetch("Item", store: store).count == 0)
    #expect(throws: StorageError.self) {
      try fixture.commit(inserts: [fixture.insert("Item", ["s": "a"], store: store)], store: store)
    }
  }

  /// Rule 332, and the in-memory type leaves no file behind.
  @Test func storeInMemoryWorksAndLeavesNothing() throws {
    let fixture = try StoreFixture(inMemory: true)
    #expect(fixture.store.url == nil)
    #expect(fixture.store.storeType == LMDBStore.inMemoryType)
    try fixture.commit(inserts: (0..<500).map { try fixture.insert("Item", ["i64": .integer($0)]) })
    #expect(try fixture.fetch("Item", Attribute("i64") < 100, mode: .count).count == 100)
    #expect(try fixture.store.check().isSound)
    let path = fixture.store.parts.environment.path
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func backupIsACompleteStore() throws {
    let fixture = try StoreFixture()
    try fixture.commit(
      inserts: (0..<200).map { try fixture.insert("Special", ["i64": .integer($0), "s": "x"]) })
    let dump = try fixture.store.textDump()
    let url = fixture.directory.appendingPathComponent("Copy.strata")
    try fixture.store.backup(to: url)
    let copy = try LMDBStore(url: url, schema: fixture.schema, options: .scratch)
    defer { copy.close() }
    #expect(try copy.textDump() == dump)
    #expect(try copy.check().problems == [])
    #expect(copy.identifier == fixture.store.identifier)
  }

  /// Rule 329.
  @Test func destroyAndReplaceNeedAClosedStore() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Item", ["s": "a"])])
    let copy = fixture.directory.appendingPathComponent("Copy.strata")
    try fixture.store.backup(to: copy)
    #expect(throws: StorageError.self) { try LMDBStore.destroy(at: fixture.url) }
    try fixture.commit(inserts: [fixture.insert("Item", ["s": "b"])])
    fixture.store.close()
    try LMDBStore.replace(at: fixture.url, with: copy)
    try fixture.reopen()
    #expect(try fixture.fetch("Item", mode: .count).count == 1)
    fixture.store.close()
    try LMDBStore.destroy(at: fixture.url)
    #expect(throws: StorageError.self) { try LMDBStore.destroy(at: fixture.url) }
    try fixture.reopen()
    #expect(try fixture.fetch("Item", mode: .count).count == 0)
  }

  /// A store is only replaced by what this version opens as a store.
  @Test(arguments: ["destroyed", "newer", "foreign"])
  func whatIsNoStoreReplacesNone(kind: String) throws {
    let (fixture, other) = (try StoreFixture(), try StoreFixture())
    try fixture.commit(inserts: [fixture.insert("Item", ["s": "kept"])])
    fixture.close()
    switch kind {
    case "newer":
      let meta = other.store.parts.meta
      try other.store.parts.environment.write { transaction in
        try meta.put("format", number: MetaKeyspace.filledFormat + 1, transaction)
      }
      other.close()
    case "foreign":
      other.close()
      try LMDBStore.destroy(at: other.url)
      let environment = try Environment.open(path: other.url.path, options: .scratch)
      try environment.put(environment.keyspace("things"), "a", "b")
      environment.close()
    default:
      other.close()
      try LMDBStore.empty(at: other.url)
    }
    let bytes = try fileBytes(fixture.url.path)
    let error = try storageError { try LMDBStore.replace(at: fixture.url, with: other.url) }
    #expect(error.kind == (kind == "newer" ? .unsupportedFormat : .notADatabase), "\(error)")
    #expect(error.path == other.url.path)
    #expect(try fileBytes(fixture.url.path) == bytes)
    // Nor where there is nothing yet.
    let new = fixture.directory.appendingPathComponent("New.strata")
    #expect(throws: StorageError.self) { try LMDBStore.replace(at: new, with: other.url) }
    let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory.path)
    #expect(names.allSatisfy { $0.hasPrefix("Test.strata") }, "\(names)")
    try fixture.reopen()
    #expect(try fixture.fetch("Item", mode: .count).count == 1)
  }

  /// Rule 301: the order of properties is not part of the hash; the rows of the other order stay readable.
  @Test func rowsOfAnotherLayoutAreReadAndRewritten() throws {
    let fixture = try StoreFixture()
    var random = RandomValues(seed: 5)
    var values: [UInt64: [String: AttributeValue]] = [:]
    var changes: [RowChange] = []
    for _ in 0..<100 {
      var row: [String: AttributeValue] = [:]
      for attribute in fixture.entity("Special").attributes
      where !attribute.isTransient && attribute.name != "code" {
        let value = random.value(attribute.type)
        if !value.isNull { row[attribute.name] = value }
      }
      let change = try fixture.insert("Special", row)
      values[change.primaryKey] = row
      changes.append(change)
    }
    try fixture.commit(inserts: changes)
    fixture.store.close()

    let other = try StoreFixture(model: StoreFixture.model(reversingAttributes: true))
    other.store.close()
    try FileManager.default.removeItem(at: other.url)
    try FileManager.default.copyItem(at: fixture.url, to: other.url)
    try other.reopen()
    let rows = try other.fetch("Item").rows
    #expect(rows.count == 100)
    for row in rows { #expect(try other.values(row) == values[row.primaryKey]) }
    #expect(try other.store.check().problems == [])
    #expect(
      try other.fetch("Item", Attribute("i64") < 0).count
        == values.values.count { $0["i64"].map { AttributeValue.compare($0, 0) < 0 } ?? false })
    // Updates write the new layout, and take the entries of the old rows out of the indexes.
    try other.commit(
      updates: rows.prefix(30).map { try other.update($0, ["i64": 77, "blob": .data(Data(count: 4000))]) },
      deletes: rows.suffix(30).map { other.delete($0) })
    #expect(try other.store.check().problems == [])
    #expect(try other.fetch("Item", Attribute("i64") == 77).count >= 30)
  }

  /// Indexes are not part of the hash (rule 346): a new one is built from the rows.
  @Test func anIndexThatTheModelGainsIsBuilt() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: (0..<300).map { try fixture.insert("Item", ["f": .float(Float($0 % 10))]) })
    fixture.store.close()
    let store = try fixture.secondStore(StoreFixture.model(extraIndex: true))
    let schema = store.parts.schema
    let request = try ResolvedFetchRequest(
      FetchRequest<ManagedObjectID>(entityName: "Item", predicate: Attribute("f") == 3), schema: schema)
    #expect(try store.plan(request).description.hasPrefix("index Item.byF"))
    #expect(try store.fetch(request, mode: .rows).count == 30)
    #expect(try store.check().problems == [])
    store.close()
    // The model without the index drops it; with it again, it is built again.
    try fixture.reopen()
    try fixture.commit(inserts: [fixture.insert("Item", ["f": .float(3)])])
    fixture.store.close()
    let again = try fixture.secondStore(StoreFixture.model(extraIndex: true))
    #expect(try again.fetch(request, mode: .rows).count == 31)
    #expect(try again.check().problems == [])
    again.close()
  }

  /// Two programs with different indexes at the same time: the one that cannot maintain an index removes it.
  @Test func anIndexThatAWriterDoesNotKnowIsNotUsedAnyMore() throws {
    let fixture = try StoreFixture()
    let store = try fixture.secondStore(StoreFixture.model(extraIndex: true))
    defer { store.close() }
    let request = try ResolvedFetchRequest(
      FetchRequest<ManagedObjectID>(entityName: "Item", predicate: Attribute("f") == 3),
      schema: store.parts.schema)
    #expect(try store.plan(request).description.hasPrefix("index Item.byF"))
    try fixture.commit(inserts: [fixture.insert("Item", ["f": .float(3)])])
    #expect(try store.fetch(request, mode: .rows).count == 1)
    #expect(try store.plan(request).description.hasPrefix("scan of Item"))
  }
}
