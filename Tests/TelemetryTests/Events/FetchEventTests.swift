import Foundation
import Testing

@testable import StrataCore

extension TelemetryTests {
  /// What is told of fetches and faults.
  struct Reads {
    let club: Club
    let recorder: Recorder

    init() throws {
      club = try Club()
      recorder = Recorder(about: club.tag)
    }

    @Test("a fetch is told with entity, predicate, plan, rows looked at and returned")
    func fetching() throws {
      try club.fill(teams: 2, people: 20)
      let context = club.context()
      let events = try recorder.during(.fetches) {
        _ = try context.fetch(club.people(Attribute("age") == 3))
        _ = try context.fetch(club.people(Attribute("name") == "person 0.1"))
        _ = try context.count(for: club.people())
        _ = try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Team"))
        _ = try context.fetch(FetchRequest<FetchedDictionary>(entityName: "Team"))
      }
      let fetches = events.compactMap(\.fetch)
      try #require(fetches.count == 5)
      #expect(fetches.map(\.answer) == [.objects, .objects, .count, .identifiers, .values])
      #expect(fetches.map(\.entityName) == ["Person", "Person", "Person", "Team", "Team"])
      #expect(fetches.map(\.returnedCount) == [2, 1, 40, 2, nil])
      #expect(fetches[0].plan?.contains("byAge") == true)
      #expect(fetches[0].predicate == "age == 3")
      #expect(fetches[2].predicate == nil)
      #expect(try #require(fetches[0].examinedCount) <= 2)
      #expect(fetches[1].examinedCount == 40)
      #expect(fetches[4].plan == nil && fetches[4].examinedCount == nil)
      #expect(Set(fetches.map(\.store)) == Set(club.coordinator.persistentStores.map(\.identifier)))
      #expect(fetches.allSatisfy { $0.duration > .zero && $0.error == nil })
    }

    @Test("a fetch that is stopped is told with its error")
    func failing() throws {
      try club.fill(teams: 1, people: 1_100)
      let context = club.context()
      let monitor = FetchMonitor()
      monitor.stop()
      let events = try recorder.during(.fetches) {
        let specification = try context.specification(of: club.people(Attribute("name") == "nobody"))
        #expect(throws: CancellationError.self) {
          try context.count(of: specification, .managedObject, monitor)
        }
      }
      let fetch = try #require(events.first?.fetch)
      #expect(fetch.error is CancellationError)
      #expect(fetch.returnedCount == nil && fetch.plan == nil)
    }

    @Test("faults are told with what was missing and the relationship that led there")
    func faults() throws {
      try club.fill(teams: 2, people: 2)
      let context = club.context()
      let events = try recorder.during(.faults) {
        let people = try context.fetch(club.people())
        let team = people[0].team
        _ = team?.name
        _ = people[0].team?.name
        let fresh = club.context()
        for person in try fresh.fetch(FetchRequest<Team>(entityName: "Team"))[0].people { _ = person.name }
        let id = people[0].objectID
        _ = try club.context().existingObject(with: id)
        let last = club.context()
        _ = (last.object(with: id) as? Person)?.age
      }
      let faults = events.compactMap(\.fault)
      #expect(faults.map(\.entityName) == ["Team", "Team", "Person", "Person", "Person", "Person"])
      #expect(
        faults.map(\.subject) == [.row, .members("people"), .row, .row, .row, .row])
      #expect(
        faults.map(\.relationship) == ["Person.team", "Team.people", "Team.people", "Team.people", nil, nil])
      #expect(faults.map(\.count) == [1, 1, 1, 1, 1, 1])
    }

    @Test("faults that are fulfilled together are one event, and no repeated ones")
    func prefetching() throws {
      try club.fill(teams: 30, people: 1)
      let context = club.context()
      let events = try recorder.during([.faults, .repeatedFaults]) {
        var request = club.people()
        request.relationshipKeyPathsForPrefetching = ["team"]
        for person in try context.fetch(request) { _ = person.team?.name }
      }
      #expect(events.count == 1)
      #expect(events.first?.fault?.count == 30)
    }

    @Test("many faults of one place are told at the threshold and at ten times it, with the relationship")
    func repeated() throws {
      try club.fill(teams: 200, people: 1)
      let context = club.context()
      let events = try recorder.during(.repeatedFaults) {
        for person in try context.fetch(club.people()) { _ = person.team?.name }
      }
      let told = events.compactMap(\.repeated)
      try #require(!told.isEmpty)
      #expect(told.map(\.count) == [16, 160])
      #expect(
        told.allSatisfy { $0.entityName == "Team" && $0.relationship == "Person.team" && $0.subject == .row })
      #expect(told.allSatisfy { $0.returnAddresses.count > 3 })
    }

    @Test("members that are read owner by owner are told likewise")
    func repeatedMembers() throws {
      try club.fill(teams: 20, people: 1)
      let context = club.context()
      let events = try recorder.during(.repeatedFaults) {
        for team in try context.fetch(FetchRequest<Team>(entityName: "Team")) { _ = Array(team.people) }
      }
      let told = try #require(events.first?.repeated)
      #expect(events.count == 1)
      #expect(told.subject == .members("people"))
      #expect(told.entityName == "Team")
    }

    @Test("places are counted apart, and each event of a context from zero")
    func places() async throws {
      try club.fill(teams: 20, people: 1)
      let context = club.context()
      let apart = try recorder.during(.repeatedFaults) {
        let people = try context.fetch(club.people())
        for person in people[..<10] { _ = person.team?.name }
        for person in people[10...] { _ = person.team?.name }
      }
      #expect(apart.isEmpty)
      let queued = club.context(.privateQueue)
      let installation = StrataObservers.install(recorder, for: .repeatedFaults)
      defer { installation.remove() }
      func walk(_ range: Range<Int>) async throws {
        try await queued.perform { [club] in
          for person in try queued.fetch(club.people())[range] { _ = person.team?.name }
        }
      }
      try await walk(0..<10)
      try await walk(10..<20)
      #expect(recorder.count == 0)
      await queued.perform { queued.reset() }
      try await walk(0..<20)
      #expect(recorder.take().compactMap(\.repeated).map(\.count) == [16])
    }

    @Test("blocks that wait in the queue together are events of their own")
    func queuedTogether() async throws {
      try club.fill(teams: 20, people: 1)
      let queued = club.context(.privateQueue)
      let installation = StrataObservers.install(recorder, for: .repeatedFaults)
      defer { installation.remove() }
      let gate = DispatchSemaphore(value: 0)
      let fired = Tally()
      func enqueue() {
        queued.perform { gate.wait() }
        for number in 0..<20 {
          queued.perform { [club] in
            guard let people = try? queued.fetch(club.people()), people.count == 20 else { return }
            if people[number].team?.name != nil { fired.add() }
          }
        }
      }
      enqueue()
      gate.signal()
      await queued.perform {}
      #expect(fired.count == 20)
      #expect(recorder.take().compactMap(\.repeated).map(\.count) == [])
      // So are calls of performAndWait.
      queued.performAndWait { queued.reset() }
      for number in 0..<20 {
        queued.performAndWait {
          guard let people = try? queued.fetch(club.people()), people.count == 20 else { return }
          if people[number].team?.name != nil { fired.add() }
        }
      }
      #expect(fired.count == 40)
      #expect(recorder.take().compactMap(\.repeated).map(\.count) == [])
    }

    @Test("prefetching for one object at a time is no repeated fault")
    func prefetchingOne() throws {
      try club.fill(teams: 20, people: 1)
      let context = club.context()
      let events = try recorder.during([.faults, .repeatedFaults]) {
        for number in 0..<20 {
          var request = club.people(Attribute("name") == "person \(number).0")
          request.relationshipKeyPathsForPrefetching = ["team.people"]
          for person in try context.fetch(request) { #expect(person.team?.people.count == 1) }
        }
      }
      #expect(events.compactMap(\.repeated).isEmpty)
      #expect(events.compactMap(\.fault).count == 40)
    }

    @Test("rows that are gone when they are prefetched are not told as read")
    func prefetchingWhatIsGone() throws {
      try club.fill(teams: 3, people: 1)
      let (context, other) = (club.context(), club.context())
      let teams = try context.fetch(club.people()).compactMap(\.team)
      try #require(teams.count == 3)
      for team in try other.fetch(FetchRequest<Team>(entityName: "Team")).prefix(2) { other.delete(team) }
      try other.save()
      #expect(recorder.during(.faults) { context.fulfil(teams) }.compactMap(\.fault).map(\.count) == [1])
      #expect(recorder.during(.faults) { context.fulfil(teams) }.isEmpty)
    }

    @Test("an observer's own threshold counts, and the least of several")
    func threshold() throws {
      try club.fill(teams: 40, people: 1)
      let context = club.context()
      var options = StrataObservers.Options()
      options.repeatedFaultThreshold = 30
      let installation = StrataObservers.install(
        Recorder { _ in false }, for: .repeatedFaults, options: options)
      defer { installation.remove() }
      options.repeatedFaultThreshold = 4
      let events = try recorder.during(.repeatedFaults, options: options) {
        for person in try context.fetch(club.people()) { _ = person.team?.name }
      }
      #expect(events.compactMap(\.repeated).map(\.count) == [4, 40])
    }
  }
}
