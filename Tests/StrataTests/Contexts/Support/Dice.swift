/// Random numbers that come again for the same seed.
struct Dice: RandomNumberGenerator {
  let seed: UInt64
  private var state: UInt64

  init(seed: UInt64) {
    self.seed = seed
    state = seed
  }

  /// SplitMix64.
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number below `sides`.
  mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &self) }

  /// A short word; the same words recur.
  mutating func word() -> String {
    let letters = Array("abcdeäß")
    return String((0..<(1 + roll(3))).map { _ in letters[roll(letters.count)] })
  }
}
