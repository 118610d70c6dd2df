import SwiftData
import Testing

@Suite("Fetching")
struct FetchRows {
  @Test("struct FetchDescriptor<T>: predicate, sortBy, fetchLimit, fetchOffset, includePendingChanges, hints")
  func descriptor() throws {
    let context = try makeContext()
    for name in ["c", "a", "b", "d"] { context.insert(Trip(name: name)) }
    var descriptor = FetchDescriptor<Trip>(
      predicate: #Predicate { $0.name < "d" }, sortBy: [SortDescriptor(\.name)])
    descriptor.fetchLimit = 1
    descriptor.fetchOffset = 1
    descriptor.propertiesToFetch = [\.name]
    descriptor.relationshipKeyPathsForPrefetching = [\.stays]
    #expect(descriptor.includePendingChanges)
    #expect(try context.fetch(descriptor).map(\.name) == ["b"])
    descriptor.includePendingChanges = false
    #expect(try context.fetch(descriptor).isEmpty)
    descriptor.predicate = nil
    descriptor.sortBy = [SortDescriptor(\.name, order: .reverse)]
    descriptor.includePendingChanges = true
    #expect(try context.fetch(descriptor).map(\.name) == ["c"])
    func isSendable<S: Sendable>(_: S) -> Bool { true }
    #expect(isSendable(descriptor))
  }

  @Test("struct FetchResultsCollection<Element>: RandomAccessCollection")
  func results() throws {
    let context = try makeContext()
    for name in ["a", "b", "c"] { context.insert(Trip(name: name)) }
    try context.save()
    let results = try context.fetch(FetchDescriptor<Trip>(sortBy: [SortDescriptor(\.name)]), batchSize: 2)
    #expect(results.startIndex == 0 && results.endIndex == 3 && results[1].name == "b")
    #expect(results.reversed().map(\.name) == ["c", "b", "a"])
  }

  @Test("Foundation.Predicate, #Predicate, Foundation.SortDescriptor")
  func foundation() throws {
    let context = try makeContext()
    let trip = Trip(name: "Zürich")
    trip.stays = [Stay(hotel: "Adler")]
    context.insert(trip)
    context.insert(Trip(name: "Bern"))
    let hotel = "Adler"
    let predicate: Predicate<Trip> = #Predicate { trip in
      trip.stays.contains { $0.hotel == hotel } && trip.name.contains("rich")
    }
    #expect(try context.fetch(FetchDescriptor(predicate: predicate)).map(\.name) == ["Zürich"])
    let byDate = FetchDescriptor<Trip>(sortBy: [SortDescriptor(\.begins), SortDescriptor(\.name)])
    #expect(try context.fetch(byDate).map(\.name) == ["Bern", "Zürich"])
  }

  @Test("build_localizedStandardContains of PredicateExpressions")
  func localizedContains() throws {
    let context = try makeContext()
    context.insert(Trip(name: "Zürich"))
    let found = try context.fetch(
      FetchDescriptor<Trip>(predicate: #Predicate { $0.name.localizedStandardContains("ZURI") }))
    #expect(found.count == 1)
  }
}
