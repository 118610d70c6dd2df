import Foundation

/// What a check of a store found.
public struct StoreCheck: Sendable {
  /// Something that is not as it must be.
  public struct Problem: Sendable, Hashable, CustomStringConvertible {
    /// What kind of damage it is.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
      case rowUnreadable, checksumWrong, entityUnknown, layoutUnknown, keyMalformed, keyBeyondCounter
      case indexEntryMissing, indexEntryStray, notUnique, largeValueMissing, largeValueStray, metadataDamaged
      case edgeMissing, edgeStray, edgeCountWrong, edgeOrderWrong, referenceDangling, derivedValueWrong
      case journalDamaged, historyDamaged
    }
    /// What kind of damage it is.
    public let kind: Kind
    /// Where, in words.
    public let place: String
    public var description: String { "\(kind.rawValue): \(place)" }
  }

  /// All problems, at most 1,000; empty for a sound store.
  public internal(set) var problems: [Problem] = []
  /// How many rows were read.
  public internal(set) var rowCount = 0
  /// How many index entries were compared.
  public internal(set) var indexEntryCount = 0
  /// How many large values were found.
  public internal(set) var largeValueCount = 0
  /// How many edges of relationships were compared.
  public internal(set) var edgeCount = 0
  /// How many references lead to rows that were deleted with the rule `noAction` (rule 212); they are no problem.
  public internal(set) var danglingReferenceCount = 0

  /// Whether nothing is wrong.
  public var isSound: Bool { problems.isEmpty }
}
