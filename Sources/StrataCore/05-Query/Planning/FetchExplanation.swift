import Foundation

/// How a fetch is executed: which index, which ranges, what is left to be looked at, and, when it was executed, what that took.
///
///     let explanation = try context.explain(request)
///     #expect(explanation.indexName == "Flight.byOrigin")
///
/// A plan is chosen for each execution: they depend on which indexes the store has and on how many rows it holds.
public struct FetchExplanation: Sendable {
  /// Where the rows of a store that may match come from.
  public enum Access: String, Sendable, Hashable {
    /// Nothing can match.
    case nothing
    /// Rows whose keys the predicate names.
    case identifiers
    /// All rows of the entity's hierarchy.
    case scan
    /// Ranges of an index.
    case index
    /// Rows that are related to others, which are found first.
    case related
    /// Several ways, of which each finds some.
    case union
  }

  /// What one store does.
  public struct StorePart: Sendable {
    /// The store's UUID.
    public let storeIdentifier: UUID
    /// Where rows come from.
    public let access: Access
    /// The indexes used, as `Entity.index`, those of related entities too.
    public let indexNames: [String]
    /// How many ranges of the index are walked.
    public let rangeCount: Int
    /// How many rows or entries are to be looked at, as far as that is known without looking; counting ends at
    /// ``FetchExplanation/largestEstimate``.
    public let estimatedRows: Int?
    /// Whether rows come in the order wanted and nothing is sorted.
    public let isOrdered: Bool
    /// Whether the entries of the index decide everything and no row is read.
    public let isCovering: Bool
    /// The plan in words.
    public let plan: String
    /// What executing it took; nil when it was only planned.
    public internal(set) var execution: Execution?

    package init(
      storeIdentifier: UUID, access: Access, indexNames: [String], rangeCount: Int, estimatedRows: Int?,
      isOrdered: Bool, isCovering: Bool, plan: String, execution: Execution? = nil
    ) {
      self.storeIdentifier = storeIdentifier
      self.access = access
      self.indexNames = indexNames
      self.rangeCount = rangeCount
      self.estimatedRows = estimatedRows
      self.isOrdered = isOrdered
      self.isCovering = isCovering
      self.plan = plan
      self.execution = execution
    }
  }

  /// What was looked at.
  public struct Execution: Sendable {
    /// Rows whose bytes were looked at.
    public let rowsExamined: Int
    /// Index entries that decided by themselves.
    public let entriesExamined: Int
    /// Rows in the answer of the store.
    public let rowsReturned: Int
    /// Whether all rows were scanned instead, because too many were concerned.
    public let hasScannedInstead: Bool
    /// How long it took. What the stores took is part of what the whole fetch took.
    public internal(set) var duration: Duration

    package init(
      rowsExamined: Int, entriesExamined: Int, rowsReturned: Int, hasScannedInstead: Bool, duration: Duration
    ) {
      self.rowsExamined = rowsExamined
      self.entriesExamined = entriesExamined
      self.rowsReturned = rowsReturned
      self.hasScannedInstead = hasScannedInstead
      self.duration = duration
    }
  }

  /// What unsaved changes do to the answer.
  public struct Overlay: Sendable {
    /// Unsaved objects, and rows that other contexts have not saved, which match.
    public let matching: Int
    /// Stored rows that are hidden by changes or deletions.
    public let hidden: Int
    /// Whether related objects have been changed, so that the context evaluates what looks at them itself.
    public let isEvaluatedInContext: Bool
  }

  /// Estimates count no further.
  public static let largestEstimate = 10_000

  /// One part for each store that is asked.
  public internal(set) var stores: [StorePart]
  /// Nil when nothing that is unsaved matters.
  public internal(set) var overlay: Overlay?
  /// How many objects, or rows of values, are returned; nil when it was only planned.
  public internal(set) var returned: Int?
  /// How long the whole fetch took; nil when it was only planned.
  public internal(set) var duration: Duration?

  /// What is returned, for the description.
  var noun = "objects"

  /// The index that the first store uses, as `Entity.index`; nil when it uses none.
  public var indexName: String? { stores.first?.indexNames.first }
  /// Whether all rows of some store are looked at.
  public var isScan: Bool { stores.contains { $0.access == .scan } }

  init(stores: [StorePart]) { self.stores = stores }
}

extension FetchExplanation: CustomStringConvertible {
  /// One line per store, and what unsaved changes add.
  public var description: String {
    var lines: [String] = []
    for store in stores {
      lines.append(store.plan)
      if let rows = store.estimatedRows {
        let isMore = rows >= Self.largestEstimate && store.access == .index
        lines.append("  estimated: \(isMore ? "at least " : "")\(rows) rows")
      }
      if let execution = store.execution {
        lines.append(
          "  actual: \(execution.rowsExamined) rows"
            + (execution.entriesExamined > 0 ? " and \(execution.entriesExamined) entries" : "")
            + " looked at, \(execution.rowsReturned) returned, \(execution.duration)"
            + (execution.hasScannedInstead ? "; scanned, since so many rows are concerned" : ""))
      }
    }
    if let overlay {
      lines.append(
        "unsaved changes: \(overlay.matching) objects match, \(overlay.hidden) rows hidden"
          + (overlay.isEvaluatedInContext ? "; what looks at other objects is evaluated in the context" : ""))
    }
    if let returned, let duration { lines.append("returned: \(returned) \(noun), \(duration)") }
    return lines.joined(separator: "\n")
  }
}

extension FetchPlan {
  /// The plan as a part of an explanation.
  func explained(_ storeIdentifier: UUID, estimatedRows: Int?) -> FetchExplanation.StorePart {
    let kind: FetchExplanation.Access
    var rangeCount = 0
    switch access {
    case .nothing: kind = .nothing
    case .identifiers: kind = .identifiers
    case .scan: kind = .scan
    case .index(_, let ranges, _):
      kind = .index
      rangeCount = ranges.count
    case .related: kind = .related
    case .union: kind = .union
    }
    return FetchExplanation.StorePart(
      storeIdentifier: storeIdentifier, access: kind, indexNames: indexNames, rangeCount: rangeCount,
      estimatedRows: estimatedRows, isOrdered: isOrdered, isCovering: isCovering, plan: description)
  }
}

extension FetchExplanation.StorePart {
  /// Several requests, answered one after the other, as one.
  init?(together parts: [FetchExplanation.StorePart]) {
    guard let first = parts.first else { return nil }
    var names: [String] = []
    for part in parts { names += part.indexNames.filter { !names.contains($0) } }
    let estimates = parts.compactMap(\.estimatedRows)
    self.init(
      storeIdentifier: first.storeIdentifier, access: first.access, indexNames: names,
      rangeCount: parts.reduce(0) { $0 + $1.rangeCount },
      estimatedRows: estimates.count == parts.count ? estimates.reduce(0, +) : nil,
      isOrdered: parts.allSatisfy(\.isOrdered), isCovering: false,
      plan: parts.map(\.plan).joined(separator: "; and "))
  }
}
