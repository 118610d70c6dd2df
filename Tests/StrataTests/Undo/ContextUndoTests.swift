import Foundation
import Strata
import Testing

/// Undo and redo in one context, without saves (rules 22, 56, 58, 74, 122, 234–239).
struct ContextUndoTests {
  let store: TemporaryStore
  let context: ManagedObjectContext
  let manager = UndoManager()

  init() throws {
    store = try TemporaryStore()
    context = store.context()
    context.undoManager = manager
  }

  // MARK: With and without a manager

  @Test("rules 22, 234: there is no undo manager by default, and undo and redo do nothing")
  func withoutManager() throws {
    let context = store.context()
    #expect(context.undoManager == nil)
    let entry = Entry.make("Bells", in: context)
    context.undo()
    context.redo()
    #expect(entry.isInserted && entry.location == "Bells")
    context.undoManager = manager
    #expect(context.undoManager === manager)
    context.undo()
    #expect(entry.isInserted, "what was done before there was a manager cannot be undone")
    entry.location = "Winki"
    context.undoManager = nil
    #expect(!manager.canUndo, "another manager, or none, ends what could be undone")
    context.undo()
    #expect(entry.location == "Winki")
  }

  @Test("with nothing to undo or to redo, undo and redo do nothing")
  func nothingToUndo() {
    context.undo()
    context.redo()
    #expect(!context.hasChanges)
  }

  // MARK: Insertions

  @Test(
    "rules 235, 56: undo takes insertions back up to the last grouping, redo brings the same objects back, asleep no more"
  )
  func insertions() throws {
    let first = Entry.make("Bells", in: context)
    context.processPendingChanges()
    let diary = Diary(context: context)
    diary.title = "Summer"
    let second = Entry.make("Winki", in: context)
    let ids = [diary.objectID, second.objectID]
    _ = diary.takeCalls()
    context.undo()
    #expect(context.insertedObjects == [first])
    #expect(diary.managedObjectContext == nil && context.registeredObject(for: ids[0]) == nil)
    #expect(diary.snapshotEvents == [.undoInsertion])
    context.undo()
    #expect(context.insertedObjects.isEmpty && !context.hasChanges && !manager.canUndo)
    context.redo()
    #expect(context.insertedObjects == [first])
    context.redo()
    #expect(context.insertedObjects == [first, second, diary])
    #expect(context.registeredObject(for: ids[0]) === diary && [diary.objectID, second.objectID] == ids)
    #expect(diary.title == "Summer" && second.location == "Winki" && diary.tide == "low")
    #expect(
      diary.count(of: "awakeFromInsert") == 0 && diary.snapshotEvents == [.undoInsertion, .undoDeletion])
    try context.save()
    #expect(try store.savedEntries() == ["Bells 3", "Winki 3"])
    #expect(try store.context().diary()?.title == "Summer")
  }

  @Test("what was inserted and deleted in one event is nothing to undo")
  func insertedAndDeleted() {
    context.delete(Entry(context: context))
    context.processPendingChanges()
    #expect(!manager.canUndo)
  }

  @Test("a new object that was deleted comes back new, with its values and its ID")
  func deletedNewObject() throws {
    let entry = Entry.make("Bells", rating: 5, in: context)
    let id = entry.objectID
    context.processPendingChanges()
    context.delete(entry)
    context.undo()
    #expect(entry.isInserted && entry.rating == 5 && entry.objectID == id)
    context.redo()
    #expect(entry.managedObjectContext == nil)
    context.undo()
    context.undo()
    #expect(entry.managedObjectContext == nil)
    context.redo()
    try context.save()
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("an object inserted a second time has two IDs, and undo goes back from the second to the first")
  func insertedTwice() throws {
    let entry = Entry.make("Bells", in: context)
    let first = entry.objectID
    context.processPendingChanges()
    context.delete(entry)
    context.insert(entry)
    let second = entry.objectID
    #expect(first != second)
    context.undo()
    #expect(entry.objectID == first && context.registeredObject(for: first) === entry)
    #expect(context.registeredObject(for: second) == nil)
    context.redo()
    #expect(entry.objectID == second && context.registeredObject(for: second) === entry)
    #expect(context.registeredObject(for: first) == nil && context.insertedObjects == [entry])
    try context.save()
    #expect(try store.savedEntries() == ["Bells 3"])
  }

  // MARK: Edits

  @Test(
    "rules 238, 58: an edit is taken back and done again; no setter is called, the object is notified")
  func edits() throws {
    try store.save("Bells")
    let entry = try context.entry("Bells")
    entry.rating = 5
    entry.notes = "glassy"
    context.undo()
    #expect(entry.rating == 3 && entry.notes == nil && !entry.hasChanges && !context.hasChanges)
    #expect(entry.changedValues().isEmpty)
    context.redo()
    #expect(entry.rating == 5 && entry.notes == "glassy" && context.updatedObjects == [entry])
    try context.save()
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  /// Writes down its setters.
  final class LoudNote: ManagedObject {
    override class var declaredSlots: [String]? { [] }

    var calls: [String] = []
    override func setValue(_ value: Any?, forKey key: String) {
      calls.append("set \(key)")
      super.setValue(value, forKey: key)
    }
    override func awake(fromSnapshotEvents flags: SnapshotEventType) {
      super.awake(fromSnapshotEvents: flags)
      calls.append("awake \(flags.rawValue)")
    }
  }

  /// Does what a test asks for when it is notified of undo.
  final class Listener: ManagedObject {
    override class var declaredSlots: [String]? { [] }

    var onAwake: () -> Void = {}
    override func awake(fromSnapshotEvents flags: SnapshotEventType) { onAwake() }
  }

  @Test("rule 238: undo and redo call no setters, also none by key")
  func noSetters() throws {
    let model = SurfModel.make {
      $0.entitiesByName["Note"]?.managedObjectClass = LoudNote.self
    }
    let store = try TemporaryStore(model)
    let context = store.context()
    context.undoManager = manager
    let note = LoudNote(context: context)
    note.setValue("a", forKey: "text")
    context.processPendingChanges()
    note.setValue("b", forKey: "text")
    context.undo()
    context.redo()
    context.undo()
    #expect(note.value(forKey: "text") as? String == "a")
    #expect(note.calls == ["set text", "set text", "awake 8", "awake 8", "awake 8"])
  }

  @Test("an object that was edited before keeps those edits, and stays changed")
  func editsOfEdited() throws {
    try store.save("Bells")
    let entry = try context.entry("Bells")
    entry.rating = 4
    context.processPendingChanges()
    entry.rating = 5
    entry.height = 2
    context.undo()
    #expect(entry.rating == 4 && entry.height == 0 && entry.isUpdated)
    #expect(entry.changedValues().keys.sorted() == ["rating"])
    context.undo()
    #expect(entry.rating == 3 && !entry.isUpdated)
    context.redo()
    context.redo()
    #expect(entry.rating == 5 && entry.height == 2)
  }

  @Test("every attribute type comes back, nil distinguished from zero")
  func everyType() throws {
    let sample = Sample(context: context)
    func values() -> [String] { Sample.Slot.allCases.map { "\($0): \(sample[$0.stringValue] ?? "nil")" } }
    let empty = values()
    context.processPendingChanges()
    sample.int16 = 1
    sample.int32 = 2
    sample.int64 = 3
    sample.decimal = Decimal(string: "4.5")
    sample.double = 5.5
    sample.float = 6.5
    sample.string = "seven"
    sample.boolean = true
    sample.date = Date(timeIntervalSinceReferenceDate: 8)
    sample.data = Data([9])
    sample.uuid = UUID()
    sample.uri = URL(string: "strata://ten")
    let full = values()
    context.processPendingChanges()
    sample.int16 = 0
    sample.boolean = false
    sample.double = -0.0
    sample.string = ""
    sample.data = nil
    let mixed = values()
    context.undo()
    #expect(values() == full)
    context.undo()
    #expect(values() == empty)
    context.redo()
    context.redo()
    #expect(values() == mixed)
  }

  @Test("rule 239: undo covers transient attributes of every type")
  func transients() throws {
    try store.save("Bells")
    let entry = try context.entry("Bells")
    final class Chalk {}
    let (white, red) = (Chalk(), Chalk())
    entry.mood = "calm"
    entry.setValue(white, forKey: "scratch")
    context.processPendingChanges()
    entry.mood = "wild"
    entry.setValue(red, forKey: "scratch")
    context.undo()
    #expect(entry.mood == "calm" && entry.value(forKey: "scratch") as? Chalk === white)
    context.undo()
    #expect(entry.mood == nil && entry.value(forKey: "scratch") == nil && !entry.hasChanges)
    context.redo()
    context.redo()
    #expect(entry.mood == "wild" && entry.value(forKey: "scratch") as? Chalk === red && entry.hasChanges)
  }

  @Test(
    "values set between willChangeValue and didChangeValue are edits; what awakeFromFetch set is no edit afterwards either"
  )
  func primitives() throws {
    let writer = store.context()
    Diary(context: writer).title = "Summer"
    try writer.save()
    let diary = try #require(try context.diary())
    diary.onAwakeFromFetch = { $0.remark = "woken" }
    context.refresh(diary, mergeChanges: false)
    #expect(diary.remark == "woken" && !diary.hasChanges)
    context.processPendingChanges()
    diary.remark = "edited"
    context.undo()
    #expect(diary.remark == "woken" && !diary.hasChanges && diary.changedValues().isEmpty)
    diary.willChangeValue(forKey: "title")
    diary.setPrimitiveValue("Winter", forKey: "title")
    diary.didChangeValue(forKey: "title")
    #expect(diary.changedValues().keys.sorted() == ["title"])
    context.undo()
    #expect(diary.title == "Summer" && !diary.hasChanges)
    context.redo()
    #expect(diary.title == "Winter" && diary.isUpdated)
  }

  @Test(
    "rule 74: while the object is notified, the values of the current event are those that undo has restored")
  func currentEvent() throws {
    let store = try TemporaryStore(
      SurfModel.make { $0.entitiesByName["Note"]?.managedObjectClass = Listener.self })
    let context = store.context()
    context.undoManager = manager
    let note = Listener(context: context)
    note["key"] = "a"
    context.processPendingChanges()
    note["key"] = "b"
    context.processPendingChanges()
    note["text"] = "c"
    context.undo()
    var seen: [String: Any] = [:]
    note.onAwake = { [unowned note] in seen = note.changedValuesForCurrentEvent() }
    context.undo()
    #expect(seen.count == 1 && seen["key"] as? String == "a")
  }

  // MARK: Deletions

  @Test("rules 235, 58: a deletion is taken back, edits of the same event with it, and done again")
  func deletions() throws {
    let ids = try store.save("Bells", "Winki")
    let entry = try context.entry("Bells")
    entry.rating = 5
    context.delete(entry)
    #expect(entry.isDeleted)
    context.undo()
    #expect(!entry.isDeleted && !entry.hasChanges && entry.rating == 3 && !context.hasChanges)
    context.redo()
    #expect(entry.isDeleted && context.deletedObjects == [entry] && context.hasChanges)
    #expect(context.registeredObject(for: ids[0]) === entry)
    try context.save()
    #expect(try store.savedEntries() == ["Winki 3"])
  }

  @Test("a deleted fault comes back as one")
  func deletedFault() throws {
    let ids = try store.save("Bells")
    let entry = try #require(context.object(with: ids[0]) as? Entry)
    context.delete(entry)
    context.undo()
    #expect(!entry.isDeleted && entry.isFault && entry.rating == 3)
  }

  @Test("prepareForDeletion's edits go with the deletion")
  func prepareForDeletion() throws {
    let diary = Diary(context: context)
    diary.title = "Summer"
    try context.save()
    diary.onPrepareForDeletion = { $0.title = "torn" }
    context.delete(diary)
    context.undo()
    #expect(diary.title == "Summer" && !diary.hasChanges)
    #expect(diary.snapshotEvents.last == .undoDeletion)
  }

  // MARK: Notifications and hooks

  @Test("rules 122, 238: each undo and redo posts one did-change that reports what became of the objects")
  func notifications() throws {
    try store.save("Bells", "Winki")
    let (edited, deleted) = (try context.entry("Bells"), try context.entry("Winki"))
    edited.rating = 5
    context.delete(deleted)
    let inserted = Entry.make("Gunna", in: context)
    let ids = [edited, deleted, inserted].map(\.objectID)
    context.processPendingChanges()
    let recorder = NotificationRecorder(context)
    context.undo()
    let undone = try #require(recorder.take().only)
    #expect(undone.name == .didChange)
    #expect(undone.updated == [ids[0]] && undone.inserted == [ids[1]] && undone.deleted == [ids[2]])
    context.redo()
    let redone = try #require(recorder.take().only)
    #expect(redone.updated == [ids[0]] && redone.deleted == [ids[1]] && redone.inserted == [ids[2]])
  }

  @Test(
    "all objects are restored before the first of them is notified; what it then edits belongs to the redo"
  )
  func hooksSeeEverything() throws {
    let store = try TemporaryStore(
      SurfModel.make { $0.entitiesByName["Note"]?.managedObjectClass = Listener.self })
    let context = store.context()
    context.undoManager = manager
    let notes = (0..<3).map { _ in Listener(context: context) }
    try context.save()
    context.processPendingChanges()
    for note in notes { note["text"] = "edited" }
    var seen: [String] = []
    notes[1].onAwake = {
      seen = notes.map { $0["text"] as? String ?? "nil" }
      notes[1]["key"] = "woken"
    }
    context.undo()
    #expect(seen == ["nil", "nil", "nil"])
    notes[1].onAwake = {}
    context.redo()
    #expect(notes[1]["key"] == nil && notes.map { $0["text"] as? String } == ["edited", "edited", "edited"])
  }

  // MARK: Lifetime

  @Test("a manager keeps no context alive, and a context that is gone leaves nothing to undo")
  func lifetime() {
    weak var trace: ManagedObjectContext?
    do {
      let context = store.context()
      trace = context
      context.undoManager = manager
      Entry.make("Bells", in: context)
      context.processPendingChanges()
      #expect(manager.canUndo)
    }
    #expect(trace == nil)
    #expect(!manager.canUndo)
    manager.undo()
  }

  @Test("objects that only the undo stack holds are still the context's: one object per record (rule 40)")
  func heldByTheStack() throws {
    let ids = try store.save("Bells")
    try context.entry("Bells").rating = 5
    try context.save()
    weak let entry = context.registeredObject(for: ids[0]) as? Entry
    #expect(entry != nil)
    context.undo()
    #expect(try context.entry("Bells") === entry)
    #expect(entry?.rating == 3)
    context.rollback()
    #expect(context.registeredObject(for: ids[0]) == nil && entry == nil)
  }
}
