import CoreData
import Testing

@Suite("Sorting by objects")
struct ObjectOrderTests {
  private func sort(_ key: String, _ ascending: Bool) -> NSSortDescriptor {
    NSSortDescriptor(key: key, ascending: ascending)
  }

  @Test("objectID and self sort by primary key: objects, IDs, rows and windows", arguments: [true, false])
  func requests(ascending: Bool) throws {
    let context = try BirdStand().stocked()
    func directed<T>(_ order: [T]) -> [T] { ascending ? order : order.reversed() }
    let inserted = directed(["wren", "robin", "swan", "coot", "gull"])
    for key in ["objectID", "self", "SELF"] {
      #expect(try names(nil, in: context, sorted: [sort(key, ascending)]) == inserted, "\(key)")
    }
    #expect(
      try names(nil, in: context, sorted: [NSSortDescriptor(keyPath: \Bird.objectID, ascending: ascending)])
        == inserted)
    #expect(
      try names(nil, in: context, sorted: [sort("isRare", true), sort("objectID", ascending)])
        == inserted.filter { $0 != "coot" } + ["coot"])
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.sortDescriptors = [sort("objectID", ascending)]
    request.fetchBatchSize = 2
    #expect(try context.fetch(request).compactMap(\.name) == inserted)
    (request.fetchOffset, request.fetchLimit) = (1, 2)
    #expect(try context.fetch(request).compactMap(\.name) == Array(inserted[1...2]))
    let ids = NSFetchRequest<NSManagedObjectID>(entityName: "Bird")
    ids.resultType = .managedObjectIDResultType
    ids.sortDescriptors = request.sortDescriptors
    #expect(try context.fetch(ids).compactMap { (context.object(with: $0) as? Bird)?.name } == inserted)
    let rows = NSFetchRequest<NSDictionary>(entityName: "Bird")
    rows.resultType = .dictionaryResultType
    rows.propertiesToFetch = ["name"]
    rows.sortDescriptors = request.sortDescriptors
    #expect(try context.fetch(rows).compactMap { $0["name"] as? String } == inserted)
  }

  @Test(
    "Unsaved objects take part, in a child as well, and arrays sort as fetches do", arguments: [true, false])
  func unsaved(ascending: Bool) throws {
    let stand = try BirdStand()
    _ = try stand.stocked()
    let parent = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    parent.persistentStoreCoordinator = stand.coordinator
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = parent
    for context in [parent, child] {
      try context.performAndWait { try check(context, ascending) }
    }
    withExtendedLifetime(stand) {}
  }

  private func check(_ context: NSManagedObjectContext, _ ascending: Bool) throws {
    BirdStand.bird("heron", 4, 1, nil, context)
    let all = try context.fetch(Bird.fetchRequest())
    for key in ["objectID", "self"] {
      let order = [sort("isRare", true), sort(key, ascending)]
      let found = try names(nil, in: context, sorted: order)
      let wanted = ["wren", "robin", "swan", "gull"] + Array(repeating: "heron", count: found.count - 5)
      #expect(Array(found.dropLast()) == (ascending ? wanted : wanted.reversed()), "\(key)")
      let sorted = NSArray(array: all).sortedArray(using: order)
      #expect(sorted.compactMap { ($0 as? Bird)?.name } == found)
    }
  }

  @Test("A fetched results controller follows the order of objects", arguments: [true, false])
  func controllers(ascending: Bool) throws {
    let context = try BirdStand().stocked()
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.sortDescriptors = [sort("isRare", true), sort("objectID", ascending)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    try controller.performFetch()
    func check(_ note: String) throws {
      let found = try context.fetch(request)
      #expect(controller.fetchedObjects == found, "\(note)")
    }
    try check("at first")
    let listener = FetchedResultsTests.Listener()
    controller.delegate = listener
    BirdStand.bird("heron", 4, 1, nil, context)
    context.processPendingChanges()
    try check("with an unsaved object")
    let first = try #require(controller.fetchedObjects?.first)
    first.setValue(true, forKey: "isRare")
    try context.save()
    try check("after a change")
    context.delete(first)
    try context.save()
    try check("after a deletion")
    #expect(controller.fetchedObjects?.count == 5)
  }
}
