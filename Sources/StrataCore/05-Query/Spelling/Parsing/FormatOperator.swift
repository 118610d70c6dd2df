/// An operator that waits for its right side.
enum FormatOperator {
  case or
  case and
  case not
  /// `ANY`, `ALL`; of `NONE`, the negation of `ANY`.
  case quantifier(FetchComparison.Quantifier, isNegated: Bool)
  case compare(ComparisonOperator, FetchComparison.StringOptions, isNegated: Bool)
  case arithmetic(FetchFunction)
  case minus
  /// `~`
  case complement
  /// An open parenthesis, brace or call, which ends what lies above it.
  case frame

  /// Operators of a higher level take their sides first.
  var level: Int {
    switch self {
    case .frame: 0
    case .or: 1
    case .and: 2
    case .not: 3
    case .quantifier: 4
    case .compare: 5
    case .arithmetic(.bitwiseOr): 6
    case .arithmetic(.bitwiseXor): 7
    case .arithmetic(.bitwiseAnd): 8
    case .arithmetic(.leftShift), .arithmetic(.rightShift): 9
    case .arithmetic(.add), .arithmetic(.subtract): 10
    case .arithmetic(.power): 13
    case .arithmetic: 11
    case .minus, .complement: 12
    }
  }

  /// Whether, of two in a row, the right one takes its sides first.
  var isRightAssociative: Bool {
    if case .arithmetic(.power) = self { true } else { false }
  }

  /// Whether it stands before its one side.
  var isPrefix: Bool {
    switch self {
    case .not, .quantifier, .minus, .complement: true
    default: false
    }
  }

  /// The operator that a word stands for between two values.
  static func word(_ word: String) -> FormatOperator? {
    switch word {
    case "AND": .and
    case "OR": .or
    case "IN": .compare(.in, [], isNegated: false)
    case "BETWEEN": .compare(.between, [], isNegated: false)
    case "LIKE": .compare(.like, [], isNegated: false)
    case "MATCHES": .compare(.matches, [], isNegated: false)
    case "CONTAINS": .compare(.contains, [], isNegated: false)
    case "BEGINSWITH": .compare(.beginsWith, [], isNegated: false)
    case "ENDSWITH": .compare(.endsWith, [], isNegated: false)
    default: nil
    }
  }

  /// The operator that a sign stands for between two values.
  static func sign(_ sign: FormatSign) -> FormatOperator? {
    switch sign {
    case .and: .and
    case .or: .or
    case .equal: .compare(.equal, [], isNegated: false)
    case .notEqual: .compare(.notEqual, [], isNegated: false)
    case .less: .compare(.less, [], isNegated: false)
    case .lessOrEqual: .compare(.lessOrEqual, [], isNegated: false)
    case .greater: .compare(.greater, [], isNegated: false)
    case .greaterOrEqual: .compare(.greaterOrEqual, [], isNegated: false)
    case .plus: .arithmetic(.add)
    case .minus: .arithmetic(.subtract)
    case .times: .arithmetic(.multiply)
    case .divided: .arithmetic(.divide)
    case .power: .arithmetic(.power)
    case .bitAnd: .arithmetic(.bitwiseAnd)
    case .bitOr: .arithmetic(.bitwiseOr)
    case .bitXor: .arithmetic(.bitwiseXor)
    case .shiftLeft: .arithmetic(.leftShift)
    case .shiftRight: .arithmetic(.rightShift)
    default: nil
    }
  }
}

/// What is open and waits for its closing sign.
struct FormatFrame {
  enum Kind {
    case parenthesis
    case list
    case function(FormatFunction)
    case subquery
    case conditional
    case cast
    case objects
    case entity
    /// `FUNCTION(…)`: the first argument names the function, or stands for what it is a function of.
    case named
    /// In memory only.
    case fetch
    /// `list[…]`, in memory only. The list is the first element.
    case index
  }

  let kind: Kind
  /// Where it was opened.
  let start: Int
  var elements: [FormatNode] = []
  /// Whether there is a comma, so that another element must follow.
  var needsElement = false

  var closing: FormatSign {
    switch kind {
    case .list: .closeBrace
    case .index: .closeBracket
    default: .closeParenthesis
    }
  }

  /// Whether commas divide it.
  var hasElements: Bool {
    switch kind {
    case .parenthesis, .index: false
    default: true
    }
  }
}
