import Foundation
import Strata
import Testing

/// A child that is made late sees what its parent had finished before, whichever thread makes it, where and when (contexts 4 and 5).
@Suite(.serialized)
struct LateChildTests {
  let store: TemporaryStore
  let gate = StoreGate()

  init() throws {
    store = try TemporaryStore(behind: gate)
    try store.save("Bells", "Winki")
  }

  /// What finishes an edit.
  enum FlushPoint: CaseIterable, Sendable {
    case performBlock, performAndWait, processPendingChanges, fetch, failedSave
  }

  /// An update, a deletion and an insertion.
  private func edit(_ context: ManagedObjectContext) throws {
    try context.entry("Bells").rating = 5
    context.delete(try context.entry("Winki"))
    Entry.make("Gunna", in: context)
  }

  // MARK: What finishes an edit

  @Test(
    "each flush point of each kind of parent, for a child made anywhere",
    arguments: FlushPoint.allCases, [ConcurrencyType.privateQueue, .mainQueue, .confinement])
  func flushPoints(_ point: FlushPoint, _ kind: ConcurrencyType) async throws {
    for child in LateChild.allCases {
      let seen = try await Elsewhere.begin {
        let parent = store.context(kind)
        switch point {
        case .performBlock:
          try parent.performAndFinish { try edit(parent) }
          return try child.entries(above: parent)
        case .performAndWait:
          try parent.performAndWait { try edit(parent) }
          return try child.entries(above: parent)
        case .processPendingChanges:
          return try parent.performAndWait {
            try edit(parent)
            parent.processPendingChanges()
            return try Elsewhere.run { try child.entries(above: parent) }
          }
        case .fetch:
          return try parent.performAndWait {
            try edit(parent)
            _ = try parent.entries()
            return try Elsewhere.run { try child.entries(above: parent) }
          }
        case .failedSave:
          return try parent.performAndWait {
            try edit(parent)
            let wrong = Entry.make(nil, in: parent)
            #expect(throws: CoreDataError.self) { try parent.save() }
            wrong.location = "Zoo"
            parent.delete(wrong)
            parent.processPendingChanges()
            return try Elsewhere.run { try child.entries(above: parent) }
          }
        }
      }
      #expect(seen == ["Bells 5", "Gunna 3"], "\(child)")
    }
  }

  @Test("a failed save finishes what was edited before it")
  func failedSave() throws {
    let parent = store.context(.privateQueue)
    let seen = try parent.performAndWait {
      try edit(parent)
      Entry.make(nil, rating: 1, in: parent)
      #expect(throws: CoreDataError.self) { try parent.save() }
      return try LateChild.privateElsewhere.entries(above: parent)
    }
    #expect(seen == ["nil 1", "Bells 5", "Gunna 3"])
  }

  @Test("a save that the store refuses finishes what was edited before it")
  func refusedSave() throws {
    let parent = store.context(.privateQueue)
    let seen = try parent.performAndWait {
      try edit(parent)
      let other = store.context()
      try other.entry("Bells").rating = 1
      try other.save()
      #expect(throws: CoreDataError.self) { try parent.save() }
      return try LateChild.privateElsewhere.entries(above: parent)
    }
    #expect(seen == ["Bells 5", "Gunna 3"])
  }

  @Test(
    "a child that was there before sees what performAndWait has finished, too",
    arguments: [ConcurrencyType.privateQueue, .mainQueue])
  func earlyChild(_ kind: ConcurrencyType) async throws {
    try await Elsewhere.begin {
      let parent = store.context(kind)
      let child = ManagedObjectContext(.privateQueue, parent: parent)
      for rating: Int16 in 4...6 {
        // The object stays noted all the while: nothing is processed in between.
        try parent.performAndWait { try parent.entry("Bells").rating = rating }
        parent.performAndWait {
          for entry in parent.updatedObjects { (entry as? Entry)?.rating = rating + 10 }
        }
        let seen = try Elsewhere.run {
          try child.performAndWait {
            child.refreshAllObjects()
            return try child.entry("Bells").rating
          }
        }
        #expect(seen == rating + 10)
      }
    }
  }

  // MARK: While a block runs

  @Test(
    "while a block runs, the edits of the blocks before it are seen, and its own not before it ends",
    arguments: LateChild.allCases, [ConcurrencyType.privateQueue, .mainQueue])
  func whileABlockRuns(_ place: LateChild, _ kind: ConcurrencyType) async throws {
    try await Elsewhere.begin {
      let parent = store.context(kind)
      let (begun, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      try parent.performAndWait { try edit(parent) }
      parent.perform {
        for object in parent.updatedObjects { (object as? Entry)?.rating = 1 }
        for object in parent.insertedObjects { object.setValue(Int16(1), forKey: "rating") }
        Entry.make("Torquay", in: parent)
        begun.signal()
        go.wait()
      }
      begun.wait()
      let seen = Result { try place.entries(above: parent) }
      go.signal()
      #expect(try seen.get() == ["Bells 5", "Gunna 3"])
      parent.performAndWait {}
      #expect(try place.entries(above: parent) == ["Bells 1", "Gunna 1", "Torquay 3"])
    }
  }

  @Test("a confinement parent's edits are seen once they are processed, on any thread")
  func confinedParent() throws {
    let parent = store.context()
    try edit(parent)
    parent.processPendingChanges()
    try parent.entry("Bells").notes = "glassy"
    for object in parent.insertedObjects { object.setValue("Jan Juc", forKey: "location") }
    #expect(try LateChild.confinedElsewhere.entries(above: parent) == ["Bells 5", "Gunna 3"])
    parent.processPendingChanges()
    #expect(try LateChild.confinedElsewhere.entries(above: parent) == ["Bells 5", "Jan Juc 3"])
  }

  @Test("a new object that the running block deletes is seen until the block ends")
  func deletedAgain() throws {
    let parent = store.context()
    let new = Entry.make("Gunna", in: parent)
    parent.processPendingChanges()
    parent.delete(new)
    #expect(try LateChild.privateElsewhere.entries(above: parent) == ["Bells 3", "Gunna 3", "Winki 3"])
    #expect(!parent.hasChanges && parent.insertedObjects.isEmpty)
    parent.processPendingChanges()
    #expect(try LateChild.privateElsewhere.entries(above: parent) == ["Bells 3", "Winki 3"])
    try parent.save()
    #expect(try store.savedEntries() == ["Bells 3", "Winki 3"])
  }

  @Test("large values and those set beneath the accessors are seen as they were, transient ones are not")
  func valuesOfAllKinds() throws {
    let parent = store.context()
    let entry = try parent.entry("Bells")
    let large = Data(repeating: 7, count: 20_000)
    entry.photo = large
    entry.mood = "happy"
    entry.notes = "first"
    let new = Entry.make("Gunna", in: parent)
    new.photo = large
    parent.processPendingChanges()
    // Not finished.
    entry.photo = Data([1])
    entry.mood = "sad"
    entry.setPrimitiveValue("second", forKey: "notes")
    new.photo = nil
    let seen = try LateChild.privateElsewhere.read(above: parent) { child in
      let (bells, gunna) = (try child.entry("Bells"), try child.entry("Gunna"))
      #expect(bells.mood == nil && bells.notes == "first")
      return [bells.photo, gunna.photo]
    }
    #expect(seen == [large, large])
    parent.processPendingChanges()
    try LateChild.privateElsewhere.read(above: parent) { child in
      let bells = try child.entry("Bells")
      #expect(bells.photo == Data([1]) && bells.mood == nil && bells.notes == "second")
      #expect(try child.entry("Gunna").photo == nil)
    }
    try parent.save()
    #expect(try store.context().entry("Bells").photo == Data([1]))
  }

  // MARK: What is given up

  @Test("what was rolled back or reset is not seen", arguments: [false, true], [false, true])
  func givenUp(isReset: Bool, hasBegun: Bool) throws {
    let parent = store.context(.privateQueue)
    try parent.performAndWait {
      try edit(parent)
      parent.processPendingChanges()
      if hasBegun { try parent.entry("Bells").rating = 4 }
      if isReset { parent.reset() } else { parent.rollback() }
      #expect(try LateChild.privateElsewhere.entries(above: parent) == ["Bells 3", "Winki 3"])
      #expect(!parent.hasChanges)
    }
    #expect(try LateChild.privateHere.entries(above: parent) == ["Bells 3", "Winki 3"])
  }

  @Test("what was refreshed away is not seen")
  func refreshed() throws {
    let parent = store.context(.privateQueue)
    try parent.performAndWait {
      try edit(parent)
      parent.processPendingChanges()
      for object in parent.updatedObjects { parent.refresh(object, mergeChanges: false) }
      parent.processPendingChanges()
    }
    #expect(try LateChild.privateElsewhere.entries(above: parent) == ["Bells 3", "Gunna 3"])
  }

  @Test("what was undone is not seen, and seen again when it is done again", arguments: [false, true])
  func undone(inOneBlock: Bool) throws {
    let parent = store.context(.privateQueue)
    try parent.performAndWait {
      parent.undoManager = UndoManager()
      try edit(parent)
      parent.processPendingChanges()
      if inOneBlock { parent.undo() }
    }
    if !inOneBlock { parent.performAndWait { parent.undo() } }
    #expect(try LateChild.privateElsewhere.entries(above: parent) == ["Bells 3", "Winki 3"])
    parent.performAndWait { #expect(!parent.hasChanges) }
    parent.performAndWait { parent.redo() }
    #expect(try LateChild.privateElsewhere.entries(above: parent) == ["Bells 5", "Gunna 3"])
  }

  // MARK: Saves

  @Test("while a save off the queue is under way, what it writes and what is edited above it is seen")
  func saveInFlight() async throws {
    let parent = store.context(.privateQueue)
    try parent.performAndWait { try edit(parent) }
    gate.close()
    async let saving: Void = parent.saveAsynchronously()
    await gate.isReached()
    try await Elsewhere.begin {
      try parent.performAndWait { try parent.entry("Gunna").rating = 4 }
      #expect(try LateChild.privateElsewhere.entries(above: parent) == ["Bells 5", "Gunna 4"])
      try LateChild.privateElsewhere.read(above: parent) { child in
        try child.entry("Bells").notes = "glassy"
        try child.entry("Gunna").notes = "glassy"
        try child.save()
      }
    }
    gate.open()
    try await saving
    #expect(try LateChild.privateElsewhere.entries(above: parent) == ["Bells 5", "Gunna 4"])
    try await Elsewhere.begin { try parent.performAndWait { try parent.save() } }
    #expect(try store.savedEntries() == ["Bells 5", "Gunna 4"])
    #expect(try store.context().entries().map(\.notes) == ["glassy", "glassy"])
  }

  @Test("what was edited above a save off the queue is seen after it", arguments: [false, true])
  func editedInFlight(isRefused: Bool) async throws {
    let parent = store.context(.privateQueue)
    try parent.performAndWait { try edit(parent) }
    if isRefused {
      let other = store.context()
      try other.entry("Bells").rating = 1
      try other.save()
    }
    gate.close()
    async let saving: Void = parent.saveAsynchronously()
    await gate.isReached()
    try await Elsewhere.begin {
      try parent.performAndWait {
        try parent.entry("Gunna").rating = 4
        try parent.entry("Bells").notes = "glassy"
      }
    }
    gate.open()
    do {
      try await saving
      #expect(!isRefused)
    } catch {
      #expect(isRefused)
    }
    let seen = try LateChild.privateElsewhere.read(above: parent) { child in
      try child.entries().map { "\($0.location ?? "") \($0.rating) \($0.notes ?? "")" }
    }
    #expect(seen == ["Bells 5 glassy", "Gunna 4 "])
  }

  @Test(
    "a child made during a save sees what was finished before, and its changes go onto what the save writes")
  func duringASave() async throws {
    let parent = store.context(.privateQueue)
    try parent.performAndWait { try parent.entry("Bells").rating = 4 }
    gate.close()
    async let saving: Void = parent.perform {
      try parent.entry("Bells").rating = 5
      try parent.entry("Winki").rating = 5
      for entry in parent.updatedObjects { (entry as? Entry)?.height = 2 }
      try parent.save()
    }
    await gate.isReached()
    try await Elsewhere.begin {
      try LateChild.privateElsewhere.read(above: parent) { child in
        #expect(try child.entry("Bells").rating > 3)
        for entry in try child.entries() { entry.notes = "glassy" }
        try child.save()
      }
    }
    gate.open()
    try await saving
    #expect(try LateChild.privateElsewhere.entries(above: parent) == ["Bells 5", "Winki 5"])
    // No conflict with itself.
    try await parent.perform { try parent.save() }
    #expect(try store.savedEntries() == ["Bells 5", "Winki 5"])
    #expect(try store.context().entries().map(\.notes) == ["glassy", "glassy"])
    #expect(try store.context().entries().map(\.height) == [2, 2])
  }

  @Test("after a save there is nothing unsaved to see")
  func afterASave() throws {
    let parent = store.context(.privateQueue)
    try parent.performAndWait { try edit(parent) }
    try parent.performAndWait { try parent.save() }
    let other = store.context()
    try other.entry("Bells").rating = 1
    try other.save()
    #expect(try LateChild.privateElsewhere.entries(above: parent) == ["Bells 1", "Gunna 3"])
    let hasChanges = parent.performAndWait { parent.hasChanges }
    #expect(!hasChanges)
  }

  @Test("a late child's save takes precedence over its parent's edits, and both are saved")
  func lateChildSaves() throws {
    let parent = store.context(.privateQueue)
    try parent.performAndWait { try edit(parent) }
    try LateChild.privateElsewhere.read(above: parent) { child in
      try child.entry("Bells").notes = "glassy"
      child.delete(try child.entry("Gunna"))
      Entry.make("Torquay", in: child)
      try child.save()
    }
    try parent.performAndWait {
      #expect(try parent.entries().map(\.location) == ["Bells", "Torquay"])
      try parent.save()
    }
    #expect(try store.savedEntries() == ["Bells 5", "Torquay 3"])
  }
}
