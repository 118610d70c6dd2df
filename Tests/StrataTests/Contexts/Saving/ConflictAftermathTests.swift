import Foundation
import Strata
import Testing

/// Inserts a diary for each conflict of rows, then settles it.
private final class DiaryPolicy: MergePolicy, @unchecked Sendable {
  // Safe: used by one test on one thread.
  var diaries: [Diary] = []
  var prepare: (Diary) -> Void = { _ in }

  override func resolve(mergeConflicts list: [Any]) throws {
    for case let conflict as MergeConflict in list {
      guard let context = conflict.sourceObject.managedObjectContext else { continue }
      let diary = Diary(context: context)
      prepare(diary)
      diaries.append(diary)
    }
    try super.resolve(mergeConflicts: list)
  }
}

@Suite("What a merge policy inserts")
struct PolicyInsertionTests {
  let store: TemporaryStore
  let mine: ManagedObjectContext
  private let policy = DiaryPolicy(merge: .mergeByPropertyObjectTrump)

  init() throws {
    store = try TemporaryStore()
    mine = store.context()
    try store.save("Bells")
    try mine.entry("Bells").notes = "mine"
    mine.processPendingChanges()
    let theirs = store.context()
    try theirs.entry("Bells").notes = "theirs"
    try theirs.save()
    mine.mergePolicy = policy
  }

  @Test("What a policy inserts to settle a conflict of rows gets its hooks and is validated, once each")
  func hooks() throws {
    try mine.save()
    let diary = try #require(policy.diaries.first)
    #expect(policy.diaries.count == 1 && !mine.hasChanges)
    for hook in ["willSave", "validateForInsert", "didSave"] { #expect(diary.count(of: hook) == 1) }
    #expect(try store.context().diary() != nil)
    #expect(try store.context().entry("Bells").notes == "mine")
  }

  @Test("Where it is not valid, the save fails and writes nothing")
  func invalid() throws {
    struct Refused: Error {}
    policy.prepare = { $0.onValidate = { _ in throw Refused() } }
    #expect(throws: Refused.self) { try mine.save() }
    #expect(try store.context().diary() == nil)
    #expect(try store.context().entry("Bells").notes == "theirs")
  }
}

@MainActor @Suite("Locks of asynchronous saves")
struct AsynchronousLockTests {
  let store: TemporaryStore
  let main: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    main = store.context(.mainQueue)
  }

  private func changeElsewhere() throws {
    let context = store.context()
    try context.entry("Bells").notes = "theirs"
    try context.save()
  }

  @Test("rule 189: a save that fails leaves the locks of detectConflicts(for:) for the next one")
  func lockAfterAFailure() async throws {
    try store.save("Bells")
    let entry = try main.entry("Bells")
    main.detectConflicts(for: entry)
    Entry.make("Winki", in: main)
    try changeElsewhere()
    for _ in 0..<2 {
      let error = await #expect(throws: CoreDataError.self) { try await main.saveAsynchronously() }
      #expect(error?.code == .managedObjectMerge)
    }
    #expect(try store.savedEntries() == ["Bells 3"])
    main.refresh(entry, mergeChanges: true)
    try await main.saveAsynchronously()
    #expect(try store.savedEntries() == ["Bells 3", "Winki 3"])
    // The lock ends with the save.
    try changeElsewhere()
    Entry.make("Gunna", in: main)
    try await main.saveAsynchronously()
    #expect(try store.savedEntries().count == 3)
  }
}
