import Foundation
import Strata
import TortureKit

/// Predicates and expressions, interpreted the plain way over the reference model.
struct ReferenceInterpreter {
  let world: QueryWorld
  let serials: [ManagedObjectID: Int]

  indirect enum Value {
    case value(AttributeValue)
    case object(Int)
    case many([Value])

    var isNil: Bool {
      if case .value(let value) = self { return value.isNull }
      return false
    }
    var all: [Value] {
      if case .many(let values) = self { return values }
      return [self]
    }
  }

  struct Scope {
    let object: Int
    var variables: [String: Int] = [:]
  }

  // MARK: Predicates

  func isTrue(_ predicate: FetchPredicate, _ scope: Scope) -> Bool {
    switch predicate {
    case .everything: true
    case .nothing: false
    // Random trees hold none.
    case .foundation(let predicate): preconditionFailure("\(predicate) is not interpreted")
    case .and(let parts): parts.allSatisfy { isTrue($0, scope) }
    case .or(let parts): parts.contains { isTrue($0, scope) }
    case .not(let part): !isTrue(part, scope)
    case .compare(let comparison): isTrue(comparison, scope)
    }
  }

  private func isTrue(_ comparison: FetchComparison, _ scope: Scope) -> Bool {
    let left = value(comparison.left, scope, beside: comparison.right)
    let right = value(comparison.right, scope, beside: comparison.left)
    switch comparison.quantifier {
    case .direct: return compare(left, comparison, right)
    case .any: return left.all.contains { compare($0, comparison, right) }
    case .all: return left.all.allSatisfy { compare($0, comparison, right) }
    }
  }

  private func compare(_ left: Value, _ comparison: FetchComparison, _ right: Value) -> Bool {
    let options = comparison.options
    switch comparison.operation {
    case .equal: return isSame(left, right, options)
    case .notEqual: return !isSame(left, right, options)
    case .in: return right.all.contains { isSame(left, $0, options) }
    case .between:
      let bounds = right.all
      return isOrdered(bounds[0], left, options, orSame: true)
        && isOrdered(left, bounds[1], options, orSame: true)
    case .less: return isOrdered(left, right, options, orSame: false)
    case .lessOrEqual: return isOrdered(left, right, options, orSame: true)
    case .greater: return isOrdered(right, left, options, orSame: false)
    case .greaterOrEqual: return isOrdered(right, left, options, orSame: true)
    case .contains where left.all.count != 1 || !isText(left):
      return left.all.contains { isSame($0, right, options) }
    case .beginsWith, .endsWith, .contains, .like, .matches:
      guard case .value(.string(let text)) = left, case .value(.string(let pattern)) = right else {
        return false
      }
      return match(Self.fold(text, options), comparison.operation, Self.fold(pattern, options))
    }
  }

  private func isText(_ value: Value) -> Bool {
    if case .value(.string) = value { return true }
    return value.isNil
  }

  private func match(_ text: String, _ operation: ComparisonOperator, _ pattern: String) -> Bool {
    let (bytes, wanted) = (Array(text.utf8), Array(pattern.utf8))
    switch operation {
    // The empty text is found nowhere.
    case .beginsWith: return !wanted.isEmpty && bytes.starts(with: wanted)
    case .endsWith: return !wanted.isEmpty && bytes.reversed().starts(with: wanted.reversed())
    case .contains:
      return !wanted.isEmpty && bytes.indices.contains { bytes[$0...].starts(with: wanted) }
    case .like: return Self.isLike(Array(text)[...], Array(pattern)[...])
    default:
      guard let expression = try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z") else { return false }
      return expression.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
    }
  }

  private static func isLike(_ text: ArraySlice<Character>, _ pattern: ArraySlice<Character>) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    switch first {
    case "*":
      return isLike(text, pattern.dropFirst()) || !text.isEmpty && isLike(text.dropFirst(), pattern)
    case "?": return !text.isEmpty && isLike(text.dropFirst(), pattern.dropFirst())
    case "\\" where pattern.count > 1:
      return text.first == pattern.dropFirst().first && isLike(text.dropFirst(), pattern.dropFirst(2))
    default: return text.first == first && isLike(text.dropFirst(), pattern.dropFirst())
    }
  }

  static func fold(_ text: String, _ options: FetchComparison.StringOptions) -> String {
    var text = text
    if options.contains(.diacriticInsensitive) {
      var scalars = String.UnicodeScalarView()
      for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars
      where scalar.properties.generalCategory != .nonspacingMark {
        scalars.append(scalar)
      }
      text = String(scalars)
    }
    return options.contains(.caseInsensitive) ? text.lowercased() : text
  }

  private func isSame(_ left: Value, _ right: Value, _ options: FetchComparison.StringOptions) -> Bool {
    switch (left, right) {
    case (.object(let left), .object(let right)): left == right
    case (.value(.string(let left)), .value(.string(let right))):
      Self.fold(left, options).utf8.elementsEqual(Self.fold(right, options).utf8)
    case (.value(let left), .value(let right)): Self.compare(left, right) == 0
    default: false
    }
  }

  /// Booleans are 0 and 1 beside numbers.
  private static func compare(_ left: AttributeValue, _ right: AttributeValue) -> Int {
    switch (left, right) {
    case (.boolean, .boolean): AttributeValue.compare(left, right)
    case (.boolean(let flag), _) where double(right) != nil: compare(.integer(flag ? 1 : 0), right)
    case (_, .boolean(let flag)) where double(left) != nil: compare(left, .integer(flag ? 1 : 0))
    default: AttributeValue.compare(left, right)
    }
  }

  private func isOrdered(
    _ left: Value, _ right: Value, _ options: FetchComparison.StringOptions, orSame: Bool
  ) -> Bool {
    guard case .value(var left) = left, case .value(var right) = right, !left.isNull, !right.isNull else {
      return false
    }
    // A text and a number have no order.
    if isText(.value(left)) != isText(.value(right)) { return false }
    if case .string(let text) = left { left = .string(Self.fold(text, options)) }
    if case .string(let text) = right { right = .string(Self.fold(text, options)) }
    let order = Self.compare(left, right)
    return order < 0 || orSame && order == 0
  }

  // MARK: Expressions

  /// The value; constants beside an attribute are brought into its type.
  private func value(_ expression: FetchExpression, _ scope: Scope, beside other: FetchExpression) -> Value {
    let value = value(expression, scope)
    guard case .keyPath(_, let keys) = other, let type = keys.last.flatMap({ QueryModel.types[$0] }) else {
      return value
    }
    func stored(_ part: FetchExpression) -> Value {
      let value = self.value(part, scope)
      guard Self.isConstant(part), case .value(let constant) = value else { return value }
      return .value(Self.constant(constant, as: type))
    }
    if case .list(let parts) = expression {
      return parts.allSatisfy(Self.isConstant) ? .many(parts.map(stored)) : value
    }
    return stored(expression)
  }

  /// Whether nothing in it looks at an object.
  private static func isConstant(_ expression: FetchExpression) -> Bool {
    switch expression {
    case .constant: true
    case .list(let parts), .function(_, let parts): parts.allSatisfy(isConstant)
    default: false
    }
  }

  /// As it is when the type has no such number.
  private static func constant(_ constant: AttributeValue, as type: AttributeType) -> AttributeValue {
    switch (type, constant) {
    case (.string, _) where double(constant) != nil: written(constant)
    case (_, .string(let text)) where QueryModel.isNumber(type) || type == .boolean:
      number(text, type) ?? constant
    case (.double, .decimal(let number)): Double("\(number)").map { .double($0) } ?? constant
    case (.float, .decimal(let number)): Double("\(number)").map { .float(Float($0)) } ?? constant
    case (.float, .double(let number)): .float(Float(number))
    case (.decimal, .double(let number)) where number.isFinite:
      Decimal(string: "\(number)").map { .decimal($0) } ?? constant
    case (.decimal, .float(let number)) where number.isFinite:
      Decimal(string: "\(number)").map { .decimal($0) } ?? constant
    default: constant
    }
  }

  private static func written(_ number: AttributeValue) -> AttributeValue {
    switch number {
    case .boolean(let flag): .string(flag ? "1" : "0")
    case .integer(let number): .string("\(number)")
    case .double(let number): .string("\(number)")
    case .float(let number): .string("\(number)")
    case .decimal(let number): .string("\(number)")
    default: number
    }
  }

  /// The number that a text spells; nil when it spells none.
  private static func number(_ text: String, _ type: AttributeType) -> AttributeValue? {
    let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
    let form = "^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?$"
    guard text.range(of: form, options: .regularExpression) != nil else { return nil }
    let double = strtod(text, nil)
    if type == .double { return .double(double) }
    if type == .float { return .float(Float(double)) }
    // No decimal is as large as 1e400.
    guard abs(double) < 1e100, let exact = Decimal(string: text) else { return .double(double) }
    return .decimal(exact)
  }

  func value(_ expression: FetchExpression, _ scope: Scope) -> Value {
    switch expression {
    case .constant(let value): return .value(value)
    case .list(let parts): return .many(parts.map { value($0, scope) })
    case .objects(let identifiers):
      // One that the world does not have is no object of it.
      let objects = identifiers.map { Value.object(serials[$0] ?? -1) }
      return objects.count == 1 ? objects[0] : .many(objects)
    case .entity(let name): return .value(.string(name))
    case .evaluatedObject: return .object(scope.object)
    case .variable(let name): return .object(scope.variables[name] ?? -1)
    case .keyPath(let base, let keys): return follow(value(base, scope), keys[...])
    case .aggregate(let aggregate, let base): return .value(aggregated(aggregate, value(base, scope).all))
    case .subquery(let base, let variable, let predicate):
      return .many(
        value(base, scope).all.filter { member in
          guard case .object(let serial) = member else { return false }
          var inner = scope
          inner.variables[variable] = serial
          return isTrue(predicate, inner)
        })
    case .function(let function, let arguments):
      return .value(
        calculated(
          function,
          arguments.map {
            if case .value(let value) = value($0, scope) { return value }
            return .null
          }))
    case .conditional(let predicate, let first, let second):
      return value(isTrue(predicate, scope) ? first : second, scope)
    }
  }

  private func follow(_ value: Value, _ keys: ArraySlice<String>) -> Value {
    switch value {
    case .value: return .value(.null)
    case .many(let values): return .many(values.flatMap { follow($0, keys).all })
    case .object(let serial): return follow(serial, keys)
    }
  }

  private func follow(_ serial: Int, _ keys: ArraySlice<String>) -> Value {
    guard let key = keys.first else { return .object(serial) }
    guard let record = world.records[serial] else { return .value(.null) }
    let rest = keys.dropFirst()
    if key == "objectID" { return .object(serial) }
    if key == "entity" { return .value(.string(record.entity)) }
    guard let link = QueryModel.links[record.entity]?[key] else { return .value(record.values[key] ?? .null) }
    if link.isToMany {
      return .many(world.members(serial, key).sorted().flatMap { follow($0, rest).all })
    }
    if let target = world.related(serial, key) { return follow(target, rest) }
    // No object: no members, or nil.
    return hasMany(link.destination, rest) ? .many([]) : .value(.null)
  }

  private func hasMany(_ entity: String, _ keys: ArraySlice<String>) -> Bool {
    var entity = entity
    for key in keys {
      guard let link = QueryModel.links[entity]?[key] else { return false }
      if link.isToMany { return true }
      entity = link.destination
    }
    return false
  }

  private func aggregated(_ aggregate: FetchAggregate, _ values: [Value]) -> AttributeValue {
    let present = values.filter { !$0.isNil }
    if aggregate == .count { return .integer(Int64(present.count)) }
    let plain = present.compactMap { value -> AttributeValue? in
      if case .value(let value) = value { value } else { nil }
    }
    switch aggregate {
    case .minimum: return plain.min { AttributeValue.compare($0, $1) < 0 } ?? .null
    case .maximum: return plain.max { AttributeValue.compare($0, $1) < 0 } ?? .null
    case .count, .average, .sum: break
    }
    let decimals = plain.compactMap { if case .decimal(let number) = $0 { number } else { nil } }
    let doubles = plain.compactMap { Self.double($0) }
    let integers = plain.compactMap { value -> Int64? in
      switch value {
      case .integer(let number): number
      case .boolean(let flag): flag ? 1 : 0
      default: nil
      }
    }
    if aggregate == .average {
      if plain.isEmpty { return .null }
      if integers.isEmpty, !decimals.isEmpty {
        return .decimal(decimals.reduce(0, +) / Decimal(plain.count))
      }
      let sum = integers.isEmpty ? doubles.reduce(0, +) : Double(integers.reduce(0, +))
      return .double(sum / Double(plain.count))
    }
    if !integers.isEmpty { return .integer(integers.reduce(0, +)) }
    if !decimals.isEmpty { return .decimal(decimals.reduce(0, +)) }
    return .double(doubles.reduce(0, +))
  }

  static func double(_ value: AttributeValue) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .double(let number): number
    case .float(let number): Double(number)
    case .decimal(let number): Double("\(number)")
    case .boolean(let flag): flag ? 1 : 0
    default: nil
    }
  }

  /// Both as decimals, where one is a decimal and the other one too, or an integer.
  private static func decimals(_ left: AttributeValue, _ right: AttributeValue) -> (Decimal, Decimal)? {
    switch (left, right) {
    case (.decimal(let left), .decimal(let right)): (left, right)
    case (.decimal(let left), .integer(let right)): (left, Decimal(right))
    case (.integer(let left), .decimal(let right)): (Decimal(left), right)
    default: nil
    }
  }

  private func decimals(_ function: FetchFunction, _ left: Decimal, _ right: Decimal) -> AttributeValue {
    if right == 0, function == .divide || function == .modulus { return .null }
    switch function {
    case .add: return .decimal(left + right)
    case .subtract: return .decimal(left - right)
    case .multiply: return .decimal(left * right)
    case .divide: return .decimal(left / right)
    default:
      var (quotient, whole) = (left / right, Decimal())
      NSDecimalRound(&whole, &quotient, 0, quotient < 0 ? .up : .down)
      return .decimal(left - whole * right)
    }
  }

  private func calculated(_ function: FetchFunction, _ arguments: [AttributeValue]) -> AttributeValue {
    if function == .coalesce { return arguments.first { !$0.isNull } ?? .null }
    if arguments.contains(where: \.isNull) { return .null }
    switch (function, arguments.count) {
    case (.lowercase, _): return text(arguments[0]).map { .string($0.lowercased()) } ?? .null
    case (.uppercase, _): return text(arguments[0]).map { .string($0.uppercased()) } ?? .null
    case (.length, _): return text(arguments[0]).map { .integer(Int64($0.count)) } ?? .null
    case (.concatenate, _): return .string(arguments.compactMap { text($0) }.joined())
    case (.absolute, _):
      if case .integer(let number) = arguments[0] { return number == .min ? .null : .integer(abs(number)) }
      if case .decimal(let number) = arguments[0] { return .decimal(abs(number)) }
      return Self.double(arguments[0]).map { .double(abs($0)) } ?? .null
    case (_, 2):
      if case .integer(let left) = arguments[0], case .integer(let right) = arguments[1], function != .power {
        return integers(function, left, right)
      }
      if case .date(let date) = arguments[0] {
        let seconds = date.timeIntervalSinceReferenceDate
        if case .date(let other) = arguments[1] {
          return .double(seconds - other.timeIntervalSinceReferenceDate)
        }
        guard let step = Self.double(arguments[1]) else { return .null }
        return .date(Date(timeIntervalSinceReferenceDate: function == .add ? seconds + step : seconds - step))
      }
      if let numbers = Self.decimals(arguments[0], arguments[1]), function != .power {
        return decimals(function, numbers.0, numbers.1)
      }
      guard let left = Self.double(arguments[0]), let right = Self.double(arguments[1]) else { return .null }
      return doubles(function, left, right)
    default: return .null
    }
  }

  private func text(_ value: AttributeValue) -> String? {
    if case .string(let text) = value { return text }
    return nil
  }

  private func integers(_ function: FetchFunction, _ left: Int64, _ right: Int64) -> AttributeValue {
    let wide: Int128?
    switch function {
    case .add: wide = Int128(left) + Int128(right)
    case .subtract: wide = Int128(left) - Int128(right)
    case .multiply: wide = Int128(left) * Int128(right)
    case .divide: wide = right == 0 ? nil : Int128(left) / Int128(right)
    case .modulus: wide = right == 0 ? nil : Int128(left) % Int128(right)
    default: wide = nil
    }
    return wide.flatMap { Int64(exactly: $0) }.map { .integer($0) } ?? .null
  }

  private func doubles(_ function: FetchFunction, _ left: Double, _ right: Double) -> AttributeValue {
    let result: Double?
    switch function {
    case .add: result = left + right
    case .subtract: result = left - right
    case .multiply: result = left * right
    case .divide: result = right == 0 ? nil : left / right
    case .modulus: result = right == 0 ? nil : fmod(left, right)
    case .power: result = pow(left, right)
    default: result = nil
    }
    guard let result else { return .null }
    return !result.isFinite && left.isFinite && right.isFinite ? .null : .double(result)
  }
}
