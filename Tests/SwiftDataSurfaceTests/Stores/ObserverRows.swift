import SwiftData
import Testing

@Suite("Observers")
@MainActor
struct ObserverRows {
  @Test("final class ResultsObserver<Element, SectionTitle>: its twelve initialisers and its members")
  func results() throws {
    let container = try makeContainer()
    let context = container.mainContext
    let trip = Trip(name: "a")
    trip.guide = Guide(email: "e")
    context.insert(trip)
    try context.save()
    let descriptor = FetchDescriptor<Trip>(sortBy: [SortDescriptor(\.name)])
    let order = [SortDescriptor(\Trip.name)]
    let predicate = #Predicate<Trip> { $0.name == "a" }
    let plain = [
      try ResultsObserver(fetchDescriptor: descriptor, modelContext: context),
      try ResultsObserver(fetchDescriptor: descriptor, modelContainer: container),
      try ResultsObserver(filterBy: predicate, sortBy: order, modelContext: context),
      try ResultsObserver(filterBy: predicate, sortBy: order, modelContainer: container),
    ]
    for observer in plain {
      let found: FetchResultsCollection<Trip> = observer.results
      #expect(found.count == 1 && observer.sections == nil && observer.sectionBy == nil)
    }
    let byName = [
      try ResultsObserver(fetchDescriptor: descriptor, sectionBy: \Trip.name, modelContext: context),
      try ResultsObserver(fetchDescriptor: descriptor, sectionBy: \Trip.name, modelContainer: container),
      try ResultsObserver(filterBy: predicate, sortBy: order, sectionBy: \Trip.name, modelContext: context),
      try ResultsObserver(
        filterBy: predicate, sortBy: order, sectionBy: \Trip.name, modelContainer: container),
    ]
    for observer in byName {
      #expect(observer.sections?.map(\.id) == ["a"] && observer.sectionBy == \Trip.name)
    }
    let byGuide = [
      try ResultsObserver(fetchDescriptor: descriptor, sectionBy: \Trip.guide?.email, modelContext: context),
      try ResultsObserver(
        fetchDescriptor: descriptor, sectionBy: \Trip.guide?.email, modelContainer: container),
      try ResultsObserver(
        filterBy: predicate, sortBy: order, sectionBy: \Trip.guide?.email, modelContext: context),
      try ResultsObserver(
        filterBy: predicate, sortBy: order, sectionBy: \Trip.guide?.email, modelContainer: container),
    ]
    for observer in byGuide { #expect(observer.sections?.map(\.id) == ["e"]) }
    let observer = byName[0]
    #expect(observer.modelContext === context && observer.fetchDescriptor == descriptor)
    observer.filterBy = predicate
    observer.sortBy = []
    #expect(observer.filterBy != nil && observer.sortBy.isEmpty)
    #expect(observer.element(at: IndexPath(indexes: [0, 0])) === trip)
    #expect(observer.indexPath(for: trip) == IndexPath(indexes: [0, 0]))
    let sections: SectionedResults<Trip, String> = try #require(observer.sections)
    let section: ResultsSection<Trip, String> = sections[0]
    #expect(sections == observer.sections && section.id == "a" && section.map(\.name) == ["a"])
  }

  @Test("final class HistoryObserver: Observable, Sendable")
  func history() throws {
    func isSendable<S: Sendable & Observable>(_: S) -> Bool { true }
    let container = try makeContainer()
    let observer = try HistoryObserver(
      historyTokens: [], observedModels: [Trip.self], authors: ["me"], modelContainer: container)
    #expect(isSendable(observer) && observer.eventCounter == 0 && observer.authors == ["me"])
    #expect(observer.observedModels.count == 1 && observer.modelContainer === container)
    #expect(!ModelContainer.remoteChange.rawValue.isEmpty)
  }
}
