import Foundation

// Foundation's expressions, one extension for each: variables, constants, key paths, arithmetic, optionals.

extension PredicateExpressions.Variable: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    guard let part = lowering.variable(key) else {
      throw lowering.unsupported(self, "the variable belongs to no closure")
    }
    return part
  }
}

extension PredicateExpressions.Value: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) -> LoweredPart { .constant(value) }
}

extension PredicateExpressions.NilLiteral: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) -> LoweredPart { .value(.constant(.null)) }
}

extension PredicateExpressions.KeyPath: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    let base = try lowering.part(root)
    switch base {
    case .object(let expression, let entity):
      return try lowering.property(keyPath, of: entity, from: expression)
    case .members(let expression, _):
      let count = FetchExpression.aggregate(.count, expression)
      if isCount { return .value(count) }
      if isEmptiness { return .condition(Self.isZero(count), guards: []) }
      throw lowering.unsupported(self, "of the members of a relationship count and isEmpty can be asked")
    case .value, .constant, .condition, .order:
      if case .constant(let any) = base, let root = any as? Root.Output {
        return .constant(root[keyPath: keyPath])
      }
      // A store keeps of an enumeration its raw value.
      if case .value = base, let type = Root.Output.self as? any RawRepresentable.Type,
        KeyPathNames.isRawValue(keyPath, of: type)
      {
        return base
      }
      if case .value(let composite) = base, let name = lowering.elementName(keyPath) {
        return .value(PredicateLowering.path(composite, name))
      }
      guard Root.Output.self == String.self else {
        throw lowering.unsupported(self, "properties of \(Root.Output.self) are not looked up")
      }
      let length = FetchExpression.function(.length, [try lowering.value(base, of: root)])
      if isCount { return .value(length) }
      if isEmptiness { return .condition(Self.isZero(length), guards: []) }
      throw lowering.unsupported(self, "of a text count and isEmpty can be asked")
    }
  }

  private var isCount: Bool {
    if let type = Root.Output.self as? any RelatedMembers.Type { return keyPath == type.countPath }
    return kind == .collectionCount
  }

  private var isEmptiness: Bool {
    if let type = Root.Output.self as? any RelatedMembers.Type, keyPath == type.emptyPath { return true }
    return kind == .collectionIsEmpty
  }

  private static func isZero(_ count: FetchExpression) -> FetchPredicate {
    .compare(FetchComparison(count, .equal, .constant(.integer(0))))
  }
}

// MARK: Arithmetic

extension PredicateExpressions.Arithmetic: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    let function: FetchFunction =
      switch op {
      case .add: .add
      case .subtract: .subtract
      case .multiply: .multiply
      }
    return .value(.function(function, [try lowering.value(lhs), try lowering.value(rhs)]))
  }
}

extension PredicateExpressions.UnaryMinus: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    .value(.function(.negate, [try lowering.value(wrapped)]))
  }
}

extension PredicateExpressions.IntDivision: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    .value(.function(.divide, [try lowering.value(lhs), try lowering.value(rhs)]))
  }
}

extension PredicateExpressions.FloatDivision: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    .value(.function(.divide, [try lowering.value(lhs), try lowering.value(rhs)]))
  }
}

extension PredicateExpressions.IntRemainder: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    .value(.function(.modulus, [try lowering.value(lhs), try lowering.value(rhs)]))
  }
}

// MARK: Choices

extension PredicateExpressions.Conditional: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    let condition = try lowering.predicate(test)
    if Output.self == Bool.self {
      let first = try lowering.predicate(trueBranch)
      let second = try lowering.predicate(falseBranch)
      return .condition(.or([.and([condition, first]), .and([.not(condition), second])]), guards: [])
    }
    return .value(
      .conditional(condition, try lowering.value(trueBranch), try lowering.value(falseBranch)))
  }
}

extension PredicateExpressions.NilCoalesce: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    let first = try lowering.part(lhs)
    if case .condition(let predicate, let guards) = first {
      guard !guards.isEmpty else { return first }
      let isPresent = PredicateLowering.allPresent(guards)
      let otherwise = try lowering.predicate(rhs)
      let whole = FetchPredicate.and([isPresent, predicate])
      switch otherwise {
      case .nothing: return .condition(whole, guards: [])
      default: return .condition(.or([whole, .and([.not(isPresent), otherwise])]), guards: [])
      }
    }
    if case .constant(let any) = first, !isNilValue(any) { return first }
    let value = try lowering.value(first, of: lhs)
    if case .constant(.null) = value { return try lowering.part(rhs) }
    return .value(.function(.coalesce, [value, try lowering.value(rhs)]))
  }
}

extension PredicateExpressions.ForcedUnwrap: LowerableExpression {
  /// Foundation's evaluation throws for nil; here the comparison is false, as with every nil.
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    let part = try lowering.part(inner)
    if case .condition(let predicate, let guards) = part {
      return .condition(PredicateLowering.all(guards, predicate), guards: [])
    }
    return part
  }
}

extension PredicateExpressions.OptionalFlatMap: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    let base = try lowering.part(wrapped)
    let inner = try lowering.with(variable, base) { try lowering.part(transform) }
    if case .constant = base { return inner }
    let value = try lowering.value(base, of: wrapped)
    switch inner {
    case .condition(let predicate, let guards): return .condition(predicate, guards: [value] + guards)
    case .value(let result) where !result.isNil(whenNil: value):
      return .value(
        .conditional(PredicateLowering.allPresent([value]), result, .constant(.null)))
    case .constant:
      let result = try lowering.value(inner, of: transform)
      return .value(.conditional(PredicateLowering.allPresent([value]), result, .constant(.null)))
    default: return inner
    }
  }
}

extension FetchExpression {
  /// Whether the expression is nil wherever `part` is.
  fileprivate func isNil(whenNil part: FetchExpression) -> Bool {
    if self == part { return true }
    switch (self, part) {
    case (.keyPath(let base, let keys), .keyPath(let other, let first)):
      return base == other && keys.starts(with: first)
    case (.keyPath(let base, _), _): return base == part
    case (.function(.coalesce, _), _), (.function(.now, _), _): return false
    case (.function(_, let arguments), _): return arguments.contains { $0.isNil(whenNil: part) }
    default: return false
    }
  }
}

// MARK: Elements of lists and dictionaries, which stores cannot look up: those of constants are constants

extension PredicateExpressions.CollectionIndexSubscript: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    guard let list = lowering.constant(wrapped), let place = lowering.constant(index) else {
      throw lowering.unsupported(self, "single elements of collections are not looked up")
    }
    guard place >= list.startIndex, place < list.endIndex else {
      throw lowering.unsupported(self, "\(place) is no place in the list of \(list.count) constants")
    }
    return .constant(list[place])
  }
}

extension PredicateExpressions.CollectionRangeSubscript: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    guard let list = lowering.constant(wrapped), let places = lowering.constant(range) else {
      throw lowering.unsupported(self, "parts of collections are not looked up")
    }
    guard places.lowerBound >= list.startIndex, places.upperBound <= list.endIndex else {
      throw lowering.unsupported(self, "\(places) is no part of the list of \(list.count) constants")
    }
    return .constant(list[places])
  }
}

extension PredicateExpressions.DictionaryKeySubscript: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    guard let dictionary = lowering.constant(wrapped), let name = lowering.constant(key) else {
      throw lowering.unsupported(self, "values of dictionaries are not looked up")
    }
    guard let value = dictionary[name] else { return .value(.constant(.null)) }
    return .constant(value)
  }
}

extension PredicateExpressions.DictionaryKeyDefaultValueSubscript: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) throws -> LoweredPart {
    guard let dictionary = lowering.constant(wrapped), let name = lowering.constant(key) else {
      throw lowering.unsupported(self, "values of dictionaries are not looked up")
    }
    guard let value = dictionary[name] else { return try lowering.part(self.default) }
    return .constant(value)
  }
}
