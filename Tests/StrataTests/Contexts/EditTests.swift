import Foundation
import Strata
import Testing

/// Inserting, editing, deleting and taking it all back (rules 15–26, 56, 57, 72–76, 147).
struct EditTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  // MARK: Inserting

  @Test("rule 24: a new object is registered, inserted, and its defaults are there at once (rule 57)")
  func insertRegistersWithDefaults() {
    let entry = Entry(context: context)
    #expect(entry.isInserted && !entry.isUpdated && !entry.isDeleted && !entry.isFault)
    #expect(entry.hasChanges && context.hasChanges)
    #expect(context.insertedObjects == [entry])
    #expect(context.registeredObjects == [entry])
    #expect(context.registeredObject(for: entry.objectID) === entry)
    #expect(entry.rating == 3)
    #expect(entry.location == nil)
    #expect(entry.height == 0)
    #expect(entry.value(forKey: "rating") as? Int64 == 3)
  }

  @Test("rule 318: insertion by entity description and by class give the same")
  func insertionByDescriptionAndByClass() throws {
    let entity = try #require(store.container.managedObjectModel.entitiesByName["Entry"])
    let entry = try #require(Entry(entity: entity, insertInto: context) as Entry?)
    #expect(entry.entity === entity)
    #expect(Entry(context: context).entity === entity)
    #expect(context.insertedObjects.count == 2)
  }

  @Test("rule 320: one class for two entities needs the entity; each object keeps its own")
  func oneClassForTwoEntities() throws {
    let entities = store.container.managedObjectModel.entitiesByName
    let left = Twin(entity: try #require(entities["LeftTwin"]), insertInto: context)
    let right = Twin(entity: try #require(entities["RightTwin"]), insertInto: context)
    left.name = "left"
    right.name = "right"
    try context.save()
    let reader = store.context()
    let found = try reader.fetch(FetchRequest<Twin>(entityName: "RightTwin"))
    #expect(found.map(\.name) == ["right"])
    #expect(found.first?.entity.name == "RightTwin")
  }

  @Test("rule 56: awakeFromInsert is called exactly once, after the defaults were applied")
  func awakeFromInsertIsCalledOnce() throws {
    let diary = Diary(context: context)
    #expect(diary.takeCalls() == ["awakeFromInsert"])
    #expect(diary.titleAtBirth == "untitled")
    try context.save()
    context.refresh(diary, mergeChanges: false)
    _ = diary.title
    #expect(diary.count(of: "awakeFromInsert") == 0)
  }

  @Test("rule 56: an object made without a context wakes up when it is inserted, not before")
  func objectMadeWithoutContextIsInsertedLater() throws {
    let entity = try #require(store.container.managedObjectModel.entitiesByName["Diary"])
    let diary = Diary(entity: entity, insertInto: nil)
    #expect(diary.managedObjectContext == nil && diary.objectID.isTemporaryID)
    #expect(diary.title == "untitled" && diary.tide == "low")
    diary.title = "loose leaf"
    #expect(diary.calls.isEmpty)
    context.insert(diary)
    #expect(diary.takeCalls() == ["awakeFromInsert"])
    #expect(diary.managedObjectContext === context && diary.isInserted)
    #expect(diary.title == "loose leaf")
    try context.save()
    #expect(try store.context().diary()?.title == "loose leaf")
  }

  @Test("rule 24: inserting an object that is already here changes nothing")
  func insertingTwiceChangesNothing() {
    let diary = Diary(context: context)
    context.insert(diary)
    #expect(context.insertedObjects == [diary])
    #expect(diary.count(of: "awakeFromInsert") == 1)
  }

  @Test("rule 24: deleting an object that was never saved makes it go")
  func deletingANewObjectMakesItGo() throws {
    let entry = Entry.make("Bells", in: context)
    let id = entry.objectID
    context.delete(entry)
    #expect(!context.hasChanges)
    #expect(context.insertedObjects.isEmpty && context.deletedObjects.isEmpty)
    #expect(!entry.isInserted && entry.isDeleted)
    #expect(entry.managedObjectContext == nil)
    #expect(context.registeredObject(for: id) == nil)
    #expect(entry.location == "Bells")
    try context.save()
    #expect(try store.context().entryCount() == 0)
  }

  @Test(
    "rule 25: what was inserted and deleted in one event is reported as deleted, and is not part of the save")
  func insertedAndDeletedIsToldAsDeleted() throws {
    let recorder = NotificationRecorder(context)
    Entry.make("stays", in: context)
    let gone = Entry.make("goes", in: context)
    context.delete(gone)
    #expect(context.deletedObjects.isEmpty && context.insertedObjects.count == 1)
    try context.save()
    let saved = try #require(recorder.all(.didSave).first)
    #expect(recorder.all(.didChange).map(\.inserted.count) == [1])
    #expect(recorder.all(.didChange).map(\.deleted) == [[gone.objectID]])
    #expect(saved.inserted.count == 1 && saved.deleted.isEmpty)
  }

  @Test(
    "A deleted new object says that it is deleted until its event is over, whether its insertion was reported or not"
  )
  func deletedNewObjectIsDeletedUntilTheEventEnds() throws {
    for wasTold in [false, true] {
      let entry = Entry.make("goes", in: context)
      if wasTold { context.processPendingChanges() }
      // Notifications are posted on this thread, while it edits.
      nonisolated(unsafe) var isDeletedWhenTold: Bool?
      nonisolated(unsafe) let object = entry
      let token = NotificationCenter.default.addObserver(
        forName: ManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
      ) { _ in isDeletedWhenTold = object.isDeleted }
      defer { NotificationCenter.default.removeObserver(token) }
      context.delete(entry)
      #expect(entry.isDeleted && !entry.isInserted && !entry.hasChanges)
      context.processPendingChanges()
      #expect(isDeletedWhenTold == true)
      #expect(!entry.isDeleted && entry.managedObjectContext == nil)
      context.processPendingChanges()
    }
    let entry = Entry.make("goes", in: context)
    context.delete(entry)
    context.reset()
    #expect(!entry.isDeleted)
    let other = Entry.make("goes", in: context)
    context.delete(other)
    context.rollback()
    #expect(!other.isDeleted && !context.hasChanges)
  }

  @Test("What a hook of a save inserts and deletes again gets no hook of its own")
  func goneInWillSave() throws {
    let diary = Diary(context: context)
    var gone: Diary?
    diary.onWillSave = { diary in
      guard gone == nil, let context = diary.managedObjectContext else { return }
      let other = Diary(context: context)
      context.delete(other)
      gone = other
    }
    try context.save()
    #expect(gone?.calls.contains("willSave") == false && gone?.isDeleted == false)
  }

  @Test("rule 24: a new object that was deleted can be inserted again and is saved with its values")
  func deletedNewObjectCanBeInsertedAgain() throws {
    let entry = Entry.make("Bells", in: context)
    context.delete(entry)
    context.insert(entry)
    #expect(entry.isInserted && !entry.isDeleted && entry.managedObjectContext === context)
    #expect(try context.existingObject(with: entry.objectID) === entry)
    try context.save()
    #expect(try store.context().entry("Bells").rating == 3)
    #expect(try context.existingObject(with: entry.objectID) === entry)
  }

  @Test("rule 12: a new object deleted in one context and inserted into another belongs to the other alone")
  func deletedNewObjectMovesToAnotherContext() throws {
    let other = store.context()
    let entry = Entry.make("Bells", in: context)
    let stays = Entry.make("stays", in: context)
    context.delete(entry)
    other.insert(entry)
    #expect(context.insertedObjects == [stays] && other.insertedObjects == [entry])
    try context.save()
    #expect(entry.isInserted && other.hasChanges)
    context.reset()
    #expect(entry.managedObjectContext === other)
    try other.save()
    #expect(!entry.isInserted)
    #expect(try store.context().entries().map(\.location) == ["Bells", "stays"])
  }

  @Test(
    "rule 24: an object whose deletion was saved can be inserted again, as a new record with its last values")
  func savedDeletionCanBeInsertedAgain() throws {
    let entry = Entry.make("Bells", rating: 5, in: context)
    try context.save()
    let old = entry.objectID
    context.delete(entry)
    try context.save()
    context.insert(entry)
    #expect(entry.isInserted && entry.location == "Bells" && entry.objectID != old)
    try context.save()
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  // MARK: Editing

  @Test("rule 15: an edit makes object and context dirty; transient attributes do too")
  func editsMakeDirty() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    #expect(!context.hasChanges && !entry.hasChanges)
    entry.rating = 4
    #expect(context.hasChanges && entry.hasChanges && entry.isUpdated && !entry.isInserted)
    #expect(context.updatedObjects == [entry])
    try context.save()
    entry.mood = "stoked"
    #expect(context.hasChanges && entry.hasChanges)
    #expect(entry.changedValues().isEmpty)
    #expect(!entry.hasPersistentChangedValues)
    try context.save()
    #expect(!context.hasChanges)
    #expect(entry.mood == "stoked")
  }

  @Test("rule 73: changedValues holds what was changed since the last fetch or save, NSNull for nil")
  func changedValuesSinceTheLastSave() throws {
    let entry = Entry.make("Bells", in: context)
    entry.notes = "big"
    try context.save()
    #expect(entry.changedValues().isEmpty)
    entry.rating = 5
    entry.notes = nil
    let changed = entry.changedValues()
    #expect(changed.count == 2)
    #expect(changed["rating"] as? Int64 == 5)
    #expect(changed["notes"] is NSNull)
    context.processPendingChanges()
    #expect(entry.changedValues().count == 2)
  }

  @Test("rule 73: changedValues of a new object holds what was set on it")
  func changedValuesOfANewObject() {
    let entry = Entry.make("Bells", in: context)
    #expect(entry.changedValues()["location"] as? String == "Bells")
    #expect(entry.changedValues()["notes"] == nil)
  }

  @Test("rule 74: changedValuesForCurrentEvent counts from the last did-change")
  func changedValuesForCurrentEvent() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    entry.rating = 5
    #expect(entry.changedValuesForCurrentEvent().keys.sorted() == ["rating"])
    context.processPendingChanges()
    #expect(entry.changedValuesForCurrentEvent().isEmpty)
    entry.height = 2.5
    #expect(entry.changedValuesForCurrentEvent().keys.sorted() == ["height"])
    #expect(entry.changedValues().keys.sorted() == ["height", "rating"])
  }

  @Test("rule 75: hasPersistentChangedValues compares with the saved state, hasChanges does not")
  func settingBackTheOldValue() throws {
    let entry = Entry.make("Bells", rating: 3, in: context)
    try context.save()
    entry.rating = 5
    #expect(entry.hasPersistentChangedValues)
    entry.rating = 3
    #expect(!entry.hasPersistentChangedValues)
    #expect(entry.hasChanges && context.hasChanges)
    #expect(entry.changedValues().isEmpty)
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test("rule 72: committedValues are those last read or saved, persistent ones only, NSNull for nil")
  func committedValuesAreTheSavedOnes() throws {
    let entry = Entry.make("Bells", rating: 2, in: context)
    entry.mood = "stoked"
    #expect(entry.committedValues(forKeys: nil).isEmpty)
    try context.save()
    entry.location = "Winki"
    entry.rating = 5
    let committed = entry.committedValues(forKeys: nil)
    #expect(committed["location"] as? String == "Bells")
    #expect(committed["rating"] as? Int64 == 2)
    #expect(committed["notes"] is NSNull)
    #expect(committed["mood"] == nil)
    #expect(entry.committedValues(forKeys: ["rating"]).keys.sorted() == ["rating"])
  }

  @Test("rule 76: a primitive setter sends no notification and is not among changedValues")
  func primitiveSettersAreSilent() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    let recorder = NotificationRecorder(context)
    entry.setPrimitiveValue("quiet", forKey: "notes")
    #expect(entry.primitiveValue(forKey: "notes") as? String == "quiet")
    #expect(entry.notes == "quiet")
    #expect(!context.hasChanges && !entry.hasChanges)
    #expect(entry.changedValues().isEmpty)
    #expect(!entry.hasPersistentChangedValues)
    context.processPendingChanges()
    #expect(recorder.names.isEmpty)
  }

  @Test("rule 76: setting the same attribute through its accessor afterwards counts as a change")
  func accessorAfterPrimitiveSetterCounts() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    entry.setPrimitiveValue("quiet", forKey: "notes")
    entry.notes = "loud"
    #expect(entry.changedValues()["notes"] as? String == "loud")
    try context.save()
    #expect(try store.context().entry("Bells").notes == "loud")
  }

  @Test("rule 76: willChange, primitive setter, didChange are a change like any other")
  func bracketedPrimitiveSetterIsAChange() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    entry.willChangeValue(forKey: "notes")
    entry.setPrimitiveValue("loud", forKey: "notes")
    entry.didChangeValue(forKey: "notes")
    #expect(entry.isUpdated && context.hasChanges)
    #expect(entry.changedValues()["notes"] as? String == "loud")
    try context.save()
    #expect(try store.context().entry("Bells").notes == "loud")
  }

  // MARK: Deleting

  @Test("rule 147: delete marks the object; prepareForDeletion comes first, while it is whole, and knows")
  func deleteMarksTheObject() throws {
    let diary = Diary(context: context)
    try context.save()
    _ = diary.takeCalls()
    var wasWhole = false
    diary.onPrepareForDeletion = { [context] in
      wasWhole = $0.isDeleted && $0.title == "untitled" && context.deletedObjects.isEmpty
    }
    context.delete(diary)
    #expect(wasWhole)
    #expect(diary.calls == ["prepareForDeletion"])
    #expect(diary.isDeleted && !diary.isUpdated && diary.hasChanges)
    #expect(context.deletedObjects == [diary])
    #expect(context.hasChanges)
    #expect(diary.title == "untitled")
    #expect(diary.managedObjectContext === context)
  }

  @Test("rule 147: a repeated delete calls prepareForDeletion again and changes nothing else")
  func repeatedDelete() throws {
    let diary = Diary(context: context)
    try context.save()
    context.delete(diary)
    context.delete(diary)
    #expect(diary.count(of: "prepareForDeletion") == 2)
    #expect(context.deletedObjects == [diary])
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test(
    "rule 143: isDeleted is false once the deletion is saved; the object has no context, its values stay")
  func savedDeletion() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    context.delete(entry)
    try context.save()
    #expect(!entry.isDeleted && !entry.hasChanges)
    #expect(entry.managedObjectContext == nil)
    #expect(entry.location == "Bells")
    #expect(context.registeredObject(for: entry.objectID) == nil)
    #expect(try context.entryCount() == 0)
    #expect(try store.context().entryCount() == 0)
  }

  @Test("rule 24: deleting an object that is gone already does nothing")
  func deletingWhatIsGoneDoesNothing() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    context.delete(entry)
    try context.save()
    context.delete(entry)
    #expect(!context.hasChanges)
    try context.save()
  }

  @Test("rule 24: an edited object that is deleted counts once, as deleted")
  func editedThenDeletedCountsAsDeleted() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    entry.rating = 5
    context.delete(entry)
    #expect(context.updatedObjects.isEmpty)
    #expect(context.deletedObjects == [entry])
    #expect(!entry.isUpdated && entry.isDeleted)
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test("rule 24: a fault can be deleted without being read")
  func faultCanBeDeleted() throws {
    let id = Entry.make("Bells", in: context).objectID
    try context.save()
    let other = store.context()
    other.delete(other.object(with: id))
    #expect(other.deletedObjects.count == 1)
    try other.save()
    #expect(try store.context().entryCount() == 0)
  }

  // MARK: Taking back

  @Test("rules 19, 20: rollback drops inserts, restores edits and deletes, without an undo manager")
  func rollbackRestoresEverything() throws {
    let (edited, deleted) = (Entry.make("edited", in: context), Entry.make("deleted", in: context))
    try context.save()
    edited.location = "changed"
    edited.rating = 9
    context.delete(deleted)
    let inserted = Entry.make("inserted", in: context)
    context.rollback()
    #expect(!context.hasChanges)
    #expect(
      context.insertedObjects.isEmpty && context.updatedObjects.isEmpty && context.deletedObjects.isEmpty)
    #expect(edited.location == "edited" && edited.rating == 3 && !edited.hasChanges)
    #expect(edited.changedValues().isEmpty)
    #expect(!deleted.isDeleted && deleted.location == "deleted")
    #expect(deleted.managedObjectContext === context)
    #expect(context.registeredObject(for: inserted.objectID) == nil)
    #expect(inserted.managedObjectContext == nil && !inserted.isInserted)
    #expect(try context.entries().map(\.location) == ["deleted", "edited"])
    try context.save()
    #expect(try store.context().entries().map(\.location) == ["deleted", "edited"])
  }

  @Test(
    "rule 19: rollback after the changes were notified of restores too, and an edited object that was deleted"
  )
  func rollbackAfterNotification() throws {
    let entry = Entry.make("Bells", in: context)
    try context.save()
    entry.rating = 9
    context.processPendingChanges()
    context.delete(entry)
    context.processPendingChanges()
    let inserted = Entry.make("inserted", in: context)
    context.processPendingChanges()
    context.rollback()
    #expect(!context.hasChanges && !entry.isDeleted && entry.rating == 3)
    #expect(context.registeredObject(for: inserted.objectID) == nil)
    entry.rating = 4
    #expect(context.updatedObjects == [entry])
    try context.save()
    #expect(try store.context().entry("Bells").rating == 4)
  }

  @Test("rule 58: rollback notifies the objects with the flag 16; the flags have Core Data's values")
  func rollbackTellsTheObjects() throws {
    let diary = Diary(context: context)
    try context.save()
    diary.title = "changed"
    context.rollback()
    #expect(diary.snapshotEvents == [.rollback])
    #expect(SnapshotEventType.undoInsertion.rawValue == 2)
    #expect(SnapshotEventType.undoDeletion.rawValue == 4)
    #expect(SnapshotEventType.undoUpdate.rawValue == 8)
    #expect(SnapshotEventType.rollback.rawValue == 16)
    #expect(SnapshotEventType.refresh.rawValue == 32)
    #expect(SnapshotEventType.mergePolicy.rawValue == 64)
  }

  @Test("rule 18: reset forgets every object and change, and reports that with the IDs alone")
  func resetForgetsEverything() throws {
    let saved = Entry.make("saved", in: context)
    try context.save()
    saved.rating = 9
    let inserted = Entry.make("inserted", in: context)
    let recorder = NotificationRecorder(context)
    context.reset()
    #expect(context.registeredObjects.isEmpty)
    #expect(!context.hasChanges)
    #expect(saved.managedObjectContext == nil && inserted.managedObjectContext == nil)
    let event = try #require(recorder.take().only)
    #expect(event.name == .didChange)
    #expect(event.keys == ["invalidatedAll"])
    #expect(event.hasArrayOfIDs)
    #expect(event[.invalidatedAllObjects] == [saved.objectID, inserted.objectID])
    try context.save()
    #expect(try context.entry("saved").rating == 3)
    #expect(try context.entryCount() == 1)
  }

  @Test("rule 18: after reset a fetch makes new objects; the old ones stay readable")
  func fetchAfterResetMakesNewObjects() throws {
    let old = Entry.make("Bells", in: context)
    try context.save()
    context.reset()
    let new = try context.entry("Bells")
    #expect(new !== old)
    #expect(new.objectID == old.objectID)
    #expect(old.location == "Bells")
  }
}

extension Array {
  /// The one element, or nil when there are none or several.
  var only: Element? { count == 1 ? self[0] : nil }
}
