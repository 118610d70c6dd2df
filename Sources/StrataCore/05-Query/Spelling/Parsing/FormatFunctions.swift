/// The functions that format strings can call.
enum FormatFunction: Hashable {
  case function(FetchFunction)
  case aggregate(FetchAggregate)
  /// One that is evaluated in memory only, by its name.
  case memory(String)

  /// By Core Data's names, which have a colon for each argument, and by those of functions that Core Data does not have.
  static let named: [String: FormatFunction] = [
    "add:to:": .function(.add), "from:subtract:": .function(.subtract), "multiply:by:": .function(.multiply),
    "divide:by:": .function(.divide), "modulus:by:": .function(.modulus), "raise:toPower:": .function(.power),
    "negate:": .function(.negate), "abs:": .function(.absolute), "sqrt:": .function(.squareRoot),
    "exp:": .function(.exponential), "ln:": .function(.naturalLogarithm), "log:": .function(.logarithm),
    "ceiling:": .function(.ceiling), "floor:": .function(.floor), "trunc:": .function(.truncate),
    "bitwiseAnd:with:": .function(.bitwiseAnd), "bitwiseOr:with:": .function(.bitwiseOr),
    "bitwiseXor:with:": .function(.bitwiseXor), "onesComplement:": .function(.onesComplement),
    "leftshift:by:": .function(.leftShift), "rightshift:by:": .function(.rightShift),
    "lowercase:": .function(.lowercase), "uppercase:": .function(.uppercase),
    "canonical:": .function(.canonical),
    "length:": .function(.length), "concatenate:": .function(.concatenate), "coalesce:": .function(.coalesce),
    "distinct:": .function(.distinct), "now": .function(.now), "castObject:toType:": .function(.cast),
    "count:": .aggregate(.count), "sum:": .aggregate(.sum), "average:": .aggregate(.average),
    "min:": .aggregate(.minimum), "max:": .aggregate(.maximum),
  ]

  /// Names of Core Data that no store evaluates, and why; expressions in memory do.
  private static let memoryOnly: [String: String] = [
    "median:": "a median needs all values at once",
    "mode:": "the most frequent values need all values at once",
    "stddev:": "a standard deviation needs all values at once",
    "random": "a result must not depend on chance", "random:": "a result must not depend on chance",
    "randomn:": "a result must not depend on chance",
    "objectFrom:withIndex:":
      "a store looks up no single element of many, such as [FIRST], [LAST] or [0]",
    "distanceToLocation:fromLocation:": "places are no values of attributes",
  ]

  /// The name of what is its one argument: stores choose indexes by themselves.
  static let withoutIndex = "noindex:"

  /// The function of `selector` that is evaluated in memory only, and why; nil for every other name. Also without its one colon: `median(x)`.
  static func inMemory(_ selector: String) -> (name: String, reason: String)? {
    if let reason = memoryOnly[selector] { return (selector, reason) }
    guard !selector.contains(":"), let reason = memoryOnly[selector + ":"] else { return nil }
    return (selector + ":", reason)
  }

  /// The function called `selector`, also without its one colon: `abs(x)`.
  static func find(_ selector: String) -> FormatFunction? {
    named[selector] ?? (selector.contains(":") ? nil : named[selector + ":"])
  }

  /// How a function is written when it is called by name.
  static func name(_ function: FormatFunction) -> String { names[function] ?? "" }

  private static let names = Dictionary(uniqueKeysWithValues: named.map { ($1, $0) })
}

extension FetchAggregate {
  /// The aggregate of `@count` and its like, without the sign.
  init?(collectionOperator name: String) {
    switch name {
    case "count": self = .count
    case "sum": self = .sum
    case "avg", "average": self = .average
    case "min": self = .minimum
    case "max": self = .maximum
    default: return nil
    }
  }
}
