/// How a store will execute a fetch: a value that explains itself.
package struct FetchPlan: Sendable {
  /// Where the candidate rows come from.
  indirect enum Access: Sendable, Hashable {
    /// Nothing can match: the store is not touched.
    case nothing
    /// The rows with these primary keys, ascending.
    case identifiers([UInt64])
    /// Every row of the hierarchy, in the order of primary keys.
    case scan
    /// The rows whose entries lie in the ranges of an index. Ranges are ascending and do not overlap.
    case index(number: Int, ranges: [KeyRange], isReversed: Bool)
    /// The rows that are related to others, which are found first.
    case related(RelatedAccess)
    /// The rows that one of several ways leads to.
    case union([Access])

    /// Whether keys come from the request, so that it is unknown whether there are such rows.
    var namesIdentifiers: Bool {
      switch self {
      case .identifiers: true
      case .union(let parts): parts.contains(where: \.namesIdentifiers)
      case .nothing, .scan, .index, .related: false
      }
    }
  }

  /// Where the candidate rows come from.
  let access: Access
  /// Whether candidates come in the order of the sort keys, so that nothing needs to be sorted.
  let isOrdered: Bool
  /// What candidates must satisfy beyond the access; nil when all of them match.
  let residual: CompiledPredicate?
  /// Those parts of the residual that look at values of fixed width alone, when there are others beside them.
  var fixedPart: CompiledPredicate?
  /// Whether candidates may be of entities that do not take part.
  let filtersEntities: Bool
  /// Whether the entries of the index hold all that the residual looks at, and no row needs to be read.
  var isCovering = false
  /// Whether an index is walked for its order alone, until the window is full: given up for the alternative when too few entries on the
  /// way match.
  var isTrial = false
  /// What to do instead when there turn out to be so many candidates that a scan is cheaper.
  var alternative: Alternative?
  /// The names of the indexes that are used, those of related entities too.
  var indexNames: [String] = []
  /// The explanation.
  package internal(set) var description: String

  /// A plan in a box: plans cannot hold plans.
  final class Alternative: Sendable {
    let plan: FetchPlan
    init(_ plan: FetchPlan) { self.plan = plan }
  }

  /// Whether candidates are found without looking at all rows.
  var isNarrow: Bool { access != .scan }

  /// Whether an index is looked at.
  var usesIndexes: Bool {
    switch access {
    case .index, .related, .union: true
    case .nothing, .identifiers, .scan: false
    }
  }

  /// The plan once its candidates have been found.
  func finding(_ keys: [UInt64]) -> FetchPlan {
    FetchPlan(
      access: keys.isEmpty ? .nothing : .identifiers(keys), isOrdered: isOrdered, residual: residual,
      fixedPart: fixedPart, filtersEntities: filtersEntities, indexNames: indexNames, description: description
    )
  }
}

extension FetchPlan: CustomStringConvertible {}

/// The way from related rows to those that are fetched.
final class RelatedAccess: Sendable, Hashable {
  /// The relationship of the fetched rows.
  let relationship: RelationshipSchema
  /// How the rows at its other end are found; nil when `keys` names them.
  let targets: (request: ResolvedFetchRequest, plan: FetchPlan.Alternative)?
  /// Their primary keys.
  let keys: [UInt64]

  init(relationship: RelationshipSchema, request: ResolvedFetchRequest, plan: FetchPlan) {
    self.relationship = relationship
    targets = (request, FetchPlan.Alternative(plan))
    keys = []
  }

  init(relationship: RelationshipSchema, keys: [UInt64]) {
    self.relationship = relationship
    targets = nil
    self.keys = keys
  }

  static func == (left: RelatedAccess, right: RelatedAccess) -> Bool { left === right }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A range of index keys, as bytes: from `lower` (included) to `upper` (excluded; nil for the end).
struct KeyRange: Sendable, Hashable {
  var lower: [UInt8]
  var upper: [UInt8]?
}
