import Foundation
import Strata
import Testing

/// Saves that change or delete so many objects that several threads encode them and make their index entries: nothing of that may show.
struct LargeChangeTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext
  private let entries: [Entry]

  private static let count = 9_000

  init() throws {
    store = try TemporaryStore()
    context = store.context()
    entries = (0..<Self.count).map { [context] number in
      // Runs of one value, and values of their own.
      let entry = Entry.make(number % 3 == 0 ? "run" : "spot \(number)", in: context)
      entry.rating = Int16(number % 7)
      entry.height = Double(number % 100)
      if number % 1_000 == 7 { entry.notes = String(repeating: "n", count: 5_000 + number) }
      return entry
    }
    try context.save()
  }

  /// What another context finds, by both indexes and without one.
  private func check(_ expected: [Entry], in store: TemporaryStore? = nil) throws {
    let store = store ?? self.store
    let reader = store.context()
    let all = try reader.fetch(FetchRequest<Entry>(entityName: "Entry"))
    #expect(Set(all.map(\.objectID)) == Set(expected.map(\.objectID)))
    let values = Dictionary(uniqueKeysWithValues: expected.map { ($0.objectID, $0) })
    let wrong = all.filter {
      let entry = values[$0.objectID]
      return $0.location != entry?.location || $0.rating != entry?.rating || $0.height != entry?.height
        || $0.notes != entry?.notes
    }
    #expect(wrong.isEmpty)
    for prefix in ["run", "spot", "moved"] {
      var request = FetchRequest<Entry>(entityName: "Entry")
      request.predicate = Attribute("location").beginsWith(prefix)
      #expect(
        try reader.count(for: request) == expected.count { $0.location?.hasPrefix(prefix) == true },
        "\(prefix)")
    }
    let sound = try #require(store.store as? LMDBStore).check()
    #expect(sound.isSound, "\(sound.problems)")
  }

  @Test(
    "rules 142, 143: deleted objects leave nothing in the indexes, whether their entries lie side by side or apart"
  )
  func deletions() throws {
    let kept = entries.enumerated().filter { $0.offset % 3 != 0 && $0.offset % 2 == 0 }.map(\.element)
    let gone = entries.enumerated().filter { $0.offset % 3 == 0 || $0.offset % 2 != 0 }.map(\.element)
    for entry in gone { context.delete(entry) }
    try context.save()
    #expect(gone.allSatisfy { $0.managedObjectContext == nil && !$0.isDeleted })
    #expect(gone[1].location == "spot 1")
    #expect(context.registeredObjects.count == kept.count)
    try check(kept)
  }

  @Test("rule 142: edited objects are found by their new values and no longer by their old ones")
  func updates() throws {
    for (number, entry) in entries.enumerated() {
      switch number % 5 {
      case 0: entry.location = "moved \(number)"
      case 1: entry.rating += 1
      // What is set to what it was is not written.
      case 2: entry.location = entry.location
      case 3: entry.notes = number % 1_000 == 8 ? String(repeating: "m", count: 4_000) : "short"
      default: entry.height = -entry.height
      }
    }
    #expect(context.updatedObjects.count == Self.count)
    try context.save()
    #expect(!context.hasChanges && entries.allSatisfy { !$0.hasChanges })
    #expect(entries[5].location == "moved 5" && entries[2].location == "spot 2")
    try check(entries)
    // And once more, over the rows that this save has written.
    for entry in entries { entry.location = "moved again" }
    try context.save()
    try check(entries)
  }

  @Test("rule 142: deletions, edits and insertions in one save")
  func everythingAtOnce() throws {
    for (number, entry) in entries.enumerated() where number % 2 == 0 { context.delete(entry) }
    for (number, entry) in entries.enumerated() where number % 2 == 1 { entry.location = "moved \(number)" }
    let new = (0..<3_000).map { Entry.make("spot new \($0)", in: context) }
    try context.save()
    try check(entries.enumerated().filter { $0.offset % 2 == 1 }.map(\.element) + new)
  }

  @Test(
    "rules 189, 191: a large save that meets another's edit is refused whole; with a policy it succeeds",
    arguments: [true, false])
  func conflicts(deletes: Bool) throws {
    let other = store.context()
    let rival = try #require(try other.existingObject(with: entries[4_321].objectID) as? Entry)
    rival.location = "rival"
    try other.save()
    for entry in entries {
      if deletes { context.delete(entry) } else { entry.location = "moved" }
    }
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectMerge)
    #expect((deletes ? context.deletedObjects : context.updatedObjects).count == Self.count)
    #expect(entries.allSatisfy { deletes ? $0.isDeleted : $0.location == "moved" })
    let reader = store.context()
    #expect(try reader.entryCount() == Self.count)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    try check(deletes ? [] : entries)
  }

  @Test(
    "contexts 13: large deletions, edits and insertions of several contexts at once, in transactions they may share"
  )
  func severalContextsAtOnce() async throws {
    let ids = entries.map(\.objectID)
    let (deleting, editing, inserting) = (
      store.context(.privateQueue), store.context(.privateQueue), store.context(.privateQueue)
    )
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try await deleting.perform {
          for id in ids[0..<3_000] { deleting.delete(try deleting.existingObject(with: id)) }
          try deleting.save()
        }
      }
      group.addTask {
        try await editing.perform {
          for id in ids[3_000...] { (try editing.existingObject(with: id) as? Entry)?.location = "moved" }
          try editing.save()
        }
      }
      group.addTask {
        try await inserting.perform {
          for number in 0..<5_000 { _ = Entry.make("new \(number)", in: inserting) }
          try inserting.save()
        }
      }
      try await group.waitForAll()
    }
    let reader = store.context()
    var request = FetchRequest<Entry>(entityName: "Entry")
    for (location, count) in [("moved", 6_000), ("run", 0), ("new", 5_000)] {
      request.predicate = Attribute("location").beginsWith(location)
      #expect(try reader.count(for: request) == count, "\(location)")
    }
    let sound = try #require(store.store as? LMDBStore).check()
    #expect(sound.isSound, "\(sound.problems)")
  }
}
