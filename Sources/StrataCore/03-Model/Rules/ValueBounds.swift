/// Between what a number or a date must lie.
struct ValueBounds: Sendable {
  private var integers = Int64.min...Int64.max
  private var doubles = -Double.infinity...Double.infinity

  /// Nil when there are other rules than bounds of integers, doubles, floats and dates.
  init?(_ tests: [CompiledRule.Test]) {
    for test in tests {
      switch test {
      case .minimum(let bound): guard narrow(bound, isLower: true) else { return nil }
      case .maximum(let bound): guard narrow(bound, isLower: false) else { return nil }
      default: return nil
      }
    }
  }

  private mutating func narrow(_ bound: AttributeValue, isLower: Bool) -> Bool {
    func narrowed<T: Comparable>(_ range: ClosedRange<T>, _ bound: T) -> ClosedRange<T> {
      let low = isLower ? max(range.lowerBound, bound) : range.lowerBound
      let high = isLower ? range.upperBound : min(range.upperBound, bound)
      // A model whose bounds contradict each other is refused.
      return low...max(low, high)
    }
    switch bound {
    case .integer(let bound): integers = narrowed(integers, bound)
    case .double(let bound): doubles = narrowed(doubles, bound)
    case .float(let bound): doubles = narrowed(doubles, Double(bound))
    case .date(let bound): doubles = narrowed(doubles, bound.timeIntervalSinceReferenceDate)
    default: return false
    }
    return true
  }

  /// Whether the value lies between them. False says only that the rules must be asked.
  func admit(_ value: AttributeValue) -> Bool {
    switch value {
    case .integer(let value): integers.contains(value)
    case .double(let value): doubles.contains(value)
    case .float(let value): doubles.contains(Double(value))
    case .date(let value): doubles.contains(value.timeIntervalSinceReferenceDate)
    default: false
    }
  }
}
