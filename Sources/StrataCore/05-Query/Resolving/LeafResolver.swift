import Foundation

/// Turns the comparison of one attribute with a constant into tests of its slot.
struct LeafResolver {
  let entity: EntitySchema
  let attribute: AttributeSchema
  let options: FetchComparison.StringOptions

  init(entity: EntitySchema, attribute: AttributeSchema, options: FetchComparison.StringOptions) {
    self.entity = entity
    self.attribute = attribute
    // Without the other options texts are compared by their bytes anyway.
    self.options = options.subtracting(.normalized)
  }

  /// - Throws: ``FetchError``; ``TextMatchError`` for a pattern that is none.
  func resolve(_ operation: ComparisonOperator, _ operand: ConstantOperand) throws -> ResolvedPredicate {
    if case .value(.null) = operand, operation == .equal || operation == .notEqual {
      return operation == .equal ? isNil : isNil.negated
    }
    if attribute.type == .transformable { throw error(.transformableKey) }
    if attribute.type == .composite { throw error(.compositeKey) }
    switch (operation, adapted(operand, operation)) {
    case (.in, .values(let values)): return try membership(values)
    case (.between, .values(let values)):
      guard values.count == 2 else { throw error(.unsupported("BETWEEN needs two values")) }
      return .conjunction([try compare(.greaterOrEqual, values[0]), try compare(.lessOrEqual, values[1])])
    case (.in, _), (.between, _), (_, .values):
      throw error(
        .unsupported(
          "\(attribute.name) \(operation) needs \(operation == .in || operation == .between ? "a list" : "one value")"
        ))
    case (_, .objects):
      throw error(.wrongType(expected: "\(attribute.type)", found: "an object"))
    case (_, .value(let value)): return try compare(operation, value)
    }
  }

  /// Texts beside numbers are the numbers that they spell, numbers beside texts are written as such. A text that spells none stays.
  private func adapted(_ operand: ConstantOperand, _ operation: ComparisonOperator) -> ConstantOperand {
    guard operation.adaptsConstants else { return operand }
    return switch operand {
    case .value(let value): .value(ComparedValues.adapted(value, beside: attribute.type))
    case .values(let values): .values(values.map { ComparedValues.adapted($0, beside: attribute.type) })
    case .objects: operand
    }
  }

  private func compare(_ operation: ComparisonOperator, _ value: AttributeValue) throws -> ResolvedPredicate {
    if !options.isEmpty || operation == .like || operation == .matches { return try text(operation, value) }
    switch operation {
    case .equal: return try equal(value)
    case .notEqual: return try equal(value).negated
    case .less: return try order(.less, value)
    case .lessOrEqual: return try order(.lessOrEqual, value)
    case .greater: return try order(.greater, value)
    case .greaterOrEqual: return try order(.greaterOrEqual, value)
    case .beginsWith: return try match(.beginsWith, value, operation)
    case .contains: return try match(.contains, value, operation)
    case .endsWith: return try match(.endsWith, value, operation)
    case .like, .matches, .in, .between: throw error(.unsupported("\(attribute.name) \(operation)"))
    }
  }

  private func equal(_ value: AttributeValue) throws -> ResolvedPredicate {
    if case .null = value { return isNil }
    switch try equalPosition(value) {
    case .exact(let value): return test(.equal, value)
    case .above, .below, .after: return .none
    }
  }

  private func order(_ operation: SlotTest.Operation, _ value: AttributeValue) throws -> ResolvedPredicate {
    if case .null = value { return .none }
    if spellsNoNumber(value) { return .none }
    let wantsSmall = operation == .less || operation == .lessOrEqual
    switch try position(value) {
    case .exact(let value): return test(operation, value)
    case .above: return wantsSmall ? isNil.negated : .none
    case .below: return wantsSmall ? .none : isNil.negated
    case .after(let value): return test(wantsSmall ? .lessOrEqual : .greater, value)
    }
  }

  private func match(
    _ operation: SlotTest.Operation, _ value: AttributeValue, _ source: ComparisonOperator
  ) throws -> ResolvedPredicate {
    guard attribute.type == .string else { throw error(.notAString(operation: "\(source)")) }
    switch value {
    case .null: return .none
    case .string(let string): return string.isEmpty ? .none : test(operation, value)
    default: throw wrongType(value)
    }
  }

  private func membership(_ values: [AttributeValue]) throws -> ResolvedPredicate {
    if !options.isEmpty { return try textMembership(values) }
    var operands: [AttributeValue] = []
    var hasNil = false
    for value in values {
      if case .null = value { hasNil = true; continue }
      if case .exact(let value) = try equalPosition(value) { operands.append(value) }
    }
    operands.sort { AttributeValue.compare($0, $1) < 0 }
    var distinct: [AttributeValue] = []
    for value in operands {
      if let last = distinct.last, AttributeValue.compare(last, value) == 0 { continue }
      distinct.append(value)
    }
    var parts: [ResolvedPredicate] = hasNil ? [isNil] : []
    if distinct.count == 1 {
      parts.append(test(.equal, distinct[0]))
    } else if !distinct.isEmpty {
      parts.append(
        .test(
          SlotTest(
            slot: attribute.slot, name: attribute.name, type: attribute.type, operation: .oneOf,
            operands: distinct)))
    }
    return .disjunction(parts)
  }

  // MARK: Texts

  /// One of several texts, compared with options: one test of all of them.
  private func textMembership(_ values: [AttributeValue]) throws -> ResolvedPredicate {
    var (texts, hasNil) = ([String](), false)
    for value in values {
      guard attribute.type == .string else { throw error(.notAString(operation: "IN[\(options)]")) }
      switch value {
      case .string(let string): texts.append(string)
      case .null: hasNil = true
      default: throw wrongType(value)
      }
    }
    var parts: [ResolvedPredicate] = hasNil ? [isNil] : []
    let folding = TextFolding(options)
    var seen: Set<[UInt8]> = []
    texts = texts.filter { seen.insert(folding.folded($0)).inserted }
    if texts.count == 1 {
      parts.append(try text(.equal, .string(texts[0])))
    } else if !texts.isEmpty {
      parts.append(
        .text(TextTest(slot: attribute.slot, name: attribute.name, oneOf: texts, options: options)))
    }
    return .disjunction(parts)
  }

  private func text(_ operation: ComparisonOperator, _ value: AttributeValue) throws -> ResolvedPredicate {
    guard attribute.type == .string else {
      throw error(.notAString(operation: "\(operation)\(options.isEmpty ? "" : "[\(options)]")"))
    }
    switch value {
    case .null:
      return operation == .equal ? isNil : operation == .notEqual ? isNil.negated : .none
    case .string(let pattern):
      if operation == .notEqual { return try text(.equal, value).negated }
      if pattern.isEmpty, operation.isForParts { return .none }
      if operation == .like, pattern.utf8.count > TextMatcher.longestPattern {
        throw TextMatchError(.tooLong, pattern)
      }
      if operation == .like, options.isEmpty, let simple = simpleLike(pattern) { return simple }
      let test = try TextTest(
        slot: attribute.slot, name: attribute.name, operation: operation, pattern: pattern, options: options)
      // What every match begins with lets an index narrow the search.
      if operation == .like, options.isEmpty, let start = Self.literalStart(pattern) {
        return .conjunction([self.test(.beginsWith, .string(start)), .text(test)])
      }
      return .text(test)
    default: throw wrongType(value)
    }
  }

  /// Patterns without `?` and escapes whose stars stand at the ends only are simpler tests.
  private func simpleLike(_ pattern: String) -> ResolvedPredicate? {
    let bytes = Array(pattern.utf8)
    let (star, mark, escape) = (UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "\\"))
    let inner = bytes.drop { $0 == star }
    let core = inner.reversed().drop { $0 == star }.reversed()
    if core.contains(where: { $0 == star || $0 == mark || $0 == escape }) { return nil }
    let (isOpenAtStart, isOpenAtEnd) = (bytes.first == star, bytes.last == star)
    if core.isEmpty { return bytes.isEmpty ? test(.equal, .string("")) : isNil.negated }
    let text = AttributeValue.string(String(decoding: core, as: UTF8.self))
    return switch (isOpenAtStart, isOpenAtEnd) {
    case (false, false): test(.equal, text)
    case (false, true): test(.beginsWith, text)
    case (true, false): test(.endsWith, text)
    case (true, true): test(.contains, text)
    }
  }

  /// What stands before the first wildcard; nil when that is nothing.
  private static func literalStart(_ pattern: String) -> String? {
    let start = pattern.utf8.prefix {
      $0 != UInt8(ascii: "*") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "\\")
    }
    return start.isEmpty ? nil : String(decoding: start, as: UTF8.self)
  }

  // MARK: Parts

  /// The test for nil, which every stored attribute can be asked; of a composite one, its elements are.
  private var isNil: ResolvedPredicate { Self.isNil(attribute, entity) }

  private static func isNil(_ attribute: AttributeSchema, _ entity: EntitySchema) -> ResolvedPredicate {
    if attribute.type == .composite {
      return .conjunction(attribute.elements.map { isNil(entity.attributes[$0], entity) })
    }
    return .test(
      SlotTest(
        slot: attribute.slot, name: attribute.name, type: attribute.type, operation: .isNil, operands: []))
  }

  private func test(_ operation: SlotTest.Operation, _ value: AttributeValue) -> ResolvedPredicate {
    .test(
      SlotTest(
        slot: attribute.slot, name: attribute.name, type: attribute.type, operation: operation,
        operands: [value]))
  }

  private func position(_ value: AttributeValue) throws -> OperandPosition {
    guard let position = OperandPosition(value, type: attribute.type) else { throw wrongType(value) }
    return position
  }

  /// Whether it is a text beside numbers that is none of them: they have no order.
  private func spellsNoNumber(_ value: AttributeValue) -> Bool {
    if case .string = value { return attribute.type.isSummable }
    return false
  }

  /// The position for a comparison that asks for equality only: of a text beside a UUID or a URL, that of what it spells. One that spells none comes after all of
  /// them: no value is it. Nor is a number what a text says that spells none.
  private func equalPosition(_ value: AttributeValue) throws -> OperandPosition {
    if spellsNoNumber(value) { return .above }
    guard case .string(let text) = value, attribute.type == .uuid || attribute.type == .uri else {
      return try position(value)
    }
    return ComparedValues.spelled(text, as: attribute.type).map(OperandPosition.exact) ?? .above
  }

  private func wrongType(_ value: AttributeValue) -> FetchError {
    error(.wrongType(expected: "\(attribute.type)", found: "\(value)"))
  }

  private func error(_ reason: FetchError.Reason) -> FetchError {
    FetchError(reason: reason, entityName: entity.name, key: attribute.name)
  }
}
