import SwiftData
import Testing

@Suite("History")
struct HistoryRows {
  @Test("HistoryDescriptor, DefaultHistoryTransaction, DefaultHistoryToken: what a save leaves")
  func transactions() throws {
    let context = try makeContext()
    context.author = "me"
    context.insert(Trip(name: "a"))
    try context.save()
    var descriptor = HistoryDescriptor<DefaultHistoryTransaction>()
    let first = try #require(context.fetchHistory(descriptor).last)
    let token: DefaultHistoryToken = first.token
    #expect(first.author == "me" && first.timestamp <= Date.now && !first.storeIdentifier.isEmpty)
    #expect(!first.bundleIdentifier.isEmpty || !first.processIdentifier.isEmpty)
    #expect(first.id == first.transactionIdentifier)
    let read = try JSONDecoder().decode(DefaultHistoryToken.self, from: JSONEncoder().encode(token))
    #expect(read == token && token.tokenValue?.isEmpty == false)
    context.insert(Trip(name: "b"))
    try context.save()
    descriptor.predicate = #Predicate { $0.token > token }
    let later = try context.fetchHistory(descriptor)
    #expect(later.count == 1 && later.allSatisfy { $0.token > token })
    descriptor.predicate = #Predicate { $0.author == "me" }
    descriptor.fetchLimit = 1
    #expect(try context.fetchHistory(descriptor).count == 1)
  }

  @Test("HistoryChange, HistoryInsert/Update/Delete, DefaultHistoryInsert/Update/Delete, HistoryTombstone")
  func changes() throws {
    let context = try makeContext()
    let trip = Trip(name: "a")
    trip.number = 7
    context.insert(trip)
    try context.save()
    let identifier = trip.persistentModelID
    trip.name = "b"
    try context.save()
    context.delete(trip)
    try context.save()
    let changes = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).flatMap(\.changes)
    #expect(changes.map(\.changedPersistentIdentifier) == [identifier, identifier, identifier])
    var seen: [String] = []
    for change in changes {
      switch change {
      case .insert(let insert as DefaultHistoryInsert<Trip>):
        #expect(insert.changedPersistentIdentifier == identifier)
        seen.append("insert")
      case .update(let update as DefaultHistoryUpdate<Trip>):
        #expect(update.updatedAttributes.contains { $0 == \Trip.name })
        seen.append("update")
      case .delete(let delete as DefaultHistoryDelete<Trip>):
        #expect(delete.tombstone[\.number] as? Int == 7)
        #expect(delete.tombstone[\.name] == nil && Array(delete.tombstone).count == 1)
        seen.append("delete")
      default: Issue.record("an unexpected change")
      }
    }
    #expect(seen == ["insert", "update", "delete"])
  }

  @Test("protocol HistoryTransaction: generic code over any of them; historyTokenExpired")
  func generic() throws {
    func latest<T: HistoryTransaction>(_ context: ModelContext, _: T.Type) throws -> T? {
      try context.fetchHistory(HistoryDescriptor<T>()).last
    }
    let context = try makeContext()
    context.insert(Trip(name: "a"))
    try context.save()
    let token = try #require(try latest(context, DefaultHistoryTransaction.self)).token
    context.insert(Trip(name: "b"))
    try context.save()
    try context.deleteHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    #expect(throws: SwiftDataError.historyTokenExpired) {
      try context.fetchHistory(
        HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.token > token }))
    }
  }
}
