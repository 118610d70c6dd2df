// What stands where a value must.

extension FormatParser {
  /// Reads a value, or what may stand before one.
  mutating func operand() throws {
    let token = try lexer.next(isOperand: true)
    let start = lexer.start
    let mayHaveOptions = takesOptions
    takesOptions = false
    switch token {
    case .integer(let magnitude): try integer(magnitude, start)
    case .double(let value): try number(.double(value), start)
    case .string(let text): try push(.constant(.string(text)), from: start)
    case .variable(let name): try keyPath(.variable(name), [], after: 0, from: start)
    case .key(let key): try keyPath(.evaluatedObject, [.key(key)], after: 0, from: start)
    case .collectionOperator(let name):
      try keyPath(.evaluatedObject, [.collectionOperator(name)], after: 0, from: start)
    case .argument(let kind, let number): try argument(kind, number, start)
    case .selector(let selector): try call(selector, start)
    case .name(let word): try operandWord(word, start)
    case .sign(.openParenthesis): open(.parenthesis, start)
    case .sign(.openBrace): open(.list, start)
    case .sign(.minus): try push(.minus, start)
    case .sign(.complement): try push(.complement, start)
    case .sign(.not): try push(.not, start)
    case .sign(.openBracket) where mayHaveOptions: try options()
    case .sign(.closeParenthesis), .sign(.closeBrace): try closeEmpty(token, start)
    case .end, .sign: throw unexpectedOperand(start)
    }
  }

  private func unexpectedOperand(_ start: Int) -> PredicateSyntaxError {
    lexer.unexpected(at: start, expected: ["a value", "a key", "“(”"])
  }

  // MARK: Words

  private mutating func operandWord(_ word: String, _ start: Int) throws {
    let upper = word.uppercased()
    switch upper {
    case "NOT": return try push(.not, start)
    case "ANY", "SOME": return try push(.quantifier(.any, isNegated: false), start)
    case "ALL": return try push(.quantifier(.all, isNegated: false), start)
    case "NONE": return try push(.quantifier(.any, isNegated: true), start)
    case "TRUE", "YES": return try push(.constant(.boolean(true)), from: start)
    case "FALSE", "NO": return try push(.constant(.boolean(false)), from: start)
    case "NULL", "NIL": return try push(.constant(.null), from: start)
    case "SELF": return try keyPath(.evaluatedObject, [], after: 0, from: start)
    case "TRUEPREDICATE": return predicate(.everything, start)
    case "FALSEPREDICATE": return predicate(.nothing, start)
    case "ANYKEY":
      throw lexer.error(.unsupported("ANYKEY stands for all keys at once, which are not compared"), at: start)
    default: break
    }
    if FormatWord.reserved.contains(upper) { throw unexpectedOperand(start) }
    guard lexer.sees("(") else { return try keyPath(.evaluatedObject, [.key(word)], after: 0, from: start) }
    switch upper {
    case "SUBQUERY": try open(.subquery)
    case "TERNARY": try open(.conditional)
    case "CAST": try open(.cast)
    case "FUNCTION": try open(.named)
    case "OBJECTS": try open(.objects)
    case "ENTITY": try open(.entity)
    case "FETCH" where allowsMemory: try open(.fetch)
    case "FETCH":
      throw lexer.error(
        .unsupported("A predicate cannot execute another fetch request; SUBQUERY looks at related objects"),
        at: start)
    default: try call(word, start)
    }

    func open(_ kind: FormatFrame.Kind) throws {
      _ = lexer.take("(")
      self.open(kind, start)
    }
  }

  private mutating func predicate(_ predicate: FetchPredicate, _ start: Int) {
    operands.append(FormatNode(predicate, start, lexer.place))
    needsOperand = false
  }

  // MARK: Numbers and arguments

  private mutating func integer(_ magnitude: UInt64, _ start: Int) throws {
    if let value = Int64(exactly: magnitude) { return try number(.integer(value), start) }
    // The smallest number has no positive counterpart.
    if magnitude == 1 << 63, case .minus? = operators.last?.operation, isMinusAdjacent(start) {
      operators.removeLast()
      return try push(.constant(.integer(.min)), from: start)
    }
    throw lexer.error(
      .malformed("\(magnitude) does not fit into 64 bits; write CAST('…', 'decimal') for a larger number"),
      at: start)
  }

  /// Whether the topmost operator, a minus, is the last thing before `start`.
  private func isMinusAdjacent(_ start: Int) -> Bool {
    guard let minus = operators.last?.start else { return false }
    return lexer.bytes[(minus + 1)..<start].allSatisfy { $0 == 0x20 }
  }

  private mutating func number(_ value: AttributeValue, _ start: Int) throws {
    try push(.constant(value), from: start)
    operands[operands.count - 1].isBareNumber = true
  }

  private mutating func argument(_ kind: FormatArgumentKind, _ number: Int?, _ start: Int) throws {
    if kind == .keyPath {
      let (base, parts) = try keyPathArgument(number, start)
      return try keyPath(base, parts, after: 0, from: start)
    }
    let (value, place) = try takeArgument(number, start)
    do {
      try push(FormatArguments.expression(value, kind), after: 1, from: start)
    } catch let error as PredicateArgumentError {
      throw lexer.error(.argument(number: place, error.reason), at: start)
    }
  }

  private mutating func takeArgument(_ number: Int?, _ start: Int) throws -> (value: Any?, number: Int) {
    do throws(FormatArgumentError) {
      return try arguments.take(number)
    } catch {
      switch error {
      case .missing(let number): throw lexer.error(.missingArgument(number: number), at: start)
      }
    }
  }

  private mutating func keyPathArgument(_ number: Int?, _ start: Int) throws -> (
    FetchExpression, [FormatKeyPath.Part]
  ) {
    let (value, place) = try takeArgument(number, start)
    guard let value, !isNilValue(value), case .string(let text)? = AttributeValue(value, type: .string) else {
      throw lexer.error(.argument(number: place, "%K stands for a key path, which is a text"), at: start)
    }
    var parts = FormatKeyPath.parts(text)
    if case .key(let first)? = parts.first, first.uppercased() == "SELF" { parts.removeFirst() }
    return (.evaluatedObject, parts)
  }

  // MARK: Key paths

  /// Reads the rest of a key path.
  mutating func keyPath(
    _ base: FetchExpression, _ parts: [FormatKeyPath.Part], after depth: Int, from start: Int,
    isAfterDot: Bool = false
  ) throws {
    var parts = parts
    var isAfterDot = isAfterDot
    while isAfterDot || lexer.take(".") {
      isAfterDot = false
      switch try lexer.nextKey() {
      case .name(let key), .key(let key): parts.append(.key(key))
      case .collectionOperator(let name): parts.append(.collectionOperator(name))
      case .argument(.keyPath, let number): parts += try keyPathArgument(number, lexer.start).1
      default: throw lexer.unexpected(at: lexer.start, expected: ["a key"])
      }
    }
    do throws(FormatKeyPathError) {
      let (expression, levels) = try FormatKeyPath.expression(parts, base: base)
      try push(after: max(depth, 1) + levels, expression, start)
    } catch {
      throw lexer.error(.malformed(error.text.prefix(1).uppercased() + error.text.dropFirst()), at: start)
    }
  }

  private mutating func push(after depth: Int, _ expression: FetchExpression, _ start: Int)
    throws(FormatKeyPathError)
  {
    guard depth <= Self.depthLimit else {
      throw FormatKeyPathError(text: "\(Self.depthLimit) levels are the limit of a format string")
    }
    operands.append(FormatNode(expression, depth: depth, start, lexer.place))
    needsOperand = false
  }

  // MARK: Options

  private mutating func options() throws {
    let token = try lexer.next(isOperand: false)
    let start = lexer.start
    guard case .name(let letters) = token else {
      throw lexer.unexpected(at: start, expected: ["c", "d", "n"])
    }
    var options: FetchComparison.StringOptions = []
    for letter in letters.lowercased() {
      switch letter {
      case "c": options.insert(.caseInsensitive)
      case "d": options.insert(.diacriticInsensitive)
      case "n": options.insert(.normalized)
      case "l":
        throw lexer.error(
          .unsupported(
            "[l] compares by the rules of a locale, which differ from one device to the next; use [cd]"),
          at: start)
      default: throw lexer.unexpected(at: start, expected: ["c", "d", "n"])
      }
    }
    guard lexer.take("]") else { throw lexer.unexpected(at: lexer.place, expected: ["“]”"]) }
    // Options are read after a comparison only, which is the topmost operator.
    if case .compare(let operation, _, let isNegated)? = operators.last?.operation {
      operators[operators.count - 1].operation = .compare(operation, options, isNegated: isNegated)
    }
  }
}
