import CoreData
import Testing

/// IDs where an object is asked for.
@Suite("IDs as objects")
struct ObjectIDBridgingTests {
  private func identifiers(_ context: NSManagedObjectContext) throws -> [NSManagedObjectID] {
    try context.fetch(Bird.fetchRequest()).map(\.objectID)
  }

  @Test("An ID as an NSObject is equal to that of the same ID only, is its own copy, and is the ID again")
  func objects() throws {
    let ids = try identifiers(try BirdStand().stocked())
    let first = ids[0] as NSObject
    #expect(first == ids[0] as NSObject && first.hash == (ids[0] as NSObject).hash)
    #expect(first != ids[1] as NSObject && !first.isEqual("a") && first.isEqual(ids[0]))
    #expect(first as? NSManagedObjectID == ids[0] && first as Any as? NSManagedObjectID == ids[0])
    let any: Any = ids[1]
    #expect((any as? NSObject) == ids[1] as NSObject && (any as AnyObject) as? NSManagedObjectID == ids[1])
    let copying: any NSCopying = ids[1]
    let found = try #require(any as? any NSCopying)
    #expect(copying.copy(with: nil) as? NSManagedObjectID == ids[1])
    #expect(
      found.copy(with: nil) as? NSManagedObjectID == ids[1] && first.copy() as? NSManagedObjectID == ids[0])
    #expect("\(first)" == "\(ids[0])")
    #expect(NSObject() as? NSManagedObjectID == nil)
  }

  @Test("Foundation's collections take IDs and give them back")
  func collections() throws {
    let ids = try identifiers(try BirdStand().stocked())
    let array = ids as NSArray
    #expect(array.count == ids.count && array as? [NSManagedObjectID] == ids)
    #expect(
      array[0] as? NSManagedObjectID == ids[0] && array.contains(ids[1]) && array.index(of: ids[2]) == 2)
    let set = NSSet(array: ids + ids)
    #expect(set.count == ids.count && set.contains(ids[0]) && set as? Set<NSManagedObjectID> == Set(ids))
    let titles = NSMutableDictionary()
    titles.setObject("first", forKey: ids[0] as NSObject)
    titles[ids[1] as NSObject] = "second"
    #expect(titles.object(forKey: ids[0]) as? String == "first" && titles[ids[1]] as? String == "second")
    #expect((titles as? [NSManagedObjectID: String])?[ids[0]] == "first")
    #expect(([ids[0]: "a"] as NSDictionary).allKeys.first as? NSManagedObjectID == ids[0])
  }

  @Test("Caches and tables of Foundation's are keyed by an ID as an object")
  func caches() throws {
    let ids = try identifiers(try BirdStand().stocked())
    let cache = NSCache<NSObject, NSString>()
    cache.setObject("a", forKey: ids[0] as NSObject)
    #expect(
      cache.object(forKey: ids[0] as NSObject) == "a" && cache.object(forKey: ids[1] as NSObject) == nil)
  }

  @Test("Predicates, user info and batch results go on with IDs")
  func elsewhere() throws {
    let context = try BirdStand().stocked()
    let ids = try identifiers(context)
    let request = Bird.fetchRequest()
    request.predicate = NSPredicate(format: "SELF IN %@", ids as NSArray)
    #expect(try context.count(for: request) == ids.count)
    request.predicate = NSPredicate(format: "SELF == %@", ids[0] as NSObject)
    #expect(try context.fetch(request).map(\.objectID) == [ids[0]])
    let note = Notification(name: .init("a"), userInfo: ["ids": ids as NSArray])
    #expect(note.userInfo?["ids"] as? [NSManagedObjectID] == ids)
    let delete = NSBatchDeleteRequest(objectIDs: [ids[0]])
    delete.resultType = .resultTypeObjectIDs
    let result = try #require(try context.execute(delete) as? NSBatchDeleteResult)
    #expect(result.result as? [NSManagedObjectID] == [ids[0]])
  }
}
