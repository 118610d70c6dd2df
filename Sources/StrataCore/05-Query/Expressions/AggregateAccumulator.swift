import Foundation

/// Makes one value of many, one after the other. Nil values do not count.
struct AggregateAccumulator {
  private let aggregate: FetchAggregate
  private let zero: AttributeValue
  private var count = 0
  /// Wide enough for every sum of 64-bit integers that there can be: only the result has to fit.
  private var whole: Int128 = 0
  private var exact = Decimal(0)
  private var approximate = 0.0
  private var hasDecimals = false
  private var hasDoubles = false
  private var best = AttributeValue.null

  /// - Parameter zero: What the sum of nothing is; its type is that of the values.
  init(_ aggregate: FetchAggregate, zero: AttributeValue = .integer(0)) {
    self.aggregate = aggregate
    self.zero = zero
  }

  /// Takes in one value.
  mutating func add(_ value: AttributeValue) {
    if value.isNull { return }
    count += 1
    switch aggregate {
    case .count: return
    case .sum, .average: addNumber(value)
    case .minimum: if best.isNull || ValueOrder.compare(value, best) < 0 { best = value }
    case .maximum: if best.isNull || ValueOrder.compare(value, best) > 0 { best = value }
    }
  }

  /// Takes in `number` values that are only counted.
  mutating func add(count number: Int) { count += number }

  private mutating func addNumber(_ value: AttributeValue) {
    switch value {
    case .integer(let number): whole += Int128(number)
    case .boolean(let flag): whole += flag ? 1 : 0
    case .double(let number):
      hasDoubles = true
      approximate += number
    case .float(let number):
      hasDoubles = true
      approximate += Double(number)
    case .decimal(let number):
      hasDecimals = true
      exact += number
    default: return
    }
  }

  /// Whether the sum is an integer of more than 64 bits: the result then means nothing, and the caller gets an error.
  var isTooLarge: Bool {
    aggregate == .sum && !hasDoubles && !hasDecimals && Int64(exactly: whole) == nil
  }

  /// The one value.
  var result: AttributeValue {
    switch aggregate {
    case .count: .integer(Int64(count))
    case .minimum, .maximum: best
    case .average:
      if count == 0 {
        .null
      } else if hasDecimals, !hasDoubles {
        .decimal(exactAverage)
      } else {
        .double(sum / Double(count))
      }
    case .sum:
      if count == 0 {
        zero
      } else if hasDoubles {
        .double(sum)
      } else if hasDecimals {
        .decimal(exactSum)
      } else {
        .integer(Int64(truncatingIfNeeded: whole))
      }
    }
  }

  /// The average as a column of `type` has it: that of integers in a column of integers or decimals without a double in between, which would round large ones.
  /// Nil where ``result`` is to be converted.
  func average(as type: AttributeType) -> AttributeValue? {
    guard aggregate == .average, count > 0, !hasDoubles, !hasDecimals else { return nil }
    switch type {
    // The average is not beyond the values.
    case .integer16, .integer32, .integer64: return .integer(Int64(whole / Int128(count)))
    case .decimal: return .decimal(exactAverage)
    default: return nil
    }
  }

  private var exactSum: Decimal { exact + (DecimalDigits(whole).decimal ?? .nan) }
  private var exactAverage: Decimal { DecimalArithmetic.quotient(exactSum, Decimal(count)) }

  private var sum: Double { approximate + Double(whole) + DecimalArithmetic.double(exact) }
}

/// The order of evaluated values.
enum ValueOrder {
  /// As ``AttributeValue/compare(_:_:)``, but booleans are 0 and 1 beside numbers, and references are the objects they lead to.
  @inline(__always)
  static func compare(_ left: AttributeValue, _ right: AttributeValue) -> Int {
    switch (left, right) {
    case (.reference(let left), .reference(let right)):
      let (first, second) = (Reference.primaryKey(left), Reference.primaryKey(right))
      return first < second ? -1 : first == second ? 0 : 1
    case (.boolean(let flag), .integer), (.boolean(let flag), .double), (.boolean(let flag), .float),
      (.boolean(let flag), .decimal):
      return AttributeValue.compare(.integer(flag ? 1 : 0), right)
    case (.integer, .boolean(let flag)), (.double, .boolean(let flag)), (.float, .boolean(let flag)),
      (.decimal, .boolean(let flag)):
      return AttributeValue.compare(left, .integer(flag ? 1 : 0))
    default: return AttributeValue.compare(left, right)
    }
  }
}
