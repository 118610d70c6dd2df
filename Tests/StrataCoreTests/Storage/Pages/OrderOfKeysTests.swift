import Testing

@testable import StrataCore

/// Keys are compared eight bytes at a time: as bytes one after the other would be.
@Suite struct OrderOfKeysTests {
  private func order(_ a: [UInt8], _ b: [UInt8]) -> Int {
    a.withUnsafeBytes { a in b.withUnsafeBytes { KeyOrder.order(a, $0) }.signum() }
  }

  private func expected(_ a: [UInt8], _ b: [UInt8]) -> Int {
    a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
  }

  /// One byte differs, at each place of each length up to four words; on either side something follows or not.
  @Test func everyPlaceCounts() {
    for length in 0...33 {
      let key = (0..<length).map { UInt8($0 * 7) }
      #expect(order(key, key) == 0, "\(length) bytes")
      #expect(order(key, key + [0]) == -1, "a beginning of \(length) bytes")
      for place in 0..<length {
        for value: UInt8 in [0x00, 0x7F, 0x80, 0xFF] where value != key[place] {
          var other = key
          other[place] = value
          for (left, right) in [(key, other), (key + [1, 2, 3], other), (key, other + [0xFF])] {
            #expect(order(left, right) == expected(left, right), "byte \(place) of \(length) is \(value)")
            #expect(order(right, left) == expected(right, left), "byte \(place) of \(length) is \(value)")
          }
        }
      }
    }
  }

  @Test func randomKeysAgree() {
    let seed = testSeed()
    var random = SeededGenerator(seed: seed)
    var wrong: [String] = []
    for _ in 0..<20_000 {
      // Few values of bytes, so that most keys have a beginning in common.
      func key() -> [UInt8] {
        (0..<random.below(40)).map { _ in random.chance(90) ? 3 : UInt8(random.below(256)) }
      }
      let (a, b) = (key(), key())
      if order(a, b) != expected(a, b) { wrong.append("\(a) \(b)") }
    }
    #expect(wrong.isEmpty, "seed \(seed): \(wrong.prefix(3))")
  }
}
