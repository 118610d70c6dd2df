import Foundation

/// Reads format strings, with Core Data's grammar.
///
/// Operators wait on a stack of their own until one of a lower level comes (operator precedence, without recursion): the depth of
/// parentheses costs memory on the heap only, and the work is proportional to the length of the text.
///
///     text        a + b > 3 AND NOT c == 4
///     operands    a, b → a + b, 3 → a + b > 3, c, 4 → c == 4 → NOT c == 4 → the whole
///     operators   + | > | AND NOT == …
struct FormatParser {
  /// How many levels a tree may have: everything that walks trees recurses.
  static let depthLimit = PredicateResolver.depthLimit
  /// The longest format string, in bytes.
  static let lengthLimit = 1_000_000

  var lexer: FormatLexer
  var arguments: FormatArguments
  var operands: [FormatNode] = []
  var operators: [(operation: FormatOperator, start: Int)] = []
  var frames: [FormatFrame] = []
  /// Whether a value must come next, and not an operator.
  var needsOperand = true
  /// Whether the last token was a comparison, behind which `[cd]` may stand.
  var takesOptions = false
  /// What finds objects by what OBJECTS names; nil for URIs of stores that the process has opened.
  var objects: ((String) throws -> ManagedObjectID)?
  /// What reads a text that is cast to a date, besides seconds since 2001; nil for these alone.
  var dates: ((String) -> Date?)?
  /// Whether functions are known that are evaluated in memory only: then the tree is not for a store, see ``MemoryCall``.
  var allowsMemory = false

  /// The predicate that `format` is.
  ///
  /// - Throws: ``PredicateSyntaxError``.
  static func predicate(
    _ format: String, _ arguments: [Any?], objects: ((String) throws -> ManagedObjectID)? = nil,
    dates: ((String) -> Date?)? = nil, allowsMemory: Bool = false
  ) throws -> FetchPredicate {
    var parser = FormatParser(lexer: FormatLexer(format), arguments: FormatArguments(arguments))
    parser.objects = objects
    parser.dates = dates
    parser.allowsMemory = allowsMemory
    let node = try parser.parse()
    return try parser.requirePredicate(node)
  }

  /// The expression that `format` is.
  ///
  /// - Throws: ``PredicateSyntaxError``.
  static func expression(_ format: String, _ arguments: [Any?], allowsMemory: Bool = false) throws
    -> FetchExpression
  {
    var parser = FormatParser(lexer: FormatLexer(format), arguments: FormatArguments(arguments))
    parser.allowsMemory = allowsMemory
    let node = try parser.parse()
    return try parser.requireExpression(node)
  }

  private mutating func parse() throws -> FormatNode {
    guard lexer.bytes.count <= Self.lengthLimit else {
      throw PredicateSyntaxError(.tooLong, in: String(lexer.format.prefix(100)), at: 0)
    }
    while true {
      if needsOperand {
        try operand()
      } else if try !operation() {
        break
      }
    }
    let unused = arguments.unused
    guard unused.isEmpty else {
      throw lexer.error(.unusedArguments(numbers: unused), at: lexer.bytes.count)
    }
    return operands.removeLast()
  }

  // MARK: Between values

  /// Reads an operator, or what ends a value; false at the end.
  private mutating func operation() throws -> Bool {
    let token = try lexer.next(isOperand: false)
    let start = lexer.start
    switch token {
    case .end:
      try reduceToFrame(start)
      guard frames.isEmpty else { throw unexpectedOperator(start) }
      return false
    case .sign(.closeParenthesis), .sign(.closeBrace), .sign(.closeBracket): try close(token, start)
    case .sign(.comma): try comma(start)
    case .sign(.dot):
      guard let base = operands.last?.expression else { throw unexpectedOperator(start) }
      let node = operands.removeLast()
      try keyPath(base, [], after: node.depth, from: node.start, isAfterDot: true)
    case .sign(.openBracket): try index(start)
    case .sign(let sign):
      guard let operation = FormatOperator.sign(sign) else { throw unexpectedOperator(start) }
      try push(operation, start)
    case .name(let word): try operatorWord(word.uppercased(), start)
    default: throw unexpectedOperator(start)
    }
    return true
  }

  private mutating func operatorWord(_ word: String, _ start: Int) throws {
    if word == "UTI" {
      throw lexer.error(.unsupported("Uniform type identifiers are not compared"), at: start)
    }
    if word == "NOT" {
      if case .name(let next) = try lexer.next(isOperand: false),
        case .compare(let operation, let options, _)? = FormatOperator.word(next.uppercased())
      {
        return try push(.compare(operation, options, isNegated: true), start)
      }
      throw lexer.unexpected(
        at: lexer.start, expected: ["IN", "BETWEEN", "LIKE", "MATCHES", "CONTAINS", "BEGINSWITH", "ENDSWITH"])
    }
    guard let operation = FormatOperator.word(word) else { throw unexpectedOperator(start) }
    try push(operation, start)
  }

  /// `[SIZE]` is a count; single elements of a collection are evaluated in memory.
  private mutating func index(_ start: Int) throws {
    guard let collection = operands.last?.expression else { throw unexpectedOperator(start) }
    let count = FetchExpression.aggregate(.count, collection)
    let before = lexer
    var word: String?
    if case .name(let name) = try lexer.next(isOperand: true), lexer.take("]") { word = name.uppercased() }
    if word != "SIZE", !allowsMemory {
      throw lexer.error(
        .unsupported(
          "Of collections only [SIZE] can be asked: single elements such as [FIRST], [LAST] or [0] are evaluated in memory only"
        ),
        at: start)
    }
    let node = operands.removeLast()
    switch word {
    case "SIZE": try push(count, after: node.depth, from: node.start)
    case "FIRST":
      try push(
        MemoryCall.element(of: [collection, .constant(.integer(0))]), after: node.depth + 1, from: node.start)
    case "LAST":
      let last = FetchExpression.function(.subtract, [count, .constant(.integer(1))])
      // The collection is evaluated twice: each level doubles the work.
      try push(MemoryCall.element(of: [collection, last]), after: node.depth * 2 + 3, from: node.start)
    default:
      lexer = before
      open(.index, node.start)
      frames[frames.count - 1].elements.append(node)
    }
  }

  func unexpectedOperator(_ start: Int) -> PredicateSyntaxError {
    let isValue = operands.last?.expression != nil
    var expected = isValue ? ["an operator"] : ["AND", "OR"]
    switch frames.last?.kind {
    case nil: expected.append("the end")
    case .parenthesis: expected.append("“)”")
    case .list: expected += ["“,”", "“}”"]
    case .index: expected.append("“]”")
    default: expected += ["“,”", "“)”"]
    }
    return lexer.unexpected(at: start, expected: expected)
  }

  // MARK: The stacks

  /// Puts an operator on the stack, after those that take their sides before it.
  mutating func push(_ operation: FormatOperator, _ start: Int) throws {
    if !operation.isPrefix {
      while let top = operators.last?.operation,
        top.level > operation.level
          || top.level == operation.level && !operation.isRightAssociative
      {
        try reduce()
      }
      let isValue = operands.last?.expression != nil
      switch operation {
      case .and, .or:
        if isValue { throw lexer.unexpected(at: start, expected: ["a comparison operator"]) }
      default:
        if !isValue { throw unexpectedOperator(start) }
      }
    }
    operators.append((operation, start))
    needsOperand = true
    if case .compare = operation { takesOptions = true }
  }

  /// Puts a value on the stack.
  mutating func push(_ expression: FetchExpression, after depth: Int = 0, from start: Int) throws {
    try checkDepth(depth + 1, start)
    operands.append(FormatNode(expression, depth: depth + 1, start, lexer.place))
    needsOperand = false
  }

  func checkDepth(_ depth: Int, _ start: Int) throws {
    guard depth <= Self.depthLimit else { throw lexer.error(.tooDeep, at: start) }
  }

  func requireExpression(_ node: FormatNode) throws -> FetchExpression {
    guard let expression = node.expression else {
      throw lexer.unexpected(at: node.start, expected: ["a value"])
    }
    return expression
  }

  func requirePredicate(_ node: FormatNode) throws -> FetchPredicate {
    guard let predicate = node.predicate else {
      throw lexer.unexpected(at: node.end, expected: ["a comparison operator"])
    }
    return predicate
  }

  mutating func reduceToFrame(_ start: Int) throws {
    while let top = operators.last?.operation, top.level > 0 { try reduce() }
  }

  /// Applies the topmost operator.
  private mutating func reduce() throws {
    let (operation, start) = operators.removeLast()
    let right = operands.removeLast()
    switch operation {
    case .frame: break
    case .minus: try negate(right, start)
    case .complement:
      try checkDepth(right.depth + 1, start)
      let expression = FetchExpression.function(.onesComplement, [try requireExpression(right)])
      operands.append(FormatNode(expression, depth: right.depth + 1, start, right.end))
    case .not:
      let predicate = try requirePredicate(right)
      try append(.not(predicate), depth: right.depth + 1, start, right.end)
    case .quantifier(let quantifier, let isNegated):
      guard var comparison = right.isClosed ? nil : right.comparison, comparison.quantifier == .direct
      else { throw lexer.unexpected(at: right.start, expected: ["a comparison"]) }
      // That one is not in the list is that not all of them are; that all are not, that none is.
      comparison.quantifier = right.isNegatedComparison ? quantifier.opposite : quantifier
      let depth = right.isNegatedComparison ? right.depth - 1 : right.depth
      try append(isNegated != right.isNegatedComparison, .compare(comparison), depth, start, right.end)
    case .compare(let operation, let options, let isNegated):
      let left = operands.removeLast()
      let comparison = FetchComparison(
        try requireExpression(left), operation, try requireExpression(right), options: options)
      try append(isNegated, .compare(comparison), max(left.depth, right.depth) + 1, left.start, right.end)
      operands[operands.count - 1].isNegatedComparison = isNegated
    case .arithmetic(let function):
      let left = operands.removeLast()
      let expression = FetchExpression.function(
        function, [try requireExpression(left), try requireExpression(right)])
      try checkDepth(max(left.depth, right.depth) + 1, start)
      operands.append(
        FormatNode(expression, depth: max(left.depth, right.depth) + 1, left.start, right.end))
    case .and: try join(.and, right, start)
    case .or: try join(.or, right, start)
    }
  }

  private mutating func append(
    _ isNegated: Bool, _ predicate: FetchPredicate, _ depth: Int, _ start: Int, _ end: Int
  ) throws {
    try append(
      isNegated ? .not(predicate) : predicate, depth: isNegated ? depth + 1 : depth, start, end)
  }

  private mutating func append(_ predicate: FetchPredicate, depth: Int, _ start: Int, _ end: Int) throws {
    try checkDepth(depth, start)
    operands.append(FormatNode(predicate, depth: depth, start, end))
  }

  /// A minus before a bare number makes it negative, before anything else it is a function.
  private mutating func negate(_ node: FormatNode, _ start: Int) throws {
    let expression = try requireExpression(node)
    if node.isBareNumber, case .constant(let value) = expression {
      let negative: AttributeValue =
        switch value {
        case .integer(let number): .integer(-number)
        case .double(let number): .double(-number)
        default: value
        }
      operands.append(FormatNode(.constant(negative), depth: node.depth, start, node.end))
      return
    }
    try checkDepth(node.depth + 1, start)
    operands.append(
      FormatNode(.function(.negate, [expression]), depth: node.depth + 1, start, node.end))
  }

  /// Adds a predicate to those that the same word joined before it. In place: long lists are not copied.
  private mutating func join(_ connective: FormatNode.Connective, _ right: FormatNode, _ start: Int) throws {
    let predicate = try requirePredicate(right)
    let left = operands.count - 1
    if operands[left].connective == connective {
      operands[left].depth = max(operands[left].depth, right.depth + 1)
    } else {
      operands[left].parts = [try requirePredicate(operands[left])]
      operands[left].connective = connective
      operands[left].depth = max(operands[left].depth, right.depth) + 1
    }
    operands[left].parts.append(predicate)
    operands[left].end = right.end
    try checkDepth(operands[left].depth, start)
  }
}
