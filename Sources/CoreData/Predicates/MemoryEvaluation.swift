import StrataCore

/// Evaluates predicates and expressions for one object in memory, by key-value coding: managed objects with the values they have now,
/// dictionaries, and what `KeyedAccess` finds in others.
///
/// Two values are compared as a store compares them (rule 108). What a store would refuse with an error traps, as Core Data raises an exception:
/// nothing can be thrown here. A fetch that asks objects notes it, and throws.
struct MemoryEvaluation {
  let object: Any?
  private let context: NSMutableDictionary?
  private(set) var variables: [String: Any]
  /// The variables that sub-queries bind: elements, where the others are the same for all objects.
  private(set) var elementNames: Set<String> = []

  init(_ object: Any?, variables: [String: Any] = [:], context: NSMutableDictionary? = nil) {
    self.object = plain(object)
    self.variables = variables
    self.context = context
  }

  // MARK: Predicates

  func isTrue(_ predicate: NSPredicate) -> Bool {
    if let comparison = predicate as? NSComparisonPredicate { return isTrue(comparison) }
    return predicate.evaluate(with: object, substitutionVariables: variables)
  }

  func isTrue(_ comparison: NSComparisonPredicate) -> Bool {
    guard let operation = comparison.predicateOperatorType.comparison else {
      stop("a comparison by a selector needs the Objective-C runtime: \(comparison)")
    }
    let test = MemoryComparison(
      operation, comparison.options.stringOptions,
      left: adaptation(of: comparison.leftExpression, beside: comparison.rightExpression),
      right: adaptation(of: comparison.rightExpression, beside: comparison.leftExpression))
    let left = value(comparison.leftExpression)
    let right = value(comparison.rightExpression)
    switch comparison.comparisonPredicateModifier {
    case .direct: return test.isTrue(left, right)
    case .any: return (KeyedAccess.elements(left) ?? [left]).contains { test.isTrue($0, right) }
    case .all: return (KeyedAccess.elements(left) ?? [left]).allSatisfy { test.isTrue($0, right) }
    }
  }

  // MARK: Expressions

  func value(_ expression: NSExpression) -> Any? {
    switch expression.kind {
    case .constant(let value): return value
    case .evaluatedObject: return object
    case .variable(let name): return variable(name)
    case .keyPath(let operand, let path):
      return KeyedAccess.value(operand.map(value) ?? object, path, zero: zero(expression))
    case .swiftKeyPath(let path): return object.flatMap { plain($0[keyPath: path] as Any?) }
    case .function(let target, let name, let arguments): return called(target, name, arguments)
    case .set(let type, let left, let right): return combined(type, left, right)
    case .subquery(let members, let variable, let predicate):
      let elements = KeyedAccess.elements(value(members)) ?? []
      return elements.filter { with(variable, $0).isTrue(predicate) }.map { $0 as Any }
    case .aggregate(let parts): return parts.map { value($0) ?? NSNull() }
    case .conditional(let predicate, let first, let second):
      return value(isTrue(predicate) ? first : second)
    case .block(let block, let arguments): return plain(block(object, arguments, context))
    case .anyKey: stop("ANYKEY stands for all keys at once, which are not compared.")
    case .fetch(let request, let context, let isCount):
      return NSFetchRequestExpression.value(request: value(request), context: value(context), isCount)
    }
  }

  /// The value as code of the application gets it: of a key path through a set what key-value coding makes of it, a set. Inside of expressions it stands for the values
  /// one by one, as in a fetch.
  func handedOut(_ expression: NSExpression) -> Any? {
    switch expression.kind {
    case .keyPath(let operand, let path):
      if let found = keyed(operand.map(value) ?? object, path) { return found }
    case .function(let target, let name, let arguments):
      if let path = FetchLowering.keyPathArgument(name, arguments),
        let found = keyed(target.map(value) ?? object, path)
      {
        return found
      }
    case .conditional(let predicate, let first, let second):
      return handedOut(isTrue(predicate) ? first : second)
    default: break
    }
    return value(expression)
  }

  /// What key-value coding says, of a path through a set only.
  private func keyed(_ base: Any?, _ path: String) -> Any?? {
    KeyedAccess.leadsThroughSet(base, path) ? .some(KeyPaths.value(path: path, of: plain(base))) : .none
  }

  private func variable(_ name: String) -> Any? {
    if let value = variables[name] { return plain(value) }
    if let value = context?[name] { return plain(value) }
    refuse("the variable $\(name) has no value; give it in evaluate(with:substitutionVariables:).")
    return nil
  }

  private func with(_ variable: String, _ element: Any?) -> MemoryEvaluation {
    var inner = self
    inner.variables[variable] = element ?? NSNull()
    inner.elementNames.insert(variable)
    return inner
  }

  private func called(_ target: NSExpression?, _ name: String, _ arguments: [NSExpression]) -> Any? {
    if let path = FetchLowering.keyPathArgument(name, arguments) {
      return KeyedAccess.value(target.map(value) ?? object, path)
    }
    if target == nil, let aggregate = FetchAggregate(selector: name), arguments.count == 1 {
      return KeyedAccess.aggregated(aggregate, value(arguments[0]), zero: zero(ofSumOf: arguments[0]))
    }
    if let target,
      let found = MigrationFunctions.value(
        of: value(target), name, arguments.map(value),
        variables[MigrationFunctions.failureKey] as? MigrationFunctions.Failure)
    {
      return found
    }
    if target == nil, let function = MemoryFunction(selector: name) {
      return function.value(arguments.map(value))
    }
    guard target == nil, let function = FetchFunction(selector: name) else {
      refuse("there is no function “\(name)” of \(arguments.count) arguments.")
      return nil
    }
    let values = arguments.map { argument -> AttributeValue in
      let value = value(argument)
      guard let scalar = AttributeValue(value, type: .undefined) else {
        refuse("“\(name)” takes numbers, texts and dates, no \(type(of: value)).")
        return .null
      }
      return scalar
    }
    return ComparedValues.value(function, values).spelledValue
  }

  private func combined(_ type: NSExpression.ExpressionType, _ left: NSExpression, _ right: NSExpression)
    -> Any?
  {
    // By what they are as values: a number is the same in Swift's and in Foundation's clothes.
    func elements(_ expression: NSExpression) -> [AnyHashable: AnyHashable] {
      var result: [AnyHashable: AnyHashable] = [:]
      for case let element? in KeyedAccess.elements(value(expression)) ?? [] {
        guard let key = DistinctValues.key(element), let element = DistinctValues.element(element) else {
          refuse("a set has elements of type \(Swift.type(of: element)), which are not hashable.")
          continue
        }
        result[key] = element
      }
      return result
    }
    let (first, second) = (elements(left), elements(right))
    switch type {
    case .unionSet: return Set(first.merging(second) { old, _ in old }.values)
    case .intersectSet: return Set(first.filter { second[$0.key] != nil }.values)
    default: return Set(first.filter { second[$0.key] == nil }.values)
    }
  }
}

/// One comparison of two values in memory.
struct MemoryComparison {
  private let operation: ComparisonOperator
  private let options: FetchComparison.StringOptions
  private let left: Adaptation
  private let right: Adaptation

  /// What of a side becomes a value of the other side's kind.
  struct Adaptation: OptionSet {
    let rawValue: UInt8
    /// Numbers among numbers, and texts that spell a UUID or a URL: beside key paths.
    static let type = Adaptation(rawValue: 1)
    /// Texts beside numbers, numbers beside texts: beside what the objects of a model have.
    static let text = Adaptation(rawValue: 2)
  }

  init(
    _ operation: ComparisonOperator, _ options: FetchComparison.StringOptions, left: Adaptation = [],
    right: Adaptation = []
  ) {
    self.operation = operation
    self.options = options
    self.left = left
    self.right = right
  }

  func isTrue(_ left: Any?, _ right: Any?) -> Bool {
    switch operation {
    case .in:
      if right is String { return MemoryComparison(.contains, options).compared(right, left) }
      return (members(right) ?? [right]).contains { isEqual(left, $0) }
    case .contains:
      if let members = members(left) { return members.contains { isEqual($0, right) } }
      // One object contains another when it is the same.
      if case .object(let first) = Operand(left), case .object(let second) = Operand(right) {
        return first == second
      }
      return compared(left, right)
    case .between:
      guard let bounds = elements(right), bounds.count == 2 else {
        refuse("BETWEEN needs two values on its right side.")
        return false
      }
      let notLess = MemoryComparison(.greaterOrEqual, options, left: self.left, right: self.right)
      let notMore = MemoryComparison(.lessOrEqual, options, left: self.left, right: self.right)
      return notLess.isTrue(left, bounds[0]) && notMore.isTrue(left, bounds[1])
    case .equal: return isEqual(left, right)
    case .notEqual: return !isEqual(left, right)
    default: return compared(left, right)
    }
  }

  /// What IN and CONTAINS look through: the elements of a list or set, the values of a dictionary. Nil for anything else.
  private func members(_ value: Any?) -> [Any?]? {
    guard let value, type(of: value) != String.self else { return nil }
    return elements(value) ?? KeyedAccess.dictionaryValues(value)
  }

  /// The elements of a list or set. A range is refused, as in a fetch.
  private func elements(_ value: Any?) -> [Any?]? {
    if let range = value as? any RangeExpression {
      refuse("\(type(of: range)) is a range; write BETWEEN with two values.")
      return nil
    }
    return KeyedAccess.elements(value)
  }

  /// Whether both are the same: values by what they are, managed objects by their identifiers (rule 107), entities by their names, lists by their
  /// elements, anything else as its class says.
  private func isEqual(_ left: Any?, _ right: Any?) -> Bool {
    switch (Operand(left), Operand(right)) {
    case (.none, .none): return true
    case (.value(let first), .value(let second)):
      let (first, second) = adapted(first, second)
      return ComparedValues.isEqual(first, second, options)
    case (.object(let first), .object(let second)): return first == second
    case (.entity(let first), .entity(let second)): return first == second
    case (.many(let first), .many(let second)):
      guard first.count == second.count else { return false }
      if left is NSSet || left is any SetAlgebra || right is NSSet || right is any SetAlgebra {
        return first.allSatisfy { one in second.contains { isEqual(one, $0) } }
      }
      return zip(first, second).allSatisfy { isEqual($0, $1) }
    case (.other(let first), .other(let second)):
      if let first = first as? NSObject { return first.isEqual(second) }
      if let first = first as? AnyHashable, let second = second as? AnyHashable { return first == second }
      return (first as AnyObject) === (second as AnyObject)
    default: return false
    }
  }

  private func compared(_ left: Any?, _ right: Any?) -> Bool {
    guard case .value(let first) = Operand(left), case .value(let second) = Operand(right) else {
      return false
    }
    // What looks for parts of a text takes texts only, as in a fetch.
    let (left, right) = operation.adaptsConstants ? adapted(first, second) : (first, second)
    do { return try ComparedValues.isTrue(left, operation, right, options) } catch {
      refuse("\(error)")
      return false
    }
  }

  /// Constants beside key paths to values of another numeric type take that type: 0.1 is the nearest float. A text beside a UUID or a URL is the one that it
  /// spells, and beside a number the number; a number beside a text is written as one.
  private func adapted(_ first: AttributeValue, _ second: AttributeValue) -> (AttributeValue, AttributeValue)
  {
    (Self.adapted(first, to: second, left), Self.adapted(second, to: first, right))
  }

  private static func adapted(_ constant: AttributeValue, to value: AttributeValue, _ adaptation: Adaptation)
    -> AttributeValue
  {
    var constant = constant
    if adaptation.contains(.text), let type = textual(value) {
      constant = ComparedValues.adapted(constant, beside: type)
    }
    guard adaptation.contains(.type) else { return constant }
    return switch value {
    case .double: ComparedValues.converted(constant, to: .double) ?? constant
    case .float: ComparedValues.converted(constant, to: .float) ?? constant
    case .decimal: ComparedValues.converted(constant, to: .decimal) ?? constant
    case .uuid: spelled(constant, as: .uuid) ?? constant
    case .url: spelled(constant, as: .uri) ?? constant
    default: constant
    }
  }

  /// The type of a value beside which texts and numbers are compared; nil for all others.
  private static func textual(_ value: AttributeValue) -> AttributeType? {
    switch value {
    case .integer: .integer64
    case .boolean: .boolean
    case .double: .double
    case .float: .float
    case .decimal: .decimal
    case .string: .string
    case .null, .date, .data, .uuid, .url, .reference: nil
    }
  }

  private static func spelled(_ constant: AttributeValue, as type: AttributeType) -> AttributeValue? {
    if case .string(let text) = constant { ComparedValues.spelled(text, as: type) } else { nil }
  }

  /// What kind of thing a value is.
  private enum Operand {
    case none
    case value(AttributeValue)
    case object(ManagedObjectID)
    case entity(String)
    case many([Any?])
    case other(Any)

    init(_ any: Any?) {
      guard let any = plain(any) else {
        self = .none
        return
      }
      if let object = any as? ManagedObject {
        self = .object(object.objectID)
      } else if let identifier = any as? ManagedObjectID {
        self = .object(identifier)
      } else if let entity = any as? EntityDescription {
        self = .entity(entity.name ?? "")
      } else if let elements = KeyedAccess.elements(any) {
        self = .many(elements)
      } else if let value = AttributeValue(any, type: .undefined) {
        self = .value(value)
      } else if let raw = any as? any RawRepresentable {
        self = Operand(raw.rawValue)
      } else {
        self = .other(any)
      }
    }
  }
}
