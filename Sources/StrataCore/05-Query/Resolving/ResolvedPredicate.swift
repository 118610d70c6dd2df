/// A predicate with slots for keys and operands of the attributes' own types, in its simplest form.
///
/// Constants occur only at the top; `and` and `or` are flat and hold at least two parts; `not` stands only
/// before a test, of whatever kind.
indirect enum ResolvedPredicate: Sendable, Hashable {
  case all
  case none
  case test(SlotTest)
  case selfIn([ManagedObjectID])
  /// The to-one relationship leads to one of the objects.
  case reference(ReferenceTest)
  /// A text, compared in a way that bytes alone do not tell.
  case text(TextTest)
  /// The object at the other end of the relationship of this number, or one of the members, satisfies the predicate.
  case related(relationship: Int, name: String, ResolvedPredicate)
  /// Two expressions, compared.
  case comparison(ResolvedComparison)
  case not(ResolvedPredicate)
  case and([ResolvedPredicate])
  case or([ResolvedPredicate])

  static func conjunction(_ parts: [ResolvedPredicate]) -> ResolvedPredicate {
    var flat: [ResolvedPredicate] = []
    for part in parts {
      switch part {
      case .all: continue
      case .none: return .none
      case .and(let inner): flat += inner
      default: flat.append(part)
      }
    }
    return flat.isEmpty ? .all : flat.count == 1 ? flat[0] : .and(flat)
  }

  static func disjunction(_ parts: [ResolvedPredicate]) -> ResolvedPredicate {
    var flat: [ResolvedPredicate] = []
    for part in parts {
      switch part {
      case .none: continue
      case .all: return .all
      case .or(let inner): flat += inner
      default: flat.append(part)
      }
    }
    return flat.isEmpty ? .none : flat.count == 1 ? flat[0] : .or(flat)
  }

  /// The exact negation, pushed down to the tests.
  var negated: ResolvedPredicate {
    switch self {
    case .all: .none
    case .none: .all
    case .test, .selfIn, .reference, .text, .related, .comparison: .not(self)
    case .not(let inner): inner
    case .and(let parts): .disjunction(parts.map(\.negated))
    case .or(let parts): .conjunction(parts.map(\.negated))
    }
  }

  /// The parts that all must be true.
  var conjuncts: [ResolvedPredicate] {
    switch self {
    case .all: []
    case .and(let parts): parts
    default: [self]
    }
  }
}

/// A test of one attribute. False for nil, apart from `isNil`.
struct SlotTest: Sendable, Hashable {
  enum Operation: UInt8, Sendable, Hashable {
    case isNil, equal, less, lessOrEqual, greater, greaterOrEqual, oneOf, beginsWith, contains, endsWith
  }

  let slot: Int
  let name: String
  let type: AttributeType
  let operation: Operation
  /// No operand for `isNil`; ascending and without repetition for `oneOf`; one otherwise. Never nil.
  let operands: [AttributeValue]
}

/// A test of what a to-one relationship leads to. False for nil.
struct ReferenceTest: Sendable, Hashable {
  let slot: Int
  let name: String
  /// The root entity of the relationship's destination.
  let rootName: String
  let identifiers: [ManagedObjectID]
}

/// A test of a string attribute with options, or by a pattern. False for nil.
struct TextTest: Sendable {
  let slot: Int
  let name: String
  let operation: ComparisonOperator
  /// One for every operator but `in`.
  let patterns: [String]
  let options: FetchComparison.StringOptions
  /// The test, prepared.
  let matcher: TextMatcher

  /// - Throws: ``TextMatchError`` for a pattern that is none.
  init(
    slot: Int, name: String, operation: ComparisonOperator, pattern: String,
    options: FetchComparison.StringOptions
  ) throws(TextMatchError) {
    self.slot = slot
    self.name = name
    self.operation = operation
    patterns = [pattern]
    self.options = options
    matcher = try TextMatcher(operation, pattern, options: options)
  }

  /// Whether the attribute is one of `texts`, compared with options.
  init(slot: Int, name: String, oneOf texts: [String], options: FetchComparison.StringOptions) {
    self.slot = slot
    self.name = name
    operation = .in
    patterns = texts
    self.options = options
    matcher = TextMatcher(oneOf: texts, options: options)
  }

  func matches(_ value: AttributeValue) throws -> Bool {
    guard case .string(let text) = value else { return false }
    return try matcher.matches(text)
  }
}

extension TextTest: Hashable {
  static func == (left: TextTest, right: TextTest) -> Bool {
    left.slot == right.slot && left.operation == right.operation && left.options == right.options
      && left.patterns.elementsEqual(right.patterns) { AttributeValue.orderUTF8($0, $1) == 0 }
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(slot)
    hasher.combine(operation)
    hasher.combine(options)
  }
}

extension TextTest: CustomStringConvertible {
  var description: String {
    let start = "\(name) \(operation)\(options.isEmpty ? "" : "[\(options)]") "
    if patterns.count > 4 { return start + "\(patterns.count) values" }
    let texts = patterns.map { "\"\($0)\"" }.joined(separator: ", ")
    return start + (operation == .in ? "{\(texts)}" : texts)
  }
}

extension ResolvedPredicate {
  /// Whether it is the same for all objects.
  var isConstant: Bool {
    switch self {
    case .all, .none: true
    case .test, .selfIn, .reference, .text, .related: false
    case .not(let part): part.isConstant
    case .and(let parts), .or(let parts): parts.allSatisfy(\.isConstant)
    case .comparison(let comparison): comparison.left.isConstant && comparison.right.isConstant
    }
  }

  /// The farthest scope that is looked at: 0 for the object the predicate is about, -1 for none.
  var reach: Int {
    switch self {
    case .all, .none: -1
    case .test, .selfIn, .reference, .text: 0
    case .related(_, _, let part): max(0, part.reach - 1)
    case .not(let part): part.reach
    case .and(let parts), .or(let parts): parts.map(\.reach).max() ?? -1
    case .comparison(let comparison): max(comparison.left.reach, comparison.right.reach)
    }
  }

  /// Calls `body` with every scope that is looked at, as seen from `depth` scopes further out, and maybe more than once.
  func forEachScope(depth: Int = 0, _ body: (Int) -> Void) {
    switch self {
    case .all, .none: return
    case .test, .selfIn, .reference, .text: if depth == 0 { body(0) }
    case .related(_, _, let part):
      if depth == 0 { body(0) }
      part.forEachScope(depth: depth + 1, body)
    case .not(let part): part.forEachScope(depth: depth, body)
    case .and(let parts), .or(let parts): for part in parts { part.forEachScope(depth: depth, body) }
    case .comparison(let comparison):
      comparison.left.forEachScope(depth: depth, body)
      comparison.right.forEachScope(depth: depth, body)
    }
  }

  /// The scopes that are looked at: 0 is the object the predicate is about.
  var scopes: Set<Int> {
    var scopes: Set<Int> = []
    forEachScope { scopes.insert($0) }
    return scopes
  }

  /// Whether it looks at nothing but values of fixed width in the one row.
  func isFixed(_ layout: RowLayout) -> Bool {
    switch self {
    case .all, .none, .selfIn, .reference: true
    case .test(let test): !layout.kind(of: test.slot).isVariable
    case .text, .related, .comparison: false
    case .not(let part): part.isFixed(layout)
    case .and(let parts), .or(let parts): parts.allSatisfy { $0.isFixed(layout) }
    }
  }

  /// Whether it looks at other objects than the one it is about: a row alone does not decide it.
  var travels: Bool {
    var travels = false
    forEachStep { _ in travels = true }
    return travels
  }

  /// Calls `body` with the number of every relationship that is followed.
  func forEachStep(_ body: (Int) -> Void) {
    switch self {
    case .all, .none, .test, .selfIn, .reference, .text: return
    case .related(let relationship, _, let part):
      body(relationship)
      part.forEachStep(body)
    case .not(let part): part.forEachStep(body)
    case .and(let parts), .or(let parts): for part in parts { part.forEachStep(body) }
    case .comparison(let comparison):
      comparison.left.forEachStep(body)
      comparison.right.forEachStep(body)
    }
  }

  /// Calls `body` with every slot of the object the predicate is about that it looks at, to-many relationships included.
  func forEachOwnSlot(_ relationships: [RelationshipSchema], depth: Int = 0, _ body: (Int) -> Void) {
    switch self {
    case .all, .none, .selfIn: return
    case .test(let test): if depth == 0 { body(test.slot) }
    case .reference(let test): if depth == 0 { body(test.slot) }
    case .text(let test): if depth == 0 { body(test.slot) }
    case .related(let relationship, _, let part):
      if depth == 0 { body(relationships[relationship].slot) }
      part.forEachOwnSlot(relationships, depth: depth + 1, body)
    case .not(let part): part.forEachOwnSlot(relationships, depth: depth, body)
    case .and(let parts), .or(let parts):
      for part in parts { part.forEachOwnSlot(relationships, depth: depth, body) }
    case .comparison(let comparison):
      comparison.left.forEachOwnSlot(relationships, depth: depth, body)
      comparison.right.forEachOwnSlot(relationships, depth: depth, body)
    }
  }
}

extension ResolvedPredicate: CustomStringConvertible {
  var description: String {
    switch self {
    case .all: "TRUE"
    case .none: "FALSE"
    case .test(let test): test.description
    case .selfIn(let identifiers): "SELF IN \(identifiers.count) identifiers"
    case .reference(let test): "\(test.name) IN \(test.identifiers.count) identifiers"
    case .text(let test): test.description
    case .related(_, let name, .all): "ANY \(name)"
    case .related(_, let name, let part): "ANY \(name) (\(part))"
    case .comparison(let comparison): comparison.words
    case .not(let part): "NOT (\(part))"
    case .and(let parts): parts.map { "(\($0))" }.joined(separator: " AND ")
    case .or(let parts): parts.map { "(\($0))" }.joined(separator: " OR ")
    }
  }
}

extension SlotTest: CustomStringConvertible {
  var description: String {
    switch operation {
    case .isNil: "\(name) == nil"
    case .oneOf where operands.count > 4: "\(name) IN \(operands.count) values"
    case .oneOf: "\(name) IN {\(operands.map { "\($0)" }.joined(separator: ", "))}"
    default: "\(name) \(sign) \(operands[0])"
    }
  }

  private var sign: String {
    switch operation {
    case .isNil, .equal: "=="
    case .less: "<"
    case .lessOrEqual: "<="
    case .greater: ">"
    case .greaterOrEqual: ">="
    case .oneOf: "IN"
    case .beginsWith: "BEGINSWITH"
    case .contains: "CONTAINS"
    case .endsWith: "ENDSWITH"
    }
  }
}
