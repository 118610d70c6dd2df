import Foundation
import Strata
import Testing

/// Rules 281–287: asking for a history.
struct HistoryFetchTests {
  private let stand: HistoryStand
  private let anna: ManagedObjectContext
  private let bert: ManagedObjectContext

  /// Seven saves: Anna's 1, 3, 5, 7, Bert's 2, 4, 6.
  init() throws {
    stand = try HistoryStand()
    anna = stand.context(author: "Anna", name: "editor")
    bert = stand.context(author: "Bert")
    for number in 1...7 {
      try stand.make("Note", ["title": "n\(number)", "number": number], in: number % 2 == 1 ? anna : bert)
    }
  }

  private func numbers(_ request: PersistentHistoryRequest) throws -> [Int64] {
    try stand.coordinator.history(request).transactions.map(\.transactionNumber)
  }

  private func numbers(_ predicate: String, _ arguments: any Sendable...) throws -> [Int64] {
    var request = PersistentHistoryRequest.fetchHistory(after: .beginning)
    request.transactionPredicate = try FetchPredicate(format: predicate, argumentArray: arguments)
    return try numbers(request)
  }

  private func expired(_ body: () throws -> Void) -> CoreDataError.Code? {
    #expect(throws: CoreDataError.self, performing: body)?.code
  }

  @Test("rule 281: what is answered")
  func resultTypes() throws {
    func ask(_ type: PersistentHistoryResultType) throws -> PersistentHistoryResult {
      var request = PersistentHistoryRequest.fetchHistory(after: .beginning)
      request.resultType = type
      return try anna.execute(request)
    }
    #expect(PersistentHistoryRequest.fetchHistory(after: .beginning).resultType == .transactionsAndChanges)
    #expect(try ask(.statusOnly).result as? Bool == true)
    #expect(try ask(.count).result as? Int == 7)
    #expect(try (ask(.objectIDs).result as? [ManagedObjectID])?.count == 7)
    let only = try ask(.transactionsOnly).transactions
    #expect(only.count == 7 && only.allSatisfy { $0.changes == nil })
    let changes = try ask(.changesOnly).changes
    #expect(changes.map { $0.transaction?.transactionNumber } == (1...7).map { Int64($0) })
    #expect(try ask(.transactionsAndChanges).transactions.allSatisfy { $0.changes?.count == 1 })
    #expect(PersistentHistoryResultType.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5])
    #expect(PersistentHistoryChangeType.allCases.map(\.rawValue) == [0, 1, 2])
  }

  @Test("rule 282: after a token, a date, a transaction, or everything")
  func places() throws {
    let all = try stand.transactions()
    #expect(all.map(\.transactionNumber) == [1, 2, 3, 4, 5, 6, 7])
    #expect(try stand.transactions(after: all[3].token).map(\.transactionNumber) == [5, 6, 7])
    #expect(try numbers(.fetchHistory(after: all[5])) == [7])
    #expect(try numbers(.fetchHistory(after: all[6].timestamp.addingTimeInterval(1))) == [])
    #expect(try numbers(.fetchHistory(after: all[0].timestamp.addingTimeInterval(-1))).count == 7)
    #expect(try numbers(.fetchHistory(after: nil as PersistentHistoryToken?)).count == 7)
  }

  @Test("rules 282, 287: predicates on transactions")
  func transactionPredicates() throws {
    #expect(try numbers("author == 'Anna'") == [1, 3, 5, 7])
    #expect(try numbers("author != %@", "Anna") == [2, 4, 6])
    #expect(try numbers("contextName == nil AND transactionNumber BETWEEN {3, 6}") == [4, 6])
    #expect(try numbers("NOT author IN %@", ["Anna", "Carl"]) == [2, 4, 6])
    let all = try stand.transactions()
    #expect(try numbers("token >= %@", all[4].token) == [5, 6, 7])
    #expect(try numbers("token < %@", all[1].token) == [1])
    #expect(try numbers("token == %@", all[1].token) == [2])
    #expect(try numbers("timestamp <= %@", Date().addingTimeInterval(5)).count == 7)
    let last = try #require(all[6].changes?[0].changedObjectID)
    #expect(try numbers("ANY changes.changedObjectID == %@", last) == [7])
    #expect(try numbers("storeID == %@", UUID().uuidString) == [])
    #expect(throws: CoreDataError.self) { try numbers("nonsense == 1") }
  }

  @Test("rule 282: predicates on changes leave out the rest, and transactions without any")
  func changePredicates() throws {
    let note = try #require(try anna.fetch(FetchRequest<ManagedObject>(entityName: "Note")).first)
    let folder = ManagedObject(
      entity: stand.coordinator.managedObjectModel.entitiesByName["Folder"]!, insertInto: anna)
    note.setValue("other", forKey: "title")
    try anna.save()
    func words(_ format: String, _ arguments: any Sendable...) throws -> [[String]] {
      var request = PersistentHistoryRequest.fetchHistory(after: .beginning)
      request.changePredicate = try FetchPredicate(format: format, argumentArray: arguments)
      return HistoryStand.words(try stand.coordinator.history(request).transactions)
    }
    #expect(try words("changeType == 1") == [["update Note p1 title"]])
    #expect(try words("updatedProperties CONTAINS 'title'") == [["update Note p1 title"]])
    #expect(try words("changedEntity == 'Folder'") == [["insert Folder p1"]])
    #expect(try words("changedObjectID == %@", note.objectID).count == 2)
    #expect(try words("transaction.author == 'Bert'").count == 3)
    anna.delete(folder)
    anna.delete(note)
    try anna.save()
    #expect(try words("tombstone.title == 'other'") == [["delete Note p1"]])
  }

  @Test("limit, offset, order and batches")
  func windows() throws {
    var request = PersistentHistoryRequest.fetchHistory(after: .beginning)
    request.fetchLimit = 3
    #expect(try numbers(request) == [1, 2, 3])
    request.fetchOffset = 2
    #expect(try numbers(request) == [3, 4, 5])
    request.isNewestFirst = true
    #expect(try numbers(request) == [5, 4, 3])
    request.isNewestFirst = false
    request.sortDescriptors = [FetchSort("author"), FetchSort("transactionNumber", ascending: false)]
    #expect(try numbers(request) == [3, 1, 6])
    for size in 1...8 {
      for isNewestFirst in [false, true] {
        var request = PersistentHistoryRequest.fetchHistory(after: .beginning)
        request.fetchBatchSize = size
        request.isNewestFirst = isNewestFirst
        #expect(try numbers(request) == (isNewestFirst ? [7, 6, 5, 4, 3, 2, 1] : [1, 2, 3, 4, 5, 6, 7]))
      }
    }
  }

  @Test("going through the history one by one, saving on the way")
  func oneByOne() throws {
    var seen: [Int64] = []
    var request = PersistentHistoryRequest.fetchHistory(after: .beginning)
    request.fetchBatchSize = 2
    try stand.coordinator.forEachHistoryTransaction(request) { transaction in
      seen.append(transaction.transactionNumber)
      if seen.count == 1 { try stand.make("Note", ["title": "meanwhile"], in: bert) }
      return seen.count < 8
    }
    #expect(seen == [1, 2, 3, 4, 5, 6, 7, 8])
  }

  @Test("what is deleted while it is read is an error and no gap")
  func deletedWhileRead() throws {
    let all = try stand.transactions()
    func read(
      after place: PersistentHistoryRequest.Place, isNewestFirst: Bool = false, _ change: () throws -> Void
    ) -> (seen: [Int64], code: CoreDataError.Code?) {
      var request = PersistentHistoryRequest.fetchHistory(after: place)
      request.fetchBatchSize = 2
      request.isNewestFirst = isNewestFirst
      var seen: [Int64] = []
      do {
        try stand.coordinator.forEachHistoryTransaction(request) {
          seen.append($0.transactionNumber)
          if seen.count == 1 { try change() }
          return true
        }
      } catch { return (seen, (error as? CoreDataError)?.code) }
      return (seen, nil)
    }
    // What was read already may go.
    var (seen, code) = read(after: .beginning) {
      _ = try stand.coordinator.history(.deleteHistory(before: all[1]))
    }
    #expect(seen == [1, 2, 3, 4, 5, 6, 7] && code == nil)
    (seen, code) = read(after: .token(all[0].token)) {
      _ = try stand.coordinator.history(.deleteHistory(before: all[4].token))
    }
    #expect(seen == [2, 3] && code == .persistentHistoryTokenExpired)
    (seen, code) = read(after: .beginning) {
      try stand.make("Note", ["title": "8"], in: anna)
      _ = try stand.coordinator.history(.deleteHistory(before: Date.distantFuture))
    }
    #expect(seen == [5, 6] && code == .persistentHistoryTokenExpired)
    let token = try #require(try stand.coordinator.currentHistoryToken())
    for number in 9...12 { try stand.make("Note", ["title": "\(number)"], in: anna) }
    let rest = try stand.transactions(after: token)
    (seen, code) = read(after: .token(token), isNewestFirst: true) {
      _ = try stand.coordinator.history(.deleteHistory(before: rest[2]))
    }
    #expect(seen == [12, 11] && code == .persistentHistoryTokenExpired)
    // Backwards from the newest to what there is, the end is where the history begins.
    for number in 13...16 { try stand.make("Note", ["title": "\(number)"], in: anna) }
    (seen, code) = read(after: .beginning, isNewestFirst: true) {
      _ = try stand.coordinator.history(.deleteHistory(before: rest[3]))
    }
    #expect(seen == [16, 15, 14, 13, 12] && code == nil)
    (seen, code) = read(after: .beginning) { try stand.coordinator.endHistory(of: stand.store) }
    #expect(seen == [12, 13] && code == .persistentHistoryTokenExpired)
  }

  @Test("limit and offset count in the order that was asked for, whatever is answered")
  func sortedWindows() throws {
    let all = try stand.transactions()
    let newest = [6, 5].compactMap { all[$0].changes?[0].changedObjectID }
    func ask(_ type: PersistentHistoryResultType, _ key: String) throws -> PersistentHistoryResult {
      var request = PersistentHistoryRequest.fetchHistory(after: .beginning)
      request.resultType = type
      request.sortDescriptors = [FetchSort(key, ascending: false)]
      request.fetchLimit = 2
      return try stand.coordinator.history(request)
    }
    for key in ["transactionNumber", "changeID", "transaction.transactionNumber"] {
      let found = try ask(.objectIDs, key)
      #expect(found.objectIDs == newest && found.count == 2 && found.changes.isEmpty, "\(key)")
      #expect(found.result as? [ManagedObjectID] == newest)
      #expect(try ask(.changesOnly, key).changes.map(\.changedObjectID) == newest, "\(key)")
    }
    #expect(try ask(.count, "transactionNumber").count == 2)
    #expect(try ask(.transactionsOnly, "token").transactions.map(\.transactionNumber) == [7, 6])
    #expect(throws: CoreDataError.self) { try ask(.objectIDs, "nonsense") }
    // An object that was changed twice is there once.
    let note = try #require(try anna.fetch(FetchRequest<ManagedObject>(entityName: "Note")).first)
    for title in ["x", "y"] {
      note.setValue(title, forKey: "title")
      try anna.save()
    }
    let twice = try ask(.objectIDs, "transactionNumber")
    #expect(twice.objectIDs == [note.objectID] && twice.count == 2)
  }

  @Test("rule 283: what is named stays")
  func deleting() throws {
    let all = try stand.transactions()
    #expect(try stand.coordinator.history(.deleteHistory(before: all[1])).count == 1)
    #expect(try stand.transactions().map(\.transactionNumber) == [2, 3, 4, 5, 6, 7])
    var request = PersistentHistoryRequest.deleteHistory(before: all[3].token)
    request.resultType = .count
    #expect(try anna.execute(request).result as? Int == 2)
    #expect(try stand.transactions().map(\.transactionNumber) == [4, 5, 6, 7])
    #expect(
      try anna.execute(PersistentHistoryRequest.deleteHistory(before: .beginning)).result as? Bool == true)
    #expect(try stand.transactions().count == 4)
    #expect(try stand.coordinator.history(.deleteHistory(before: Date().addingTimeInterval(5))).count == 4)
    #expect(try stand.transactions().isEmpty)
    try stand.make("Note", ["title": "next"], in: anna)
    #expect(try stand.transactions().map(\.transactionNumber) == [8])
    #expect(try (stand.store as? LMDBStore)?.check().problems == [])
  }

  @Test("rule 284: a token from before what was deleted is expired; one that has lost nothing is not")
  func expiredTokens() throws {
    let all = try stand.transactions()
    _ = try stand.coordinator.history(.deleteHistory(before: all[3]))
    #expect(
      expired { _ = try stand.transactions(after: all[1].token) } == .persistentHistoryTokenExpired)
    #expect(try stand.transactions(after: all[2].token).map(\.transactionNumber) == [4, 5, 6, 7])
  }

  @Test("a token of another store, and one that is ahead of the store, are errors and no empty result")
  func foreignTokens() throws {
    let other = try HistoryStand()
    try other.make("Note", ["title": "x"], in: other.context())
    let foreign = try other.coordinator.currentHistoryToken()
    #expect(expired { _ = try stand.transactions(after: foreign) } == .persistentHistoryTokenExpired)
    #expect(
      expired { _ = try stand.coordinator.history(.deleteHistory(before: foreign)) }
        == .persistentHistoryTokenExpired)
    let copy = stand.folder.url.appendingPathComponent("Copy.strata")
    try (stand.store as? LMDBStore)?.backup(to: copy)
    try stand.make("Note", ["title": "later"], in: anna)
    let ahead = try stand.coordinator.currentHistoryToken()
    let old = try HistoryStand.open(copy)
    #expect(try old.history(.fetchHistory(after: .beginning)).count == 7)
    #expect(expired { _ = try old.history(.fetchHistory(after: ahead)) } == .persistentHistoryTokenExpired)
  }

  @Test("rule 285: the current token is there for a fresh store, and nothing comes after it")
  func currentToken() throws {
    let fresh = try HistoryStand.open(nil)
    let token = try #require(try fresh.currentHistoryToken())
    #expect(try fresh.history(.fetchHistory(after: token)).count == 0)
    let now = try stand.coordinator.currentHistoryToken()
    #expect(try stand.transactions(after: now).isEmpty)
    try stand.make("Note", ["title": "next"], in: anna)
    #expect(try stand.transactions(after: now).map(\.transactionNumber) == [8])
  }

  @Test("rules 187, 286: the transactions of another stack, merged in order, bring a context up to date")
  func merging() throws {
    let other = try HistoryStand.open(stand.url)
    let theirs = HistoryStand.context(other)
    let context = stand.context()
    let sort = [FetchSort("number")]
    let notes = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note", sortDescriptors: sort))
    #expect(notes.compactMap { $0.value(forKey: "title") as? String }.count == 7)
    let token = try stand.coordinator.currentHistoryToken()
    let others = try theirs.fetch(FetchRequest<ManagedObject>(entityName: "Note", sortDescriptors: sort))
    others[0].setValue("changed", forKey: "title")
    try theirs.save()
    theirs.delete(others[1])
    let folder = ManagedObject(
      entity: other.managedObjectModel.entitiesByName["Folder"]!, insertInto: theirs)
    others[2].setValue(folder, forKey: "folder")
    try theirs.save()
    try stand.make("Note", ["title": "new"], in: theirs)
    let transactions = try stand.transactions(after: token)
    #expect(transactions.count == 3)
    let told = Heard(ManagedObjectContext.didMergeChangesObjectIDsNotification, of: context) { note in
      ["inserted_objectIDs", "deleted_objectIDs"].map {
        (note.userInfo?[$0] as? Set<ManagedObjectID>)?.count ?? 0
      }
    }
    for transaction in transactions {
      context.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
    }
    #expect(notes[0].value(forKey: "title") as? String == "changed")
    #expect(notes[1].managedObjectContext == nil || notes[1].isDeleted)
    #expect((notes[2].value(forKey: "folder") as? ManagedObject)?.entity.name == "Folder")
    #expect(told.all.map { $0[0] }.reduce(0, +) == 2 && told.all.map { $0[1] }.reduce(0, +) == 1)
  }

  @Test("rule 287: tokens are coded by Codable and NSSecureCoding, and what is no token is refused")
  func coding() throws {
    let token = try #require(try stand.coordinator.currentHistoryToken())
    let json = try JSONEncoder().encode([token])
    #expect(try JSONDecoder().decode([PersistentHistoryToken].self, from: json) == [token])
    let archive = try NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true)
    let back = try NSKeyedUnarchiver.unarchivedObject(ofClass: PersistentHistoryToken.self, from: archive)
    #expect(back == token && back?.hash == token.hash)
    for text in [
      "", "strata-history x@1", "strata-history \(UUID().uuidString)@-1", "\(UUID().uuidString)@1",
    ] {
      let data = try JSONEncoder().encode([text])
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode([PersistentHistoryToken].self, from: data)
      }
    }
  }

  @Test("several stores: one order by time, and a token that knows how far each has come")
  func severalStores() throws {
    let model = HistoryStand.model()
    model.setEntities([model.entitiesByName["Note"]!], forConfigurationName: "A")
    model.setEntities([model.entitiesByName["Folder"]!], forConfigurationName: "B")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    for name in ["A", "B"] {
      var description = PersistentStoreDescription.inMemory
      description.configuration = name
      description.recordsHistory = true
      try coordinator.addPersistentStore(description)
    }
    let context = HistoryStand.context(coordinator)
    for number in 0..<6 { try stand.make(number % 2 == 0 ? "Note" : "Folder", [:], in: context) }
    let all = try coordinator.history(.fetchHistory(after: .beginning)).transactions
    #expect(
      all.map { $0.changes?[0].changedObjectID.entityName } == [
        "Note", "Folder", "Note", "Folder", "Note", "Folder",
      ])
    #expect(try all.last?.token == coordinator.currentHistoryToken())
    for (place, transaction) in all.enumerated() {
      #expect(try coordinator.history(.fetchHistory(after: transaction)).count == 5 - place)
    }
    // In the other store, what was committed before the transaction is no part of it that would have to stay.
    #expect(try coordinator.history(.deleteHistory(before: all[4])).count == 4)
    let rest = try coordinator.history(.fetchHistory(after: .beginning)).transactions
    #expect(rest.map { $0.changes?[0].changedObjectID.entityName } == ["Note", "Folder"])
    #expect(try coordinator.history(.fetchHistory(after: all[3])).count == 2)
    // A token of both is at the last transaction of each.
    #expect(try coordinator.history(.deleteHistory(before: all[5].token)).count == 0)
    #expect(try coordinator.history(.deleteHistory(before: all[5])).count == 1)
  }
}
