import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// The history of a store on a server: what LMDB's engine records of the same saves, and what becomes of it.
@Suite struct HistoryTests {
  /// The library, with values that stay when a book is deleted.
  static func model() -> ManagedObjectModel {
    let model = Library.make()
    for name in ["code", "text", "price", "cover"] {
      (model.entitiesByName["Book"]?.attributesByName[name])?.preservesValueInHistoryOnDeletion = true
    }
    return model
  }

  private static func recording() -> PostgresStoreOptions {
    var options = PostgresStoreOptions()
    options.recordsHistory = true
    return options
  }

  /// Saves of all kinds, one after the other.
  static func story(_ context: ManagedObjectContext) throws {
    context.transactionAuthor = "author"
    context.name = "writer"
    let ada = try context.make("Author", ["name": "Ada"])
    let bob = try context.make("Author", ["name": "Bob"])
    let long = String(repeating: "long ", count: 1_000)
    let books = try (0..<4).map {
      try context.make(
        "Book", ["title": "\($0)", "code": "c\($0)", "author": ada, "price": Decimal(string: "1.50")!])
    }
    let novel = try context.make("Novel", ["title": "n", "text": long, "cover": Data([0, 1, 255])])
    try context.save()
    books[0].setValue("zero", forKey: "title")
    books[0].setValue(Int32(7), forKey: "pages")
    books[1].setValue("one", forKey: "title")
    try context.save()
    books[2].setValue(bob, forKey: "author")
    novel.setValue(ada, forKey: "author")
    try context.save()
    let subject = try context.make("Subject", ["name": "s"])
    subject.add([books[0], novel], to: "books")
    let shelf = try context.make("Shelf", ["room": "r"])
    shelf.setValue([books[1], books[0]], forKey: "books")
    let list = try context.make("List", ["name": "l"])
    list.setValue([books[0], books[2]], forKey: "entries")
    try context.save()
    shelf.setValue([books[0], books[1]], forKey: "books")
    subject.remove(novel, from: "books")
    try context.save()
    let people = try (0..<3).map { try context.make("Person", ["name": "\($0)"]) }
    people[0].add([people[1]], to: "friends")
    people[0].setValue(try context.make("Card", ["number": Int64(1)]), forKey: "card")
    people[1].setValue(novel, forKey: "favourite")
    people[2].add([novel], to: "wishes")
    try context.save()
    people[2].setValue(people[0].value(forKey: "card"), forKey: "card")
    try context.save()
    context.delete(novel)
    try context.save()
    context.delete(people[1])
    context.delete(subject)
    try context.save()
    context.delete(ada)
    try context.save()
  }

  /// What is said of each save, without IDs.
  static func told(_ transactions: [PersistentHistoryTransaction]) -> [[String]] {
    transactions.map { transaction in
      (transaction.changes ?? []).map { change in
        let tombstone = (change.tombstone ?? [:]).map { "\($0.key)=\($0.value)" }.sorted()
        return
          "\(change.changedObjectID.entityName) \(change.changeType) \(change.updatedPropertyNames.sorted()) \(tombstone)"
      }.sorted()
    }
  }

  private func transactions(_ coordinator: PersistentStoreCoordinator) throws
    -> [PersistentHistoryTransaction]
  {
    try coordinator.history(.fetchHistory(after: .beginning)).transactions
  }

  @Test func itTellsOfEachSaveWhatLMDBTells() throws {
    let stand = try ServerStand(Self.model(), options: Self.recording())
    try Self.story(stand.context())
    let twin = PersistentStoreCoordinator(managedObjectModel: Self.model())
    var description = PersistentStoreDescription.inMemory
    description.recordsHistory = true
    try twin.addPersistentStore(description)
    let context = ManagedObjectContext(.confinement, coordinator: twin)
    try Self.story(context)
    let (found, expected) = (try transactions(stand.coordinator), try transactions(twin))
    #expect(found.count == 10)
    #expect(found.count == expected.count)
    for (place, pair) in zip(Self.told(found), Self.told(expected)).enumerated() {
      #expect(pair.0 == pair.1, "save \(place)")
    }
    #expect(Self.told(found).flatMap(\.self).contains { $0.contains("cover") && $0.contains("long long") })
    #expect(found.allSatisfy { $0.author == "author" && $0.contextName == "writer" && !$0.processID.isEmpty })
    #expect(found.map(\.transactionNumber) == Array(1...10))
    // Every number of one save is above those of the save before.
    let numbers = found.flatMap { ($0.changes ?? []).map(\.changeID) }
    #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
  }

  @Test func tokensAreOfOneLineOfTheStoreAndExpire() throws {
    let stand = try ServerStand(Self.model(), options: Self.recording())
    let context = stand.context()
    func save(_ number: Int) throws {
      try context.make("Subject", ["name": "\(number)"])
      try context.save()
    }
    let beginning = try #require(try stand.coordinator.currentHistoryToken())
    for number in 1...3 { try save(number) }
    let token = try #require(try stand.coordinator.currentHistoryToken())
    try save(4)
    func count(_ token: PersistentHistoryToken) throws -> Int {
      try stand.coordinator.history(.fetchHistory(after: token)).transactions.count
    }
    #expect(try count(beginning) == 4)
    #expect(try count(token) == 1)
    // Another stack sees the same.
    let other = try stand.neighbour(Self.model())
    #expect(try other.coordinator.history(.fetchHistory(after: token)).transactions.count == 1)
    #expect(try stand.coordinator.history(.deleteHistory(before: token)).count == 2)
    let error = #expect(throws: CoreDataError.self) { try count(beginning) }
    #expect(error?.code == .persistentHistoryTokenExpired)
    #expect(try count(token) == 1)
    #expect(try transactions(stand.coordinator).map(\.transactionNumber) == [3, 4])
    #expect(try stand.coordinator.history(.deleteHistory(before: Date.distantFuture)).count == 2)
    #expect(try transactions(stand.coordinator).isEmpty)
    try save(5)
    #expect(try transactions(stand.coordinator).count == 1)
    // A line that goes on elsewhere, as after the restoration of a dump.
    let newest = try #require(try stand.coordinator.currentHistoryToken())
    try stand.sql("UPDATE \(stand.table("strata_commit")) SET mark = 17 WHERE number = 5")
    let foreign = #expect(throws: CoreDataError.self) { try count(newest) }
    #expect(foreign?.code == .persistentHistoryTokenExpired)
  }

  @Test func whoHasOpenedAStoreThatWasReplacedChangesNoReadersOfTheNewOne() throws {
    let stand = try ServerStand(Self.model(), options: Self.recording())
    let context = stand.context()
    try context.make("Subject", ["name": "1"])
    try context.save()
    try PostgresStores.destroy(at: stand.url)
    let next = try ServerStand(Self.model(), url: stand.url, options: Self.recording())
    let other = next.context()
    try other.make("Subject", ["name": "2"])
    try other.save()
    try next.store.setHistoryConsumer(named: "widget", to: 1)
    for number in [1, nil] as [UInt64?] {
      let error = #expect(throws: StorageError.self) {
        try stand.store.setHistoryConsumer(named: "late", to: number)
        // No reader has that name, so nothing is to be removed.
        if number == nil { throw HistoryTable.isReplaced }
      }
      #expect(error?.kind == .replaced)
    }
    try stand.store.setHistoryConsumer(named: "widget", to: nil)
    let error = #expect(throws: StorageError.self) { try stand.store.endHistory() }
    #expect(error?.kind == .replaced)
    #expect(try next.store.historyConsumers().map(\.name) == ["widget"])
    #expect(
      try next.coordinator.history(.fetchHistory(after: PersistentHistoryToken?.none)).transactions.count == 1
    )
  }

  /// Saves new objects, one after the other.
  private func saves(_ count: Int, _ stand: ServerStand) throws -> ManagedObjectContext {
    let context = stand.context()
    for number in 1...count {
      try context.make("Subject", ["name": "\(number)"])
      try context.save()
    }
    return context
  }

  @Test func whatIsDeletedWhileItIsReadIsAnErrorAndNoGap() throws {
    let stand = try ServerStand(Self.model(), options: Self.recording())
    _ = try saves(7, stand)
    let all = try transactions(stand.coordinator)
    func read(after token: PersistentHistoryToken, _ change: () throws -> Void) -> [Int64] {
      var request = PersistentHistoryRequest.fetchHistory(after: token)
      request.fetchBatchSize = 2
      var seen: [Int64] = []
      let error = #expect(throws: CoreDataError.self) {
        try stand.coordinator.forEachHistoryTransaction(request) {
          seen.append($0.transactionNumber)
          if seen.count == 1 { try change() }
          return true
        }
      }
      #expect(error?.code == .persistentHistoryTokenExpired)
      return seen
    }
    let seen = read(after: all[0].token) {
      _ = try stand.coordinator.history(.deleteHistory(before: all[6].token))
    }
    #expect(seen == [2, 3])
    #expect(try transactions(stand.coordinator).map(\.transactionNumber) == [7])
    _ = try saves(4, stand)
    let last = read(after: all[6].token) { try stand.coordinator.endHistory(of: stand.store) }
    #expect(last == [8, 9])
  }

  /// A program whose clock is wrong deletes nothing that is new, and a commit of a wrong moment keeps nothing that is old.
  @Test func ageIsByTheServersClock() throws {
    let stand = try ServerStand(Self.model(), options: Self.recording())
    _ = try saves(4, stand)
    let connection = try stand.store.pool.makeSeparate()
    let deadline = ContinuousClock.now + .seconds(30)
    let commits = stand.store.mapping.commitTable
    try connection.run(
      [
        SQLStatement("UPDATE \(commits) SET at = at - 500 WHERE number IN (1, 3)"),
        SQLStatement("UPDATE \(commits) SET at = at + 31536000 WHERE number = 2"),
      ], deadline: deadline)
    func trim(_ age: Duration) throws -> Int {
      var options = Self.recording()
      options.historyRetention = HistoryRetention(maximumAge: age)
      let other = try ServerStand(Self.model(), url: stand.url, options: options)
      other.store.trimHistory(connection)
      return try transactions(stand.coordinator).count
    }
    #expect(try trim(.seconds(1_000)) == 4)
    #expect(try trim(.seconds(100)) == 1)
  }

  @Test func readersAreRememberedAndAHistoryEnds() throws {
    var options = Self.recording()
    options.historyRetention = HistoryRetention(maximumAge: nil, dropsConsumed: true)
    let stand = try ServerStand(Self.model(), options: options)
    let context = try saves(3, stand)
    let token = try stand.coordinator.currentHistoryToken()
    try stand.coordinator.setHistoryConsumer(named: "widget", to: token)
    let other = try stand.neighbour(Self.model())
    let consumers = try other.coordinator.historyConsumers(of: other.store)
    #expect(consumers.map(\.name) == ["widget"])
    #expect(consumers.map(\.commitNumber) == [3])
    #expect(try transactions(stand.coordinator).count == 3)
    // What all have read goes when the time has come to look.
    let connection = try stand.store.pool.makeSeparate()
    var unwanted = HistoryTable.Unwanted()
    unwanted.consumed = true
    let table = HistoryTable(mapping: stand.store.mapping, identifier: stand.store.identifier)
    #expect(try table.delete(unwanted, on: connection, ContinuousClock.now + .seconds(30)) == 3)
    #expect(try table.delete(unwanted, on: connection, ContinuousClock.now + .seconds(30)) == 0)
    #expect(try transactions(stand.coordinator).isEmpty)
    try stand.coordinator.setHistoryConsumer(named: "widget", to: nil)
    #expect(try other.coordinator.historyConsumers(of: other.store).isEmpty)
    try stand.coordinator.endHistory(of: stand.store)
    #expect(try stand.coordinator.currentHistoryToken() == nil)
    try context.make("Subject", ["name": "4"])
    try context.save()
    let error = #expect(throws: CoreDataError.self) { try transactions(other.coordinator) }
    #expect(error?.code == .persistentStoreUnsupportedRequestType)
    // Begun again, it tells what comes from now on.
    let again = try ServerStand(Self.model(), url: stand.url, options: Self.recording())
    #expect(try transactions(again.coordinator).isEmpty)
    try context.make("Subject", ["name": "5"])
    try context.save()
    #expect(try transactions(again.coordinator).count == 1)
  }

  @Test func oldNotesGoAndTheHistoryStays() throws {
    let stand = try ServerStand(Self.model(), options: Self.recording())
    _ = try saves(4, stand)
    let connection = try stand.store.pool.makeSeparate()
    func notes() throws -> String {
      try #require(try stand.sql("SELECT count(*) FROM \(stand.table("strata_commit"))")).text(0, 0)
    }
    try CommitRun.trim(stand.store.mapping, connection, newest: CommitRun.keptCommits + 4)
    #expect(try notes() == "4")
    try stand.coordinator.endHistory(of: stand.store)
    try CommitRun.trim(stand.store.mapping, connection, newest: CommitRun.keptCommits + 4)
    #expect(try notes() == "1")
    // Who has not looked since does not know what has changed.
    let other = try stand.neighbour(Self.model())
    let reading = try other.store.journal(after: 1)
    #expect(reading.commits.map(\.number) == [3, 4])
    #expect(reading.commits.first?.isUnknown == true)
    #expect(reading.commits.last?.isUnknown == false)
  }

  @Test func damagedNotesAreErrors() throws {
    let stand = try ServerStand(Self.model(), options: Self.recording())
    let context = stand.context()
    try context.make("Subject", ["name": "1"])
    try context.save()
    for text in [
      "{}", "[{\"entity\": \"Subject\", \"kind\": \"eaten\", \"keys\": []}]",
      "[{\"entity\": \"Subject\", \"kind\": \"inserted\", \"keys\": [5, 4]}]",
      "[{\"entity\": \"Subject\", \"kind\": \"inserted\", \"keys\": [1, 281474976710656]}]",
      "[{\"entity\": \"Subject\", \"kind\": \"inserted\", \"keys\": [-1, 4]}]",
    ] {
      try stand.sql("UPDATE \(stand.table("strata_commit")) SET changes = '\(text)'")
      let error = #expect(throws: StorageError.self) { try transactions(stand.coordinator) }
      #expect(error?.kind == .damaged)
    }
  }
}

/// What lists of changes and values that stay look like in the tables.
@Suite struct NotedChangeTests {
  @Test func listsAreReadAsTheyAreWritten() throws {
    let strange = "\"quoted\" \\ \u{1}\n\u{7F} é 🐦 \u{2028}"
    let changes = [
      NotedChange(.inserted, "Book", keys: [1, 2, 3, 7, 9, 10]),
      NotedChange(.updated, strange, keys: [5], properties: ["title", strange]),
      NotedChange(.related, "Author", keys: [6], properties: []),
      NotedChange(.deleted, "Book", keys: [4, 5], values: ["4": [strange: strange, "a": ""]]),
    ]
    #expect(changes[0].keys == [1, 3, 7, 7, 9, 10])
    #expect(try NotedChange.list(NotedChange.text(changes)) == changes)
    #expect(try NotedChange.list(NotedChange.text([])) == [])
    #expect(try changes[0].ranges() == [1...3, 7...7, 9...10])
  }

  @Test func valuesAreReadAsTheyAreWritten() throws {
    let values: [(AttributeValue, SlotKind)] = [
      (.integer(.min), .int64), (.integer(-7), .int16), (.boolean(true), .boolean),
      (.boolean(false), .boolean),
      (.double(0.1), .double), (.double(.infinity), .double), (.double(-0.0), .double),
      (.double(.leastNonzeroMagnitude), .double), (.float(.greatestFiniteMagnitude), .float),
      (.decimal(Decimal(string: "-123456789012345678901234567890.12345678")!), .decimal),
      (.decimal(Decimal(string: "1e120")!), .decimal), (.string("\u{0}\n\"x"), .string),
      (.date(Date(timeIntervalSinceReferenceDate: 1.0 / 3)), .date), (.data(Data([0, 255])), .data),
      (.uuid(UUID()), .uuid), (.url(URL(string: "https://a.example/?b=c")!), .url),
    ]
    for (value, kind) in values {
      let text = try #require(NotedValue.text(value))
      #expect(NotedValue.value(text, kind) == value, "\(value)")
    }
    let nan = try #require(NotedValue.text(.double(.nan)).flatMap { NotedValue.value($0, .double) })
    guard case .double(let number) = nan else { throw SQLResult.damaged }
    #expect(number.isNaN)
    let none = try #require(NotedValue.text(.decimal(.nan)).flatMap { NotedValue.value($0, .decimal) })
    guard case .decimal(let decimal) = none else { throw SQLResult.damaged }
    #expect(decimal.isNaN)
    #expect(NotedValue.text(.null) == nil)
    #expect(NotedValue.value("x", .int64) == nil)
  }
}
