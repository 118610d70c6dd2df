import Foundation
@_spi(Testing) import StrataCore
import Strata
import Testing
import TortureKit

#if os(Linux)
  /// A store that needs nothing written is opened, read and closed while others write. The writer is another process that stands still in
  /// the middle of a commit: what waits for it does not return before the test has ended it.
  @Suite struct OpeningBesideAWriterTests {
    private func description(_ url: URL, _ timeout: Duration = .milliseconds(500))
      -> PersistentStoreDescription
    {
      var description = PersistentStoreDescription(url: url)
      description.timeout = timeout
      return description
    }

    private func notes(_ coordinator: PersistentStoreCoordinator) throws -> Int {
      let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
      return try context.performAndWait { try context.count(for: FetchRequest<Fact>(entityName: "Fact")) }
    }

    @Test func aStoreThatFitsIsOpenedReadAndClosed() async throws {
      let writer = try await StoppedWriter()
      for isReadOnly in [false, true, false] {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: Crowd.model)
        var description = description(writer.url)
        description.isReadOnly = isReadOnly
        let store = try coordinator.addPersistentStore(description)
        #expect(try notes(coordinator) >= 2 * Crowd.subjects)
        try coordinator.remove(store)
      }
      let metadata = try LMDBStore.metadata(at: writer.url)
      #expect(metadata.versionHashes.count == 1)
      #expect(try LMDBStore.model(at: writer.url).entities.count == 1)
    }

    /// A save that had to give up leaves a thread behind that still waits; the store is closed and opened all the same.
    @Test func afterASaveThatGaveUpTheStoreIsClosedAndOpenedAgain() async throws {
      let writer = try await StoppedWriter()
      for _ in 0..<3 {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: Crowd.model)
        let store = try coordinator.addPersistentStore(description(writer.url, .milliseconds(200)))
        let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
        let error = #expect(throws: StorageError.self) {
          try context.performAndWait {
            let fact = Fact(context: context)
            (fact.kind, fact.owner, fact.number) = (.note, 77, 1)
            try context.save()
          }
        }
        #expect(error?.kind == .busy)
        #expect(try notes(coordinator) >= 2 * Crowd.subjects)
        try coordinator.remove(store)
      }
      // The waiting process continues as if nothing had happened.
      writer.kill()
      let coordinator = PersistentStoreCoordinator(managedObjectModel: Crowd.model)
      let store = try coordinator.addPersistentStore(description(writer.url, .seconds(60)))
      let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
      try context.performAndWait {
        let fact = Fact(context: context)
        (fact.kind, fact.owner, fact.number) = (.note, 77, 1)
        try context.save()
      }
      try coordinator.remove(store)
    }

    @Test(arguments: ["info", "check", "backup", "backup --plain"])
    func theProgramStrataWaitsForNobody(task: String) async throws {
      let writer = try await StoppedWriter()
      let words = task.split(separator: " ").map(String.init)
      let copy = writer.url.path + ".copy"
      let result = try await command(
        words + [writer.url.path] + (words[0] == "backup" ? [copy] : []))
      #expect(result.exitCode == 0, "\(result.errors)")
      if words[0] == "backup" {
        let check = try await command(["check", copy])
        #expect(check.output.contains("Sound"), "\(check)")
      }
    }

    private func command(_ arguments: [String]) async throws -> Command {
      try await withCheckedThrowingContinuation { continuation in
        Thread {
          continuation.resume(with: Result { try Command.run(ChildProcess.program("strata"), arguments) })
        }.start()
      }
    }

    /// What has to be written waits for as long as `timeout` says, once, and then fails as busy.
    @Test(arguments: ["another model", "a history"])
    func whatMustBeWrittenFailsAsBusyOnce(what: String) async throws {
      let writer = try await StoppedWriter()
      let before = try LMDBStore.metadata(at: writer.url)
      var model = Crowd.model
      var description = description(writer.url)
      if what == "another model" {
        let fact = EntityDescription(
          "Fact",
          properties: [
            AttributeDescription("kind", .integer16, isOptional: false),
            AttributeDescription("owner", .integer32, isOptional: false),
            AttributeDescription("number", .integer64, isOptional: false, defaultValue: 0),
            AttributeDescription("text", .string), AttributeDescription("more", .string),
          ], uniquenessConstraints: [["kind", "owner", "number"]],
          indexes: [FetchIndexDescription(name: "byText", attributes: ["text"])])
        model = ManagedObjectModel(entities: [fact])
      } else {
        description.recordsHistory = true
      }
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      let error = #expect(throws: StorageError.self) { try coordinator.addPersistentStore(description) }
      #expect(error?.kind == .busy, "\(error.map { "\($0)" } ?? "nothing")")
      #expect(error?.detail.contains("Another program") ?? false, "\(error?.detail ?? "")")
      #expect(try LMDBStore.metadata(at: writer.url) == before)
      #expect(coordinator.persistentStores.isEmpty)
    }
  }
#endif
