import Foundation
import Strata
import StrataCore
import Testing

/// Indexes that were added to a store, and changes of its model that no row is written anew for.
struct InPlaceIndexTests {
  let stand: MigrationStand

  init() throws { stand = try MigrationStand() }

  /// What tells one file from another under the same name.
  private func file() throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: stand.url.path)
    return try #require((attributes[.systemFileNumber] as? NSNumber)?.intValue)
  }

  /// Five notes with numbers.
  private func fill() throws {
    let context = try stand.open(InPlaceChangeTests.notes([AttributeDescription("n", .integer64)]))
    try context.performAndWait {
      for number in 0..<5 { context.newObject("Note", ["title": "note \(number)", "n": number]) }
      try context.save()
    }
  }

  /// What a dump of the store says of it besides its rows. Closes the store.
  private func facts() throws -> StoreFacts {
    let store = try #require(stand.coordinator?.persistentStores.first as? LMDBStore)
    let facts = try StoreWindow(store).facts()
    try stand.close()
    return facts
  }

  @Test("an index that was added goes on under the name that its attribute gets without a row being written")
  func renamed() async throws {
    try fill()
    var coordinator = try #require(stand.coordinator)
    try await coordinator.addIndex(
      FetchIndexDescription(name: "byN", attributes: ["n"]), toEntityNamed: "Note",
      in: coordinator.persistentStores[0])
    let before = try file()
    try stand.open(
      InPlaceChangeTests.notes([AttributeDescription("number", .integer64).renamed(from: "n")]))
    #expect(try file() == before, "the file is the one that it was")
    coordinator = try #require(stand.coordinator)
    let indexes = try coordinator.indexes(in: coordinator.persistentStores[0]).filter(\.isAdded)
    #expect(indexes.map(\.name) == ["byN"])
    #expect(indexes.first?.attributes.map(\.name) == ["number"])
    #expect(indexes.first?.isComplete == true && indexes.first?.entryCount == 5)
    #expect(try stand.problems() == [])
    let facts = try facts()
    let copy = stand.folder.url.appendingPathComponent("Copy.strata")
    #expect(try StoreIntake(new: copy, facts: facts).finish().check.isSound)
  }

  @Test("a dump that names an index of an attribute that there is not is loaded without it")
  func stale() throws {
    try fill()
    var facts = try facts()
    let index =
      #"{"elements":[{"isAscending":true,"property":"gone"}],"entity":"Note","name":"byGone"}"#
    facts.addedIndexes = [Data(index.utf8)]
    let copy = stand.folder.url.appendingPathComponent("Copy.strata")
    #expect(try StoreIntake(new: copy, facts: facts).finish().check.isSound)
    let store = try LMDBStore(url: copy, schema: LMDBStore.model(at: copy).schema())
    defer { store.close() }
    #expect(try StoreWindow(store).facts().addedIndexes.isEmpty)
  }
}
