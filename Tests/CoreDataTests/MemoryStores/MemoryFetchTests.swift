import CoreData
import Testing

@Suite("Stores in memory evaluate what no other store can look up")
struct MemoryFetchTests {
  private let shelf: MemoryShelf

  init() throws { shelf = try MemoryShelf() }

  @Test("Predicates made of blocks: objects, IDs, counts, rows and windows")
  func blocks() throws {
    let block = MemoryShelf.viewed(5)
    #expect(try shelf.texts(block) == ["Hello", "Zed"])
    let request = MemoryShelf.request(block)
    #expect(try shelf.context.count(for: request) == 2)
    request.fetchLimit = 1
    request.fetchOffset = 1
    #expect(try MemoryShelf.texts(shelf.context.fetch(request)) == ["Zed"])
    #expect(try shelf.context.count(for: request) == 1)
    let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Note")
    ids.resultType = .managedObjectIDResultType
    ids.predicate = block
    ids.sortDescriptors = [MemoryShelf.byText]
    #expect(
      try shelf.context.fetch(ids) == shelf.context.fetch(MemoryShelf.request(block)).map(\.objectID))
    let rows = NSFetchRequest<NSDictionary>(entityName: "Note")
    rows.resultType = .dictionaryResultType
    rows.predicate = block
    rows.propertiesToFetch = ["text"]
    rows.sortDescriptors = [NSSortDescriptor(key: "views", ascending: true)]
    rows.fetchLimit = 1
    #expect(try shelf.context.fetch(rows) == [["text": "Zed"]])
    #expect(try shelf.context.count(for: rows) == 1)
    rows.fetchLimit = 0
    #expect(try shelf.context.count(for: rows) == 2)
  }

  @Test(
    "Formats about transformable attributes, single elements and functions of memory",
    arguments: [
      ("tags[FIRST] == 'greeting'", ["Hello"]), ("tags.@count >= 3", ["Hello"]),
      ("count:(tags) >= 2", ["Bye", "Hello"]),
      ("ANY tags == 'casual'", ["Bye", "Hello"]), ("'x' IN tags", ["Hello"]),
      ("tags CONTAINS 'x'", ["Hello"]),
      ("NOT (tags CONTAINS 'x')", ["Bye", "Zed"]), ("place.name == 'Bye'", ["Bye"]),
      ("shelf.notes[FIRST].text == 'Hello'", ["Bye", "Hello", "Zed"]),
      ("tags CONTAINS 'x' OR views == 10", ["Hello", "Zed"]), ("'casual' IN tags AND views < 10", ["Bye"]),
      ("views > median({1, 40})", ["Hello"]),
      ("SUBQUERY(shelf.notes, $n, 'x' IN $n.tags).@count == 1", ["Bye", "Hello", "Zed"]),
    ])
  func formats(format: String, expected: [String]) throws {
    #expect(try shelf.texts(NSPredicate(format: format)) == expected, "\(format)")
    #expect(try shelf.context.count(for: MemoryShelf.request(NSPredicate(format: format))) == expected.count)
  }

  @Test("Orders by functions of the application, with windows, objects and IDs")
  func orders() throws {
    #expect(try shelf.texts(nil, [MemoryShelf.byLength, MemoryShelf.byText]) == ["Bye", "Zed", "Hello"])
    let backwards = NSSortDescriptor(key: "views", ascending: false) { first, second in
      let (left, right) = (first as? Int ?? 0, second as? Int ?? 0)
      return left < right ? .orderedAscending : left > right ? .orderedDescending : .orderedSame
    }
    let request = MemoryShelf.request(MemoryShelf.viewed(3), [backwards])
    request.fetchOffset = 1
    #expect(try MemoryShelf.texts(shelf.context.fetch(request)) == ["Zed"])
    request.fetchOffset = -1
    #expect(throws: CocoaError.self) { try shelf.context.fetch(request) }
  }

  @Test(
    "Rule 86: unsaved objects take part, with the values that they have; rule 87: not where they are to be left out; rule 88: nor in rows of values"
  )
  func unsaved() throws {
    MemoryShelf.note("New", 50, ["x"], in: shelf.context)
    let hello = try #require(
      try shelf.context.fetch(MemoryShelf.request(NSPredicate(format: "text == 'Hello'"))).first)
    hello.setValue(1, forKey: "views")
    #expect(try shelf.texts(MemoryShelf.viewed(5)) == ["New", "Zed"])
    let stored = MemoryShelf.request(MemoryShelf.viewed(5))
    stored.includesPendingChanges = false
    let found = try shelf.context.fetch(stored)
    #expect(MemoryShelf.texts(found) == ["Hello", "Zed"])
    #expect(found.first === hello)
    #expect(hello.value(forKey: "views") as? Int == 1)
    // Rows of values show what is stored, and nothing else.
    let rows = NSFetchRequest<NSDictionary>(entityName: "Note")
    rows.resultType = .dictionaryResultType
    rows.predicate = stored.predicate
    rows.sortDescriptors = stored.sortDescriptors
    rows.propertiesToFetch = ["text", "views"]
    #expect(
      try shelf.context.fetch(rows) == [["text": "Hello", "views": 42], ["text": "Zed", "views": 10]])
    shelf.context.delete(hello)
    #expect(try shelf.texts(NSPredicate(format: "'x' IN tags")) == ["New"])
  }

  @Test("A child context finds what it shows")
  func children() throws {
    MemoryShelf.note("Parent's", 60, ["x"], in: shelf.context)
    let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    child.parent = shelf.context
    MemoryShelf.note("Own", 70, [], in: child)
    let found = try child.fetch(MemoryShelf.request(MemoryShelf.viewed(20)))
    #expect(MemoryShelf.texts(found) == ["Hello", "Own", "Parent's"])
    #expect(found.allSatisfy { $0.managedObjectContext === child })
  }

  @Test(
    "Keys that nothing has, variables without values and orders of what has none stay errors",
    arguments: [
      "tags[FIRST] == 'x' AND nothing == 1", "tags CONTAINS 'x' OR nothing == 1",
      "'x' IN tags OR shelf.nothing == 1",
      "'x' IN tags OR passing == 'y'", "'x' IN tags OR views == $LEAST", "tags[FIRST] == nothing",
      "tags BETWEEN {1, 2, 3}", "shelf.notes[FIRST].nothing == 1",
      // What only the values tell.
      "lowercase:(tags) == 'x'", "length:(tags) == 2", "tags + 1 == 2", "CAST(place, 'NSString') == 'x'",
      "tags.nothing == 1", "SUBQUERY(tags, $t, $t.nothing == 1).@count > 0", "views BETWEEN tags",
      "'abc' MATCHES concatenate('[', place.name)",
      "sum:(place) == 1", "shelf.notes.@max.place == 1", "median:(tags) == 1", "median:(text) == 1",
      "text[0] == 'H'", "tags CONTAINS 'y' OR lowercase(shelf) == 'x'",
      "tags CONTAINS 'y' OR objectID.nothing == 1",
      // Of all objects, which is not at hand.
      "tags CONTAINS 'y' OR views == max(views)", "tags CONTAINS 'y' OR views == @max.views",
      "tags CONTAINS 'y' OR 3 == count:(distinct:(text))",
    ])
  func errors(format: String) throws {
    let error = #expect(throws: CocoaError.self) { try shelf.texts(NSPredicate(format: format)) }
    #expect(error?.code == .coreData, "\(format)")
  }

  @Test("A sort key without an order of its own, and one that nothing has, stay errors")
  func wrongOrders() throws {
    let wrong = [
      NSSortDescriptor(key: "tags", ascending: true), NSSortDescriptor(key: "nothing", ascending: true),
      NSSortDescriptor(key: "nothing", ascending: true) { _, _ in .orderedSame },
    ]
    for sort in wrong {
      #expect(throws: CocoaError.self) { try shelf.texts(nil, [sort]) }
    }
    let rows = NSFetchRequest<NSDictionary>(entityName: "Note")
    rows.resultType = .dictionaryResultType
    rows.sortDescriptors = [MemoryShelf.byLength]
    #expect(throws: CocoaError.self) { try shelf.context.fetch(rows) }
  }

  @Test("Batches refuse them as ever, and so does a store on disk, alone or beside one in memory")
  func refusals() throws {
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Note")
    request.predicate = MemoryShelf.viewed(5)
    #expect(throws: CocoaError.self) {
      try shelf.context.execute(NSBatchDeleteRequest(fetchRequest: request))
    }
    #expect(try shelf.texts(nil).count == 3)
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shelf-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("Shelf.store")
    let onDisk = try MemoryShelf(NSSQLiteStoreType, at: file)
    for predicate in [MemoryShelf.viewed(5), NSPredicate(format: "'x' IN tags")] {
      #expect(throws: CocoaError.self) { try onDisk.texts(predicate) }
    }
    #expect(throws: CocoaError.self) { try onDisk.texts(nil, [MemoryShelf.byLength]) }
    let memory = try onDisk.coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
    #expect(throws: CocoaError.self) { try onDisk.texts(MemoryShelf.viewed(5)) }
    let alone = MemoryShelf.request(MemoryShelf.viewed(5))
    alone.affectedStores = [memory]
    #expect(try onDisk.context.fetch(alone).isEmpty)
    for store in onDisk.coordinator.persistentStores { try onDisk.coordinator.remove(store) }
  }

  @Test("An asynchronous fetch finds the same")
  func asynchronous() async throws {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = shelf.coordinator
    let texts: [String]? = await withCheckedContinuation { continuation in
      context.performAndWait {
        let request = NSAsynchronousFetchRequest(fetchRequest: MemoryShelf.request(MemoryShelf.viewed(5))) {
          continuation.resume(returning: $0.finalResult.map(MemoryShelf.texts))
        }
        do { _ = try context.execute(request) } catch { continuation.resume(returning: nil) }
      }
    }
    #expect(texts == ["Hello", "Zed"])
  }

  /// What a fetch that runs later tells.
  private struct Ending: Sendable {
    var count: Int?
    var hasFailed = false
    var completed: Int64 = -1
    var total: Int64 = -1
    var isFinished = false
    var isCancelled = false
    /// The total straight after `execute`.
    var totalBefore: Int64?

    init(_ result: NSAsynchronousFetchResult<NSManagedObject>) {
      (count, hasFailed) = (result.finalResult?.count, result.operationError != nil)
      guard let progress = result.progress else { return }
      (completed, total) = (progress.completedUnitCount, progress.totalUnitCount)
      (isFinished, isCancelled) = (progress.isFinished, progress.isCancelled)
    }
  }

  /// Fetches notes by a block on the queue of a context; `begun` is called straight after that has begun.
  private func ending(
    least views: Int, estimate: Int = 0,
    _ begun: @escaping @Sendable (NSAsynchronousFetchResult<NSManagedObject>) -> Void = { _ in }
  ) async throws -> Ending {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = shelf.coordinator
    // Unsafe: written on the context's queue before the block of the fetch runs there, which reads it.
    nonisolated(unsafe) var totalBefore: Int64?
    return try await withCheckedThrowingContinuation { continuation in
      context.performAndWait {
        let request = NSAsynchronousFetchRequest(
          fetchRequest: MemoryShelf.request(MemoryShelf.viewed(views))
        ) { result in
          // The context lives until here.
          withExtendedLifetime(context) {}
          var ending = Ending(result)
          ending.totalBefore = totalBefore
          continuation.resume(returning: ending)
        }
        request.estimatedResultCount = estimate
        do {
          let result = try #require(
            try context.execute(request) as? NSAsynchronousFetchResult<NSManagedObject>)
          #expect(result.finalResult == nil)
          totalBefore = result.progress?.totalUnitCount
          begun(result)
        } catch { continuation.resume(throwing: error) }
      }
    }
  }

  @Test(
    "At the end of an asynchronous fetch the progress is the number of rows, whatever was estimated",
    arguments: [0, 2, 100])
  func lastProgress(estimate: Int) async throws {
    for views in [50, 60] { MemoryShelf.note("more", views, [], in: shelf.context) }
    try shelf.context.save()
    let ending = try await ending(least: 0, estimate: estimate)
    #expect(ending.count == 5 && !ending.hasFailed)
    #expect(ending.completed == 5 && ending.total == 5 && ending.isFinished)
    // Nobody has looked at a row before the queue came to it.
    if estimate > 0 { #expect(ending.totalBefore == Int64(estimate)) }
    let none = try await self.ending(least: 1_000, estimate: estimate)
    #expect(none.count == 0 && none.completed == 0 && none.total == 0 && !none.hasFailed)
  }

  @Test("A cancelled one ends with an error, and its progress is cancelled and not finished")
  func cancelled() async throws {
    for ending in [
      try await ending(least: 0, estimate: 100) { $0.cancel() }, try await ending(least: 0) { $0.cancel() },
      try await ending(least: 0, estimate: 100) { $0.progress?.cancel() },
    ] {
      #expect(ending.count == nil && ending.hasFailed)
      #expect(ending.isCancelled && !ending.isFinished)
    }
  }
}
