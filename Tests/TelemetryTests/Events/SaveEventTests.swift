import Foundation
import Testing
import TortureKit

@testable import StrataCore

extension TelemetryTests {
  /// What is told of saves and conflicts.
  struct Saves {
    let club: Club
    let recorder: Recorder

    init() throws {
      club = try Club()
      recorder = Recorder(about: club.tag)
    }

    @Test("a save is told with its context, author, store, counts and times; one of nothing is not")
    func saving() throws {
      try club.fill(teams: 1, people: 3)
      let context = club.context()
      context.transactionAuthor = "importer"
      let people = try context.fetch(club.people())
      let events = try recorder.during(.saves) {
        people[0].age = 7
        context.delete(people[1])
        _ = Person(context: context)
        _ = Person(context: context)
        try context.save()
        try context.save()
      }
      #expect(events.count == 1)
      let save = try #require(events.first?.save)
      #expect(save.context == "<context “\(club.tag)” (confinement)>")
      #expect(save.author == "importer")
      #expect(save.destination == .stores(club.coordinator.persistentStores.map(\.identifier)))
      #expect(save.insertedCount == 2)
      #expect(save.updatedCount == 1)
      #expect(save.deletedCount == 1)
      #expect(save.attemptCount == 1)
      #expect(save.error == nil)
      #expect(!save.isAsynchronous)
      #expect(save.timeInStore > .zero && save.timeInStore <= save.duration)
      #expect(save.timeWaited == .zero)
    }

    @Test("a save that fails is told with its error and what was to be saved")
    func failing() throws {
      let context = club.context()
      let events = recorder.during(.saves) {
        for _ in 0..<2 { Person(context: context).code = "same" }
        #expect(throws: (any Error).self) { try context.save() }
      }
      let save = try #require(events.last?.save)
      #expect(events.count == 1)
      #expect(save.insertedCount == 2)
      #expect(save.destination == .stores([]))
      #expect(save.attemptCount == 1)
      #expect(save.timeInStore > .zero && save.timeInStore <= save.duration)
      #expect((save.error as? CoreDataError)?.code == .managedObjectConstraintMerge)
    }

    @Test("a save to a parent is told as such")
    func parent() throws {
      let parent = club.context()
      let child = ManagedObjectContext(.confinement)
      child.parent = parent
      child.name = club.tag
      let events = try recorder.during(.saves) {
        _ = Person(context: child)
        try child.save()
      }
      let save = try #require(events.first?.save)
      #expect(events.count == 1)
      #expect(save.destination == .parent)
      #expect(save.insertedCount == 1)
      #expect(save.timeInStore == .zero)
    }

    @Test("a save to a parent that fails is told as one to the parent")
    func failingToParent() throws {
      let parent = club.context()
      let child = ManagedObjectContext(.confinement)
      child.parent = parent
      child.name = club.tag
      let events = recorder.during(.saves) {
        Person(context: child).age = -1
        #expect(throws: (any Error).self) { try child.save() }
      }
      let save = try #require(events.first?.save)
      #expect(events.count == 1)
      #expect(save.destination == .parent)
      #expect(save.insertedCount == 1)
      #expect(save.attemptCount == 0)
    }

    @Test("a save to two stores is one attempt")
    func twoStores() throws {
      let model = Club.model()
      for name in ["Team", "Person"] {
        model.setEntities([try #require(model.entitiesByName[name])], forConfigurationName: name)
      }
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      for name in ["Team", "Person"] {
        var description = PersistentStoreDescription.inMemory
        description.configuration = name
        try coordinator.addPersistentStore(description)
      }
      let context = ManagedObjectContext(.confinement, coordinator: coordinator)
      context.name = club.tag
      let events = try recorder.during(.saves) {
        _ = Team(context: context)
        _ = Person(context: context)
        try context.save()
      }
      let save = try #require(events.first?.save)
      #expect(events.count == 1)
      #expect(save.destination == .stores(coordinator.persistentStores.map(\.identifier)))
      #expect(save.insertedCount == 2)
      #expect(save.attemptCount == 1)
      // The second store refuses: the counts are those that there were to be.
      let failed = recorder.during(.saves) {
        _ = Team(context: context)
        for _ in 0..<2 { Person(context: context).code = "same" }
        #expect(throws: (any Error).self) { try context.save() }
      }
      #expect(failed.last?.save?.insertedCount == 3)
    }

    @Test("an asynchronous save of nothing is not told")
    func nothing() async throws {
      let context = club.context(.privateQueue)
      let installation = StrataObservers.install(recorder, for: .saves)
      defer { installation.remove() }
      try await context.saveAsynchronously()
      #expect(recorder.take().isEmpty)
    }

    @Test("an asynchronous save that fails has the counts of what it was to save", .timeLimit(.minutes(5)))
    func asynchronousFailure() async throws {
      let folder = try ScratchFolder()
      let url = folder.url("club.strata")
      let filed = try Club(url: url)
      let context = filed.context(.privateQueue)
      try await context.perform {
        Person(context: context).code = "0"
        try context.save()
        Person(context: context).code = "0"
      }
      let recorder = Recorder(about: filed.tag)
      let installation = StrataObservers.install(recorder, for: .saves)
      defer { installation.remove() }
      // As another process does that writes: the save stays under way.
      let file = try StoreFile(url.path, .system)
      let descriptor = open(url.path, O_RDWR)
      #expect(file.system.lockByte(descriptor, FileTurn.writing, false) == 0)
      let saving = Task { try await context.saveAsynchronously() }
      while await context.perform({ context.saving.flight == nil }) { await Task.yield() }
      await context.perform { for _ in 0..<3 { _ = Person(context: context) } }
      #expect(file.system.unlockByte(descriptor, FileTurn.writing) == 0)
      close(descriptor)
      await #expect(throws: (any Error).self) { try await saving.value }
      let save = try #require(recorder.take().first?.save)
      #expect(save.error != nil)
      #expect(save.insertedCount == 1)
    }

    @Test(
      "an asynchronous save is told when the objects show it, before its caller goes on, and with the error of one that fails"
    )
    func asynchronous() async throws {
      let context = club.context(.privateQueue)
      let installation = StrataObservers.install(recorder, for: .saves)
      defer { installation.remove() }
      await context.perform { for number in 0..<3 { Person(context: context).code = "\(number)" } }
      try await context.saveAsynchronously()
      let save = try #require(recorder.take().first?.save)
      #expect(save.isAsynchronous)
      #expect(save.insertedCount == 3)
      #expect(save.attemptCount == 1)
      #expect(save.error == nil)
      #expect(save.timeInStore > .zero && save.timeInStore <= save.duration)
      await context.perform { Person(context: context).code = "0" }
      await #expect(throws: (any Error).self) { try await context.saveAsynchronously() }
      let failed = try #require(recorder.take().first?.save)
      #expect(failed.error != nil)
      #expect(failed.insertedCount == 1)
      #expect(recorder.count == 0)
    }

    @Test("a conflict is told with the policy that was asked, and the save that went on with two attempts")
    func conflicts() throws {
      try club.fill(teams: 1, people: 1)
      let (context, other) = (club.context(), club.context())
      let mine = try context.fetch(club.people())[0]
      try other.fetch(club.people())[0].age = 5
      mine.age = 6
      try other.save()
      let refused = recorder.during([.conflicts, .saves]) {
        #expect(throws: (any Error).self) { try context.save() }
      }
      let first = try #require(refused.first?.conflict)
      #expect(first.rowCount == 1 && first.uniquenessCount == 0)
      #expect(first.entityNames == ["Person"])
      #expect(first.policy == "error")
      #expect(first.error != nil)
      context.mergePolicy = .mergeByPropertyObjectTrump
      let settled = try recorder.during([.conflicts, .saves]) { try context.save() }
      let second = try #require(settled.first?.conflict)
      #expect(second.policy == "mergeByPropertyObjectTrump")
      #expect(second.error == nil)
      #expect(settled.last?.save?.attemptCount == 2)
    }

    @Test("a conflict about values that must be unique is told as one")
    func uniqueness() throws {
      let (context, other) = (club.context(), club.context())
      Person(context: other).code = "x"
      try other.save()
      context.mergePolicy = .mergeByPropertyStoreTrump
      Person(context: context).code = "x"
      let events = try recorder.during(.conflicts) { try context.save() }
      let conflict = try #require(events.first?.conflict)
      #expect(events.count == 1)
      #expect(conflict.rowCount == 0 && conflict.uniquenessCount == 1)
      #expect(conflict.entityNames == ["Person"])
    }

    @Test("batches are told with what they do and their rows")
    func batches() throws {
      let context = club.context()
      let events = try recorder.during(.batches) {
        try context.execute(BatchInsertRequest(entityName: "Person", objects: [["age": 1], ["age": 2]]))
        try context.execute(BatchUpdateRequest(entityName: "Person", propertiesToUpdate: ["age": 3]))
        try context.execute(BatchDeleteRequest(fetchRequest: club.people()))
      }
      #expect(events.compactMap(\.batch).map(\.operation) == [.insert, .update, .delete])
      #expect(events.compactMap(\.batch).map(\.rowCount) == [2, 2, 2])
    }
  }
}
