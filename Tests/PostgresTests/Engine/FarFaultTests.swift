import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Faults over a store that is far away: those that came together are filled together.
@Suite struct FarFaultTests {
  private func trips(_ stand: ServerStand, _ body: () throws -> Void) rethrows -> Int {
    let before = stand.store.roundTrips
    try body()
    return stand.store.roundTrips - before
  }

  /// 300 books of 150 authors, two each, in order of their titles, with subjects and an ordered shelf for every ten.
  private func filled() throws -> ServerStand {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let authors = try (0..<150).map { try context.make("Author", ["name": "author \($0)"]) }
    let subjects = try (0..<10).map { try context.make("Subject", ["name": "subject \($0)"]) }
    let shelves = try (0..<30).map { try context.make("Shelf", ["room": "room \($0)"]) }
    for number in 0..<300 {
      let book = try context.make(
        "Book", ["title": "\(1_000 + number)", "author": authors[(number * 7) % 150]])
      book.add([subjects[number % 10], subjects[(number + 3) % 10]], to: "subjects")
      let shelf = shelves[number / 10]
      shelf.setValue([book] + shelf.list("books"), forKey: "books")
    }
    try context.save()
    return stand
  }

  @Test func objectsThatBooksReferToAreFilledTogether() throws {
    let stand = try filled()
    let context = stand.context()
    var names: [String] = []
    let count = try trips(stand) {
      for book in try context.all("Book", by: "title") {
        let author = try #require(book.value(forKey: "author") as? ManagedObject)
        names.append(try #require(author.value(forKey: "name") as? String))
      }
    }
    #expect(names == (0..<300).map { "author \(($0 * 7) % 150)" })
    #expect(count <= 1 + 3, "the fetch, and 150 authors in groups of up to 128")
  }

  @Test func faultsOfOneFetchAreFilledTogether() throws {
    let stand = try filled()
    let context = stand.context()
    var request = FetchRequest<ManagedObject>(entityName: "Book", sortDescriptors: [FetchSort("title")])
    request.includesPropertyValues = false
    var titles: [String] = []
    let count = try trips(stand) {
      let books = try context.fetch(request)
      let areFaults = books.allSatisfy { $0.isFault }
      #expect(areFaults)
      for book in books { titles.append(book.value(forKey: "title") as? String ?? "nil") }
    }
    #expect(titles == (0..<300).map { "\(1_000 + $0)" })
    #expect(count == 1 + 3)
  }

  @Test func membersOfOneOwnerAreFilledTogether() throws {
    let stand = try filled()
    let context = stand.context()
    let subject = try #require(try context.all("Subject", by: "name").first)
    var titles: Set<String> = []
    let count = trips(stand) {
      for book in subject.set("books") { titles.insert(book.value(forKey: "title") as? String ?? "nil") }
    }
    #expect(titles.count == 60)
    #expect(count == 2, "the members, and their rows")
  }

  @Test(arguments: [("Author", "books"), ("Shelf", "books"), ("Book", "subjects")])
  func membersOfManyOwnersAreReadTogether(entity: String, key: String) throws {
    let stand = try filled()
    let (context, plain) = (stand.context(), stand.context())
    // Ordered or not, what comes is what an owner alone is answered.
    var expected: [String] = []
    func names(_ owner: ManagedObject) -> [String] {
      let members =
        owner.entity.relationshipsByName[key]?.isOrdered == true ? owner.list(key) : Array(owner.set(key))
      let names = members.map { "\($0.objectID.uriRepresentation().lastPathComponent)" }
      return owner.entity.relationshipsByName[key]?.isOrdered == true ? names : names.sorted()
    }
    let identifiers = try context.all(entity).map(\.objectID)
    for id in identifiers { expected += names(plain.object(with: id)) + ["|"] }
    let reader = stand.context()
    var found: [String] = []
    let count = try trips(stand) {
      for owner in try reader.all(entity) { found += names(owner) + ["|"] }
    }
    #expect(found == expected)
    #expect(found.count > 100)
    // Eight owners, then 32, then 128.
    #expect(count <= 1 + 2 + (identifiers.count + 127) / 128)
  }

  /// Eight owners, then 32, then 128: who looks at one only does not wait for many.
  @Test func ownersReadAtOnceGrowWithUse() throws {
    let stand = try ServerStand(Library.make())
    let filling = stand.context()
    for number in 0..<400 {
      try filling.make(
        "Book", ["title": "\(number)", "author": try filling.make("Author", ["name": "\(1_000 + number)"])])
    }
    try filling.save()
    let context = stand.context()
    let authors = try context.all("Author", by: "name")
    #expect(authors.count == 400)
    var asked: [Int] = []
    for (place, author) in authors.enumerated() {
      let count = trips(stand) { #expect(author.set("books").count == 1) }
      if count > 0 { asked.append(place) }
      #expect(count <= 1)
    }
    #expect(asked == [0, 8, 40, 168, 296])
  }

  /// Where owners have many thousands of members, fewer owners are read ahead.
  @Test func ownersOfVeryManyAreReadByFew() throws {
    let stand = try ServerStand(Library.make())
    let filling = stand.context()
    for number in 0..<20 { try filling.make("Author", ["name": "\(10 + number)"]) }
    try filling.save()
    let mapping = stand.store.mapping
    let code = mapping.codes[try #require(mapping.schema.entity(named: "Book")).number]
    try stand.sql(
      "INSERT INTO \(stand.table("book")) (pk, entity, version, title, author) SELECT row_number() OVER () + 1000000, \(code), 1, 't', a.pk FROM \(stand.table("author")) a, generate_series(1, 2100) n"
    )
    let context = stand.context()
    let authors = try context.all("Author", by: "name")
    var asked: [Int] = []
    for (place, author) in authors.prefix(13).enumerated() {
      let count = trips(stand) { #expect(author.set("books").count == 2_100) }
      if count > 0 { asked.append(place) }
    }
    // 8 × 2,100 members are too many: two owners come next. Those are few, so it grows again.
    #expect(asked == [0, 8, 10])
  }

  @Test func orderedRelationshipsArePrefetchedInOneRequest() throws {
    let stand = try filled()
    let context = stand.context()
    var request = FetchRequest<ManagedObject>(entityName: "Shelf", sortDescriptors: [FetchSort("room")])
    request.relationshipKeyPathsForPrefetching = ["books"]
    var titles: [String] = []
    let count = try trips(stand) {
      let shelves = try context.fetch(request)
      for book in shelves.flatMap({ $0.list("books") }) {
        titles.append(book.value(forKey: "title") as? String ?? "nil")
      }
    }
    #expect(titles.count == 300)
    #expect(titles.first == "1009", "each shelf has its last book first")
    #expect(count == 3, "shelves, members, books")
  }

  @Test func aFaultInAChildIsFilledWithOthersButForWhatIsUnsaved() throws {
    let stand = try filled()
    let parent = stand.context(.privateQueue)
    struct Box: @unchecked Sendable { let stand: ServerStand }  // Used by one thread after the other.
    let box = Box(stand: stand)
    try parent.performAndWait {
      let edited = try #require(try parent.all("Author", .comparison(key: "name", .equal, "author 7")).first)
      edited.setValue("unsaved", forKey: "name")
      let child = ManagedObjectContext(.confinement)
      child.parent = parent
      var names: [String] = []
      let before = box.stand.store.roundTrips
      for book in try child.all("Book", by: "title").prefix(100) {
        let author = try #require(book.value(forKey: "author") as? ManagedObject)
        names.append(try #require(author.value(forKey: "name") as? String))
      }
      #expect(box.stand.store.roundTrips - before <= 6)
      #expect(names[1] == "unsaved")
      #expect(names[2] == "author 14")
    }
  }

  @Test func aRowThatHasGoneIsNoObstacle() throws {
    let stand = try filled()
    let context = stand.context()
    let subject = try #require(try context.all("Subject", by: "name").first)
    let books = Array(subject.set("books")).sorted {
      $0.objectID.uriRepresentation().path < $1.objectID.uriRepresentation().path
    }
    #expect(books.count == 60)
    let other = stand.context()
    other.delete(other.object(with: books[5].objectID))
    try other.save()
    #expect(books[0].value(forKey: "title") is String)
    #expect(books[5].value(forKey: "title") == nil)
    #expect(books[5].isDeleted)
    #expect(books[59].value(forKey: "title") is String)
  }

  @Test func anObjectThatWasDeletedIsNotFilledAgain() throws {
    let stand = try filled()
    let context = stand.context()
    let subject = try #require(try context.all("Subject", by: "name").first)
    let books = Array(subject.set("books"))
    context.delete(books[7])
    for book in books where book !== books[7] { #expect(book.value(forKey: "title") is String) }
    try context.save()
    #expect(try stand.context().all("Book").count == 299)
  }

  /// The rule cascade takes books along, which have members themselves; the rule nullify changes rows of members.
  @Test(arguments: [("Author", 150, 0), ("Shelf", 30, 300)])
  func whatDeletionsLeadToIsReadTogether(entity: String, owners: Int, books: Int) throws {
    let stand = try filled()
    let context = stand.context()
    let count = try trips(stand) {
      let all = try context.all(entity)
      #expect(all.count == owners)
      for owner in all { context.delete(owner) }
      context.processPendingChanges()
    }
    // Each owner by itself would be one, and its members another one.
    #expect(count <= 25)
    try context.save()
    let reader = stand.context()
    #expect(try reader.all(entity).isEmpty)
    #expect(try reader.all("Book").count == books)
    #expect(try reader.all("Book").allSatisfy { $0.value(forKey: "shelf") == nil })
    #expect(try reader.all("Subject").map { $0.set("books").count }.reduce(0, +) == books * 2)
  }

  @Test func aServerThatDoesNotAnswerIsAskedOnce() throws {
    let first = try self.filled()
    var options = PostgresStoreOptions()
    // All that comes before the table is taken has it, too.
    options.timeout = .seconds(10)
    let stand = try ServerStand(Library.make(), url: first.url, options: options)
    let context = stand.context()
    let subject = try #require(try context.all("Subject", by: "name").first)
    let books = Array(subject.set("books"))
    #expect(books.count == 60)
    let failures = Mutex(0)
    context.readFailureHandler = { _ in failures.withLock { $0 += 1 } }
    // Somebody has the table for himself, longer than anybody waits.
    let blocker = try PostgresConnection(
      ServerAddress(stand.url), password: nil, deadline: ContinuousClock.now + .seconds(30))
    try blocker.hold("LOCK TABLE \(stand.table("book")) IN ACCESS EXCLUSIVE MODE")
    var title: Any?
    let count = trips(stand) { title = books[0].value(forKey: "title") }
    #expect(title == nil)
    #expect(failures.withLock { $0 } == 1)
    #expect(count == 1)
    #expect(books[0].isFault && !books[0].isDeleted)
    try blocker.runText("COMMIT")
    #expect(books[0].value(forKey: "title") is String)
    for store in stand.coordinator.persistentStores { try stand.coordinator.remove(store) }
    // With it the namespace goes.
    withExtendedLifetime(first) {}
  }

  @Test func changesTakenOverByIdentifierAreReadTogether() throws {
    let stand = try filled()
    let context = stand.context()
    let books = try context.all("Book", by: "title")
    for book in books { _ = book.value(forKey: "title") }
    let other = stand.context()
    for book in try other.all("Book") { book.setValue(Int32(9), forKey: "pages") }
    try other.save()
    let identifiers = books.map(\.objectID)
    let count = trips(stand) {
      ManagedObjectContext.mergeChanges(
        fromRemoteContextSave: [ManagedObjectContext.NotificationKey.updatedObjectIDs.rawValue: identifiers],
        into: [context])
    }
    #expect(count == 1)
    #expect(books.allSatisfy { $0.value(forKey: "pages") as? Int64 == 9 })
  }

  /// A context below sees what the one above it has not saved: rows that a merge reads together must not take its place.
  @Test func mergesLookAtTheLayersAboveBeforeTheStore() throws {
    let stand = try filled()
    let parent = stand.context(.privateQueue)
    struct Box: @unchecked Sendable { let stand: ServerStand }  // Used by one thread after the other.
    let box = Box(stand: stand)
    try parent.performAndWait {
      let child = ManagedObjectContext(.confinement)
      child.parent = parent
      let authors = try child.all("Author", by: "name").prefix(20)
      // The child saves to its parent: that is a layer above the store.
      authors[3].setValue("unsaved", forKey: "name")
      try child.save()
      let reader = ManagedObjectContext(.confinement)
      reader.parent = parent
      let below = authors.map { reader.object(with: $0.objectID) }
      let identifiers = below.map(\.objectID)
      #expect(below[3].value(forKey: "name") as? String == "unsaved")
      for author in below { _ = author.value(forKey: "name") }
      // For what a layer has, the server is not even asked.
      let start = box.stand.store.roundTrips
      ManagedObjectContext.mergeChanges(
        fromRemoteContextSave: [
          ManagedObjectContext.NotificationKey.updatedObjectIDs.rawValue: [identifiers[3]]
        ],
        into: [reader])
      #expect(box.stand.store.roundTrips == start)
      #expect(below[3].value(forKey: "name") as? String == "unsaved")
      let other = box.stand.context()
      for (place, id) in identifiers.enumerated() {
        other.object(with: id).setValue("remote \(place)", forKey: "name")
      }
      try other.save()
      let before = box.stand.store.roundTrips
      ManagedObjectContext.mergeChanges(
        fromRemoteContextSave: [ManagedObjectContext.NotificationKey.updatedObjectIDs.rawValue: identifiers],
        into: [reader])
      #expect(box.stand.store.roundTrips - before == 1)
      for (place, author) in below.enumerated() {
        #expect(author.value(forKey: "name") as? String == (place == 3 ? "unsaved" : "remote \(place)"))
      }
    }
  }

  @Test func copiesAreWhatStatementsWouldBe() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    let author = try context.make("Author", ["name": "Ada"])
    try context.save()
    let rows = RowStatements.leastCopied + 1_000
    for number in 0..<rows {
      let book = try context.make(
        number % 3 == 0 ? "Novel" : "Book",
        ["title": "é\(number)", "code": "c\(number)", "price": Decimal(number) / 4])
      if number % 2 == 0 { book.setValue(author, forKey: "author") }
      if number % 5 == 0 { book.setValue(Int32(number), forKey: "pages") }
      if number % 100 == 0 { book.setValue(String(repeating: "\(number)", count: 2_000), forKey: "text") }
    }
    try context.save()
    let reader = stand.context()
    let books = try reader.all("Book")
    #expect(books.count == rows)
    for book in books {
      let title = try #require(book.value(forKey: "title") as? String)
      let number = try #require(Int(title.dropFirst()))
      #expect(book.entity.name == (number % 3 == 0 ? "Novel" : "Book"))
      #expect(book.value(forKey: "price") as? Decimal == Decimal(number) / 4)
      #expect((book.value(forKey: "author") == nil) == (number % 2 != 0))
      #expect(book.value(forKey: "pages") as? Int64 == (number % 5 == 0 ? Int64(number) : nil))
      let text = book.value(forKey: "text") as? String
      #expect(text == (number % 100 == 0 ? String(repeating: "\(number)", count: 2_000) : nil))
    }
    // What the server refuses in the middle of a copy is an answer like any other, and nothing is left of it.
    try stand.sql("ALTER TABLE \(stand.table("subject")) ADD CHECK (name <> '1200')")
    let writer = stand.context()
    for number in 0..<rows { try writer.make("Subject", ["name": "\(number)"]) }
    let error = #expect(throws: StorageError.self) { try writer.save() }
    #expect(error?.detail.contains("23514") == true)
    #expect(try stand.context().all("Subject").isEmpty)
    try stand.sql("ALTER TABLE \(stand.table("subject")) DROP CONSTRAINT subject_name_check")
    try writer.save()
    #expect(try stand.context().all("Subject").count == rows)
  }
}
