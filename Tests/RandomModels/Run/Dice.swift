/// Random numbers that come again for the same seed (SplitMix64).
struct Dice: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0xD134_2543_DE82_EF95 &+ 1 }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number below `sides`.
  mutating func roll(_ sides: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(max(sides, 1))) }
  mutating func chance(_ percent: Int) -> Bool { roll(100) < percent }
  /// One of `values`, which come in an order that does not change from run to run.
  mutating func pick<Value>(_ values: [Value]) -> Value? {
    values.isEmpty ? nil : values[roll(values.count)]
  }
}
