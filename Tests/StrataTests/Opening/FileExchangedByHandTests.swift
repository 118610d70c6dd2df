import Foundation
import Strata
import Testing
import TortureKit

/// A backup is put in the place of a store, or the store is removed, by hand, while a program has it open. The lock file beside it is that program's.
@Suite struct FileExchangedByHandTests {
  private static func model() -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription("Note", properties: [AttributeDescription("title", .string)])
    ])
  }

  private static func open(_ path: String) throws -> (PersistentStoreCoordinator, LMDBStore) {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model())
    let store = try coordinator.addPersistentStore(
      PersistentStoreDescription(url: URL(fileURLWithPath: path)))
    return (coordinator, try #require(store as? LMDBStore))
  }

  /// One save for each.
  private static func add(_ titles: [String], to coordinator: PersistentStoreCoordinator) throws {
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    let entity = try #require(coordinator.managedObjectModel.entitiesByName["Note"])
    try context.performAndWait {
      for title in titles {
        ManagedObject(entity: entity, insertInto: context).setValue(title, forKey: "title")
        try context.save()
      }
    }
  }

  private static func titles(_ coordinator: PersistentStoreCoordinator) throws -> Set<String> {
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    return try context.performAndWait {
      let request = FetchRequest<ManagedObject>(entityName: "Note")
      let titles = try context.fetch(request).compactMap { $0.value(forKey: "title") as? String }
      #expect(try context.count(for: request) == titles.count)
      return Set(titles)
    }
  }

  /// Another program opens the store, finds these notes, and adds one.
  private func expectElsewhere(_ path: String, _ titles: Set<String>, adds title: String) async {
    let words = titles.sorted()
    await #expect(processExitsWith: .success) {
      [path = path as String, words = words as [String], title = title as String] in
      let (coordinator, store) = try FileExchangedByHandTests.open(path)
      #expect(try FileExchangedByHandTests.titles(coordinator) == Set(words))
      try FileExchangedByHandTests.add([title], to: coordinator)
      #expect(try FileExchangedByHandTests.titles(coordinator) == Set(words + [title]))
      #expect(try store.check().isSound)
      try coordinator.remove(store)
    }
  }

  @Test(
    "nothing of a backup is lost that takes the place of a store in use, and the old program saves nothing",
    arguments: [true, false], 0...3)
  func restored(compacting: Bool, later saves: Int) async throws {
    let folder = try ScratchFolder()
    let path = folder("Notes.strata")
    let old = (0..<12).map { "old \($0)" }
    let later = (0..<saves).map { "later \($0)" }
    let (running, store) = try Self.open(path)
    try Self.add(old, to: running)
    try store.backup(to: URL(fileURLWithPath: path + ".backup"), compacting: compacting)
    try Self.add(later, to: running)
    try #require(rename(path + ".backup", path) == 0)
    await expectElsewhere(path, Set(old), adds: "new")
    // It goes on to read what it has open.
    #expect(try Self.titles(running) == Set(old + later))
    let error = #expect(throws: StorageError.self) { try Self.add(["lost"], to: running) }
    #expect(error?.kind == .replaced)
    // Opened again, with the old one or without it, the store is the one that has the name.
    let (again, new) = try Self.open(path)
    #expect(try Self.titles(again) == Set(old + ["new"]))
    try Self.add(["again"], to: again)
    try running.remove(store)
    #expect(try Self.titles(again) == Set(old + ["new", "again"]))
    await expectElsewhere(path, Set(old + ["new", "again"]), adds: "last")
    #expect(try Self.titles(again) == Set(old + ["new", "again", "last"]))
    #expect(try new.check().isSound)
    try again.remove(new)
  }

  @Test("a store that is made where one was removed in use is new, and stays so", arguments: 0...2)
  func removed(saves: Int) async throws {
    let folder = try ScratchFolder()
    let path = folder("Notes.strata")
    let old = (0..<saves).map { "old \($0)" }
    let (running, store) = try Self.open(path)
    try Self.add(old, to: running)
    try #require(unlink(path) == 0)
    await expectElsewhere(path, [], adds: "new")
    #expect(try Self.titles(running) == Set(old))
    let error = #expect(throws: StorageError.self) { try Self.add(["lost"], to: running) }
    #expect(error?.kind == .replaced)
    try running.remove(store)
    await expectElsewhere(path, ["new"], adds: "last")
  }
}
