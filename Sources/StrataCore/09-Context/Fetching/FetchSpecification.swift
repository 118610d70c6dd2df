/// A fetch request without its result type: the non-generic core works on this.
typealias FetchSpecification = FetchRequest<ManagedObject>

extension FetchRequest {
  /// The request, whatever it is to return.
  var specification: FetchSpecification {
    var copy = FetchSpecification(entityName: entityName)
    copy.predicate = predicate
    copy.sortDescriptors = sortDescriptors
    copy.fetchLimit = fetchLimit
    copy.fetchOffset = fetchOffset
    copy.includesSubentities = includesSubentities
    copy.includesPropertyValues = includesPropertyValues
    copy.returnsObjectsAsFaults = returnsObjectsAsFaults
    copy.includesPendingChanges = includesPendingChanges
    copy.shouldRefreshRefetchedObjects = shouldRefreshRefetchedObjects
    copy.relationshipKeyPathsForPrefetching = relationshipKeyPathsForPrefetching
    copy.fetchBatchSize = fetchBatchSize
    copy.affectedStores = affectedStores
    copy.propertiesToFetch = propertiesToFetch
    copy.propertiesToGroupBy = propertiesToGroupBy
    copy.havingPredicate = havingPredicate
    copy.returnsDistinctResults = returnsDistinctResults
    copy.subject = subject ?? Result.self
    return copy
  }
}
