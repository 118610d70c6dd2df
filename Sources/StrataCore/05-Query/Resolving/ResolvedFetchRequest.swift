import Foundation

/// A fetch request whose names have been looked up in a schema: slots instead of keys, values of the right
/// types, the predicate ready to run.
///
/// Immutable apart from its window; made once per execution, shared by the stores and the overlay of unsaved
/// changes.
package struct ResolvedFetchRequest: Sendable {
  /// The schema the names were resolved against.
  package let schema: Schema
  /// The entity whose objects are fetched.
  package let entity: EntitySchema
  /// The numbers of the entities whose rows take part, ascending.
  package let entityNumbers: [Int]
  /// The predicate with slots and typed values, in its simplest form.
  private(set) var predicate: ResolvedPredicate
  /// Whether it asks for the result page by page, in an order that tells all rows apart: no request by names says that.
  package var continues: Bool { start != nil || isPaged }
  /// Whether the predicate looks at other objects than the one it is about, along relationships.
  package private(set) var travels: Bool
  /// The sort keys.
  private(set) var sorts: [ResolvedSort]
  /// At most this many objects; 0 for no limit.
  package var limit: Int
  /// How many matching objects are skipped.
  package var offset: Int
  /// The monitor of the rows that are looked at, which may stop the fetch.
  package var monitor: FetchMonitor?
  /// Behind what the result begins; nil for at its beginning.
  var start: FetchStart?
  /// What was asked before names were looked up; nil for a request that was made of parts, or changed since, so that only its resolved form says it.
  package private(set) var source: FetchSource?
  /// Whether rows that no sort key tells apart come in the order of primary keys even when there are no sort keys.
  var isPaged = false
  /// Whether a sort key is the object itself, `objectID` or `self`. It tells all rows apart, so that it ends `sorts`: primary keys decide then.
  private(set) var sortsByKey = false
  /// Whether rows that no sort key tells apart come in the descending order of primary keys.
  package private(set) var keysDescend = false

  /// Looks up the names of `request`.
  ///
  /// - Throws: ``FetchError`` for an unknown entity or key, a value of the wrong type, a negative window.
  package init<R>(_ request: FetchRequest<R>, schema: Schema) throws {
    try self.init(request, schema: schema, now: Date())
  }

  /// - Parameter now: The moment that `now()` is.
  init<R>(_ request: FetchRequest<R>, schema: Schema, now: Date) throws {
    guard let entity = schema.entity(named: request.entityName) else {
      throw FetchError(reason: .unknownEntity, entityName: request.entityName, key: nil)
    }
    guard request.fetchLimit >= 0, request.fetchOffset >= 0, request.fetchBatchSize >= 0 else {
      throw FetchError(reason: .negativeWindow, entityName: entity.name, key: nil)
    }
    let resolver = PredicateResolver(entity: entity, schema: schema, now: now)
    let predicate = try FetchError.locating(.predicate) {
      try resolver.resolve(request.predicate ?? .everything)
    }
    self.schema = schema
    self.entity = entity
    entityNumbers = request.includesSubentities ? entity.subtree.sorted() : [entity.number]
    self.predicate = predicate
    travels = predicate.travels
    sorts = []
    for sort in request.sortDescriptors {
      // What stands behind the object itself decides nothing, and must have an order all the same.
      let resolved = try FetchError.locating(.sortKey(sort.key)) {
        try ResolvedSort(sort.named(entity, schema).byAttribute(entity, schema), resolver)
      }
      if sortsByKey { continue }
      if let resolved {
        sorts.append(resolved)
      } else {
        sortsByKey = true
        keysDescend = !sort.ascending
      }
    }
    limit = request.fetchLimit
    offset = request.fetchOffset
    source = FetchSource(request)
  }

  /// A request for all objects of an entity and its subentities that satisfy a predicate.
  init(schema: Schema, entity: EntitySchema, predicate: ResolvedPredicate) {
    self.schema = schema
    self.entity = entity
    entityNumbers = entity.subtree.sorted()
    self.predicate = predicate
    travels = predicate.travels
    sorts = []
    limit = 0
    offset = 0
  }

  /// The number of the hierarchy whose rows are fetched.
  package var hierarchyNumber: Int { entity.hierarchyNumber }

  /// The number of matches in order that fill the window; nil without limit.
  package var windowEnd: Int? {
    let (end, isBeyondAll) = offset.addingReportingOverflow(limit)
    return limit == 0 || isBeyondAll ? nil : end
  }

  /// The request with another predicate, of those parts of its own that are left to the store, without window.
  func candidates(_ predicate: ResolvedPredicate, keepsSorts: Bool) -> ResolvedFetchRequest {
    var copy = self
    copy.source = nil
    copy.predicate = predicate
    copy.travels = predicate.travels
    if !keepsSorts {
      copy.sorts = []
      copy.sortsByKey = false
      copy.keysDescend = false
    }
    copy.start = nil
    copy.limit = 0
    copy.offset = 0
    return copy
  }

  /// The request in another order.
  func sorted(by sort: ResolvedSort) -> ResolvedFetchRequest {
    var copy = self
    copy.source = nil
    copy.sorts = [sort]
    return copy
  }

  /// The request with one more value to look at behind its sort keys.
  func appending(_ sort: ResolvedSort) -> ResolvedFetchRequest {
    var copy = self
    copy.source = nil
    copy.sorts.append(sort)
    return copy
  }

  /// The hierarchies whose rows have a say in which objects are fetched, and in which order, beside their own.
  var travelledHierarchies: Set<Int> {
    var result: Set<Int> = []
    // `add` holds this alone, and no copy of the request.
    let schema = schema
    func add(_ number: Int) {
      let relationship = schema.relationships[number]
      result.insert(relationship.destinationHierarchy)
      // Who the members are may be told by their owner alone.
      if relationship.isToMany { result.insert(schema.entities[relationship.owner].hierarchyNumber) }
    }
    predicate.forEachStep(add)
    for sort in sorts { sort.steps.forEach(add) }
    return result
  }

  /// What binds expressions about the request's objects to one store.
  func binder(storeIdentifier: UUID?) -> ExpressionBinder {
    ExpressionBinder(
      schema: schema, storeIdentifier: storeIdentifier,
      rootName: schema.hierarchies[entity.hierarchyNumber].rootName)
  }

  /// The order of two objects in the result by the values of the sort keys, in their order: negative when the first comes first, never 0 for different
  /// keys.
  func compare(_ left: [AttributeValue], _ leftKey: UInt64, _ right: [AttributeValue], _ rightKey: UInt64)
    -> Int
  {
    compare({ left[$0] }, leftKey, { right[$0] }, rightKey)
  }

  /// The same; the values are asked for by the places of their sort keys.
  @inline(__always)
  func compare(
    _ left: (Int) -> AttributeValue, _ leftKey: UInt64, _ right: (Int) -> AttributeValue, _ rightKey: UInt64
  ) -> Int {
    for (place, sort) in sorts.enumerated() {
      let order = sort.comparator.order(left(place), right(place))
      if order != 0 { return sort.isAscending ? order : -order }
    }
    if leftKey == rightKey { return 0 }
    return (leftKey < rightKey) != keysDescend ? -1 : 1
  }
}

/// What a request asks by names: for engines that hand it on. A class, so that a resolved request, which is copied now and then, has one reference more and not
/// a predicate and an array.
package final class FetchSource: Sendable {
  /// The condition; nil for all objects.
  package let predicate: FetchPredicate?
  /// The order.
  package let sortDescriptors: [FetchSort]

  /// How many objects are looked at together; 0 for all.
  package let fetchBatchSize: Int
  /// What is read along with the objects.
  package let relationshipKeyPathsForPrefetching: [String]

  init<R>(_ request: FetchRequest<R>) {
    predicate = request.predicate
    sortDescriptors = request.sortDescriptors
    fetchBatchSize = request.fetchBatchSize
    relationshipKeyPathsForPrefetching = request.relationshipKeyPathsForPrefetching
  }
}

/// A sort key with its slot.
struct ResolvedSort: Sendable, Hashable {
  /// The numbers of the to-one relationships that lead to the object whose value it is. Where there is none, the value is nil.
  let steps: [Int]
  let slot: Int
  let type: AttributeType
  let isAscending: Bool
  /// The key path.
  let name: String
  /// How texts are ordered.
  let comparator: TextCollation

  init(
    steps: [Int] = [], slot: Int, type: AttributeType, isAscending: Bool, name: String = "",
    comparator: TextCollation = .bytes
  ) {
    self.steps = steps
    self.slot = slot
    self.type = type
    self.isAscending = isAscending
    self.name = name
    self.comparator = comparator
  }

  /// Whether it is the order of indexes, and of the bytes that ``KeyBuilder`` makes.
  var isByBytes: Bool { comparator == .bytes }

  /// Nil for the object that is sorted, `objectID` or `self`, whose primary key is in no slot.
  ///
  /// - Throws: ``FetchError`` for an unknown key, a path through a to-many relationship, an attribute without an order, an order of texts for what is
  ///   no text.
  init?(_ sort: FetchSort, _ resolver: PredicateResolver) throws {
    let sort = try sort.named(resolver.entity, resolver.schema)
    let keys =
      sort.key.utf8.contains(UInt8(ascii: "."))
      ? sort.key.split(separator: ".", omittingEmptySubsequences: false).map(String.init) : [sort.key]
    if keys.contains(where: { $0.hasPrefix("@") }) {
      throw FetchError(reason: .computedKey, entityName: resolver.entity.name, key: sort.key)
    }
    let path = try ResolvedPath(keys, from: resolver.entity, schema: resolver.schema)
    if path.isMany { throw path.error(.toManyKey) }
    var steps = path.steps.map(\.number)
    let isText = path.attribute?.type == .string
    if sort.comparator != .bytes, !isText { throw path.error(.notAString(operation: "\(sort.comparator)")) }
    guard let attribute = path.attribute else {
      guard let last = path.steps.last else { return nil }
      // Objects sort by their primary keys.
      steps.removeLast()
      self.init(
        steps: steps, slot: last.slot, type: .objectID, isAscending: sort.ascending, name: sort.key)
      return
    }
    if attribute.type == .transformable { throw path.error(.transformableKey) }
    if attribute.type == .composite { throw path.error(.compositeKey) }
    self.init(
      steps: steps, slot: attribute.slot, type: attribute.type, isAscending: sort.ascending, name: sort.key,
      comparator: sort.comparator)
  }

  /// As an expression about the object that is sorted.
  var expression: ResolvedExpression { .path(.object(up: 0), steps: steps, slot: slot) }
}
