import Foundation

extension ManagedObjectContext {
  /// Chosen values of the objects of a class that satisfy a condition, as tuples of two or more; of one value there is a fetch of its own. No object is made or registered.
  ///
  ///     for (title, pages) in try context.fetch(Book.self, values: \.title, \.pages, sortedBy: .reverse(\.pages)) { print(title, pages) }
  ///
  /// Each key path leads to a stored attribute, perhaps of an object that to-one relationships lead to (`\.author?.name`), or to an `objectID`. The values are those
  /// that the class's accessors make of what is stored: enumerations, defaults for nil. As with all rows of values, unsaved changes take no part: what is read is what
  /// is in the store. A stored value that the property's type does not know is told to ``readFailureHandler`` with the ID of its record (without it in `distinct` tuples,
  /// which stand for many); the tuple has what an object would show. On the context's queue.
  ///
  /// - Parameters:
  ///   - type: The class, which one entity of the model has.
  ///   - first: The first value of each tuple.
  ///   - second: The second one.
  ///   - others: The other values, in their order.
  ///   - condition: What is true of the objects; nil for all objects.
  ///   - order: The sort keys. Without any, the order is unspecified.
  ///   - limit: At most this many tuples; nil for no limit, 0 for none.
  ///   - offset: How many are left out before the first.
  ///   - distinct: Whether tuples of equal stored values come once.
  /// - Throws: ``PredicateTranslationError`` for a key path that leads to none of these; what `fetch(_:)` throws for rows of values.
  public func fetch<T: ManagedObject, First, Second, each Value>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, _ second: KeyPath<T, Second> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), where condition: FetchPredicate? = nil,
    sortedBy order: FetchOrder<T> = [], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [(First, Second, repeat each Value)] {
    try values(condition, order.sorts, limit, offset, distinct, first, second, repeat each others)
  }

  private func values<T: ManagedObject, First, each Value>(
    _ condition: FetchPredicate?, _ order: [FetchSort], _ limit: Int?, _ offset: Int, _ distinct: Bool,
    _ first: KeyPath<T, First> & Sendable, _ others: repeat (KeyPath<T, each Value> & Sendable)
  ) throws -> [(First, repeat each Value)] {
    let asked = try ValueRequest(T.self, in: self, condition, order, limit, offset, distinct)
    let column = try asked.plan.column(first as KeyPath<T, First>)
    let columns = (repeat try asked.plan.column((each others) as KeyPath<T, each Value>))
    return try asked.rows { replay in (column.value(replay), repeat (each columns).value(replay)) }
  }

  /// The same, each tuple as the arguments of a function.
  func values<T: ManagedObject, First, each Value, Row>(
    _ condition: FetchPredicate?, _ order: [FetchSort], _ limit: Int?, _ offset: Int, _ distinct: Bool,
    _ first: KeyPath<T, First> & Sendable, _ others: repeat (KeyPath<T, each Value> & Sendable),
    as make: (First, repeat each Value) throws -> Row
  ) throws -> [Row] {
    let asked = try ValueRequest(T.self, in: self, condition, order, limit, offset, distinct)
    let column = try asked.plan.column(first as KeyPath<T, First>)
    let columns = (repeat try asked.plan.column((each others) as KeyPath<T, each Value>))
    // The function is the program's, and runs when the rows have been read.
    let rows = try asked.rows { replay in
      (first: column.value(replay), others: (repeat (each columns).value(replay)))
    }
    return try rows.map { row in try make(row.first, repeat each row.others) }
  }

  /// The same with a `#Predicate`.
  /// - Throws: ``PredicateTranslationError`` for what no store can look up, naming it; what `fetch(_:)` throws for rows of values.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, First, Second, each Value>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, _ second: KeyPath<T, Second> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), where condition: Predicate<T>?,
    sortedBy order: FetchOrder<T> = [], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [(First, Second, repeat each Value)] {
    try values(
      condition.map { FetchPredicate($0) }, order.sorts, limit, offset, distinct, first, second,
      repeat each others)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: what the fetch in a ``FetchOrder`` throws; ``PredicateTranslationError`` for a sort descriptor that no store knows.
  public func fetch<T: ManagedObject, First, Second, each Value>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, _ second: KeyPath<T, Second> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), where condition: FetchPredicate? = nil,
    sortedBy order: [SortDescriptor<T>], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [(First, Second, repeat each Value)] {
    try values(
      condition, FetchOrder(order).sorts, limit, offset, distinct, first, second, repeat each others)
  }

  /// The same with a `#Predicate`, in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for what no store can look up, naming it; what `fetch(_:)` throws for rows of values.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, First, Second, each Value>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, _ second: KeyPath<T, Second> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), where condition: Predicate<T>?,
    sortedBy order: [SortDescriptor<T>], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [(First, Second, repeat each Value)] {
    try values(
      condition.map { FetchPredicate($0) }, FetchOrder(order).sorts, limit, offset, distinct, first, second,
      repeat each others)
  }

  /// The same in the order of one attribute, small values first: `sortedBy: \.title`.
  /// - Throws: what the fetch in a ``FetchOrder`` throws.
  public func fetch<T: ManagedObject, Key, First, Second, each Value>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, _ second: KeyPath<T, Second> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), where condition: FetchPredicate? = nil,
    sortedBy order: KeyPath<T, Key> & Sendable, limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [(First, Second, repeat each Value)] {
    try values(condition, [FetchSort(order)], limit, offset, distinct, first, second, repeat each others)
  }

  /// The same with a `#Predicate`, in the order of one attribute.
  /// - Throws: ``PredicateTranslationError`` for what no store can look up, naming it; what `fetch(_:)` throws for rows of values.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, Key, First, Second, each Value>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, _ second: KeyPath<T, Second> & Sendable,
    _ others: repeat (KeyPath<T, each Value> & Sendable), where condition: Predicate<T>?,
    sortedBy order: KeyPath<T, Key> & Sendable, limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [(First, Second, repeat each Value)] {
    try values(
      condition.map { FetchPredicate($0) }, [FetchSort(order)], limit, offset, distinct, first, second,
      repeat each others)
  }
}

extension ManagedObjectContext {
  /// One chosen value of each of the objects of a class that satisfy a condition. No object is made or registered.
  ///
  ///     let names = try context.fetch(Author.self, values: \.name)      // [String?]
  ///
  /// What the values are is as in the fetch of several: they are what is in the store, and unsaved changes take no part. On the context's queue.
  ///
  /// - Parameters:
  ///   - type: The class, which one entity of the model has.
  ///   - first: The value: a stored attribute, perhaps of an object that to-one relationships lead to, or an `objectID`.
  ///   - condition: What is true of the objects; nil for all objects.
  ///   - order: The sort keys. Without any, the order is unspecified.
  ///   - limit: At most this many values; nil for no limit, 0 for none.
  ///   - offset: How many are left out before the first.
  ///   - distinct: Whether equal stored values come once.
  /// - Throws: ``PredicateTranslationError`` for a key path that leads to none of these; what `fetch(_:)` throws for rows of values.
  public func fetch<T: ManagedObject, First>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, where condition: FetchPredicate? = nil,
    sortedBy order: FetchOrder<T> = [], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [First] {
    try column(condition, order.sorts, limit, offset, distinct, first)
  }

  /// The same with a `#Predicate`.
  /// - Throws: ``PredicateTranslationError`` for what no store can look up, naming it; what `fetch(_:)` throws for rows of values.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, First>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, where condition: Predicate<T>?,
    sortedBy order: FetchOrder<T> = [], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [First] {
    try column(
      condition.map { FetchPredicate($0) }, order.sorts, limit, offset, distinct, first)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: what the fetch in a ``FetchOrder`` throws; ``PredicateTranslationError`` for a sort descriptor that no store knows.
  public func fetch<T: ManagedObject, First>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, where condition: FetchPredicate? = nil,
    sortedBy order: [SortDescriptor<T>], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [First] {
    try column(
      condition, FetchOrder(order).sorts, limit, offset, distinct, first)
  }

  /// The same with a `#Predicate`, in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for what no store can look up, naming it; what `fetch(_:)` throws for rows of values.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, First>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, where condition: Predicate<T>?,
    sortedBy order: [SortDescriptor<T>], limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [First] {
    try column(
      condition.map { FetchPredicate($0) }, FetchOrder(order).sorts, limit, offset, distinct, first)
  }

  /// The same in the order of one attribute, small values first: `sortedBy: \.title`.
  /// - Throws: what the fetch in a ``FetchOrder`` throws.
  public func fetch<T: ManagedObject, Key, First>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, where condition: FetchPredicate? = nil,
    sortedBy order: KeyPath<T, Key> & Sendable, limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [First] {
    try column(condition, [FetchSort(order)], limit, offset, distinct, first)
  }

  /// The same with a `#Predicate`, in the order of one attribute.
  /// - Throws: ``PredicateTranslationError`` for what no store can look up, naming it; what `fetch(_:)` throws for rows of values.
  @_disfavoredOverload
  public func fetch<T: ManagedObject, Key, First>(
    _ type: T.Type, values first: KeyPath<T, First> & Sendable, where condition: Predicate<T>?,
    sortedBy order: KeyPath<T, Key> & Sendable, limit: Int? = nil, offset: Int = 0, distinct: Bool = false
  ) throws -> [First] {
    try column(
      condition.map { FetchPredicate($0) }, [FetchSort(order)], limit, offset, distinct, first)
  }

  private func column<T: ManagedObject, First>(
    _ condition: FetchPredicate?, _ order: [FetchSort], _ limit: Int?, _ offset: Int, _ distinct: Bool,
    _ first: KeyPath<T, First> & Sendable
  ) throws -> [First] {
    let asked = try ValueRequest(T.self, in: self, condition, order, limit, offset, distinct)
    let column = try asked.plan.column(first as KeyPath<T, First>)
    return try asked.rows { replay in column.value(replay) }
  }
}

/// A fetch of chosen values: what the tuples need of each row, and the rows.
private struct ValueRequest {
  let plan: ValuePlan
  private let context: ManagedObjectContext
  private let request: FetchRequest<FetchedDictionary>
  private let limit: Int?
  private let distinct: Bool

  init<T: ManagedObject>(
    _ type: T.Type, in context: ManagedObjectContext, _ condition: FetchPredicate?, _ order: [FetchSort],
    _ limit: Int?, _ offset: Int, _ distinct: Bool
  ) throws {
    var request = FetchRequest<FetchedDictionary>(
      entityName: try context.entityName(of: type), predicate: condition, sortDescriptors: order,
      fetchOffset: offset)
    request.fetchLimit = limit ?? 0
    self.request = request
    plan = ValuePlan(
      entity: try FetchPredicate.entity(of: type, in: context.schema), schema: context.schema)
    self.context = context
    self.limit = limit
    self.distinct = distinct
  }

  /// What `make` says of each row, while the row answers for the probes of the plan's columns.
  func rows<Row>(_ make: (ProbeRecording) -> Row) throws -> [Row] {
    var request = request
    let identifierColumn = distinct || !plan.hasForms ? nil : plan.identifierColumn()
    request.propertiesToFetch = plan.columns
    if limit == 0 {
      request.fetchLimit = 1
      _ = try context.fetch(request)
      return []
    }
    let rows =
      distinct ? try plan.distinctRows(request) { try context.fetch($0) } : try context.fetch(request)
    let replay = ProbeRecording(context.schema, .row)
    replay.identifierColumn = identifierColumn
    replay.report = { context.tell($0) }
    defer { replay.report = nil }
    let reading = ValueReading()
    return try ValueReading.$current.withValue(reading) {
      try ProbeRecording.$current.withValue(replay) {
        try rows.map { row in
          replay.row = row.values
          let made = make(replay)
          try reading.check()
          return made
        }
      }
    }
  }
}

/// Which columns key paths need, each of them once.
private final class ValuePlan {
  let entity: EntitySchema
  let schema: Schema
  private(set) var columns: [FetchColumn] = []
  /// Whether a property has a type of its own, which may not know what is stored.
  private(set) var hasForms = false
  /// The columns with the values of the tuples; the others say which relationships lead there.
  private var ends: [Int] = []
  private var places: [String: Int] = [:]

  init(entity: EntitySchema, schema: Schema) {
    self.entity = entity
    self.schema = schema
  }

  /// What reads the value that a key path leads to.
  func column<Root: ManagedObject, Value>(_ keyPath: KeyPath<Root, Value>) throws -> ValueColumn<Root, Value>
  {
    let reads = try PredicateTranslationError.naming(.value) {
      try KeyPathNames.reads(of: keyPath, from: entity, schema, asValue: true)
    }
    let type = unwrappedType(Value.self)
    if !(type is any StoredAttribute.Type) || type is any NarrowInteger.Type { hasForms = true }
    var base = ""
    var steps: [Int] = []
    var elements: [Int: Int] = [:]
    for read in reads {
      let owner = schema.entities[read.entity]
      let attribute = owner.attributes[read.slot]
      // The accessor reads the whole of a composite attribute, which is in the columns of all its elements.
      let parts = leaves(of: attribute.composite.map { owner.attributes[$0] } ?? attribute, owner)
      for slot in parts {
        let name = base + owner.attributes[slot].name
        elements[slot] = place(name) { .property(name) }
      }
      if let column = elements[read.slot] {
        steps.append(column)
      } else if let first = parts.first.flatMap({ elements[$0] }) {
        // The whole: equal where all elements are.
        steps.append(first)
        ends += leaves(of: attribute, owner).compactMap { elements[$0] }
      }
      if parts == [read.slot] { elements = [:] }
      base += attribute.name + "."
    }
    let endsAtObject =
      reads.last.map { schema.entities[$0.entity].relationship(slot: $0.slot) != nil } ?? true
    if reads.isEmpty { steps = [identifierColumn()] }
    if let end = steps.last { ends.append(end) }
    let probe = ManagedObject.probe(entity)
    guard let root = probe as? Root, !endsAtObject || Self.isIdentifier(Value.self) else {
      throw PredicateTranslationError(
        .value, expression: "key path from \(Root.self) to \(Value.self)",
        reason: "objects are no values: go on to one of their attributes, or to objectID")
    }
    return ValueColumn(
      keyPath: keyPath, probe: root, steps: steps, elements: elements, isIdentifier: endsAtObject)
  }

  /// The slots with the values of an attribute: its own, or those of a composite one's elements.
  private func leaves(of attribute: AttributeSchema, _ owner: EntitySchema) -> [Int] {
    guard attribute.type == .composite else { return [attribute.slot] }
    return KeyPathNames.elements(of: attribute, owner).filter { owner.attributes[$0].type != .composite }
  }

  /// The rows of a request, each tuple once. Behind relationships all of them are fetched: the objects that they lead to are no part of the tuples.
  func distinctRows(
    _ request: FetchRequest<FetchedDictionary>,
    _ fetch: (FetchRequest<FetchedDictionary>) throws -> [FetchedDictionary]
  ) throws -> [FetchedDictionary] {
    var request = request
    guard Set(ends).count < columns.count else {
      request.returnsDistinctResults = true
      return try fetch(request)
    }
    let (limit, offset) = (request.fetchLimit, request.fetchOffset)
    (request.fetchLimit, request.fetchOffset) = (0, 0)
    var seen: Set<[FetchedDictionary.Value]> = []
    let rows = try fetch(request).filter { row in seen.insert(ends.map { row.values[$0] }).inserted }
    return Array(rows.dropFirst(offset).prefix(limit == 0 ? .max : limit))
  }

  /// The column of the objects' own IDs.
  func identifierColumn() -> Int { place("objectID") { .expression("objectID", .evaluatedObject) } }

  private static func isIdentifier(_ type: Any.Type) -> Bool { unwrappedType(type) == ManagedObjectID.self }

  private func place(_ name: String, _ column: () -> FetchColumn) -> Int {
    if let known = places[name] { return known }
    columns.append(column())
    places[name] = columns.count - 1
    return columns.count - 1
  }
}

/// Reads one value out of rows: the class's own accessor, on an object that answers what is in the row.
private struct ValueColumn<Root: ManagedObject, Value> {
  let keyPath: KeyPath<Root, Value>
  let probe: Root
  /// The columns of what the key path reads, one after the other.
  let steps: [Int]
  /// The columns of a composite attribute's elements, by slot.
  let elements: [Int: Int]
  let isIdentifier: Bool

  func value(_ replay: ProbeRecording) -> Value {
    if isIdentifier {
      var identifier: ManagedObjectID?
      if case .object(let id)? = steps.last.map({ replay.row[$0] }) { identifier = id }
      if let value = identifier as? Value { return value }
      trap("a row of values has no ID where \(Root.self) has one.")
    }
    replay.steps = steps
    replay.elements = elements
    replay.depth = 0
    return probe[keyPath: keyPath]
  }
}
