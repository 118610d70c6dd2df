import Foundation

/// What came along from one store to another, and what did not.
public struct AppleStoreReport: Sendable {
  /// Something that did not come along as it was.
  public struct Finding: Sendable, Hashable, CustomStringConvertible {
    /// What kind of thing it is.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
      /// A relationship leads to an object that is not there, or of an entity it cannot lead to. It is nil now.
      case danglingLink
      /// The two ends of a relationship contradict each other. Both are nil now.
      case oneSidedLink
      /// A value is none of its attribute's type. It is nil now.
      case misfit
      /// The file of a large value is missing, or cannot be read. The value is nil now.
      case missingFile
      /// A row is of no entity that its table has. It was left out.
      case unknownRow
      /// A column or a join table has values, and the model has no property for them. They were left out.
      case unknownColumn
      /// Something of the metadata cannot be read, or has no form in the new store. It was left out.
      case lostMetadata
      /// A change in the history cannot be told by the model, or not all of it. It was left out, or what was unknown of it.
      case lostHistory
      /// A value has no exact form in the format that was written.
      case inexactValue
      /// A link has no form in the format that was written.
      case lostLink
    }

    /// What kind of thing it is.
    public let kind: Kind
    /// The object, as `Entity/p7`, or the row, as `ZPERSON row 7`.
    public let row: String
    /// The property; nil where it is about the whole row.
    public let property: String?
    /// What is wrong, in words.
    public let message: String

    public var description: String { "\(row)\(property.map { ".\($0)" } ?? ""): \(message)" }
  }

  /// How many objects there are of each entity, without those of its subentities.
  public internal(set) var objectCounts: [String: Int] = [:]
  /// How many members of to-many relationships were written that no object's row names.
  public internal(set) var memberCount = 0
  /// How many files of large values were read or written.
  public internal(set) var externalFileCount = 0
  /// How many transactions of the history were taken over, and how many changes there are in them.
  public internal(set) var (transactionCount, changeCount) = (0, 0)
  /// What did not come along as it was; the first hundred.
  public internal(set) var findings: [Finding] = []
  /// How many there are of each kind.
  public internal(set) var findingCounts: [Finding.Kind: Int] = [:]
  /// What is worth knowing besides.
  public internal(set) var remarks: [String] = []
  /// The UUID of both stores.
  public internal(set) var identifier = UUID()

  /// How many objects there are.
  public var objectCount: Int { objectCounts.values.reduce(0, +) }
  /// How many findings there are.
  public var findingCount: Int { findingCounts.values.reduce(0, +) }
  /// Whether everything came along as it was.
  public var isComplete: Bool { findingCounts.isEmpty }

  static let mostFindings = 100

  mutating func add(_ finding: Finding) {
    findingCounts[finding.kind, default: 0] += 1
    if findings.count < Self.mostFindings { findings.append(finding) }
  }
}

/// How far the work on a store in Apple's format has come.
public struct AppleStoreProgress: Sendable, Hashable {
  /// The parts of the work.
  public enum Phase: String, Sendable, Hashable, CaseIterable {
    /// Objects are read and written.
    case objects
    /// Members of relationships are read and written.
    case members
    /// The history is taken over; counts changes.
    case history
    /// The new store is checked.
    case checking
    /// Both stores are compared.
    case comparing
  }

  /// The part that is being done.
  public let phase: Phase
  /// How many objects, members or changes are done.
  public let completedCount: Int
  /// How many there are; nil while that is unknown.
  public let totalCount: Int?
}
