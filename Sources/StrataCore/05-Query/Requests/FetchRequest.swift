import Foundation

/// A description of which objects to fetch, in what order, and how many of them.
///
/// A value: names are only checked when a context executes the request (rule 103). Two requests that are
/// equal in all parts return the same objects from the same state.
public struct FetchRequest<Result: FetchRequestResult>: Sendable {
  /// The entity whose objects are fetched.
  public var entityName: String
  /// The condition objects must satisfy; nil stands for all.
  public var predicate: FetchPredicate?
  /// The order of the result. Without sort descriptors the order is unspecified (rule 105); objects that all
  /// sort keys call equal come in the order of their primary keys.
  public var sortDescriptors: [FetchSort]
  /// At most this many objects; 0 for no limit.
  public var fetchLimit: Int
  /// How many matching objects are skipped before the first one returned (rule 94).
  public var fetchOffset: Int
  /// Whether objects of subentities are fetched too (rule 93). Default true.
  public var includesSubentities: Bool
  /// Whether the rows are read along with the identifiers. Default true.
  public var includesPropertyValues: Bool
  /// Whether objects not yet registered come back as faults (their rows are in memory, however, when
  /// `includesPropertyValues` is true). Default true.
  public var returnsObjectsAsFaults: Bool
  /// Whether unsaved changes of the context take part in matching (rules 86, 87). Default true.
  public var includesPendingChanges: Bool
  /// Whether registered objects without changes take over the fetched values (rule 66). Default false.
  public var shouldRefreshRefetchedObjects: Bool
  /// Relationships to load along with the result, as key paths such as `plane` or `plane.manufacturer`: one request per
  /// relationship instead of one per object (rule 70).
  public var relationshipKeyPathsForPrefetching: [String]
  /// How many rows `fetchInBatches(_:)` reads at a time; 0 for all at once (rule 82). An array, which is what `fetch(_:)`
  /// returns, has all of its objects, whatever this is. Default 0.
  public var fetchBatchSize: Int
  /// The stores to look in, by their UUIDs; nil for all (rule 106).
  public var affectedStores: Set<UUID>?
  /// Of a request for rows of values: its columns (rules 95–97); empty stands for every attribute and no relationship. Of a
  /// request for objects: a hint without effect beyond the check of its names, for rows are at hand as a whole and nothing of
  /// them is decoded before it is read (rule 102). Default empty.
  public var propertiesToFetch: [FetchColumn] = []
  /// What rows of values are grouped by: one row for each combination (rules 97, 98). Default empty.
  public var propertiesToGroupBy: [FetchColumn] = []
  /// Which groups are returned: a predicate over columns, what is grouped by, and aggregates; a column may be called by its
  /// name, by its expression, or as a variable (rule 99). Default nil.
  public var havingPredicate: FetchPredicate?
  /// Whose objects are asked about where no entity is named; nil: those of `Result`.
  var subject: (any FetchRequestResult.Type)?
  /// Whether equal rows of values are returned once; looked at when there are `propertiesToFetch` (rule 100). Default false.
  public var returnsDistinctResults = false

  /// A request for all objects of the entity, or for those that satisfy `predicate`.
  public init(
    entityName: String, predicate: FetchPredicate? = nil, sortDescriptors: [FetchSort] = [],
    fetchLimit: Int = 0, fetchOffset: Int = 0
  ) {
    self.entityName = entityName
    self.predicate = predicate
    self.sortDescriptors = sortDescriptors
    self.fetchLimit = fetchLimit
    self.fetchOffset = fetchOffset
    includesSubentities = true
    includesPropertyValues = true
    returnsObjectsAsFaults = true
    includesPendingChanges = true
    shouldRefreshRefetchedObjects = false
    relationshipKeyPathsForPrefetching = []
    fetchBatchSize = 0
    affectedStores = nil
  }

  /// The same request for another kind of result.
  public func returning<Other: FetchRequestResult>(_ type: Other.Type) -> FetchRequest<Other> {
    var other = FetchRequest<Other>(
      entityName: entityName, predicate: predicate, sortDescriptors: sortDescriptors, fetchLimit: fetchLimit,
      fetchOffset: fetchOffset)
    other.includesSubentities = includesSubentities
    other.includesPropertyValues = includesPropertyValues
    other.returnsObjectsAsFaults = returnsObjectsAsFaults
    other.includesPendingChanges = includesPendingChanges
    other.shouldRefreshRefetchedObjects = shouldRefreshRefetchedObjects
    other.relationshipKeyPathsForPrefetching = relationshipKeyPathsForPrefetching
    other.fetchBatchSize = fetchBatchSize
    other.affectedStores = affectedStores
    other.propertiesToFetch = propertiesToFetch
    other.propertiesToGroupBy = propertiesToGroupBy
    other.havingPredicate = havingPredicate
    other.returnsDistinctResults = returnsDistinctResults
    other.subject = subject ?? Result.self
    return other
  }
}
