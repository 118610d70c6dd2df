import StrataCore
import SwiftData
import Synchronization
import Testing

@Suite("Edges of rules")
struct EdgeTests {
  @Test("S66: models of two contexts are not related; the message says what to do")
  func twoContexts() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let container = try makeContainer()
      let (one, two) = (ModelContext(container), ModelContext(container))
      let (author, book) = (Author(name: "Ada"), Book("One"))
      one.insert(author)
      two.insert(book)
      book.author = author
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("of another context"))
    #expect(text.contains("persistentModelID"))
  }

  @Test("K17: a class of another version than the container's is refused, and never opened as the other")
  func versions() throws {
    let container = try ModelContainer(
      for: Schema(versionedSchema: LogV2.self), configurations: ModelConfiguration(isStoredInMemoryOnly: true)
    )
    let context = ModelContext(container)
    context.insert(LogV2.Entry("a"))
    try context.save()
    #expect(throws: SwiftDataError.unknownSchema) { try context.fetch(FetchDescriptor<LogV1.Entry>()) }
    #expect(throws: SwiftDataError.unknownSchema) { try context.fetchCount(FetchDescriptor<LogV1.Entry>()) }
    #expect(throws: SwiftDataError.unknownSchema) { try context.delete(model: LogV1.Entry.self) }
    let id = try #require(try context.fetchIdentifiers(FetchDescriptor<LogV2.Entry>()).first)
    let old: LogV1.Entry? = context.registeredModel(for: id)
    #expect(old == nil)
    #expect(context.model(for: id) is LogV2.Entry)
    // M8: the class that the schema lists.
    #expect(try context.fetch(FetchDescriptor<LogV2.Entry>()).map(\.body) == ["a"])
  }

  @Test("U1, D3: contexts save by themselves unless they are told not to, and never off the main thread")
  func autosaving() async throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    #expect(context.autosaveEnabled)
    context.insert(Book("One"))
    // A task is on no thread that saves by itself: turns of the main queue change nothing.
    for _ in 0..<3 { await MainActor.run {} }
    #expect(context.hasChanges)
  }

  @Test("U2: didSave comes behind the merge: a sibling that is asked in it shows what was saved")
  func order() throws {
    let container = try makeContainer()
    let (saving, sibling) = (ModelContext(container), ModelContext(container))
    let book = Book("One")
    saving.insert(book)
    try saving.save()
    let same = try #require(try sibling.fetch(FetchDescriptor<Book>()).first)
    struct Seen: @unchecked Sendable {
      // @unchecked Sendable: notifications are posted on the thread that saves, which is the test's.
      let sibling: ModelContext
      let book: Book
    }
    let seen = Seen(sibling: sibling, book: same)
    let titles = Mutex<[String]>([])
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: saving, queue: nil
    ) { _ in
      let count = try? seen.sibling.fetchCount(FetchDescriptor<Book>())
      titles.withLock { $0 += [seen.book.title, "\(count ?? 0)"] }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    book.title = "Two"
    saving.insert(Book("Three"))
    try saving.save()
    #expect(titles.withLock { $0 } == ["Two", "2"])
  }

  @Test("U7: setting an equal value writes no row")
  func equalValues() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let book = Book("One", pages: 3)
    context.insert(book)
    try context.save()
    book.title = "One"
    book.pages = 3
    try context.save()
    let changes = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).flatMap(\.changes)
    #expect(changes.count == 1)
    #expect(!context.hasChanges)
  }

  @Test("U10, D7: the fields of a struct are called by its coding keys")
  func composites() throws {
    let entity = try #require(Schema([Everything.self]).entitiesByName["Everything"])
    let address = try #require(entity.attributesByName["address"] as? SwiftData.Schema.CompositeAttribute)
    #expect(address.properties.map(\.name) == ["street", "city", "zip"])
  }

  @Test("U11: didSave names identifiers, and no generation")
  func userInfo() throws {
    let context = ModelContext(try makeContainer())
    let keys = Mutex<Set<String>>([])
    let observer = NotificationCenter.default.addObserver(
      forName: ModelContext.didSave, object: context, queue: nil
    ) { notification in
      let names = Set((notification.userInfo ?? [:]).keys.compactMap { $0 as? String })
      keys.withLock { $0 = names }
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    context.insert(Book("One"))
    try context.save()
    #expect(
      keys.withLock { $0 } == [
        "inserted", "updated", "deleted", "insertedIdentifiers", "updatedIdentifiers", "deletedIdentifiers",
      ])
  }

  @Test("D8: what is not optional in Swift is required in the store, and no model shows nil for it")
  func required() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    let model = try #require(context.managedObjectContext.persistentStoreCoordinator?.managedObjectModel)
    let book = try #require(model.entitiesByName["Book"])
    #expect(book.attributesByName["title"]?.isOptional == false)
    #expect(book.attributesByName["rating"]?.isOptional == true)
    context.insert(Book("One"))
    try context.save()
    let row = try #require(
      try context.managedObjectContext.fetch(FetchRequest<ManagedObject>(entityName: "Book")).first)
    row.setValue(nil, forKey: "title")
    #expect(try context.fetch(FetchDescriptor<Book>()).first?.title == "")
    #expect(throws: CocoaError.self) { try context.save() }
  }

  // MARK: Predicates

  private func library() throws -> ModelContext {
    let context = ModelContext(try makeContainer())
    let ada = Author(name: "Ada")
    for (title, pages) in [("beta", 10), ("Alpha", 20), ("gamma", 30)] {
      context.insert(Book(title, pages: pages, author: title == "gamma" ? nil : ada))
    }
    try context.save()
    return context
  }

  @Test("P1: predicates and expressions of Foundation are evaluated by models as by stores")
  func evaluation() throws {
    let context = try library()
    let predicates: [Predicate<Book>] = [
      #Predicate { $0.pages > 10 && $0.title != "x" },
      #Predicate { $0.author?.name == "Ada" },
      #Predicate { $0.author.flatMap { $0.name == "Ada" } ?? false },
      #Predicate { book in if let author = book.author { author.name == "Ada" } else { false } },
      #Predicate { $0.pages * 2 == 40 || (15...25).contains($0.pages) },
      #Predicate { ($0.pages > 15 ? $0.title : "z") == "Alpha" },
    ]
    let books = try context.fetch(FetchDescriptor<Book>())
    for predicate in predicates {
      let found = Set(try context.fetch(FetchDescriptor(predicate: predicate)).map(\.title))
      #expect(found == Set(try books.filter { try predicate.evaluate($0) }.map(\.title)))
      #expect(!found.isEmpty)
    }
    let doubled = #Expression<Book, Int> { $0.pages * 2 }
    #expect(try doubled.evaluate(books[0]) == books[0].pages * 2)
  }

  @Test("P4: a conjunction of conditions that are known apart is made of expressions")
  func conjunctions() throws {
    let context = try library()
    func condition(longerThan pages: Int?, by name: String?) -> Predicate<Book> {
      Predicate<Book> { book in
        PredicateExpressions.build_Conjunction(
          lhs: PredicateExpressions.build_Comparison(
            lhs: PredicateExpressions.build_KeyPath(root: book, keyPath: \.pages),
            rhs: PredicateExpressions.build_Arg(pages ?? -1), op: .greaterThan),
          rhs: PredicateExpressions.build_NotEqual(
            lhs: PredicateExpressions.build_KeyPath(root: book, keyPath: \.title),
            rhs: PredicateExpressions.build_Arg(name ?? "")))
      }
    }
    let found = try context.fetch(FetchDescriptor(predicate: condition(longerThan: 10, by: "gamma")))
    #expect(found.map(\.title) == ["Alpha"])
  }

  @Test("P6: cases of an enumeration are captured, also those that say how texts compare")
  func captured() throws {
    let context = try library()
    let (same, after) = (ComparisonResult.orderedSame, ComparisonResult.orderedDescending)
    func titles(_ predicate: Predicate<Book>) throws -> [String] {
      try context.fetch(FetchDescriptor(predicate: predicate, sortBy: [SortDescriptor(\.title)])).map(\.title)
    }
    #expect(try titles(#Predicate { $0.title.caseInsensitiveCompare("ALPHA") == same }) == ["Alpha"])
    #expect(try titles(#Predicate { $0.title.localizedCompare("b") == after }) == ["beta", "gamma"])
    #expect(
      try titles(#Predicate { $0.pages > 10 && $0.title.localizedCompare("b") == after }) == ["gamma"])
    #expect(
      try context.fetchCount(
        FetchDescriptor<Book>(predicate: #Predicate { $0.title.localizedCompare("b") == after }))
        == 2)
  }

  @Test("P6: whatever asks for models has them answer what no store can")
  func answeredByModels() throws {
    let context = try library()
    let after = ComparisonResult.orderedDescending
    let compared = FetchDescriptor<Book>(predicate: #Predicate { $0.title.localizedCompare("b") == after })
    let missing = FetchDescriptor<Book>(predicate: #Predicate { $0.notes == nil })
    for (descriptor, count) in [(compared, 2), (missing, 0)] {
      #expect(try context.fetch(descriptor).count == count)
      #expect(try context.fetchCount(descriptor) == count)
      #expect(try context.fetchIdentifiers(descriptor).count == count)
      #expect(try context.fetchIdentifiers(descriptor, batchSize: 1).count == count)
      #expect(try context.fetch(descriptor, batchSize: 10).count == count)
      var seen = 0
      try context.enumerate(descriptor, batchSize: 1) { _ in seen += 1 }
      #expect(seen == count)
      try context.delete(model: Book.self, where: descriptor.predicate)
      #expect(try context.fetchCount(FetchDescriptor<Book>()) == 1)
    }
  }

  @Test("P6: without unsaved changes the stored values answer what no store can")
  func answeredByStoredValues() throws {
    let context = try library()
    let after = ComparisonResult.orderedDescending
    var descriptor = FetchDescriptor<Book>(
      predicate: #Predicate { $0.title.localizedCompare("b") == after },
      sortBy: [SortDescriptor(\.title, comparator: .lexical)])
    descriptor.includePendingChanges = false
    for book in try context.fetch(FetchDescriptor<Book>()) {
      book.title = book.title == "Alpha" ? "delta" : "a \(book.title)"
    }
    context.insert(Book("new"))
    #expect(try context.fetch(descriptor).map(\.title) == ["a beta", "a gamma"])
    #expect(try context.fetchCount(descriptor) == 2 && context.fetchIdentifiers(descriptor).count == 2)
    descriptor.fetchLimit = 1
    descriptor.fetchOffset = 1
    #expect(try context.fetch(descriptor, batchSize: 5).map(\.title) == ["a gamma"])
    descriptor = FetchDescriptor(predicate: descriptor.predicate, sortBy: descriptor.sortBy)
    #expect(try context.fetch(descriptor).map(\.title) == ["delta", "new"])
  }

  @Test("P8: key paths through relationships and into structs are known by name")
  func composedKeyPaths() throws {
    let context = try library()
    let order = [SortDescriptor(\Book.author?.name, order: .reverse), SortDescriptor(\Book.pages)]
    #expect(
      try context.fetch(FetchDescriptor<Book>(sortBy: order)).map(\.title) == ["beta", "Alpha", "gamma"])
    for city in ["Oslo", "Bergen"] {
      let one = Everything()
      one.address = Residence(street: "", city: city, zip: nil)
      context.insert(one)
    }
    try context.save()
    let cities = try context.fetch(
      FetchDescriptor<Everything>(
        predicate: #Predicate { $0.address.city != "x" }, sortBy: [SortDescriptor(\.address.city)]))
    #expect(cities.map(\.address.city) == ["Bergen", "Oslo"])
  }

  @Test("P7, U5: orders of texts: of people, of the user's language, of bytes; nil first")
  func orders() throws {
    let context = ModelContext(try makeContainer())
    for title in ["b 10", "B 9", "a", "Z"] {
      context.insert(Book(title, author: title == "a" ? nil : Author(name: title)))
    }
    try context.save()
    func titles(_ sorts: SortDescriptor<Book>...) throws -> [String] {
      var descriptor = FetchDescriptor<Book>(sortBy: sorts)
      let all = try context.fetch(descriptor).map(\.title)
      descriptor.fetchLimit = 2
      descriptor.fetchOffset = 1
      #expect(try context.fetch(descriptor).map(\.title) == Array(all[1...2]))
      return all
    }
    #expect(try titles(SortDescriptor(\.title)) == ["a", "B 9", "b 10", "Z"])
    #expect(try titles(SortDescriptor(\.title, comparator: .localizedStandard)) == ["a", "B 9", "b 10", "Z"])
    #expect(try titles(SortDescriptor(\.title, comparator: .lexical)) == ["B 9", "Z", "a", "b 10"])
    let words = ["b 10", "B 9", "a", "Z"].sorted { $0.localizedCompare($1) == .orderedAscending }
    #expect(try titles(SortDescriptor(\.title, comparator: .localized)) == words)
    #expect(try titles(SortDescriptor(\.title, comparator: .localized, order: .reverse)) == words.reversed())
    #expect(try titles(SortDescriptor(\.author?.name, comparator: .localized)).first == "a")
    #expect(
      try context.fetch(FetchDescriptor<Book>()).sorted(
        using: SortDescriptor(\.title, comparator: .localized)
      )
      .map(\.title) == words)
  }
}
