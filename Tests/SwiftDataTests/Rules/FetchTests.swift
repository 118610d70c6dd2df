import SwiftData
import Testing

@Suite("Fetching")
struct FetchTests {
  private func makeLibrary() throws -> ModelContext {
    let context = ModelContext(try makeContainer())
    let ann = Author(name: "Ann", born: Date(timeIntervalSinceReferenceDate: 10))
    let bob = Author(name: "Böb")
    context.insert(ann)
    context.insert(bob)
    for (title, pages, rating, author) in [
      ("Alpha 2", 100, 4.5 as Double?, ann as Author?), ("alpha 10", 200, nil, ann), ("Beta", 300, 2, bob),
      ("Éclair", 50, 5, nil), ("gamma", 300, nil, nil),
    ] {
      let book = Book(title, pages: pages, author: author)
      book.rating = rating
      context.insert(book)
    }
    try context.save()
    return context
  }

  private func titles(_ context: ModelContext, _ predicate: Predicate<Book>) throws -> Set<String> {
    Set(try context.fetch(FetchDescriptor(predicate: predicate)).map(\.title))
  }

  @Test("S49, K11: unsaved changes count, and the stored state where they are not to")
  func pendingChanges() throws {
    let context = try makeLibrary()
    let beta = try #require(
      try context.fetch(FetchDescriptor<Book>(predicate: #Predicate { $0.title == "Beta" })).first)
    beta.title = "Delta"
    context.insert(Book("New", pages: 300))
    let gamma = try #require(
      try context.fetch(FetchDescriptor<Book>(predicate: #Predicate { $0.title == "gamma" })).first)
    context.delete(gamma)
    var descriptor = FetchDescriptor<Book>(predicate: #Predicate { $0.pages == 300 })
    #expect(Set(try context.fetch(descriptor).map(\.title)) == ["Delta", "New"])
    #expect(try context.fetchCount(descriptor) == 2)
    descriptor.includePendingChanges = false
    let stored = try context.fetch(descriptor)
    #expect(stored.count == 2)
    #expect(stored.contains { $0 === beta })
    #expect(beta.title == "Delta")
    #expect(beta.author?.name == "Böb")
  }

  @Test("S50, P7: nil sorts first, descriptors apply in order, texts as people order them")
  func sorting() throws {
    let context = try makeLibrary()
    let byRating = try context.fetch(
      FetchDescriptor<Book>(sortBy: [SortDescriptor(\.rating), SortDescriptor(\.title)]))
    #expect(byRating.map(\.rating) == [nil, nil, 2, 4.5, 5])
    #expect(byRating.prefix(2).map(\.title) == ["alpha 10", "gamma"])
    let byTitle = try context.fetch(FetchDescriptor<Book>(sortBy: [SortDescriptor(\.title)])).map(\.title)
    #expect(byTitle == ["Alpha 2", "alpha 10", "Beta", "Éclair", "gamma"])
    let reversed = try context.fetch(
      FetchDescriptor<Book>(sortBy: [SortDescriptor(\.title, order: .reverse)]))
    #expect(reversed.map(\.title) == byTitle.reversed())
    let lexical = try context.fetch(
      FetchDescriptor<Book>(sortBy: [SortDescriptor(\.title, comparator: .lexical)]))
    #expect(lexical.map(\.title) == ["Alpha 2", "Beta", "alpha 10", "gamma", "Éclair"])
    let byAuthor = try context.fetch(
      FetchDescriptor<Book>(sortBy: [
        SortDescriptor(\.author?.name, order: .reverse), SortDescriptor(\.pages),
      ]))
    #expect(byAuthor.map(\.title) == ["Beta", "Alpha 2", "alpha 10", "Éclair", "gamma"])
  }

  @Test("S51: limit and offset count behind filter and sort")
  func window() throws {
    let context = try makeLibrary()
    context.insert(Book("Zulu", pages: 1))
    for sort in [SortDescriptor(\Book.pages), SortDescriptor(\Book.title)] {
      var descriptor = FetchDescriptor<Book>(sortBy: [sort])
      let all = try context.fetch(descriptor)
      descriptor.fetchOffset = 1
      descriptor.fetchLimit = 3
      #expect(try context.fetch(descriptor) == Array(all[1..<4]))
      descriptor.fetchLimit = 0
      #expect(try context.fetch(descriptor).isEmpty)
      descriptor.fetchLimit = nil
      #expect(try context.fetch(descriptor).count == all.count - 1)
      descriptor.fetchOffset = 100
      #expect(try context.fetch(descriptor).isEmpty)
    }
  }

  @Test("S52: properties to fetch and relationships to prefetch are hints")
  func hints() throws {
    let context = try makeLibrary()
    var descriptor = FetchDescriptor<Book>()
    descriptor.propertiesToFetch = [\.title]
    descriptor.relationshipKeyPathsForPrefetching = [\.author, \.tags]
    let other = ModelContext(context.container)
    let books = try other.fetch(descriptor)
    #expect(books.count == 5)
    #expect(books.compactMap(\.author?.name).count == 3)
    #expect(books.map(\.pages).reduce(0, +) == 950)
  }

  @Test("S52: what cannot be sorted by or prefetched is refused by its place in the fetch")
  func refusedPlaces() throws {
    let context = try makeLibrary()
    let sort = #expect(throws: SwiftDataError.self) {
      try context.fetch(FetchDescriptor<Book>(sortBy: [SortDescriptor(\.title.count)]))
    }
    #expect(sort == .unsupportedSortDescriptor && sort?.reason.hasPrefix("Sort key: ") == true)
    for path in [\Book.title, \Book.title.count] as [PartialKeyPath<Book>] {
      var descriptor = FetchDescriptor<Book>()
      descriptor.relationshipKeyPathsForPrefetching = [path]
      let error = #expect(throws: SwiftDataError.self) { try context.fetch(descriptor) }
      #expect(error == .unsupportedKeyPath && error?.reason.contains("#Predicate") == false, "\(path)")
    }
  }

  @Test("S53, K14: counts and identifiers")
  func countsAndIdentifiers() throws {
    let context = try makeLibrary()
    var descriptor = FetchDescriptor<Book>(
      predicate: #Predicate { $0.pages >= 100 }, sortBy: [SortDescriptor(\.pages)])
    #expect(try context.fetchCount(descriptor) == 4)
    let identifiers = try context.fetchIdentifiers(descriptor)
    #expect(identifiers == (try context.fetch(descriptor).map(\.persistentModelID)))
    descriptor.fetchLimit = 2
    #expect(try context.fetchCount(descriptor) == 2)
    context.insert(Book("New", pages: 500))
    #expect(throws: SwiftDataError.sortingPendingChangesWithIdentifiers) {
      try context.fetchIdentifiers(descriptor)
    }
    descriptor.sortBy = []
    descriptor.fetchLimit = nil
    #expect(try context.fetchIdentifiers(descriptor).count == 5)
    #expect(try context.fetchIdentifiers(descriptor, batchSize: 2).count == 5)
  }

  @Test("S54: batches cannot include unsaved changes")
  func batches() throws {
    let context = try makeLibrary()
    var descriptor = FetchDescriptor<Book>(sortBy: [SortDescriptor(\.pages)])
    let batches = try context.fetch(descriptor, batchSize: 2)
    #expect(batches.count == 5)
    #expect(batches.map(\.pages) == [50, 100, 200, 300, 300])
    #expect(batches.last?.pages == 300)
    context.insert(Book("New"))
    #expect(throws: SwiftDataError.includePendingChangesWithBatchSize) {
      try context.fetch(descriptor, batchSize: 2)
    }
    descriptor.includePendingChanges = false
    #expect(try context.fetch(descriptor, batchSize: 2).count == 5)
  }

  @Test("S55: enumerate walks all matches in batches, and says when one leaves changes to the next")
  func enumerating() throws {
    let context = try makeLibrary()
    var seen: [Int] = []
    try context.enumerate(FetchDescriptor<Book>(sortBy: [SortDescriptor(\.pages)]), batchSize: 2) {
      seen.append($0.pages)
    }
    #expect(seen == [50, 100, 200, 300, 300])
    #expect(throws: SwiftDataError.self) {
      try context.enumerate(FetchDescriptor<Book>(), batchSize: 2) { $0.pages += 1 }
    }
    context.rollback()
    try context.enumerate(FetchDescriptor<Book>(), batchSize: 2, allowEscapingMutations: true) {
      $0.pages += 1
    }
    try context.save()
    #expect(try context.fetch(FetchDescriptor<Book>()).map(\.pages).reduce(0, +) == 955)
    // No batch follows the only one.
    try context.enumerate(FetchDescriptor<Book>()) { $0.pages += 1 }
    try context.save()
    #expect(try context.fetch(FetchDescriptor<Book>()).map(\.pages).reduce(0, +) == 960)
    try context.enumerate(FetchDescriptor<Book>(), batchSize: 5) { context.delete($0) }
    try context.save()
    #expect(try context.fetchCount(FetchDescriptor<Book>()) == 0)
  }

  @Test("P2: comparisons, logic and nil")
  func comparisons() throws {
    let context = try makeLibrary()
    #expect(
      try titles(context, #Predicate { $0.pages > 100 && $0.pages <= 300 }) == ["alpha 10", "Beta", "gamma"])
    #expect(try titles(context, #Predicate { $0.pages == 50 || $0.title == "Beta" }) == ["Éclair", "Beta"])
    #expect(try titles(context, #Predicate { !($0.pages < 300) }) == ["Beta", "gamma"])
    #expect(try titles(context, #Predicate { $0.rating == nil }) == ["alpha 10", "gamma"])
    #expect(try titles(context, #Predicate { $0.rating != nil && $0.author == nil }) == ["Éclair"])
    #expect(try titles(context, #Predicate { ($0.rating ?? 0) >= 4 }) == ["Alpha 2", "Éclair"])
    #expect(
      try titles(context, #Predicate { $0.rating.flatMap { $0 > 4 } == true }) == ["Alpha 2", "Éclair"])
    #expect(
      try titles(
        context,
        #Predicate { if let rating = $0.rating { return rating < 3 } else { return false } }) == ["Beta"])
    #expect(
      try titles(context, #Predicate { $0.rating != nil ? $0.pages < 100 : $0.pages > 200 }) == [
        "Éclair", "gamma",
      ])
    #expect(try titles(context, #Predicate { (100...200).contains($0.pages) }) == ["Alpha 2", "alpha 10"])
    #expect(try titles(context, #Predicate { $0.pages * 2 + 1 == 401 }) == ["alpha 10"])
  }

  @Test("P2, P3: every text has the empty one, which a search regardless of case and marks finds nowhere")
  func emptyTexts() throws {
    let context = try makeLibrary()
    context.insert(Book("", pages: 1))
    try context.save()
    let (empty, whole) = ("", "Beta and gamma")
    let all = try context.fetch(FetchDescriptor<Book>())
    let cases: [(Predicate<Book>, Int)] = [
      (#Predicate { $0.title.localizedStandardContains(empty) }, 0),
      (#Predicate { !$0.title.localizedStandardContains(empty) }, 6),
      (#Predicate { $0.author?.name.localizedStandardContains(empty) == true }, 0),
      (#Predicate { whole.localizedStandardContains($0.title) }, 2),
      (#Predicate { $0.title.contains(empty) }, 6),
      (#Predicate { $0.title.starts(with: empty) }, 6),
      (#Predicate { !$0.title.contains(empty) }, 0),
      (#Predicate { $0.author?.name.contains(empty) == true }, 3),
      (#Predicate { whole.contains($0.title) }, 3),
      (#Predicate { $0.title.starts(with: $0.title) }, 6),
    ]
    for (place, (predicate, count)) in cases.enumerated() {
      #expect(try context.fetchCount(FetchDescriptor(predicate: predicate)) == count, "case \(place)")
      #expect(try all.filter { try predicate.evaluate($0) }.count == count, "case \(place) in memory")
    }
  }

  @Test("S50: models sort by their identifiers")
  func sortingByIdentifier() throws {
    let context = try makeLibrary()
    let ascending = try context.fetch(FetchDescriptor<Book>(sortBy: [SortDescriptor(\.persistentModelID)]))
    let descending = try context.fetch(
      FetchDescriptor<Book>(sortBy: [
        SortDescriptor(\.pages, order: .reverse), SortDescriptor(\.persistentModelID, order: .reverse),
      ]))
    #expect(ascending.map(\.title) == ["Alpha 2", "alpha 10", "Beta", "Éclair", "gamma"])
    #expect(descending.map(\.title) == ["gamma", "Beta", "alpha 10", "Alpha 2", "Éclair"])
  }

  @Test("P2, P3: texts")
  func texts() throws {
    let context = try makeLibrary()
    #expect(
      try titles(context, #Predicate { $0.title.localizedStandardContains("ALPHA") }) == [
        "Alpha 2", "alpha 10",
      ])
    #expect(try titles(context, #Predicate { $0.title.localizedStandardContains("eclair") }) == ["Éclair"])
    #expect(try titles(context, #Predicate { $0.title.contains("lpha") }) == ["Alpha 2", "alpha 10"])
    #expect(try titles(context, #Predicate { $0.title.contains("ALPHA") }).isEmpty)
    #expect(try titles(context, #Predicate { $0.title.starts(with: "al") }) == ["alpha 10"])
    #expect(
      try titles(context, #Predicate { $0.author?.name.localizedStandardContains("bob") == true }) == ["Beta"]
    )
    let same = ComparisonResult.orderedSame
    #expect(try titles(context, #Predicate { $0.title.caseInsensitiveCompare("BETA") == same }) == ["Beta"])
    #expect(try titles(context, #Predicate { $0.title.isEmpty }).isEmpty)
  }

  @Test("P2, K15: to-many relationships")
  func toMany() throws {
    let context = try makeLibrary()
    let alpha = try #require(
      try context.fetch(FetchDescriptor<Book>(predicate: #Predicate { $0.title == "Alpha 2" })).first)
    alpha.tags = [Tag("red"), Tag("blue")]
    alpha.notes = [Note("long note")]
    for isSaved in [false, true] {
      if isSaved { try context.save() }
      #expect(try titles(context, #Predicate { $0.tags.contains { $0.label == "red" } }) == ["Alpha 2"])
      #expect(try titles(context, #Predicate { $0.tags.count == 2 }) == ["Alpha 2"])
      #expect(try titles(context, #Predicate { !$0.tags.isEmpty }) == ["Alpha 2"])
      #expect(
        try titles(context, #Predicate { $0.tags.filter { $0.label == "red" }.count == 1 }) == ["Alpha 2"])
      #expect(try titles(context, #Predicate { $0.tags.allSatisfy { $0.label.contains("e") } }).count == 5)
      #expect(
        try titles(context, #Predicate { $0.notes?.contains { $0.text.contains("long") } == true }) == [
          "Alpha 2"
        ])
    }
    let authors = try context.fetch(
      FetchDescriptor<Author>(predicate: #Predicate { $0.books.contains { $0.pages == 200 } }))
    #expect(authors.map(\.name) == ["Ann"])
  }

  @Test("P2: lists of constants, identifiers, models at the other end")
  func lists() throws {
    let context = try makeLibrary()
    let pages = [50, 200]
    #expect(try titles(context, #Predicate { pages.contains($0.pages) }) == ["alpha 10", "Éclair"])
    let set: Set = ["Beta", "gamma"]
    #expect(try titles(context, #Predicate { set.contains($0.title) }) == ["Beta", "gamma"])
    let ann = try #require(
      try context.fetch(FetchDescriptor<Author>(predicate: #Predicate { $0.name == "Ann" })).first)
    let id = ann.persistentModelID
    #expect(
      try titles(context, #Predicate { $0.author?.persistentModelID == id }) == ["Alpha 2", "alpha 10"])
    let ids = try context.fetch(FetchDescriptor<Book>(predicate: #Predicate { $0.pages == 300 })).map(
      \.persistentModelID)
    #expect(try titles(context, #Predicate { ids.contains($0.persistentModelID) }) == ["Beta", "gamma"])
    // An author that is not saved yet.
    let new = Author(name: "New")
    new.books = [Book("Newest")]
    context.insert(new)
    let temporary = new.persistentModelID
    #expect(try titles(context, #Predicate { $0.author?.persistentModelID == temporary }) == ["Newest"])
  }

  @Test("P5: enumerations with raw values, structures by their fields, and what is refused")
  func enumerationsAndStructures() throws {
    let context = try makeLibrary()
    let beta = try #require(
      try context.fetch(FetchDescriptor<Book>(predicate: #Predicate { $0.title == "Beta" })).first)
    beta.mood = .sad
    let mood = Mood.sad
    #expect(try titles(context, #Predicate { $0.mood == mood }) == ["Beta"])
    let all = Everything()
    all.address = Residence(street: "Main", city: "Oslo", zip: 7)
    context.insert(all)
    context.insert(Everything())
    for isSaved in [false, true] {
      if isSaved { try context.save() }
      #expect(
        try context.fetchCount(
          FetchDescriptor<Everything>(predicate: #Predicate { $0.address.city == "Oslo" })) == 1)
      #expect(
        try context.fetch(
          FetchDescriptor<Everything>(sortBy: [SortDescriptor(\.address.city, comparator: .lexical)])
        ).last === all)
    }
    #expect(throws: SwiftDataError.unsupportedPredicate) {
      try context.fetch(FetchDescriptor<Book>(predicate: #Predicate { $0.scratch == 1 }))
    }
    #expect(throws: SwiftDataError.unsupportedSortDescriptor) {
      try context.fetch(FetchDescriptor<Book>(sortBy: [SortDescriptor(\.scratch)]))
    }
  }

  @Test("P1: elements of captured lists and dictionaries are constants")
  func capturedElements() throws {
    let context = try makeLibrary()
    let list = ["Beta", "gamma"]
    let names = ["a": "Éclair"]
    let place = 0
    #expect(try titles(context, #Predicate { $0.title == list[0] }) == ["Beta"])
    #expect(try titles(context, #Predicate { $0.title == list[place + 1] }) == ["gamma"])
    #expect(try titles(context, #Predicate { list[0..<1].contains($0.title) }) == ["Beta"])
    #expect(try titles(context, #Predicate { $0.title == names["a"] ?? "Beta" }) == ["Éclair"])
    #expect(try titles(context, #Predicate { $0.title == names["b"] ?? "Beta" }) == ["Beta"])
    #expect(try titles(context, #Predicate { $0.title == names["b", default: "gamma"] }) == ["gamma"])
    #expect(throws: SwiftDataError.unsupportedPredicate) {
      try titles(context, #Predicate { $0.title == list[7] })
    }
  }
}
