import StrataCore

/// What a fetch request says, regardless of the type of its results. Its subclass `NSFetchRequest` is what applications make.
open class NSFetchRequestDescription: NSPersistentStoreRequest {
  /// The entity by its description; the one that `entityName` names once a context has used the request (rule 103).
  open var entity: NSEntityDescription? {
    didSet { if entity != nil { storedName = nil } }
  }
  /// The name of the entity; nil while the request has none (rule 103). Of a request that a class has made it is that of the one entity with this
  /// class, in the newest model that has any.
  open var entityName: String? { givenName ?? nameOfClass }
  /// The name, or that of the entity, that was given.
  var givenName: String? { storedName ?? entity?.name }
  private var nameOfClass: String? {
    guard let objectClass else { return nil }
    let entities = LivingCoordinators.entities(of: objectClass)
    return entities.count == 1 ? entities[0].name : nil
  }
  var storedName: String?
  /// Whose entity is fetched, of the model of the context that executes the request.
  var objectClass: NSManagedObject.Type?

  /// The condition; nil for all objects.
  open var predicate: NSPredicate?
  /// The order; nil or none for an order that is not specified (rule 105).
  open var sortDescriptors: [NSSortDescriptor]?
  /// The largest number of results; 0 for no limit.
  open var fetchLimit = 0
  /// How many matches are skipped (rule 94).
  open var fetchOffset = 0
  /// How many rows a fetched results controller reads at a time. An array has all of its objects (rule 82).
  open var fetchBatchSize = 0
  /// What is returned (rule 85). Default managed objects.
  open var resultType = NSFetchRequestResultType.managedObjectResultType
  /// Whether objects of subentities are fetched too (rule 93). Default true.
  open var includesSubentities = true
  /// Whether rows are read along with their identifiers (rule 52). Default true.
  open var includesPropertyValues = true
  /// Whether objects come as faults with their rows in memory (rule 53). Default true.
  open var returnsObjectsAsFaults = true
  /// Whether unsaved changes of the context take part in matching (rules 86, 87). Default true.
  open var includesPendingChanges = true
  /// Whether registered objects without changes take over the fetched values (rule 66). Default false.
  open var shouldRefreshRefetchedObjects = false
  /// Whether equal dictionaries are returned once (rule 100). Default false.
  open var returnsDistinctResults = false
  /// Key paths of relationships to load along with the result (rule 70).
  open var relationshipKeyPathsForPrefetching: [String]?
  /// The columns of dictionary results: names, `NSPropertyDescription`, `NSExpressionDescription` (rules 95–97).
  open var propertiesToFetch: [Any]?
  /// What dictionary results are grouped by: names, `NSPropertyDescription` (rules 97, 98).
  open var propertiesToGroupBy: [Any]?
  /// Which groups are returned (rule 99).
  open var havingPredicate: NSPredicate?

  /// A fetch.
  open override var requestType: NSPersistentStoreRequestType { .fetch }

  /// Takes over everything but the type of the results.
  func take(_ other: NSFetchRequestDescription) {
    affectedStores = other.affectedStores
    entity = other.entity
    storedName = other.storedName
    objectClass = other.objectClass
    predicate = other.predicate
    sortDescriptors = other.sortDescriptors
    fetchLimit = other.fetchLimit
    fetchOffset = other.fetchOffset
    fetchBatchSize = other.fetchBatchSize
    resultType = other.resultType
    includesSubentities = other.includesSubentities
    includesPropertyValues = other.includesPropertyValues
    returnsObjectsAsFaults = other.returnsObjectsAsFaults
    includesPendingChanges = other.includesPendingChanges
    shouldRefreshRefetchedObjects = other.shouldRefreshRefetchedObjects
    returnsDistinctResults = other.returnsDistinctResults
    relationshipKeyPathsForPrefetching = other.relationshipKeyPathsForPrefetching
    propertiesToFetch = other.propertiesToFetch
    propertiesToGroupBy = other.propertiesToGroupBy
    havingPredicate = other.havingPredicate
  }

  /// Whether two conditions say the same. Not by `==`: to Foundation all compound predicates that are made in code are equal.
  private static func isEqual(_ one: NSPredicate?, _ other: NSPredicate?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    return one === other || PredicateText.isSame(one, other)
  }

  /// Whether `object` is a request for the same: of the entity of the same name, with equal predicates, sort descriptors, columns and settings. The type argument does not count, as
  /// on Apple's systems, where it is not known at run time.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSFetchRequestDescription else { return false }
    if self === other { return true }
    guard entityName == other.entityName, entityName != nil || objectClass == other.objectClass else {
      return false
    }
    return Self.isEqual(predicate, other.predicate)
      && Self.isEqual(havingPredicate, other.havingPredicate)
      && sortDescriptors == other.sortDescriptors && affectedStores == other.affectedStores
      && Self.isEqual(propertiesToFetch, other.propertiesToFetch)
      && Self.isEqual(propertiesToGroupBy, other.propertiesToGroupBy)
      && relationshipKeyPathsForPrefetching == other.relationshipKeyPathsForPrefetching
      && hasSettings(of: other)
  }

  private func hasSettings(of other: NSFetchRequestDescription) -> Bool {
    fetchLimit == other.fetchLimit && fetchOffset == other.fetchOffset
      && fetchBatchSize == other.fetchBatchSize && resultType == other.resultType
      && includesSubentities == other.includesSubentities
      && includesPropertyValues == other.includesPropertyValues
      && returnsObjectsAsFaults == other.returnsObjectsAsFaults
      && includesPendingChanges == other.includesPendingChanges
      && shouldRefreshRefetchedObjects == other.shouldRefreshRefetchedObjects
      && returnsDistinctResults == other.returnsDistinctResults
  }

  /// Whether two lists have the same columns: names, and descriptions of properties.
  private static func isEqual(_ columns: [Any]?, _ others: [Any]?) -> Bool {
    guard let columns, let others else { return columns == nil && others == nil }
    return columns.count == others.count
      && zip(columns, others).allSatisfy { column, other in
        if let property = column as? NSPropertyDescription { return property.isEqual(other) }
        return (column as? String).map { $0 == other as? String } ?? false
      }
  }

  /// The same for all requests: it must stay what it is while one in a set or a dictionary is changed.
  open override var hash: Int { 0 }

  open override var description: String {
    var text = "<NSFetchRequest> entity: \(entityName ?? "none")"
    if let predicate { text += ", predicate: \(predicate.description)" }
    for sort in sortDescriptors ?? [] {
      text += ", sorted by \(sort.key ?? "?") \(sort.ascending ? "up" : "down")"
    }
    return text
  }
}

/// Describes which objects to fetch, in what order, and how many.
///
/// `ResultType` is a class of managed objects, `NSManagedObject`, `NSManagedObjectID`, `NSDictionary` or `NSNumber`, or `NSFetchRequestResult` for
/// any of them; `resultType` must fit. Names are checked when a context executes the request. Used by one thread at a time.
open class NSFetchRequest<ResultType>: NSFetchRequestDescription {
  /// A request without an entity yet. For a class of managed objects it is for the entity that has this class in the model of the context
  /// that executes it.
  public override init() {
    super.init()
    objectClass = ResultType.self as? NSManagedObject.Type
    if objectClass == NSManagedObject.self { objectClass = nil }
  }

  /// A request for the objects of an entity, by its name, which is not looked up before the request is executed (rule 103).
  public convenience init(entityName: String) {
    self.init()
    storedName = entityName
  }

  /// A request like another one, for results of this request's type: `NSFetchRequest<any NSFetchRequestResult>(birds)` where Apple's are cast with `as?`.
  ///
  /// A copy: what is set on one of the two afterwards is not seen by the other.
  public convenience init(_ other: NSFetchRequestDescription) {
    self.init()
    take(other)
  }

  /// What `context.fetch` returns, `context` being the one whose `perform` block is running on the calling thread (rule 104).
  ///
  /// - Throws: 134060 outside of such a block; what `context.fetch` throws.
  open func execute() throws -> [ResultType] {
    guard let context = NSManagedObjectContext.performing else {
      throw cocoa(
        CoreDataError(
          .coreData,
          "execute() was called outside of perform and performAndWait, so it is not known which context is meant; "
            + "call fetch(_:) on the context instead."))
    }
    return try context.fetch(self)
  }

  /// A request like this one.
  open override func copy(with zone: NSZone? = nil) -> Any { NSFetchRequest<ResultType>(self) }

  override func outcome(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    let request = NSAsynchronousFetchRequest(fetchRequest: self)
    return NSAsynchronousFetchResult(request, context, finalResult: try context.fetch(self))
  }
}

extension NSManagedObject {
  /// A request for the objects of this class's entity, whichever it is in the model of the context that executes it.
  ///
  /// A method of that name that a class has for requests of its own objects is preferred where both would do.
  @_disfavoredOverload public class func fetchRequest() -> NSFetchRequest<any NSFetchRequestResult> {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.objectClass = self
    return request
  }
}
