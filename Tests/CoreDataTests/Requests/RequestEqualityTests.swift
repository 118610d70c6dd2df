import CoreData
import Testing

/// What programs compare to see whether they ask for the same again.
@Suite("Fetch requests and descriptions of stores are equal by value")
struct RequestEqualityTests {
  private func request(_ change: (NSFetchRequest<Bird>) -> Void = { _ in }) -> NSFetchRequest<Bird> {
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.predicate = NSPredicate(format: "tally > %d", 3)
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    request.propertiesToFetch = ["name", "tally"]
    change(request)
    return request
  }

  @Test("Two requests for the same are equal, whatever their type arguments; any difference counts")
  func requests() {
    let plain = request()
    #expect(plain == request() && plain.hash == request().hash)
    #expect(plain.copy() as? NSFetchRequest<Bird> == plain)
    #expect(NSFetchRequest<NSManagedObject>(plain).isEqual(plain))
    let others = [
      request { $0.predicate = NSPredicate(format: "tally > %d", 4) },
      request { $0.predicate = nil },
      request { $0.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)] },
      request { $0.propertiesToFetch = ["name"] },
      request { $0.propertiesToFetch = nil },
      request { $0.propertiesToGroupBy = ["name"] },
      request { $0.fetchLimit = 1 },
      request { $0.fetchOffset = 1 },
      request { $0.fetchBatchSize = 1 },
      request { $0.resultType = .dictionaryResultType },
      request { $0.includesSubentities = false },
      request { $0.returnsDistinctResults = true },
      request { $0.relationshipKeyPathsForPrefetching = ["site"] },
      NSFetchRequest<Bird>(entityName: "Site"),
    ]
    for (place, other) in others.enumerated() { #expect(plain != other, "\(place)") }
    #expect(!plain.isEqual("Bird"))
  }

  @Test("Compound predicates that are made in code count by what they say")
  func compounds() {
    func rare() -> NSPredicate { NSPredicate(format: "isRare == YES") }
    func many() -> NSPredicate { NSPredicate(format: "tally > 3") }
    func asking(_ predicate: NSPredicate) -> NSFetchRequest<Bird> { request { $0.predicate = predicate } }
    let both = asking(NSCompoundPredicate(andPredicateWithSubpredicates: [rare(), many()]))
    #expect(both == asking(NSCompoundPredicate(andPredicateWithSubpredicates: [rare(), many()])))
    for other in [
      NSCompoundPredicate(orPredicateWithSubpredicates: [rare(), many()]),
      NSCompoundPredicate(andPredicateWithSubpredicates: [rare()]),
      NSCompoundPredicate(notPredicateWithSubpredicate: rare()), NSPredicate(value: false),
    ] {
      #expect(both != asking(other) && asking(other) != both, "\(other)")
    }
  }

  @Test("Columns that are descriptions are compared as these are")
  func columns() throws {
    let (one, other) = (BirdStand.model(), BirdStand.model())
    let tally = try #require(one.entitiesByName["Bird"]?.attributesByName["tally"])
    let same = try #require(other.entitiesByName["Bird"]?.attributesByName["tally"])
    let name = try #require(one.entitiesByName["Bird"]?.attributesByName["name"])
    let plain = request { $0.propertiesToFetch = [tally] }
    #expect(plain == request { $0.propertiesToFetch = [same] })
    #expect(plain != request { $0.propertiesToFetch = [name] })
    #expect(plain != request { $0.propertiesToFetch = ["tally"] })
  }

  @Test("A request in a dictionary is found there after it was changed")
  func key() {
    let plain = request()
    let titles = [plain: "birds"]
    plain.fetchLimit = 1
    #expect(titles[plain] == "birds" && titles[request()] == nil)
  }

  @Test("Descriptions of stores")
  func stores() {
    func description(_ change: (NSPersistentStoreDescription) -> Void = { _ in })
      -> NSPersistentStoreDescription
    {
      let description = NSPersistentStoreDescription(url: URL(fileURLWithPath: "/birds.sqlite"))
      change(description)
      return description
    }
    let plain = description()
    #expect(plain == description() && plain.hash == description().hash)
    #expect(plain.copy() as? NSPersistentStoreDescription == plain)
    let others = [
      description { $0.url = URL(fileURLWithPath: "/others.sqlite") },
      description { $0.type = NSInMemoryStoreType },
      description { $0.configuration = "Birds" },
      description { $0.isReadOnly = true },
      description { $0.shouldAddStoreAsynchronously = true },
      description { $0.shouldInferMappingModelAutomatically = false },
      description { $0.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey) },
    ]
    for (place, other) in others.enumerated() { #expect(plain != other, "\(place)") }
    #expect([plain] == [description()] && [plain].firstIndex(of: description()) == 0)
  }
}
