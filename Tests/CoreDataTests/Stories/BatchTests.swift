import CoreData
import Foundation
import Testing

@Suite("Batches by Apple's names")
struct BatchTests {
  @Test("Batches insert, update and delete in the store; what they answer is merged by IDs")
  func batches() throws {
    let coordinator = try Journal.makeCoordinator(at: nil)
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    try context.performAndWait {
      let insert = NSBatchInsertRequest(
        entityName: "Entry", objects: [["title": "a", "rating": 1], ["title": "b", "rating": 2]])
      insert.resultType = .objectIDs
      let inserted = try context.execute(insert) as? NSBatchInsertResult
      #expect((inserted?.result as? [NSManagedObjectID])?.count == 2)
      var left = 3
      let more = NSBatchInsertRequest(entity: Entry.entity()) { (values: NSMutableDictionary) in
        values["title"] = "more \(left)"
        left -= 1
        return left < 0
      }
      more.resultType = .count
      #expect((try context.execute(more) as? NSBatchInsertResult)?.result as? Int == 3)
      #expect(try Journal.titles(context) == ["a", "b", "more 1", "more 2", "more 3"])

      let a = try #require(try Journal.entry("a", context))
      let update = NSBatchUpdateRequest(entityName: "Entry")
      update.predicate = NSPredicate(format: "title BEGINSWITH %@", "a")
      update.propertiesToUpdate = ["rating": 5, "height": NSNull()]
      update.resultType = .updatedObjectIDsResultType
      let updated = try context.execute(update) as? NSBatchUpdateResult
      let ids = try #require(updated?.result as? [NSManagedObjectID])
      #expect(ids == [a.objectID] && a.rating == 1)
      NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSUpdatedObjectsKey: ids], into: [context])
      #expect(a.rating == 5)

      let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Entry")
      request.predicate = NSPredicate(format: "title CONTAINS 'more'")
      let delete = NSBatchDeleteRequest(fetchRequest: request)
      delete.resultType = .resultTypeCount
      #expect((try context.execute(delete) as? NSBatchDeleteResult)?.result as? Int == 3)
      #expect(try Journal.titles(context) == ["a", "b"])
      try context.execute(NSBatchDeleteRequest(objectIDs: [a.objectID]))
      #expect(try Journal.titles(context) == ["b"])
    }
  }

  @Test("A batch update and a batch deletion look up a #Predicate")
  func swiftPredicate() throws {
    let context = try BirdStand().stocked()
    let update = NSBatchUpdateRequest(entityName: "Bird")
    update.predicate = NSPredicate(#Predicate<Bird> { $0.tally > 4 })
    update.propertiesToUpdate = ["tally": 40]
    update.resultType = .updatedObjectsCountResultType
    #expect((try context.execute(update) as? NSBatchUpdateResult)?.result as? Int == 3)
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Bird")
    request.predicate = NSPredicate(#Predicate<Bird> { $0.tally < 4 })
    try context.execute(NSBatchDeleteRequest(fetchRequest: request))
    #expect(try names(nil, in: context) == ["coot", "gull", "wren"])
  }
}
