import Foundation

@testable import StrataCore

/// Random attribute values that collide often, lie at boundaries, and differ in single bytes.
struct RandomValues {
  var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }
  mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
  mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }

  mutating func value(_ type: AttributeType, nilPercent: Int = 15) -> AttributeValue {
    if chance(nilPercent) { return .null }
    switch type {
    case .integer16: return .integer(chance(10) ? pick([-32768, 32767, 0, -1]) : Int64(below(20)) - 10)
    case .integer32:
      return .integer(chance(10) ? pick([-2_147_483_648, 2_147_483_647]) : Int64(below(40)) - 20)
    case .integer64: return .integer(chance(10) ? pick([.min, .max, -1, 0]) : Int64(below(60)) - 30)
    case .boolean: return .boolean(chance(50))
    case .float:
      return .float(chance(20) ? pick([-0.0, 0.0, .infinity, -.infinity, .nan]) : Float(below(20)) / 4 - 2)
    case .double:
      return .double(chance(20) ? pick([-0.0, 0.0, .infinity, -.infinity, .nan]) : Double(below(40)) / 8 - 2)
    case .decimal: return .decimal(Decimal(below(400) - 200) / 100)
    case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(below(50)) * 0.5 - 10))
    case .string: return .string(string())
    case .binaryData: return .data(Data((0..<below(chance(5) ? 3000 : 6)).map { _ in UInt8(below(3)) }))
    case .uuid:
      return .uuid(UUID(uuid: (UInt8(below(3)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(below(4)))))
    case .uri: return .url(URL(string: "http://example.org/\(below(20))") ?? URL(fileURLWithPath: "/"))
    default: return .null
    }
  }

  /// Short strings with zero bytes and several scripts, and long ones with the same beginning.
  mutating func string() -> String {
    if chance(12) {
      let length = pick([120, 200, 253, 254, 255, 256, 300, 1024, 1025, 2000])
      return String(repeating: "x", count: length) + pick(["", "a", "b", "c"])
    }
    return (0..<below(4)).map { _ in pick(["a", "b", "B", "\0", "é", "e\u{301}", "日", "🏄", "\u{7F}"]) }
      .joined()
  }
}
