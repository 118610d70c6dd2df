import Foundation
import Strata
import Testing

/// Children that save objects with the values that they had, and saves to several stores in which only some have anything to write.
struct ResavedInChildrenTests {
  private let store: TemporaryStore
  private let root: ManagedObjectContext
  private let ids: [ManagedObjectID]

  /// Saved words a, b and c, of a model without relationships.
  init() throws {
    let word = EntityDescription("Word", properties: [AttributeDescription("text", .string)])
    store = try TemporaryStore(ManagedObjectModel(entities: [word]))
    let root = store.context(.privateQueue)
    self.root = root
    ids = try root.performAndWait {
      let words = ["a", "b", "c"].map { root.new("Word", ["text": $0]) }
      try root.save()
      return words.map(\.objectID)
    }
  }

  private func touch(_ id: ManagedObjectID, in context: ManagedObjectContext) {
    let word = context.object(with: id)
    word["text"] = word["text"]
  }

  private func sibling() -> ManagedObjectContext {
    let context = store.context(.privateQueue)
    context.automaticallyMergesChangesFromParent = true
    return context
  }

  @Test(
    "rules 151, 152, 184: they are updated objects of the parent, and of its save, which writes nothing and tells siblings",
    arguments: [false, true])
  func handedDown(isHeld: Bool) throws {
    let (child, other) = (ManagedObjectContext(.privateQueue, parent: root), sibling())
    let held = root.performAndWait { isHeld ? [root.object(with: ids[1])] : [] }
    root.performAndWait { for word in held { _ = word["text"] } }
    let (recorder, siblings) = (NotificationRecorder(root), NotificationRecorder(other))
    try child.performAndWait {
      touch(ids[1], in: child)
      try child.save()
      #expect(!child.hasChanges)
    }
    try root.performAndWait { () throws in
      #expect(root.hasChanges && root.updatedObjects.map(\.objectID) == [ids[1]])
      #expect(recorder.all(.didChange).map(\.updated) == [[ids[1]]])
      let saves = root.statistics.saves
      try root.save()
      #expect(!root.hasChanges && root.statistics.saves == saves)
      #expect(root.object(with: ids[1])["text"] as? String == "b")
    }
    #expect(recorder.all(.didSaveIDs).map(\.updatedIDs) == [[ids[1]]])
    other.performAndWait {}
    #expect(siblings.all(.didMerge).map(\.updatedIDs) == [[ids[1]]])
    #expect(siblings.all(.didChange).isEmpty, "nothing looks different")
    withExtendedLifetime(held) {}
  }

  @Test("rules 151, 152: a save that does not stop hands the same down, through any number of contexts")
  func asynchronous() async throws {
    let (other, root, id) = (sibling(), root, ids[2])
    let child = ManagedObjectContext(.privateQueue, parent: root)
    let grandchild = ManagedObjectContext(.privateQueue, parent: child)
    let siblings = NotificationRecorder(other)
    await grandchild.perform {
      let word = grandchild.object(with: id)
      word["text"] = word["text"]
    }
    for context in [grandchild, child] {
      try await context.saveAsynchronously()
      let next = context.parent ?? root
      await next.perform { #expect(next.updatedObjects.map(\.objectID) == [id]) }
    }
    try await root.saveAsynchronously()
    await other.perform {}
    #expect(siblings.all(.didMerge).map(\.updatedIDs) == [[id]])
  }

  @Test("rule 155: what another child has changed meanwhile stays, and is no conflict")
  func besideARealEdit() throws {
    let (child, editor) = (
      ManagedObjectContext(.privateQueue, parent: root), ManagedObjectContext(.privateQueue, parent: root)
    )
    child.detectsConflictsWithParent = true
    child.performAndWait { touch(ids[0], in: child) }
    try editor.performAndWait {
      editor.object(with: ids[0])["text"] = "A"
      try editor.save()
    }
    try child.performAndWait { try child.save() }
    try root.performAndWait {
      #expect(root.object(with: ids[0])["text"] as? String == "A")
      try root.save()
    }
    let reader = store.context(.privateQueue)
    reader.performAndWait { #expect(reader.object(with: ids[0])["text"] as? String == "A") }
  }

  @Test("rule 169: what the parent has deleted stays deleted")
  func deletedInTheParent() throws {
    let child = ManagedObjectContext(.privateQueue, parent: root)
    child.performAndWait { touch(ids[0], in: child) }
    root.performAndWait {
      root.delete(root.object(with: ids[0]))
      root.processPendingChanges()
    }
    try child.performAndWait { try child.save() }
    try root.performAndWait { () throws in
      #expect(root.updatedObjects.isEmpty && root.deletedObjects.count == 1)
      try root.save()
      #expect(try root.count(for: FetchRequest<ManagedObject>(entityName: "Word")) == 2)
    }
  }

  @Test(
    "rules 181, 184: of two stores one is written and of the other objects are saved as they were: both are merged",
    arguments: [false, true])
  func twoStores(writesFirst: Bool) async throws {
    let entities = ["Word", "Mark"].map {
      EntityDescription($0, properties: [AttributeDescription("text", .string)])
    }
    let model = ManagedObjectModel(entities: entities)
    for entity in entities { model.setEntities([entity], forConfigurationName: "of \(entity.name ?? "")") }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    for entity in entities {
      var description = PersistentStoreDescription(type: .inMemory, url: nil)
      description.configuration = "of \(entity.name ?? "")"
      try coordinator.addPersistentStore(description)
    }
    let writer = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let ids = try await writer.perform {
      let objects = ["Word", "Mark"].map { writer.new($0, ["text": "old"]) }
      try writer.save()
      return objects.map(\.objectID)
    }
    let manual = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let recorder = NotificationRecorder(manual)
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: writer, queue: nil
    ) { note in manual.performAndWait { manual.mergeChanges(fromContextDidSave: note) } }
    defer { NotificationCenter.default.removeObserver(token) }
    let (edited, same) = writesFirst ? (ids[0], ids[1]) : (ids[1], ids[0])
    for isAsynchronous in [false, true] {
      try await writer.perform {
        writer.object(with: edited)["text"] = "new \(isAsynchronous)"
        let object = writer.object(with: same)
        object["text"] = object["text"]
        if !isAsynchronous { try writer.save() }
      }
      if isAsynchronous { try await writer.saveAsynchronously() }
    }
    #expect(recorder.all(.didMerge).map(\.updatedIDs) == [Set(ids), Set(ids)])
  }
}
