import TortureKit

/// Makes inputs of valid ones: flips, cuts, repetitions, splices, numbers in places of lengths.
struct ByteMutator {
  private var random: SeededGenerator
  let samples: [[UInt8]]
  /// Mutated inputs that were accepted: the way to deeper ones.
  private var kept: [[UInt8]] = []
  private static let longest = 20_000

  init(seed: UInt64, samples: [[UInt8]]) {
    random = SeededGenerator(seed: seed)
    self.samples = samples.isEmpty ? [[]] : samples
  }

  /// Remembers an input that was accepted.
  mutating func keep(_ input: [UInt8]) {
    if kept.count < 200 { kept.append(input) } else { kept[random.below(200)] = input }
  }

  /// The next input.
  mutating func next() -> [UInt8] {
    var bytes = !kept.isEmpty && random.chance(30) ? random.pick(kept) : random.pick(samples)
    for _ in 0...random.below(random.pick([1, 3, 8])) { mutate(&bytes) }
    if bytes.count > Self.longest { bytes.removeLast(bytes.count - Self.longest) }
    return bytes
  }

  private mutating func mutate(_ bytes: inout [UInt8]) {
    guard !bytes.isEmpty else {
      bytes = (0..<random.below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      return
    }
    let place = random.below(bytes.count)
    switch random.below(12) {
    case 0, 1: bytes[place] ^= 1 << UInt8(random.below(8))
    case 2: bytes[place] = UInt8(truncatingIfNeeded: random.next())
    case 3: bytes[place] = random.pick([0, 1, 0x7F, 0x80, 0xFE, 0xFF, 0x22, 0x5C, 0x5B, 0x7B, 0x30, 0x2D])
    case 4: bytes.removeLast(bytes.count - place)
    case 5: bytes.removeFirst(place)
    case 6: bytes.remove(at: place)
    case 7: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
    case 8: repeatPart(&bytes, from: place)
    case 9:
      let other = random.pick(samples)
      let cut = random.below(other.count + 1)
      bytes = Array(bytes[..<place]) + other[cut...]
    case 10: number(&bytes, at: place)
    default:
      let length = min(1 + random.below(16), bytes.count - place)
      bytes.removeSubrange(place..<(place + length))
    }
  }

  private mutating func repeatPart(_ bytes: inout [UInt8], from place: Int) {
    let length = min(1 + random.below(random.pick([4, 40])), bytes.count - place)
    let part = Array(bytes[place..<(place + length)])
    let times = min(random.pick([1, 2, 8, 300]), Self.longest / length)
    bytes.insert(contentsOf: (0..<times).flatMap { _ in part }, at: place)
  }

  /// A number where there may be a length: small, large, of the input's own length.
  private mutating func number(_ bytes: inout [UInt8], at place: Int) {
    let value: UInt64 = random.pick([
      0, 1, UInt64(bytes.count), UInt64(bytes.count) - 1, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, .max, 1 << 63,
    ])
    for offset in 0..<min(random.pick([2, 4, 8]), bytes.count - place) {
      bytes[place + offset] = UInt8(truncatingIfNeeded: value >> UInt64(8 * offset))
    }
  }
}
