import Foundation

// Parentheses, lists and calls.

extension FormatParser {
  mutating func open(_ kind: FormatFrame.Kind, _ start: Int) {
    frames.append(FormatFrame(kind: kind, start: start))
    operators.append((.frame, start))
    needsOperand = true
  }

  /// Opens the call of a function.
  mutating func call(_ selector: String, _ start: Int) throws {
    if let reason = FormatFunction.refused[selector] {
      throw lexer.error(.unsupported("“\(selector)” is not evaluated: \(reason)"), at: start)
    }
    guard let function = FormatFunction.find(selector) else {
      throw lexer.error(.unsupported("There is no function “\(selector)”"), at: start)
    }
    guard lexer.take("(") else { throw lexer.unexpected(at: lexer.place, expected: ["“(”"]) }
    open(.function(function), start)
  }

  mutating func comma(_ start: Int) throws {
    try reduceToFrame(start)
    guard let frame = frames.last, frame.hasElements else { throw unexpectedOperator(start) }
    frames[frames.count - 1].elements.append(operands.removeLast())
    frames[frames.count - 1].needsElement = true
    needsOperand = true
  }

  mutating func close(_ token: FormatToken, _ start: Int) throws {
    try reduceToFrame(start)
    guard let frame = frames.last, token == .sign(frame.closing) else { throw unexpectedOperator(start) }
    try finish(operands.removeLast())
  }

  /// A closing sign where a value could stand: right after the opening one.
  mutating func closeEmpty(_ token: FormatToken, _ start: Int) throws {
    guard let frame = frames.last, token == .sign(frame.closing), frame.hasElements, !frame.needsElement,
      case .frame? = operators.last?.operation
    else { throw lexer.unexpected(at: start, expected: ["a value", "a key", "“(”"]) }
    try finish(nil)
  }

  private mutating func finish(_ last: FormatNode?) throws {
    operators.removeLast()
    var frame = frames.removeLast()
    if case .parenthesis = frame.kind, let node = last {
      var closed = FormatNode(.constant(.null), depth: node.depth, frame.start, lexer.place)
      closed.value = node.predicate.map { .predicate($0) } ?? node.value
      closed.isClosed = true
      operands.append(closed)
    } else {
      if let last { frame.elements.append(last) }
      let expression = try expression(frame)
      try push(expression, after: frame.elements.map(\.depth).max() ?? 0, from: frame.start)
    }
    needsOperand = false
  }

  private func expression(_ frame: FormatFrame) throws -> FetchExpression {
    let elements = frame.elements
    switch frame.kind {
    case .parenthesis, .list: return .list(of: try elements.map(requireExpression))
    case .function(let function): return try call(function, elements, frame.start)
    case .named:
      guard case .constant(.string(let name))? = elements.first?.expression,
        let function = FormatFunction.find(name)
      else {
        throw lexer.error(
          .unsupported(
            "FUNCTION takes the name of one of the functions and its arguments; methods of objects are not called"
          ),
          at: frame.start)
      }
      return try call(function, Array(elements.dropFirst()), frame.start)
    case .subquery:
      try require(3, elements, "SUBQUERY takes a key path, a variable and a predicate", frame.start)
      guard case .variable(let variable) = try requireExpression(elements[1]) else {
        throw lexer.unexpected(at: elements[1].start, expected: ["a variable such as $x"])
      }
      return .subquery(
        try requireExpression(elements[0]), variable: variable, try requirePredicate(elements[2]))
    case .conditional:
      try require(3, elements, "TERNARY takes a predicate and two values", frame.start)
      return .conditional(
        try requirePredicate(elements[0]), try requireExpression(elements[1]),
        try requireExpression(elements[2]))
    case .cast:
      let (expression, type) = try cast(elements, frame.start)
      return try FormatCast.folded(expression, type) { lexer.error(.malformed($0), at: elements[0].start) }
    case .objects: return .objects(try elements.map(identifier))
    case .entity:
      try require(1, elements, "ENTITY takes the name of an entity", frame.start)
      guard case .constant(.string(let name)) = try requireExpression(elements[0]) else {
        throw lexer.unexpected(at: elements[0].start, expected: ["the name of an entity in quotes"])
      }
      return .entity(name)
    }
  }

  private func call(_ function: FormatFunction, _ elements: [FormatNode], _ start: Int) throws
    -> FetchExpression
  {
    switch function {
    case .aggregate(let aggregate):
      guard !elements.isEmpty else {
        throw lexer.error(.malformed("\(FormatFunction.name(function)) needs values"), at: start)
      }
      let values = try elements.map(requireExpression)
      return .aggregate(aggregate, values.count == 1 ? values[0] : .list(values))
    case .function(.cast):
      let (expression, type) = try cast(elements, start)
      return FormatCast.function(expression, type)
    case .function(let kind):
      let range = kind.argumentCounts
      guard range.contains(elements.count) else {
        let words =
          range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
        throw lexer.error(
          .malformed("\(FormatFunction.name(function)) takes \(words) arguments, not \(elements.count)"),
          at: start)
      }
      return .function(kind, try elements.map(requireExpression))
    }
  }

  private func require(_ count: Int, _ elements: [FormatNode], _ words: String, _ start: Int) throws {
    guard elements.count == count else { throw lexer.error(.malformed(words), at: start) }
  }

  private func cast(_ elements: [FormatNode], _ start: Int) throws -> (FetchExpression, AttributeType) {
    try require(2, elements, "CAST takes a value and the name of a type", start)
    guard case .constant(.string(let name)) = try requireExpression(elements[1]),
      let type = FormatCast.type(name)
    else {
      throw lexer.unexpected(
        at: elements[1].start, expected: ["the name of a type such as 'date' or 'NSDate'"])
    }
    return (try requireExpression(elements[0]), type)
  }

  private func identifier(_ node: FormatNode) throws -> ManagedObjectID {
    let expected = objects == nil ? "the URI of an object" : "an object in quotes"
    guard case .constant(.string(let text)) = try requireExpression(node) else {
      throw lexer.unexpected(at: node.start, expected: [expected])
    }
    if let objects { return try objects(text) }
    guard let url = URL(string: text), let parts = ManagedObjectID.parse(uri: url) else {
      throw lexer.unexpected(at: node.start, expected: [expected])
    }
    guard
      let token = StoreEntityToken.known(storeIdentifier: parts.storeIdentifier, entityName: parts.entityName)
    else {
      throw lexer.error(
        .unsupported("The store of “\(text)” has not been opened: its objects have no identifiers yet"),
        at: node.start)
    }
    return ManagedObjectID(token: token, primaryKey: parts.primaryKey)
  }
}
