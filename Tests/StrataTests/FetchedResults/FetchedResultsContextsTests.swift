import Foundation
import Strata
import Testing

/// Controllers and what happens in other contexts, in the store, and to other objects.
@Suite struct FetchedResultsContextsTests {
  /// Saves; what is posted.
  private func savedNotification(of context: ManagedObjectContext) throws -> Notification {
    let heard = Heard()
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: context, queue: nil
    ) { heard.notification = $0 }
    defer { NotificationCenter.default.removeObserver(token) }
    try context.save()
    return try #require(heard.notification)
  }

  /// Unchecked: posted and read on the one thread of the test.
  private final class Heard: @unchecked Sendable {
    var notification: Notification?
  }

  @Test("rule 178: a merged change of what is no object here brings it in, and takes it out")
  func mergedRows() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let followed = try stand.controller("value >= 2", delegate: listener)
    defer { withExtendedLifetime(followed) {} }
    let writer = stand.store.context()
    try stand.find("a1", in: writer).setValue(7, forKey: "value")
    try stand.find("b2", in: writer).setValue(0, forKey: "value")
    let saved = try savedNotification(of: writer)
    #expect(listener.isSilent)
    stand.context.mergeChanges(fromContextDidSave: saved)
    #expect(
      listener.take() == [
        "will 3", "section b delete 1 of 0", "delete 1.0 -", "insert a1 - 0.2", "did 3",
      ])
  }

  @Test(
    "rule 242: a section that a later save has moved as a whole stays, with the first of two merged saves")
  func sectionsMovedByLaterSaves() throws {
    let stand = try ResultsStand()
    let writer = stand.store.context()
    for (name, value) in [("b1", 11), ("b2", 12)] {
      try stand.find(name, in: writer).setValue(value, forKey: "value")
    }
    try writer.save()
    let listener = Listener()
    let controller = try stand.controller(sorts: [FetchSort("value")], delegate: listener)
    #expect(controller.names == [["a1", "a2", "a3"], ["b1", "b2"]])
    let objects = try ["a1", "a2", "a3"].map { try stand.find($0, in: writer) }
    objects[0].setValue("a0", forKey: "name")
    let first = try savedNotification(of: writer)
    for (place, object) in objects.enumerated() { object.setValue(21 + place, forKey: "value") }
    let second = try savedNotification(of: writer)
    stand.context.mergeChanges(fromContextDidSave: first)
    #expect(controller.names == [["b1", "b2"], ["a0", "a2", "a3"]])
    stand.context.mergeChanges(fromContextDidSave: second)
    #expect(controller.names == [["b1", "b2"], ["a0", "a2", "a3"]])
  }

  @Test("rules 178, 263: what a child saves is reported, whether it is an object here or not")
  func childSaves() throws {
    let stand = try ResultsStand()
    let context = stand.store.context(.privateQueue)
    let listener = Listener()
    let controller = try context.performAndWait { try stand.controller(delegate: listener, in: context) }
    let child = ManagedObjectContext(.privateQueue, parent: context)
    try child.performAndWait {
      ResultsStand.item("a9", "a", 9, child)
      try stand.find("a1", in: child).setValue(5, forKey: "value")
      child.delete(try stand.find("b1", in: child))
      try child.save()
    }
    context.performAndWait {
      #expect(controller.names == [["a2", "a3", "a1", "a9"], ["b2"]])
      #expect(
        listener.take() == ["will 5", "delete 1.0 -", "insert a9 - 0.3", "move a1 0.0 0.2", "did 5"])
    }
  }

  @Test(
    "rules 153, 178: a child that has related an older record does not bring its old values back",
    arguments: ["told", "by ID", "a batch"])
  func childSavesTiesOfWhatIsNewer(merged: String) throws {
    let stand = try ResultsStand()
    let context = stand.store.context(.privateQueue)
    context.automaticallyMergesChangesFromParent = merged == "a batch"
    let child = ManagedObjectContext(.confinement, parent: context)
    let tagged = try stand.find("a1", in: child)
    tagged.setValue(Set([ResultsStand.make("Tag", child)]), forKey: "tags")
    let controller = try context.performAndWait { try stand.controller(delegate: nil, in: context) }
    // Followed by a sequence, which makes no objects.
    let snapshots = context.performAndWait { controller.snapshots }
    defer { withExtendedLifetime(snapshots) {} }
    let writer = stand.store.context()
    if merged == "a batch" {
      _ = try writer.execute(
        BatchUpdateRequest(
          entityName: "Item", predicate: try FetchPredicate(format: "name == 'a1'"),
          propertiesToUpdate: ["value": 7]))
    } else {
      try stand.find("a1", in: writer).setValue(7, forKey: "value")
      let saved = try savedNotification(of: writer)
      if merged == "told" {
        context.performAndWait { context.mergeChanges(fromContextDidSave: saved) }
      } else {
        let key = ManagedObjectContext.NotificationKey.updatedObjectIDs.rawValue
        ManagedObjectContext.mergeChanges(
          fromRemoteContextSave: [key: [tagged.objectID]], into: [context])
      }
    }
    let moved = [["a2", "a3", "a1"], ["b1", "b2"]]
    context.performAndWait { #expect(controller.names == moved) }
    try child.save()
    try context.performAndWait {
      #expect(controller.names == moved)
      try context.save()
      #expect(controller.names == moved)
      #expect(try stand.find("a1", in: context).value(forKey: "value") as? Int64 == 7)
    }
    let reader = stand.store.context()
    let found = try stand.find("a1", in: reader)
    #expect(found.value(forKey: "value") as? Int64 == 7)
    #expect((found.value(forKey: "tags") as? Set<ManagedObject>)?.count == 1)
  }

  @Test(
    "rules 153, 178: a list has what a child inserted after what leads to it, with undo and without",
    arguments: [true, false])
  func childInsertsWhatOthersLeadTo(isUndoable: Bool) throws {
    let stand = try ResultsStand()
    let context = stand.context
    if isUndoable { context.undoManager = UndoManager() }
    let request = FetchRequest<ManagedObject>(
      entityName: "Group", sortDescriptors: [FetchSort("name", ascending: false)])
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
    let listener = Listener()
    controller.delegate = listener
    try controller.performFetch()
    let child = ManagedObjectContext(.confinement, parent: context)
    let item = ResultsStand.item("a9", "a", 9, child)
    let group = ResultsStand.make("Group", child)
    group.setValue("z", forKey: "name")
    item.setValue(group, forKey: "group")
    try child.save()
    context.processPendingChanges()
    #expect(controller.names == [["z", "y", "x"]])
    #expect(listener.take() == ["will 2", "insert z - 0.0", "did 3"])
    try context.save()
    #expect(listener.isSilent)
  }

  @Test(
    "rules 173, 215: what is moved, or deleted, here is no member where another context has moved it",
    arguments: [false, true])
  func movedTwice(isDeleted: Bool) throws {
    let stand = try ResultsStand()
    let context = stand.context
    context.mergePolicy = .mergeByPropertyObjectTrump
    for name in ["v", "w"] { ResultsStand.make("Group", context).setValue(name, forKey: "name") }
    try context.save()
    let request = FetchRequest<ManagedObject>(
      entityName: "Group", predicate: try FetchPredicate(format: "items.@count == 1"),
      sortDescriptors: [FetchSort("name")])
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
    let listener = Listener()
    controller.delegate = listener
    try controller.performFetch()
    let (v, w) = (try stand.find("v", "Group"), try stand.find("w", "Group"))
    let item = try stand.find("a1")
    if isDeleted { context.delete(item) } else { item.setValue(v, forKey: "group") }
    context.processPendingChanges()
    let names = isDeleted ? [[]] : [["v"]]
    #expect(controller.names == names)
    let writer = stand.store.context()
    try stand.find("a1", in: writer).setValue(stand.find("w", "Group", in: writer), forKey: "group")
    context.mergeChanges(fromContextDidSave: try savedNotification(of: writer))
    #expect((w.value(forKey: "items") as? Set<ManagedObject>)?.count == 0)
    #expect(controller.names == names)
    try context.save()
    #expect((w.value(forKey: "items") as? Set<ManagedObject>)?.count == 0)
    #expect((v.value(forKey: "items") as? Set<ManagedObject>)?.count == (isDeleted ? 0 : 1))
    #expect(controller.names == names)
    #expect(try context.count(for: request) == (isDeleted ? 0 : 1))
  }

  @Test(
    "rules 216, 261: the owner of a member that another context deleted without knowing the owner is reported",
    arguments: [true, false])
  func unknownOwners(isAsynchronous: Bool) async throws {
    let stand = try ResultsStand()
    let context = stand.store.context(.privateQueue)
    let other = stand.store.context(.privateQueue)
    other.automaticallyMergesChangesFromParent = true
    let id = try context.performAndWait {
      let tag = ResultsStand.make("Tag", context)
      try context.save()
      return tag.objectID
    }
    func follow(_ context: ManagedObjectContext) throws
      -> (FetchedResultsController<ManagedObject>, AsyncStream<FetchedResultsChange>)
    {
      try context.performAndWait {
        let controller = try stand.controller("tags.@count > 0", section: nil, delegate: nil, in: context)
        return (controller, controller.changes)
      }
    }
    let (here, elsewhere) = (try follow(context), try follow(other))
    let child = ManagedObjectContext(.confinement, parent: context)
    let tag = child.object(with: id)
    child.delete(tag)
    child.processPendingChanges()
    let writer = stand.store.context()
    try stand.find("a1", in: writer).setValue(Set([writer.object(with: id)]), forKey: "tags")
    let saved = try savedNotification(of: writer)
    context.performAndWait { context.mergeChanges(fromContextDidSave: saved) }
    try child.save()
    try context.performAndWait {
      let count = try context.count(for: here.0.fetchRequest)
      #expect(here.0.fetchedObjects?.count == count)
    }
    other.performAndWait { #expect(elsewhere.0.fetchedObjects?.count == 1) }
    if isAsynchronous {
      try await context.saveAsynchronously()
    } else {
      try context.performAndWait { try context.save() }
    }
    try context.performAndWait {
      let count = try context.count(for: here.0.fetchRequest)
      #expect(count == 0)
      #expect(here.0.fetchedObjects?.count == 0)
      let item = try stand.find("a1", in: context)
      #expect((item.value(forKey: "tags") as? Set<ManagedObject>)?.isEmpty == true)
    }
    other.performAndWait { #expect(elsewhere.0.fetchedObjects?.count == 0) }
    withExtendedLifetime((here.1, elsewhere.1)) {}
  }

  @Test("rules 178, 274: batches are reported")
  func batches() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let controller = try stand.controller(delegate: listener)
    _ = try stand.context.execute(
      BatchUpdateRequest(
        entityName: "Item", predicate: try FetchPredicate(format: "kind == 'a'"),
        propertiesToUpdate: ["kind": "c"]))
    #expect(controller.sections?.map(\.name) == ["b", "c"])
    #expect(listener.take().contains("section a delete 0 of 0"))
    _ = try stand.context.execute(
      BatchDeleteRequest(
        fetchRequest: FetchRequest<ManagedObject>(
          entityName: "Item", predicate: try FetchPredicate(format: "kind == 'b'"))))
    #expect(
      listener.take() == ["will 5", "section b delete 0 of 0", "delete 0.0 -", "delete 0.1 -", "did 3"])
    _ = try stand.context.execute(
      BatchInsertRequest(entityName: "Item", objects: [["name": "c0", "kind": "c", "value": 0]]))
    #expect(listener.take() == ["will 3", "insert c0 - 0.0", "did 4"])
  }

  @Test("rule 261: a change of a related object in a sort key, a section or the predicate is noticed")
  func relatedObjects() throws {
    let stand = try ResultsStand()
    let (sections, matches) = (Listener(), Listener())
    let byGroup = try stand.controller(
      sorts: [FetchSort("group.name"), FetchSort("value")], section: "group.name", delegate: sections)
    let named = try stand.controller("group.name == 'x'", section: nil, delegate: matches)
    try stand.find("x", "Group").setValue("z", forKey: "name")
    stand.context.processPendingChanges()
    #expect(byGroup.sections?.map(\.name) == ["y", "z"])
    #expect(named.fetchedObjects?.count == 0)
    #expect(matches.take().filter { $0.hasPrefix("delete") }.count == 3)
    // And when it is saved elsewhere.
    let writer = stand.store.context()
    try stand.context.save()
    try stand.find("y", "Group", in: writer).setValue("x", forKey: "name")
    let saved = try savedNotification(of: writer)
    stand.context.mergeChanges(fromContextDidSave: saved)
    #expect(byGroup.sections?.map(\.name) == ["x", "z"])
    #expect(named.names == [["b1", "b2"]])
  }

  @Test("rule 261: a section key path leads through parents that have not been saved")
  func unsavedParents() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let controller = try stand.controller(
      sorts: [FetchSort("group.name"), FetchSort("value")], section: "group.name", delegate: listener)
    let group = ResultsStand.make("Group", stand.context)
    group.setValue("k", forKey: "name")
    stand.item("new", "k", 1).setValue(group, forKey: "group")
    stand.context.processPendingChanges()
    #expect(controller.sections?.map(\.name) == ["k", "x", "y"])
    #expect(listener.take() == ["will 5", "section k insert 0 of 1", "insert new - 0.0", "did 6"])
  }

  @Test("a sequence begins with the list and continues without a gap; it ends with the controller")
  func sequences() async throws {
    let stand = try ResultsStand()
    let context = stand.store.context(.privateQueue)
    let (changes, snapshots) = try await context.perform {
      let request = FetchRequest<ManagedObject>(entityName: "Item", sortDescriptors: [FetchSort("name")])
      let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
      try controller.performFetch()
      let sequences = (controller.changes, controller.snapshots)
      for name in ["c1", "c2"] {
        ResultsStand.item(name, "c", 1, context)
        context.processPendingChanges()
      }
      return sequences
    }
    var counts: [Int] = []
    for await snapshot in snapshots { counts.append(snapshot.numberOfItems) }
    #expect(counts == [5, 6, 7])
    var list: [ManagedObjectID] = []
    for await change in changes {
      if change.isInitial {
        list = Array(change.snapshot.itemIdentifiers)
      } else {
        list = try #require(list.applying(change.difference))
      }
      #expect(list == Array(change.snapshot.itemIdentifiers))
    }
    #expect(list.count == 7)
  }
}
