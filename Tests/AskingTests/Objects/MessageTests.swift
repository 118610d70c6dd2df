import Foundation
import Strata
import Testing

/// What errors say to people.
@MainActor @Suite struct MessageTests {
  @Test func severalInvalidValuesAreListed() async throws {
    let container = PersistentContainer(name: "Strict", model: Self.strictModel())
    container.persistentStoreDescriptions = [.inMemory]
    try await container.loadPersistentStores()
    let context = container.viewContext
    for _ in 0..<2 {
      _ = try EntityDescription.insertNewObject(forEntityName: "Form", into: context)
    }
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    let text = error?.errorDescription ?? ""
    #expect(error?.code == .validationMultipleErrors)
    #expect(text.contains("4 values are not valid"), "\(text)")
    #expect(text.contains("Form.name") && text.contains("Form.age"), "\(text)")
    #expect(text.contains("(2 times)"), "\(text)")
    #expect((error?.userInfo[CoreDataError.Key.detailedErrors] as? [any Error])?.count == 4)
    #expect("\(try #require(error))".contains("Form.name"), "the description as well")
    #expect((try #require(error) as NSError).localizedDescription.contains("Form.name"))
  }

  private static func strictModel() -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription(
        "Form",
        properties: [
          AttributeDescription("name", .string, isOptional: false),
          AttributeDescription("age", .integer64, isOptional: false),
        ])
    ])
  }

  @Test func aMergedDuplicateSaysWhatItBecame() async throws {
    let reading = try await Reading()
    let context = reading.context
    let first = Library.make("First", 1, in: context)
    first.isbn = "1"
    try context.save()
    let other = reading.container.newBackgroundContext()
    other.mergePolicy = .mergeByPropertyObjectTrump
    let kept = first.objectID
    try await other.perform {
      let duplicate = Library.make("Second", 2, in: other)
      duplicate.isbn = "1"
      let lost = duplicate.objectID
      try other.save()
      let error = #expect(throws: CoreDataError.self) { try other.existingObject(with: lost) }
      let text = error?.errorDescription ?? ""
      #expect(text.contains(kept.uriRepresentation().absoluteString), "\(text)")
      #expect(text.contains("merged"), "\(text)")
      #expect(try other.existingObject(with: kept).value(forKey: "title") as? String == "Second")
    }
  }

  @Test func aConflictOfVeryManyNamesAFew() async throws {
    let context = try await Reading().context
    for number in 0..<300 { Library.make("Copy \(number)", 1, in: context).isbn = "the same" }
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    let text = error?.errorDescription ?? ""
    #expect(error?.code == .managedObjectConstraintMerge)
    #expect(text.contains("… and 295 more have the same isbn"), "\(text)")
    #expect(text.count < 400, "\(text)")
    let conflicts = error?.userInfo[CoreDataError.Key.constraintConflicts] as? [ConstraintConflict]
    #expect(conflicts?.first?.conflictingObjects.count == 300)
  }

  @Test func askingBeforeStoresAreLoadedSaysSo() async throws {
    let container = PersistentContainer(name: "Library", model: Library.makeModel())
    let context = container.viewContext
    func check(_ ask: () throws -> Void, _ location: SourceLocation = #_sourceLocation) {
      let error = #expect(throws: CoreDataError.self, sourceLocation: location) { try ask() }
      #expect(
        error.map { "\($0)".contains("loadPersistentStores") } == true, "\(error.map { "\($0)" } ?? "")",
        sourceLocation: location)
    }
    check { _ = try context.fetch(Book.self) }
    check { _ = try context.fetch(FetchRequest<Book>()) }
    check { _ = try context.first(Book.self, where: #Predicate { $0.pages > 1 }) }
    check { _ = try context.count(Book.self) }
    check { _ = try context.exists(Book.self) }
    check { _ = try context.delete(Book.self, where: .everything) }
    check { _ = try context.fetch(Book.self, values: \.title, \.pages) }
    check { _ = try context.fetch(FetchRequest<ManagedObjectID>(entityName: "Book")) }
    check { _ = try context.fetch(FetchRequest<FetchedDictionary>(entityName: "Book")) }
    check { _ = try context.fetchInBatches(FetchRequest<Book>()) }
    check { _ = try context.fetchPage(FetchRequest<Book>(), size: 2) }
    check { _ = try context.explain(FetchRequest<Book>()) }
    check { _ = try container.liveList(Book.self) }
    check {
      try FetchedResultsController(fetchRequest: FetchRequest<Book>(), managedObjectContext: context)
        .performFetch()
    }
    check {
      _ = try context.execute(BatchUpdateRequest(entityName: "Book", propertiesToUpdate: ["pages": 1]))
    }
    check {
      _ = try context.execute(
        BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Book")))
    }
    check { _ = try context.execute(BatchInsertRequest(entityName: "Book", objects: [["title": "x"]])) }
    _ = Library.make("Early", 1, in: context)
    check { try context.save() }
  }

  @Test func aRefusalOfATransformerEndsWithOneFullStop() async throws {
    AttributeTransformers.set(CodableTransformer<[String: String]>(), forName: "MessageTests.marks")
    let marks = AttributeDescription("marks", .transformable)
    marks.valueTransformerName = "MessageTests.marks"
    let form = EntityDescription("Form", properties: [marks])
    let container = PersistentContainer(name: "Marks", model: ManagedObjectModel(entities: [form]))
    container.persistentStoreDescriptions = [.inMemory]
    try await container.loadPersistentStores()
    let context = container.viewContext
    try EntityDescription.insertNewObject(forEntityName: "Form", into: context).setValue(5, forKey: "marks")
    let text = #expect(throws: CoreDataError.self) { try context.save() }?.errorDescription ?? ""
    #expect(text.hasSuffix(": A value of type Int is no Dictionary<String, String>."), "\(text)")
  }

  @Test func mistakesOfTheModelNameClassAndProperty() async throws {
    let book = EntityDescription(
      "Volume", managedObjectClass: Book.self, properties: [AttributeDescription("title", .string)])
    let container = PersistentContainer(name: "Wrong", model: ManagedObjectModel(entities: [book]))
    container.persistentStoreDescriptions = [.inMemory]
    let error = await #expect(throws: ModelError.self) { try await container.loadPersistentStores() }
    let text = error.map { "\($0)" } ?? ""
    #expect(text.contains("Class Book") && text.contains("Volume") && text.contains("title"), "\(text)")
  }

  @Test func aClassOfNoEntityIsNamed() async throws {
    let context = try await Reading().context
    let error = #expect(throws: CoreDataError.self) { try context.fetch(Stranger.self) }
    #expect(error.map { "\($0)".contains("Stranger") } == true)
  }

  private final class Stranger: ManagedObject {}
}
