import Foundation
import Strata
import TortureKit

/// Attribute values that collide often, lie at boundaries, and are sometimes too large for a row or a key.
extension SeededGenerator {
  /// A value for the attribute, or nil.
  mutating func value(for attribute: TortureModel.Attribute) -> AttributeValue {
    if attribute.name == "rank" { return chance(2) ? .null : .integer(Int64(below(5))) }
    if chance(12) { return .null }
    switch attribute.type {
    case .integer16:
      return .integer(chance(10) ? Int64(pick([Int16.min, .max, -1, 0])) : Int64(below(12)) - 6)
    case .integer32:
      return .integer(chance(10) ? Int64(pick([Int32.min, .max, -1, 0])) : Int64(below(30)) - 15)
    case .integer64: return .integer(chance(10) ? pick([Int64.min, .max, -1, 0]) : Int64(below(30)) - 15)
    case .boolean: return .boolean(chance(50))
    case .float: return .float(chance(15) ? pick(Self.floats) : Float(below(20)) / 4 - 2)
    case .double: return .double(chance(15) ? pick(Self.doubles) : Double(below(40)) / 8 - 2)
    case .decimal: return .decimal(decimal())
    case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(below(40)) * 0.5 - 10))
    case .uuid:
      return .uuid(UUID(uuid: (UInt8(below(3)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(below(5)))))
    case .uri: return .url(url())
    case .binaryData: return .data(data())
    case .string:
      switch attribute.name {
      case "code": return .string("c\(below(400))")
      case "text": return .string(chance(30) ? longText() : shortText())
      default: return .string(chance(10) ? cutText() : shortText())
      }
    default: return .null
    }
  }

  private static let floats: [Float] = [-0.0, 0.0, .infinity, -.infinity, .nan, .leastNonzeroMagnitude]
  private static let doubles: [Double] = [-0.0, 0.0, .infinity, -.infinity, .nan, .leastNonzeroMagnitude]

  private mutating func decimal() -> Decimal {
    if chance(10) {
      let special = ["0", "-0.0001", "99999999999999999999999999999999999999", "1e-100", "-1e90"]
      return Decimal(string: pick(special)) ?? 0
    }
    return Decimal(below(400) - 200) / 100
  }

  private mutating func shortText() -> String {
    let parts = ["a", "b", "B", "\0", "é", "e\u{301}", "日", "🏄", "\u{7F}", " "]
    return (0..<below(4)).map { _ in pick(parts) }.joined()
  }

  /// Around the length at which keys are cut, with differences behind the cut.
  private mutating func cutText() -> String {
    String(repeating: "x", count: pick([100, 243, 245, 252, 253, 254, 255, 256, 300]))
      + pick(["", "a", "b", "\0"])
  }

  /// Around the length at which values leave the row, and far beyond it.
  private mutating func longText() -> String {
    let length = pick([1_000, 1_023, 1_024, 1_025, 1_100, 2_000, 5_000, 20_000, 66_000])
    return String(repeating: pick(["y", "z"]), count: length - 1) + pick(["1", "2", "3"])
  }

  private mutating func data() -> Data {
    if chance(20) {
      return Data(repeating: UInt8(below(4)), count: pick([1_024, 1_025, 4_000, 4_096, 30_000, 100_000]))
    }
    return Data((0..<below(6)).map { _ in UInt8(pick([0, 1, 2, 255])) })
  }

  private mutating func url() -> URL {
    let path = chance(10) ? String(repeating: "p", count: pick([230, 240, 1_100])) : "\(below(12))"
    // A host and a path of letters and digits make a URL.
    return URL(string: "https://example.org/\(path)") ?? URL(fileURLWithPath: "/")
  }
}
