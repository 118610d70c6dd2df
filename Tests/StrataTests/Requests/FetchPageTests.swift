import Foundation
import Strata
import Testing

/// Pages of endless lists.
struct FetchPageTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(SalesModel.make())
    let writer = store.context()
    for number in 0..<20 { writer.addSale("r\(number)", Int64(number)) }
    try writer.save()
    context = store.context()
  }

  private let byAmount = FetchRequest<Sale>(sortDescriptors: [FetchSort("amount")])

  @Test("pages follow one another, and the last one says so")
  func wholeList() throws {
    var page = try context.fetchPage(byAmount, size: 8)
    var amounts = page.results.map(\.amount)
    while !page.isLast {
      page = try context.fetchPage(byAmount, size: 8, after: page.continuation)
      amounts += page.results.map(\.amount)
    }
    #expect(amounts == (0..<20).map { Int64($0) })
    #expect(page.results.count == 4)
    let ids = FetchRequest<ManagedObjectID>(entityName: "Sale", sortDescriptors: [FetchSort("amount")])
    #expect(
      try context.fetchPage(ids, size: 4, after: context.fetchPage(ids, size: 4).continuation).results.map {
        (context.object(with: $0) as? Sale)?.amount
      } == [4, 5, 6, 7])
  }

  @Test("what is inserted, deleted and changed between pages is neither repeated nor left out")
  func changesBetweenPages() throws {
    let first = try context.fetchPage(byAmount, size: 5)
    let writer = store.context()
    let sales = try writer.fetch(byAmount)
    writer.delete(sales[2])
    writer.delete(sales[4])
    writer.addSale("before", 1)
    writer.addSale("behind", 5)
    sales[6].amount = -1
    try writer.save()
    let next = try context.fetchPage(byAmount, size: 5, after: first.continuation)
    #expect(next.results.map(\.amount) == [5, 5, 7, 8, 9])
    #expect(next.results.map(\.region).prefix(2) == ["r5", "behind"])
  }

  @Test("a continuation at the end finds what is appended later")
  func appending() throws {
    let page = try context.fetchPage(byAmount, size: 50)
    #expect(page.isLast && page.results.count == 20)
    var more = try context.fetchPage(byAmount, size: 5, after: page.continuation)
    #expect(more.results.isEmpty && more.isLast && more.continuation == page.continuation)
    context.addSale("new", 100)
    more = try context.fetchPage(byAmount, size: 5, after: page.continuation)
    #expect(more.results.map(\.region) == ["new"])
    #expect(try context.fetchPage(FetchRequest<Product>(), size: 5).continuation == nil)
  }

  @Test("a continuation travels as data and describes its place")
  func coding() throws {
    let request = FetchRequest<Sale>(
      sortDescriptors: [FetchSort("product", ascending: false), FetchSort("region"), FetchSort("price")])
    let sales = try context.fetch(byAmount)
    sales[3].product = context.addProduct("p")
    sales[3].price = .infinity
    try context.save()
    let page = try context.fetchPage(request, size: 1)
    let continuation = try #require(page.continuation)
    let copy = try JSONDecoder().decode(
      FetchContinuation.self, from: JSONEncoder().encode(continuation))
    #expect(copy == continuation)
    #expect("\(copy)".contains("r3"))
    #expect(copy.values.count == 3 && copy.values[1] == "r3" && copy.values[2] == .double(.infinity))
    #expect(try context.fetchPage(request, size: 2, after: copy).results.map(\.region) == ["r0", "r1"])
  }

  @Test("a continuation of another request, a window and an empty page are errors")
  func errors() throws {
    let continuation = try context.fetchPage(byAmount, size: 2).continuation
    var others = [byAmount, byAmount, byAmount, byAmount]
    others[0].sortDescriptors = [FetchSort("amount", ascending: false)]
    others[1].predicate = Attribute("amount") > 1
    others[2].includesSubentities = false
    others[3].sortDescriptors = []
    for other in others {
      let error = #expect(throws: FetchError.self) {
        try context.fetchPage(other, size: 2, after: continuation)
      }
      #expect(error?.reason == .foreignContinuation)
    }
    var window = byAmount
    window.fetchLimit = 3
    #expect(throws: FetchError.self) { try context.fetchPage(window, size: 2) }
    #expect(throws: FetchError.self) { try context.fetchPage(byAmount, size: 0) }
    let forged = #"{"entity":"Sale","store":"\#(store.identifier)","key":99,"request":1,"values":[]}"#
    let token = try JSONDecoder().decode(FetchContinuation.self, from: Data(forged.utf8))
    #expect(throws: FetchError.self) { try context.fetchPage(byAmount, size: 2, after: token) }
  }

  @Test("rule 322: pages go across stores, also over sales that no sort key distinguishes")
  func severalStores() throws {
    let coordinator = try PersistentStoreCoordinator.withTwoStores(SalesModel.make())
    let context = ManagedObjectContext(.confinement, coordinator: coordinator)
    for number in 0..<12 {
      try context.assign(
        context.addSale("s\(number)", Int64(number / 6)), to: coordinator.persistentStores[number % 2])
    }
    try context.save()
    let whole = try context.fetch(byAmount).map(\.region)
    for size in 1...5 {
      var page = try context.fetchPage(byAmount, size: size)
      var found = page.results.map(\.region)
      while !page.isLast {
        page = try context.fetchPage(byAmount, size: size, after: page.continuation)
        found += page.results.map(\.region)
      }
      #expect(found.count == 12 && Set(found).count == 12)
      #expect(found == whole)
    }
  }

  @Test(
    "random lists, read in pages while others change them, against a plain sort", arguments: [true, false])
  func randomPages(indexed: Bool) throws {
    var dice = Dice(seed: .random(in: 0...UInt64.max))
    let store = try TemporaryStore(SalesModel.make(indexed: indexed))
    let writer = store.context()
    let products = ["x", "y", "z"].map { writer.addProduct($0).objectID }
    func fill(_ sale: Sale) {
      sale.region = dice.roll(4) == 0 ? nil : dice.word()
      sale.amount = dice.roll(5) == 0 ? nil : Int64(dice.roll(6))
      sale.price = dice.roll(5) == 0 ? nil : Double(dice.roll(4)) / 2
      sale.setValue(dice.roll(3) == 0 ? nil : dice.roll(2) == 0, forKey: "isPaid")
      let product = products[dice.roll(3)]
      sale.product =
        dice.roll(3) == 0 ? nil : sale.managedObjectContext?.object(with: product) as? Product
    }
    for _ in 0..<120 { fill(dice.roll(3) == 0 ? OnlineSale(context: writer) : Sale(context: writer)) }
    try writer.save()
    let keys = ["amount", "price", "isPaid", "region", "product.name"]
    for round in 0..<60 {
      var request = FetchRequest<Sale>()
      for _ in 0..<dice.roll(3) {
        request.sortDescriptors.append(FetchSort(keys[dice.roll(5)], ascending: dice.roll(2) == 0))
      }
      switch dice.roll(5) {
      case 0: request.predicate = Attribute("amount") > 1
      case 1: request.predicate = Attribute("isPaid") == true
      case 2: request.predicate = Attribute("product.name") == "x"
      default: break
      }
      // Unsaved changes in one or two levels, and what another context saves between the pages.
      let context = store.context()
      let sales = try context.fetch(FetchRequest<Sale>())
      for _ in 0..<dice.roll(6) { fill(sales[dice.roll(sales.count)]) }
      for _ in 0..<dice.roll(3) { context.addSale(dice.word(), Int64(dice.roll(6))) }
      if dice.roll(3) == 0 { try context.fetch(FetchRequest<Product>())[0].name = dice.word() }
      let reader = dice.roll(2) == 0 ? context : ManagedObjectContext(.confinement, parent: context)
      let whole = try reader.fetch(request).map(\.objectID)
      var found: [ManagedObjectID] = []
      var continuation: FetchContinuation?
      let size = 1 + dice.roll(30)
      while true {
        let page = try reader.fetchPage(request, size: size, after: continuation)
        found += page.results.map(\.objectID)
        continuation = page.continuation
        if page.isLast { break }
      }
      #expect(found == whole, "round \(round), seed \(dice.seed), \(request)")
      if found != whole { return }
      if dice.roll(3) == 0 {
        for _ in 0..<4 { fill(try writer.fetch(FetchRequest<Sale>())[dice.roll(100)]) }
        try writer.save()
      }
    }
  }
}
