import CoreData
import Testing

/// What happens to relationships whose other end is deleted before it was ever saved, or whose deletion is taken back.
@Suite("Deleted ends of relationships")
struct DeletedEndsTests {
  let coordinator: NSPersistentStoreCoordinator

  init() throws {
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model())
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
  }

  /// Box ──things──▶▶ Thing, with Thing.box, whose rule is *no action*; Site ──tools──▶▶ Tool, whose own is;
  /// Site ◀◀──visitors──▶▶ Thing, and guests, whose rule is *no action*; Box.label, labels and ranking lead to things without inverse.
  static func model() -> NSManagedObjectModel {
    let (box, thing) = (NSEntityDescription(), NSEntityDescription())
    (box.name, thing.name) = ("Box", "Thing")
    let name = NSAttributeDescription()
    name.name = "name"
    name.attributeType = .stringAttributeType
    func end(_ name: String, _ entity: NSEntityDescription, most: Int, ordered: Bool = false)
      -> NSRelationshipDescription
    {
      let end = NSRelationshipDescription()
      end.name = name
      end.destinationEntity = entity
      end.maxCount = most
      end.isOrdered = ordered
      return end
    }
    let (things, home) = (end("things", thing, most: 0), end("box", box, most: 1))
    (things.inverseRelationship, home.inverseRelationship) = (home, things)
    home.deleteRule = .noActionDeleteRule
    let (first, next) = (end("first", thing, most: 1), end("firstOf", box, most: 1))
    (first.inverseRelationship, next.inverseRelationship) = (next, first)
    box.properties = [
      things, first, end("label", thing, most: 1), end("labels", thing, most: 0),
      end("ranking", thing, most: 0, ordered: true),
    ]
    thing.properties = [name, home, next]
    let (site, tool) = (NSEntityDescription(), NSEntityDescription())
    (site.name, tool.name) = ("Site", "Tool")
    let (tools, place) = (end("tools", tool, most: 0), end("site", site, most: 1))
    (tools.inverseRelationship, place.inverseRelationship) = (place, tools)
    tools.deleteRule = .noActionDeleteRule
    let label = NSAttributeDescription()
    label.name = "label"
    label.attributeType = .stringAttributeType
    let (visitors, visited) = (end("visitors", thing, most: 0), end("visited", site, most: 0))
    (visitors.inverseRelationship, visited.inverseRelationship) = (visited, visitors)
    (site.properties, tool.properties) = ([tools, visitors], [label, place])
    let (guests, guestOf) = (end("guests", thing, most: 0), end("guestOf", site, most: 0))
    (guests.inverseRelationship, guestOf.inverseRelationship) = (guestOf, guests)
    guests.deleteRule = .noActionDeleteRule
    site.properties.append(guests)
    thing.properties += [visited, guestOf]
    let model = NSManagedObjectModel()
    model.entities = [box, thing, site, tool]
    return model
  }

  private func context() -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private func make(_ entity: String, _ context: NSManagedObjectContext) -> NSManagedObject {
    NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
  }

  @Test(
    "Rule 212: a reference without inverse to an object that was never saved is removed with it",
    arguments: [
      "label", "labels", "ranking",
    ])
  func neverSaved(key: String) throws {
    let context = context()
    for isNew in [true, false] {
      let (box, thing) = (make("Box", context), make("Thing", context))
      if !isNew {
        context.delete(thing)
        try context.save()
      }
      let other = isNew ? thing : make("Thing", context)
      switch key {
      case "label": box.setValue(other, forKey: key)
      case "labels": box.mutableSetValue(forKey: key).add(other)
      default: box.mutableOrderedSetValue(forKey: key).add(other)
      }
      context.processPendingChanges()
      context.delete(other)
      try context.save()
      #expect(box.objectIDs(forRelationshipNamed: key).isEmpty)
    }
  }

  @Test(
    "Rule 153: linked objects that a parent has not saved and a child deletes leave the parent",
    arguments: [true, false])
  func deletedByChild(ownerFirst: Bool) throws {
    let parent = context()
    // What is inserted first comes first in the child's save.
    let early = make(ownerFirst ? "Box" : "Thing", parent)
    let late = make(ownerFirst ? "Thing" : "Box", parent)
    let (box, thing) = ownerFirst ? (early, late) : (late, early)
    thing.setValue(box, forKey: "box")
    box.setValue(thing, forKey: "first")
    parent.processPendingChanges()
    let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    child.parent = parent
    for object in [early, late] { child.delete(child.object(with: object.objectID)) }
    try child.save()
    #expect(parent.updatedObjects.isEmpty && parent.insertedObjects.isEmpty && parent.deletedObjects.isEmpty)
    #expect(!parent.hasChanges)
    try parent.save()
  }

  @Test(
    "Rules 24, 212: a parent's reference without inverse to what one child inserted and another deleted is cleared",
    arguments: ["label", "labels", "ranking"], [false, true])
  func insertedAndDeletedByChildren(key: String, isHeld: Bool) throws {
    let parent = context()
    let box = make("Box", parent)
    try parent.save()
    func child() -> NSManagedObjectContext {
      let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      child.parent = parent
      return child
    }
    let first = child()
    let id = make("Thing", first).objectID
    try first.save()
    let held: NSManagedObject
    do {
      let thing = parent.object(with: id)
      switch key {
      case "label": box.setValue(thing, forKey: key)
      case "labels": box.mutableSetValue(forKey: key).add(thing)
      default: box.mutableOrderedSetValue(forKey: key).add(thing)
      }
      held = isHeld ? thing : box
    }
    parent.processPendingChanges()
    let second = child()
    second.delete(second.object(with: id))
    try second.save()
    try parent.save()
    #expect(box.objectIDs(forRelationshipNamed: key).isEmpty)
    withExtendedLifetime(held) {}
  }

  @Test(
    "Rule 216: what is deleted is not shown at the other end, when a child that does not know of it has related them",
    arguments: ["visitors", "visited", "first", "firstOf"], [false, true])
  func relatedWithoutKnowing(key: String, isDeletedByChild: Bool) throws {
    let parent = context()
    let (box, thing, site) = (make("Box", parent), make("Thing", parent), make("Site", parent))
    try parent.save()
    func child() -> NSManagedObjectContext {
      let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      child.parent = parent
      return child
    }
    let relating = child()
    let (ourBox, ourThing) = (relating.object(with: box.objectID), relating.object(with: thing.objectID))
    let ourSite = relating.object(with: site.objectID)
    switch key {
    case "visitors": ourSite.mutableSetValue(forKey: key).add(ourThing)
    case "visited": ourThing.mutableSetValue(forKey: key).add(ourSite)
    case "first": ourBox.setValue(ourThing, forKey: key)
    default: ourThing.setValue(ourBox, forKey: key)
    }
    relating.processPendingChanges()
    let deleting = isDeletedByChild ? child() : parent
    deleting.delete(deleting.object(with: thing.objectID))
    if isDeletedByChild { try deleting.save() } else { parent.processPendingChanges() }
    try relating.save()
    for isSaved in [false, true] {
      if isSaved { try parent.save() }
      #expect((site.value(forKey: "visitors") as? NSSet)?.count == 0)
      #expect(site.objectIDs(forRelationshipNamed: "visitors").isEmpty)
      #expect(box.value(forKey: "first") == nil)
    }
    #expect(!parent.hasChanges)
  }

  @Test("Rule 212: a reference to what has gone under no action is replaced, and what has gone is not edited")
  func replacedDanglingReference() throws {
    let context = context()
    let (box, thing) = (make("Site", context), make("Tool", context))
    thing.setValue(box, forKey: "site")
    try context.save()
    context.delete(box)
    try context.save()
    context.reset()
    let found = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Tool"))
    found.first?.setValue(nil, forKey: "site")
    #expect(context.updatedObjects == Set(found))
    try context.save()
    #expect(found.first?.objectIDs(forRelationshipNamed: "site") == [])
  }

  @Test(
    "Rule 212: a child replaces a reference to a deleted object, or deletes its owner; the parent does not edit it",
    arguments: [false, true])
  func childReplacesDanglingReference(deletes: Bool) throws {
    let parent = context()
    let (site, tool) = (make("Site", parent), make("Tool", parent))
    tool.setValue(site, forKey: "site")
    try parent.save()
    parent.delete(site)
    try parent.save()
    parent.reset()
    let found = try #require(try parent.fetch(NSFetchRequest<NSManagedObject>(entityName: "Tool")).first)
    found.setValue("hammer", forKey: "label")
    parent.processPendingChanges()
    let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    child.parent = parent
    let same = child.object(with: found.objectID)
    if deletes { child.delete(same) } else { same.setValue(nil, forKey: "site") }
    try child.save()
    #expect(parent.updatedObjects == (deletes ? [] : [found]))
    #expect(parent.deletedObjects == (deletes ? [found] : []))
    try parent.save()
    #expect(!parent.hasChanges)
  }

  @Test(
    "Rules 174, 199: what is deleted elsewhere is no member of what an edit here gave it to, before the save and after it; brought back, it is",
    arguments: [false, true], [false, true])
  func deletedElsewhere(comesBack: Bool, isManyToMany: Bool) throws {
    let (here, there) = (context(), context())
    for context in [here, there] { context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump }
    let (box, thing) = (make(isManyToMany ? "Site" : "Box", here), make("Thing", here))
    try here.save()
    let (key, owner) = isManyToMany ? ("visitors", box) : ("things", box)
    if isManyToMany {
      thing.mutableSetValue(forKey: "visited").add(box)
    } else {
      thing.setValue(box, forKey: "box")
    }
    here.processPendingChanges()
    #expect((owner.value(forKey: key) as? NSSet)?.count == 1)
    let other = there.object(with: thing.objectID)
    let undo = UndoManager()
    there.undoManager = undo
    there.delete(other)
    // Set on this thread: the contexts are confined to it.
    nonisolated(unsafe) var told: Notification?
    let watcher = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: there, queue: nil
    ) { told = $0 }
    defer { NotificationCenter.default.removeObserver(watcher) }
    try there.save()
    here.mergeChanges(fromContextDidSave: try #require(told))
    #expect(owner.value(forKey: key) as? Set<NSManagedObject> == [])
    if comesBack {
      undo.undo()
      try there.save()
      here.mergeChanges(fromContextDidSave: try #require(told))
      #expect(owner.value(forKey: key) as? Set<NSManagedObject> == [thing])
    }
    try here.save()
    #expect(owner.value(forKey: key) as? Set<NSManagedObject> == (comesBack ? [thing] : []))
    here.refreshAllObjects()
    #expect(owner.value(forKey: key) as? Set<NSManagedObject> == (comesBack ? [thing] : []))
  }

  @Test(
    "Rules 24, 153, 212: under no action a reference to what was never saved does not hinder the save of whichever context",
    arguments: [0, 1, 2, 3], [false, true])
  func neverSavedUnderNoAction(place: Int, isEdited: Bool) throws {
    let parent = context()
    let tool = make("Tool", parent)
    try parent.save()
    func child(of context: NSManagedObjectContext) -> NSManagedObjectContext {
      let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
      child.parent = context
      return child
    }
    let middle = child(of: parent)
    if isEdited {
      tool.setValue("hammer", forKey: "label")
      parent.processPendingChanges()
    }
    switch place {
    case 0:
      // All of it in one context.
      let site = make("Site", parent)
      tool.setValue(site, forKey: "site")
      parent.processPendingChanges()
      parent.delete(site)
    case 1:
      let site = make("Site", middle)
      middle.object(with: tool.objectID).setValue(site, forKey: "site")
      middle.processPendingChanges()
      middle.delete(site)
      try middle.save()
    case 2:
      // One child inserts, another deletes.
      let site = make("Site", middle)
      middle.object(with: tool.objectID).setValue(site, forKey: "site")
      try middle.save()
      let other = child(of: parent)
      other.delete(other.object(with: site.objectID))
      try other.save()
    default:
      let top = child(of: middle)
      let site = make("Site", top)
      top.object(with: tool.objectID).setValue(site, forKey: "site")
      try top.save()
      middle.delete(middle.object(with: site.objectID))
      try middle.save()
    }
    try parent.save()
    parent.refreshAllObjects()
    let found = try parent.fetch(NSFetchRequest<NSManagedObject>(entityName: "Tool"))
    #expect(found == [tool])
    tool.setValue(nil, forKey: "site")
    try parent.save()
    #expect(tool.value(forKey: "site") == nil)
    #expect(try parent.count(for: NSFetchRequest<NSManagedObject>(entityName: "Site")) == 0)
  }

  @Test("Rules 19, 212: rollback brings a member back whose end took no action")
  func rollbackOfNoAction() throws {
    let context = context()
    let (box, thing, other) = (make("Box", context), make("Thing", context), make("Thing", context))
    thing.setValue(box, forKey: "box")
    try context.save()
    other.setValue(box, forKey: "box")
    #expect((box.value(forKey: "things") as? NSSet)?.count == 2)
    try context.save()
    context.delete(thing)
    context.processPendingChanges()
    _ = box.value(forKey: "things")
    context.rollback()
    #expect(box.value(forKey: "things") as? Set<NSManagedObject> == [thing, other])
    #expect(thing.value(forKey: "box") as? NSManagedObject === box)
  }

  @Test(
    "Rules 153, 212: a child that deletes a member does not edit the owner, which another child has deleted under no action",
    arguments: [false, true], [false, true])
  func memberOfAnOwnerThatASiblingDeleted(isSaved: Bool, isRead: Bool) throws {
    for (key, inverse) in [("guests", "guestOf"), ("visitors", "visited")] {
      for isHeld in [false, true] {
        let parent = context()
        let (site, thing) = (make("Site", parent), make("Thing", parent))
        try parent.save()
        site.mutableSetValue(forKey: key).add(thing)
        if isSaved { try parent.save() } else { parent.processPendingChanges() }
        func child() -> NSManagedObjectContext {
          let child = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
          child.parent = parent
          return child
        }
        let (first, second) = (child(), child())
        first.delete(first.object(with: site.objectID))
        let here = second.object(with: thing.objectID)
        let owner = isHeld ? second.object(with: site.objectID) : nil
        if isRead { _ = (here.value(forKey: inverse) as? NSSet)?.count }
        try first.save()
        second.refreshAllObjects()
        second.delete(here)
        second.processPendingChanges()
        #expect(second.updatedObjects == [], "\(key), \(isHeld)")
        #expect(second.deletedObjects == [here])
        try second.save()
        #expect(parent.deletedObjects.count == 2 && parent.updatedObjects == [])
        try parent.save()
        withExtendedLifetime(owner) {}
      }
    }
  }

  @Test("Rule 216: what is put beside deleted members that are not shown any more stands where it was put")
  func placesBesideDeleted() throws {
    let context = context()
    let box = make("Box", context)
    let things = (0..<5).map { _ in make("Thing", context) }
    let ranking = box.mutableOrderedSetValue(forKey: "ranking")
    ranking.addObjects(from: Array(things[0..<3]))
    try context.save()
    func now() -> [Int] {
      let members = (box.value(forKey: "ranking") as? NSOrderedSet)?.array as? [NSManagedObject] ?? []
      return members.map { member in things.firstIndex { $0 === member } ?? -1 }
    }
    context.delete(things[0])
    context.processPendingChanges()
    ranking.add(things[3])
    #expect(now() == [1, 2, 3])
    ranking.insert(things[4], at: 1)
    #expect(now() == [1, 4, 2, 3])
    ranking.moveObjects(at: [0], to: 3)
    #expect(now() == [4, 2, 3, 1])
    try context.save()
    context.refreshAllObjects()
    #expect(now() == [4, 2, 3, 1])
  }

  @Test(
    "Rule 212: what leaves an owner that has gone under no action does not edit it", arguments: [false, true])
  func memberLeavesAnOwnerThatHasGone(isRead: Bool) throws {
    let context = context()
    let (site, thing) = (make("Site", context), make("Thing", context))
    site.mutableSetValue(forKey: "guests").add(thing)
    try context.save()
    let other = self.context()
    other.delete(other.object(with: site.objectID))
    try other.save()
    let here = self.context()
    let same = here.object(with: thing.objectID)
    let owner = here.object(with: site.objectID)
    if isRead { _ = same.value(forKey: "guestOf") }
    same.mutableSetValue(forKey: "guestOf").remove(owner)
    here.processPendingChanges()
    #expect(here.updatedObjects.subtracting([same]) == [])
    try here.save()
    #expect((same.value(forKey: "guestOf") as? NSSet)?.count == 0)
    here.refreshAllObjects()
    #expect((same.value(forKey: "guestOf") as? NSSet)?.count == 0)
  }
}
