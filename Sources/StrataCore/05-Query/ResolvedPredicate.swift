/// A predicate with slots for keys and operands of the attributes' own types, in its simplest form.
///
/// Constants occur only at the top; `and` and `or` are flat and hold at least two parts; `not` stands only
/// before a test.
indirect enum ResolvedPredicate: Sendable, Hashable {
  case all
  case none
  case test(SlotTest)
  case selfIn([ManagedObjectID])
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
    case .test, .selfIn: .not(self)
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

extension ResolvedPredicate: CustomStringConvertible {
  var description: String {
    switch self {
    case .all: "TRUE"
    case .none: "FALSE"
    case .test(let test): test.description
    case .selfIn(let identifiers): "SELF IN \(identifiers.count) identifiers"
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
