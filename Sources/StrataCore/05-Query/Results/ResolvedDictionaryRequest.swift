import Foundation

/// A fetch request for rows of values whose names have been looked up.
///
/// ```
///   rows of the store ──▶ sources ──▶ rows of values ──▶ distinct ──▶ sorted, cut
///                            └─────▶ groups: keys and accumulators ──▶ having ──▶ sorted, cut
/// ```
struct ResolvedDictionaryRequest: Sendable {
  /// What stands in a column of the result.
  enum Output: Sendable, Hashable {
    /// Of a request without groups: the source of that number.
    case source(Int)
    /// What the rows are grouped by, by number; behind all of that the samples.
    case key(Int)
    /// One value of the rows of a group, by number.
    case aggregate(Int)
    /// Computed from the two above, which are variables in it.
    case computed(FetchExpression)
  }

  /// What is computed for every row.
  struct Source: Sendable {
    let expression: ResolvedExpression
    /// Of many values for aggregates of members only.
    let type: ResolvedType
    /// The slot whose value it is, when it is nothing more.
    let slot: Int?
  }

  /// One value of the rows of a group.
  struct Aggregate: Sendable {
    let function: FetchAggregate
    /// Which values; nil for the rows themselves, of which there is one each.
    let source: Int?
    /// Whether a value that a group has several times counts once.
    var isDistinct = false
    let zero: AttributeValue
    let words: String
  }

  /// Where a row of the result stands.
  struct Sort: Sendable {
    /// What is compared.
    let output: Output
    let isAscending: Bool
    /// How texts are ordered.
    let comparator: TextCollation
  }

  /// Which rows are looked at. It has sort keys and a window only where the result is nothing but its rows, in its order.
  var fetch: ResolvedFetchRequest
  let columns: FetchedColumns
  /// The types that values are brought into; `undefined` for as they are.
  let types: [AttributeType]
  let outputs: [Output]
  let sources: [Source]
  /// The sources that rows are grouped by.
  let keys: [Int]
  /// The sources of which a group has the value of its first row, in the order in which the rows come; nil where it has no row.
  let samples: [Int]
  let aggregates: [Aggregate]
  /// Whether rows become groups; without keys, one.
  let isGrouped: Bool
  /// Which groups are returned, with variables for keys and aggregates.
  let having: FetchPredicate?
  let isDistinct: Bool
  /// The order of the result, where it is not the one the rows come in.
  let sorts: [Sort]
  let limit: Int
  let offset: Int
  /// What `now()` is: the same in the predicate, for all rows, and for all groups.
  let now: Date

  /// Looks up the names of a request.
  ///
  /// - Parameter sortsHere: Whether the rows come from several stores, so that they are brought into order when they are all there.
  /// - Throws: ``FetchError``.
  init<R>(_ request: FetchRequest<R>, schema: Schema, sortsHere: Bool = false) throws {
    var plain = request
    plain.sortDescriptors = []
    plain.fetchLimit = 0
    plain.fetchOffset = 0
    now = Date()
    // Checks the entity and the predicate first: what is wrong there is told before what is wrong with columns.
    let unsorted = try ResolvedFetchRequest(plain, schema: schema, now: now)
    var builder = DictionaryRequestBuilder(request, entity: unsorted.entity, schema: schema, now: now)
    try builder.resolve()
    let keepsOrder = !builder.isGrouped && !sortsHere && !builder.sortsByAlias
    if keepsOrder {
      plain.sortDescriptors = request.sortDescriptors
      if !builder.isDistinct {
        plain.fetchLimit = request.fetchLimit
        plain.fetchOffset = request.fetchOffset
      }
      sorts = []
    } else {
      sorts = try builder.resolveSorts()
    }
    guard request.fetchLimit >= 0, request.fetchOffset >= 0 else {
      throw FetchError(reason: .negativeWindow, entityName: unsorted.entity.name, key: nil)
    }
    fetch = keepsOrder ? try ResolvedFetchRequest(plain, schema: schema, now: now) : unsorted
    let isWindowed = keepsOrder && !builder.isDistinct
    limit = isWindowed ? 0 : request.fetchLimit
    offset = isWindowed ? 0 : request.fetchOffset
    columns = FetchedColumns(builder.names, transformers: builder.transformers)
    types = builder.types
    outputs = builder.outputs
    sources = builder.sources
    keys = builder.keys
    samples = builder.samples
    aggregates = builder.aggregates
    isGrouped = builder.isGrouped
    having = builder.having
    isDistinct = builder.isDistinct
  }

  /// How many rows of the result suffice; nil for all.
  var windowEnd: Int? {
    let (end, isBeyondAll) = offset.addingReportingOverflow(limit)
    return limit == 0 || isBeyondAll ? nil : end
  }

  /// The variable that stands for a key or an aggregate in a computed column. No format string can name it.
  static func variable(_ output: Output) -> String {
    switch output {
    case .key(let number): "#k\(number)"
    case .aggregate(let number): "#a\(number)"
    case .source(let number): "#s\(number)"
    case .computed: "#"
    }
  }
}
