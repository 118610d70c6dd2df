import Foundation

/// Looks up the keys of a predicate in an entity and brings its values into the attributes' types.
struct PredicateResolver {
  let entity: EntitySchema
  /// How deep predicates may be nested: compiling them recurses.
  static let depthLimit = 500

  /// - Throws: ``FetchError``.
  func resolve(_ predicate: FetchPredicate, depth: Int = 0) throws -> ResolvedPredicate {
    guard depth < Self.depthLimit else {
      throw FetchError(reason: .tooDeep, entityName: entity.name, key: nil)
    }
    switch predicate {
    case .everything: return .all
    case .nothing: return .none
    case .and(let parts): return .conjunction(try parts.map { try resolve($0, depth: depth + 1) })
    case .or(let parts): return .disjunction(try parts.map { try resolve($0, depth: depth + 1) })
    case .not(let part): return try resolve(part, depth: depth + 1).negated
    case .compare(let comparison): return try resolve(comparison)
    }
  }

  private func resolve(_ comparison: FetchComparison) throws -> ResolvedPredicate {
    guard comparison.quantifier == .direct, comparison.options.isEmpty else { throw unsupported(comparison) }
    switch (comparison.left, comparison.operation, comparison.right) {
    case (.evaluatedObject, .in, .objects(let identifiers)):
      return identifiers.isEmpty ? .none : .selfIn(identifiers)
    case (.keyPath(.evaluatedObject, let keys), .in, .list(let list)):
      return try membership(attribute(keys.joined(separator: ".")), constants(list, comparison))
    case (.keyPath(.evaluatedObject, let keys), .between, .list(let list)):
      let values = try constants(list, comparison)
      guard values.count == 2 else { throw unsupported(comparison) }
      let attribute = try attribute(keys.joined(separator: "."))
      return .conjunction([
        try compare(attribute, .greaterOrEqual, values[0]), try compare(attribute, .lessOrEqual, values[1]),
      ])
    case (.keyPath(.evaluatedObject, let keys), let operation, .constant(let value)):
      let key = keys.joined(separator: ".")
      if value.isNull, operation == .equal || operation == .notEqual {
        let isNil = try nilTest(key)
        return operation == .equal ? isNil : isNil.negated
      }
      return try compare(attribute(key), operation, value)
    default: throw unsupported(comparison)
    }
  }

  private func constants(_ list: [FetchExpression], _ comparison: FetchComparison) throws -> [AttributeValue]
  {
    try list.map {
      guard case .constant(let value) = $0 else { throw unsupported(comparison) }
      return value
    }
  }

  private func unsupported(_ comparison: FetchComparison) -> FetchError {
    FetchError(reason: .unsupported("\(comparison)"), entityName: entity.name, key: nil)
  }

  /// The attribute named `key`, whose values can be compared.
  func attribute(_ key: String) throws -> AttributeSchema {
    let attribute = try property(key)
    if attribute.type == .transformable {
      throw FetchError(reason: .transformableKey, entityName: entity.name, key: key)
    }
    if attribute.type == .composite {
      throw FetchError(reason: .compositeKey, entityName: entity.name, key: key)
    }
    return attribute
  }

  private func property(_ key: String) throws -> AttributeSchema {
    guard let slot = entity.slot(named: key) else {
      throw FetchError(reason: .unknownKey, entityName: entity.name, key: key)
    }
    let attribute = entity.attributes[slot]
    let isInMemory =
      attribute.type == .composite ? !attribute.hasStoredElements(in: entity) : attribute.isTransient
    if isInMemory { throw FetchError(reason: .transientKey, entityName: entity.name, key: key) }
    return attribute
  }

  /// The test for nil, which every stored attribute can be asked; of a composite one, its elements are.
  private func nilTest(_ key: String) throws -> ResolvedPredicate { isNil(try property(key)) }

  private func compare(
    _ attribute: AttributeSchema, _ operation: ComparisonOperator, _ value: AttributeValue
  ) throws -> ResolvedPredicate {
    switch operation {
    case .equal: return try equal(attribute, value)
    case .notEqual: return try equal(attribute, value).negated
    case .less: return try order(attribute, .less, value)
    case .lessOrEqual: return try order(attribute, .lessOrEqual, value)
    case .greater: return try order(attribute, .greater, value)
    case .greaterOrEqual: return try order(attribute, .greaterOrEqual, value)
    case .beginsWith: return try match(attribute, .beginsWith, value, operation)
    case .contains: return try match(attribute, .contains, value, operation)
    case .endsWith: return try match(attribute, .endsWith, value, operation)
    case .like, .matches, .in, .between:
      throw unsupported(FetchComparison(.key(attribute.name), operation, .constant(value)))
    }
  }

  private func equal(_ attribute: AttributeSchema, _ value: AttributeValue) throws -> ResolvedPredicate {
    if case .null = value { return isNil(attribute) }
    switch try operand(attribute, value) {
    case .exact(let value): return test(attribute, .equal, value)
    case .above, .below, .after: return .none
    }
  }

  private func order(
    _ attribute: AttributeSchema, _ operation: SlotTest.Operation, _ value: AttributeValue
  ) throws -> ResolvedPredicate {
    if case .null = value { return .none }
    let wantsSmall = operation == .less || operation == .lessOrEqual
    switch try operand(attribute, value) {
    case .exact(let value): return test(attribute, operation, value)
    case .above: return wantsSmall ? isNil(attribute).negated : .none
    case .below: return wantsSmall ? .none : isNil(attribute).negated
    case .after(let value): return test(attribute, wantsSmall ? .lessOrEqual : .greater, value)
    }
  }

  private func match(
    _ attribute: AttributeSchema, _ operation: SlotTest.Operation, _ value: AttributeValue,
    _ source: ComparisonOperator
  ) throws -> ResolvedPredicate {
    guard attribute.type == .string else {
      throw FetchError(
        reason: .notAString(operation: "\(source)"), entityName: entity.name, key: attribute.name)
    }
    switch value {
    case .null: return .none
    case .string(let string) where string.isEmpty: return isNil(attribute).negated
    case .string: return test(attribute, operation, value)
    default: throw wrongType(attribute, value)
    }
  }

  private func membership(
    _ attribute: AttributeSchema, _ values: [AttributeValue]
  ) throws -> ResolvedPredicate {
    var operands: [AttributeValue] = []
    var hasNil = false
    for value in values {
      if case .null = value { hasNil = true; continue }
      if case .exact(let value) = try operand(attribute, value) { operands.append(value) }
    }
    operands.sort { AttributeValue.compare($0, $1) < 0 }
    var distinct: [AttributeValue] = []
    for value in operands {
      if let last = distinct.last, AttributeValue.compare(last, value) == 0 { continue }
      distinct.append(value)
    }
    var parts: [ResolvedPredicate] = hasNil ? [isNil(attribute)] : []
    if distinct.count == 1 {
      parts.append(test(attribute, .equal, distinct[0]))
    } else if !distinct.isEmpty {
      parts.append(
        .test(
          SlotTest(
            slot: attribute.slot, name: attribute.name, type: attribute.type, operation: .oneOf,
            operands: distinct)))
    }
    return .disjunction(parts)
  }

  private func isNil(_ attribute: AttributeSchema) -> ResolvedPredicate {
    if attribute.type == .composite {
      return .conjunction(attribute.elements.map { isNil(entity.attributes[$0]) })
    }
    return .test(
      SlotTest(
        slot: attribute.slot, name: attribute.name, type: attribute.type, operation: .isNil, operands: []))
  }

  private func test(
    _ attribute: AttributeSchema, _ operation: SlotTest.Operation, _ value: AttributeValue
  ) -> ResolvedPredicate {
    .test(
      SlotTest(
        slot: attribute.slot, name: attribute.name, type: attribute.type, operation: operation,
        operands: [value]))
  }

  private func wrongType(_ attribute: AttributeSchema, _ value: AttributeValue) -> FetchError {
    FetchError(
      reason: .wrongType(expected: "\(attribute.type)", found: "\(value)"), entityName: entity.name,
      key: attribute.name)
  }

  private func operand(_ attribute: AttributeSchema, _ value: AttributeValue) throws -> OperandPosition {
    guard let position = OperandPosition(value, type: attribute.type) else {
      throw wrongType(attribute, value)
    }
    return position
  }
}

extension AttributeSchema {
  /// Whether a composite attribute's elements are in rows.
  fileprivate func hasStoredElements(in entity: EntitySchema) -> Bool {
    elements.contains { element in
      let attribute = entity.attributes[element]
      return attribute.type == .composite ? attribute.hasStoredElements(in: entity) : !attribute.isTransient
    }
  }
}

/// Where a value lies among the values an attribute can have.
enum OperandPosition: Hashable {
  /// The attribute can have this value.
  case exact(AttributeValue)
  /// After this value and before the attribute's next one: 2.5 among integers.
  case after(AttributeValue)
  /// Greater than every value the attribute can have.
  case above
  /// Smaller than every value the attribute can have.
  case below

  /// Nil when the value is of another kind than the attribute.
  init?(_ value: AttributeValue, type: AttributeType) {
    switch (type, value) {
    case (.integer16, _): self.init(value, in: Int64(Int16.min)...Int64(Int16.max))
    case (.integer32, _): self.init(value, in: Int64(Int32.min)...Int64(Int32.max))
    case (.integer64, _): self.init(value, in: Int64.min...Int64.max)
    case (.boolean, .boolean), (.string, .string), (.date, .date), (.binaryData, .data),
      (.uuid, .uuid), (.uri, .url), (.decimal, .decimal), (.double, .double), (.float, .float):
      self = .exact(value)
    case (.boolean, .integer(let number)) where number == 0 || number == 1:
      self = .exact(.boolean(number == 1))
    case (.double, .integer(let number)): self = .exact(.double(Double(number)))
    case (.double, .float(let number)): self = .exact(.double(Double(number)))
    case (.double, .decimal(let number)): self = .exact(.double(NSDecimalNumber(decimal: number).doubleValue))
    case (.float, .integer(let number)): self = .exact(.float(Float(number)))
    case (.float, .double(let number)): self = .exact(.float(Float(number)))
    case (.float, .decimal(let number)):
      self = .exact(.float(Float(NSDecimalNumber(decimal: number).doubleValue)))
    case (.decimal, .integer(let number)): self = .exact(.decimal(Decimal(number)))
    case (.decimal, .double(let number)) where number.isFinite: self = .exact(.decimal(Decimal(number)))
    case (.decimal, .float(let number)) where number.isFinite:
      self = .exact(.decimal(Decimal(Double(number))))
    default: return nil
    }
  }

  private init?(_ value: AttributeValue, in range: ClosedRange<Int64>) {
    switch value {
    case .integer(let number): self.init(number, hasFraction: false, in: range)
    case .boolean(let flag): self = .exact(.integer(flag ? 1 : 0))
    case .double(let number): self.init(number, in: range)
    case .float(let number): self.init(Double(number), in: range)
    case .decimal(let number): self.init(NSDecimalNumber(decimal: number).doubleValue, in: range)
    default: return nil
    }
  }

  private init(_ number: Double, in range: ClosedRange<Int64>) {
    let whole = number.rounded(.down)
    if number.isNaN || whole >= 0x1p63 {
      self = .above
    } else if whole < -0x1p63 {
      self = .below
    } else {
      self.init(Int64(whole), hasFraction: whole != number, in: range)
    }
  }

  private init(_ whole: Int64, hasFraction: Bool, in range: ClosedRange<Int64>) {
    if whole > range.upperBound || (hasFraction && whole == range.upperBound) {
      self = .above
    } else if whole < range.lowerBound {
      self = .below
    } else {
      self = hasFraction ? .after(.integer(whole)) : .exact(.integer(whole))
    }
  }
}
