import SwiftData
import Testing

@Suite("Texts in predicates and orders")
struct TextRows {
  private func makeTrips() throws -> ModelContext {
    let context = try makeContext()
    for name in ["Zebra", "apple 10", "Apple 9", "banana"] { context.insert(Trip(name: name)) }
    try context.save()
    return context
  }

  @Test("build_localizedCompare and build_caseInsensitiveCompare of PredicateExpressions")
  func comparisons() throws {
    let context = try makeTrips()
    let (same, before) = (ComparisonResult.orderedSame, ComparisonResult.orderedAscending)
    let limit = "c"
    #expect(
      try context.fetchCount(
        FetchDescriptor<Trip>(predicate: #Predicate { $0.name.caseInsensitiveCompare("ZEBRA") == same })) == 1
    )
    #expect(
      try context.fetchCount(
        FetchDescriptor<Trip>(predicate: #Predicate { $0.name.localizedCompare(limit) == before })) == 3)
  }

  @Test("comparators .localizedStandard, .localized and .lexical of SortDescriptor")
  func comparators() throws {
    let context = try makeTrips()
    func names(_ sort: SortDescriptor<Trip>) throws -> [String] {
      try context.fetch(FetchDescriptor<Trip>(sortBy: [sort])).map(\.name)
    }
    #expect(
      try names(SortDescriptor(\.name, comparator: .localizedStandard)) == [
        "Apple 9", "apple 10", "banana", "Zebra",
      ])
    #expect(
      try names(SortDescriptor(\.name, comparator: .localized, order: .reverse)).first == "Zebra")
    #expect(try names(SortDescriptor(\.name, comparator: .lexical)).first == "Apple 9")
  }

  @Test("sortingPendingChangesWithIdentifiers, unknownDataStoreSchema, a HistoryDescriptor with an order")
  func others() throws {
    let context = try makeTrips()
    context.insert(Trip(name: "new"))
    #expect(throws: SwiftDataError.sortingPendingChangesWithIdentifiers) {
      try context.fetchIdentifiers(FetchDescriptor<Trip>(sortBy: [SortDescriptor(\.name)]))
    }
    try context.save()
    #expect(throws: SwiftDataError.unknownDataStoreSchema) {
      try DefaultStore(ModelConfiguration(isStoredInMemoryOnly: true), migrationPlan: nil)
    }
    let newestFirst = HistoryDescriptor<DefaultHistoryTransaction>(
      sortBy: [SortDescriptor(\.transactionIdentifier, order: .reverse)])
    let found = try context.fetchHistory(newestFirst)
    #expect(found.count == 2 && found[0].token > found[1].token)
  }
}
