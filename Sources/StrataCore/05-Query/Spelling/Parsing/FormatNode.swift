/// What a part of a format string has become: a value or a predicate.
struct FormatNode {
  enum Value {
    case expression(FetchExpression)
    case predicate(FetchPredicate)
  }

  enum Connective {
    case and
    case or
  }

  var value: Value
  /// What joins `parts`, which are what counts then.
  var connective: Connective?
  var parts: [FetchPredicate] = []
  /// How many levels the tree has.
  var depth: Int
  /// Where the text of the part begins and ends.
  let start: Int
  var end: Int
  /// A number without sign or parentheses: a minus before it belongs to it.
  var isBareNumber = false
  /// A comparison that a word before its operator negates: `NOT IN`.
  var isNegatedComparison = false
  /// In parentheses: what follows does not continue it.
  var isClosed = false

  init(_ expression: FetchExpression, depth: Int = 1, _ start: Int, _ end: Int) {
    value = .expression(expression)
    self.depth = depth
    self.start = start
    self.end = end
  }

  init(_ predicate: FetchPredicate, depth: Int = 1, _ start: Int, _ end: Int) {
    value = .predicate(predicate)
    self.depth = depth
    self.start = start
    self.end = end
  }

  var expression: FetchExpression? {
    if connective == nil, case .expression(let expression) = value { expression } else { nil }
  }

  var predicate: FetchPredicate? {
    switch (connective, value) {
    case (.and, _): .and(parts)
    case (.or, _): .or(parts)
    case (nil, .predicate(let predicate)): predicate
    case (nil, .expression): nil
    }
  }

  /// The comparison it is, with or without its own negation.
  var comparison: FetchComparison? {
    switch (connective, value) {
    case (nil, .predicate(.compare(let comparison))): comparison
    case (nil, .predicate(.not(.compare(let comparison)))) where isNegatedComparison: comparison
    default: nil
    }
  }
}

extension FetchComparison.Quantifier {
  /// What the negation of a comparison is asked of members with: not all of them are, when one is not.
  var opposite: Self {
    switch self {
    case .direct: .direct
    case .any: .all
    case .all: .any
    }
  }
}
