import Foundation

/// A fetch request whose names have been looked up in a schema: slots instead of keys, values of the right
/// types, the predicate ready to run.
///
/// Immutable apart from its window; made once per execution, shared by the stores and the overlay of unsaved
/// changes.
public struct ResolvedFetchRequest: Sendable {
  /// The schema the names were resolved against.
  public let schema: Schema
  /// The entity whose objects are fetched.
  public let entity: EntitySchema
  /// The numbers of the entities whose rows take part, ascending.
  public let entityNumbers: [Int]
  /// The predicate with slots and typed values, in its simplest form.
  let predicate: ResolvedPredicate
  /// The predicate, compiled; nil when every object matches.
  let program: CompiledPredicate?
  /// The sort keys.
  let sorts: [ResolvedSort]
  /// At most this many objects; 0 for no limit.
  public var limit: Int
  /// How many matching objects are skipped.
  public var offset: Int
  /// Who watches the rows being looked at, and may stop it.
  public var monitor: FetchMonitor?

  /// Looks up the names of `request`.
  ///
  /// - Throws: ``FetchError`` for an unknown entity or key, a value of the wrong type, a negative window.
  public init<R>(_ request: FetchRequest<R>, schema: Schema) throws {
    guard let entity = schema.entity(named: request.entityName) else {
      throw FetchError(reason: .unknownEntity, entityName: request.entityName, key: nil)
    }
    guard request.fetchLimit >= 0, request.fetchOffset >= 0 else {
      throw FetchError(reason: .negativeWindow, entityName: entity.name, key: nil)
    }
    let predicate = try PredicateResolver(entity: entity).resolve(request.predicate ?? .everything)
    self.schema = schema
    self.entity = entity
    entityNumbers = request.includesSubentities ? entity.subtree.sorted() : [entity.number]
    self.predicate = predicate
    program =
      predicate == .all
      ? nil
      : CompiledPredicate(
        predicate, rootName: schema.hierarchies[entity.hierarchyNumber].rootName, storeIdentifier: nil)
    sorts = try request.sortDescriptors.map { try ResolvedSort($0, entity: entity) }
    limit = request.fetchLimit
    offset = request.fetchOffset
  }

  /// The number of the hierarchy whose rows are fetched.
  public var hierarchyNumber: Int { entity.hierarchyNumber }

  /// The end of the window: how many matches in order suffice to fill it; nil without limit.
  public var windowEnd: Int? {
    let (end, isBeyondAll) = offset.addingReportingOverflow(limit)
    return limit == 0 || isBeyondAll ? nil : end
  }

  /// Whether an object takes part in the result, by its entity and the values it has in memory.
  ///
  /// Answers the same as the store does for a row with these values.
  public func matches(
    entity number: Int, identifier: ManagedObjectID, value: (_ slot: Int) -> AttributeValue
  ) -> Bool {
    guard entityNumbers.contains(number) else { return false }
    return program?.evaluate(identifier: identifier, value: value) ?? true
  }

  /// The order of two objects in the result: negative when the first comes first, never 0 for different keys.
  public func compare(
    _ left: (_ slot: Int) -> AttributeValue, _ leftKey: UInt64,
    _ right: (_ slot: Int) -> AttributeValue, _ rightKey: UInt64
  ) -> Int {
    for sort in sorts {
      let order = AttributeValue.compare(left(sort.slot), right(sort.slot))
      if order != 0 { return sort.isAscending ? order : -order }
    }
    return leftKey < rightKey ? -1 : leftKey > rightKey ? 1 : 0
  }
}

/// A sort key with its slot.
struct ResolvedSort: Sendable, Hashable {
  let slot: Int
  let type: AttributeType
  let isAscending: Bool

  init(slot: Int, type: AttributeType, isAscending: Bool) {
    self.slot = slot
    self.type = type
    self.isAscending = isAscending
  }

  init(_ sort: FetchSort, entity: EntitySchema) throws {
    let attribute = try PredicateResolver(entity: entity).attribute(sort.key)
    self.init(slot: attribute.slot, type: attribute.type, isAscending: sort.ascending)
  }
}
