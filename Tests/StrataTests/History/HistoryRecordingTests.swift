import Foundation
import Strata
import Testing

/// Rules 275, 277–280, 288: what is recorded.
struct HistoryRecordingTests {
  private let stand: HistoryStand
  init() throws { stand = try HistoryStand() }

  @Test("rule 277: without the option nothing is recorded, and asking says so")
  func offByDefault() throws {
    let coordinator = try HistoryStand.open(nil, recordsHistory: false)
    let context = HistoryStand.context(coordinator)
    try stand.make("Note", ["title": "a"], in: context)
    #expect(try coordinator.currentHistoryToken() == nil)
    let error = #expect(throws: CoreDataError.self) {
      try coordinator.history(.fetchHistory(after: .beginning))
    }
    #expect(error?.code == .persistentStoreUnsupportedRequestType)
  }

  @Test("rules 278, 279: a save is a transaction with author, context, store, program and changes")
  func facts() throws {
    let before = Date()
    let context = stand.context(author: "Anna", name: "editor")
    let note = try stand.make("Note", ["title": "a"], in: context)
    let transaction = try #require(try stand.transactions().first)
    #expect(transaction.author == "Anna" && transaction.contextName == "editor")
    #expect(transaction.storeID == stand.store.identifier.uuidString)
    #expect(transaction.processID == ProcessInfo.processInfo.processName && !transaction.bundleID.isEmpty)
    #expect(transaction.timestamp >= before.addingTimeInterval(-1) && transaction.timestamp <= Date())
    #expect(try transaction.token == stand.coordinator.currentHistoryToken())
    let change = try #require(transaction.changes?.first)
    #expect(transaction.changes?.count == 1 && change.changeType == .insert)
    #expect(change.changedObjectID == note.objectID)
    #expect(change.updatedProperties == nil && change.tombstone == nil)
    #expect(change.transaction == transaction && change.transaction?.changes == nil)
  }

  @Test("rule 279: updates name the properties with other values, relationships included")
  func updates() throws {
    let context = stand.context()
    let note = try stand.make("Note", ["title": "a", "number": 1], in: context)
    let folder = try stand.make("Folder", ["name": "f"], in: context)
    note.setValue("b", forKey: "title")
    note.setValue(1, forKey: "number")
    try context.save()
    note.setValue(folder, forKey: "folder")
    try context.save()
    let third = ManagedObject(entity: note.entity, insertInto: context)
    third.setValue(folder, forKey: "folder")
    try context.save()
    third.setValue(nil, forKey: "folder")
    folder.setValue("g", forKey: "name")
    try context.save()
    context.delete(note)
    try context.save()
    #expect(
      HistoryStand.words(try stand.transactions()) == [
        ["insert Note p1"], ["insert Folder p1"], ["update Note p1 title"],
        ["update Note p1 folder", "update Folder p1 notes"],
        ["insert Note p2", "update Folder p1 notes"],
        ["update Folder p1 name,notes", "update Note p2 folder"],
        ["delete Note p1", "update Folder p1 notes"],
      ])
  }

  @Test("rule 280: a tombstone has the attributes that ask for it, and nothing else")
  func tombstones() throws {
    let context = stand.context()
    let long = String(repeating: "ä", count: 3_000)
    let first = try stand.make("Note", ["title": long, "number": 7, "text": "secret"], in: context)
    let second = try stand.make("Note", ["text": "secret"], in: context)
    context.delete(first)
    context.delete(second)
    try context.save()
    let changes = try #require(try stand.transactions().last?.changes)
    #expect(changes.map(\.changeType) == [.delete, .delete])
    let tombstone = try #require(changes.first { $0.changedObjectID == first.objectID }?.tombstone)
    #expect(Set(tombstone.keys) == ["title", "number"])
    #expect(tombstone["title"] as? String == long && tombstone["number"] as? Int64 == 7)
    #expect(changes.first { $0.changedObjectID == second.objectID }?.tombstone == nil)
  }

  @Test("rule 275: batches are recorded, in one transaction each")
  func batches() throws {
    let context = stand.context(author: "importer")
    let rows = (0..<5).map { ["title": "t\($0)", "number": $0] as [String: any Sendable] }
    _ = try context.execute(BatchInsertRequest(entityName: "Note", objects: rows))
    var update = BatchUpdateRequest(entityName: "Note", propertiesToUpdate: ["text": "x"])
    update.predicate = try FetchPredicate(format: "number > 2")
    _ = try context.execute(update)
    _ = try context.execute(
      BatchDeleteRequest(
        fetchRequest: FetchRequest<ManagedObject>(
          entityName: "Note", predicate: try FetchPredicate(format: "number < 2"))))
    let transactions = try stand.transactions()
    #expect(
      HistoryStand.words(transactions) == [
        (1...5).map { "insert Note p\($0)" }, ["update Note p4 text", "update Note p5 text"],
        ["delete Note p1", "delete Note p2"],
      ])
    #expect(transactions.allSatisfy { $0.author == "importer" })
    #expect(transactions[2].changes?.map { $0.tombstone?["title"] as? String } == ["t0", "t1"])
  }

  @Test("a batch of thousands of rows lies in several parts and is reported as one transaction")
  func largeBatch() throws {
    let context = stand.context()
    let rows = (0..<20_000).map {
      ["title": "a title of some length \($0)", "number": $0] as [String: any Sendable]
    }
    _ = try context.execute(BatchInsertRequest(entityName: "Note", objects: rows))
    var update = BatchUpdateRequest(entityName: "Note", propertiesToUpdate: ["text": "x"])
    update.predicate = try FetchPredicate(format: "modulus:by:(number, 2) == 0")
    _ = try context.execute(update)
    _ = try context.execute(BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Note")))
    let transactions = try stand.transactions()
    #expect(transactions.map { $0.changes?.count } == [20_000, 10_000, 20_000])
    let titles = transactions[2].changes?.compactMap { $0.tombstone?["title"] as? String }
    #expect(Set(titles ?? []).count == 20_000)
    #expect(Set(transactions.flatMap { $0.changes ?? [] }.map(\.changeID)).count == 50_000)
    #expect(try (stand.store as? LMDBStore)?.check().problems == [])
  }

  @Test("what fails is not recorded, nor what changes nothing")
  func failures() throws {
    let context = stand.context()
    try stand.make("Note", ["title": "a"], in: context)
    try context.save()
    let other = stand.context()
    let mine = try context.fetch(FetchRequest<ManagedObject>(entityName: "Note"))[0]
    let theirs = try other.fetch(FetchRequest<ManagedObject>(entityName: "Note"))[0]
    mine.setValue("b", forKey: "title")
    theirs.setValue("c", forKey: "title")
    try context.save()
    #expect(throws: (any Error).self) { try other.save() }
    #expect(try stand.transactions().count == 2)
  }

  @Test("saves that are written together are transactions of their own, in the order of their numbers")
  func together() async throws {
    let coordinator = stand.coordinator
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<40 {
        group.addTask {
          let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
          context.transactionAuthor = "writer \(number)"
          try await context.perform {
            let entity = coordinator.managedObjectModel.entitiesByName["Note"]!
            let note = ManagedObject(entity: entity, insertInto: context)
            note.setValue(number, forKey: "number")
            try context.save()
          }
        }
      }
      try await group.waitForAll()
    }
    let transactions = try stand.transactions()
    #expect(transactions.map(\.transactionNumber) == (1...40).map { Int64($0) })
    #expect(Set(transactions.compactMap(\.author)).count == 40)
    #expect(transactions.allSatisfy { $0.changes?.count == 1 })
  }

  @Test("rule 288: opened without the option, a store that records a history continues")
  func goesOn() throws {
    try stand.make("Note", ["title": "a"], in: stand.context())
    let other = try HistoryStand.open(stand.url, recordsHistory: false)
    try stand.make("Note", ["title": "b"], in: HistoryStand.context(other, author: "old program"))
    #expect(try stand.transactions().map(\.author) == [nil, "old program"])
    // A file is open for writing or for reading only.
    for coordinator in [other, stand.coordinator] { try coordinator.remove(coordinator.persistentStores[0]) }
    let reader = try HistoryStand.open(stand.url, recordsHistory: false) { $0.isReadOnly = true }
    #expect(try reader.history(.fetchHistory(after: .beginning)).count == 2)
  }

  @Test("a process that has the store open records from the commit with which another one begins the history")
  func begunElsewhere() throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let url = folder.url.appendingPathComponent("Old.strata")
    let early = try HistoryStand.open(url, recordsHistory: false)
    let context = HistoryStand.context(early, author: "early")
    try stand.make("Note", ["title": "before"], in: context)
    let late = try HistoryStand.open(url)
    let token = try late.currentHistoryToken()
    try stand.make("Note", ["title": "after"], in: context)
    #expect(try late.history(.fetchHistory(after: token)).transactions.map(\.author) == ["early"])
    #expect(try early.history(.fetchHistory(after: .beginning)).count == 1)
  }

  @Test("endHistory stops recording; tokens from before are expired when it begins again")
  func ended() throws {
    let context = stand.context()
    try stand.make("Note", ["title": "a"], in: context)
    let token = try stand.coordinator.currentHistoryToken()
    try stand.coordinator.endHistory(of: stand.store)
    try stand.make("Note", ["title": "b"], in: context)
    #expect(try stand.coordinator.currentHistoryToken() == nil)
    let again = try HistoryStand.open(stand.url)
    #expect(try again.history(.fetchHistory(after: .beginning)).count == 0)
    let error = #expect(throws: CoreDataError.self) { try again.history(.fetchHistory(after: token)) }
    #expect(error?.code == .persistentHistoryTokenExpired)
    try stand.make("Note", ["title": "c"], in: context)
    #expect(try stand.transactions().count == 1)
  }
}
