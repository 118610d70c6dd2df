import Foundation
import Strata
import Testing
import TortureKit

/// Contexts that merge automatically show what another process commits (rules 172–181, 184).
struct LiveMergeTests {
  private let stand: LiveStand
  private let context: ManagedObjectContext

  init() throws {
    stand = try LiveStand()
    context = stand.context()
  }

  private func fetch(_ title: String) throws -> Note {
    let request = FetchRequest<Note>(entityName: "Note", predicate: Attribute("title") == title)
    return try #require(try context.fetch(request).first)
  }

  @Test("rule 172: an object shows what another process has saved, without being asked")
  func updates() async throws {
    try stand.make("a", "b")
    let keeper = Keeper()
    try await context.perform { keeper.objects = [try fetch("a"), try fetch("b")] }
    await context.perform { for note in keeper.notes { _ = note.title } }
    try stand.elsewhere("rename:a:A", "rename:b:B", "rename:B:BB")
    #expect(await eventually { await context.perform { keeper.notes.map(\.title) == ["A", "BB"] } })
    await context.perform { #expect(!context.hasChanges) }
  }

  @Test("rule 173: edits stay on top; the save finds no conflict about what was merged")
  func editsStay() async throws {
    try stand.make("a")
    let keeper = Keeper()
    try await context.perform {
      keeper.objects = [try fetch("a")]
      keeper.notes[0].count = 7
    }
    try stand.elsewhere("rename:a:A")
    #expect(await eventually { await context.perform { keeper.notes[0].title == "A" } })
    try await context.perform {
      #expect(keeper.notes[0].count == 7)
      try context.save()
    }
  }

  @Test("rules 174, 175: an object that another process has deleted becomes deleted and stays readable")
  func deletions() async throws {
    try stand.make("a")
    let keeper = Keeper()
    try await context.perform {
      keeper.objects = [try fetch("a")]
      _ = keeper.notes[0].title
    }
    try stand.elsewhere("delete:a")
    #expect(await eventually { await context.perform { keeper.notes[0].isDeleted } })
    try await context.perform { () throws in
      #expect(keeper.notes[0].title == "a")
      #expect(try context.count(for: FetchRequest<Note>(entityName: "Note")) == 0)
    }
  }

  @Test("rules 176, 179: did-change reports records that another process has inserted")
  func insertions() async throws {
    let heard = Heard(ManagedObjectContext.didChangeObjectsNotification, of: context) { note in
      (note.userInfo?["inserted"] as? Set<ManagedObject>)?.compactMap { ($0 as? Note)?.title }.first
    }
    try stand.elsewhere("insert:x", "insert:y", "insert:z")
    #expect(await eventually { heard.all.count == 3 })
    #expect(heard.all == ["x", "y", "z"], "in the order of the commits")
    await context.perform { #expect(context.insertedObjects.isEmpty) }
  }

  @Test("members of a relationship are those another process has put there")
  func relationships() async throws {
    try stand.make("a")
    let here = ManagedObjectContext(.confinement, coordinator: stand.coordinator)
    Folder(context: here).name = "box"
    try here.save()
    let keeper = Keeper()
    try await context.perform {
      keeper.objects = try context.fetch(FetchRequest<Folder>(entityName: "Folder"))
      #expect(keeper.folders[0].notes.isEmpty)
    }
    try stand.elsewhere("move:a:box")
    #expect(await eventually { await context.perform { keeper.folders[0].notes.map(\.title) == ["a"] } })
  }

  @Test("rule 266: another process's batch reaches objects here")
  func batches() async throws {
    try stand.make("a", "b")
    let keeper = Keeper()
    try await context.perform {
      keeper.objects = [try fetch("a"), try fetch("b")]
      for note in keeper.notes { _ = note.title }
    }
    try stand.elsewhere("update-all:5")
    #expect(await eventually { await context.perform { keeper.notes.map(\.count) == [5, 5] } })
  }

  @Test(
    "contexts 16: an observer may save while another process's batch is merged, and each row is reported once"
  )
  func observersSave() async throws {
    try stand.make("a", "b")
    let (keeper, saver) = (Keeper(), context)
    try await context.perform {
      keeper.objects = [try fetch("a"), try fetch("b")]
      for note in keeper.notes { _ = note.title }
    }
    let heard = Heard(ManagedObjectContext.didMergeChangesObjectIDsNotification, of: context) { note in
      #expect(throws: Never.self) { try saver.save() }
      return (note.userInfo?["updated_objectIDs"] as? Set<ManagedObjectID>)?.count
    }
    try stand.elsewhere("update-all:5")
    #expect(await eventually { await context.perform { keeper.notes.map(\.count) == [5, 5] } })
    await context.perform { #expect(heard.all.reduce(0, +) == 2) }
  }

  @Test("a context that does not merge automatically shows what it showed")
  func noMerging() async throws {
    try stand.make("a")
    let still = ManagedObjectContext(.privateQueue, coordinator: stand.coordinator)
    let (keeper, other) = (Keeper(), Keeper())
    try await still.perform {
      keeper.objects = try still.fetch(FetchRequest<Note>(entityName: "Note"))
      _ = keeper.notes[0].title
    }
    try await context.perform {
      other.objects = [try fetch("a")]
      _ = other.notes[0].title
    }
    try stand.elsewhere("rename:a:A")
    #expect(await eventually { await context.perform { other.notes[0].title == "A" } })
    await still.perform { #expect(keeper.notes[0].title == "a") }
  }

  @Test("own commits and others' come in the order in which they happened, each once")
  func order() async throws {
    let numbers = Heard(ManagedObjectContext.didChangeObjectsNotification, of: context) { note in
      (note.userInfo?["inserted"] as? Set<ManagedObject>)?.map(\.objectID).first
    }
    for round in 0..<20 {
      try stand.make("here \(round)")
      if round % 5 == 0 { try stand.elsewhere("insert:there \(round)") }
    }
    #expect(await eventually { numbers.all.count >= 24 })
    let newest = try await context.perform {
      try context.fetch(FetchRequest<Note>(entityName: "Note")).count
    }
    #expect(newest == 24)
    #expect(Set(numbers.all).count == 24 && numbers.all.count == 24, "each once")
  }

  @Test("a thousand commits in a row are all merged, the last value shows")
  func storm() async throws {
    try stand.make("storm")
    let keeper = Keeper()
    try await context.perform {
      keeper.objects = [try fetch("storm")]
      _ = keeper.notes[0].count
    }
    try stand.elsewhere("storm:1000")
    #expect(await eventually { await context.perform { keeper.notes[0].count == 1_000 } })
  }

  @Test(
    "more rows than the journal lists, or more commits than it keeps: what is in the context is compared")
  func muchChanged() async throws {
    try stand.make("a", "b", "storm")
    let keeper = Keeper()
    try await context.perform {
      keeper.objects = [try fetch("a"), try fetch("b")]
      for note in keeper.notes { _ = note.title }
    }
    try stand.elsewhere("rename:a:A", "delete:b", "many:50000", "storm:2500")
    #expect(
      await eventually { await context.perform { keeper.notes[0].title == "A" && keeper.notes[1].isDeleted } }
    )
  }

  @Test("a process that is killed after its save has saved")
  func death() async throws {
    let heard = Heard(ManagedObjectContext.didMergeChangesObjectIDsNotification, of: context) { note in
      (note.userInfo?["inserted_objectIDs"] as? Set<ManagedObjectID>)?.count
    }
    try stand.make("a")
    #expect(await eventually { heard.all == [1] })
    try stand.elsewhere("die:b", exitCode: 128 + 9)
    #expect(await eventually { heard.all == [1, 1] })
    try stand.elsewhere("insert:c")
    #expect(await eventually { heard.all == [1, 1, 1] })
  }

  @Test("two coordinators of this process on one file notice each other's commits")
  func twoCoordinators() async throws {
    try stand.make("a")
    let keeper = Keeper()
    try await context.perform {
      keeper.objects = [try fetch("a")]
      _ = keeper.notes[0].title
    }
    let other = try LiveModel.open(stand.url)
    let writer = ManagedObjectContext(.confinement, coordinator: other)
    try #require(try writer.fetch(FetchRequest<Note>(entityName: "Note")).first).title = "A"
    try writer.save()
    #expect(await eventually { await context.perform { keeper.notes[0].title == "A" } })
    for store in other.persistentStores { try other.remove(store) }
  }

  @Test("rules 184, 276: what a pinned generation shows stays")
  func pinned() async throws {
    try stand.make("a")
    let (keeper, free) = (Keeper(), stand.context())
    try await context.perform {
      keeper.objects = [try fetch("a")]
      try context.setQueryGenerationFrom(.current)
      _ = try context.fetch(FetchRequest<Note>(entityName: "Note"))
      _ = keeper.notes[0].title
    }
    let heard = Heard(ManagedObjectContext.didMergeChangesObjectIDsNotification, of: free) { _ in 1 }
    try stand.elsewhere("rename:a:A")
    #expect(await eventually { !heard.all.isEmpty })
    try await context.perform { () throws in
      #expect(keeper.notes[0].title == "a")
      #expect(try context.fetch(FetchRequest<Note>(entityName: "Note")).first?.title == "a")
    }
  }

  @Test("listeners end with the store; a destroyed file is left alone")
  func ends() async throws {
    let stand = try LiveStand()
    let context = stand.context()
    try stand.elsewhere("insert:a")
    for store in stand.coordinator.persistentStores { try stand.coordinator.remove(store) }
    let heard = Heard(ManagedObjectContext.didMergeChangesObjectIDsNotification, of: context) { _ in 1 }
    let before = heard.all.count
    let witness = try LiveWitness(stand.url)
    try stand.elsewhere("insert:b")
    try await witness.hasHeard()
    try stand.coordinator.destroyPersistentStore(at: stand.url)
    await context.perform {}
    #expect(heard.all.count == before)
  }
}

/// Holds objects for code that runs on their context's queue.
final class Keeper: @unchecked Sendable {
  // Safe: touched in `perform` of one context only.
  var objects: [ManagedObject] = []
  var notes: [Note] { objects.compactMap { $0 as? Note } }
  var folders: [Folder] { objects.compactMap { $0 as? Folder } }
}
