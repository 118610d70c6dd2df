import Foundation
import Strata
import Testing
import TortureKit

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

  @Test("did-save tells of what all attempts have written", arguments: [false, true], [false, true])
  func allOfItIsTold(isAsynchronous: Bool, isChilds: Bool) async throws {
    let (main, ids) = (main, ids)
    main.mergePolicy = .mergeByPropertyObjectTrump
    let child = ManagedObjectContext(.privateQueue, parent: main)
    if isChilds {
      try await child.perform {
        child.object(with: ids[0]).setValue(1, forKey: "rank")
        try child.save()
      }
    } else {
      await setRank(1, of: 0, in: main)
    }
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

  /// Why the save failed; nil when it did not.
  private func failure(isAsynchronous: Bool) async -> CoreDataError? {
    let main = main
    do {
      if isAsynchronous {
        try await main.saveAsynchronously()
      } else {
        try await main.perform { try main.save() }
      }
      return nil
    } catch { return error as? CoreDataError }
  }

  @Test("children are told what was written of a save that failed", arguments: [false, true])
  func childrenAreTold(isAsynchronous: Bool) async throws {
    let ids = ids
    let child = ManagedObjectContext(.privateQueue, parent: main)
    child.automaticallyMergesChangesFromParent = true
    let held = await child.perform {
      let object = child.object(with: ids[0])
      _ = object.value(forKey: "name")
      return Smuggled(object)
    }
    await setRank(1, of: 0, in: main)
    try await makeConflict()
    #expect(await failure(isAsynchronous: isAsynchronous)?.code == .persistentStoreIncompleteSave)
    let rank = await child.perform { held.value.value(forKey: "rank").map { "\($0)" } }
    #expect(rank == "1")
  }

  @Test("a pinned context moves on to what was written of a save that failed", arguments: [false, true])
  func pinnedContextMovesOn(isAsynchronous: Bool) async throws {
    let (main, ids) = (main, ids)
    try await main.perform {
      try main.setQueryGenerationFrom(.current)
      _ = main.object(with: ids[0]).value(forKey: "name")
    }
    await setRank(1, of: 0, in: main)
    try await makeConflict()
    #expect(await failure(isAsynchronous: isAsynchronous)?.code == .persistentStoreIncompleteSave)
    let rank = await main.perform {
      let object = main.object(with: ids[0])
      main.refresh(object, mergeChanges: false)
      return object.value(forKey: "rank").map { "\($0)" }
    }
    #expect(rank == "1")
  }

  @Test(
    "the error says that a part was written, also when an earlier attempt wrote it", arguments: [false, true])
  func laterAttemptFails(isAsynchronous: Bool) async throws {
    let (main, writer, ids) = (main, writer, ids)
    await setRank(1, of: 0, in: main)
    try await makeConflict()
    let policy = OncePolicy(merge: .mergeByPropertyObjectTrump)
    policy.afterwards = {
      writer.performAndWait {
        writer.object(with: ids[1]).setValue("once more", forKey: "name")
        try? writer.save()
      }
    }
    main.mergePolicy = policy
    #expect(await failure(isAsynchronous: isAsynchronous)?.code == .persistentStoreIncompleteSave)
    #expect(policy.counts == [1, 1])
    #expect(try await ranks() == ["1", nil])
  }

  @Test("an edited object that is locked as well is in conflict once", arguments: [false, true])
  func lockedAndEdited(isAsynchronous: Bool) async throws {
    let (main, ids) = (main, ids)
    try await makeConflict()
    await main.perform { main.detectConflicts(for: main.object(with: ids[1])) }
    let policy = OncePolicy(merge: .mergeByPropertyObjectTrump)
    main.mergePolicy = policy
    #expect(await failure(isAsynchronous: isAsynchronous) == nil)
    #expect(policy.counts == [1])
    #expect(try await ranks() == [nil, "1"])
  }
}

/// Settles the conflicts of one attempt, and refuses those of the next. Unchecked: used on one queue at a time.
private final class OncePolicy: MergePolicy, @unchecked Sendable {
  var counts: [Int] = []
  var afterwards: () -> Void = {}
  struct Refused: Error {}

  override func resolve(mergeConflicts list: [Any]) throws {
    counts.append(list.count)
    if counts.count > 1 { throw Refused() }
    try super.resolve(mergeConflicts: list)
    afterwards()
  }
}
