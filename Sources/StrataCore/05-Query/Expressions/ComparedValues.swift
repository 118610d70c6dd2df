import Foundation

/// What comparisons say of two values: the same in stores, over unsaved changes and in memory.
package enum ComparedValues {
  /// Whether `left operation right` is true, for every operator but `in` and `between`, which have several right sides.
  ///
  /// - Throws: ``TextMatchError`` for a pattern that is none, and for one that came to no decision within its bounds.
  package static func isTrue(
    _ left: AttributeValue, _ operation: ComparisonOperator, _ right: AttributeValue,
    _ options: FetchComparison.StringOptions
  ) throws -> Bool {
    switch operation {
    case .equal: return isEqual(left, right, options)
    case .notEqual: return !isEqual(left, right, options)
    case .less: return isOrdered(left, right, options, orSame: false)
    case .lessOrEqual: return isOrdered(left, right, options, orSame: true)
    case .greater: return isOrdered(right, left, options, orSame: false)
    case .greaterOrEqual: return isOrdered(right, left, options, orSame: true)
    case .beginsWith, .contains, .endsWith, .like, .matches:
      guard case .string(let text) = left, case .string(let pattern) = right else { return false }
      return try TextMatcher(operation, pattern, options: options).matches(text)
    case .in, .between: trap("\(operation) has several right sides; compare with each of them.")
    }
  }

  /// Whether both are the same; nil is the same as nil.
  package static func isEqual(
    _ left: AttributeValue, _ right: AttributeValue, _ options: FetchComparison.StringOptions
  ) -> Bool {
    if !options.isEmpty, case .string(let left) = left, case .string(let right) = right {
      return TextFolding(options).compare(left, right) == 0
    }
    return ValueOrder.compare(left, right) == 0
  }

  /// Whether `left` is less than `right`, or, if wanted, the same; false when either is nil, and for values of different kinds, which have no order. Numbers and Booleans are
  /// of one kind.
  package static func isOrdered(
    _ left: AttributeValue, _ right: AttributeValue, _ options: FetchComparison.StringOptions, orSame: Bool
  ) -> Bool {
    guard haveOrder(left, right) else { return false }
    let order =
      if !options.isEmpty, case .string(let left) = left, case .string(let right) = right {
        TextFolding(options).compare(left, right)
      } else {
        ValueOrder.compare(left, right)
      }
    return order < 0 || orSame && order == 0
  }

  private static func haveOrder(_ left: AttributeValue, _ right: AttributeValue) -> Bool {
    switch (left, right) {
    case (.string, .string), (.date, .date), (.data, .data), (.uuid, .uuid), (.url, .url),
      (.reference, .reference):
      true
    default: isNumber(left) && isNumber(right)
    }
  }

  private static func isNumber(_ value: AttributeValue) -> Bool {
    switch value {
    case .integer, .double, .float, .decimal, .boolean: true
    case .null, .string, .date, .data, .uuid, .url, .reference: false
    }
  }

  /// How values are sorted: less than 0 when `left` comes first. Nil comes before everything.
  package static func order(_ left: AttributeValue, _ right: AttributeValue) -> Int {
    ValueOrder.compare(left, right)
  }

  /// How objects are sorted by their IDs: by primary key, as in a fetch. Those of several hierarchies and stores whose keys are the same come by these.
  package static func order(_ left: ManagedObjectID, _ right: ManagedObjectID) -> Int {
    func order<T: Comparable>(_ left: T, _ right: T) -> Int { left < right ? -1 : left > right ? 1 : 0 }
    let byKey = order(left.primaryKey, right.primaryKey)
    if byKey != 0 { return byKey }
    let byRoot = order(left.token.hierarchy.rootName, right.token.hierarchy.rootName)
    if byRoot != 0 { return byRoot }
    return order(left.storeIdentifier.uuidString, right.storeIdentifier.uuidString)
  }

  /// One value of many; nil when the sum of integers takes more than 64 bits. `zero` is the sum of nothing.
  package static func aggregate(
    _ aggregate: FetchAggregate, _ values: [AttributeValue], zero: AttributeValue = .integer(0)
  ) -> AttributeValue? {
    var accumulator = AggregateAccumulator(aggregate, zero: zero)
    for value in values { accumulator.add(value) }
    return accumulator.isTooLarge ? nil : accumulator.result
  }

  /// What a function makes of its arguments; `now` is that of the call.
  package static func value(_ function: FetchFunction, _ arguments: [AttributeValue]) -> AttributeValue {
    switch function {
    case .now: return .date(Date())
    case .cast:
      guard arguments.count == 2, case .string(let name) = arguments[1],
        let type = FormatCast.type(name)
      else { return .null }
      return FunctionValue.cast(arguments[0], to: type)
    default: return FunctionValue.value(function, arguments)
    }
  }

  /// The UUID or the URL that a text spells; nil when it spells none, and for other types.
  package static func spelled(_ text: String, as type: AttributeType) -> AttributeValue? {
    switch type {
    case .uuid: UUID(uuidString: text).map { .uuid($0) }
    case .uri: URL(string: text).map { .url($0) }
    default: nil
    }
  }

  /// A value as an attribute of `type` has it, without loss; nil when there is none.
  package static func converted(_ value: AttributeValue, to type: AttributeType) -> AttributeValue? {
    value.converted(to: type)
  }
}

extension FetchFunction {
  /// The name that expressions call the function by, with a colon for each argument.
  package var selector: String { FormatFunction.name(.function(self)) }

  /// The function of that name.
  package init?(selector: String) {
    guard case .function(let function)? = FormatFunction.find(selector) else { return nil }
    self = function
  }
}

extension FetchAggregate {
  /// The name that expressions call the aggregate by.
  package var selector: String { FormatFunction.name(.aggregate(self)) }

  /// The aggregate of that name.
  package init?(selector: String) {
    guard case .aggregate(let aggregate)? = FormatFunction.find(selector) else { return nil }
    self = aggregate
  }
}
