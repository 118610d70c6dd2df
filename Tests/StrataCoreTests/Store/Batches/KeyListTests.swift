import SeededRandom
import Testing

@testable import StrataCore

/// Lists of primary keys, against plain arrays.
struct KeyListTests {
  @Test("a list has the keys that were added, in their order, whatever follows what")
  func againstArrays() {
    let seed = testSeed()
    var random = RandomValues(seed: seed)
    for _ in 0..<60 {
      // From long runs to keys that lie apart.
      let chanceOfJump = random.below(100)
      var (list, plain): (KeyList, [UInt64]) = (KeyList(), [])
      var key: UInt64 = 1
      for _ in 0..<random.below(400) {
        if random.chance(chanceOfJump) { key = UInt64(random.below(1_000)) }
        if random.chance(5) {
          let run = key...key + UInt64(random.below(20))
          list.append(run)
          plain.append(contentsOf: run)
          key = run.upperBound + 1
        } else {
          list.append(key)
          plain.append(key)
          key += 1
        }
      }
      #expect(Array(list) == plain && list.count == plain.count, "seed \(seed)")
      let (low, high) = (plain.count / 3, plain.count / 2)
      #expect(Array(list[low..<high]) == Array(plain[low..<high]), "seed \(seed)")
      list.settle()
      #expect(Array(list) == Set(plain).sorted(), "seed \(seed)")
    }
  }

  @Test("keys that follow each other take no memory of their own")
  func memory() {
    var keys = KeyList()
    for key in 1...1_000_000 as ClosedRange<UInt64> { keys.append(key) }
    #expect(keys.count == 1_000_000 && keys[777_776] == 777_777 && keys.last == 1_000_000)
    #expect(keys.byteCount < 1_024)
    var apart = KeyList()
    for key in 1...100_000 as ClosedRange<UInt64> { apart.append(key * 2) }
    #expect(apart.byteCount < 2 * 100_000 * 8)
  }
}
