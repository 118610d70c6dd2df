import Dispatch
import Foundation
import Testing
import TortureKit

@testable import StrataCore

extension TelemetryTests {
  /// What is told of waits, migrations, pages and messages.
  struct Stores {
    let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    @Test(
      "who waits for another process, and for a save of this one, is told of it, and the save knows how long")
    func waits() throws {
      let url = folder.url("club.strata")
      let club = try Club(url: url)
      // Keys are reserved, which is a write too.
      try club.fill(teams: 1, people: 1)
      let store = club.coordinator.persistentStores[0].identifier
      let recorder = Recorder { event in
        [store.uuidString, url.path, club.tag].contains { event.subject.contains($0) }
      }
      // As another process does that writes.
      let file = try StoreFile(url.path, .system)
      let descriptor = open(url.path, O_RDWR)
      #expect(file.system.lockByte(descriptor, FileTurn.writing, false) == 0)
      let events = recorder.during([.waits, .saves]) {
        let done = DispatchGroup()
        let commits = club.coordinator.bindings[0].commits
        func save(_ number: Int) {
          let thread = Thread {
            let context = club.context()
            Person(context: context).age = Int64(number)
            do { try context.save() } catch { Issue.record(error) }
            done.leave()
          }
          done.enter()
          thread.start()
        }
        save(1)
        // The first is with the store, the second waits for its turn.
        while commits.isFree { sched_yield() }
        save(2)
        while commits.waitingCount == 0 { sched_yield() }
        // The writer thread has come to the lock.
        while !file.system.isByteLocked(descriptor, FileTurn.waiting) { sched_yield() }
        #expect(file.system.unlockByte(descriptor, FileTurn.writing) == 0)
        close(descriptor)
        done.wait()
      }
      let waits = events.compactMap(\.wait)
      #expect(waits.contains { $0.subject == .otherProcess(path: url.path) && $0.duration > .zero })
      let turn = try #require(waits.first { $0.subject == .writeTurn(store: store) })
      #expect(waits.count == 2)
      let saves = events.compactMap(\.save)
      #expect(saves.map(\.timeWaited).sorted() == [.zero, turn.duration])
      #expect(saves.allSatisfy { $0.timeWaited <= $0.timeInStore })
    }

    @Test("where the system has no locks of bytes, no other process is waited for")
    func withoutLocks() throws {
      let path = folder.url("file").path
      try Data().write(to: folder.url("file"))
      var system = FileSystem.system
      system.lockByte = { _, _, _ in -EINVAL }
      let descriptor = open(path, O_RDWR)
      defer { close(descriptor) }
      let identity = try system.statusOfDescriptor(descriptor).get().identity
      let turn = FileTurn(try StoreFile(path, system), identity, isNeeded: true)
      defer { turn.close() }
      #expect(!turn.take())
    }

    @Test("performAndWait is told when it waits as long as the observer says")
    func queues() throws {
      let club = try Club()
      let recorder = Recorder(about: club.tag)
      let context = club.context(.privateQueue)
      var options = StrataObservers.Options()
      options.shortestQueueWait = .zero
      let told = recorder.during(.waits, options: options) { context.performAndWait {} }
      #expect(told.compactMap(\.wait).map(\.subject) == [.contextQueue(context: "\(context)")])
      options.shortestQueueWait = .seconds(1_000)
      #expect(recorder.during(.waits, options: options) { context.performAndWait {} }.isEmpty)
    }

    @Test("a migration is told as in place or not, one of nothing not at all, a failure with its error")
    func migrations() throws {
      let url = folder.url("club.strata")
      let recorder = Recorder { $0.migration?.url == url }
      do {
        let club = try Club(url: url)
        try club.fill(teams: 1, people: 2)
        try club.coordinator.remove(club.coordinator.persistentStores[0])
      }
      func migrate(_ model: ManagedObjectModel) throws -> [MigrationEvent] {
        try recorder.during(.migrations) { try LMDBStore.migrate(at: url, to: model) }.compactMap(\.migration)
      }
      let added = Club.model(more: [AttributeDescription("nickname", .string)])
      let inPlace = try migrate(added)
      #expect(inPlace.map(\.isInPlace) == [true])
      #expect(inPlace.allSatisfy { $0.error == nil && $0.duration > .zero })
      #expect(try migrate(added).isEmpty)
      let wider = Club.model(
        more: [AttributeDescription("nickname", .string), AttributeDescription("name", .binaryData)],
        without: ["name"])
      let failed = recorder.during(.migrations) {
        #expect(throws: (any Error).self) { try LMDBStore.migrate(at: url, to: wider) }
      }
      #expect(failed.count == 1)
      #expect(failed.first?.migration?.error != nil)
      let anew = try recorder.during(.migrations) {
        var options = LMDBStoreOptions()
        options.migratesAllRows = true
        try LMDBStore.migrate(
          at: url,
          to: Club.model(more: [
            AttributeDescription("nickname", .string), AttributeDescription("motto", .string),
          ]), options: options)
      }
      #expect(anew.compactMap(\.migration).map(\.isInPlace) == [false])
    }

    @Test("pages that wait for a pinned generation are told with their size, until it is released")
    func heldPages() throws {
      let url = folder.url("club.strata")
      let club = try Club(url: url)
      let recorder = Recorder(about: url.path)
      let reader = club.context()
      let writer = club.context()
      let person = Person(context: writer)
      func save(_ count: Int) throws {
        for _ in 0..<count {
          person.age += 1
          try writer.save()
        }
      }
      try save(1)
      try reader.setQueryGenerationFrom(.current)
      _ = try reader.count(for: club.people())
      let held = try recorder.during(.heldPages) { try save(700) }.compactMap(\.held)
      let last = try #require(held.last)
      #expect(last.process == getpid())
      #expect(last.commitCount >= Environment.mostCommitsHeld)
      #expect(last.byteCount > 0)
      #expect(try #require(last.oldestGeneration) > .zero)
      try reader.setQueryGenerationFrom(nil)
      // What was begun while it was pinned is over.
      try save(130)
      let later = try recorder.during(.heldPages) { try save(700) }
      #expect(later.isEmpty, "\(later)")
    }

    @Test("messages come to who asks for them, and what an observer causes itself does not come back to it")
    func messages() throws {
      let recorder = Recorder(about: "Stranger.entity()")
      let events = recorder.during(.messages) { _ = Stranger.entity() }
      let message = try #require(events.first?.message)
      #expect(events.count == 1)
      #expect(message.level == .warning)
      #expect(message.module == "Strata")
      #expect(message.text == "Stranger.entity(): no model in use has an entity of this class.")
      let club = try Club()
      let errors = Recorder(about: club.tag)
      let debug = try errors.during(.messages) {
        ManagedObjectContext.debugOutput = .rows
        defer { ManagedObjectContext.debugOutput = [] }
        _ = try club.context().count(for: club.people())
      }
      #expect(debug.compactMap(\.message).map(\.level) == [.debug])

      final class Asking: StrataObserver {
        let club: Club
        let count = Mutex(0)
        init(_ club: Club) { self.club = club }
        func observe(_ event: StrataEvent) {
          guard event.subject.contains(club.tag) else { return }
          count.withLock { $0 += 1 }
          // What an observer should not do.
          _ = try? club.context().count(for: club.people())
        }
      }
      let asking = Asking(club)
      let installation = StrataObservers.install(asking, for: .fetches)
      defer { installation.remove() }
      _ = try club.context().count(for: club.people())
      #expect(asking.count.withLock { $0 } == 1)
    }
  }
}
