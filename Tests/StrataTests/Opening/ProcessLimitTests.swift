import Foundation
import Strata
import Testing
import TortureKit

/// What the system limits for a process is an error, whichever thread finds out. Each runs in a process of its own, which ignores no signal.
@Suite struct ProcessLimitTests {
  private static func model() -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription("Note", properties: [AttributeDescription("title", .string)])
    ])
  }

  private static func fill(_ path: String) throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model())
    let store = try coordinator.addPersistentStore(
      PersistentStoreDescription(url: URL(fileURLWithPath: path)))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for number in 0..<2_000 {
        // The model has it.
        let note = ManagedObject(
          entity: coordinator.managedObjectModel.entitiesByName["Note"]!, insertInto: context)
        note.setValue("\(number) " + String(repeating: "x", count: 400), forKey: "title")
      }
      try context.save()
    }
    try coordinator.remove(store)
  }

  @Test(
    "a file at the size limit of the process is a full disk for copies and new stores, and leaves nothing",
    arguments: ["compacted", "plain", "replaced", "new", "tiny"])
  func fileSize(task: String) async throws {
    let folder = try ScratchFolder()
    let path = folder("Notes.strata")
    try Self.fill(path)
    await #expect(processExitsWith: .success) { [path = path as String, task = task as String] in
      let coordinator = PersistentStoreCoordinator(managedObjectModel: ProcessLimitTests.model())
      let store = try #require(
        try coordinator.addPersistentStore(PersistentStoreDescription(url: URL(fileURLWithPath: path)))
          as? LMDBStore)
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
      let before = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      let target = URL(fileURLWithPath: path + ".other")
      // Threads of Dispatch have the signal blocked from the start; a program's own do not.
      var (signals, pending, blocked) = (sigset_t(), sigset_t(), sigset_t())
      sigaddset(&signals, SIGXFSZ)
      pthread_sigmask(SIG_UNBLOCK, &signals, nil)
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      limit.rlim_cur = task == "tiny" ? 1_000 : task == "new" ? 20_000 : 300_000
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
      func carryOut() throws {
        switch task {
        case "compacted": try store.backup(to: target)
        case "plain": try store.backup(to: target, compacting: false)
        case "replaced":
          try coordinator.replacePersistentStore(
            at: target, withPersistentStoreFrom: URL(fileURLWithPath: path))
        default:
          let other = PersistentStoreCoordinator(managedObjectModel: ProcessLimitTests.model())
          try other.addPersistentStore(PersistentStoreDescription(url: target))
        }
      }
      let error = #expect(throws: StorageError.self) { try carryOut() }
      #expect(error?.kind == .diskFull, "\(String(describing: error))")
      // A new store is there, empty, when only its lock file has no room.
      let after = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      #expect(after.filter { !$0.contains(".other") } == before)
      #expect(task == "new" || after == before, "\(after)")
      // The signal is not kept back either: what the program itself writes raises it as ever.
      sigpending(&pending)
      pthread_sigmask(SIG_BLOCK, nil, &blocked)
      #expect(sigismember(&pending, SIGXFSZ) == 0 && sigismember(&blocked, SIGXFSZ) == 0)
    }
  }

  @Test("a store that is opened with hardly any descriptor left throws, or works", arguments: 0...14)
  func descriptors(spare: Int) async throws {
    let folder = try ScratchFolder()
    let path = folder("Notes.strata")
    await #expect(processExitsWith: .success) { [path = path as String, spare = spare as Int] in
      let coordinator = PersistentStoreCoordinator(managedObjectModel: ProcessLimitTests.model())
      let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
      OpenDescriptors.takeAll(but: spare)
      var failure: (any Error)?
      do {
        try coordinator.addPersistentStore(PersistentStoreDescription(url: URL(fileURLWithPath: path)))
      } catch { failure = error }
      if let failure {
        #expect((failure as? StorageError)?.kind == .outOfMemory, "\(failure)")
        #expect(spare < 12)
      } else {
        try context.performAndWait {
          // The model has it.
          let note = ManagedObject(
            entity: coordinator.managedObjectModel.entitiesByName["Note"]!, insertInto: context)
          note.setValue("kept", forKey: "title")
          try context.save()
        }
        // Whoever follows the store looks again after 2, 10, 50 milliseconds: the process lives on. `Task.sleep` would itself take a descriptor, for a timer of another clock.
        usleep(120_000)
        #expect(spare > 0)
      }
    }
  }
}
