import Foundation
import Strata
import Testing

/// Histories and migrations while the store cannot be read.
struct HistoryReadTests {
  @Test func historyThatCannotBeReadThrows() throws {
    try forEveryFailingRead(
      recordsHistory: true,
      ReadStory(
        prepare: { world in
          try world.elsewhere { context in
            try world.book(1, context)["title"] = "one"
            context.delete(try world.book(2, context))
          }
        },
        act: { world in
          let transactions = try world.context.execute(
            PersistentHistoryRequest.fetchHistory(after: nil as PersistentHistoryToken?)
          ).transactions
          #expect(transactions.count == 2)
          #expect(transactions.last?.changes?.count ?? 0 >= 2)
        }))
  }

  @Test func historyIsDeletedInFullOrNot() throws {
    try forEveryFailingRead(
      recordsHistory: true,
      ReadStory(
        prepare: { world in try world.elsewhere { try world.book(1, $0)["title"] = "one" } },
        act: { world in
          _ = try world.context.execute(PersistentHistoryRequest.deleteHistory(before: Date.distantFuture))
        },
        failed: { world in
          let left = try world.context.execute(
            PersistentHistoryRequest.fetchHistory(after: nil as PersistentHistoryToken?))
          #expect(left.transactions.count == 2)
        },
        finished: { world in
          let left = try world.context.execute(
            PersistentHistoryRequest.fetchHistory(after: nil as PersistentHistoryToken?))
          #expect(left.transactions.isEmpty)
        }, mayHaveSaved: true))
  }

  // MARK: Migration

  /// The model of `ReadWorld` with another attribute, another name for titles, and tags with a number.
  private static func newModel() -> ManagedObjectModel {
    let model = ReadWorld.model()
    let book = model.entitiesByName["Book"]
    book?.properties.append(AttributeDescription("year", .integer64, defaultValue: 1900))
    if let pages = book?.attributesByName["pages"] {
      pages.renamingIdentifier = "pages"
      pages.name = "length"
    }
    model.entitiesByName["Tag"]?.properties.append(
      DerivedAttributeDescription("uses", .integer64, derivationExpression: "books.@count"))
    return model
  }

  @Test(arguments: FailingReads.Extent.allCases)
  func migrationThatCannotReadLeavesTheStoreAsItWas(extent: FailingReads.Extent) throws {
    var nth = 0
    var didFail = true
    var migratedCount = 0
    while didFail {
      // A migration reads some hundred times.
      nth += nth < (TortureSettings.isLong ? 20 : 6) ? 1 : extent == .one ? 7 : 23
      try #require(nth < 5_000)
      let place: Comment = "read \(nth)"
      let world = try ReadWorld(recordsHistory: true)
      let before = try world.picture()
      try world.store.close()
      let bytes = try Data(contentsOf: world.store.url)
      let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.newModel())
      var description = PersistentStoreDescription(url: world.store.url)
      description.recordsHistory = true
      let reads = try FailingReads(below: world.store.folderURL, nth: nth, extent)
      let error = failure { _ = try coordinator.addPersistentStore(description) }
      didFail = reads.mend() > 0
      if let error {
        #expect(didFail && (error as? StorageError)?.kind == .io, "\(place): \(error)")
        let litter = try FileManager.default.contentsOfDirectory(atPath: world.store.folderURL.path).filter {
          $0.hasPrefix(".")
        }
        #expect(litter == [], place)
        // Before its one step the migration has done nothing; after it, what fails is opening the migrated store.
        if try Data(contentsOf: world.store.url) == bytes {
          let old = try world.store.reopened(ReadWorld.model()) { $0.recordsHistory = true }
          try #expect(old.picture == before, place)
          try old.close()
        } else {
          migratedCount += 1
        }
        try coordinator.addPersistentStore(description)
      }
      let context = ManagedObjectContext(.confinement, coordinator: coordinator)
      let books = try context.all("Book")
      #expect(books.compactMap { $0["length"] as? Int64 }.sorted() == [10, 20, 30, 40], place)
      #expect(books.allSatisfy { $0["year"] as? Int64 == 1900 }, place)
      try #expect(context.all("Tag").allSatisfy { $0["uses"] as? Int64 == 2 }, place)
      let store = try #require(coordinator.persistentStores.first as? LMDBStore)
      try #expect(store.check().problems.isEmpty, place)
      try coordinator.remove(store)
    }
    #expect(migratedCount < nth / 2)
    #expect(nth > 5)
  }
}

extension TemporaryStore {
  fileprivate var picture: [String] { get throws { try fresh { try ReadWorld.picture($0) } } }
}
