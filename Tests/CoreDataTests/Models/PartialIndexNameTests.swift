import CoreData
import Testing

@Suite("Partial indexes by Apple's names")
struct PartialIndexNameTests {
  private func model(_ predicate: NSPredicate?) throws -> NSManagedObjectModel {
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      return attribute
    }
    let entity = NSEntityDescription()
    entity.name = "Ticket"
    entity.properties = [
      attribute("title", .stringAttributeType), attribute("closedAt", .dateAttributeType),
      attribute("rank", .integer32AttributeType),
    ]
    let index = NSFetchIndexDescription(
      name: "open",
      elements: [
        NSFetchIndexElementDescription(property: entity.properties[0], collationType: .binary)
      ])
    index.partialIndexPredicate = predicate
    entity.indexes = [index]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    return model
  }

  @Test("The predicate is kept, copied with its index and its model, and taken away")
  func keeping() throws {
    let predicate = NSPredicate(format: "closedAt == nil AND rank > %d", 2)
    let model = try model(predicate)
    let index = try #require(model.entitiesByName["Ticket"]?.indexes.first)
    #expect(index.partialIndexPredicate == predicate)
    #expect((index.copy() as? NSFetchIndexDescription)?.partialIndexPredicate == predicate)
    let copy = try #require(model.copy() as? NSManagedObjectModel)
    #expect(copy.entitiesByName["Ticket"]?.indexes.first?.partialIndexPredicate == predicate)
    index.partialIndexPredicate = nil
    #expect(index.partialIndexPredicate == nil)
  }

  @Test("A fetch with the predicate finds what it finds without the index; saves keep the index right")
  func using() throws {
    func titles(_ model: NSManagedObjectModel) throws -> [[String]] {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      _ = try coordinator.addPersistentStore(
        ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
      let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      return try context.performAndWait {
        var tickets: [NSManagedObject] = []
        for number in 0..<60 {
          let ticket = NSEntityDescription.insertNewObject(forEntityName: "Ticket", into: context)
          ticket.setValue("ticket \(number % 12)", forKey: "title")
          ticket.setValue(number % 5, forKey: "rank")
          if number % 3 == 0 { ticket.setValue(Date(timeIntervalSince1970: 0), forKey: "closedAt") }
          tickets.append(ticket)
        }
        try context.save()
        var found: [[String]] = []
        func fetch() throws {
          let request = NSFetchRequest<NSManagedObject>(entityName: "Ticket")
          request.predicate = NSPredicate(
            format: "title BEGINSWITH %@ AND closedAt == nil AND rank > 2", "ticket 1")
          request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
          found.append(try context.fetch(request).map { $0.value(forKey: "title") as? String ?? "" })
        }
        try fetch()
        for (number, ticket) in tickets.enumerated() where number % 5 == 0 {
          ticket.setValue(number % 2 == 0 ? nil : Date(timeIntervalSince1970: 1), forKey: "closedAt")
          ticket.setValue(4, forKey: "rank")
        }
        try context.save()
        try fetch()
        return found
      }
    }
    let with = try titles(model(NSPredicate(format: "rank > 2 AND closedAt == nil")))
    #expect(try with == titles(model(nil)))
    #expect(with.count == 2 && with[0] != with[1] && !with[0].isEmpty)
  }

  @Test("A predicate that no store can look up, or that one row does not decide, is refused with words")
  func refusing() throws {
    for (predicate, words) in [
      (NSPredicate { _, _ in true }, "a block"), (NSPredicate(format: "rank > $LIMIT"), "$LIMIT"),
      (NSPredicate(format: "title == closedAt"), "two attributes"),
    ] {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try model(predicate))
      #expect {
        try coordinator.addPersistentStore(
          ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
      } throws: {
        "\($0)".contains(words)
      }
    }
  }
}
