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
  /// Rows that are back without a to-one relationship, which is nil now: what it led to is not back. Row and relationship;
  /// at most 10,000.
  public internal(set) var lostReferences: [(row: Row, relationship: String)] = []
  /// How many of them there are.
  public internal(set) var lostReferenceCount = 0
  /// How many edges of to-many relationships are not back because one of their ends is not.
  public internal(set) var lostEdgeCount = 0
  /// How many edges came from loose pages; some may have been taken away before.
  public internal(set) var looseEdgeCount = 0
  /// Whether parts of the relationships that only edges record were unreadable.
  public internal(set) var hasDamagedEdges = false
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
      && leftOutRows.isEmpty && lostReferenceCount == 0 && lostEdgeCount == 0 && looseEdgeCount == 0
      && !hasDamagedEdges && remarks.isEmpty
  }

  public var description: String {
    func counted(_ count: Int, _ one: String, _ many: String) -> String {
      "\(count) \(count == 1 ? one : many)"
    }
    var lines = rowCounts.sorted { $0.key < $1.key }.map { "\($0.key): \(counted($0.value, "row", "rows"))" }
    if looseRowCount > 0 {
      lines.append(
        counted(
          looseRowCount, "of them from a loose page: it may be out of date.",
          "of them from loose pages: they may be out of date."))
    }
    if damagedEntryCount > 0 {
      lines.append(counted(damagedEntryCount, "row is damaged.", "rows are damaged."))
    }
    if !lostValues.isEmpty {
      lines.append(counted(lostValues.count, "large value is lost.", "large values are lost."))
    }
    if lostReferenceCount > 0 {
      lines.append(
        counted(
          lostReferenceCount, "reference led to a row that is not back and is nil now.",
          "references led to rows that are not back and are nil now."))
    }
    if lostEdgeCount > 0 {
      lines.append(
        counted(
          lostEdgeCount, "member of a relationship is not back.", "members of relationships are not back."))
    }
    if looseEdgeCount > 0 {
      lines.append(
        counted(
          looseEdgeCount, "member of a relationship is from a loose page: it may be out of date.",
          "members of relationships are from loose pages: they may be out of date."))
    }
    if hasDamagedEdges { lines.append("Some relationships may lack members.") }
    if !leftOutRows.isEmpty {
      lines.append(
        counted(
          leftOutRows.count, "row contradicts others and was left out.",
          "rows contradict others and were left out."))
    }
    if !unreadablePages.isEmpty {
      lines.append(counted(unreadablePages.count, "page is unreadable.", "pages are unreadable."))
    }
    if guessedCodes {
      lines.append("The store had lost the codes of its entities; the model's order was assumed.")
    }
    if !keepsIdentity {
      lines.append("The store's identity is lost: object IDs kept elsewhere mean nothing now.")
    }
    return (lines + remarks).joined(separator: "\n")
  }

  mutating func addLostReferences(_ repair: SalvageReferences.Repair, _ schema: Schema) {
    let entity = schema.entities[repair.row.entity]
    let row = Row(
      entityName: entity.name, primaryKey: repair.row.primaryKey,
      version: repair.row.snapshot?.version ?? 0)
    for slot in repair.slots {
      lostReferenceCount += 1
      if lostReferences.count < 10_000 { lostReferences.append((row, entity.attributes[slot].name)) }
    }
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
