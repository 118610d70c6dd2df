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

  // MARK: Landing

  @Test("a newer row that was merged before the objects have taken over what was saved stays")
  func landingDoesNotFallBehindAMerge() async throws {
    try store.save("Bells")
    let bells = try main.entry("Bells")
    bells.rating = 5
    try await whileSaving {
    } then: {
      // Written, and not landed: this holds the main queue.
      while try store.savedEntries() != ["Bells 5"] { usleep(1_000) }
      let other = store.context()
      let saved = Log<Notification>()
      let token = NotificationCenter.default.addObserver(
        forName: ManagedObjectContext.didSaveObjectsNotification, object: other, queue: nil
      ) { saved.add($0) }
      defer { NotificationCenter.default.removeObserver(token) }
      try other.entry("Bells").notes = "theirs"
      try other.save()
      main.mergeChanges(fromContextDidSave: try #require(saved.first))
    }
    #expect(bells.notes == "theirs" && bells.rating == 5)
    bells.height = 2
    try main.save()
    #expect(try store.context().entry("Bells").notes == "theirs")
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

/// The same with relationships, and what is not in rows.
@Suite(.serialized)
struct RelatedInFlightTests {
  let gate = StoreGate()
  let store: TemporaryStore
  let context: ManagedObjectContext
  let child: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(behind: gate, TeamModel.make())
    let writer = store.context()
    let bob = writer.make(Employee.self, "bob")
    for name in ["sales", "ops", "hr"] { writer.make(Department.self, name) }
    bob.department = try writer.find(Department.self, "sales")
    writer.make(Project.self, "apollo")
    try writer.save()
    context = store.context(.privateQueue)
    child = ManagedObjectContext(.privateQueue, parent: context)
  }

  /// By department, whom a context has in it.
  private static func members(_ context: ManagedObjectContext) throws -> [String: [String]] {
    try context.performAndWait {
      var result: [String: [String]] = [:]
      for department in try context.fetch(FetchRequest<Department>(entityName: "Department")) {
        result[department.name ?? ""] = department.employees.names
      }
      return result
    }
  }

  @Test("an object of which only relationships are being saved is refreshed to what it is")
  func aRefreshWithoutADraft() async throws {
    let sales = try context.performAndWait {
      let sales = try context.find(Department.self, "sales")
      context.make(Employee.self, "new").department = sales
      return Smuggled(sales)
    }
    gate.close()
    async let saving: Void = context.saveAsynchronously()
    await gate.isReached()
    context.performAndWait {
      context.refresh(sales.value, mergeChanges: false)
      #expect(sales.value.name == "sales" && sales.value.employees.names == ["bob", "new"])
    }
    gate.open()
    try await saving
    try context.performAndWait {
      #expect(sales.value.name == "sales" && sales.value.employees.names == ["bob", "new"])
      sales.value.name = "sold"
      try context.save()
    }
    #expect(try store.fresh { try $0.find(Department.self, "sold").employees.names } == ["bob", "new"])
  }

  @Test(
    "a reference that is edited again above the save has one owner for children, and afterwards",
    arguments: [false, true], [false, true])
  func aReferenceIsEditedAgain(isRefused: Bool, isBack: Bool) async throws {
    if isRefused {
      try context.performAndWait { try context.find(Project.self, "apollo").name = "mine" }
      let writer = store.context()
      try writer.find(Project.self, "apollo").name = "theirs"
      try writer.save()
    }
    try context.performAndWait {
      try context.find(Employee.self, "bob").department = try context.find(Department.self, "ops")
    }
    gate.close()
    async let saving: Void = context.saveAsynchronously()
    await gate.isReached()
    try context.performAndWait {
      try context.find(Employee.self, "bob").department = try context.find(
        Department.self, isBack ? "sales" : "hr")
    }
    let expected = ["sales": isBack ? ["bob"] : [], "ops": [], "hr": isBack ? [] : ["bob"]]
    #expect(try Self.members(context) == expected)
    #expect(try Self.members(child) == expected)
    gate.open()
    do {
      try await saving
      #expect(!isRefused)
    } catch { #expect(isRefused && error is CoreDataError) }
    #expect(try Self.members(context) == expected)
    #expect(try Self.members(child) == expected)
    let late = ManagedObjectContext(.privateQueue, parent: context)
    #expect(try Self.members(late) == expected)
    try context.performAndWait {
      if isRefused { context.refresh(try context.find(Project.self, "mine"), mergeChanges: true) }
      try context.save()
    }
    #expect(try Self.members(store.context()) == expected)
  }

  @Test(
    "what a child related is related once, when the save that has it fails and when it does not",
    arguments: [false, true], [false, true])
  func aChildsRelations(isRefused: Bool, isEdited: Bool) async throws {
    if isRefused {
      try context.performAndWait { try context.find(Project.self, "apollo").name = "mine" }
      let writer = store.context()
      try writer.find(Project.self, "apollo").name = "theirs"
      try writer.save()
    }
    try child.performAndWait {
      let bob = try child.find(Employee.self, "bob")
      bob.department = try child.find(Department.self, "ops")
      bob.friends.insert(child.make(Employee.self, "new"))
      child.make(Employee.self, "third").department = try child.find(Department.self, "ops")
      try child.save()
    }
    let objects = try context.performAndWait {
      Smuggled(try ["bob", "new", "third"].map { try context.find(Employee.self, $0) })
    }
    gate.close()
    async let saving: Void = context.saveAsynchronously()
    await gate.isReached()
    try context.performAndWait {
      guard isEdited else { return }
      objects.value[0].level = 7
      objects.value[2].department = try context.find(Department.self, "hr")
      objects.value[1].friends.insert(objects.value[2])
    }
    let expected = [
      "sales": [], "ops": isEdited ? ["bob"] : ["bob", "third"], "hr": isEdited ? ["third"] : [],
    ]
    let friends = isEdited ? ["bob", "third"] : ["bob"]
    func expectAll(_ context: ManagedObjectContext, _ comment: Comment) throws {
      #expect(try Self.members(context) == expected, comment)
      try context.performAndWait {
        let (new, bob) = (try context.find(Employee.self, "new"), try context.find(Employee.self, "bob"))
        #expect(new.friends.names == friends, comment)
        #expect(bob.friends.names == ["new"] && bob.level == (isEdited ? 7 : 0), comment)
      }
    }
    try expectAll(context, "in flight")
    try expectAll(child, "in flight, for children")
    gate.open()
    do {
      try await saving
      #expect(!isRefused)
    } catch { #expect(isRefused && error is CoreDataError) }
    try expectAll(context, "afterwards")
    try expectAll(child, "afterwards, for children")
    try context.performAndWait {
      if isRefused { context.refresh(try context.find(Project.self, "mine"), mergeChanges: true) }
      try context.save()
      #expect(!context.hasChanges)
    }
    try expectAll(store.context(), "saved")
  }
}

/// Two stores, one of which takes its part of a save while the other refuses.
struct PartlySavedInFlightTests {
  let folder: ScratchFolder
  let coordinator: PersistentStoreCoordinator
  let writer: ManagedObjectContext
  let main: ManagedObjectContext
  let ids: [ManagedObjectID]
  let gate = StoreGate()

  init() async throws {
    let folder = try ScratchFolder()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: LawModel.make(isIndexed: false))
    let stores = try ["first", "second"].map {
      try coordinator.addPersistentStore(PersistentStoreDescription(url: folder.url($0 + ".strata")))
    }
    let writer = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    ids = try await writer.perform {
      let groups = try stores.map { store in
        // The model has the entity.
        let group = ManagedObject(
          entity: coordinator.managedObjectModel.entitiesByName["Group"]!, insertInto: writer)
        try writer.assign(group, to: store)
        group.setValue("a", forKey: "name")
        return group
      }
      try writer.save()
      return groups.map(\.objectID)
    }
    main = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    (self.folder, self.coordinator, self.writer) = (folder, coordinator, writer)
  }

  private func setRank(_ rank: Int, of place: Int, in context: ManagedObjectContext) async {
    let id = ids[place]
    await context.perform { context.object(with: id).setValue(rank, forKey: "rank") }
  }

  /// The record of the second store is changed by another context.
  private func makeConflict() async throws {
    await setRank(1, of: 1, in: main)
    let (writer, id) = (writer, ids[1])
    try await writer.perform {
      writer.object(with: id).setValue("again", forKey: "name")
      try writer.save()
    }
  }

  private func ranks() async throws -> [String?] {
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let ids = ids
    return try await context.perform {
      try ids.map { try context.existingObject(with: $0).value(forKey: "rank").map { "\($0)" } }
    }
  }

  @Test("did-save tells of what all attempts have written", arguments: [false, true])
  func allOfItIsTold(isAsynchronous: Bool) async throws {
    let main = main
    main.mergePolicy = .mergeByPropertyObjectTrump
    await setRank(1, of: 0, in: main)
    try await makeConflict()
    let told = Log<Set<ManagedObjectID>>()
    let token = NotificationCenter.default.addObserver(
      forName: ManagedObjectContext.didSaveObjectIDsNotification, object: main, queue: nil
    ) {
      told.add(
        $0.userInfo?[ManagedObjectContext.NotificationKey.updatedObjectIDs.rawValue] as? Set<ManagedObjectID>
          ?? [])
    }
    defer { NotificationCenter.default.removeObserver(token) }
    if isAsynchronous {
      try await main.saveAsynchronously()
    } else {
      try await main.perform { try main.save() }
    }
    #expect(told.list == [Set(ids)])
    #expect(try await ranks() == ["1", "1"])
  }

  @Test(
    "what a child saved above the part that was written stays, when the other part fails",
    arguments: [false, true])
  func aLaterSaveStays(isOwn: Bool) async throws {
    let (main, ids) = (main, ids)
    let child = ManagedObjectContext(.privateQueue, parent: main)
    if isOwn {
      await setRank(1, of: 0, in: main)
    } else {
      try await child.perform {
        child.object(with: ids[0]).setValue(1, forKey: "rank")
        try child.save()
      }
    }
    let held = await main.perform { Smuggled(main.object(with: ids[0])) }
    try await makeConflict()
    async let saving: Void = main.saveAsynchronously()
    // In flight or before: both end in the same.
    try await child.perform {
      child.object(with: ids[0]).setValue(2, forKey: "rank")
      try child.save()
    }
    do {
      try await saving
      Issue.record("the second store took it")
    } catch { #expect(error is CoreDataError) }
    try await main.perform {
      #expect(held.value.value(forKey: "rank").map { "\($0)" } == "2")
      main.refresh(main.object(with: ids[1]), mergeChanges: true)
      try main.save()
      #expect(!main.hasChanges)
    }
    #expect(try await ranks() == ["2", "1"])
  }
}
