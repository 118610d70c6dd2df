//
//  HistoryTracker.swift
//  LedgerKit
//

import CoreData
import Foundation

/// Where the place in the history is kept.
public protocol HistoryTokenStorage: AnyObject {
  var token: NSPersistentHistoryToken? { get set }
}

public final class MemoryTokenStorage: HistoryTokenStorage {
  public var token: NSPersistentHistoryToken?
  public init() {}
}

/// Keeps the token in a file.
public final class FileTokenStorage: HistoryTokenStorage {
  private let url: URL

  public init(url: URL) {
    self.url = url
  }

  public var token: NSPersistentHistoryToken? {
    get {
      guard let data = try? Data(contentsOf: url) else { return nil }
      return try? NSKeyedUnarchiver.unarchivedObject(ofClass: NSPersistentHistoryToken.self, from: data)
    }
    set {
      guard let token = newValue else {
        try? FileManager.default.removeItem(at: url)
        return
      }
      guard let data = try? NSKeyedArchiver.archivedData(withRootObject: token, requiringSecureCoding: true) else {
        return
      }
      try? data.write(to: url, options: .atomic)
    }
  }
}

public struct HistorySummary: Equatable {
  public var author: String?
  public var inserted: [String: Int] = [:]
  public var updated: [String: Int] = [:]
  public var deleted: [String: Int] = [:]
}

/// Follows what others have written.
public final class HistoryTracker {
  private let context: NSManagedObjectContext
  private let storage: HistoryTokenStorage
  private let author: String

  public init(context: NSManagedObjectContext, storage: HistoryTokenStorage, author: String) {
    self.context = context
    self.storage = storage
    self.author = author
  }

  /// The transactions since the last time, of other authors.
  public func fetchTransactions() throws -> [NSPersistentHistoryTransaction] {
    let request = NSPersistentHistoryChangeRequest.fetchHistory(after: storage.token)
    request.resultType = .transactionsAndChanges
    let result = try context.execute(request) as? NSPersistentHistoryResult
    let transactions = result?.result as? [NSPersistentHistoryTransaction] ?? []
    return transactions.filter { $0.author != author }
  }

  /// Merges what others have written, and goes on behind it.
  @discardableResult
  public func process(mergingInto viewContext: NSManagedObjectContext? = nil) throws -> [HistorySummary] {
    let transactions = try fetchTransactions()
    guard !transactions.isEmpty else { return [] }
    for transaction in transactions {
      viewContext?.mergeChanges(fromContextDidSave: transaction.objectIDNotification())
    }
    if let last = transactions.last {
      storage.token = last.token
    }
    return transactions.map(summary)
  }

  private func summary(_ transaction: NSPersistentHistoryTransaction) -> HistorySummary {
    var summary = HistorySummary()
    summary.author = transaction.author
    for change in transaction.changes ?? [] {
      let name = change.changedObjectID.entity.name ?? ""
      switch change.changeType {
      case .insert:
        summary.inserted[name, default: 0] += 1
      case .update:
        summary.updated[name, default: 0] += 1
      case .delete:
        summary.deleted[name, default: 0] += 1
      @unknown default:
        break
      }
    }
    return summary
  }

  /// Forgets what is older than the place of the slowest reader.
  public func purge(before date: Date) throws {
    let request = NSPersistentHistoryChangeRequest.deleteHistory(before: date)
    try context.execute(request)
  }
}
