import Foundation

/// What a salvage brought back, and what it could not.
public struct SalvageReport: Sendable, CustomStringConvertible {
  /// One row of the damaged store.
  public struct Row: Sendable, Hashable, CustomStringConvertible {
    /// The name of the row's entity.
    public let entityName: String
    /// The row's key, the same in the new store.
    public let primaryKey: UInt64
    /// How often the row had been saved.
    public let version: UInt32
    public var description: String { "\(entityName) p\(primaryKey) v\(version)" }
  }

  /// Where the model came from.
  public enum ModelSource: String, Sendable {
    /// From the damaged store itself.
    case store
    /// From the caller.
    case caller
  }

  /// How many rows of each entity are in the new store.
  public internal(set) var rowCounts: [String: Int] = [:]
  /// Rows that no readable tree led to, found on loose pages: the newest version there is. They may be older than
  /// what was lost, and some may have been deleted before. At most 10,000 are listed.
  public internal(set) var looseRows: [Row] = []
  /// How many rows came from loose pages.
  public internal(set) var looseRowCount = 0
  /// Rows that are back without some of their large values, which are nil now: row and attribute. At most 10,000.
  public internal(set) var lostValues: [(row: Row, attribute: String)] = []
  /// Rows that were readable and left out: a uniqueness constraint or the model refuses them. At most 10,000.
  public internal(set) var leftOutRows: [Row] = []
  /// Entries of rows that a tree led to and that are damaged.
  public internal(set) var damagedEntryCount = 0
  /// Pages that are needed and unreadable; at most 1,000.
  public internal(set) var unreadablePages: [UInt64] = []
  /// Where the model came from.
  public internal(set) var modelSource = ModelSource.store
  /// Whether the codes of entities had to be guessed from the caller's model, because the store has lost them.
  public internal(set) var guessedCodes = false
  /// Whether the new store has the identity of the damaged one, so that object IDs mean the same.
  public internal(set) var keepsIdentity = false
  /// Remarks about the store as a whole, as sentences.
  public internal(set) var remarks: [String] = []
  /// The check of the new store.
  public internal(set) var check = StoreCheck()

  /// How many rows are in the new store.
  public var rowCount: Int { rowCounts.values.reduce(0, +) }

  /// Whether everything that the damaged store held as of its last commit is back.
  public var isComplete: Bool {
    damagedEntryCount == 0 && unreadablePages.isEmpty && looseRowCount == 0 && lostValues.isEmpty
      && leftOutRows.isEmpty && remarks.isEmpty
  }

  public var description: String {
    var lines = rowCounts.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value) rows" }
    if looseRowCount > 0 {
      lines.append("\(looseRowCount) of them from loose pages: they may be out of date.")
    }
    if damagedEntryCount > 0 { lines.append("\(damagedEntryCount) rows are damaged.") }
    if !lostValues.isEmpty { lines.append("\(lostValues.count) large values are lost.") }
    if !leftOutRows.isEmpty { lines.append("\(leftOutRows.count) rows contradict others and were left out.") }
    if !unreadablePages.isEmpty { lines.append("\(unreadablePages.count) pages are unreadable.") }
    if guessedCodes {
      lines.append("The store had lost the codes of its entities; the model's order was assumed.")
    }
    if !keepsIdentity {
      lines.append("The store's identity is lost: object IDs kept elsewhere mean nothing now.")
    }
    return (lines + remarks).joined(separator: "\n")
  }

  mutating func addLoose(_ row: Row) {
    looseRowCount += 1
    if looseRows.count < 10_000 { looseRows.append(row) }
  }
}

/// How far a salvage has come.
public struct SalvageProgress: Sendable {
  /// What is being done, in a word or two.
  public let phase: String
  /// How many rows were written so far.
  public let rowCount: Int
}
