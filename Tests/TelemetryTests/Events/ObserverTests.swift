import Dispatch
import Foundation
import Testing

@testable import StrataCore

extension TelemetryTests {
  /// Coming and going of observers.
  struct Observers {
    @Test("an observer gets the kinds it asked for, until it is removed")
    func kinds() throws {
      let club = try Club()
      let (saves, fetches) = (Recorder(about: club.tag), Recorder(about: club.tag))
      let first = StrataObservers.install(saves, for: .saves)
      let second = StrataObservers.install(fetches, for: .fetches)
      let context = club.context()
      _ = Person(context: context)
      try context.save()
      _ = try context.fetch(club.people())
      #expect(saves.take().map(\.kind) == [.saves])
      #expect(fetches.take().map(\.kind) == [.fetches])
      first.remove()
      first.remove()
      _ = Person(context: context)
      try context.save()
      _ = try context.fetch(club.people())
      #expect(saves.count == 0)
      #expect(fetches.count == 1)
      second.remove()
      _ = try context.fetch(club.people())
      #expect(fetches.count == 1)
    }

    @Test("who is installed all the while gets each save of eight threads once, however others come and go")
    func concurrency() throws {
      let club = try Club()
      let recorder = Recorder(about: club.tag)
      let all = StrataObservers.install(recorder, for: .saves)
      defer { all.remove() }
      let isOver = Mutex(false)
      let visitor = Thread {
        while !isOver.withLock({ $0 }) {
          let installation = StrataObservers.install(Recorder { _ in true }, for: .all)
          installation.remove()
        }
        isOver.withLock { $0 = false }
      }
      visitor.start()
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        let context = club.context()
        for number in 0..<25 {
          Person(context: context).age = Int64(thread * 100 + number)
          do { try context.save() } catch { Issue.record(error) }
        }
      }
      isOver.withLock { $0 = true }
      while isOver.withLock({ $0 }) { sched_yield() }
      let saves = recorder.take().compactMap(\.save)
      #expect(saves.count == 200)
      #expect(saves.reduce(0) { $0 + $1.insertedCount } == 200)
      #expect(try club.context().count(for: club.people()) == 200)
    }
  }
}
