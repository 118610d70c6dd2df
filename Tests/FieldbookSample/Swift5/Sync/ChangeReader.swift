import SwiftData

/// Reads from the history of a store what has been changed here, but for what the sync itself has written.
struct ChangeReader {
  static let syncAuthor = "sync"

  struct Changes {
    var changes: [SyncChange] = []
    var token: DefaultHistoryToken?
    /// Whether the history no longer reaches back to where the last reading ended: everything is to be sent.
    var isComplete = false
  }

  let context: ModelContext

  func changes(after token: DefaultHistoryToken?) throws -> Changes {
    var descriptor = HistoryDescriptor<DefaultHistoryTransaction>()
    if let token {
      descriptor.predicate = #Predicate { transaction in
        transaction.token > token && transaction.author != "sync"
      }
    } else {
      descriptor.predicate = #Predicate { $0.author != "sync" }
    }
    let transactions: [DefaultHistoryTransaction]
    do {
      transactions = try context.fetchHistory(descriptor)
    } catch SwiftDataError.historyTokenExpired {
      return try everything()
    }
    var order: [UUID] = []
    var latest: [UUID: SyncChange] = [:]
    func note(_ change: SyncChange) {
      if latest.updateValue(change, forKey: change.uuid) == nil { order.append(change.uuid) }
    }
    for transaction in transactions {
      for change in transaction.changes {
        switch change {
        case .insert(let insert):
          if let record = try record(insert.changedPersistentIdentifier) { note(.put(record)) }
        case .update(let update):
          if let record = try record(update.changedPersistentIdentifier) { note(.put(record)) }
        case .delete(let delete as DefaultHistoryDelete<Sighting>):
          if let uuid = delete.tombstone[\.uuid] as? UUID { note(.remove(uuid)) }
        default:
          break
        }
      }
    }
    return Changes(changes: order.compactMap { latest[$0] }, token: transactions.last?.token ?? token)
  }

  /// All that there is, and where the history ends.
  private func everything() throws -> Changes {
    let all = try context.fetch(FetchDescriptor<Sighting>(sortBy: [SortDescriptor(\.date)]))
    let last = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).last?.token
    return Changes(changes: all.map { .put(SightingRecord($0)) }, token: last, isComplete: true)
  }

  /// The sighting of an identifier as a record; nil for another entity, and for what has gone since.
  private func record(_ identifier: PersistentIdentifier) throws -> SightingRecord? {
    guard identifier.entityName == Schema.entityName(for: Sighting.self) else { return nil }
    return try context.existing(Sighting.self, identifier).map { SightingRecord($0) }
  }
}
