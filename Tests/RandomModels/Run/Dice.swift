import SeededRandom

/// Random numbers that come again for the same seed.
struct Dice: RandomNumberGenerator, Sendable {
  private var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed &* 0xD134_2543_DE82_EF95 &+ 1) }

  mutating func next() -> UInt64 { generator.next() }

  /// A number below `sides`.
  mutating func roll(_ sides: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(max(sides, 1))) }
  mutating func chance(_ percent: Int) -> Bool { roll(100) < percent }
  /// One of `values`, which come in an order that does not change from run to run.
  mutating func pick<Value>(_ values: [Value]) -> Value? {
    values.isEmpty ? nil : values[roll(values.count)]
  }
}
