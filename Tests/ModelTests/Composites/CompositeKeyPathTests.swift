import Foundation
import StrataModels
import Testing
import TortureKit

@Suite("Key paths into composite attributes of classes with @Managed")
struct CompositeKeyPathTests {
  private func trips() async throws -> PersistentContainer {
    let container = try await PersistentContainer(for: Trip.self, at: .inMemory)
    try await container.background { context in
      var previous: Trip?
      for number in 0..<4 {
        let trip = Trip(context: context)
        trip.number = number
        trip.start = Spot(
          latitude: Double(3 - number), longitude: 7, label: number == 0 ? nil : "spot \(number)",
          isKnown: number > 1, isSeen: number == 1, kind: number == 2 ? .lake : .hill)
        trip.stop = number == 3 ? nil : Spot(latitude: Double(number))
        trip.route = Route(name: "route \(number % 2)", end: Spot(latitude: 50 + Double(number)))
        trip.previous = previous
        previous = trip
      }
    }
    return container
  }

  @Test("A #Predicate names elements, of composites that may be nil and of composites within others too")
  func predicates() async throws {
    let container = try await trips()
    try await container.performBackgroundTask { context throws in
      func numbers(_ condition: Predicate<Trip>) throws -> [Int] {
        try context.fetch(Trip.self, where: condition, sortedBy: \.number).map(\.number)
      }
      #expect(try numbers(#Predicate<Trip> { $0.start.latitude == 1 }) == [2])
      #expect(try numbers(#Predicate<Trip> { $0.start.label == nil }) == [0])
      #expect(try numbers(#Predicate<Trip> { $0.start.isSeen }) == [1])
      #expect(try numbers(#Predicate<Trip> { $0.start.kind == .lake }) == [2])
      #expect(try numbers(#Predicate<Trip> { $0.stop?.latitude == 1 }) == [1])
      #expect(try numbers(#Predicate<Trip> { $0.stop == nil }) == [3])
      #expect(try numbers(#Predicate<Trip> { $0.stop != nil }) == [0, 1, 2])
      #expect(try numbers(#Predicate<Trip> { $0.route.end.latitude > 51 }) == [2, 3])
      #expect(try numbers(#Predicate<Trip> { $0.previous?.start.latitude == 3 }) == [1])
      #expect(try numbers(#Predicate<Trip> { $0.startLatitude == 3 }) == [0])
    }
  }

  @Test("A composite attribute equals a value where all of its elements do")
  func wholes() async throws {
    let container = try await trips()
    try await container.performBackgroundTask { context throws in
      let known = Spot(latitude: 1, longitude: 7, label: "spot 2", isKnown: true, kind: .lake)
      let route = Route(name: "route 0", end: Spot(latitude: 52))
      let other = Spot(latitude: 1, longitude: 7, label: "spot", isKnown: true, kind: .lake)
      #expect(
        try context.fetch(Trip.self, where: #Predicate<Trip> { $0.start == known }).map(\.number) == [2])
      #expect(try context.count(Trip.self, where: #Predicate<Trip> { $0.start == other }) == 0)
      #expect(try context.count(Trip.self, where: #Predicate<Trip> { $0.start != known }) == 3)
      #expect(
        try context.fetch(Trip.self, where: #Predicate<Trip> { $0.route == route }).map(\.number) == [2])
      let stop = Spot(latitude: 2)
      #expect(try context.fetch(Trip.self, where: #Predicate<Trip> { $0.stop == stop }).map(\.number) == [2])
    }
  }

  @Test("Orders and values name elements; the value of a whole composite can be had")
  func ordersAndValues() async throws {
    let container = try await trips()
    try await container.performBackgroundTask { context throws in
      #expect(
        try context.fetch(Trip.self, sortedBy: \.start.latitude).map(\.number) == [3, 2, 1, 0])
      #expect(
        try context.fetch(Trip.self, sortedBy: .reverse(\.route.end.latitude), limit: 1).map(\.number) == [3])
      let latitudes = try context.fetch(Trip.self, values: \.start.latitude, sortedBy: \.number)
      #expect(latitudes == [3, 2, 1, 0])
      let kinds: [Spot.Kind] = try context.fetch(Trip.self, values: \.start.kind, sortedBy: \.number)
      #expect(kinds == [.hill, .hill, .lake, .hill])
      let known: [Bool] = try context.fetch(Trip.self, values: \.start.isKnown, sortedBy: \.number)
      #expect(known == [false, false, true, true])
      let starts = try context.fetch(Trip.self, values: \.start, sortedBy: \.number)
      #expect(starts.map(\.label) == [nil, "spot 1", "spot 2", "spot 3"])
      #expect(starts[2] == Spot(latitude: 1, longitude: 7, label: "spot 2", isKnown: true, kind: .lake))
      let stops = try context.fetch(Trip.self, values: \.stop, sortedBy: \.number)
      #expect(stops.map { $0?.latitude } == [0, 1, 2, nil])
      let ends = try context.fetch(Trip.self, values: \.route.end, sortedBy: \.number)
      #expect(ends.map(\.latitude) == [50, 51, 52, 53])
      let before = try context.fetch(Trip.self, values: \.number, \.previous?.route, sortedBy: \.number)
      #expect(before.map { $0.1?.name } == [nil, "route 0", "route 1", "route 0"])
      let names = try context.fetch(Trip.self, values: \.route.name, sortedBy: \.route.name, distinct: true)
      #expect(names == ["route 0", "route 1"])
    }
  }

  @Test("What computes something of a composite attribute is refused with an error")
  func refusals() async throws {
    let container = try await trips()
    try await container.performBackgroundTask { context throws in
      #expect(throws: PredicateTranslationError.self) {
        try context.fetch(Trip.self, sortedBy: \.mirrored.latitude)
      }
      #expect(throws: PredicateTranslationError.self) {
        try context.count(Trip.self, where: #Predicate<Trip> { $0.either })
      }
      #expect(throws: PredicateTranslationError.self) { try context.fetch(Trip.self, sortedBy: \.northern) }
      #expect(throws: PredicateTranslationError.self) {
        try context.count(Trip.self, where: #Predicate<Trip> { $0.start.isNorth })
      }
      #expect(throws: (any Error).self) { try context.fetch(Trip.self, sortedBy: \.start) }
    }
  }

  @Test("Where a composite attribute has no value, it shows what a new object begins with")
  func absent() async throws {
    let container = try await PersistentContainer(for: Trip.self, at: .inMemory)
    try await container.performBackgroundTask { context in
      let trip = Trip(context: context)
      trip.setValue(nil, forKey: "start")
      #expect(trip.start == Spot())
      context.rollback()
    }
  }
}
