/// How a store will execute a fetch: a value that explains itself.
public struct FetchPlan: Sendable {
  /// Where the candidate rows come from.
  enum Access: Sendable, Hashable {
    /// Nothing can match: the store is not touched.
    case nothing
    /// The rows with these primary keys, ascending.
    case identifiers([UInt64])
    /// Every row of the hierarchy, in the order of primary keys.
    case scan
    /// The rows whose entries lie in the ranges of an index. Ranges are ascending and do not overlap.
    case index(number: Int, ranges: [KeyRange], isReversed: Bool)
  }

  /// Where the candidate rows come from.
  let access: Access
  /// Whether candidates come in the order of the sort keys, so that nothing needs to be sorted.
  let isOrdered: Bool
  /// What candidates must satisfy beyond the access; nil when all of them match.
  let residual: CompiledPredicate?
  /// Whether candidates may be of entities that do not take part.
  let filtersEntities: Bool
  /// The explanation.
  public let description: String
}

extension FetchPlan: CustomStringConvertible {}

/// A range of index keys, as bytes: from `lower` (included) to `upper` (excluded; nil for the end).
struct KeyRange: Sendable, Hashable {
  var lower: [UInt8]
  var upper: [UInt8]?
}
