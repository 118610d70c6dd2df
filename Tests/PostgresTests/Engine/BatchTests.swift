import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Batches on a server do what they do on LMDB, and what can be one statement is one.
@Suite struct BatchTests {
  /// A stack on either engine, recording a history.
  private struct Stack {
    let coordinator: PersistentStoreCoordinator
    var context: ManagedObjectContext { ManagedObjectContext(.confinement, coordinator: coordinator) }
  }

  /// Does the same on both engines, and compares what `told` says.
  private func onBoth(
    _ body: (Stack) throws -> Void, _ told: (Stack) throws -> [String], _ comment: Comment
  ) throws {
    var options = PostgresStoreOptions()
    options.recordsHistory = true
    let stand = try ServerStand(HistoryTests.model(), options: options)
    let twin = PersistentStoreCoordinator(managedObjectModel: HistoryTests.model())
    var description = PersistentStoreDescription.inMemory
    description.recordsHistory = true
    try twin.addPersistentStore(description)
    var all: [[String]] = []
    for stack in [Stack(coordinator: stand.coordinator), Stack(coordinator: twin)] {
      try body(stack)
      all.append(try told(stack) + history(stack))
    }
    #expect(all[0] == all[1], comment)
    #expect(!all[0].isEmpty)
  }

  private func history(_ stack: Stack) throws -> [String] {
    try stack.coordinator.history(.fetchHistory(after: .beginning)).transactions.map { transaction in
      let changes = transaction.changes ?? []
      // On LMDB a row may be said to lose members before it goes.
      let gone = Set(changes.filter { $0.changeType == .delete }.map(\.changedObjectID))
      return changes.filter { $0.changeType == .delete || !gone.contains($0.changedObjectID) }.map {
        "\($0.changedObjectID.entityName) \($0.changeType) \($0.updatedPropertyNames.sorted())"
      }.sorted().joined(separator: "; ")
    }
  }

  private func fill(_ stack: Stack) throws {
    let context = stack.context
    let authors = try (0..<3).map { try context.make("Author", ["name": "a\($0)"]) }
    let subjects = try (0..<3).map { try context.make("Subject", ["name": "s\($0)"]) }
    let shelf = try context.make("Shelf", ["room": "r"])
    for number in 0..<12 {
      let book = try context.make(
        number % 4 == 0 ? "Novel" : "Book",
        [
          "title": "\(number)", "code": "c\(number)", "pages": Int32(number), "author": authors[number % 3],
          "price": Decimal(number), "text": String(repeating: "x", count: number * 300),
        ])
      book.add([subjects[number % 3]], to: "subjects")
      shelf.setValue(shelf.list("books") + [book], forKey: "books")
    }
    try context.save()
  }

  /// All books with everything that belongs to them.
  private func books(_ stack: Stack) throws -> [String] {
    let context = stack.context
    defer { withExtendedLifetime(context) {} }
    return try context.all("Book", by: "title").map { book in
      let values = ["title", "code", "pages", "price"].map { "\(book.value(forKey: $0) ?? "nil")" }
      let text = (book.value(forKey: "text") as? String)?.count ?? -1
      let author = (book.value(forKey: "author") as? ManagedObject)?.value(forKey: "name") ?? "nil"
      let subjects = (book.value(forKey: "subjects") as? Set<ManagedObject> ?? []).map {
        "\($0.value(forKey: "name") ?? "")"
      }.sorted()
      return "\(values) \(text) \(author) \(subjects) \(book.entity.name ?? "")"
    }
  }

  @Test func updatesAreThoseOfLMDB() throws {
    try onBoth(
      { stack in
        try fill(stack)
        let context = stack.context
        func update(_ predicate: FetchPredicate?, _ values: [String: any Sendable]) throws -> Int {
          try context.execute(
            BatchUpdateRequest(entityName: "Book", predicate: predicate, propertiesToUpdate: values)
          ).count
        }
        // One statement; some rows have the value already.
        #expect(try update(.comparison(key: "pages", .greater, 3), ["pages": Int32(7)]) == 8)
        #expect(try update(.comparison(key: "pages", .equal, 7), ["price": Decimal(string: "0.5")!]) == 8)
        // Texts, some of which lie outside of their rows, before or after.
        #expect(
          try update(.comparison(key: "pages", .less, 3), ["text": String(repeating: "y", count: 5_000)]) == 3
        )
        #expect(try update(.comparison(key: "title", .equal, "10"), ["text": "short"]) == 1)
        #expect(try update(.comparison(key: "title", .equal, "11"), ["text": AttributeValue.null]) == 1)
        // What rows make of themselves, and values that must be unique.
        #expect(try update(nil, ["pages": try FetchExpression(format: "pages * 2 + 1")]) == 12)
        #expect(throws: (any Error).self) { try update(nil, ["code": "same"]) }
        #expect(try update(.comparison(key: "title", .equal, "1"), ["code": "other"]) == 1)
        #expect(try update(.comparison(key: "title", .equal, "none"), ["pages": Int32(1)]) == 0)
        let author = try #require(try context.all("Author", by: "name").last)
        #expect(try update(.comparison(key: "pages", .equal, 15), ["author": author.objectID]) == 8)
      }, books, "updates")
  }

  @Test func deletionsAreThoseOfLMDB() throws {
    try onBoth(
      { stack in
        try fill(stack)
        let context = stack.context
        func delete(_ entity: String, _ predicate: FetchPredicate) throws -> Int {
          let request = FetchRequest<ManagedObject>(entityName: entity, predicate: predicate)
          return try context.execute(BatchDeleteRequest(fetchRequest: request)).count
        }
        #expect(try delete("Subject", .comparison(key: "name", .equal, "s1")) == 1)
        #expect(try delete("Book", .comparison(key: "pages", .equal, 3)) == 1)
        // The author's books go with the author.
        #expect(try delete("Author", .comparison(key: "name", .equal, "a1")) > 1)
        #expect(try delete("Shelf", .comparison(key: "room", .equal, "r")) == 1)
        #expect(try delete("Book", .comparison(key: "pages", .equal, 300)) == 0)
      }, books, "deletions")
  }

  @Test func insertsAreThoseOfLMDB() throws {
    for policy in [MergePolicy.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite] {
      try onBoth(
        { stack in
          try fill(stack)
          let context = stack.context
          context.mergePolicy = policy
          func insert(_ objects: [[String: Any]]) throws -> Int {
            try context.execute(BatchInsertRequest(entityName: "Book", objects: objects)).count
          }
          let long = String(repeating: "z", count: 3_000)
          #expect(try insert((20..<30).map { ["title": "\($0)", "code": "c\($0)", "text": long] }) == 10)
          // Rows that there are, twins, and new ones.
          let mixed: [[String: Any]] = [
            ["title": "40", "code": "c40"], ["title": "41", "code": "c5", "pages": Int32(99)],
            ["title": "42", "code": "c40", "text": long], ["title": "43", "code": "c5"], ["title": "44"],
          ]
          if policy === MergePolicy.error {
            #expect(throws: CoreDataError.self) { try insert(mixed) }
          } else {
            _ = try insert(mixed)
          }
        }, books, "\(policy)")
    }
  }

  @Test func whatCanBeOneStatementIsOne() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    for number in 0..<200 {
      try context.make("Book", ["title": "\(number)", "pages": Int32(number)])
    }
    try context.save()
    // It holds none of them.
    let other = stand.context()
    let before = stand.store.roundTrips
    #expect(
      try other.execute(
        BatchUpdateRequest(
          entityName: "Book", predicate: .comparison(key: "pages", .less, 150),
          propertiesToUpdate: ["pages": Int32(1)])
      ).count == 150)
    // The lock, the statement, the commit.
    #expect(stand.store.roundTrips - before == 3)
  }

  @Test func batchesAreFollowedAndCancelled() throws {
    let stand = try ServerStand(Library.make())
    let other = try stand.neighbour(Library.make())
    let context = stand.context()
    for number in 0..<20 { try context.make("Book", ["title": "\(number)"]) }
    try context.save()
    let start = try other.store.commitNumber()
    _ = try context.execute(
      BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["pages": Int32(1)]))
    let request = FetchRequest<ManagedObject>(
      entityName: "Book", predicate: .comparison(key: "title", .beginsWith, "1"))
    _ = try context.execute(BatchDeleteRequest(fetchRequest: request))
    let entity = try #require(stand.store.mapping.schema.entity(named: "Book")).number
    let reading = try other.store.journal(after: start)
    #expect(reading.commits.map { $0.changes.updated.lists[entity].count } == [20, 0])
    #expect(reading.commits.map { $0.changes.deleted.lists[entity].count } == [0, 11])
    let progress = BatchProgress()
    progress.cancel()
    var cancelled = BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["pages": Int32(2)])
    cancelled.progress = progress
    #expect(throws: CancellationError.self) { try context.execute(cancelled) }
    #expect(try other.store.commitNumber() == start + 2)
  }
}
