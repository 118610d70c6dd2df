import SwiftData
import Testing

@Suite("SwiftDataError")
struct ErrorRows {
  @Test("struct SwiftDataError: Error, Hashable; its static values; ~= in catch patterns")
  func values() {
    let all: [SwiftDataError] = [
      .unsupportedPredicate, .unsupportedSortDescriptor, .unsupportedKeyPath,
      .includePendingChangesWithBatchSize, .sortingPendingChangesWithIdentifiers, .duplicateConfiguration,
      .configurationFileNameTooLong, .configurationFileNameContainsInvalidCharacters,
      .configurationSchemaNotFoundInContainerSchema, .loadIssueModelContainer, .modelValidationFailure,
      .missingModelContext, .backwardMigration, .unknownSchema, .historyTokenExpired,
      .invalidTransactionFetchRequest, .unknownDataStoreSchema,
    ]
    #expect(Set(all).count == all.count)
    do { throw SwiftDataError.unknownSchema } catch SwiftDataError.unknownSchema {} catch {
      Issue.record("the pattern did not match \(error)")
    }
  }

  @Test("unsupportedPredicate: a predicate that computes what no store has")
  func unsupportedPredicate() throws {
    let context = try makeContext()
    context.insert(Trip(name: "a"))
    try context.save()
    #expect(throws: SwiftDataError.unsupportedPredicate) {
      try context.fetch(FetchDescriptor<Trip>(predicate: #Predicate { $0.draws == 1 }))
    }
  }

  @Test("loadIssueModelContainer: a file that is no store")
  func loadIssue() throws {
    let folder = try Folder()
    try Data("no store".utf8).write(to: folder.file("a.store"))
    #expect(throws: SwiftDataError.loadIssueModelContainer) {
      try ModelContainer(for: Trip.self, configurations: ModelConfiguration(url: folder.file("a.store")))
    }
  }

  @Test("duplicateConfiguration, configurationSchemaNotFoundInContainerSchema")
  func configurations() throws {
    let folder = try Folder()
    let one = ModelConfiguration("a", schema: Schema([Trip.self]), url: folder.file("a.store"))
    let two = ModelConfiguration("a", schema: Schema([Vehicle.self]), url: folder.file("a.store"))
    #expect(throws: SwiftDataError.duplicateConfiguration) {
      try ModelContainer(for: Schema([Trip.self, Vehicle.self]), configurations: [one, two])
    }
    #expect(throws: SwiftDataError.configurationSchemaNotFoundInContainerSchema) {
      try ModelContainer(
        for: Schema([Vehicle.self]),
        configurations: [ModelConfiguration("b", schema: Schema([Trip.self]), url: folder.file("b.store"))])
    }
  }

  @Test("includePendingChangesWithBatchSize")
  func batches() throws {
    let context = try makeContext()
    context.insert(Trip(name: "a"))
    #expect(throws: SwiftDataError.includePendingChangesWithBatchSize) {
      try context.fetch(FetchDescriptor<Trip>(), batchSize: 10)
    }
  }
}
