import Foundation
import Strata
import Testing

/// Cases that came up when controllers were first used.
@Suite struct FetchedResultsOddCasesTests {
  @Test(
    "rules 152, 248: a deletion that a child saves is reported, although the records that refer to it come first",
    arguments: [true, false])
  func childDeletesWhatOthersLeadTo(hasUndo: Bool) throws {
    let stand = try ResultsStand()
    let context = stand.context
    if hasUndo { context.undoManager = UndoManager() }
    let listener = Listener()
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(
        entityName: "Group", sortDescriptors: [FetchSort("name")]),
      managedObjectContext: context)
    controller.delegate = listener
    try controller.performFetch()
    // Without an undo manager the objects are claimed only where something is edited here.
    let edited = hasUndo ? nil : try stand.find("a1")
    edited?.setValue(8, forKey: "value")
    try stand.find("a2").setValue(stand.find("y", "Group"), forKey: "group")
    context.processPendingChanges()
    _ = listener.take()
    let child = ManagedObjectContext(.confinement, parent: context)
    let group = try stand.find("x", "Group", in: child)
    let recorder = NotificationRecorder(context)
    child.delete(group)
    try child.save()
    context.processPendingChanges()
    #expect(listener.take() == ["will 2", "delete 0.0 -", "did 1"])
    #expect(recorder.all(.didChange).map(\.deleted).filter { !$0.isEmpty } == [[group.objectID]])
    #expect(context.deletedObjects.count == 1)
    try context.save()
    #expect(listener.isSilent)
    #expect(controller.fetchedObjects?.count == 1)
  }

  @Test("a deletion that was reported here is not reported again when a child saves the same")
  func deletedByBoth() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let controller = try stand.controller(delegate: listener)
    let child = ManagedObjectContext(.confinement, parent: stand.context)
    let inChild = try stand.find("b1", in: child)
    inChild.setValue(9, forKey: "value")
    stand.context.delete(try stand.find("b1"))
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 5", "delete 1.0 -", "did 4"])
    child.delete(inChild)
    try child.save()
    stand.context.processPendingChanges()
    #expect(listener.isSilent)
    #expect(controller.names == [["a1", "a2", "a3"], ["b2"]])
  }

  @Test("sections are distinguished as the order of a fetch distinguishes values: by their bytes")
  func canonicallyEquivalentSections() throws {
    let stand = try ResultsStand()
    for (name, kind) in [("n1", "e\u{301}"), ("n2", "f"), ("n3", "\u{e9}")] { _ = stand.item(name, kind, 1) }
    let listener = Listener()
    let controller = try stand.controller(delegate: listener)
    #expect(controller.names == [["a1", "a2", "a3"], ["b1", "b2"], ["n1"], ["n2"], ["n3"]])
    try stand.find("a3").setValue("\u{e9}", forKey: "kind")
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 8", "move a3 0.2 4.1", "did 8"])
  }

  @Test("zeros of either sign are one section")
  func zeros() throws {
    let reading = EntityDescription(
      "Reading", properties: [AttributeDescription("score", .double), AttributeDescription("name", .string)])
    let store = try TemporaryStore(ManagedObjectModel(entities: [reading])) { $0.durability = .none }
    let context = store.context()
    let readings = [0.0, 5, -0.0, 0.0].enumerated().map { place, score in
      let object = ManagedObject(entity: reading, insertInto: context)
      object.setValue(score, forKey: "score")
      object.setValue("\(place)", forKey: "name")
      return object
    }
    try context.save()
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(
        entityName: "Reading", sortDescriptors: [FetchSort("score"), FetchSort("name")]),
      managedObjectContext: context, sectionNameKeyPath: "score")
    let listener = Listener()
    controller.delegate = listener
    try controller.performFetch()
    #expect(controller.names == [["0", "2", "3"], ["1"]])
    readings[0].setValue(-0.0, forKey: "score")
    readings[1].setValue(-0.0, forKey: "score")
    context.processPendingChanges()
    #expect(controller.names == [["0", "1", "2", "3"]])
  }

  @Test(
    "rule 59: a refresh that drops an edit of one end reports the other end, too: to-one, sorted through two to-one relationships",
    arguments: [true, false])
  func droppedEdits(ofTeam: Bool) throws {
    let (team, player) = (EntityDescription("Team"), EntityDescription("Player"))
    player.properties = [AttributeDescription("name", .string)]
    func join(
      _ left: EntityDescription, _ name: String, _ right: EntityDescription, _ back: String, _ most: Int
    ) {
      let there = RelationshipDescription(name, to: right, maxCount: 1)
      let inverse = RelationshipDescription(back, to: left, maxCount: most)
      (there.inverseRelationship, inverse.inverseRelationship) = (inverse, there)
      left.properties.append(there)
      right.properties.append(inverse)
    }
    join(player, "team", team, "members", 0)
    join(player, "captainOf", team, "captain", 1)
    let store = try TemporaryStore(ManagedObjectModel(entities: [team, player])) { $0.durability = .none }
    let context = store.context()
    let teams = [0, 1].map { _ in ManagedObject(entity: team, insertInto: context) }
    let players = ["a", "b", "c", "d"].map { name in
      let object = ManagedObject(entity: player, insertInto: context)
      object.setValue(name, forKey: "name")
      return object
    }
    for (place, object) in players.enumerated() { object.setValue(teams[place % 2], forKey: "team") }
    teams[0].setValue(players[0], forKey: "captain")
    teams[1].setValue(players[1], forKey: "captain")
    try context.save()
    let requests = try [
      FetchRequest<ManagedObject>(
        entityName: "Player",
        sortDescriptors: [FetchSort("team.captain.name", ascending: false), FetchSort("name")]),
      FetchRequest<ManagedObject>(
        entityName: "Player", predicate: FetchPredicate(format: "captainOf != nil"),
        sortDescriptors: [FetchSort("name")]),
    ]
    let listeners = [Listener(), Listener()]
    let controllers = try zip(requests, listeners).map { request, listener in
      let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
      controller.delegate = listener
      try controller.performFetch()
      return controller
    }
    func isLawful() throws -> Bool {
      try zip(requests, controllers).allSatisfy { request, controller in
        try context.fetch(request) == controller.fetchedObjects.map(Array.init)
      }
    }
    teams[0].setValue(players[3], forKey: "captain")
    context.processPendingChanges()
    #expect(try isLawful())
    #expect(controllers.map { $0.names } == [[["a", "c", "b", "d"]], [["b", "d"]]])
    context.refresh(ofTeam ? teams[0] : players[3], mergeChanges: false)
    context.processPendingChanges()
    #expect(try isLawful())
    context.refreshAllObjects()
    #expect(try isLawful())
    context.rollback()
    #expect(controllers.map { $0.names } == [[["b", "d", "a", "c"]], [["a", "b"]]])
  }

  @Test(
    "rules 174, 178: what was deleted elsewhere is back when that is undone and saved, although it was held here"
  )
  func deletionUndoneElsewhere() throws {
    let stand = try ResultsStand()
    let main = stand.store.context()
    let listener = Listener()
    let held = try stand.find("b1", in: main)
    let controller = try stand.controller(delegate: listener, in: main)
    let writer = stand.context
    writer.undoManager = UndoManager()
    let heard = Heard<Guarded<Notification>>(ManagedObjectContext.didSaveObjectsNotification, of: writer) {
      Guarded($0)
    }
    writer.delete(try stand.find("b1"))
    try writer.save()
    main.mergeChanges(fromContextDidSave: try #require(heard.all.last).withLock { $0 })
    #expect(held.isDeleted && controller.names == [["a1", "a2", "a3"], ["b2"]])
    writer.undo()
    try writer.save()
    main.mergeChanges(fromContextDidSave: try #require(heard.all.last).withLock { $0 })
    #expect(controller.names == [["a1", "a2", "a3"], ["b1", "b2"]])
    #expect(!held.isDeleted && !main.hasChanges && held.value(forKey: "name") as? String == "b1")
    #expect(listener.take() == ["will 5", "delete 1.0 -", "did 4", "will 4", "insert b1 - 1.0", "did 5"])
  }

  @Test(
    "rule 274: members of a many-to-many relationship that a batch deletes are noticed from the other end",
    arguments: [true, false])
  func batchDeletedMembers(isHeld: Bool) throws {
    let stand = try ResultsStand()
    let context = stand.context
    let tags = [1, 5].map { weight in
      let tag = ResultsStand.make("Tag", context)
      tag.setValue(weight, forKey: "weight")
      return tag
    }
    try stand.find("a1").setValue(Set(tags), forKey: "tags")
    try stand.find("b1").setValue(Set([tags[1]]), forKey: "tags")
    try context.save()
    let held = isHeld ? [try stand.find("a1"), try stand.find("b1")] : []
    for object in held { _ = (object.value(forKey: "tags") as? Set<ManagedObject>)?.count }
    if !isHeld { context.reset() }
    let controllers = try ["tags.@count > 0", "ANY tags.weight > 1", "tags.@max.weight > 1"].map {
      let listener = Listener()
      return (try stand.controller($0, section: nil, delegate: listener), listener)
    }
    #expect(controllers.map { $0.0.names } == Array(repeating: [["a1", "b1"]], count: 3))
    let refreshed = Heard<Set<ManagedObjectID>>(
      ManagedObjectContext.didMergeChangesObjectIDsNotification, of: context
    ) {
      $0.userInfo?[ManagedObjectContext.NotificationKey.updatedObjectIDs.rawValue] as? Set<ManagedObjectID>
    }
    _ = try context.execute(
      BatchDeleteRequest(
        fetchRequest: FetchRequest<ManagedObject>(
          entityName: "Tag", predicate: try FetchPredicate(format: "weight > 3"))))
    #expect(controllers.map { $0.0.names } == [[["a1"]], [[]], [[]]])
    for (_, listener) in controllers { #expect(listener.take().first == "will 2") }
    // Their owners are named.
    #expect(refreshed.all.reduce(into: Set()) { $0.formUnion($1) }.count == 2)
    #expect((held.first?.value(forKey: "tags") as? Set<ManagedObject>)?.count ?? 1 == 1)
  }

  @Test(
    "rule 256: the objects of a removed store are gone on the next access, and there again after the next fetch"
  )
  func removedStore() throws {
    let stand = try ResultsStand()
    var second = PersistentStoreDescription(
      url: stand.store.folderURL.appendingPathComponent("second.strata"))
    second.durability = .none
    let listener = Listener()
    let other = try stand.store.coordinator.addPersistentStore(second)
    let there = stand.item("c1", "c", 1)
    try stand.context.assign(there, to: other)
    try stand.context.save()
    let controller = try stand.controller(delegate: listener)
    #expect(controller.names == [["a1", "a2", "a3"], ["b1", "b2"], ["c1"]])
    try stand.store.coordinator.remove(other)
    #expect(controller.fetchedObjects == nil && controller.sections == nil && controller.snapshot == nil)
    #expect(controller.indexPath(forID: there.objectID) == nil)
    #expect(listener.isSilent)
    try controller.performFetch()
    #expect(controller.names == [["a1", "a2", "a3"], ["b1", "b2"]])
  }

  @Test(
    "rule 246: a delegate that fetches again or is released in the middle: will change is followed by did change, unless it is gone"
  )
  func inTheMiddle() throws {
    for (moment, isGone) in [("will", false), ("insert", false), ("will", true), ("insert", true)] {
      let stand = try ResultsStand()
      let listener = Interrupter(at: moment) { $0.delegate = nil }
      if !isGone { listener.body = { try? $0.performFetch() } }
      let controller = try stand.controller(section: nil, delegate: listener)
      _ = stand.item("a8", "a", 8)
      _ = stand.item("a9", "a", 9)
      stand.context.processPendingChanges()
      let calls = moment == "will" ? ["will"] : ["will", "insert"]
      #expect(listener.calls == (isGone ? calls : calls + ["did"]), "\(moment), \(isGone)")
      #expect(controller.fetchedObjects?.count == 7 || isGone && moment == "will")
      listener.calls = []
      controller.delegate = listener
      listener.body = { _ in }
      _ = stand.item("b9", "b", 9)
      stand.context.processPendingChanges()
      #expect(listener.calls.first == "will" && listener.calls.last == "did")
      #expect(controller.names == [["a1", "a2", "a3", "a8", "a9", "b1", "b2", "b9"]])
    }
  }

  @Test("a sequence continues from what a delegate fetches in the middle of a change")
  func fetchedInTheMiddle() async throws {
    let stand = try ResultsStand()
    let context = stand.store.context(.privateQueue)
    let changes = try await context.perform {
      let listener = Interrupter(at: "insert") { try? $0.performFetch() }
      let controller = FetchedResultsController(
        fetchRequest: FetchRequest<ManagedObject>(entityName: "Item", sortDescriptors: [FetchSort("name")]),
        managedObjectContext: context)
      controller.delegate = listener
      try controller.performFetch()
      let changes = controller.changes
      ResultsStand.item("a9", "a", 9, context)
      context.processPendingChanges()
      return withExtendedLifetime(listener) { changes }
    }
    var list: [ManagedObjectID] = []
    for await change in changes {
      if change.isInitial {
        list = Array(change.snapshot.itemIdentifiers)
      } else {
        list = try #require(list.applying(change.difference))
      }
      #expect(list == Array(change.snapshot.itemIdentifiers))
    }
    #expect(list.count == 6)
  }

  @Test("rule 243: the list is what the context shows, also of a request that leaves pending changes out")
  func pendingChanges() throws {
    let stand = try ResultsStand()
    _ = stand.item("a0", "a", 0)
    var request = FetchRequest<ManagedObject>(entityName: "Item", sortDescriptors: [FetchSort("name")])
    request.includesPendingChanges = false
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: stand.context)
    let listener = Listener()
    controller.delegate = listener
    try controller.performFetch()
    #expect(controller.names == [["a0", "a1", "a2", "a3", "b1", "b2"]])
    try stand.find("a0").setValue("z", forKey: "name")
    stand.context.processPendingChanges()
    try stand.context.save()
    #expect(controller.names == [["a1", "a2", "a3", "b1", "b2", "z"]])
  }

  @Test(
    "rules 261, 265: an edited object follows the group that it shows, though the store leads to it no more")
  func editedOverWhatIsStale() throws {
    let stand = try ResultsStand()
    let context = stand.context
    try stand.find("a2").setValue(7, forKey: "value")
    let listener = Listener()
    let controller = try stand.controller(
      sorts: [FetchSort("group.name"), FetchSort("name")], section: "group.name", delegate: listener)
    let writer = stand.store.context()
    try stand.find("a2", in: writer).setValue(stand.find("y", "Group", in: writer), forKey: "group")
    try writer.save()
    // Nothing is merged here: the edited object is what it was.
    try stand.find("x", "Group").setValue("z", forKey: "name")
    context.processPendingChanges()
    #expect(controller.names.last?.contains("a2") == true)
    #expect(controller.sections?.map(\.name) == ["y", "z"])
    #expect(
      controller.fetchedObjects?.objectIDs.map { $0 }
        == (try context.fetch(controller.fetchRequest)).map(\.objectID))
  }

  @Test(
    "rules 205, 265: a duplicate that a save's merge policy drops leaves the list, and is reported as deleted",
    arguments: [false, true])
  func duplicateInTheSave(hasChild: Bool) throws {
    let keyed = EntityDescription(
      "Keyed",
      properties: [
        AttributeDescription("name", .string, isOptional: true),
        AttributeDescription("kind", .string, isOptional: true),
      ])
    keyed.uniquenessConstraints = [["name"]]
    let store = try TemporaryStore(ManagedObjectModel(entities: [keyed])) { $0.durability = .none }
    let (context, writer) = (store.context(), store.context())
    context.mergePolicy = .mergeByPropertyObjectTrump
    let child = hasChild ? ManagedObjectContext(.confinement, parent: context) : nil
    func make(_ context: ManagedObjectContext) {
      let object = ManagedObject(entity: keyed, insertInto: context)
      object.setValue("a", forKey: "name")
      object.setValue("k", forKey: "kind")
    }
    make(writer)
    try writer.save()
    let listener = Listener()
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(
        entityName: "Keyed", sortDescriptors: [FetchSort("kind"), FetchSort("name")]),
      managedObjectContext: context)
    controller.delegate = listener
    try controller.performFetch()
    make(context)
    context.processPendingChanges()
    #expect(listener.take() == ["will 1", "insert a - 0.1", "did 2"])
    try context.save()
    let calls = listener.take().filter { !$0.hasPrefix("will") && !$0.hasPrefix("did") }
    #expect(calls == ["delete 0.1 -", "update a 0.0 0.0"])
    #expect(controller.fetchedObjects?.count == 1)
    withExtendedLifetime(child) {}
  }

  @Test("rule 246: what a delegate edits is reported when its calls are over", arguments: ["did", "will"])
  func editsInCalls(moment: String) throws {
    let stand = try ResultsStand()
    let context = stand.store.context(.privateQueue)
    try context.performAndWait {
      let b1 = try stand.find("b1", in: context)
      var isFirst = true
      let interrupter = Interrupter(at: moment) { _ in
        if isFirst { b1.setValue("zz", forKey: "kind") }
        isFirst = false
      }
      let controller = try stand.controller(delegate: interrupter, in: context)
      try stand.find("a1", in: context).setValue(9, forKey: "value")
      context.processPendingChanges()
      #expect(controller.names == [["a2", "a3", "a1"], ["b2"], ["b1"]])
      #expect(controller.sections?.map(\.name) == ["a", "b", "zz"])
      #expect(interrupter.calls.filter { $0 == "did" }.count == 2)
    }
  }

  @Test(
    "rules 261, 265: what a child has edited and its parent has taken back follows its group",
    arguments: [true, false])
  func editedOverWhatIsTakenBack(isRefreshed: Bool) throws {
    let stand = try ResultsStand()
    let parent = stand.context
    let new = stand.item("a4", "a", 4)
    new.setValue(try stand.find("x", "Group"), forKey: "group")
    parent.processPendingChanges()
    let child = ManagedObjectContext(.confinement, parent: parent)
    let listener = Listener()
    let controller = try stand.controller(
      sorts: [FetchSort("group.name"), FetchSort("name")], section: "group.name", delegate: listener,
      in: child)
    try stand.find("a4", in: child).setValue(7, forKey: "value")
    child.processPendingChanges()
    parent.rollback()
    if isRefreshed { child.refreshAllObjects() }
    try stand.find("x", "Group", in: child).setValue("z", forKey: "name")
    child.processPendingChanges()
    #expect(controller.names == [["b1", "b2"], ["a1", "a2", "a3", "a4"]])
    #expect(controller.sections?.map(\.name) == ["y", "z"])
    // Once more, from an event that has touched nothing else.
    try stand.find("z", "Group", in: child).setValue("s", forKey: "name")
    child.processPendingChanges()
    #expect(controller.names == [["a1", "a2", "a3", "a4"], ["b1", "b2"]])
  }
}

/// Does something in the middle of a report.
private final class Interrupter: FetchedResultsChangeDelegate {
  typealias Result = ManagedObject
  var calls: [String] = []
  var body: (FetchedResultsController<ManagedObject>) -> Void
  private let moment: String

  init(at moment: String, _ body: @escaping (FetchedResultsController<ManagedObject>) -> Void) {
    self.moment = moment
    self.body = body
  }

  private func hear(_ call: String, _ controller: FetchedResultsController<ManagedObject>) {
    calls.append(call)
    if call == moment { body(controller) }
  }

  func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    hear("will", controller)
  }
  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject,
    at indexPath: IndexPath?, for type: FetchedResultsChangeType, newIndexPath: IndexPath?
  ) { hear("\(type)", controller) }
  func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    hear("did", controller)
  }
}
