import CoreData
import Testing

@Suite("fetchRequest() of a class that has one of its own")
struct FetchRequestFormTests {
  @Test("It needs no annotation; the untyped request exists as well")
  func forms() throws {
    let context = try BirdStand().stocked()
    let request = Bird.fetchRequest()
    request.predicate = NSPredicate(format: "tally > 6")
    let birds: [Bird] = try context.fetch(request)
    #expect(birds.count == 2)
    let all = try context.fetch(Bird.fetchRequest())
    #expect(all.compactMap(\.name).count == 5)
    let typed: NSFetchRequest<Bird> = Bird.fetchRequest()
    #expect(try context.count(for: typed) == 5)
    let untyped: NSFetchRequest<NSFetchRequestResult> = Bird.fetchRequest()
    #expect(try context.fetch(untyped).count == 5)
    // A class without one has the untyped one only.
    let sites = Site.fetchRequest()
    #expect(try context.fetch(sites).count == 2)
    #expect(NSBatchDeleteRequest(fetchRequest: Bird.fetchRequest()).fetchRequest.entityName == "Bird")
  }

  @Test("A fetch in a context without a coordinator says so")
  func noCoordinator() throws {
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    let error = #expect(throws: CocoaError.self) {
      try context.fetch(NSFetchRequest<Bird>(entityName: "Bird"))
    }
    #expect(error.map { "\($0.localizedDescription)" }?.contains("the context has no coordinator") == true)
  }
}
