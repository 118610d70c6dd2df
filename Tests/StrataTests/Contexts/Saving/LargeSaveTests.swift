import Foundation
import Strata
import Testing

/// Saves of so many new objects that several threads take part: nothing of that may show.
struct LargeSaveTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    context = store.context()
  }

  private static let count = 6_000

  private func insert(_ count: Int = Self.count) -> [Entry] {
    (0..<count).map { number in
      let entry = Entry.make("spot \(number)", rating: Int16(number % 6), in: context)
      if number % 1_000 == 7 { entry.notes = String(repeating: "n", count: 5_000 + number) }
      entry.mood = "m\(number)"
      return entry
    }
  }

  private func check(_ entries: [Entry], _ location: (Int) -> String = { "spot \($0)" }) throws {
    let reader = store.context()
    let saved = try reader.fetch(FetchRequest<Entry>(entityName: "Entry"))
    #expect(saved.count == entries.count)
    let wrong = zip(saved.sorted { $0.objectID.uriNumber < $1.objectID.uriNumber }, entries).enumerated()
      .filter {
        $1.0.location != location($0) || $1.0.objectID != $1.1.objectID || $1.0.notes != $1.1.notes
          || $1.0.rating != $1.1.rating
      }
    #expect(wrong.isEmpty)
    let sound = try #require(store.store as? LMDBStore).check()
    #expect(sound.isSound, "\(sound.problems)")
  }

  @Test(
    "rules 142, 71: objects of a large save have their values, their large values and transient ones, and are saved"
  )
  func valuesSurvive() throws {
    let entries = insert()
    try context.save()
    #expect(!context.hasChanges)
    #expect(entries.allSatisfy { !$0.isInserted && !$0.isFault && !$0.objectID.isTemporaryID })
    #expect(entries.enumerated().allSatisfy { $1.location == "spot \($0)" && $1.mood == "m\($0)" })
    try check(entries)
  }

  @Test("rules 125, 137: what observers of the did-change notification and willSave edit is what is saved")
  func editsOfHooksAreSaved() throws {
    let entries = insert()
    let context = context
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didChangeObjectsNotification, object: context, queue: nil
    ) { notification in
      for entry in notification.userInfo?["inserted"] as? Set<Entry> ?? [] {
        entry.location = "edited " + (entry.location ?? "")
      }
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try context.save()
    try check(entries) { "edited spot \($0)" }
  }

  @Test("rule 76: so is what a primitive setter changed after the objects were noted")
  func silentEditsAreSaved() throws {
    let entries = insert()
    // Unsafe: observers run inside save(), on this thread.
    nonisolated(unsafe) let observed = entries[4_321]
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.willSaveObjectsNotification, object: context, queue: nil
    ) { _ in observed.setPrimitiveValue("silent", forKey: "location") }
    defer { NotificationCenter.default.removeObserver(token) }
    try context.save()
    try check(entries) { $0 == 4_321 ? "silent" : "spot \($0)" }
  }

  @Test("rule 138: objects that willSave observers insert and delete are in the save, or not")
  func insertsAndDeletesOfHooks() throws {
    var entries = insert()
    // Unsafe: observers run inside save(), on this thread.
    nonisolated(unsafe) let doomed = entries[10]
    let context = context
    let log = Log<Entry>()
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.willSaveObjectsNotification, object: context, queue: nil
    ) { _ in
      context.delete(doomed)
      log.add(Entry.make("late", in: context))
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try context.save()
    entries.remove(at: 10)
    entries += log.list
    try check(entries) { $0 == Self.count - 1 ? "late" : "spot \($0 < 10 ? $0 : $0 + 1)" }
    #expect(doomed.managedObjectContext == nil)
  }

  @Test(
    "rules 134, 204: a refused large save leaves every object new, with its values; repaired, it succeeds"
  )
  func refusedSaveKeepsChanges() throws {
    let store = try TemporaryStore(
      SurfModel.make { $0.entitiesByName["Entry"]?.uniquenessConstraints = [["location"]] })
    let context = store.context()
    _ = Entry.make("spot 5999", in: context)
    try context.save()
    let entries = (0..<Self.count).map { number in
      let entry = Entry.make("spot \(number)", rating: Int16(number % 6), in: context)
      if number % 500 == 0 { entry.notes = String(repeating: "ü", count: 3_000) }
      return entry
    }
    #expect(throws: CoreDataError.self) { try context.save() }
    #expect(context.insertedObjects.count == Self.count)
    #expect(
      entries.allSatisfy {
        $0.isInserted && $0.objectID.isTemporaryID && $0.committedValues(forKeys: nil).isEmpty
      })
    #expect(entries.enumerated().allSatisfy { $1.location == "spot \($0)" && $1.rating == Int16($0 % 6) })
    #expect(entries.enumerated().allSatisfy { ($1.notes?.count ?? 0) == ($0 % 500 == 0 ? 3_000 : 0) })
    #expect(try store.context().entryCount() == 1)
    entries[5_999].location = "elsewhere"
    try context.save()
    #expect(try store.context().entryCount() == Self.count + 1)
    #expect(!context.hasChanges && entries[5_999].location == "elsewhere")
  }

  @Test("rule 228: a large save that fails validation writes nothing")
  func invalidObjectStopsALargeSave() throws {
    let entries = insert()
    entries[3_000].location = nil
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .validationMissingMandatoryProperty)
    #expect(try store.context().entryCount() == 0)
    entries[3_000].location = "spot 3000"
    try context.save()
    try check(entries)
  }
}

extension ManagedObjectID {
  /// The primary key, from the URI.
  fileprivate var uriNumber: Int { Int(uriRepresentation().lastPathComponent.dropFirst()) ?? 0 }
}
