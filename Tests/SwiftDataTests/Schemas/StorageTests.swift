import StrataCore
import Testing

@testable import SwiftData

private enum Shade: String, Codable { case dark, light }
private enum Level: Int, Codable, CaseIterable { case low = 3, high = 9 }
private enum Answer: Codable, Equatable { case none, text(String), number(value: Int) }
private struct Flags: OptionSet, Codable, Hashable {
  var rawValue: UInt8
  static let open = Flags(rawValue: 1)
}

private struct Point: Codable, Equatable {
  var latitude: Double
  var longitude: Double
}

private struct Postal: Codable, Equatable {
  var city: String
  var zip: Int?
  var shade: Shade
  var point: Point
  var lines: [String]
  var answer: Answer
}

/// Coding keys by other names, in another order.
private struct Renamed: Codable, Equatable {
  var first: String
  var second: Int
  enum CodingKeys: String, CodingKey {
    case second = "2"
    case first = "1"
  }
}

private struct AllOptional: Codable, Equatable {
  var a: Int?
  var b: String?
}

/// Writes a key that it does not read.
private struct Lossy: Codable, Equatable {
  var a: Int
  enum CodingKeys: CodingKey { case a, b }
  init(a: Int) { self.a = a }
  init(from decoder: any Decoder) throws {
    a = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .a)
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(a, forKey: .a)
    try container.encode(a, forKey: .b)
  }
}

private struct Unkeyed: Codable, Equatable {
  var x: Int
  init(x: Int) { self.x = x }
  init(from decoder: any Decoder) throws {
    var container = try decoder.unkeyedContainer()
    x = try container.decode(Int.self)
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    try container.encode(x)
  }
}

private struct Picky: Codable, Equatable {
  var name: String
  init(name: String) { self.name = name }
  init(from decoder: any Decoder) throws {
    name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
    if name.isEmpty {
      throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "a name is not empty"))
    }
  }
}

/// Which of its keys it codes depends on the first.
private struct Reading: Codable, Equatable {
  var kind = 0
  var text: String?
  var number: Double?
  enum CodingKeys: CodingKey { case kind, text, number }
  init(kind: Int, text: String? = nil, number: Double? = nil) {
    (self.kind, self.text, self.number) = (kind, text, number)
  }
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    kind = try container.decode(Int.self, forKey: .kind)
    if kind == 0 {
      text = try container.decode(String.self, forKey: .text)
    } else {
      number = try container.decode(Double.self, forKey: .number)
    }
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(kind, forKey: .kind)
    if kind == 0 {
      try container.encode(text ?? "", forKey: .text)
    } else {
      try container.encode(number ?? 0, forKey: .number)
    }
  }
}

/// The same with an enum for what differs, and keys by other names.
private struct Measured: Codable, Equatable {
  var answer: Answer
  enum CodingKeys: String, CodingKey {
    case kind = "k"
    case text = "t"
    case number = "n"
  }
  init(answer: Answer) { self.answer = answer }
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    switch try container.decode(Int.self, forKey: .kind) {
    case 0: answer = .none
    case 1: answer = .text(try container.decode(String.self, forKey: .text))
    default: answer = .number(value: try container.decode(Int.self, forKey: .number))
    }
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch answer {
    case .none: try container.encode(0, forKey: .kind)
    case .text(let text):
      try container.encode(1, forKey: .kind)
      try container.encode(text, forKey: .text)
    case .number(let number):
      try container.encode(2, forKey: .kind)
      try container.encode(number, forKey: .number)
    }
  }
}

/// One property has no coding key.
private struct Cached: Codable, Equatable {
  var name: String
  var count: Int
  var cache = 0
  enum CodingKeys: String, CodingKey {
    case name = "n"
    case count
  }
}

/// One coding key is of older values only.
private struct Grown: Codable, Equatable {
  var name: String
  enum CodingKeys: CodingKey { case name, title }
  init(name: String) { self.name = name }
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    name = try container.decode(String.self, forKey: container.contains(.name) ? .name : .title)
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
  }
}

/// Both in one.
private struct CachedAndGrown: Codable, Equatable {
  var name: String
  var count: Int
  var cache = 0
  var found: [Int] = []
  enum CodingKeys: String, CodingKey {
    case name = "n"
    case count
    case title = "t"
  }
  init(name: String, count: Int) { (self.name, self.count) = (name, count) }
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    name = try container.decode(String.self, forKey: container.contains(.name) ? .name : .title)
    count = try container.decode(Int.self, forKey: .count)
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(count, forKey: .count)
  }
}

/// As `Reading`, with keys by other names, and asking which there are.
private struct Sparse: Codable, Equatable {
  var kind = 0
  var other = 0
  enum CodingKeys: String, CodingKey {
    case kind = "k"
    case other = "o"
  }
  init(kind: Int, other: Int) { (self.kind, self.other) = (kind, other) }
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if container.contains(.kind) { kind = try container.decode(Int.self, forKey: .kind) }
    if kind != 0 { other = try container.decode(Int.self, forKey: .other) }
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(kind, forKey: .kind)
    if kind != 0 { try container.encode(other, forKey: .other) }
  }
}

@Suite("S67–S71: how values lie in attributes")
struct StorageTests {
  private func type(of type: Any.Type) -> AttributeType? {
    AttributeStorage.of(type).description(named: "a").attributeType
  }

  /// The value, stored and read.
  private func back<Value: Equatable>(_ value: Value) throws -> Value? {
    let storage = AttributeStorage.of(Value.self)
    if case .composite = storage.form {
      return try storage.value(elements: storage.elements(value)).map { $0 as! Value }
    }
    let codec = AttributeCodec<Value>.of(storage)
    return try codec.value(codec.stored(value))
  }

  @Test("S67: numbers of every width, at their ends")
  func numbers() throws {
    #expect(type(of: Int8.self) == .integer16 && type(of: UInt8.self) == .integer16)
    #expect(type(of: Int16.self) == .integer16 && type(of: UInt16.self) == .integer32)
    #expect(type(of: Int32.self) == .integer32 && type(of: UInt32.self) == .integer64)
    #expect(type(of: Int64.self) == .integer64 && type(of: Int.self) == .integer64)
    #expect(try back(Int8.min) == .min && back(UInt8.max) == .max && back(UInt16.max) == .max)
    #expect(try back(UInt32.max) == .max && back(Int64.min) == .min && back(Int.max) == .max)
    #expect(type(of: CGFloat.self) == .double)
    #expect(try back(CGFloat(1.5)) == 1.5 && back(Float(0.1)) == 0.1 && back(Double.infinity) == .infinity)
  }

  @Test("S69: unsigned numbers beyond those with a sign are exact and in order")
  func unsigned() throws {
    #expect(type(of: UInt.self) == .decimal && type(of: UInt64.self) == .decimal)
    let numbers: [UInt64] = [0, 1, UInt64(Int64.max), UInt64(Int64.max) + 1, .max]
    #expect(try numbers.map { try back($0) } == numbers)
    let stored = try numbers.map { number -> Decimal in
      guard case .decimal(let decimal) = try AttributeStorage.of(UInt64.self).stored(number) else {
        return -1
      }
      return decimal
    }
    #expect(stored == stored.sorted())
  }

  @Test("S67: texts, dates, data, identifiers, and their optionals")
  func others() throws {
    let types: [(Any.Type, AttributeType)] = [
      (String.self, .string), (Date.self, .date), (Data.self, .binaryData), (UUID.self, .uuid),
      (URL.self, .uri), (Decimal.self, .decimal), (Bool.self, .boolean),
    ]
    for (swift, attribute) in types { #expect(type(of: swift) == attribute) }
    #expect(!AttributeStorage.of(String.self).isOptional && AttributeStorage.of(String?.self).isOptional)
    #expect(try back(String?.none) == .some(nil) && back(Int?.some(3)) == 3)
  }

  @Test("S68: what has a raw value is stored as that")
  func rawValues() throws {
    #expect(type(of: Shade.self) == .string && type(of: Level.self) == .integer64)
    #expect(type(of: Flags.self) == .integer16)
    #expect(try AttributeStorage.of(Level.self).stored(Level.high).anyValue as? Int64 == 9)
    #expect(try back(Shade.light) == .light && back(Level?.some(.low)) == .low && back(Flags.open) == .open)
    #expect(throws: UnsuitableValue.self) { try AttributeStorage.of(Level.self).value(.integer(4)) }
  }

  @Test(
    "S68: a struct has an element for each key, nested structs too; within it JSON for what has no column")
  func composites() throws {
    let description = AttributeStorage.of(Postal.self).description(named: "address")
    let composite = try #require(description as? CompositeAttributeDescription)
    #expect(composite.elements.map(\.name) == ["city", "zip", "shade", "point", "lines", "answer"])
    #expect(
      composite.elements.map(\.attributeType) == [
        .string, .integer64, .string, .composite, .binaryData, .binaryData,
      ])
    #expect(composite.elements.map(\.isOptional) == [false, true, false, true, false, false])
    let address = Postal(
      city: "Bern", zip: nil, shade: .light, point: Point(latitude: 1, longitude: 2), lines: ["a", "b"],
      answer: .number(value: 3))
    #expect(try back(address) == address)
    #expect(try back(Postal?.some(address)) == address)
    let elements = try #require(try AttributeStorage.of(Postal.self).elements(address))
    #expect(elements["city"] as? String == "Bern" && elements["zip"] == nil)
    #expect((elements["point"] as? [String: Any])?["longitude"] as? Double == 2)
  }

  @Test("S68: key paths into a struct are known by its coding keys")
  func elementPaths() {
    let storage = AttributeStorage.of(Postal.self)
    #expect(storage.elementName(for: \Postal.city) == "city")
    #expect(storage.elementName(for: \Postal.point.latitude) == "point.latitude")
    #expect(storage.elementName(for: \Postal.city.count) == nil)
    let renamed = AttributeStorage.of(Renamed.self)
    #expect(
      renamed.elementName(for: \Renamed.first) == "1" && renamed.elementName(for: \Renamed.second) == "2")
  }

  @Test("K13: a struct without any value is there nevertheless")
  func emptyComposites() throws {
    #expect(try back(AllOptional()) == AllOptional())
    #expect(try back(AllOptional?.some(AllOptional())) == .some(AllOptional()))
    #expect(try AttributeStorage.of(AllOptional?.self).value(elements: nil) == nil)
    #expect(try back(Renamed(first: "a", second: 1)) == Renamed(first: "a", second: 1))
  }

  @Test("S68, K13: what is no struct with plain keyed coding is JSON")
  func blobs() throws {
    for type: Any.Type in [
      [String].self, [Int?].self, [String: Int].self, Set<Int>.self, Answer.self, Lossy.self, Unkeyed.self,
      Picky.self, CGRect.self, Measurement<UnitLength>.self, [Point].self,
    ] {
      #expect(self.type(of: type) == .binaryData, "\(type)")
    }
    #expect(try back([1, nil, 3]) == [1, nil, 3] && back(["a": 1]) == ["a": 1])
    #expect(try back(Answer.text("a")) == .text("a") && back(Answer.none) == Answer.none)
    #expect(try back(Lossy(a: 1)) == Lossy(a: 1) && back(Unkeyed(x: 2)) == Unkeyed(x: 2))
    #expect(try back(Picky(name: "a")) == Picky(name: "a"))
    #expect(try back([Double.nan]).map { $0[0].isNaN } == true)
    let rect = CGRect(x: 1, y: 2, width: 3, height: 4)
    #expect(try back(rect) == rect)
  }

  @Test("S68: a struct whose coding keys depend on its values is JSON; with fewer keys it is none")
  func valueDependentKeys() throws {
    #expect(type(of: Reading.self) == .binaryData && type(of: Measured.self) == .binaryData)
    #expect(type(of: Sparse.self) == .binaryData)
    #expect(try back(Sparse(kind: 1, other: 2)) == Sparse(kind: 1, other: 2))
    for reading in [Reading(kind: 0, text: "a"), Reading(kind: 1, number: 2)] {
      #expect(try back(reading) == reading)
    }
    for answer in [Answer.none, .text("a"), .number(value: 2)] {
      #expect(try back(Measured(answer: answer)) == Measured(answer: answer))
    }
    #expect(type(of: Cached.self) == .composite && type(of: Grown.self) == .composite)
    #expect(try back(Cached(name: "a", count: 1)) == Cached(name: "a", count: 1))
    #expect(try back(Grown(name: "a")) == Grown(name: "a"))
    #expect(type(of: CachedAndGrown.self) == .composite)
    #expect(try back(CachedAndGrown(name: "a", count: 1)) == CachedAndGrown(name: "a", count: 1))
  }

  @Test("S71: with .codable a struct is JSON too")
  func codable() throws {
    let storage = AttributeStorage.of(Point.self, options: [.codable])
    #expect(storage.description(named: "a").attributeType == .binaryData)
    let stored = try storage.stored(Point(latitude: 1, longitude: 2))
    #expect(try storage.value(stored) as? Point == Point(latitude: 1, longitude: 2))
  }

  @Test("Bytes that are no JSON of the type are an error, not a trap")
  func damaged() {
    let storage = AttributeStorage.of([String].self)
    #expect(throws: (any Error).self) { try storage.value(.data(Data("[[1]]".utf8))) }
    #expect(throws: (any Error).self) { try storage.value(.data(Data("nonsense".utf8))) }
    #expect(throws: (any Error).self) { try storage.value(.integer(1)) }
    #expect(throws: (any Error).self) { try AttributeStorage.of(Postal.self).value(elements: ["zip": 1]) }
    #expect(throws: (any Error).self) {
      try AttributeStorage.of(Point.self).value(elements: ["latitude": "a"])
    }
  }
}
