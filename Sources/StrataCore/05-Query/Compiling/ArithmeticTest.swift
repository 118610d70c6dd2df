import Foundation

/// A comparison of what an attribute and a whole number make with another whole number, such as `number % 10 == 0`: one row decides it, and where the attribute
/// is an integer, its bits do.
///
/// True of just what the comparison, evaluated as any other, is true of.
struct ArithmeticTest: Sendable {
  let slot: Int
  private let function: FetchFunction
  private let right: Int64
  private let operation: ComparisonOperator
  private let limit: Int64

  /// Nil for any other comparison.
  init?(_ comparison: ResolvedComparison) {
    guard comparison.quantifier == .direct, comparison.options.isEmpty,
      case .constant(.integer(let limit)) = comparison.right,
      case .function(let function, let arguments) = comparison.left, arguments.count == 2,
      case .path(.object(up: 0), let steps, let slot?) = arguments[0], steps.isEmpty,
      case .constant(.integer(let right)) = arguments[1]
    else { return nil }
    switch comparison.operation {
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual: break
    default: return nil
    }
    switch function {
    case .add, .subtract, .multiply, .divide, .modulus, .bitwiseAnd, .bitwiseOr, .bitwiseXor: break
    default: return nil
    }
    self.slot = slot
    self.function = function
    self.right = right
    operation = comparison.operation
    self.limit = limit
  }

  /// Whether it is true of a value.
  @inline(never)
  func isTrue(_ value: AttributeValue) -> Bool {
    if case .integer(let number) = value { return isTrue(number) }
    let made = FunctionValue.value(function, [value, .integer(right)])
    let limit = AttributeValue.integer(limit)
    switch operation {
    case .equal: return ComparedValues.isEqual(made, limit, [])
    case .notEqual: return !ComparedValues.isEqual(made, limit, [])
    case .less: return ComparedValues.isOrdered(made, limit, [], orSame: false)
    case .lessOrEqual: return ComparedValues.isOrdered(made, limit, [], orSame: true)
    case .greater: return ComparedValues.isOrdered(limit, made, [], orSame: false)
    default: return ComparedValues.isOrdered(limit, made, [], orSame: true)
    }
  }

  /// Whether it is true of a row's value, which is not nil and lies at `entry` of its table.
  @inline(__always)
  func isTrue(
    row: UnsafeRawPointer, _ entry: UInt32, large: (_ slot: Int) throws -> AttributeValue
  ) rethrows -> Bool {
    switch RowBytes.kind(entry) {
    case .int64: return isTrue(RowBytes.int64(row, entry))
    case .int32: return isTrue(Int64(RowBytes.int32(row, entry)))
    case .int16: return isTrue(Int64(RowBytes.int16(row, entry)))
    case .double: return isTrue(.double(RowBytes.double(row, entry)))
    case .float: return isTrue(.float(RowBytes.float(row, entry)))
    case .boolean: return isTrue(.boolean(RowBytes.boolean(row, entry)))
    case .date:
      return isTrue(.date(Date(timeIntervalSinceReferenceDate: RowBytes.double(row, entry))))
    case .decimal: return isTrue(try RowBytes.decimal(row, entry).map { .decimal($0) } ?? large(slot))
    // No arithmetic has a result for them.
    case .string, .data, .url, .uuid, .reference, .transient: return isTrue(.null)
    }
  }

  /// Whether it is true of an integer.
  @inline(__always)
  func isTrue(_ number: Int64) -> Bool {
    guard let made = result(number) else { return operation == .notEqual }
    return switch operation {
    case .equal: made == limit
    case .notEqual: made != limit
    case .less: made < limit
    case .lessOrEqual: made <= limit
    case .greater: made > limit
    default: made >= limit
    }
  }

  /// Nil when there is no result in 64 bits.
  @inline(__always)
  private func result(_ number: Int64) -> Int64? {
    let (result, isTooLarge): (Int64, Bool)
    switch function {
    case .modulus:
      if right == 0 { return nil }
      (result, isTooLarge) = number.remainderReportingOverflow(dividingBy: right)
    case .divide:
      if right == 0 { return nil }
      (result, isTooLarge) = number.dividedReportingOverflow(by: right)
    case .add: (result, isTooLarge) = number.addingReportingOverflow(right)
    case .subtract: (result, isTooLarge) = number.subtractingReportingOverflow(right)
    case .multiply: (result, isTooLarge) = number.multipliedReportingOverflow(by: right)
    case .bitwiseAnd: return number & right
    case .bitwiseOr: return number | right
    default: return number ^ right
    }
    return isTooLarge ? nil : result
  }
}
