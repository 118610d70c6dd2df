import Foundation
import Strata
import Testing

/// How a request is run and what it may return (section D).
struct EntryPointTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(SalesModel.make())
    let writer = store.context()
    let lamp = writer.addProduct("Lamp")
    for (region, amount) in [("North", 3), ("South", 1), ("West", 2)] as [(String, Int64)] {
      writer.addSale(region, amount, of: lamp)
    }
    let online = OnlineSale(context: writer)
    online.region = "Web"
    online.amount = 4
    try writer.save()
    context = store.context()
  }

  @Test("rules 84, 85, 267: defaults and the numbers of result types and of kinds of requests")
  func defaultsAndResultTypes() {
    let request = FetchRequest<FetchedDictionary>(entityName: "Sale")
    #expect(request.propertiesToFetch.isEmpty && request.propertiesToGroupBy.isEmpty)
    #expect(request.havingPredicate == nil && !request.returnsDistinctResults && request.fetchBatchSize == 0)
    #expect(request.resultType == .dictionary)
    #expect(FetchRequest<Sale>().resultType == .managedObject)
    #expect(FetchRequest<ManagedObjectID>(entityName: "Sale").resultType == .managedObjectID)
    #expect(FetchRequest<Int>(entityName: "Sale").resultType == .count)
    #expect(FetchResultType.allCases.map(\.rawValue) == [0, 1, 2, 4])
    let numbers: [(any PersistentStoreRequest, PersistentStoreRequestType, UInt)] = [
      (FetchRequest<Sale>(), .fetch, 1),
      (BatchInsertRequest(entityName: "Sale", objects: []), .batchInsert, 5),
      (BatchUpdateRequest(entityName: "Sale", propertiesToUpdate: [:]), .batchUpdate, 6),
      (BatchDeleteRequest(fetchRequest: FetchRequest<Sale>()), .batchDelete, 7),
    ]
    for (request, type, number) in numbers {
      #expect(request.requestType == type && type.rawValue == number)
    }
    #expect(PersistentStoreRequestType.save.rawValue == 2)
    // The number of history requests is ours.
    #expect(PersistentStoreRequestType.allCases.map(\.rawValue) == [1, 2, 5, 6, 7, 8])
  }

  @Test("a request by class finds the entity of that class in the context's model")
  func requestByClass() throws {
    #expect(try context.fetch(FetchRequest<OnlineSale>()).map(\.region) == ["Web"])
    #expect(try context.count(for: FetchRequest<Sale>(predicate: Attribute("amount") > 1)) == 3)
    #expect(try context.fetchInBatches(FetchRequest<Sale>(fetchLimit: 2)).count == 2)
    let error = #expect(throws: CoreDataError.self) { try context.fetch(FetchRequest<Entry>()) }
    #expect(error?.localizedDescription.contains("No entity") == true)
    let surf = try TemporaryStore()
    let twins = #expect(throws: CoreDataError.self) { try surf.context().fetch(FetchRequest<Twin>()) }
    #expect(twins?.localizedDescription.contains("Several entities") == true)
  }

  @Test("rule 103: a name the model does not have is an error when a context uses the request")
  func unknownName() {
    let request = FetchRequest<Sale>(entityName: "Sail")
    #expect(request.entityName == "Sail")
    #expect(throws: FetchError.self) { try context.fetch(request) }
    #expect(throws: FetchError.self) { try context.execute(request) }
  }

  @Test("rule 91: a count request returns one number, pending changes included")
  func countResult() throws {
    #expect(try context.fetch(FetchRequest<Int>(entityName: "Sale")) == [4])
    context.addSale("new", 9)
    #expect(try context.fetch(FetchRequest<Int>(entityName: "Sale")) == [5])
    #expect(try context.execute(FetchRequest<Int>(entityName: "Sale", fetchLimit: 2)) == [2])
  }

  @Test("rule 113: execute runs a fetch of every kind and refuses to save")
  func execute() throws {
    let sorts = [FetchSort("amount")]
    #expect(
      try context.execute(FetchRequest<Sale>(sortDescriptors: sorts)).map(\.amount) == [1, 2, 3, 4])
    #expect(try context.execute(FetchRequest<ManagedObjectID>(entityName: "Sale")).count == 4)
    #expect(try context.execute(FetchRequest<FetchedDictionary>(entityName: "Sale")).count == 4)
    let error = #expect(throws: CoreDataError.self) { try context.execute(Saving()) }
    #expect(error?.code == .persistentStoreOperation)
  }

  /// A request that no context carries out.
  private struct Saving: PersistentStoreRequest {
    var requestType: PersistentStoreRequestType { .save }
    var affectedStores: Set<UUID>? { nil }
    func outcome(in context: ManagedObjectContext) throws {}
  }

  @Test("rule 104: FetchRequest.execute uses the context whose block is running, and throws outside of one")
  func executeInBlock() throws {
    let request = FetchRequest<Sale>(predicate: Attribute("region") == "new")
    let background = store.context(.privateQueue)
    try background.performAndWait {
      background.addSale("new", 1)
      #expect(try request.execute().count == 1)
      #expect(try request.execute().first?.managedObjectContext === background)
      let inner = try context.performAndWait { try request.execute() }
      #expect(inner.isEmpty)
      #expect(try FetchRequest<Int>(entityName: "Sale").execute() == [5])
    }
    let error = #expect(throws: CoreDataError.self) { try request.execute() }
    #expect(error?.localizedDescription.contains("outside of perform") == true)
  }

  @Test("rule 101: IDs without property values come in the order asked for")
  func identifiersWithoutValues() throws {
    var request = FetchRequest<ManagedObjectID>(
      entityName: "Sale", sortDescriptors: [FetchSort("amount", ascending: false)])
    request.includesPropertyValues = false
    let ids = try context.fetch(request)
    #expect(ids.map { context.object(with: $0).value(forKey: "amount") as? Int64 } == [4, 3, 2, 1])
    context.addSale("new", 10)
    #expect(try context.fetch(request).first?.isTemporaryID == true)
  }

  @Test("rule 93: without subentities none of theirs is in a result of any type")
  func withoutSubentities() throws {
    OnlineSale(context: context).region = "unsaved"
    context.addSale("unsaved", 1)
    func check<R: FetchRequestResult>(_ type: R.Type, _ expected: Int, _ count: ([R]) -> Int) throws {
      var request = FetchRequest<R>(entityName: "Sale")
      request.includesSubentities = false
      #expect(count(try context.execute(request)) == expected)
      #expect(try context.count(for: request) == expected)
    }
    try check(Sale.self, 4) { $0.count }
    try check(ManagedObjectID.self, 4) { $0.count }
    try check(Int.self, 4) { $0[0] }
    // What is stored only (rule 88).
    try check(FetchedDictionary.self, 3) { $0.count }
  }

  @Test("rule 53: returnsObjectsAsFaults off gives realised objects, rows of other contexts and new ones")
  func realisedObjects() throws {
    var request = FetchRequest<Sale>()
    #expect(try context.fetch(request).allSatisfy(\.isFault))
    request.returnsObjectsAsFaults = false
    #expect(try context.fetch(request).allSatisfy { !$0.isFault })
    request.includesPropertyValues = false
    let other = store.context()
    other.addSale("new", 1)
    #expect(try other.fetch(request).allSatisfy { !$0.isFault })
  }

  @Test("rule 102: propertiesToFetch of objects is checked, and values are right whenever they are read")
  func partialObjects() throws {
    var request = FetchRequest<Sale>(sortDescriptors: [FetchSort("amount")])
    request.propertiesToFetch = ["region", "product"]
    let sales = try context.fetch(request)
    #expect(sales.map(\.amount) == [1, 2, 3, 4])
    #expect(sales.map(\.region) == ["South", "West", "North", "Web"])
    request.propertiesToFetch = ["regoin"]
    #expect(throws: FetchError.self) { try context.fetch(request) }
    request.propertiesToFetch = [.count(as: "n")]
    #expect(throws: FetchError.self) { try context.fetch(request) }
    var products = FetchRequest<Product>()
    products.propertiesToFetch = ["sales"]
    #expect(throws: FetchError.self) { try context.fetch(products) }
  }

  @Test("rule 98: grouping and having need rows of values")
  func groupingNeedsDictionaries() {
    var request = FetchRequest<Sale>()
    request.propertiesToGroupBy = ["region"]
    let error = #expect(throws: FetchError.self) { try context.fetch(request) }
    #expect(error?.description.contains("FetchedDictionary") == true)
    #expect(throws: FetchError.self) { try context.count(for: request) }
    request.propertiesToGroupBy = []
    request.havingPredicate = .everything
    #expect(throws: FetchError.self) { try context.fetch(request) }
  }
}
