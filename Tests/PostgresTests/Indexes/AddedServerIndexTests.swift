import Foundation
import Strata
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// Indexes that are added to a store on a server while programs use it. What every engine does is in `IndexCases`.
@Suite struct AddedServerIndexTests {
  @Test func theServerUsesItForNumbersAndTexts() async throws {
    let library = try IndexedStand(books: 3_000)
    let other = try IndexedStand(of: library)
    #expect(try library.explain(Attribute("pages") == 3).isEmpty)
    try await library.add("byPages", "pages")
    try await library.add("byTitle", "title")
    #expect(try library.explain(Attribute("pages") == 3).contains { $0.hasPrefix("book_by_pages_") })
    #expect(try library.explain(Attribute("title") == "title 3").contains { $0.hasPrefix("book_by_title_") })
    #expect(
      try library.explain(Attribute("title").beginsWith("title 29")).contains {
        $0.hasPrefix("book_by_title_")
      })
    // Another program is told of the texts.
    let context = other.stand.context(.privateQueue)
    context.automaticallyMergesChangesFromParent = true
    try await other.wait {
      try other.explain(Attribute("title") == "title 3").contains { $0.hasPrefix("book_by_title_") }
    }
    withExtendedLifetime(context) {}
    // And one that is opened later knows.
    let late = try IndexedStand(of: library)
    #expect(try late.explain(Attribute("title") == "title 3").contains { $0.hasPrefix("book_by_title_") })
    let counts = try library.stand.coordinator.indexes(in: library.store).filter(\.isAdded)
      .map { "\($0.name) \($0.entryCount)" }
    #expect(counts == ["byPages 3000", "byTitle 3000"])
  }

  /// A table that a migration has given another name keeps the name of its index.
  @Test func aFetchByIdentifierIsExplainedAsOneWhateverTheIndexIsCalled() throws {
    let library = try IndexedStand(books: 3_000)
    let context = library.stand.context()
    let book = try #require(try context.all("Book", Attribute("title") == "title 7").first)
    let request = FetchRequest<ManagedObject>(
      entityName: "Book", predicate: try FetchPredicate(format: "SELF == %@", book))
    #expect(try context.explain(request).stores[0].access == .identifiers)
    try library.stand.sql("ALTER INDEX \(library.stand.table("book_pkey")) RENAME TO key_of_before")
    #expect(try context.explain(request).stores[0].access == .identifiers)
  }

  @Test func longTextsAreIndexedByWhatTheyBeginWith() async throws {
    let library = try IndexedStand()
    try await library.add("byText", "text")
    let context = library.stand.context()
    // Of the same beginning, and over what an entry may take.
    let long = (0..<3).map { String(repeating: "é", count: 5_000) + "\($0)" }
    for text in long { try context.make("Book", ["text": text]) }
    try context.save()
    for text in long {
      #expect(try library.stand.context().all("Book", Attribute("text") == text).count == 1)
    }
  }

  @Test func savesOfOthersGoOnMeanwhile() async throws {
    let library = try IndexedStand()
    let other = try IndexedStand(of: library)
    let obstacle = try library.obstacle()
    let building = Task { try await library.add("byPages", "pages") }
    try await library.wait { try !library.builders().isEmpty }
    let context = other.stand.context()
    for number in 0..<5 {
      try context.make("Book", ["title": "meanwhile \(number)", "code": "m\(number)", "pages": 3])
      try context.save()
    }
    #expect(try library.added == ["byPages growing"])
    #expect(try other.added == ["byPages growing"])
    try obstacle.runText("COMMIT")
    try await building.value
    #expect(try other.added == ["byPages complete"])
    #expect(try library.stand.context().all("Book", Attribute("pages") == 3).count == 8)
  }

  @Test func aTaskThatIsCancelledLeavesNothingBehind() async throws {
    let library = try IndexedStand()
    let obstacle = try library.obstacle()
    let building = Task { try await library.add("byPages", "pages") }
    try await library.wait { try !library.builders().isEmpty }
    building.cancel()
    // The server cannot drop what there is as long as the obstacle is there: nobody waits for that.
    await #expect(throws: CancellationError.self) { try await building.value }
    #expect(try library.added == [])
    try obstacle.runText("COMMIT")
    try await library.wait { try library.relations().isEmpty }
    try await library.add("byPages", "pages")
    #expect(try library.added == ["byPages complete"])
  }

  @Test func removingItEndsTheBuilding() async throws {
    let library = try IndexedStand()
    let other = try IndexedStand(of: library)
    let obstacle = try library.obstacle()
    let building = Task { try await library.add("byPages", "pages") }
    try await library.wait { try !library.builders().isEmpty }
    let removing = Task { try await other.remove("byPages") }
    let error = await #expect(throws: CoreDataError.self) { try await building.value }
    #expect(error?.description.contains("was removed while it was being built") == true)
    try obstacle.runText("COMMIT")
    try await removing.value
    #expect(try library.added == [] && library.relations().isEmpty)
  }

  @Test func programsThatBuildTheSameShareIt() async throws {
    let library = try IndexedStand()
    let others = try (0..<3).map { _ in try IndexedStand(of: library) }
    let obstacle = try library.obstacle()
    let tasks = ([library] + others).map { program in Task { try await program.add("byPages", "pages") } }
    try await library.wait { try !library.builders().isEmpty }
    #expect(try library.builders().count == 1)
    try obstacle.runText("COMMIT")
    for task in tasks { try await task.value }
    #expect(try library.relations().count == 1 && library.relations().values.allSatisfy { $0 })
  }

  @Test func dataIsRefusedWithWords() async throws {
    let library = try IndexedStand()
    let error = await #expect(throws: (any Error).self) { try await library.add("byCover", "cover") }
    #expect("\(error as Any)".contains("byCover"))
    #expect(try library.added == [])
  }

  @Test func aModelThatDeclaresItListsItOnce() async throws {
    let library = try IndexedStand()
    try await library.add("byPages", "pages")
    func model(_ others: FetchIndexDescription...) -> ManagedObjectModel {
      let model = Library.make()
      model.entitiesByName["Book"]?.indexes =
        [FetchIndexDescription(name: "byPages", attributes: ["pages"])] + others
      return model
    }
    let declaring = try ServerStand(model(), url: library.stand.url)
    let listed = try declaring.coordinator.indexes(in: declaring.store).filter { $0.name == "byPages" }
    #expect(listed.map(\.isDeclared) == [true] && listed.map(\.isAdded) == [true])
    // A store that is made with them has them without having been told.
    func both() -> ManagedObjectModel {
      model(
        FetchIndexDescription(
          name: "byTitle",
          elements: [
            FetchIndexElementDescription(propertyName: "title", isAscending: false),
            FetchIndexElementDescription(propertyName: "pages", isAscending: true),
          ]))
    }
    let fresh = try ServerStand(both())
    let own = try fresh.coordinator.indexes(in: fresh.store)
    #expect(
      own.map { "\($0.entityName).\($0.name) \($0.isUnique)" } == [
        "Author.unique(name) true", "Book.byPages false", "Book.byTitle false", "Book.unique(code) true",
      ])
    #expect(own.allSatisfy { $0.isDeclared && !$0.isAdded && $0.isComplete })
    // The other store was made before, and does not have the second one.
    let older = try ServerStand(both(), url: library.stand.url)
    #expect(try !older.coordinator.indexes(in: older.store).contains { $0.name == "byTitle" })
  }
}
