import CoreData
import Testing

@Suite("NSFetchRequest")
struct FetchRequestTests {
  @Test("Rule 84: the defaults of a request")
  func defaults() {
    let request = NSFetchRequest<Bird>()
    #expect(request.includesSubentities && request.includesPropertyValues)
    #expect(request.returnsObjectsAsFaults && request.includesPendingChanges)
    #expect(!request.returnsDistinctResults && !request.shouldRefreshRefetchedObjects)
    #expect(request.fetchLimit == 0 && request.fetchOffset == 0 && request.fetchBatchSize == 0)
    #expect(request.resultType == .managedObjectResultType)
    #expect(request.predicate == nil && request.sortDescriptors == nil && request.propertiesToFetch == nil)
    let untyped = NSFetchRequest<NSFetchRequestResult>()
    #expect(untyped.entityName == nil && untyped.entity == nil)
    #expect(request.requestType == .fetchRequestType)
  }

  @Test("A request of one class becomes a copy for other results, which Apple's is cast to")
  func otherResults() throws {
    let context = try BirdStand().stocked()
    let birds = NSFetchRequest<Bird>(entityName: "Bird")
    birds.predicate = NSPredicate(format: "tally > 2")
    birds.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)]
    birds.fetchLimit = 2
    let request = NSFetchRequest<NSFetchRequestResult>(birds)
    #expect(try context.fetch(request) as? [Bird] == context.fetch(birds))
    #expect(request.fetchLimit == 2 && request.entityName == "Bird" && request.predicate == birds.predicate)
    request.fetchLimit = 1
    #expect(birds.fetchLimit == 2)
    let ids = NSFetchRequest<NSManagedObjectID>(birds)
    ids.resultType = .managedObjectIDResultType
    #expect(try context.fetch(ids) == context.fetch(birds).map(\.objectID))
    #expect(throws: (any Error).self) { try context.execute(NSBatchInsertRequest()) }
  }

  @Test("Rule 85: result types have Core Data's numbers, and each returns its kind")
  func resultTypes() throws {
    #expect(NSFetchRequestResultType.managedObjectResultType.rawValue == 0)
    #expect(NSFetchRequestResultType.managedObjectIDResultType.rawValue == 1)
    #expect(NSFetchRequestResultType.dictionaryResultType.rawValue == 2)
    #expect(NSFetchRequestResultType.countResultType.rawValue == 4)
    let context = try BirdStand().stocked()
    let request = NSFetchRequest<NSFetchRequestResult>(entityName: "Bird")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let objects = try context.fetch(request) as? [Bird]
    #expect(objects?.map(\.name) == ["coot", "gull", "robin", "swan", "wren"])
    request.resultType = .managedObjectIDResultType
    let ids = try context.fetch(request) as? [NSManagedObjectID]
    #expect(ids == objects?.map(\.objectID))
    request.resultType = .dictionaryResultType
    let rows = try context.fetch(request) as? [[String: Any]]
    #expect(rows?.map { $0["name"] as? String } == ["coot", "gull", "robin", "swan", "wren"])
    // Rule 95: every attribute, no relationship.
    #expect(rows?.first?.keys.sorted() == ["isRare", "name", "seenAt", "tally", "weight"])
    request.resultType = .countResultType
    #expect(try context.fetch(request) as? [NSNumber] == [5])
    let typed = NSFetchRequest<NSDictionary>(entityName: "Bird")
    typed.resultType = .dictionaryResultType
    #expect(try context.fetch(typed).count == 5)
  }

  @Test("A request whose results are of another type than it says throws")
  func wrongType() throws {
    let context = try BirdStand().stocked()
    let request = NSFetchRequest<Site>(entityName: "Bird")
    #expect(throws: CocoaError.self) { try context.fetch(request) }
  }

  @Test("Rule 103: a request knows its entity once a context has used it; an unknown entity throws")
  func entities() throws {
    let context = try BirdStand().stocked()
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    #expect(request.entityName == "Bird" && request.entity == nil)
    _ = try context.fetch(request)
    #expect(request.entity?.name == "Bird")
    let byDescription = NSFetchRequest<NSFetchRequestResult>()
    byDescription.entity = request.entity
    #expect(byDescription.entityName == "Bird")
    #expect(try context.count(for: byDescription) == 5)
    let unknown = NSFetchRequest<Bird>(entityName: "Fish")
    #expect(throws: (any Error).self) { try context.fetch(unknown) }
    let none = NSFetchRequest<NSFetchRequestResult>()
    #expect(throws: CocoaError.self) { try context.fetch(none) }
  }

  @Test("A class makes requests for its entity")
  func requestsOfClasses() throws {
    let context = try BirdStand().stocked()
    let own: NSFetchRequest<Bird> = Bird.fetchRequest()
    #expect(try context.fetch(own).count == 5)
    let any: NSFetchRequest<NSFetchRequestResult> = Site.fetchRequest()
    #expect(any.entityName == "Site")
    #expect(try (context.fetch(any) as? [Site])?.count == 2)
    #expect(try context.fetch(NSFetchRequest<Site>()).count == 2)
  }

  @Test("Rules 86, 87, 92: unsaved changes take part, and the window is cut from the merged result")
  func pendingChanges() throws {
    let context = try BirdStand().stocked()
    BirdStand.bird("auk", 9, 1, nil, context)
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    request.fetchLimit = 2
    request.fetchOffset = 1
    #expect(try context.fetch(request).map(\.name) == ["coot", "gull"])
    #expect(try context.count(for: request) == 2)
    request.includesPendingChanges = false
    #expect(try context.fetch(request).map(\.name) == ["gull", "robin"])
  }

  @Test("Rules 91, 94: a count is that of the fetch; an offset behind the end gives nothing")
  func counts() throws {
    let context = try BirdStand().stocked()
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.predicate = NSPredicate(format: "tally > 2")
    #expect(try context.count(for: request) == 4)
    request.fetchOffset = 10
    #expect(try context.count(for: request) == 0)
    #expect(try context.fetch(request).isEmpty)
  }

  @Test("Rules 96, 97, 99, 100: columns, groups and aggregates")
  func dictionaries() throws {
    let context = try BirdStand().stocked()
    let most = NSExpressionDescription()
    most.name = "most"
    most.expression = NSExpression(forFunction: "max:", arguments: [NSExpression(forKeyPath: "tally")])
    most.expressionResultType = .integer64AttributeType
    let request = NSFetchRequest<NSDictionary>(entityName: "Bird")
    request.resultType = .dictionaryResultType
    request.propertiesToFetch = [most]
    #expect(try context.fetch(request).map { $0["most"] as? Int } == [12])
    let entity = try #require(context.persistentStoreCoordinator?.managedObjectModel.entitiesByName["Bird"])
    let site = try #require(entity.propertiesByName["site"])
    request.propertiesToFetch = [site, most]
    request.propertiesToGroupBy = [site]
    request.sortDescriptors = [NSSortDescriptor(key: "most", ascending: true)]
    let rows = try context.fetch(request)
    #expect(rows.map { $0["most"] as? Int } == [5, 7, 12])
    #expect(rows[0]["site"] == nil && rows[1]["site"] is NSManagedObjectID)
    request.havingPredicate = NSPredicate(format: "most > 6")
    #expect(try context.fetch(request).count == 2)
    request.havingPredicate = NSComparisonPredicate(
      leftExpression: NSExpression(forVariable: "most"), rightExpression: NSExpression(forConstantValue: 6),
      modifier: .direct, type: .greaterThan)
    #expect(try context.fetch(request).count == 2)
    let rare = NSFetchRequest<NSDictionary>(entityName: "Bird")
    rare.resultType = .dictionaryResultType
    rare.propertiesToFetch = ["isRare"]
    rare.returnsDistinctResults = true
    #expect(try context.fetch(rare).count == 2)
  }

  @Test("Rule 104: execute() uses the context whose block is running")
  func execute() throws {
    let saved = try BirdStand().stocked()
    let coordinator = try #require(saved.persistentStoreCoordinator)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let count = try context.performAndWait { try NSFetchRequest<Bird>(entityName: "Bird").execute().count }
    #expect(count == 5)
    #expect(throws: CocoaError.self) { try NSFetchRequest<Bird>(entityName: "Bird").execute() }
  }

  @Test("Rule 106: affectedStores limits a fetch")
  func affectedStores() throws {
    let context = try BirdStand().stocked()
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.affectedStores = []
    #expect(try context.fetch(request).isEmpty)
    request.affectedStores = context.persistentStoreCoordinator?.persistentStores
    #expect(try context.fetch(request).count == 5)
  }

  @Test("Rule 110: templates are kept by the model and handed out with their variables bound")
  func templates() throws {
    let stand = try BirdStand { model in
      let request = NSFetchRequest<NSFetchRequestResult>(entityName: "Bird")
      request.predicate = NSPredicate(format: "tally > $least")
      request.sortDescriptors = [NSSortDescriptor(key: "tally", ascending: false)]
      model.setFetchRequestTemplate(request, forName: "Many")
    }
    let context = try stand.stocked()
    let model = stand.coordinator.managedObjectModel
    #expect(model.fetchRequestTemplatesByName.keys.sorted() == ["Many"])
    #expect(model.fetchRequestTemplate(forName: "Many")?.predicate?.description == "tally > $least")
    #expect(model.fetchRequestTemplate(forName: "Few") == nil)
    let bound = try #require(
      model.fetchRequestFromTemplate(withName: "Many", substitutionVariables: ["least": 4]))
    #expect(bound.entityName == "Bird" && bound.entity?.name == "Bird")
    #expect(try (context.fetch(bound) as? [Bird])?.map(\.name) == ["coot", "wren", "gull"])
    #expect(model.fetchRequestTemplate(forName: "Many")?.predicate?.description == "tally > $least")
  }

  @Test("Rule 111: a fetched property has the objects its request finds, in order")
  func fetchedProperties() throws {
    let context = try BirdStand().stocked()
    let lake = try #require(
      try context.fetch(NSFetchRequest<Site>(entityName: "Site")).first { $0.name == "Lake" })
    let found = lake.value(forKey: "heavyBirds")
    #expect(
      ((found as? NSArray).map(Array.init) ?? found as? [Any] ?? []).map { ($0 as? Bird)?.name } == ["swan"])
    let property = lake.entity.propertiesByName["heavyBirds"] as? NSFetchedPropertyDescription
    let request: NSFetchRequest<NSFetchRequestResult>? = property?.fetchRequest
    #expect(request?.entityName == "Bird")
    #expect(request?.predicate?.description == "site == $FETCH_SOURCE AND weight > 1")
  }

  @Test("Rule 112: an asynchronous fetch completes on the context's queue, and can be cancelled")
  func asynchronous() async throws {
    let saved = try BirdStand().stocked()
    let coordinator = try #require(saved.persistentStoreCoordinator)
    let names: [String] = try await withCheckedThrowingContinuation { continuation in
      let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      context.perform {
        let request = NSFetchRequest<Bird>(entityName: "Bird")
        request.sortDescriptors = [NSSortDescriptor(key: "tally", ascending: true)]
        let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) { result in
          // The context lives until here.
          withExtendedLifetime(context) {}
          if let error = result.operationError { return continuation.resume(throwing: error) }
          continuation.resume(returning: (result.finalResult ?? []).map { $0.name ?? "nil" })
        }
        asynchronous.estimatedResultCount = 5
        do {
          let result = try context.execute(asynchronous) as? NSAsynchronousFetchResult<Bird>
          if result?.finalResult != nil || result?.progress == nil {
            continuation.resume(throwing: CocoaError(.featureUnsupported))
          }
        } catch { continuation.resume(throwing: error) }
      }
    }
    #expect(names == ["robin", "swan", "gull", "wren", "coot"])
    withExtendedLifetime(saved) {}
  }

  @Test("Rule 113: execute(_:) carries out a fetch too")
  func executeInContext() throws {
    let context = try BirdStand().stocked()
    let request: NSPersistentStoreRequest = NSFetchRequest<Bird>(entityName: "Bird")
    let result = try context.execute(request) as? NSAsynchronousFetchResult<Bird>
    #expect(result?.finalResult?.count == 5)
    #expect(result?.operationError == nil)
  }

  @Test("A copy of a request is independent")
  func copies() throws {
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.predicate = NSPredicate(format: "tally > 3")
    request.fetchLimit = 7
    let copy = try #require(request.copy() as? NSFetchRequest<Bird>)
    request.fetchLimit = 1
    request.predicate = nil
    #expect(copy.fetchLimit == 7 && copy.predicate?.description == "tally > 3" && copy.entityName == "Bird")
  }
}
