import Foundation
import Strata
import Testing

/// Requests that delete a part of a history which a predicate chooses.
struct HistoryDeletionTests {
  private let stand: HistoryStand
  private let anna: ManagedObjectContext

  /// Seven saves: Anna's 1, 2, 4, 6, 7, Bert's 3, 5.
  init() throws {
    stand = try HistoryStand()
    anna = stand.context(author: "Anna")
    let bert = stand.context(author: "Bert")
    for number in 1...7 {
      try stand.make("Note", ["title": "n\(number)"], in: [3, 5].contains(number) ? bert : anna)
    }
  }

  private static func all() -> PersistentHistoryRequest {
    .deleteHistory(before: Date().addingTimeInterval(60))
  }

  /// How many are gone.
  private func delete(
    _ request: PersistentHistoryRequest = Self.all(), where predicate: String? = nil,
    _ change: (inout PersistentHistoryRequest) -> Void = { _ in }
  ) throws -> Int {
    var request = request
    request.resultType = .count
    request.transactionPredicate = try predicate.map { try FetchPredicate(format: $0) }
    change(&request)
    return try stand.coordinator.history(request).count
  }

  private var left: [Int64] {
    get throws { try stand.transactions().map(\.transactionNumber) }
  }

  @Test("rule 283: what does not match stays, and what matches behind it")
  func byAuthor() throws {
    let tokens = try stand.transactions().map(\.token)
    #expect(try delete(where: "author == 'nobody'") == 0)
    #expect(try delete(where: "author == 'Bert'") == 0)
    #expect(try left == [1, 2, 3, 4, 5, 6, 7])
    #expect(try delete(where: "author == 'Anna'") == 2)
    #expect(try left == [3, 4, 5, 6, 7])
    // Others go on from where they are, also from what has just gone.
    #expect(try stand.transactions(after: tokens[1]).map(\.transactionNumber) == [3, 4, 5, 6, 7])
    #expect(try stand.transactions(after: tokens[3]).map(\.transactionNumber) == [5, 6, 7])
    #expect(try delete(where: "author == 'Anna'") == 0)
    #expect(try delete(where: "author IN {'Anna', 'Bert'} AND transactionNumber < 6") == 3)
    #expect(try left == [6, 7])
    #expect(try (stand.store as? LMDBStore)?.check().problems == [])
  }

  @Test("the place counts as well, whichever it is")
  func places() throws {
    let transactions = try stand.transactions()
    #expect(try delete(.deleteHistory(before: Date.distantPast), where: "author == 'Anna'") == 0)
    #expect(try delete(.deleteHistory(before: transactions[1]), where: "author == 'Anna'") == 1)
    #expect(try left == [2, 3, 4, 5, 6, 7])
    #expect(try delete(.deleteHistory(before: transactions[5].token), where: "author == 'Anna'") == 1)
    #expect(try left == [3, 4, 5, 6, 7])
    try stand.coordinator.setHistoryConsumer(named: "widget", to: transactions[3].token)
    #expect(
      try delete(.deleteHistory(before: .consumer("widget")), where: "author IN {'Anna', 'Bert'}") == 2)
    #expect(try left == [5, 6, 7])
  }

  @Test("predicates that need the changes, and small batches")
  func byChanges() throws {
    let note = try #require(try anna.fetch(FetchRequest<ManagedObject>(entityName: "Note")).first)
    note.setValue("other", forKey: "title")
    try anna.save()
    #expect(try delete(where: "ANY changes.changeType == 1") == 0)
    #expect(
      try delete(where: "SUBQUERY(changes, $c, $c.changeType == 0).@count > 0") { $0.fetchBatchSize = 1 }
        == 7)
    #expect(try left == [8])
  }

  @Test("a limit is kept in one store")
  func limits() throws {
    #expect(try delete { $0.fetchLimit = 1 } == 1)
    #expect(try delete(where: "author == 'Anna'") { $0.fetchLimit = 5 } == 1)
    #expect(try left == [3, 4, 5, 6, 7])
    let second = stand.folder.url.appendingPathComponent("Second.strata")
    var description = PersistentStoreDescription(url: second)
    description.recordsHistory = true
    try stand.coordinator.addPersistentStore(description)
    let error = #expect(throws: CoreDataError.self) { try delete { $0.fetchLimit = 1 } }
    #expect(error?.code.rawValue == 134_060)
    let first = stand.store.identifier
    #expect(
      try delete {
        $0.fetchLimit = 2
        $0.affectedStores = [first]
      } == 2)
    #expect(try left == [5, 6, 7])
  }

  @Test("what a deletion cannot do is refused, and deletes nothing")
  func refused() throws {
    func refusal(_ change: (inout PersistentHistoryRequest) throws -> Void) throws -> Int? {
      var request = Self.all()
      try change(&request)
      let error = #expect(throws: CoreDataError.self) { try stand.coordinator.history(request) }
      return error?.code.rawValue
    }
    #expect(try refusal { $0.changePredicate = try FetchPredicate(format: "changeType == 0") } == 134_060)
    #expect(try refusal { $0.changePredicate = .everything } == 134_060)
    #expect(try refusal { $0.fetchOffset = 1 } == 134_060)
    #expect(
      try refusal {
        $0.fetchLimit = 1
        $0.sortDescriptors = [FetchSort("transactionNumber", ascending: false)]
      } == 134_060)
    #expect(
      try refusal {
        $0.fetchLimit = 1
        $0.isNewestFirst = true
      } == 134_060)
    #expect(
      try refusal { $0.transactionPredicate = try FetchPredicate(format: "nonsense == 1") } == 134_060)
    #expect(try left == [1, 2, 3, 4, 5, 6, 7])
  }

  @Test("sub-queries look at the changes of a transaction one by one")
  func subqueries() throws {
    let note = try #require(try anna.fetch(FetchRequest<ManagedObject>(entityName: "Note")).first)
    note.setValue("other", forKey: "title")
    try stand.make("Folder", ["name": "f"], in: anna)
    func numbers(_ format: String, _ arguments: any Sendable...) throws -> [Int64] {
      let predicate = try FetchPredicate(format: format, argumentArray: arguments)
      return try stand.transactions { $0.transactionPredicate = predicate }.map(\.transactionNumber)
    }
    #expect(try numbers("SUBQUERY(changes, $c, $c.changeType == 1).@count > 0") == [8])
    #expect(try numbers("SUBQUERY(changes, $c, $c.changeType == 0).@count == 0") == [])
    #expect(
      try numbers("SUBQUERY(changes, $c, $c.changeType == 1 AND $c.changedEntity == 'Folder').@count > 0")
        == [])
    #expect(
      try numbers("SUBQUERY(changes, $c, $c.changedEntity == 'Folder' AND author == 'Anna').@count == 1")
        == [8])
    #expect(
      try numbers("ANY SUBQUERY(changes, $c, $c.changeType == 1).changedObjectID == %@", note.objectID)
        == [8])
    #expect(throws: CoreDataError.self) { try numbers("SUBQUERY(author, $c, $c.changeType == 1).@count > 0") }
    #expect(throws: CoreDataError.self) {
      try numbers("SUBQUERY(changes, $c, $d.changeType == 1).@count > 0")
    }
  }
}
