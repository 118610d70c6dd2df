import Foundation
import Strata
import Testing

/// What is assigned to the properties of a request, in Foundation's types and in Strata's.
@MainActor @Suite struct RequestPropertyTests {
  @Test func aFoundationPredicateIsAssigned() async throws {
    let context = try await Reading().context
    var request = FetchRequest<Book>()
    request.predicate = #Predicate<Book> { $0.pages > 300 }
    request.sortDescriptors = [FetchSort(\Book.title, .reverse)]
    #expect(try context.fetch(request).map(\.title) == ["Middlemarch", "Emma"])
    #expect(try context.count(for: request) == 2)
    request.predicate = #Predicate { $0.pages < 100 }
    request.sortDescriptors = [FetchSort("title", ascending: true)]
    #expect(try context.fetch(request).map(\.title) == ["Café stories", "cafe notes"])
    request.predicate = Attribute("title") == "Emma"
    #expect(try context.fetch(request).count == 1)
    request.predicate = .everything
    #expect(try context.fetch(request).count == 6)
    request.predicate = nil
    #expect(try context.fetch(request).count == 6)
  }

  @Test func bothKindsAreJoined() async throws {
    let context = try await Reading().context
    var request = FetchRequest<Book>(where: #Predicate { $0.pages > 200 }, sortedBy: .forward(\.pages))
    if let first = request.predicate { request.predicate = first && Attribute("title").beginsWith("M") }
    #expect(try context.fetch(request).map(\.title) == ["Middlemarch"])
    request.predicate = !FetchPredicate(#Predicate<Book> { $0.pages > 200 })
    #expect(try context.fetch(request).map(\.pages) == [12, 90])
    let whole: Predicate<Book>? = request.predicate
    #expect(whole == nil, "not the predicate that was assigned as a whole")
    request.predicate = #Predicate { $0.pages > 200 }
    let assigned: Predicate<Book>? = request.predicate
    #expect(assigned != nil)
  }

  @Test func requestsAreMadeFromEitherKind() async throws {
    let context = try await Reading().context
    #expect(try context.fetch(FetchRequest<Book>(where: Attribute("pages") > 300)).count == 2)
    #expect(try context.fetch(FetchRequest(where: #Predicate<Book> { $0.pages > 300 })).count == 2)
    let request = FetchRequest<Book>(sortedBy: [SortDescriptor(\.pages)])
    #expect(try context.fetch(request).first?.pages == 12)
    let sorted = FetchRequest<Book>(where: #Predicate { $0.pages > 12 }, sortedBy: [SortDescriptor(\.pages)])
    #expect(try context.fetch(sorted).first?.pages == 90)
  }

  @Test func everyUseOfARequestTakesThem() async throws {
    let context = try await Reading().context
    var request = FetchRequest<Book>(where: #Predicate { $0.pages > 200 }, sortedBy: .reverse(\.pages))
    #expect(try context.fetchInBatches(request).map(\.pages) == [880, 474, 260, 249])
    #expect(try context.fetch(request.returning(ManagedObjectID.self)).count == 4)
    #expect(try context.execute(request).count == 4)
    let page = try context.fetchPage(request, size: 3)
    #expect(page.results.map(\.pages) == [880, 474, 260])
    #expect(try context.fetchPage(request, size: 3, after: page.continuation).results.map(\.pages) == [249])
    #expect("\(try context.explain(request))".isEmpty == false)
    let asynchronous = try await context.fetchAsynchronously(request)
    #expect(asynchronous.map(\.pages) == [880, 474, 260, 249])
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: context)
    try controller.performFetch()
    #expect(controller.fetchedObjects?.map(\.pages) == [880, 474, 260, 249])
    request.fetchLimit = 1
    #expect(try context.fetch(request).map(\.pages) == [880])
    var rows = FetchRequest<FetchedDictionary>(
      entityName: "Book", predicate: FetchPredicate(#Predicate<Book> { $0.pages > 200 }),
      sortDescriptors: [FetchSort(\Book.title)])
    rows.propertiesToFetch = ["title"]
    #expect(try context.fetch(rows).compactMap { $0.string("title") }.first == "Emma")
  }

  @Test func batchesTakeThem() async throws {
    let reading = try await Reading()
    let context = reading.context
    let updated = try context.execute(
      BatchUpdateRequest(
        entityName: "Book", predicate: FetchPredicate(#Predicate<Book> { $0.pages > 300 }),
        propertiesToUpdate: ["isBorrowed": true]))
    #expect(updated.count == 2)
    #expect(try context.count(Book.self, where: #Predicate { $0.isBorrowed }) == 2)
    let small = FetchRequest(where: #Predicate<Book> { $0.pages < 100 })
    #expect(try context.execute(BatchDeleteRequest(fetchRequest: small)).count == 2)
    #expect(try context.count(Book.self) == 4)
  }

  @Test func requestsAreMadeInEveryOrder() async throws {
    let context = try await Reading().context
    func pages(_ request: FetchRequest<Book>) throws -> [Int64] { try context.fetch(request).map(\.pages) }
    #expect(try pages(FetchRequest<Book>(sortedBy: \.pages)) == [12, 90, 249, 260, 474, 880])
    #expect(try pages(FetchRequest<Book>(sortedBy: .reverse(\.pages))) == [880, 474, 260, 249, 90, 12])
    #expect(try pages(FetchRequest<Book>(sortedBy: [.reverse(\.pages)])) == [880, 474, 260, 249, 90, 12])
    #expect(try pages(FetchRequest(sortedBy: [SortDescriptor(\.pages)])) == [12, 90, 249, 260, 474, 880])
    #expect(try pages(FetchRequest(where: Attribute("pages") > 300, sortedBy: \.pages)) == [474, 880])
    #expect(
      try pages(FetchRequest(where: #Predicate<Book> { $0.pages > 300 }, sortedBy: \.pages)) == [474, 880])
  }

  @Test func aPredicateOnAnotherClassIsRefused() async throws {
    let context = try await Reading().context
    let request = FetchRequest<ManagedObject>(
      entityName: "Author", predicate: FetchPredicate(#Predicate<Book> { $0.pages > 300 }))
    let error = #expect(throws: PredicateTranslationError.self) { try context.fetch(request) }
    #expect(error?.description.contains("Author") == true)
    let sorted = FetchRequest<Author>(sortDescriptors: [FetchSort(\Book.title)])
    let misplaced = #expect(throws: PredicateTranslationError.self) { try context.fetch(sorted) }
    #expect(error?.place == .predicate && misplaced?.place == .sortKey)
  }

  @Test func anOrderHasAText() {
    #expect(FetchSort("title").key == "title")
    #expect(FetchSort(\Book.title) == FetchSort(\Book.title))
    #expect(FetchSort(\Book.title) != FetchSort(\Book.title, .reverse))
    #expect(FetchSort(\Book.title) != FetchSort(\Book.isbn))
    var sort = FetchSort(\Book.title)
    sort.key = "isbn"
    #expect(sort == FetchSort("isbn"))
  }
}
