import Foundation
import Testing

@testable import StrataCore

/// Values come back from index keys as they went in.
@Suite struct IndexKeyReaderTests {
  @Test(arguments: [UInt64(1), 2, 3])
  func valuesComeBack(seed: UInt64) throws {
    print("index keys: seed \(seed)")
    let fixture = try StoreFixture(inMemory: true)
    var random = RandomValues(seed: seed)
    let entity = fixture.entity("Item")
    for index in entity.indexes where index.parts.allSatisfy({ $0.kind != .decimal }) {
      let reader = IndexKeyReader(index)
      for _ in 0..<200 {
        var builder = KeyBuilder()
        var expected: [AttributeValue] = []
        var isWhole = true
        for part in index.parts {
          let value = random.value(entity.attributes[part.slot].type)
          expected.append(value)
          if builder.append(value, isAscending: part.isAscending, limit: part.keyLimit) != .whole {
            isWhole = false
          }
        }
        builder.appendPrimaryKey(7)
        var values: [AttributeValue] = []
        let isRead = reader.values(builder.bytes, into: &values)
        #expect(isRead == isWhole)
        if isRead { #expect(values == expected, "\(index.name)") }
      }
    }
  }

  @Test func damagedKeysAreNoValues() throws {
    let fixture = try StoreFixture(inMemory: true)
    let index = try #require(fixture.entity("Item").indexes.first { $0.name == "Item.bySI32" })
    let reader = IndexKeyReader(index)
    var values: [AttributeValue] = []
    for length in 0..<40 {
      let bytes = [UInt8](repeating: 0x10, count: length)
      bytes.withUnsafeBytes { #expect(!reader.values($0, into: &values)) }
    }
  }
}
