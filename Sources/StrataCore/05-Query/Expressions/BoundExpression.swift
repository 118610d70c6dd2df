import Foundation

/// A resolved expression, ready to be evaluated in one store: predicates in it compiled, objects replaced by references.
indirect enum BoundExpression: Sendable {
  case constant(AttributeValue)
  case values([AttributeValue])
  case list([BoundExpression])
  case object(up: Int)
  case entityName(BoundExpression, hierarchy: Int)
  case path(BoundExpression, hierarchy: Int, steps: [RelationshipSchema], slot: Int?)
  case aggregate(FetchAggregate, BoundExpression, zero: AttributeValue)
  /// How many members of the base satisfy a test: members of one relationship of one object.
  case matchingCount(of: BoundExpression, hierarchy: Int, RelatedTest)
  /// How many members a relationship of one object has.
  case memberCount(of: BoundExpression, hierarchy: Int, RelationshipSchema)
  case filtered(BoundExpression, hierarchy: Int, ObjectTest)
  case function(FetchFunction, [BoundExpression])
  case cast(BoundExpression, AttributeType)
  case conditional(CompiledPredicate, BoundExpression, BoundExpression)
}

/// A test of objects that others lead to.
final class ObjectTest: Sendable {
  /// What such an object must satisfy.
  let program: CompiledPredicate
  /// The scopes outside of it that the answer depends on, as seen from there: 0 is the object that leads to it. Ascending.
  let outerScopes: [Int]
  /// Whether the answer depends on the object alone.
  var isIndependent: Bool { outerScopes.isEmpty }
  /// Whether finding the answer once more costs more than to remember it.
  let isDear: Bool

  init(_ program: CompiledPredicate) {
    self.program = program
    outerScopes = program.source.scopes.filter { $0 > 0 }.map { $0 - 1 }.sorted()
    isDear = program.source.travels
  }
}

/// A test of the objects at the other end of a relationship.
final class RelatedTest: Sendable {
  let relationship: RelationshipSchema
  let test: ObjectTest
  /// What an object there must satisfy.
  var program: CompiledPredicate { test.program }
  /// Whether the answer depends on the object there alone.
  var isIndependent: Bool { test.isIndependent }

  init(relationship: RelationshipSchema, program: CompiledPredicate) {
    self.relationship = relationship
    test = ObjectTest(program)
  }
}

/// A comparison, ready to be evaluated.
final class BoundComparison: Sendable {
  let left: BoundExpression
  let operation: ComparisonOperator
  let right: BoundExpression
  let quantifier: FetchComparison.Quantifier
  let options: FetchComparison.StringOptions
  /// Prepared, where the right side is a text known beforehand.
  let matcher: TextMatcher?
  /// The texts of a list known beforehand, folded, where they are compared so.
  let foldedTexts: FoldedTexts?

  /// Texts to look one up among, each folded once.
  struct FoldedTexts: Sendable {
    let folding: TextFolding
    let texts: Set<[UInt8]>
    let hasNil: Bool

    /// Nil for lists of anything else.
    init?(_ values: [AttributeValue], _ options: FetchComparison.StringOptions) {
      if options.isEmpty { return nil }
      let folding = TextFolding(options)
      var texts: Set<[UInt8]> = []
      var hasNil = false
      for value in values {
        switch value {
        case .string(let text): texts.insert(folding.folded(text))
        case .null: hasNil = true
        default: return nil
        }
      }
      (self.folding, self.texts, self.hasNil) = (folding, texts, hasNil)
    }

    func contains(_ value: AttributeValue) -> Bool {
      switch value {
      case .string(let text): texts.contains(folding.folded(text))
      case .null: hasNil
      default: false
      }
    }
  }

  init(_ comparison: ResolvedComparison, _ binder: ExpressionBinder) {
    left = binder.bind(comparison.left)
    operation = comparison.operation
    right = binder.bind(comparison.right)
    quantifier = comparison.quantifier
    options = comparison.options
    if case .constant(.string(let pattern)) = comparison.right, comparison.operation.isForStrings {
      // A pattern that is none was refused when the predicate was resolved.
      matcher = try? TextMatcher(comparison.operation, pattern, options: comparison.options)
    } else {
      matcher = nil
    }
    switch (comparison.operation, left, right) {
    case (.in, _, .values(let values)): foldedTexts = FoldedTexts(values, comparison.options)
    case (.contains, .values(let values), _) where comparison.quantifier == .direct:
      foldedTexts = FoldedTexts(values, comparison.options)
    default: foldedTexts = nil
    }
  }
}

extension ComparisonOperator {
  /// Whether both sides are texts.
  var isForStrings: Bool {
    switch self {
    case .beginsWith, .contains, .endsWith, .like, .matches: true
    default: false
    }
  }

  /// Whether the right side is looked for in the left one: then the empty text is found nowhere.
  var isForParts: Bool {
    switch self {
    case .beginsWith, .contains, .endsWith: true
    default: false
    }
  }
}

/// References to objects that no reference of the store at hand can lead to: each has its own, so that they are the same as themselves and
/// as nothing else. From any thread.
final class Strangers: Sendable {
  private let known = Mutex<[ManagedObjectID: UInt64]>([:])

  /// Whether a reference is that of a stranger: it has a primary key that no object has.
  static func contains(_ reference: UInt64) -> Bool {
    Reference.primaryKey(reference) > Reference.primaryKey(.max) - (1 << 32)
  }

  func reference(to identifier: ManagedObjectID) -> UInt64 {
    known.withLock { known in
      if let reference = known[identifier] { return reference }
      let reference = Reference.bits(Reference.primaryKey(.max) - UInt64(known.count), entityCode: 0)
      known[identifier] = reference
      return reference
    }
  }
}

/// Makes bound expressions for one store.
struct ExpressionBinder: Sendable {
  let schema: Schema
  /// Nil when no objects can be named.
  let storeIdentifier: UUID?
  /// The root entity of the objects that the expressions are about.
  let rootName: String

  /// The objects that are of another store, or of no hierarchy that is known.
  private let strangers = Strangers()

  init(schema: Schema, storeIdentifier: UUID?, rootName: String) {
    self.schema = schema
    self.storeIdentifier = storeIdentifier
    self.rootName = rootName
  }

  func bind(_ expression: ResolvedExpression) -> BoundExpression {
    switch expression {
    case .constant(let value): return .constant(value)
    case .list(let parts):
      let constants = parts.compactMap { if case .constant(let value) = $0 { value } else { nil } }
      return constants.count == parts.count ? .values(constants) : .list(parts.map(bind))
    case .objects(let identifiers, let rootName, let isList):
      let references = references(identifiers, rootName: rootName)
      // What is no list is one object.
      return isList ? .values(references) : .constant(references[0])
    case .object(let up): return .object(up: up)
    case .entityName(let base): return .entityName(bind(base), hierarchy: hierarchy(of: base))
    case .path(let base, let steps, let slot):
      return .path(
        bind(base), hierarchy: hierarchy(of: base), steps: steps.map { schema.relationships[$0] }, slot: slot)
    case .aggregate(.count, let base, _): return count(of: base)
    case .aggregate(let aggregate, let base, let zero): return .aggregate(aggregate, bind(base), zero: zero)
    case .filtered(let base, let entity, let predicate):
      return .filtered(
        bind(base), hierarchy: schema.entities[entity].hierarchyNumber, ObjectTest(compile(predicate, entity))
      )
    case .function(let function, let arguments): return .function(function, bound(arguments))
    case .cast(let base, let type): return .cast(bind(base), type)
    case .conditional(let predicate, let first, let second):
      return .conditional(compile(predicate, nil), bind(first), bind(second))
    }
  }

  private func bound(_ expressions: [ResolvedExpression]) -> [BoundExpression] {
    var result: [BoundExpression] = []
    for expression in expressions { result.append(bind(expression)) }
    return result
  }

  /// Counts where the members need not be listed.
  private func count(of base: ResolvedExpression) -> BoundExpression {
    if case .path(let owner, let steps, nil) = base, let last = steps.last,
      schema.relationships[last].isToMany,
      !steps.dropLast().contains(where: { schema.relationships[$0].isToMany }),
      !isMany(owner)
    {
      let object = steps.count == 1 ? owner : .path(owner, steps: Array(steps.dropLast()), slot: nil)
      return .memberCount(
        of: bind(object), hierarchy: schema.entities[schema.relationships[last].owner].hierarchyNumber,
        schema.relationships[last])
    }
    if case .filtered(.path(let owner, let steps, nil), let entity, let predicate) = base, steps.count == 1,
      schema.relationships[steps[0]].isToMany, !isMany(owner)
    {
      return .matchingCount(
        of: bind(owner), hierarchy: schema.entities[schema.relationships[steps[0]].owner].hierarchyNumber,
        RelatedTest(relationship: schema.relationships[steps[0]], program: compile(predicate, entity)))
    }
    return .aggregate(.count, bind(base), zero: .integer(0))
  }

  private func isMany(_ expression: ResolvedExpression) -> Bool {
    switch expression {
    case .object, .constant: false
    case .entityName(let base): isMany(base)
    case .objects(_, _, let isList): isList
    case .path(let base, let steps, _):
      isMany(base) || steps.contains { schema.relationships[$0].isToMany }
    default: true
    }
  }

  /// The hierarchy of the objects that a base of a path stands for.
  private func hierarchy(of base: ResolvedExpression) -> Int {
    switch base {
    case .path(_, let steps, _): steps.last.map { schema.relationships[$0].destinationHierarchy } ?? -1
    case .filtered(_, let entity, _): schema.entities[entity].hierarchyNumber
    case .objects(_, let rootName?, _): schema.hierarchies.firstIndex { $0.rootName == rootName } ?? -1
    case .conditional(_, let first, let second): hierarchy(ofOneOf: [first, second])
    case .function(.coalesce, let parts), .list(let parts): hierarchy(ofOneOf: parts)
    default: -1
    }
  }

  /// The sides are of one hierarchy, and those that are nil of none.
  private func hierarchy(ofOneOf sides: [ResolvedExpression]) -> Int {
    sides.lazy.map { hierarchy(of: $0) }.first { $0 >= 0 } ?? -1
  }

  func compile(_ predicate: ResolvedPredicate, _ entity: Int?) -> CompiledPredicate {
    CompiledPredicate(
      predicate,
      rootName: entity.map { schema.hierarchies[schema.entities[$0].hierarchyNumber].rootName } ?? rootName,
      storeIdentifier: storeIdentifier, schema: schema)
  }

  private func references(_ identifiers: [ManagedObjectID], rootName: String?) -> [AttributeValue] {
    identifiers.map { identifier in
      let hierarchy = identifier.token.hierarchy
      guard hierarchy.storeIdentifier == storeIdentifier, rootName == hierarchy.rootName else {
        return .reference(strangers.reference(to: identifier))
      }
      return .reference(Reference.bits(identifier.primaryKey, entityCode: 0))
    }
  }
}
