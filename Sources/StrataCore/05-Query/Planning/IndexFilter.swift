/// Which rows a partial index holds, with slots for names.
///
///     price > 5 AND seller != nil        the rows that have entries
///     price > 5 AND seller == "ada"      a request that may use the index: each part of the first is a part of it, or follows from one
struct IndexFilter: Sendable {
  let predicate: ResolvedPredicate

  /// The filter of an index; nil for one that holds all rows. Resolved once for each schema.
  ///
  /// - Throws: ``ModelError`` when one row alone does not decide the predicate, or it does not fit the entity.
  static func of(_ index: IndexSchema, _ schema: Schema) throws -> IndexFilter? {
    guard let condition = index.condition else { return nil }
    return try schema.memo.answer(to: Question(owner: index.owner, condition: condition)) {
      try make(condition, index, schema)
    }
  }

  private struct Question: Hashable {
    let owner: Int
    let condition: IndexCondition
  }

  private static func make(_ condition: IndexCondition, _ index: IndexSchema, _ schema: Schema) throws
    -> IndexFilter
  {
    func fault(_ reason: String) -> ModelError {
      ModelError("Index \(index.name) has the predicate “\(condition.text)”, \(reason).")
    }
    let tree: FetchPredicate
    do {
      tree = try FetchPredicate(format: condition.text)
    } catch {
      throw fault("which cannot be read: \(error)")
    }
    let looked = IndexCondition(tree)
    if let refusal = looked.refusal { throw fault("which \(refusal)") }
    guard looked.keys == condition.keys else {
      throw fault("which looks at other attributes than the index says")
    }
    let resolved: ResolvedPredicate
    do {
      resolved = try PredicateResolver(entity: schema.entities[index.owner], schema: schema).resolve(tree)
    } catch {
      throw fault("which does not fit the entity: \(error)")
    }
    guard resolved.isDecidedByAttributes else {
      throw fault("which compares more than attributes with constants")
    }
    return IndexFilter(predicate: resolved)
  }

  /// The places among `conjuncts` that every entry of the index satisfies; nil when the index may lack rows that satisfy all of them.
  ///
  /// Looks for equal parts, and for tests that no nil satisfies where the index leaves out nil: no more is proven.
  func implied(by conjuncts: [ResolvedPredicate]) -> Set<Int>? {
    var places: Set<Int> = []
    for part in predicate.conjuncts {
      if let place = conjuncts.firstIndex(of: part) {
        places.insert(place)
      } else if case .not(.test(let test)) = part, test.operation == .isNil,
        conjuncts.contains(where: { $0.excludesNil(in: test.slot) })
      {
        continue
      } else {
        return nil
      }
    }
    return places
  }
}

extension ResolvedPredicate {
  /// Whether values of attributes of the one row decide it.
  fileprivate var isDecidedByAttributes: Bool {
    switch self {
    case .all, .none, .test, .text: true
    case .selfIn, .reference, .related, .comparison: false
    case .not(let part): part.isDecidedByAttributes
    case .and(let parts), .or(let parts): parts.allSatisfy(\.isDecidedByAttributes)
    }
  }

  /// Whether it is a test of the slot that is false for nil.
  fileprivate func excludesNil(in slot: Int) -> Bool {
    switch self {
    case .test(let test): test.slot == slot && test.operation != .isNil
    case .text(let test): test.slot == slot
    default: false
    }
  }
}

extension IndexCondition {
  /// A predicate as an index keeps it.
  package init(_ predicate: FetchPredicate) {
    var reader = ConditionReader()
    reader.read(predicate)
    self.init(text: predicate.description, keys: reader.keys.sorted(), refusal: reader.refusal)
  }
}

/// Finds out what a predicate looks at, and what in it no index can keep.
private struct ConditionReader {
  var keys: Set<String> = []
  /// The first reason.
  var refusal: String?

  mutating func read(_ predicate: FetchPredicate) {
    switch predicate {
    case .everything, .nothing: return
    case .foundation: refuse("is a #Predicate; write it as a format string or as a FetchPredicate")
    case .and(let parts), .or(let parts): for part in parts { read(part) }
    case .not(let part): read(part)
    case .compare(let comparison):
      if comparison.quantifier != .direct { refuse("looks at members of a relationship") }
      let sides = [comparison.left, comparison.right].map { isKey($0) }
      if sides == [true, true] { refuse("compares two attributes with each other") }
      if sides == [false, false] { refuse("compares constants with each other") }
    }
  }

  /// Whether an expression is an attribute; whatever is neither that nor a constant is refused.
  private mutating func isKey(_ expression: FetchExpression) -> Bool {
    switch expression {
    case .constant: return false
    case .list(let parts):
      for part in parts where isKey(part) { refuse("has a list of attributes") }
      return false
    case .keyPath(.evaluatedObject, let names):
      keys.insert(names.joined(separator: "."))
      return true
    case .keyPath, .evaluatedObject, .objects, .entity, .subquery: refuse("looks at objects")
    case .variable(let name): refuse("has the variable $\(name)")
    case .aggregate, .function, .conditional: refuse("computes something")
    }
    return false
  }

  private mutating func refuse(_ reason: String) { refusal = refusal ?? reason }
}

extension FetchIndexDescription {
  /// The rows that the index holds: those that satisfy the predicate. Nil, the default, for all rows of the entity and its subentities.
  ///
  /// A fetch uses such an index only where its own predicate says at least as much: each part that the index's predicate joins by AND must be a part
  /// of the fetch's, written with the same attribute, operator and value. `!= nil` also follows from any other test of the attribute.
  /// ``ManagedObjectContext/explain(_:_:)`` names the predicate with the index.
  ///
  /// Comparisons of the entity's own stored attributes with constants, joined by AND, OR and NOT. Relationships, other objects, variables, functions,
  /// SELF, `#Predicate` and comparisons of two attributes are refused with ``ModelError`` when the model is taken into use, or the store is added.
  /// Not part of version hashes (rule 346).
  @_disfavoredOverload  // Core Data's spelling, in a module of its own, comes first where both are seen.
  public var partialIndexPredicate: FetchPredicate? {
    get { condition.flatMap { try? FetchPredicate(format: $0.text) } }
    set { condition = newValue.map { IndexCondition($0) } }
  }
}

extension AddedIndex {
  /// The index compiled for a schema, when its predicate, too, is one that an index can have.
  /// - Throws: `ModelError` with what is wrong, one sentence each.
  package func checked(_ schema: Schema) throws -> IndexSchema {
    let compiled = try compiled(number: 0, schema)
    _ = try IndexFilter.of(compiled, schema)
    return compiled
  }
}
