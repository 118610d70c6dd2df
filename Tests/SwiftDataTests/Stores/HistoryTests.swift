import SwiftData
import Testing
import struct StrataCore.Mutex

@Model
final class Trip {
  @Attribute(.preserveValueOnDeletion) var code: String
  @Attribute(.preserveValueOnDeletion) var days: Int
  var place: String?
  init(_ code: String, days: Int) {
    self.code = code
    self.days = days
  }
}

/// A condition of a test's own, which may do something whenever it is evaluated.
private struct AskedCondition: StandardPredicateExpression {
  typealias Output = Bool
  let ask: @Sendable () throws -> Bool

  init(_ ask: @escaping @Sendable () throws -> Bool) { self.ask = ask }

  func evaluate(_ bindings: PredicateBindings) throws -> Bool { try ask() }

  init(from decoder: any Decoder) throws {
    throw DecodingError.dataCorrupted(
      DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "It is never written."))
  }

  func encode(to encoder: any Encoder) throws {}
}

private final class Counter: Sendable {
  private let count = Mutex(0)
  /// 1, 2, and so on.
  func next() -> Int {
    count.withLock { count in
      count += 1
      return count
    }
  }
}

@Suite("History")
struct HistoryTests {
  private func makeContainer() throws -> ModelContainer {
    try ModelContainer(for: Trip.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
  }

  @Test("S40, S73, S76, D12: every save is a transaction with author, time and typed changes")
  func transactions() throws {
    let context = ModelContext(try makeContainer())
    context.author = "app"
    let trip = Trip("A", days: 3)
    context.insert(trip)
    try context.save()
    let id = trip.persistentModelID
    context.author = "sync"
    trip.place = "Oslo"
    try context.save()
    context.delete(trip)
    try context.save()
    let history = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    #expect(history.map(\.author) == ["app", "sync", "sync"])
    #expect(
      zip(history, history.dropFirst()).allSatisfy { $0.token < $1.token && $0.timestamp <= $1.timestamp })
    #expect(Set(history.map(\.storeIdentifier)) == [id.storeIdentifier])
    #expect(history.allSatisfy { $0.changes.map(\.changedPersistentIdentifier) == [id] })
    guard case .insert(let insert as DefaultHistoryInsert<Trip>) = history[0].changes.first else {
      Issue.record("no insert of a trip: \(history[0].changes)")
      return
    }
    #expect(insert.changedPersistentIdentifier == id)
    guard case .update(let update as DefaultHistoryUpdate<Trip>) = history[1].changes.first else {
      Issue.record("no update of a trip: \(history[1].changes)")
      return
    }
    #expect(update.updatedAttributes.contains { $0 == \Trip.place })
    #expect(update.updatedAttributes.count == 1)
  }

  @Test("S75: a tombstone has the attributes that are kept when their models are deleted, and no others")
  func tombstones() throws {
    let context = ModelContext(try makeContainer())
    let trip = Trip("A", days: 3)
    trip.place = "Oslo"
    context.insert(trip)
    try context.save()
    context.delete(trip)
    try context.save()
    let history = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    guard case .delete(let delete as DefaultHistoryDelete<Trip>) = history.last?.changes.first else {
      Issue.record("no delete of a trip: \(history.last?.changes ?? [])")
      return
    }
    #expect(delete.tombstone[\.code] as? String == "A")
    #expect(delete.tombstone[\.days] as? Int == 3)
    #expect(delete.tombstone[\.place] == nil)
    #expect(Array(delete.tombstone).count == 2)
  }

  @Test("S73, S74: predicates by token, author and time; tokens are kept in files")
  func predicates() throws {
    let folder = try Folder()
    let configuration = ModelConfiguration(url: folder.file())
    let tokenData: Data
    do {
      let context = ModelContext(try ModelContainer(for: Trip.self, configurations: configuration))
      for (place, author) in ["a", "b", "c"].enumerated() {
        context.author = author
        context.insert(Trip("\(place)", days: place))
        try context.save()
      }
      let first = try #require(try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).first)
      tokenData = try JSONEncoder().encode(first.token)
    }
    let context = ModelContext(try ModelContainer(for: Trip.self, configurations: configuration))
    let token = try JSONDecoder().decode(DefaultHistoryToken.self, from: tokenData)
    func authors(_ predicate: Predicate<DefaultHistoryTransaction>?) throws -> [String?] {
      try context.fetchHistory(HistoryDescriptor(predicate: predicate)).map(\.author)
    }
    #expect(try authors(#Predicate { $0.token > token }) == ["b", "c"])
    #expect(try authors(#Predicate { $0.token > token && $0.author == "c" }) == ["c"])
    #expect(try authors(#Predicate { $0.author != "b" }) == ["a", "c"])
    let past = Date.distantPast
    #expect(try authors(#Predicate { $0.timestamp > past }).count == 3)
    var descriptor = HistoryDescriptor<DefaultHistoryTransaction>()
    descriptor.fetchLimit = 2
    #expect(try context.fetchHistory(descriptor).map(\.author) == ["a", "b"])
    let newest = HistoryDescriptor<DefaultHistoryTransaction>(
      predicate: nil, sortBy: [SortDescriptor(\.transactionIdentifier, order: .reverse)])
    #expect(try context.fetchHistory(newest).map(\.author) == ["c", "b", "a"])
  }

  @Test("S74: a token whose history was deleted has expired")
  func expiry() throws {
    let context = ModelContext(try makeContainer())
    for place in 0..<3 {
      context.insert(Trip("\(place)", days: place))
      try context.save()
    }
    let history = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    let (first, last) = (history[0].token, history[2].token)
    try context.deleteHistory(
      HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.token < last }))
    #expect(try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).count == 1)
    #expect(throws: SwiftDataError.historyTokenExpired) {
      try context.fetchHistory(
        HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.token > first }))
    }
    #expect(
      try context.fetchHistory(
        HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.token > last })
      ).isEmpty)
  }

  @Test("S74: what does not match stays, though what comes after it does")
  func deletesOnlyMatches() throws {
    let context = ModelContext(try makeContainer())
    for place in 0..<4 {
      context.insert(Trip("\(place)", days: place))
      try context.save()
    }
    func count() throws -> Int {
      try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).count
    }
    let token = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>())[1].token
    try context.deleteHistory(
      HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.token > token }))
    #expect(try count() == 4)
    try context.deleteHistory(
      HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.token <= token }))
    #expect(try count() == 2)
    try context.deleteHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    #expect(try count() == 0)
  }

  @Test("S74: a deletion keeps its limit, and refuses one that goes with another order")
  func deletesNoMoreThanItsLimit() throws {
    let context = ModelContext(try makeContainer())
    for place in 0..<4 {
      context.insert(Trip("\(place)", days: place))
      try context.save()
    }
    func count() throws -> Int {
      try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).count
    }
    var descriptor = HistoryDescriptor<DefaultHistoryTransaction>()
    descriptor.fetchLimit = 1
    try context.deleteHistory(descriptor)
    #expect(try count() == 3)
    descriptor.sortBy = [SortDescriptor(\.timestamp, order: .reverse)]
    #expect(throws: SwiftDataError.invalidTransactionFetchRequest) { try context.deleteHistory(descriptor) }
    #expect(try count() == 3)
    descriptor.fetchLimit = 0
    try context.deleteHistory(descriptor)
    #expect(try count() == 0)
  }

  @Test("S74: what is saved while a deletion looks at the history stays")
  func deletesOnlyWhatItHasSeen() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.author = "a"
    for place in 0..<3 {
      context.insert(Trip("\(place)", days: place))
      try context.save()
    }
    let counter = Counter()
    let predicate = Predicate<DefaultHistoryTransaction> { _ in
      AskedCondition {
        if counter.next() == 3 {
          let other = ModelContext(container)
          other.author = "b"
          other.insert(Trip("late", days: 9))
          try other.save()
        }
        return true
      }
    }
    try context.deleteHistory(HistoryDescriptor(predicate: predicate))
    let left = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    #expect(left.map(\.author) == ["b"])
  }

  @Test("S74: what others delete while a deletion looks at the history is no error")
  func deletesWhatIsLeft() throws {
    let container = try makeContainer()
    let context = ModelContext(container)
    context.author = "a"
    // More than are read at a time.
    for place in 0..<130 {
      context.insert(Trip("\(place)", days: place))
      try context.save()
    }
    let counter = Counter()
    let predicate = Predicate<DefaultHistoryTransaction> { _ in
      AskedCondition {
        let number = counter.next()
        if number == 1 {
          let other = ModelContext(container)
          other.author = "b"
          try other.deleteHistory(HistoryDescriptor<DefaultHistoryTransaction>())
          other.insert(Trip("late", days: 9))
          try other.save()
        }
        return number <= 128
      }
    }
    try context.deleteHistory(HistoryDescriptor(predicate: predicate))
    let left = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    #expect(left.map(\.author) == ["b"] && counter.next() == 130)
  }

  @Test("S74: what a later version keeps in another store comes behind a token from before")
  func laterStore() throws {
    let folder = try Folder()
    let trips = ModelConfiguration("a", schema: Schema([Trip.self]), url: folder.file("Trips.store"))
    let stamps = ModelConfiguration("b", schema: Schema([Stamp.self]), url: folder.file("Stamps.store"))
    let token: DefaultHistoryToken
    do {
      let context = ModelContext(
        try ModelContainer(for: Schema([Trip.self]), configurations: [trips]))
      for place in 0..<2 {
        context.insert(Trip("\(place)", days: place))
        try context.save()
      }
      let history = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>())
      token = try #require(history.first).token
    }
    let container = try ModelContainer(
      for: Schema([Trip.self, Stamp.self]), configurations: [trips, stamps])
    let context = ModelContext(container)
    context.insert(Stamp("NO", 1))
    try context.save()
    context.insert(Trip("2", days: 2))
    try context.save()
    let all = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    let later = try context.fetchHistory(
      HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.token > token }))
    #expect(later == all.filter { $0.token > token })
    #expect(
      later.flatMap(\.changes).map(\.changedPersistentIdentifier.entityName) == ["Trip", "Stamp", "Trip"])
    let observer = try HistoryObserver(historyTokens: [token], modelContainer: container)
    #expect(observer.eventCounter == 3)
  }
}
