import CoreData
import Testing

@Suite("Aggregates of all objects in conditions")
struct AggregateConditionTests {
  let stand: BirdStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try BirdStand()
    context = try stand.stocked()
  }

  private func found(_ format: String, in context: NSManagedObjectContext? = nil) throws -> [String] {
    try names(NSPredicate(format: format), in: context ?? self.context)
  }

  private func bird(_ name: String) throws -> Bird {
    try #require(try context.fetch(Bird.fetchRequest()).first { $0.name == name })
  }

  @Test(
    "A condition compares with the largest, smallest and mean value, the sum and the number of all objects")
  func allFunctions() throws {
    #expect(try found("tally == max(tally)") == ["coot"])
    #expect(try found("max:(tally) == tally") == ["coot"])
    #expect(try found("tally == @max.tally") == ["coot"])
    #expect(
      try names(
        NSPredicate(format: "self.%K == max(%K)", argumentArray: ["tally", "tally"]), in: context) == ["coot"]
    )
    #expect(try found("tally == min(tally)") == ["robin"])
    #expect(try found("tally > average(tally)") == ["coot", "wren"])
    #expect(try found("tally * 2 > sum(tally) - 6") == ["coot"])
    #expect(try found("count(name) == 5 AND tally < 3") == ["robin"])
    #expect(try found("weight == max(weight)") == ["swan"])
    #expect(try found("seenAt == max(seenAt)") == ["coot"])
    #expect(try found("name == min(name) OR name == max(name)") == ["coot", "wren"])
    #expect(try found("tally IN {max(tally), min(tally)}") == ["coot", "robin"])
    #expect(try found("NOT tally == max(tally)").count == 4)
    let made = NSComparisonPredicate(
      leftExpression: NSExpression(forKeyPath: "tally"),
      rightExpression: NSExpression(forFunction: "max:", arguments: [NSExpression(forKeyPath: "tally")]),
      modifier: .direct, type: .equalTo)
    #expect(try names(made, in: context) == ["coot"])
  }

  @Test("The value is that of all objects, whatever else the condition says, also along to-one relationships")
  func unrestricted() throws {
    #expect(try found("tally == max(tally) AND site.name == 'Wood'").isEmpty)
    #expect(try found("site.name == max(site.name)") == ["robin", "wren"])
    #expect(try found("count(site) == 4 AND name == 'gull'") == ["gull"])
    let request = NSFetchRequest<Site>(entityName: "Site")
    request.predicate = NSPredicate(
      format: "SUBQUERY(birds, $b, $b.tally > 10 AND max(name) == 'Wood').@count == 1")
    #expect(try context.fetch(request).map(\.name) == ["Lake"])
  }

  @Test("What is not saved takes part where it does in the fetch")
  func unsaved() throws {
    let heron = BirdStand.bird("heron", 100, 1, nil, context)
    #expect(try found("tally == max(tally)") == ["heron"])
    #expect(try context.count(for: request("tally == max(tally)")) == 1)
    let stored = request("tally == max(tally)")
    stored.includesPendingChanges = false
    #expect(try context.fetch(stored).map(\.name) == ["coot"])
    let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    child.parent = context
    #expect(try found("tally == max(tally)", in: child) == ["heron"])
    context.delete(heron)
    context.delete(try bird("coot"))
    #expect(try found("tally == max(tally)") == ["wren"])
    try bird("robin").tally = 50
    #expect(try found("tally == max(tally)") == ["robin"])
    #expect(try found("sum(tally) == 65").count == 4)
  }

  @Test("Related objects that are not saved have a say")
  func unsavedRelated() throws {
    let lake = try #require(try bird("swan").site)
    lake.name = "Zoo"
    #expect(try found("site.name == max(site.name)") == ["coot", "swan"])
    context.rollback()
    #expect(try found("site.name == max(site.name)") == ["robin", "wren"])
  }

  private func request(_ format: String) -> NSFetchRequest<Bird> {
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.predicate = NSPredicate(format: format)
    return request
  }

  @Test("Batches and rows of values compare with what is stored")
  func stored() throws {
    BirdStand.bird("heron", 100, 1, nil, context)
    let rows = NSFetchRequest<NSDictionary>(entityName: "Bird")
    rows.resultType = .dictionaryResultType
    rows.propertiesToFetch = ["name"]
    rows.predicate = NSPredicate(format: "tally == max(tally)")
    #expect(try context.fetch(rows).map { $0["name"] as? String } == ["coot"])
    context.rollback()

    let update = NSBatchUpdateRequest(entityName: "Bird")
    update.predicate = NSPredicate(format: "tally == min(tally)")
    update.propertiesToUpdate = ["tally": NSExpression(format: "max(tally) + 1")]
    update.resultType = .updatedObjectsCountResultType
    #expect((try context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 1)
    context.refreshAllObjects()
    #expect(try bird("robin").tally == 13)

    let all = NSFetchRequest<any NSFetchRequestResult>(entityName: "Bird")
    all.predicate = NSPredicate(format: "tally == max(tally)")
    try context.execute(NSBatchDeleteRequest(fetchRequest: all))
    context.reset()
    #expect(try found("tally > 0") == ["coot", "gull", "swan", "wren"])
  }

  @Test("What cannot be aggregated, and what is one value for certain, are errors")
  func refused() throws {
    #expect(throws: (any Error).self) { try found("max(nothing) == 1") }
    #expect(throws: (any Error).self) { try found("sum(name) == 1") }
    #expect(throws: (any Error).self) { try found("max(3) == 3") }
    try bird("coot").tally = .max
    #expect(throws: (any Error).self) { try found("sum(tally) > 0") }
  }

  @Test("In memory an object is all that there is")
  func inMemory() throws {
    let predicate = NSPredicate(format: "tally == max(tally)")
    #expect(predicate.evaluate(with: try bird("robin")))
  }

  /// Follows changes, and notes how often it was told.
  final class Listener: NSFetchedResultsControllerDelegate {
    var count = 0
    func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
      count += 1
    }
  }

  @Test("A fetched results controller follows the value")
  func followed() throws {
    let request = request("tally == max(tally)")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    let listener = Listener()
    controller.delegate = listener
    try controller.performFetch()
    #expect(controller.fetchedObjects?.map(\.name) == ["coot"])
    try bird("gull").tally = 50
    context.processPendingChanges()
    #expect(controller.fetchedObjects?.map(\.name) == ["gull"])
    try bird("wren").tally = 50
    context.processPendingChanges()
    #expect(controller.fetchedObjects?.map(\.name) == ["gull", "wren"])
    // A fetch between them would tell of the first.
    for bird in [try bird("gull"), try bird("wren")] { context.delete(bird) }
    context.processPendingChanges()
    #expect(controller.fetchedObjects?.map(\.name) == ["coot"])
    #expect(listener.count == 3)
  }
}
