import Foundation

/// An expression whose names have been looked up in a schema.
///
/// Objects are named by how many scopes lie between: the object a predicate is about is `object(up: 0)`, inside a sub-query
/// that is the member looked at, and `object(up: 1)` the object whose members they are.
indirect enum ResolvedExpression: Sendable, Hashable {
  case constant(AttributeValue)
  case list([ResolvedExpression])
  /// Objects by their identifiers; `isList` when they stand for a list, else it is one.
  case objects([ManagedObjectID], rootName: String?, isList: Bool)
  case object(up: Int)
  /// The name of the entity that an object is of.
  case entityName(ResolvedExpression)
  /// What relationships lead to, one after the other, by their numbers, and an attribute there.
  case path(ResolvedExpression, steps: [Int], slot: Int?)
  /// `zero` is what the sum of nothing is.
  case aggregate(FetchAggregate, ResolvedExpression, zero: AttributeValue)
  /// The objects for which the predicate, whose scope they are, is true.
  case filtered(ResolvedExpression, entity: Int, ResolvedPredicate)
  case function(FetchFunction, [ResolvedExpression])
  case cast(ResolvedExpression, AttributeType)
  case conditional(ResolvedPredicate, ResolvedExpression, ResolvedExpression)
}

/// What an expression's values are, as far as it is known before there are any.
struct ResolvedType: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    /// Nil, or something that is known only when it is evaluated.
    case unknown
    case value(AttributeType)
    /// An entity of the model.
    case entity
    /// An object of the entity of this number.
    case object(entity: Int)
    /// An object of unknown entity.
    case anyObject
  }
  var kind: Kind
  /// Whether there are several.
  var isMany = false

  static let unknown = ResolvedType(kind: .unknown)
  static func value(_ type: AttributeType) -> ResolvedType { ResolvedType(kind: .value(type)) }

  /// The type of one value.
  init(of value: AttributeValue) {
    switch value {
    case .null: kind = .unknown
    case .integer: kind = .value(.integer64)
    case .boolean: kind = .value(.boolean)
    case .double: kind = .value(.double)
    case .float: kind = .value(.float)
    case .decimal: kind = .value(.decimal)
    case .string: kind = .value(.string)
    case .date: kind = .value(.date)
    case .data: kind = .value(.binaryData)
    case .uuid: kind = .value(.uuid)
    case .url: kind = .value(.uri)
    case .reference: kind = .anyObject
    }
  }

  init(kind: Kind, isMany: Bool = false) {
    self.kind = kind
    self.isMany = isMany
  }

  var isObject: Bool {
    switch kind {
    case .object, .anyObject: true
    default: false
    }
  }

  /// Whether there are sums of such values.
  var isSummable: Bool {
    if case .value(let type) = kind { return type.isSummable }
    return false
  }

  /// Whether values of both types may be compared: numbers with numbers and booleans, everything else with its own kind.
  func isComparable(with other: ResolvedType) -> Bool {
    switch (kind, other.kind) {
    case (.unknown, _), (_, .unknown): true
    case (.value(let left), .value(let right)):
      left == right || (left.isNumeric || left == .boolean) && (right.isNumeric || right == .boolean)
    case (.entity, .entity): true
    case (.entity, _), (_, .entity): false
    case (.object, .object), (.anyObject, _), (_, .anyObject): isObject && other.isObject
    default: false
    }
  }

  /// In words, for messages.
  func words(_ schema: Schema) -> String {
    let one =
      switch kind {
      case .unknown: "nil"
      case .value(let type): "\(type)"
      case .entity: "entity"
      case .object(let entity): "object of \(schema.entities[entity].name)"
      case .anyObject: "object"
      }
    return isMany ? "list of \(one)" : one
  }
}

extension AttributeType {
  /// Whether values of the type are numbers.
  var isNumeric: Bool { isInteger || self == .double || self == .float || self == .decimal }

  /// Whether there are sums of values of the type: of numbers, and of Booleans, which are 0 and 1.
  var isSummable: Bool { isNumeric || self == .boolean }
}

extension ResolvedExpression {
  /// Whether it is the same for all objects: nothing in it looks at one.
  var isConstant: Bool {
    switch self {
    case .constant: true
    case .objects, .object, .filtered, .entityName: false
    case .list(let parts), .function(_, let parts): parts.allSatisfy(\.isConstant)
    case .path(let base, _, _), .aggregate(_, let base, _), .cast(let base, _): base.isConstant
    case .conditional(let predicate, let first, let second):
      predicate.isConstant && first.isConstant && second.isConstant
    }
  }

  /// Calls `body` with the number of every relationship that is followed, those in predicates too.
  func forEachStep(_ body: (Int) -> Void) {
    switch self {
    case .constant, .objects, .object: return
    case .list(let parts), .function(_, let parts): for part in parts { part.forEachStep(body) }
    case .path(let base, let steps, _):
      base.forEachStep(body)
      steps.forEach(body)
    case .aggregate(_, let base, _), .cast(let base, _), .entityName(let base): base.forEachStep(body)
    case .filtered(let base, _, let predicate):
      base.forEachStep(body)
      predicate.forEachStep(body)
    case .conditional(let predicate, let first, let second):
      predicate.forEachStep(body)
      first.forEachStep(body)
      second.forEachStep(body)
    }
  }

  /// The farthest scope that is looked at: 0 for the object the predicate is about, -1 for none.
  var reach: Int {
    switch self {
    case .constant, .objects: -1
    case .object(let up): up
    case .list(let parts), .function(_, let parts): parts.map(\.reach).max() ?? -1
    case .path(let base, _, _), .aggregate(_, let base, _), .cast(let base, _), .entityName(let base):
      base.reach
    case .filtered(let base, _, let predicate): max(base.reach, predicate.reach - 1)
    case .conditional(let predicate, let first, let second):
      max(predicate.reach, first.reach, second.reach)
    }
  }

  /// Calls `body` with every scope that is looked at, as seen from `depth` scopes further out, and maybe more than once.
  func forEachScope(depth: Int = 0, _ body: (Int) -> Void) {
    switch self {
    case .constant, .objects: return
    case .object(let up): if up >= depth { body(up - depth) }
    case .list(let parts), .function(_, let parts):
      for part in parts { part.forEachScope(depth: depth, body) }
    case .path(let base, _, _), .aggregate(_, let base, _), .cast(let base, _), .entityName(let base):
      base.forEachScope(depth: depth, body)
    case .filtered(let base, _, let predicate):
      base.forEachScope(depth: depth, body)
      predicate.forEachScope(depth: depth + 1, body)
    case .conditional(let predicate, let first, let second):
      predicate.forEachScope(depth: depth, body)
      first.forEachScope(depth: depth, body)
      second.forEachScope(depth: depth, body)
    }
  }

  /// Calls `body` with the slots of the object the expression is about.
  func forEachOwnSlot(_ relationships: [RelationshipSchema], depth: Int = 0, _ body: (Int) -> Void) {
    switch self {
    case .constant, .objects, .object: return
    case .list(let parts), .function(_, let parts):
      for part in parts { part.forEachOwnSlot(relationships, depth: depth, body) }
    case .path(.object(up: depth), let steps, let slot):
      if let first = steps.first {
        body(relationships[first].slot)
      } else if let slot {
        body(slot)
      }
    case .path(let base, _, _), .aggregate(_, let base, _), .cast(let base, _), .entityName(let base):
      base.forEachOwnSlot(relationships, depth: depth, body)
    case .filtered(let base, _, let predicate):
      base.forEachOwnSlot(relationships, depth: depth, body)
      predicate.forEachOwnSlot(relationships, depth: depth + 1, body)
    case .conditional(let predicate, let first, let second):
      predicate.forEachOwnSlot(relationships, depth: depth, body)
      first.forEachOwnSlot(relationships, depth: depth, body)
      second.forEachOwnSlot(relationships, depth: depth, body)
    }
  }
}

/// A comparison whose names have been looked up.
struct ResolvedComparison: Sendable, Hashable {
  let left: ResolvedExpression
  let operation: ComparisonOperator
  let right: ResolvedExpression
  let quantifier: FetchComparison.Quantifier
  let options: FetchComparison.StringOptions
  /// The comparison as it was written.
  let words: String
}

extension ResolvedExpression {
  /// Whether no relationship is followed.
  var isLocal: Bool {
    var isLocal = true
    forEachStep { _ in isLocal = false }
    return isLocal
  }
}
