import Foundation
import Strata
import Testing

/// What has been undone, or set back, lets newer values of the store through.
struct UndoneEditTests {
  enum Setting: CaseIterable {
    case value, primitive

    func set(_ value: Any?, _ key: String, _ object: ManagedObject) {
      switch self {
      case .value: object.setValue(value, forKey: key)
      case .primitive:
        object.willChangeValue(forKey: key)
        object.setPrimitiveValue(value, forKey: key)
        object.didChangeValue(forKey: key)
      }
    }
  }

  enum After: CaseIterable { case nothing, undo, undoAndRedo }

  @Test(
    "rules 71, 93, 240: an attribute that is back at what is stored shows what a batch stores next",
    arguments: Setting.allCases, Setting.allCases)
  func backAtTheStoredValue(first: Setting, second: Setting) throws {
    for after in After.allCases {
      for other in [false, true] {
        let place: Comment = "\(after), \(other)"
        let store = try TemporaryStore()
        let context = store.context()
        context.undoManager = UndoManager()
        try store.save("Bells")
        let entry = try context.entry("Bells")
        if other {
          entry.location = "Bells Beach"
          context.processPendingChanges()
        }
        first.set(Int16(4), "rating", entry)
        second.set(Int16(3), "rating", entry)
        context.processPendingChanges()
        if after != .nothing { context.undo() }
        if after == .undoAndRedo { context.redo() }
        var update = BatchUpdateRequest(entityName: "Entry")
        update.propertiesToUpdate = ["rating": 7]
        try context.execute(update)
        context.refreshAllObjects()
        #expect(entry.rating == 7, place)
        // Nothing was changed in the last event, so undo takes back the one before.
        let location = other && after != .undo ? "Bells Beach" : "Bells"
        #expect(entry.location == location, place)
        try context.save()
        #expect(try store.savedEntries() == ["\(location) 7"], place)
      }
    }
  }

  enum Newer: CaseIterable { case refreshing, merging, savingOverIt }

  /// Without undo: one attribute is edited, the other is set and set back.
  @Test(
    "rules 60, 71, 93, 194: an attribute that was set back is no edit when a newer row comes",
    arguments: Newer.allCases)
  func setBack(newer: Newer) throws {
    let store = try TemporaryStore()
    let context = store.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    try store.save("Bells")
    let entry = try context.entry("Bells")
    entry.location = "Bells Beach"
    entry.rating = 4
    entry.rating = 3
    context.processPendingChanges()
    let other = store.context()
    try other.entry("Bells").rating = 7
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectsNotification, object: other, queue: nil
    ) { saved in
      if newer == .merging { context.mergeChanges(fromContextDidSave: saved) }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try other.save()
    if newer == .refreshing { context.refresh(entry, mergeChanges: true) }
    if newer != .savingOverIt {
      #expect(entry.rating == 7)
      #expect(entry.changedValues().keys.sorted() == ["location"])
    }
    try context.save()
    #expect(entry.rating == 7)
    #expect(try store.savedEntries() == ["Bells Beach 7"])
  }

  @Test(
    "rules 60, 93: a reference that was set back is no edit when a newer row comes", arguments: [false, true])
  func setBackReference(isRefreshedFirst: Bool) throws {
    let world = try ReadWorld()
    let book = try world.book(1)
    let (a, b) = (try world.shelf("a"), try world.shelf("b"))
    book["title"] = "mine"
    book["shelf"] = b
    book["shelf"] = a
    world.context.processPendingChanges()
    try world.elsewhere { try world.book(1, $0)["shelf"] = try world.shelf("b", $0) }
    if isRefreshedFirst { world.context.refresh(book, mergeChanges: false) }
    world.context.refreshAllObjects()
    #expect(book["shelf"] as? ManagedObject === b)
    #expect((b["books"] as? Set<ManagedObject>)?.contains(book) == true)
    #expect((a["books"] as? Set<ManagedObject>)?.contains(book) == false)
    try world.context.save()
    try #expect(world.picture().contains("1 \(isRefreshedFirst ? "t1" : "mine") 10 on b [old] cover"))
    try #expect(world.store.problems() == [])
  }
}
