import Foundation
import Strata

// Fetching and counting with pending changes in between.

extension RandomOperations {
  /// A match as the reference sees it: a key and the values that take part in sorting.
  private struct Match {
    let key: RecordKey
    let value: (String) -> AttributeValue
  }

  func fetch(_ tested: Tested) throws {
    let request = makeRequest()
    note("\(tested.name): fetch \(describe(request))")
    try checkChanged(tested)
    let expected = matches(request, tested)
    if random.chance(20) {
      let ids = try tested.context.fetch(identifiers(request))
      return try compare(ids.map { RecordKey($0) }, expected.keys, request)
    }
    let objects: [ManagedObject] =
      request.entityName == "Thing" && random.chance(30)
      ? try tested.context.fetch(typed(request)) : try tested.context.fetch(request)
    try compare(objects.map { RecordKey($0.objectID) }, expected.keys, request)
    for object in objects { adopt(object, request, hasRows: expected.hasRows, tested) }
    for key in expected.keys {
      if let object = tested.reference.objects[key] { try check(object, in: tested) }
    }
    for key in expected.keys where random.chance(50) { tested.reference.objects[key]?.object = nil }
    forgetUnheld(tested)
  }

  func count(_ tested: Tested) throws {
    let request = makeRequest()
    note("\(tested.name): count \(describe(request))")
    try checkChanged(tested)
    let expected = matches(request, tested).keys.count
    let found = try tested.context.count(for: request)
    try expect(found == expected, "\(describe(request)): counted \(found), should be \(expected)")
  }

  /// Looks at all changed objects, so that it is settled which of several large values they have.
  func checkChanged(_ tested: Tested) throws {
    for key in tested.reference.objects.keys.sorted() {
      if let object = tested.reference.objects[key], object.hasChanges { try check(object, in: tested) }
    }
  }

  /// What the fetch does to the objects it returns.
  private func adopt(
    _ object: ManagedObject, _ request: FetchRequest<ManagedObject>, hasRows: Bool, _ tested: Tested
  ) {
    let key = RecordKey(object.objectID)
    let row = store.rows[key]
    let reference = tested.reference.objects[key] ?? ReferenceObject(object.objectID, object)
    let isOverlaid = request.includesPendingChanges && (reference.isInserted || reference.isUpdated)
    if tested.reference.objects[key] == nil { reference.isFault = true }
    reference.object = object
    tested.reference.objects[key] = reference
    if reference.isFault, hasRows, !isOverlaid { reference.take(row) }
    if request.shouldRefreshRefetchedObjects, !reference.isFault, !reference.isInserted, let row {
      reference.dropSettledEdits()
      reference.take(row)
    }
    if !request.returnsObjectsAsFaults { tested.reference.fire(reference) }
  }

  private func compare(_ found: [RecordKey], _ expected: [RecordKey], _ request: FetchRequest<ManagedObject>)
    throws
  {
    let isSame = request.sortDescriptors.isEmpty ? found.sorted() == expected.sorted() : found == expected
    let wrong = Set(found).symmetricDifference(expected).sorted()
    try expect(
      isSame, "\(describe(request)): found \(found.count) records, not \(expected.count); wrong are \(wrong)")
  }

  // MARK: The reference's answer

  /// The keys in order, and whether rows come along.
  private func matches(
    _ request: FetchRequest<ManagedObject>, _ tested: Tested
  ) -> (keys: [RecordKey], hasRows: Bool) {
    func isWanted(_ entity: String) -> Bool {
      entity == request.entityName
        || (request.includesSubentities && entity == "SpecialThing" && request.entityName == "Thing")
    }
    var matches: [Match] = []
    var hidden: Set<RecordKey> = []
    var isOverlaid = false
    if request.includesPendingChanges {
      for object in tested.reference.objects.values where object.hasChanges && isWanted(object.entity) {
        hidden.insert(object.key)
        if object.isDeleted || object.isUpdated { isOverlaid = true }
        if object.isDeleted { continue }
        let value = valueReader(object, tested)
        if ReferenceOrder.evaluate(request.predicate ?? .everything, value) {
          matches.append(Match(key: object.key, value: value))
          isOverlaid = true
        }
      }
    }
    for (key, row) in store.rows where isWanted(row.entity) && !hidden.contains(key) {
      let value = { (name: String) in TortureModel.slot(name, of: row.entity).map { row.values[$0] } ?? .null
      }
      if ReferenceOrder.evaluate(request.predicate ?? .everything, value) {
        matches.append(Match(key: key, value: value))
      }
    }
    matches.sort { isBefore($0, $1, request.sortDescriptors) }
    var keys = matches.map(\.key).dropFirst(request.fetchOffset)
    if request.fetchLimit > 0 { keys = keys.prefix(request.fetchLimit) }
    let hasRows = request.includesPropertyValues || (isOverlaid && !request.sortDescriptors.isEmpty)
    return (Array(keys), hasRows)
  }

  private func valueReader(_ object: ReferenceObject, _ tested: Tested) -> (String) -> AttributeValue {
    { name in
      TortureModel.slot(name, of: object.entity).map { tested.reference.value(object, $0) } ?? .null
    }
  }

  private func isBefore(_ left: Match, _ right: Match, _ sorts: [FetchSort]) -> Bool {
    for sort in sorts {
      let order = ReferenceOrder.compare(left.value(sort.key), right.value(sort.key))
      if order != 0 { return (order < 0) == sort.ascending }
    }
    return left.key < right.key
  }

  // MARK: Random requests

  private func makeRequest() -> FetchRequest<ManagedObject> {
    let entity = random.pick(["Thing", "Thing", "Thing", "SpecialThing", "Note"])
    var request = FetchRequest<ManagedObject>(entityName: entity)
    if random.chance(75) { request.predicate = predicate(entity, depth: 2) }
    for _ in 0..<random.pick([0, 1, 1, 2]) {
      request.sortDescriptors.append(FetchSort(attribute(entity).name, ascending: random.chance(60)))
    }
    if !request.sortDescriptors.isEmpty {
      if random.chance(50) { request.fetchLimit = random.pick([1, 2, 5, 20]) }
      if random.chance(30) { request.fetchOffset = random.pick([1, 3, 10, 100]) }
    }
    request.includesSubentities = random.chance(80)
    request.includesPendingChanges = random.chance(85)
    request.includesPropertyValues = random.chance(85)
    request.returnsObjectsAsFaults = random.chance(70)
    request.shouldRefreshRefetchedObjects = random.chance(8)
    return request
  }

  private func attribute(_ entity: String) -> TortureModel.Attribute {
    random.pick(TortureModel.attributes[entity] ?? [])
  }

  private func predicate(_ entity: String, depth: Int) -> FetchPredicate {
    if depth > 0, random.chance(35) {
      let parts = (0..<random.pick([1, 2, 2, 3])).map { _ in predicate(entity, depth: depth - 1) }
      switch random.below(3) {
      case 0: return .and(parts)
      case 1: return .or(parts)
      default: return .not(parts[0])
      }
    }
    let attribute = attribute(entity)
    let value = operand(attribute)
    switch random.below(10) {
    case 0: return .in(key: attribute.name, (0..<random.below(5)).map { _ in operand(attribute) })
    case 1: return .between(key: attribute.name, low: value, high: operand(attribute))
    case 2 where attribute.type == .string:
      let text = random.pick(["", "a", "b", "x", "xx", "é", "\0", "yyy", String(repeating: "x", count: 254)])
      return .comparison(
        key: attribute.name, random.pick([.beginsWith, .contains, .endsWith]), .string(text))
    case 3: return .comparison(key: attribute.name, random.pick([.equal, .notEqual]), .null)
    default:
      let operators: [ComparisonOperator] = [
        .equal, .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual,
      ]
      return .comparison(key: attribute.name, random.pick(operators), value)
    }
  }

  /// A value for a comparison: often one that some row has.
  private func operand(_ attribute: TortureModel.Attribute) -> AttributeValue {
    if random.chance(40), let key = random.pickAny(store.rows.keys.sorted()), let row = store.rows[key],
      let slot = TortureModel.slot(attribute.name, of: row.entity)
    {
      return row.values[slot]
    }
    return random.value(for: attribute)
  }

  // MARK: One request, several types of result

  private func identifiers(_ request: FetchRequest<ManagedObject>) -> FetchRequest<ManagedObjectID> {
    var copy = FetchRequest<ManagedObjectID>(entityName: request.entityName)
    copyParts(request, &copy)
    return copy
  }

  private func typed(_ request: FetchRequest<ManagedObject>) -> FetchRequest<Thing> {
    var copy = FetchRequest<Thing>(entityName: request.entityName)
    copyParts(request, &copy)
    return copy
  }

  private func copyParts<R>(_ request: FetchRequest<ManagedObject>, _ copy: inout FetchRequest<R>) {
    copy.predicate = request.predicate
    copy.sortDescriptors = request.sortDescriptors
    copy.fetchLimit = request.fetchLimit
    copy.fetchOffset = request.fetchOffset
    copy.includesSubentities = request.includesSubentities
    copy.includesPendingChanges = request.includesPendingChanges
    copy.includesPropertyValues = request.includesPropertyValues
    copy.returnsObjectsAsFaults = request.returnsObjectsAsFaults
    copy.shouldRefreshRefetchedObjects = request.shouldRefreshRefetchedObjects
  }

  private func describe(_ request: FetchRequest<ManagedObject>) -> String {
    var words = [request.entityName]
    if let predicate = request.predicate { words.append("where \(predicate)") }
    for sort in request.sortDescriptors { words.append("by \(sort.ascending ? "+" : "-")\(sort.key)") }
    words.append("limit \(request.fetchLimit) offset \(request.fetchOffset)")
    if !request.includesSubentities { words.append("no subentities") }
    if !request.includesPendingChanges { words.append("stored only") }
    if !request.includesPropertyValues { words.append("no values") }
    if !request.returnsObjectsAsFaults { words.append("no faults") }
    if request.shouldRefreshRefetchedObjects { words.append("refreshing") }
    return words.map { $0.count > 300 ? $0.prefix(300) + "…" : $0 }.joined(separator: " ")
  }
}
