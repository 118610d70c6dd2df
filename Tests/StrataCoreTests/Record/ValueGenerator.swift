import Foundation

@testable import StrataCore

/// Random values of every type, with a preference for the edges. The same seed gives the same values.
struct ValueGenerator: RandomNumberGenerator {
  static let storedTypes: [AttributeType] = AttributeType.allCases.filter { SlotKind($0) != nil }

  private var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  /// A generator with the seed of `testSeed`.
  static func printed(_ test: String = #function) -> ValueGenerator { ValueGenerator(seed: testSeed(test)) }

  mutating func next() -> UInt64 { generator.next() }

  mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &self) == 0 }

  /// A value of the type, sometimes nil.
  mutating func value(_ type: AttributeType, longest: Int = 65_536) -> AttributeValue {
    if chance(20) { return .null }
    switch type {
    case .integer16: return .integer(Int64(Int16(truncatingIfNeeded: integer())))
    case .integer32: return .integer(Int64(Int32(truncatingIfNeeded: integer())))
    case .integer64: return .integer(integer())
    case .boolean: return .boolean(Bool.random(using: &self))
    case .double: return .double(double())
    case .float: return .float(float())
    case .date: return .date(Date(timeIntervalSinceReferenceDate: double()))
    case .decimal: return .decimal(decimal())
    case .string: return .string(string(longest: longest))
    case .binaryData: return .data(data(longest: longest))
    case .uuid: return .uuid(uuid())
    case .uri: return .url(url())
    case .undefined, .transformable, .objectID, .composite: return .null
    }
  }

  /// A value close to `value`: the same, a small change, or a new one.
  mutating func neighbour(_ value: AttributeValue, _ type: AttributeType) -> AttributeValue {
    guard !chance(2) else { return self.value(type) }
    switch value {
    case .integer(let x):
      return AttributeValue(x &+ Int64.random(in: -1...1, using: &self), type: type) ?? value
    case .double(let x): return .double(chance(2) ? x.nextUp : -x)
    case .float(let x): return .float(chance(2) ? x.nextUp : -x)
    case .date(let x):
      return .date(Date(timeIntervalSinceReferenceDate: x.timeIntervalSinceReferenceDate.nextUp))
    case .decimal(let x): return .decimal(chance(2) ? -x : x + Decimal(string: "0.001")!)
    case .string(let x): return .string(chance(3) ? x : x + fragment())
    case .data(let x): return .data(chance(3) ? x : x + [UInt8.random(in: 0...2, using: &self)])
    default: return value
    }
  }

  private mutating func integer() -> Int64 {
    switch Int.random(in: 0..<5, using: &self) {
    case 0:
      let edges = [
        0, 1, -1, .min, .max, Int64(Int32.min), Int64(Int32.max), Int64(Int16.min), Int64(Int16.max),
      ]
      return edges.randomElement(using: &self)!
    case 1: return Int64.random(in: -10...10, using: &self)
    default: return Int64(bitPattern: next()) >> Int64.random(in: 0..<64, using: &self)
    }
  }

  private mutating func double() -> Double {
    switch Int.random(in: 0..<5, using: &self) {
    case 0:
      let edges: [Double] = [
        0, -0.0, .nan, -.nan, Double(nan: 77, signaling: false), .infinity, -.infinity,
        .leastNonzeroMagnitude,
        -.leastNonzeroMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, 1, -1, .ulpOfOne,
      ]
      return edges.randomElement(using: &self)!
    case 1: return Double(Int.random(in: -10...10, using: &self))
    case 2: return Double.random(in: -1e9...1e9, using: &self)
    default: return Double(bitPattern: next())
    }
  }

  private mutating func float() -> Float {
    switch Int.random(in: 0..<4, using: &self) {
    case 0:
      let edges: [Float] = [0, -0.0, .nan, -.nan, .infinity, -.infinity, .leastNonzeroMagnitude, 1, -1]
      return edges.randomElement(using: &self)!
    case 1: return Float(Int.random(in: -10...10, using: &self))
    default: return Float(bitPattern: UInt32(truncatingIfNeeded: next()))
    }
  }

  private mutating func decimal() -> Decimal {
    switch Int.random(in: 0..<6, using: &self) {
    case 0:
      let edges: [Decimal] = [
        0, 1, -1, .nan, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNonzeroMagnitude,
        -.leastNonzeroMagnitude, 10, 100, Decimal(string: "0.1")!, Decimal(string: "-1.10")!,
        .greatestFiniteMagnitude - Decimal(sign: .plus, exponent: 127, significand: 5),
      ]
      return edges.randomElement(using: &self)!
    case 1: return Decimal(Int.random(in: -100...100, using: &self))
    default:
      let length = Int.random(in: 1...38, using: &self)
      var digits = ""
      for _ in 0..<length { digits += String(Int.random(in: 0...9, using: &self)) }
      return Decimal(
        sign: Bool.random(using: &self) ? .minus : .plus, exponent: Int.random(in: -60...60, using: &self),
        significand: Decimal(string: digits)!)
    }
  }

  private mutating func fragment() -> String {
    ["", "a", "b", "\0", "\0\0", "é", "e\u{301}", "\u{FF}", "\u{10FFFF}", "zz"].randomElement(using: &self)!
  }

  private mutating func length(longest: Int) -> Int {
    switch Int.random(in: 0..<200, using: &self) {
    case 0: Int.random(in: 0...longest, using: &self)
    case 1..<60: min(longest, [253, 254, 255, 256, 257, 1_023, 1_024, 1_025].randomElement(using: &self)!)
    default: min(longest, Int.random(in: 0...20, using: &self))
    }
  }

  /// About the wanted length in bytes, and at most that.
  private mutating func string(longest: Int) -> String {
    let wanted = length(longest: longest)
    let body = ["a", "a", "b", "\0", "é"].randomElement(using: &self)!
    let unit = body.utf8.count
    var result = String(repeating: body, count: wanted / unit)
    for _ in 0..<Int.random(in: 0...3, using: &self) {
      let more = fragment()
      if result.utf8.count + more.utf8.count <= longest { result += more }
    }
    return result
  }

  private mutating func data(longest: Int) -> Data {
    let wanted = length(longest: longest)
    var result = Data(repeating: [0, 0, 1, 0x61, 0xFF].randomElement(using: &self)!, count: wanted)
    if wanted > 0, chance(2) { result[wanted - 1] = UInt8.random(in: 0...2, using: &self) }
    return result
  }

  private mutating func uuid() -> UUID {
    var bytes = UUID().uuid
    let words = (next(), next())
    withUnsafeMutableBytes(of: &bytes) { bytes in
      bytes.storeBytes(of: words.0, as: UInt64.self)
      bytes.storeBytes(of: words.1, toByteOffset: 8, as: UInt64.self)
      if words.0 % 3 == 0 { for index in 0..<8 { bytes[index] = 0 } }
    }
    return UUID(uuid: bytes)
  }

  private mutating func url() -> URL {
    let path = String(repeating: "x", count: length(longest: 1_100))
    let host = ["a", "b", "example.org"].randomElement(using: &self)!
    return URL(string: "https://\(host)/\(path)?q=\(Int.random(in: 0...9, using: &self))")!
  }
}

extension RowLayout {
  /// A layout of unnamed slots.
  static func of(_ kinds: [SlotKind]) throws -> RowLayout {
    try RowLayout(
      slots: kinds.enumerated().map { RowLayout.Slot(name: "s\($0)", canonicalName: "s\($0)", kind: $1) })
  }
}

extension RowDraft {
  /// A complete draft with these values.
  static func of(_ layout: RowLayout, _ values: [AttributeValue]) -> RowDraft {
    make(layout, defaults: values)
  }
}

/// Encodes one row by itself.
func encode(
  _ layout: RowLayout, _ draft: RowDraft, over base: RowSnapshot? = nil, primaryKey: UInt64 = 1,
  version: UInt32 = 1
) throws -> (snapshot: RowSnapshot, externals: [ExternalValue]) {
  var writer = RowSlabWriter()
  return try RowEncoder.encode(
    layout: layout, stamp: RowStamp(layoutNumber: 7, entityCode: 9), primaryKey: primaryKey, version: version,
    base: base, draft: draft, into: &writer)
}

/// The same bits, not only the same place in the order.
func isIdentical(_ a: AttributeValue, _ b: AttributeValue) -> Bool {
  switch (a, b) {
  case (.double(let x), .double(let y)): x.bitPattern == y.bitPattern
  case (.float(let x), .float(let y)): x.bitPattern == y.bitPattern
  case (.date(let x), .date(let y)):
    x.timeIntervalSinceReferenceDate.bitPattern == y.timeIntervalSinceReferenceDate.bitPattern
  case (.null, .null): true
  case (.null, _), (_, .null): false
  default: a.isSame(b)
  }
}
