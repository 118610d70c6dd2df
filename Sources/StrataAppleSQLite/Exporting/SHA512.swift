import Foundation

/// FIPS 180-4, for a sum that a store's metadata have of the hashes of its entities.
enum SHA512 {
  static func digest(of data: Data) -> Data {
    var state = primes.prefix(8).map { fraction($0, isSquare: true) }
    let constants = primes.map { fraction($0, isSquare: false) }
    let bytes = padded(data, block: 128, length: 16)
    for start in stride(from: 0, to: bytes.count, by: 128) {
      var words = (0..<16).map { place in
        bytes[(start + place * 8)..<(start + place * 8 + 8)].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
      }
      for place in 16..<80 {
        let (a, b) = (words[place - 15], words[place - 2])
        let first = rotated(a, 1) ^ rotated(a, 8) ^ a >> 7
        let second = rotated(b, 19) ^ rotated(b, 61) ^ b >> 6
        words.append(words[place - 16] &+ first &+ words[place - 7] &+ second)
      }
      var h = state
      for place in 0..<80 {
        let sum = rotated(h[4], 14) ^ rotated(h[4], 18) ^ rotated(h[4], 41)
        let choice = h[4] & h[5] ^ ~h[4] & h[6]
        let one = h[7] &+ sum &+ choice &+ constants[place] &+ words[place]
        let other = rotated(h[0], 28) ^ rotated(h[0], 34) ^ rotated(h[0], 39)
        let two = other &+ (h[0] & h[1] ^ h[0] & h[2] ^ h[1] & h[2])
        h = [one &+ two, h[0], h[1], h[2], h[3] &+ one, h[4], h[5], h[6]]
      }
      for place in 0..<8 { state[place] = state[place] &+ h[place] }
    }
    return Data(state.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } })
  }

  private static func rotated(_ word: UInt64, _ count: UInt64) -> UInt64 {
    word >> count | word << (64 - count)
  }

  private static func padded(_ data: Data, block: Int, length: Int) -> [UInt8] {
    var bytes = Array(data) + [0x80]
    while bytes.count % block != block - length { bytes.append(0) }
    bytes += [UInt8](repeating: 0, count: length - 8)
    let bits = UInt64(data.count) * 8
    return bytes + (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) }
  }

  /// The first eighty prime numbers.
  private static let primes: [UInt64] = {
    var found: [UInt64] = []
    var candidate: UInt64 = 2
    while found.count < 80 {
      if !found.contains(where: { candidate % $0 == 0 }) { found.append(candidate) }
      candidate += 1
    }
    return found
  }()

  /// The first 64 bits behind the point of a prime's square or cube root, which is what both functions start from.
  private static func fraction(_ prime: UInt64, isSquare: Bool) -> UInt64 {
    // The largest whole number whose power is not above the prime times a power of 2^64 has them as its last 64 bits.
    var whole: UInt64 = 0
    while isSquare ? (whole + 1) * (whole + 1) <= prime : (whole + 1) * (whole + 1) * (whole + 1) <= prime {
      whole += 1
    }
    var bits: UInt64 = 0
    for place in stride(from: 63, through: 0, by: -1) {
      let candidate = bits | 1 << UInt64(place)
      let root = [candidate, whole]
      let power = isSquare ? product(root, root) : product(product(root, root), root)
      let bound = [UInt64](repeating: 0, count: isSquare ? 2 : 3) + [prime]
      if !isAbove(power, bound) { bits = candidate }
    }
    return bits
  }

  /// Numbers of 64-bit digits, the lowest first.
  private static func product(_ a: [UInt64], _ b: [UInt64]) -> [UInt64] {
    var result = [UInt64](repeating: 0, count: a.count + b.count)
    for (i, x) in a.enumerated() {
      var carry: UInt64 = 0
      for (j, y) in b.enumerated() {
        let (high, low) = x.multipliedFullWidth(by: y)
        let (first, overflow) = result[i + j].addingReportingOverflow(low)
        let (second, more) = first.addingReportingOverflow(carry)
        result[i + j] = second
        // Never overflows: the product of two digits leaves room for two carries.
        carry = high + (overflow ? 1 : 0) + (more ? 1 : 0)
      }
      result[i + b.count] = carry
    }
    return result
  }

  private static func isAbove(_ a: [UInt64], _ b: [UInt64]) -> Bool {
    for place in stride(from: max(a.count, b.count) - 1, through: 0, by: -1) {
      let (x, y) = (place < a.count ? a[place] : 0, place < b.count ? b[place] : 0)
      if x != y { return x > y }
    }
    return false
  }
}
