/// The name of a method. There is no Objective-C runtime that could call it: where Apple's API takes a selector, names that are known here are
/// understood, and everything else traps.
///
/// `#selector` does not compile on Linux; write `Selector("localizedStandardCompare:")`.
public struct Selector: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name, with a colon for each argument.
  public let description: String

  public init(_ name: String) { description = name }
  public init(stringLiteral value: String) { description = value }
}
