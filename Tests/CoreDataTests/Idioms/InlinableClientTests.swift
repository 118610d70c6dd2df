import CoreData
import Testing

@Suite("A library that imports only CoreData")
struct InlinableClientTests {
  @Test("Its inlined code fetches, makes, saves and imports")
  func used() throws {
    let stand = try BirdStand()
    let birds = ClientRepository<Bird>("Bird", context: stand.context())
    birds.make().name = "wren"
    try birds.save()
    let rows: [[String: Any]] = [
      ["name": "owl", "tally": 3], ["name": "coot", "tally": NSNumber(value: 4)],
    ]
    #expect(try birds.insert(rows) == 2)
    #expect(try birds.values("name") == ["coot", "owl", "wren"])
    #expect(try birds.all("tally > 3").map(\.name) == ["coot"])
    #expect(birds.attributeNames == ["isRare", "name", "seenAt", "tally", "weight"])
    #expect((birds.context.mergePolicy as? NSMergePolicy) == .mergeByPropertyObjectTrump)
  }

  @Test("An asynchronous fetch takes along what is no value of the concurrency checker's")
  func asynchronous() async throws {
    final class Heard { var count = 0 }
    let stand = try BirdStand()
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = stand.coordinator
    let count = try await withCheckedThrowingContinuation { (done: CheckedContinuation<Int, any Error>) in
      context.perform {
        let heard = Heard()
        BirdStand.bird("wren", 1, 1, nil, context)
        let request = NSAsynchronousFetchRequest(
          fetchRequest: NSFetchRequest<Bird>(entityName: "Bird")
        ) { result in
          heard.count += result.finalResult?.count ?? -100
          done.resume(returning: heard.count)
        }
        do {
          try context.save()
          try context.execute(request)
        } catch { done.resume(throwing: error) }
        heard.count += 10
      }
    }
    #expect(count == 11)
    withExtendedLifetime(stand) {}
  }
}
