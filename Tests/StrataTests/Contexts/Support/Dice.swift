import TortureKit

/// Random numbers that come again for the same seed.
struct Dice: RandomNumberGenerator {
  let seed: UInt64
  private var generator: SeededGenerator

  init(seed: UInt64) {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
  }

  mutating func next() -> UInt64 { generator.next() }

  /// A number below `sides`.
  mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &self) }

  /// A short word; the same words recur.
  mutating func word() -> String {
    let letters = Array("abcdeäß")
    return String((0..<(1 + roll(3))).map { _ in letters[roll(letters.count)] })
  }
}
