import CoreData
import Foundation
import Testing

@Suite("Key-value coding by Apple's names")
struct KeyValueTests {
  let context: NSManagedObjectContext

  init() throws {
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = try Journal.makeCoordinator(at: nil)
  }

  @Test("Numbers can be cast to every number that holds them")
  func numbers() throws {
    let entry = Entry(context: context)
    #expect(entry.value(forKey: "rating") as? Int == 0)
    entry.setValuesForKeys(["title": "a", "rating": 4, "isPinned": true, "height": 1.5])
    #expect(entry.value(forKey: "rating") as? Int == 4 && entry.value(forKey: "rating") as? Int16 == 4)
    #expect(entry.value(forKey: "rating") as? NSNumber == 4 && entry["rating"] as? Int64 == 4)
    #expect(entry.value(forKey: "isPinned") as? Bool == true)
    #expect(entry.value(forKey: "height") as? Double == 1.5)
    #expect(entry.primitiveValue(forKey: "rating") as? Int == 4)
    #expect(entry.changedValues()["rating"] as? Int == 4)
    try context.save()
    #expect(entry.committedValues(forKeys: ["rating"])["rating"] as? Int == 4)
    let values = entry.dictionaryWithValues(forKeys: ["title", "date", "rating"])
    #expect(values["title"] as? String == "a" && values["date"] is NSNull && values["rating"] as? Int == 4)
    entry.setValuesForKeys(["height": NSNull(), "date": Date(timeIntervalSinceReferenceDate: 5)])
    #expect(entry.value(forKey: "height") == nil)
    #expect((entry.value(forKey: "date") as? NSDate)?.timeIntervalSinceReferenceDate == 5)
  }

  @Test("Members are sets of either kind; those of an ordered relationship an ordered set")
  func members() throws {
    let trip = Trip(context: context)
    let (a, b, c) = (Entry(context: context), Entry(context: context), Entry(context: context))
    for (entry, title) in [(a, "a"), (b, "b"), (c, "c")] { entry.title = title }
    trip.setValue(NSSet(array: [a, b]), forKey: "entries")
    let members = trip.value(forKey: "entries")
    #expect(members as? Set<Entry> == [a, b] && (members as? NSSet)?.count == 2)
    #expect(((members as! NSSet).allObjects as! [Entry]).map(\.title).sorted() == ["a", "b"])

    let proxy = trip.mutableSetValue(forKey: "entries")
    proxy.add(c)
    proxy.remove(a)
    #expect(c.trip === trip && a.trip == nil && proxy.count == 2 && proxy.contains(b) && !proxy.contains(a))
    #expect(proxy.allObjects.count == 2 && Set(proxy.map { ($0 as! Entry).title }) == ["b", "c"])
    trip.mutableSetValue(forKeyPath: "entries").union([a])
    #expect(trip.value(forKeyPath: "entries.@count") as? Int == 3)

    trip.setValue(NSOrderedSet(array: [c, a]), forKey: "plan")
    #expect((trip.value(forKey: "plan") as? NSOrderedSet)?.array as? [Entry] == [c, a])
    let plan = trip.mutableOrderedSetValue(forKey: "plan")
    plan.insert(b, at: 1)
    plan.add(b)
    #expect(plan.array as? [Entry] == [c, b, a] && plan.index(of: a) == 2 && plan.count == 3)
    plan.removeObject(at: 0)
    plan.replaceObject(at: 0, with: c)
    #expect(trip.mutableOrderedSetValue(forKey: "plan").array as? [Entry] == [c, a])
    #expect(b.value(forKey: "plannedIn") == nil && c.value(forKey: "plannedIn") as? Trip === trip)
    #expect(trip.objectIDs(forRelationshipNamed: "plan") == [c.objectID, a.objectID])
  }

  @Test("Rule 210: a hand-written setter of an ordered relationship sets the order, also for save and undo")
  func orderedSetter() throws {
    let trip = Trip(context: context)
    let (a, b, c, d) = (
      Entry(context: context), Entry(context: context), Entry(context: context), Entry(context: context)
    )
    for entry in [a, b, c, d] { entry.title = "planned" }
    func now() -> [Entry]? { (trip.value(forKey: "plan") as? NSOrderedSet)?.array as? [Entry] }
    func arrange(_ entries: [Entry]) {
      trip.willChangeValue(forKey: "plan")
      trip.setPrimitiveValue(NSOrderedSet(array: entries), forKey: "plan")
      trip.didChangeValue(forKey: "plan")
    }
    trip.mutableOrderedSetValue(forKey: "plan").addObjects(from: [a, b])
    arrange([c, b, a])
    #expect(now() == [c, b, a] && c.value(forKey: "plannedIn") as? Trip === trip)
    try context.save()
    arrange([a, b, c])
    #expect(now() == [a, b, c] && trip.changedValues()["plan"] != nil)
    arrange([d, a, c])
    #expect(now() == [d, a, c] && b.value(forKey: "plannedIn") == nil)
    try context.save()
    context.refreshAllObjects()
    #expect(now() == [d, a, c])
    context.undoManager = UndoManager()
    arrange([a, c, d])
    context.processPendingChanges()
    context.undo()
    #expect(now() == [d, a, c])
    context.redo()
    #expect(now() == [a, c, d])
    // Without the two messages nothing is a change, but the order is there.
    trip.setPrimitiveValue(NSOrderedSet(array: [c, d, a]), forKey: "plan")
    #expect(now() == [c, d, a])
  }

  @Test("What a mutable ordered set can do reaches the relationship")
  func orderedProxies() throws {
    let trip = Trip(context: context)
    let (a, b, c, d) = (
      Entry(context: context), Entry(context: context), Entry(context: context), Entry(context: context)
    )
    func now() -> [Entry]? { (trip.value(forKey: "plan") as? NSOrderedSet)?.array as? [Entry] }
    let plan = trip.mutableOrderedSetValue(forKey: "plan")
    plan.add(a)
    #expect(now() == [a] && a.value(forKey: "plannedIn") as? Trip === trip)
    plan.addObjects(from: [b, c, a])
    #expect(now() == [a, b, c])
    plan.exchangeObject(at: 0, withObjectAt: 2)
    #expect(now() == [c, b, a] && plan.array as? [Entry] == [c, b, a])
    plan.moveObjects(at: [0, 1], to: 1)
    #expect(now() == [a, c, b])
    plan.remove(c)
    #expect(now() == [a, b] && c.value(forKey: "plannedIn") == nil)
    plan.insert([c, d], at: [0, 3])
    #expect(now() == [c, a, b, d])
    plan.removeObjects(at: [0, 3])
    plan.setObject(d, at: 2)
    plan.replaceObjects(at: [0], with: [c])
    #expect(now() == [c, b, d])
    plan.removeObjects(in: [b, a])
    plan.union(NSOrderedSet(array: [a, c]))
    #expect(now() == [c, d, a])
    plan.minus(NSOrderedSet(array: [d]))
    plan.unionSet([b])
    plan.intersect(NSOrderedSet(array: [a, b]))
    #expect(now() == [a, b])
    a.title = "2"
    b.title = "1"
    plan.sort(comparator: { left, right in
      (left as! Entry).title < (right as! Entry).title ? .orderedAscending : .orderedDescending
    })
    plan.removeObjects(in: NSRange(location: 0, length: 1))
    plan.intersectSet([b])
    plan.minusSet([a])
    #expect(now() == [] && plan.count == 0)
  }

  @Test("Key paths lead through relationships and collections, with operators")
  func keyPaths() throws {
    let trip = Trip(context: context)
    trip.name = "Coast"
    for (title, rating) in [("a", 1), ("b", 5), ("c", 3)] {
      let entry = Entry(context: context)
      entry.setValuesForKeys(["title": title, "rating": rating, "trip": trip])
    }
    let entry = try #require((trip.value(forKey: "entries") as? Set<Entry>)?.first)
    #expect(entry.value(forKeyPath: "trip.name") as? String == "Coast")
    #expect(trip.value(forKeyPath: "entries.title") as? Set<String> == ["a", "b", "c"])
    // What has no title is not in the set of titles; NSSet leaves nil out, NSArray and NSOrderedSet keep its place.
    let untitled = Entry(context: context)
    untitled.setValuesForKeys(["rating": 0, "trip": trip])
    #expect(trip.value(forKeyPath: "entries.title") as? Set<String> == ["a", "b", "c"])
    context.delete(untitled)
    context.processPendingChanges()
    #expect(trip.value(forKeyPath: "entries.@sum.rating") as? Int == 9)
    #expect(trip.value(forKeyPath: "entries.@avg.rating") as? Double == 3)
    #expect(trip.value(forKeyPath: "entries.@max.rating") as? Int == 5)
    #expect(trip.value(forKeyPath: "entries.@min.title") as? String == "a")
    entry.setValue("Inland", forKeyPath: "trip.name")
    #expect(trip.name == "Inland")
    trip.setValue(2, forKeyPath: "entries.rating")
    #expect((trip.value(forKey: "entries") as? NSSet)?.value(forKey: "rating") as? Set<Int> == [2])
    let list = NSArray(array: [trip])
    #expect(list.value(forKey: "name") as? [String] == ["Inland"])
    #expect(list.value(forKeyPath: "@distinctUnionOfObjects.name") as? [String] == ["Inland"])
  }

  @Test("A class knows its entity; an ID its entity and its store")
  func entities() throws {
    let entry = Entry(context: context)
    // Of the newest model in use, which may be that of another test.
    #expect(Entry.entity().name == "Entry")
    #expect(entry.objectID.entity === entry.entity)
    #expect(entry.objectID.persistentStore === context.persistentStoreCoordinator?.persistentStores.first)
    #expect(
      NSEntityDescription.entity(forEntityName: "Trip", in: context)?.managedObjectModel.entities.count == 2)
    #expect(NSEntityDescription.entity(forEntityName: "None", in: context) == nil)
  }
}
