import Foundation
import Testing

@testable import StrataCore

/// Bytes of keys sort as values do.
@Suite struct KeyOrderTests {
  @Test(
    "Pairs of each type order the same as keys and as values", arguments: ValueGenerator.storedTypes)
  func keysOrderAsValues(type: AttributeType) {
    var random = ValueGenerator.printed("keysOrderAsValues(\(type))")
    var left = KeyBuilder()
    var right = KeyBuilder()
    var failures = 0
    for _ in 0..<rounds(10_000, long: 100_000) {
      let a = random.value(type)
      let b = random.neighbour(a, type)
      let isAscending = random.chance(4) ? false : true
      left.reset()
      right.reset()
      let leftPart = left.append(a, isAscending: isAscending)
      let rightPart = right.append(b, isAscending: isAscending)
      let byBytes = AttributeValue.orderBytes(left.bytes, right.bytes).signum()
      let byValue = AttributeValue.compare(a, b).signum() * (isAscending ? 1 : -1)
      let isTie = byBytes == 0 && leftPart == .truncated && rightPart == .truncated
      if byBytes != byValue && !isTie {
        failures += 1
        if failures < 5 { Issue.record("\(type): \(a) \(b): bytes \(byBytes), values \(byValue)") }
      }
      if left.count > 258 || right.count > 258 { failures += 1 }
    }
    #expect(failures == 0)
  }

  @Test("Keys of several parts order by the first difference and stay within 511 bytes")
  func compoundKeysOrderAsValues() throws {
    var random = ValueGenerator.printed()
    var left = KeyBuilder()
    var right = KeyBuilder()
    for _ in 0..<rounds(5_000, long: 50_000) {
      let count = Int.random(in: 2...4, using: &random)
      let types = (0..<count).map { _ in ValueGenerator.storedTypes.randomElement(using: &random)! }
      let limits = try #require(KeyLimits.limits(for: types.map { SlotKind($0)! }))
      left.reset()
      right.reset()
      var expected = 0
      var hasTie = false
      for (type, limit) in zip(types, limits) {
        let a = random.value(type)
        let b = random.chance(2) ? a : random.neighbour(a, type)
        let isAscending = Bool.random(using: &random)
        let parts = (
          left.append(a, isAscending: isAscending, limit: limit),
          right.append(b, isAscending: isAscending, limit: limit)
        )
        let order = AttributeValue.compare(a, b).signum() * (isAscending ? 1 : -1)
        // Among cut values of the same bytes the keys do not decide; what follows does not matter then.
        if expected == 0 && order != 0 && parts == (.truncated, .truncated) { hasTie = true }
        if expected == 0 { expected = order }
      }
      let byBytes = AttributeValue.orderBytes(left.bytes, right.bytes).signum()
      if !hasTie { #expect(byBytes == expected) }
      left.appendPrimaryKey(1)
      #expect(left.count <= 511)
    }
  }

  @Test("A key made from a row equals the key made from the value", arguments: ValueGenerator.storedTypes)
  func keysFromRowsEqualKeysFromValues(type: AttributeType) throws {
    var random = ValueGenerator.printed("keysFromRowsEqualKeysFromValues(\(type))")
    let layout = try RowLayout.of([.boolean, SlotKind(type)!, .string])
    var fromRow = KeyBuilder()
    var fromValue = KeyBuilder()
    for _ in 0..<5_000 {
      let value = random.value(type, longest: 1_100)
      let isAscending = Bool.random(using: &random)
      let row = try encode(layout, .of(layout, [true, value, "tail"])).snapshot
      fromRow.reset()
      fromValue.reset()
      let expected = fromValue.append(value, isAscending: isAscending)
      let part = row.withBytes { _ in
        fromRow.append(fromRow: row.base, slot: 1, layout: layout, isAscending: isAscending)
      }
      if row.externalReference(1, layout) != nil {
        #expect(part == .external && fromRow.count == 0)
      } else {
        #expect(part == expected)
        #expect(fromRow.bytes.elementsEqual(fromValue.bytes))
      }
    }
  }

  @Test("Values that begin with a prefix, and only they, have keys that begin with its bytes")
  func prefixesSelectWhatBeginsWithThem() {
    var random = ValueGenerator.printed()
    var prefix = KeyBuilder()
    var whole = KeyBuilder()
    for _ in 0..<20_000 {
      let value = random.value(.string, longest: 600)
      guard case .string(let text) = value else { continue }
      let bytes = Array(text.utf8)
      let start = random.chance(3) ? random.value(.string, longest: 300) : nil
      let beginning: [UInt8]
      if case .string(let other)? = start {
        beginning = Array(other.utf8)
      } else {
        beginning = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
      }
      prefix.reset()
      whole.reset()
      let part = prefix.appendPrefix(.data(Data(beginning)), isAscending: true)
      whole.append(value, isAscending: true)
      let isSelected = whole.bytes.starts(with: prefix.bytes)
      if part == .whole { #expect(isSelected == bytes.starts(with: beginning)) }
      if bytes.starts(with: beginning) { #expect(isSelected) }
    }
  }

  @Test("Zeros are one key, every NaN is one key, above infinity; nil comes first")
  func specialNumbersHaveCanonicalKeys() {
    func key(_ value: AttributeValue) -> [UInt8] {
      var builder = KeyBuilder()
      builder.append(value, isAscending: true)
      return Array(builder.bytes)
    }
    #expect(key(-0.0) == key(0.0))
    #expect(key(.float(-0.0)) == key(.float(0)))
    #expect(key(.double(.nan)) == key(.double(-.nan)))
    #expect(key(.double(.nan)) == key(.double(Double(nan: 3, signaling: true))))
    #expect(key(.double(.infinity)).lexicographicallyPrecedes(key(.double(.nan))))
    #expect(key(.float(.infinity)).lexicographicallyPrecedes(key(.float(.nan))))
    #expect(key(.decimal(.greatestFiniteMagnitude)).lexicographicallyPrecedes(key(.decimal(.nan))))
    #expect(key(.null).lexicographicallyPrecedes(key(.double(-.infinity))))
    #expect(key(.null).lexicographicallyPrecedes(key("")))
  }

  @Test("Every set of part kinds that is accepted fits into 511 bytes, and what does not is refused")
  func keyLimitsFit() throws {
    #expect(KeyLimits.limits(for: [.string]) == [255])
    #expect(KeyLimits.limits(for: [.string, .string]) == [248, 248])
    #expect(KeyLimits.limits(for: Array(repeating: .string, count: 60)) == nil)
    let limits = try #require(KeyLimits.limits(for: [.int64, .decimal, .uuid, .string, .data]))
    let values = limits.reduce(0, +)
    #expect(values <= 511 - 5 - 4 - 8)
  }
}
