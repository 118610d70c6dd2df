import CoreData
import Foundation
import Testing

/// Sets its values beneath the accessors when it is made.
final class StampedBird: NSManagedObject {
  override func awakeFromInsert() {
    super.awakeFromInsert()
    setPrimitiveValue("unnamed", forKey: "name")
    setPrimitiveValue(Int64(1), forKey: "tally")
  }
}

/// Comes with a site, which it is given beneath the accessors.
final class SettledBird: NSManagedObject {
  override func awakeFromInsert() {
    super.awakeFromInsert()
    guard let context = managedObjectContext else { return }
    let site = Site(context: context)
    site.name = "nest"
    setPrimitiveValue(site, forKey: "site")
  }
}

/// A class that is no entity's.
final class Cuckoo: NSManagedObject {}

/// Of no model either; Foundation has no names for such classes.
private final class HiddenCuckoo: NSManagedObject {}
private enum Nests { final class NestedCuckoo: NSManagedObject {} }

/// Has a stored property where `@NSManaged` was meant.
final class ForgetfulBird: NSManagedObject {
  var name: String?
}

@Suite("New objects, by Apple's names")
struct NewObjectTests {
  @Test("setPrimitiveValue in awakeFromInsert is part of changedValues, and is saved")
  func primitiveValuesOfAwakeFromInsert() throws {
    let stand = try BirdStand { $0.entitiesByName["Bird"]?.managedObjectClass = StampedBird.self }
    let context = stand.context()
    let bird = StampedBird(context: context)
    #expect(bird.changedValues()["name"] as? String == "unnamed")
    #expect(bird.changedValues()["tally"] as? Int == 1)
    #expect(bird.changedValues().count == 2)
    // Later on what is set beneath the accessors stays unnoticed.
    bird.setPrimitiveValue(Float(2), forKey: "weight")
    #expect(bird.changedValues().count == 2)
    bird.setValue("wren", forKey: "name")
    #expect(bird.changedValues()["name"] as? String == "wren")
    try context.save()
    #expect(bird.changedValues().isEmpty)
    context.reset()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Bird")
    let saved = try #require(try context.fetch(request).first)
    #expect(saved.value(forKey: "name") as? String == "wren" && saved.value(forKey: "tally") as? Int == 1)
    #expect(saved.value(forKey: "weight") as? Float == 2)
  }

  @Test("A to-one relationship set by setPrimitiveValue in awakeFromInsert is part of changedValues, too")
  func primitiveRelationshipOfAwakeFromInsert() throws {
    let stand = try BirdStand { $0.entitiesByName["Bird"]?.managedObjectClass = SettledBird.self }
    let context = stand.context()
    let bird = SettledBird(context: context)
    let site = try #require(bird.value(forKey: "site") as? Site)
    #expect(bird.changedValues()["site"] as? Site === site)
    #expect(Set(bird.changedValues().keys) == ["site"])
    try context.save()
    #expect(bird.changedValues().isEmpty)
    context.reset()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Bird")
    let saved = try #require(try context.fetch(request).first)
    #expect(saved.value(forKeyPath: "site.name") as? String == "nest")
  }

  @Test("So is what it sets in an object made in no context, once that is inserted")
  func primitiveValuesOfALooseObject() throws {
    let stand = try BirdStand { $0.entitiesByName["Bird"]?.managedObjectClass = StampedBird.self }
    let context = stand.context()
    let entity = try #require(NSEntityDescription.entity(forEntityName: "Bird", in: context))
    let bird = StampedBird(entity: entity, insertInto: nil)
    context.insert(bird)
    #expect(bird.isInserted)
    #expect(bird.changedValues()["name"] as? String == "unnamed")
    #expect(bird.changedValues()["tally"] as? Int == 1)
    #expect(bird.changedValues().count == 2)
    try context.save()
    #expect(bird.changedValues().isEmpty)
    context.reset()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Bird")
    let saved = try #require(try context.fetch(request).first)
    #expect(saved.value(forKey: "name") as? String == "unnamed" && saved.value(forKey: "tally") as? Int == 1)
  }

  @Test(
    "An object inserted and deleted in one event is reported as deleted, and isDeleted is true until the event ends"
  )
  func insertedAndDeleted() throws {
    let context = try BirdStand().context()
    // Notifications are posted on this thread, while it edits.
    nonisolated(unsafe) var deleted: [Set<NSManagedObject>] = []
    let token = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextObjectsDidChange, object: context, queue: nil
    ) { deleted.append($0.userInfo?[NSDeletedObjectsKey] as? Set<NSManagedObject> ?? []) }
    defer { NotificationCenter.default.removeObserver(token) }
    let bird = Bird(context: context)
    context.delete(bird)
    #expect(bird.isDeleted)
    context.processPendingChanges()
    #expect(deleted == [[bird]] && !bird.isDeleted)
    #expect(!context.hasChanges)
  }

  @Test("A child's new object that is deleted in the same event is reported in the child, not in its parent")
  func inAChild() throws {
    let stand = try BirdStand()
    let parent = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    parent.persistentStoreCoordinator = stand.coordinator
    let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    child.parent = parent
    let (stays, goes) = (Bird(context: child), Bird(context: child))
    child.delete(goes)
    #expect(goes.isDeleted)
    try child.save()
    #expect(!goes.isDeleted && stays.managedObjectContext === child)
    try parent.performAndWait {
      #expect(parent.insertedObjects.count == 1 && parent.deletedObjects.isEmpty)
      try parent.save()
    }
  }

  @Test("A fetched results controller does not report an object that was inserted and deleted in one event")
  func fetchedResults() throws {
    let context = try BirdStand().context()
    BirdStand.bird("wren", 7, 0.1, nil, context)
    try context.save()
    let request = Bird.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    final class Delegate: NSFetchedResultsControllerDelegate {
      var changes = 0
      func controller(
        _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange object: Any,
        at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
      ) { changes += 1 }
    }
    let delegate = Delegate()
    controller.delegate = delegate
    try controller.performFetch()
    context.delete(BirdStand.bird("coot", 1, 1, nil, context))
    context.processPendingChanges()
    #expect(delegate.changes == 0 && controller.fetchedObjects?.count == 1)
    // The counterpart: it is notified.
    BirdStand.bird("gull", 1, 1, nil, context)
    context.processPendingChanges()
    #expect(delegate.changes == 1)
  }

  @Test("Undo and redo of an event in which an object was inserted and deleted")
  func undo() throws {
    let context = try BirdStand().context()
    let manager = UndoManager()
    context.undoManager = manager
    let stays = BirdStand.bird("wren", 7, 0.1, nil, context)
    let goes = BirdStand.bird("coot", 7, 0.1, nil, context)
    context.delete(goes)
    context.processPendingChanges()
    #expect(context.insertedObjects == [stays])
    context.undo()
    context.processPendingChanges()
    #expect(context.insertedObjects.isEmpty && !stays.isDeleted && !goes.isDeleted)
    context.redo()
    context.processPendingChanges()
    #expect(context.insertedObjects == [stays] && stays.name == "wren")
  }

  @Test("A to-many that is not optional and has the minimum 0 may be empty, ordered or not")
  func mandatoryToManyMayBeEmpty() throws {
    for isOrdered in [false, true] {
      let stand = try BirdStand {
        let birds = $0.entitiesByName["Site"]?.relationshipsByName["birds"]
        birds?.isOptional = false
        birds?.isOrdered = isOrdered
      }
      let context = stand.context()
      let site = Site(context: context)
      try site.validateForInsert()
      try context.save()
      let bird = BirdStand.bird("wren", 1, 1, site, context)
      try context.save()
      context.delete(bird)
      context.processPendingChanges()
      try site.validateForUpdate()
      try context.save()
      var members: AnyObject? = isOrdered ? NSOrderedSet() : NSSet()
      try site.validateValue(&members, forKey: "birds")
      let batch = NSBatchInsertRequest(entityName: "Site", objects: [["name": "Lake"]])
      try context.execute(batch)
      #expect(try context.count(for: NSFetchRequest<Site>(entityName: "Site")) == 2)
    }
  }

  @Test("entity() of a class without entity does not stop the process; a request for it says what is wrong")
  func entityOfAClassWithoutOne() throws {
    let context = try BirdStand().context()
    let entity = Cuckoo.entity()
    #expect(entity.name == "Cuckoo" && entity.managedObjectClassName.hasSuffix(".Cuckoo"))
    #expect(entity.properties.isEmpty)
    let request = NSFetchRequest<NSFetchRequestResult>()
    request.entity = entity
    #expect(throws: (any Error).self) { try context.fetch(request) }
    let generic: NSFetchRequest<NSFetchRequestResult> = Cuckoo.fetchRequest()
    #expect(throws: (any Error).self) { try context.fetch(generic) }
  }

  @Test("entity() of a class that is private, in another type or in a function does not stop the process")
  func entityOfAClassWithoutAName() {
    final class LocalCuckoo: NSManagedObject {}
    for (type, name) in [
      (HiddenCuckoo.self, "HiddenCuckoo"), (Nests.NestedCuckoo.self, "NestedCuckoo"),
      (LocalCuckoo.self, "LocalCuckoo"),
    ] as [(NSManagedObject.Type, String)] {
      let entity = type.entity()
      #expect(entity.name == name && entity.managedObjectClassName.hasSuffix(name))
      let isOfTheClass = entity.managedObjectClass == type
      #expect(isOfTheClass)
    }
  }

  @Test("A stored property that hides an attribute is refused when the store is added, with 134080")
  func storedPropertyNamedLikeAnAttribute() throws {
    do {
      _ = try BirdStand { $0.entitiesByName["Bird"]?.managedObjectClass = ForgetfulBird.self }
      Issue.record("taken")
    } catch let error as NSError {
      #expect(error.code == 134_080 && "\(error)".contains("stored property name"))
    }
  }

  @Test("Fetching before stores are loaded throws 134070; so do counts, batches, history and fetched results")
  func beforeStoresAreLoaded() throws {
    let container = NSPersistentContainer(name: "Birds", managedObjectModel: BirdStand.model())
    let parent = container.newBackgroundContext()
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = parent
    for context in [parent, child] {
      func code(_ body: () throws -> Void) -> Int {
        do {
          try body()
          return 0
        } catch let error as NSError {
          return error.code
        }
      }
      context.performAndWait {
        let request = Bird.fetchRequest()
        #expect(code { _ = try context.fetch(request) } == 134_070)
        #expect(code { _ = try context.count(for: request) } == 134_070)
        let batch = NSBatchDeleteRequest(fetchRequest: NSFetchRequest(entityName: "Bird"))
        #expect(code { try context.execute(batch) } == 134_070)
        #expect(
          code { try context.execute(NSPersistentHistoryChangeRequest.fetchHistory(after: Date.distantPast)) }
            == 134_070)
        request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        let controller = NSFetchedResultsController(
          fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
        #expect(code { try controller.performFetch() } == 134_070)
      }
    }
  }
}
