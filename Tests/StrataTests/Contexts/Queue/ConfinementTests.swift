import Foundation
import Strata
import Testing

/// A context and its objects are touched on the context's queue only (section A; contexts 1).
struct ConfinementTests {
  let store: TemporaryStore

  init() throws { store = try TemporaryStore() }

  // MARK: What is allowed

  @Test("rule 1: concurrency types have Core Data's raw values")
  func concurrencyTypesHaveCoreDatasRawValues() {
    #expect(ConcurrencyType.confinement.rawValue == 0)
    #expect(ConcurrencyType.privateQueue.rawValue == 1)
    #expect(ConcurrencyType.mainQueue.rawValue == 2)
    for type in [ConcurrencyType.confinement, .privateQueue, .mainQueue] {
      #expect(store.context(type).concurrencyType == type)
    }
  }

  @Test("rule 7: settings of a queue-based context may be set from any thread")
  func settingsMayBeSetFromAnyThread() {
    let context = store.context(.privateQueue)
    onAnotherThread {
      context.name = "importer"
      context.transactionAuthor = "Ann"
      context.mergePolicy = .overwrite
      context.automaticallyMergesChangesFromParent = true
    }
    #expect(context.name == "importer")
    #expect(context.transactionAuthor == "Ann")
    #expect(context.mergePolicy === MergePolicy.overwrite)
    #expect(context.automaticallyMergesChangesFromParent)
  }

  @Test("rule 8: a context's name is in its description")
  func nameStandsInDescription() {
    let context = store.context(.privateQueue)
    context.name = "importer"
    #expect(context.description.contains("importer"))
    #expect(context.description.contains("private queue"))
  }

  @Test("rule 10: a context on a coordinator knows it")
  func contextKnowsItsCoordinator() {
    #expect(store.context().persistentStoreCoordinator === store.coordinator)
    #expect(store.container.viewContext.persistentStoreCoordinator === store.coordinator)
  }

  @Test("rule 12: contexts share a coordinator, each has its own object for a record")
  func eachContextHasItsOwnObjectForARecord() throws {
    let (first, second) = (store.context(), store.context())
    let entry = Entry.make("Bells", in: first)
    try first.save()
    let other = try #require(second.object(with: entry.objectID) as? Entry)
    #expect(other !== entry)
    #expect(other.objectID == entry.objectID)
    #expect(entry.managedObjectContext === first)
    #expect(other.managedObjectContext === second)
  }

  @Test("rule 21: userInfo is a dictionary of the context's own")
  func userInfoBelongsToTheContext() {
    let context = store.context()
    #expect(context.userInfo.count == 0)
    context.userInfo["importer"] = 7
    #expect(context.userInfo["importer"] as? Int == 7)
    #expect(store.context().userInfo.count == 0)
  }

  @MainActor
  @Test(
    "contexts 1: viewContext is used directly on the main actor, also after an await and in main-queue jobs")
  func viewContextIsUsedDirectlyOnTheMainActor() async throws {
    let context = store.container.viewContext
    Entry.make("Bells", in: context)
    try context.save()
    await Task.yield()
    try await Task.sleep(for: .milliseconds(5))
    #expect(try context.entryCount() == 1)
    await withCheckedContinuation { continuation in
      DispatchQueue.main.async {
        #expect((try? context.entryCount()) == 1)
        continuation.resume()
      }
    }
    let entry = try context.entry("Bells")
    await nextMainQueueTurn()
    #expect(entry.location == "Bells")
  }

  @Test("contexts 1: a context that is entered further down the stack is still the thread's")
  func enteredContextsStayTheThreads() throws {
    let (outer, inner) = (store.context(.privateQueue), store.context(.privateQueue))
    try outer.performAndWait {
      let entry = Entry.make("Bells", in: outer)
      try outer.save()
      try inner.performAndWait { () throws in
        #expect(entry.location == "Bells")
        #expect(try outer.entryCount() == 1)
        #expect(try inner.entryCount() == 1)
      }
    }
  }

  @MainActor
  @Test("contexts 1: on the main actor, viewContext stays usable inside another context's performAndWait")
  func viewContextInsideAnotherContextsBlock() throws {
    let view = store.container.viewContext
    let background = store.container.newBackgroundContext()
    let entry = Entry.make("Bells", in: view)
    background.performAndWait {
      #expect(entry.location == "Bells")
      #expect(view.performAndWait { view.insertedObjects.count } == 1)
    }
  }

  @Test("contexts 1: a confinement context lives on the thread that made it")
  func confinementContextLivesOnItsThread() {
    let store = store
    onAnotherThread {
      let context = store.context(.confinement)
      let entry = Entry.make("Bells", in: context)
      #expect(throws: Never.self) { try context.save() }
      #expect(entry.location == "Bells")
    }
  }

  @Test("contexts 1: objects that belong to no context any more may be read anywhere")
  func detachedObjectsMayBeReadAnywhere() throws {
    let context = store.context(.privateQueue)
    let entry = context.performAndWait { Entry.make("Bells", in: context) }
    context.performAndWait { context.reset() }
    #expect(entry.location == "Bells")
    #expect(entry.managedObjectContext == nil)
  }

  // MARK: What stops the process (in debug builds always, in release builds where it is switched on)

  @Test(
    "contexts 1: touching a private context outside its queue traps with context, thread and remedy",
    .enabled(if: ManagedObjectContext.checksConfinement))
  func touchingAPrivateContextOutsideItsQueueTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = try makeDoomedContainer().newBackgroundContext()
      context.name = "importer"
      _ = context.hasChanges
    }
    expectTrap(
      result, says: "wrong queue", "importer", "private queue", "thread", "perform", "performAndWait")
  }

  @Test(
    "rule 9, contexts 1: reading an object outside its context's queue traps and names the entity",
    .enabled(if: ManagedObjectContext.checksConfinement))
  func readingAnObjectOutsideItsQueueTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = try makeDoomedContainer().newBackgroundContext()
      let entry = context.performAndWait { Entry.make("Bells", in: context) }
      _ = entry.rating
    }
    expectTrap(result, says: "wrong queue", "Entry", "objectID")
  }

  @Test(
    "contexts 1: writing to a saved object outside its context's queue traps",
    .enabled(if: ManagedObjectContext.checksConfinement))
  func writingToAnObjectOutsideItsQueueTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = try makeDoomedContainer().newBackgroundContext()
      let entry = try context.performAndWait {
        let entry = Entry.make("Bells", in: context)
        try context.save()
        return entry
      }
      entry.notes = "big"
    }
    expectTrap(result, says: "wrong queue", "Entry")
  }

  @Test(
    "contexts 1: reading a realised, saved object outside its queue traps (the fast path checks too)",
    .enabled(if: ManagedObjectContext.checksConfinement)
  )
  func readingARealisedObjectOutsideItsQueueTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = try makeDoomedContainer().newBackgroundContext()
      let entry = try context.performAndWait {
        let entry = Entry.make("Bells", in: context)
        try context.save()
        context.refresh(entry, mergeChanges: false)
        _ = entry.rating
        return entry
      }
      _ = entry.rating
    }
    expectTrap(result, says: "wrong queue", "Entry")
  }

  @Test(
    "contexts 1: key access outside the queue traps", .enabled(if: ManagedObjectContext.checksConfinement))
  func keyAccessOutsideTheQueueTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = try makeDoomedContainer().newBackgroundContext()
      let entry = context.performAndWait { Entry.make("Bells", in: context) }
      _ = entry.value(forKey: "location")
    }
    expectTrap(result, says: "wrong queue", "Entry")
  }

  @Test(
    "contexts 1: a main-queue context traps off the main queue",
    .enabled(if: ManagedObjectContext.checksConfinement))
  func mainQueueContextTrapsOffTheMainQueue() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = try makeDoomedContainer().viewContext
      onAnotherThread { _ = context.insertedObjects }
    }
    expectTrap(result, says: "wrong queue", "main queue", "@MainActor")
  }

  @Test(
    "contexts 1: a confinement context traps on another thread",
    .enabled(if: ManagedObjectContext.checksConfinement))
  func confinementContextTrapsOnAnotherThread() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer()
      let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
      onAnotherThread { _ = context.registeredObjects }
    }
    expectTrap(result, says: "wrong queue", "confinement", "thread that made the context")
  }

  @Test(
    "contexts 1: an object touched inside another context's block traps and says in which",
    .enabled(if: ManagedObjectContext.checksConfinement))
  func touchingAnObjectInsideAnotherContextsBlockTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeDoomedContainer()
      let (mine, other) = (container.newBackgroundContext(), container.newBackgroundContext())
      other.name = "other one"
      let entry = mine.performAndWait { Entry.make("Bells", in: mine) }
      other.performAndWait { entry.notes = "?" }
    }
    expectTrap(result, says: "wrong queue", "Entry", "inside a block of", "other one")
  }

  /// The context's entry points, each of which checks by itself.
  private static let entryPoints = [
    "fetch", "fetchIDs", "count", "object(with:)", "existingObject", "registeredObject", "registeredObjects",
    "insertedObjects", "updatedObjects", "deletedObjects", "init(context:)", "delete", "refresh",
    "refreshAllObjects", "reset", "rollback", "save", "processPendingChanges", "detectConflicts",
    "obtainPermanentIDs", "mergeChanges", "userInfo", "changedValues", "committedValues", "primitiveValue",
  ]

  @Test(
    "contexts 1: every entry point of a context checks", .enabled(if: ManagedObjectContext.checksConfinement),
    arguments: entryPoints)
  func everyEntryPointChecks(_ name: String) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [name] in
      let context = try makeDoomedContainer().newBackgroundContext()
      let entry = try context.performAndWait {
        let entry = Entry.make("Bells", in: context)
        try context.save()
        return entry
      }
      try touch(context, entry, by: name)
    }
    expectTrap(result, says: "wrong queue")
  }

  @Test("rule 12: inserting an object of another context traps")
  func insertingAForeignObjectTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let coordinator = try makeDoomedContainer().persistentStoreCoordinator
      let mine = ManagedObjectContext(.confinement, coordinator: coordinator)
      let other = ManagedObjectContext(.confinement, coordinator: coordinator)
      mine.insert(Entry.make("Bells", in: other))
    }
    expectTrap(result, says: "belongs to one context", "objectID")
  }

  @Test("rule 12: deleting an object of another context traps")
  func deletingAForeignObjectTraps() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let coordinator = try makeDoomedContainer().persistentStoreCoordinator
      let mine = ManagedObjectContext(.confinement, coordinator: coordinator)
      let other = ManagedObjectContext(.confinement, coordinator: coordinator)
      mine.delete(Entry.make("Bells", in: other))
    }
    expectTrap(result, says: "belongs to one context", "objectID")
  }
}

/// Uses one entry point; on the wrong queue, in the test above.
private func touch(_ context: ManagedObjectContext, _ entry: Entry, by name: String) throws {
  let id = entry.objectID
  switch name {
  case "fetch": _ = try context.fetch(FetchRequest<Entry>(entityName: "Entry"))
  case "fetchIDs": _ = try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Entry"))
  case "count": _ = try context.entryCount()
  case "object(with:)": _ = context.object(with: id)
  case "existingObject": _ = try context.existingObject(with: id)
  case "registeredObject": _ = context.registeredObject(for: id)
  case "registeredObjects": _ = context.registeredObjects
  case "insertedObjects": _ = context.insertedObjects
  case "updatedObjects": _ = context.updatedObjects
  case "deletedObjects": _ = context.deletedObjects
  case "init(context:)": _ = Entry(context: context)
  case "delete": context.delete(entry)
  case "refresh": context.refresh(entry, mergeChanges: true)
  case "refreshAllObjects": context.refreshAllObjects()
  case "reset": context.reset()
  case "rollback": context.rollback()
  case "save": try context.save()
  case "processPendingChanges": context.processPendingChanges()
  case "detectConflicts": context.detectConflicts(for: entry)
  case "obtainPermanentIDs": try context.obtainPermanentIDs(for: [])
  case "mergeChanges": context.mergeChanges(fromContextDidSave: Notification(name: .didSave))
  case "userInfo": context.userInfo["a"] = 1
  case "changedValues": _ = entry.changedValues()
  case "committedValues": _ = entry.committedValues(forKeys: nil)
  case "primitiveValue": _ = entry.primitiveValue(forKey: "location")
  default: Issue.record("no entry point \(name)")
  }
}
