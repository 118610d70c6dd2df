import CoreData
import Testing

@Suite("Batches that are merged")
struct MergedBatchTests {
  let stand: CompanyStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try CompanyStand()
    context = try stand.stocked()
  }

  @Test("A batch update with expressions, by description and name; objects follow when it is merged")
  func update() throws {
    let (anna, cleo) = (try context.employee("Anna"), try context.employee("Cleo"))
    #expect(anna.age == 30 && cleo.age == 50)
    let entity = try #require(NSEntityDescription.entity(forEntityName: "Employee", in: context))
    let age = try #require(entity.attributesByName["age"])
    let request = NSBatchUpdateRequest(entity: entity)
    request.predicate = NSPredicate(format: "department.name == %@", "Sales")
    request.propertiesToUpdate = [
      age: NSExpression(format: "age + 1"),
      "notes": NSExpression(forConstantValue: "batch"), "badge": NSNull(),
    ]
    request.resultType = .updatedObjectIDsResultType
    let ids = try #require(
      (try context.execute(request) as? NSBatchUpdateResult)?.result as? [NSManagedObjectID])
    #expect(ids.count == 2 && anna.age == 30)
    anna.setValue("mine", forKey: "notes")
    NSManagedObjectContext.mergeChanges(
      fromRemoteContextSave: [NSUpdatedObjectsKey: ids], into: [context])
    #expect(anna.age == 31 && anna.value(forKey: "notes") as? String == "mine" && cleo.age == 50)
    request.resultType = .updatedObjectsCountResultType
    request.includesSubentities = false
    request.predicate = nil
    request.propertiesToUpdate = ["isActive": false]
    #expect((try context.execute(request) as? NSBatchUpdateResult)?.result as? Int == 3)
    request.resultType = .statusOnlyResultType
    #expect((try context.execute(request) as? NSBatchUpdateResult)?.result as? Bool == true)
  }

  @Test("A batch delete with rules, a limit and an order; a list loses what is merged")
  func delete() throws {
    let request = NSFetchRequest<Employee>(entityName: "Employee")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    let listener = SectionMoveTests.Listener()
    controller.delegate = listener
    try controller.performFetch()
    let oldest = NSFetchRequest<NSFetchRequestResult>(entityName: "Employee")
    oldest.sortDescriptors = [NSSortDescriptor(key: "age", ascending: true)]
    oldest.fetchLimit = 1
    let batch = NSBatchDeleteRequest(fetchRequest: oldest)
    batch.resultType = .resultTypeObjectIDs
    let anna = try context.employee("Anna")
    let ids = (try context.execute(batch) as? NSBatchDeleteResult)?.result as? [NSManagedObjectID]
    #expect(ids?.contains(anna.objectID) == true && listener.told.isEmpty)
    NSManagedObjectContext.mergeChanges(
      fromRemoteContextSave: [NSDeletedObjectsKey: ids ?? []], into: [context])
    context.processPendingChanges()
    #expect(listener.told == ["will", "delete Anna 0.0 -", "did"])
    #expect(try context.texts("Employee", "name") == ["Bert", "Cleo", "Dora"])
    #expect(try stand.context().texts("Chore", "title") == ["phone"])
  }

  @Test("A batch insert gives defaults; IDs that are merged show in lists")
  func insert() throws {
    let insert = NSBatchInsertRequest(
      entityName: "Employee", objects: [["name": "Ed"], ["name": "Flo", "age": 3]])
    insert.resultType = .objectIDs
    let ids = try #require(
      (try context.execute(insert) as? NSBatchInsertResult)?.result as? [NSManagedObjectID])
    #expect(ids.count == 2)
    let infos = notes(.NSManagedObjectContextObjectsDidChange, of: context) {
      NSManagedObjectContext.mergeChanges(
        fromRemoteContextSave: [NSInsertedObjectIDsKey: ids], into: [context])
      context.processPendingChanges()
    }
    #expect(told(infos.first, NSInsertedObjectsKey) == ["Ed", "Flo"])
    #expect(try context.employee("Ed").age == 18 && context.employee("Flo").age == 3)
    #expect(try context.employee("Ed").value(forKey: "isActive") as? Bool == true)
  }
}
