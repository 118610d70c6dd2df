import Foundation
import Testing

@testable import StrataCore

/// Stores that one process has open more than once: in one file, and in memory under one name.
struct SharedStoreTests {
  private static var readOnly: LMDBStoreOptions {
    var options = LMDBStoreOptions.scratch
    options.isReadOnly = true
    return options
  }

  private func count(_ store: LMDBStore) throws -> Int {
    let request = try ResolvedFetchRequest(FetchRequest<Int>(entityName: "Item"), schema: store.parts.schema)
    return try store.fetch(request, mode: .count).count
  }

  /// Rule 324.
  @Test func aReadOnlyStoreBesideAWriterSeesItsSavesAndRefusesEveryWrite() async throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Item", ["s": "a"])])
    let reader = try fixture.secondStore(options: Self.readOnly)
    defer { reader.close() }
    #expect(reader.isReadOnly && !fixture.store.isReadOnly)
    #expect(try count(reader) == 1)
    try fixture.commit(inserts: [fixture.insert("Item", ["s": "b"])])
    #expect(try count(reader) == 2)
    let change = try fixture.insert("Item", ["s": "c"])
    #expect(throws: CoreDataError.self) { try reader.commitAndWait(ChangeSet(inserts: [change])) }
    #expect(throws: CoreDataError.self) { try reader.deleteHistory() }
    #expect(throws: CoreDataError.self) { try reader.endHistory() }
    #expect(throws: CoreDataError.self) { try reader.setHistoryConsumer(named: "a", to: 1) }
    #expect(try storageError { _ = try reader.makePrimaryKey(hierarchy: 0) }.kind == .permission)
    #expect(try storageError { try reader.compact() }.kind == .permission)
    #expect(try storageError { try reader.addLineage(of: fixture.store) }.kind == .permission)
    let added = AddedIndex(
      entity: "Item", name: "byT", elements: [AddedIndex.Element(property: "t", isAscending: true)])
    await #expect(throws: CoreDataError.self) { try await reader.addIndex(added) }
    await #expect(throws: StorageError.self) { try await reader.removeIndex(named: "Item.byT") }
    try reader.flush()
    #expect(try count(fixture.store) == 2)
  }

  @Test func aReadOnlyStoreMakesNoKeyspacesBesideAWriter() throws {
    let fixture = try StoreFixture()
    let before = try StoreHeader.keyspaceNames(fixture.store.parts.environment)
    var options = Self.readOnly
    options.ignoresVersionHashes = true
    let model = StoreFixture.model(extraIndex: true)
    let reader = try LMDBStore(url: fixture.url, schema: model.schema(), options: options)
    defer { reader.close() }
    #expect(try StoreHeader.keyspaceNames(fixture.store.parts.environment) == before)
    #expect(try count(reader) == 0)
  }

  @Test func aStoreIsOpenedForWritingWhileItIsOpenReadOnly() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Item", ["s": "a"])])
    try fixture.reopen(options: Self.readOnly)
    let writer = try fixture.secondStore(options: LMDBStoreOptions())
    let change = try fixture.insert("Item", ["s": "b"], store: writer)
    try writer.commitAndWait(ChangeSet(inserts: [change]))
    #expect(try count(fixture.store) == 2)
    #expect(throws: CoreDataError.self) { try fixture.commit(inserts: [change]) }
    writer.close()
    #expect(try count(fixture.store) == 2)
    try fixture.reopen()
    #expect(try count(fixture.store) == 2)
  }

  /// Rule 332.
  @Test func aStoreInMemoryIsSharedByItsNameUntilItIsClosedForTheLastTime() throws {
    let url = URL(fileURLWithPath: "/dev/null/shared-\(UUID().uuidString)")
    #expect(LMDBStore.isInMemory(url))
    let fixture = try StoreFixture()
    func open(_ url: URL) throws -> LMDBStore {
      try LMDBStore(url: url, schema: fixture.schema, options: .scratch)
    }
    let (first, second) = (try open(url), try open(url))
    #expect(first.identifier == second.identifier && first.storeType == LMDBStore.inMemoryType)
    try first.commitAndWait(ChangeSet(inserts: [try fixture.insert("Item", ["s": "a"], store: first)]))
    #expect(try count(second) == 1)
    first.close()
    try second.commitAndWait(ChangeSet(inserts: [try fixture.insert("Item", ["s": "b"], store: second)]))
    let other = try open(URL(fileURLWithPath: "/dev/null/other-\(UUID().uuidString)"))
    #expect(try count(other) == 0)
    other.close()
    #expect(try count(second) == 2)
    second.close()
    let later = try open(url)
    #expect(try count(later) == 0)
    later.close()
  }

  @Test func aUUIDThatIsSetByHandIsThatOfTheClosedStore() throws {
    let fixture = try StoreFixture()
    try fixture.commit(inserts: [fixture.insert("Item", ["s": "a"])])
    let (old, new) = (fixture.store.identifier, UUID())
    var metadata = StoreMetadata(values: ["k": .integer(1)])
    metadata[StoreMetadata.identifierKey] = .string(old.uuidString)
    // Its own is nothing new.
    try LMDBStore.setMetadata(metadata, at: fixture.url)
    metadata[StoreMetadata.identifierKey] = .string(new.uuidString)
    #expect(try storageError { try LMDBStore.setMetadata(metadata, at: fixture.url) }.kind == .busy)
    let number = try fixture.store.commitNumber()
    fixture.close()
    try LMDBStore.setMetadata(metadata, at: fixture.url)
    #expect(try LMDBStore.metadata(at: fixture.url)[StoreMetadata.identifierKey] == .string(new.uuidString))
    try fixture.reopen()
    #expect(fixture.store.identifier == new && fixture.store.metadata["k"] == .integer(1))
    #expect(try fixture.store.commitNumber() == number)
    try fixture.commit(inserts: [fixture.insert("Item", ["s": "b"])])
    #expect(try count(fixture.store) == 2)
    fixture.close()
    metadata[StoreMetadata.identifierKey] = .string("none")
    #expect(throws: CoreDataError.self) { try LMDBStore.setMetadata(metadata, at: fixture.url) }
  }
}
