import SeededRandom

/// Random numbers that come again for the same seed.
struct Dice: RandomNumberGenerator {
  private var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  /// The dice of one step: what other steps roll does not matter, so that a story can be replayed with steps left out.
  init(seed: UInt64, step: Int) {
    var first = SeededGenerator(seed: seed &* 0xD134_2543_DE82_EF95 &+ UInt64(step))
    generator = SeededGenerator(seed: first.next())
  }

  mutating func next() -> UInt64 { generator.next() }

  /// A number below `sides`.
  mutating func roll(_ sides: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(max(sides, 1))) }
  mutating func chance(_ percent: Int) -> Bool { roll(100) < percent }
  /// One of `values`, which come in an order that does not change from run to run.
  mutating func pick<C: RandomAccessCollection>(_ values: C) -> C.Element? {
    values.isEmpty ? nil : values[values.index(values.startIndex, offsetBy: roll(values.count))]
  }
}
