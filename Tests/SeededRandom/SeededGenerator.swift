/// Random numbers that depend on the seed alone (SplitMix64), and the choices random tests make with them.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number from 0 up to, not including, `count`.
  public mutating func below(_ count: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(count)) }
  public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
  public mutating func pick<C: RandomAccessCollection>(_ values: C) -> C.Element {
    values[values.index(values.startIndex, offsetBy: below(values.count))]
  }
  public mutating func pickAny<C: RandomAccessCollection>(_ values: C) -> C.Element? {
    values.isEmpty ? nil : pick(values)
  }
}
