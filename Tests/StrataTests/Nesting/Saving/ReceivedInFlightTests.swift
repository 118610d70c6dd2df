import Foundation
import Strata
import Testing
import TortureKit

/// What children had saved when a save without stopping began is under way with it, and is beneath everything that is done afterwards (contexts 15).
@MainActor @Suite(.serialized)
struct ReceivedInFlightTests {
  let store: TemporaryStore
  let main: ManagedObjectContext
  let child: ManagedObjectContext
  /// Holds up the store's commits while it is closed.
  let gate = StoreGate()

  init() throws {
    store = try TemporaryStore(behind: gate)
    main = store.context(.mainQueue)
    child = ManagedObjectContext(.mainQueue, parent: main)
  }

  /// Has `main` save, and runs `body` while the store keeps it waiting.
  private func whileSaving(
    _ body: @MainActor () throws -> Void, then after: @MainActor () throws -> Void = {}
  ) async throws {
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    try body()
    gate.open()
    try after()
    try await saving
  }

  enum Change: CaseIterable { case edit, deletion, refresh, refreshToFault, nothing }

  @Test(
    "what a child inserted or changed may be changed again meanwhile", arguments: [true, false],
    Change.allCases)
  func aRecordIsChanged(isNew: Bool, change: Change) async throws {
    if !isNew { try store.save("Bells") }
    if isNew { Entry.make("Bells", rating: 4, in: child) } else { try child.entry("Bells").rating = 4 }
    try child.save()
    let bells = try main.entry("Bells")
    try await whileSaving {
      #expect(!main.hasChanges && !bells.hasChanges && !bells.isInserted && bells.rating == 4)
      switch change {
      case .edit: bells.rating = 5
      case .deletion: main.delete(bells)
      case .refresh: main.refresh(bells, mergeChanges: true)
      case .refreshToFault:
        main.refresh(bells, mergeChanges: false)
        #expect(bells.rating == 4)
      case .nothing: break
      }
      main.processPendingChanges()
      #expect(main.hasChanges == [.edit, .deletion].contains(change))
      let seen = try child.entries().map(\.rating)
      #expect(seen == (change == .deletion ? [] : [change == .edit ? 5 : 4]))
    }
    #expect(try store.savedEntries() == ["Bells 4"])
    #expect(bells.isUpdated == (change == .edit) && !bells.isInserted && !bells.objectID.isTemporaryID)
    #expect(bells.isDeleted == (change == .deletion))
    try main.save()
    #expect(
      try store.savedEntries() == (change == .deletion ? [] : [change == .edit ? "Bells 5" : "Bells 4"]))
    #expect(try main.entries().map(\.rating) == (change == .deletion ? [] : [change == .edit ? 5 : 4]))
    guard change != .deletion else { return }
    bells.rating = 1
    try await main.saveAsynchronously()
    #expect(try store.savedEntries() == ["Bells 1"])
  }

  @Test(
    "the same for an object that is made of the record meanwhile", arguments: [true, false], Change.allCases)
  func anObjectIsMadeMeanwhile(isNew: Bool, change: Change) async throws {
    if !isNew { try store.save("Bells") }
    if isNew { Entry.make("Bells", rating: 4, in: child) } else { try child.entry("Bells").rating = 4 }
    try child.save()
    var made: Entry?
    try await whileSaving {
      let bells = try main.entry("Bells")
      made = bells
      #expect(!main.hasChanges && !bells.hasChanges && bells.rating == 4)
      switch change {
      case .edit: bells.rating = 5
      case .deletion: main.delete(bells)
      case .refresh: main.refresh(bells, mergeChanges: true)
      case .refreshToFault: main.refresh(bells, mergeChanges: false)
      case .nothing: break
      }
    }
    #expect(try store.savedEntries() == ["Bells 4"])
    try main.save()
    #expect(
      try store.savedEntries() == (change == .deletion ? [] : [change == .edit ? "Bells 5" : "Bells 4"]))
    #expect(made?.objectID.isTemporaryID == false && main.hasChanges == false)
  }

  @Test("a stack that has edited what a worker had inserted goes on saving")
  func aStackGoesOn() async throws {
    let writer = store.context(.privateQueue)
    let middle = ManagedObjectContext(.mainQueue, parent: writer)
    let worker = ManagedObjectContext(.mainQueue, parent: middle)
    Entry.make("Bells", in: worker)
    try worker.save()
    let bells = try middle.entry("Bells")
    async let saving: Void = middle.saveAsynchronously()
    await Task.yield()
    bells.rating = 5
    try await saving
    for rating: Int16 in [1, 2] {
      try await middle.saveAsynchronously()
      try await writer.saveAsynchronously()
      bells.rating = rating
    }
    try await middle.saveAsynchronously()
    try await writer.saveAsynchronously()
    #expect(try store.savedEntries() == ["Bells 2"])
  }

  @Test("rollback takes back nothing of it", arguments: [true, false])
  func rollback(isNew: Bool) async throws {
    if !isNew { try store.save("Bells") }
    if isNew { Entry.make("Bells", rating: 5, in: child) } else { try child.entry("Bells").rating = 5 }
    try child.save()
    let bells = try main.entry("Bells")
    try await whileSaving {
      bells.rating = 1
      main.rollback()
      #expect(bells.rating == 5 && bells.managedObjectContext === main)
    }
    #expect(bells.rating == 5 && !bells.hasChanges)
    bells.notes = "glassy"
    try main.save()
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("rollback of what a child changed above it goes back to it")
  func rollbackOfALaterSave() async throws {
    try store.save("Bells")
    let bells = try main.entry("Bells")
    try child.entry("Bells").rating = 5
    try child.save()
    try await whileSaving {
      try child.entry("Bells").rating = 1
      try child.save()
      #expect(bells.rating == 1 && bells.isUpdated)
      main.rollback()
      #expect(bells.rating == 5 && !main.hasChanges)
    }
    #expect(bells.rating == 5 && !bells.hasChanges)
    bells.notes = "glassy"
    try main.save()
    #expect(try store.savedEntries() == ["Bells 5"])
  }

  @Test("what a child deleted leaves the parent, however that saves", arguments: [false, true])
  func aDeletion(isAsynchronous: Bool) async throws {
    try store.save("Bells")
    let bells = try main.entry("Bells")
    child.delete(try child.entry("Bells"))
    try child.save()
    if isAsynchronous {
      try await whileSaving { #expect(bells.isDeleted && !main.hasChanges) }
    } else {
      try main.save()
    }
    #expect(bells.managedObjectContext == nil)
    #expect(throws: CoreDataError.self) { try main.existingObject(with: bells.objectID) }
    #expect(try store.savedEntries() == [] && main.entries().isEmpty)
  }

  @Test("a child may take back a deletion that is being saved", arguments: [false, true], [false, true])
  func aDeletionIsTakenBack(isRefused: Bool, isEdited: Bool) async throws {
    try store.save("Bells", "Winki")
    if isRefused { try makeConflict("Winki") }
    let bells = try main.entry("Bells")
    child.undoManager = UndoManager()
    child.delete(try child.entry("Bells"))
    try child.save()
    do {
      try await whileSaving {
        child.undo()
        try child.save()
        #expect(!bells.isDeleted && main.hasChanges)
        if isEdited { bells.height = 2 }
      }
      #expect(!isRefused)
    } catch { #expect(isRefused && error is CoreDataError) }
    #expect(!bells.isDeleted && bells.managedObjectContext === main && bells.rating == 3)
    if isRefused { try settleConflict("Winki") }
    try main.save()
    bells.rating = 1
    #expect(main.hasChanges)
    try main.save()
    #expect(try store.savedEntries() == ["Bells 1", isRefused ? "Winki 4" : "Winki 3"])
    #expect(try store.context().entry("Bells").height == (isEdited ? 2 : 0))
  }

  @Test("what is deleted has gone for hooks as well")
  func aHookLooksForWhatIsDeleted() async throws {
    let id = try store.save("Bells")[0]
    main.delete(try main.entry("Bells"))
    let diary = Diary(context: main)
    var found: ManagedObject?
    diary.onDidSave = { found = $0.managedObjectContext?.object(with: id) }
    try await main.saveAsynchronously()
    let object = try #require(found)
    #expect(!main.hasChanges && object.managedObjectContext === main)
    #expect(throws: CoreDataError.self) { try main.existingObject(with: id) }
  }

  @Test("a context that is pinned to a generation finds what it has saved, for hooks as well")
  func aPinnedContext() async throws {
    // The gate has no generations.
    let plain = try TemporaryStore()
    try plain.save("Bells")
    let pinned = plain.context(.mainQueue)
    try pinned.setQueryGenerationFrom(.current)
    #expect(try pinned.entryCount() == 1)
    let diary = Diary(context: pinned)
    Entry.make("Winki", in: pinned)
    var count: Int?
    diary.onDidSave = { count = try? $0.managedObjectContext?.entryCount() }
    try await pinned.saveAsynchronously()
    #expect(count == 2)
    #expect(try pinned.entryCount() == 2)
  }

  // MARK: A save that fails

  /// Another context changes a record that `main` has changed, so that the next save is refused.
  private func makeConflict(_ name: String) throws {
    let mine = try main.entry(name)
    mine.rating = 4
    main.processPendingChanges()
    let other = store.context()
    try other.entry(name).rating = 1
    try other.save()
  }

  private func settleConflict(_ name: String) throws {
    main.refresh(try main.entry(name), mergeChanges: true)
  }

  enum Later: CaseIterable { case nothing, edit, childsEdit, both, deletion, childsDeletion, rollback, late }

  @Test(
    "what could not be saved is pending again, beneath what was done since", arguments: [true, false],
    Later.allCases)
  func aFailedSave(isNew: Bool, later: Later) async throws {
    if isNew { try store.save("Winki") } else { try store.save("Bells", "Winki") }
    try makeConflict("Winki")
    var bells: Entry?
    if isNew {
      Entry.make("Bells", rating: 5, in: child)
    } else {
      let theirs = try child.entry("Bells")
      theirs.rating = 5
    }
    try child.save()
    if later != .late { bells = try main.entry("Bells") }
    await #expect(throws: CoreDataError.self) {
      try await whileSaving {
        switch later {
        case .nothing, .rollback: break
        case .edit: bells?.height = 2
        case .childsEdit:
          try child.entry("Bells").notes = "glassy"
          try child.save()
        case .both:
          try child.entry("Bells").notes = "glassy"
          try child.save()
          bells?.height = 2
        case .deletion: main.delete(try #require(bells))
        case .childsDeletion:
          child.delete(try child.entry("Bells"))
          try child.save()
        case .late:
          bells = try main.entry("Bells")
          bells?.height = 2
        }
      }
    }
    #expect(main.hasChanges)
    let object = try #require(bells)
    if later == .rollback {
      main.rollback()
      #expect(!main.hasChanges && (object.managedObjectContext == nil) == isNew)
      #expect(isNew || object.rating == 3)
      return
    }
    let isGone = [.deletion, .childsDeletion].contains(later)
    if isGone {
      #expect(isNew ? object.managedObjectContext == nil : object.isDeleted)
    } else {
      #expect(isNew ? object.isInserted : object.isUpdated)
      #expect(object.rating == 5 && object.objectID.isTemporaryID == isNew)
    }
    try settleConflict("Winki")
    try main.save()
    #expect(try store.savedEntries() == (isGone ? ["Winki 4"] : ["Bells 5", "Winki 4"]))
    if isGone { return }
    let saved = try store.context().entry("Bells")
    #expect(saved.height == ([.edit, .both, .late].contains(later) ? 2 : 0))
    #expect(saved.notes == ([.childsEdit, .both].contains(later) ? "glassy" : nil))
    #expect(!object.hasChanges && object.rating == 5)
  }

  @Test("what was forgotten while it was being saved is not pending again", arguments: [false, true])
  func aResetAndAFailure(isChilds: Bool) async throws {
    try store.save("Bells", "Winki")
    try makeConflict("Winki")
    if isChilds {
      try child.entry("Bells").rating = 5
      try child.save()
    } else {
      try main.entry("Bells").rating = 5
    }
    var bells: Entry?
    await #expect(throws: CoreDataError.self) {
      try await whileSaving {
        main.reset()
        bells = try main.entry("Bells")
        #expect(bells?.rating == 5)
      }
    }
    #expect(!main.hasChanges)
    main.refreshAllObjects()
    #expect(bells?.rating == 3)
    bells?.height = 2
    try main.save()
    #expect(try store.savedEntries() == ["Bells 3", "Winki 1"])
  }

  // MARK: Landing

  @Test(
    "a newer row that was merged before the objects have taken over what was saved stays",
    arguments: [(false, false), (true, false), (false, true)])
  func landingDoesNotFallBehindAMerge(isChilds: Bool, isEdited: Bool) async throws {
    try store.save("Bells")
    let bells = try main.entry("Bells")
    if isChilds {
      try child.entry("Bells").rating = 5
      try child.save()
    } else {
      bells.rating = 5
    }
    try await whileSaving {
      if isEdited { bells.height = 2 }
    } then: {
      // Written, and not landed: this holds the main queue.
      while try store.savedEntries() != ["Bells 5"] { usleep(1_000) }
      let other = store.context()
      let saved = Log<Notification>()
      let token = NotificationCenter.default.addObserver(
        forName: ManagedObjectContext.didSaveObjectsNotification, object: other, queue: nil
      ) { saved.add($0) }
      defer { NotificationCenter.default.removeObserver(token) }
      let theirs = try other.entry("Bells")
      theirs.notes = "theirs"
      theirs.rating = 1
      try other.save()
      main.mergeChanges(fromContextDidSave: try #require(saved.first))
    }
    #expect(bells.notes == "theirs" && bells.rating == 1)
    bells.height = 2
    try main.save()
    let found = try store.context().entry("Bells")
    #expect(found.notes == "theirs" && found.rating == 1 && found.height == 2)
  }

  @Test("a transient value that is set above a save to a parent stays", arguments: [false, true])
  func aTransientValue(hasChild: Bool) async throws {
    let writer = store.context(.privateQueue)
    let middle = ManagedObjectContext(.mainQueue, parent: writer)
    let child = hasChild ? ManagedObjectContext(.privateQueue, parent: middle) : nil
    let bells = Entry.make("Bells", in: middle)
    bells.mood = "calm"
    async let saving: Void = middle.saveAsynchronously()
    while middle.hasChanges { await Task.yield() }
    // Handed over, and not landed: this holds the main queue.
    while writer.performAndWait({ writer.insertedObjects.isEmpty }) { usleep(1_000) }
    bells.mood = "wild"
    middle.processPendingChanges()
    #expect(bells.mood == "wild")
    try await saving
    #expect(bells.mood == "wild")
    withExtendedLifetime(child) {}
  }

  @Test("objects that are refreshed between two slices of a landing are saved ones afterwards")
  func aRefreshBetweenSlices() async throws {
    let entries = (0..<6_000).map { Entry.make("\($0)", rating: 2, in: main) }
    async let saving: Void = main.saveAsynchronously()
    while main.hasChanges { await Task.yield() }
    while entries[0].objectID.isTemporaryID { await Task.yield() }
    // Perhaps some have landed and others have not.
    main.refreshAllObjects()
    #expect(entries[0].rating == 2)
    try await saving
    let unsaved = entries.filter { $0.isInserted || $0.hasChanges || $0.objectID.isTemporaryID }
    #expect(unsaved.isEmpty && !main.hasChanges)
    entries[0].rating = 5
    try main.save()
    #expect(try store.context().entry("0").rating == 5)
  }

  @Test("hooks that save while the objects take over what was saved end no other landing", arguments: [1, 3])
  func aHookSaves(count: Int) async throws {
    let recorder = NotificationRecorder(main)
    let diaries = (0..<count).map { number in
      let diary = Diary(context: main)
      diary.title = "\(number)"
      return diary
    }
    var isFirst = true
    diaries[0].onDidSave = { diary in
      guard isFirst else { return }
      isFirst = false
      diary.pages = 7
      do { try diary.managedObjectContext?.save() } catch { Issue.record(error) }
    }
    try await main.saveAsynchronously()
    #expect(!main.hasChanges && diaries.allSatisfy { !$0.hasChanges && !$0.objectID.isTemporaryID })
    #expect(diaries.map { $0.count(of: "didSave") } == [2] + diaries.dropFirst().map { _ in 1 })
    let saves = recorder.all(.didSave)
    #expect(saves.count == 2)
    #expect(Set(saves.flatMap(\.inserted)) == Set(diaries.map(\.objectID)))
    #expect(saves.flatMap(\.updated) == [diaries[0].objectID])
    let other = store.context()
    #expect(
      try other.fetch(FetchRequest<Diary>(entityName: "Diary")).map(\.pages).sorted() == diaries.dropFirst()
        .map { _ in 0 } + [7])
  }
}
