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
    guard let function = try function(selector, start) else {
      throw lexer.error(.unsupported("There is no function “\(selector)”"), at: start)
    }
    guard lexer.take("(") else { throw lexer.unexpected(at: lexer.place, expected: ["“(”"]) }
    open(.function(function), start)
  }

  /// The function of a name; nil when there is none.
  private func function(_ selector: String, _ start: Int) throws -> FormatFunction? {
    if let function = FormatFunction.find(selector) { return function }
    if selector == FormatFunction.withoutIndex || selector + ":" == FormatFunction.withoutIndex {
      return .memory(FormatFunction.withoutIndex)
    }
    guard let (name, reason) = FormatFunction.inMemory(selector) else { return nil }
    guard allowsMemory else {
      throw lexer.error(.unsupported("“\(selector)” is evaluated in memory only: \(reason)"), at: start)
    }
    return .memory(name)
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
    case .named: return try named(elements, frame.start)
    case .fetch:
      let words = "FETCH takes a request, a context, and whether it counts"
      try require(3, elements, words, frame.start)
      guard case .constant(.boolean) = try requireExpression(elements[2]) else {
        throw lexer.unexpected(at: elements[2].start, expected: ["YES", "NO"])
      }
      return MemoryCall(.fetch, name: "", arguments: try elements.map(requireExpression)).expression
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
      if type == .date, case .constant(.string(let text)) = expression, let date = dates?(text) {
        return .constant(.date(date))
      }
      return try FormatCast.folded(expression, type) { lexer.error(.malformed($0), at: elements[0].start) }
    case .objects: return .objects(try elements.map(identifier))
    case .entity:
      try require(1, elements, "ENTITY takes the name of an entity", frame.start)
      guard case .constant(.string(let name)) = try requireExpression(elements[0]) else {
        throw lexer.unexpected(at: elements[0].start, expected: ["the name of an entity in quotes"])
      }
      return .entity(name)
    case .index: return MemoryCall.element(of: try elements.map(requireExpression))
    }
  }

  /// `FUNCTION('name:', …)`; in memory also `FUNCTION($variable, 'name:', …)`, as expressions of mapping models are written.
  private func named(_ elements: [FormatNode], _ start: Int) throws -> FetchExpression {
    if case .constant(.string(let name))? = elements.first?.expression,
      let function = try function(name, start)
    {
      return try call(function, Array(elements.dropFirst()), start)
    }
    if allowsMemory, elements.count > 1, case .variable? = elements[0].expression,
      case .constant(.string(let name))? = elements[1].expression
    {
      let parts = [elements[0]] + elements.dropFirst(2)
      return MemoryCall(.method, name: name, arguments: try parts.map(requireExpression)).expression
    }
    throw lexer.error(
      .unsupported(
        "FUNCTION takes the name of one of the functions and its arguments; methods of objects are not called"
      ),
      at: start)
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
    case .memory(FormatFunction.withoutIndex):
      try require(1, elements, "\(FormatFunction.withoutIndex) takes one value", start)
      return try requireExpression(elements[0])
    case .memory(let name):
      return MemoryCall(name: name, arguments: try elements.map(requireExpression)).expression
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
