import Foundation
import Testing

@testable import StrataCore

@Suite struct AttributeValueTests {
  @Test("Type numbers are Core Data's (rule 333)")
  func typeNumbersAreCoreDatas() {
    let numbers = AttributeType.allCases.map(\.rawValue)
    #expect(
      numbers == [
        0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1800, 2000, 2100,
      ])
  }

  @Test("Key-value coding's values are taken when nothing is lost")
  func coercionKeepsValues() {
    func coerce(_ any: Any?, _ type: AttributeType) -> AttributeValue? { AttributeValue(any, type: type) }
    #expect(coerce(nil, .string) == .null && coerce(String?.none as Any, .string) == .null)
    #expect(coerce(String??.some(nil) as Any, .date) == .null)
    #expect(coerce(5, .integer16) == 5 && coerce(UInt8(5), .integer64) == 5 && coerce(3.0, .integer32) == 3)
    #expect(
      coerce(70_000, .integer16) == nil && coerce(3.5, .integer64) == nil && coerce("3", .integer64) == nil)
    #expect(coerce(UInt64.max, .integer64) == nil && coerce(Int64.min, .integer32) == nil)
    #expect(coerce(1, .double) == .double(1) && coerce(Float(0.5), .double) == .double(0.5))
    #expect(coerce(0.1, .float) == .float(0.1) && coerce(0.1, .decimal) == .decimal(Decimal(string: "0.1")!))
    #expect(coerce(Decimal(string: "1.5")!, .double) == 1.5 && coerce(Double.nan, .decimal) == .decimal(.nan))
    #expect(coerce(true, .boolean) == true && coerce(1, .boolean) == true && coerce(2, .boolean) == nil)
    #expect(
      coerce("x", .string) == "x" && coerce("xy".prefix(1), .string) == "x" && coerce(5, .string) == nil)
    #expect(coerce(Data([1]), .binaryData) == .data(Data([1])) && coerce([UInt8(1)], .binaryData) != nil)
    let date = Date(timeIntervalSinceReferenceDate: 1.25)
    #expect(coerce(date, .date) == .date(date) && coerce(1.25, .date) == nil)
    let uuid = UUID()
    #expect(coerce(uuid, .uuid) == .uuid(uuid) && coerce(uuid.uuidString, .uuid) == nil)
    let url = URL(string: "a:b")!
    #expect(coerce(url, .uri) == .url(url) && coerce("a:b", .uri) == nil)
    #expect(coerce(NSObject(), .string) == nil && coerce(NSNull(), .string) == nil)
    #expect(coerce(AttributeValue.integer(4), .double) == .double(4))
  }

  @Test("Foundation's reference types count as their values")
  func referenceTypesAreTaken() {
    func coerce(_ any: Any?, _ type: AttributeType) -> AttributeValue? { AttributeValue(any, type: type) }
    #expect(coerce(NSNumber(value: 5), .integer16) == 5 && coerce(NSNumber(value: 5.5), .double) == 5.5)
    #expect(
      coerce(NSNumber(value: 5.5), .integer16) == nil && coerce(NSNumber(value: true), .boolean) == true)
    #expect(coerce(NSNumber(value: Int64.max), .integer64) == .integer(.max))
    #expect(coerce(NSString(string: "x"), .string) == "x")
    #expect(coerce(NSDecimalNumber(string: "1.1"), .decimal) == .decimal(Decimal(string: "1.1")!))
    #expect(coerce(NSData(data: Data([7])), .binaryData) == .data(Data([7])))
    #expect(coerce(NSDate(timeIntervalSinceReferenceDate: 2), .date) != nil)
    #expect(coerce(NSURL(string: "a:b"), .uri) != nil)
  }

  @Test("The order is total, across numeric types too, and hashing agrees with it")
  func orderIsTotal() {
    var random = ValueGenerator.printed()
    let types = ValueGenerator.storedTypes
    let numeric: [AttributeType] = [.integer64, .double, .float, .decimal]
    for round in 0..<rounds(10_000, long: 100_000) {
      let pool = round % 2 == 0 ? numeric : types
      let values = (0..<3).map { _ in random.value(pool.randomElement(using: &random)!, longest: 20) }
      let (a, b, c) = (values[0], values[1], values[2])
      // An expectation for each would take longer than what it looks at.
      if AttributeValue.compare(a, b).signum() != -AttributeValue.compare(b, a).signum() {
        Issue.record("\(a) and \(b) compare in one direction only")
      }
      if a != a || (a == b && a.hashValue != b.hashValue) { Issue.record("hashes of \(a) and \(b)") }
      if AttributeValue.compare(a, b) <= 0 && AttributeValue.compare(b, c) <= 0 {
        if AttributeValue.compare(a, c) > 0 { Issue.record("\(a) ≤ \(b) ≤ \(c), but \(a) > \(c)") }
      }
    }
  }

  @Test("Numbers compare by value across types, exactly")
  func numbersCompareExactly() {
    func order(_ a: AttributeValue, _ b: AttributeValue) -> Int { AttributeValue.compare(a, b).signum() }
    #expect(order(5, 5.0) == 0 && order(5, .decimal(5)) == 0 && order(.float(5), 5) == 0)
    #expect(AttributeValue.integer(5).hashValue == AttributeValue.double(5).hashValue)
    #expect(AttributeValue.decimal(5).hashValue == AttributeValue.double(5).hashValue)
    #expect(order(.integer(1 << 53 + 1), .double(0x1p53)) == 1)
    #expect(order(.integer(.max), .double(0x1p63)) == -1 && order(.integer(.min), .double(-0x1p63)) == 0)
    #expect(order(.decimal(Decimal(string: "0.1")!), 0.1) == -1)
    #expect(
      order(.decimal(Decimal(string: "0.5")!), 0.5) == 0 && order(0.5, .decimal(Decimal(string: "0.5")!)) == 0
    )
    #expect(order(.double(.infinity), .decimal(.greatestFiniteMagnitude)) == 1)
    #expect(order(.double(.nan), .double(.infinity)) == 1 && order(.double(.nan), .decimal(.nan)) == 0)
    #expect(order(-0.0, 0.0) == 0 && order(.null, .double(-.infinity)) == -1 && order(false, true) == -1)
  }

  @Test("Strings compare by bytes, also where Swift calls them equal")
  func stringsCompareByBytes() {
    #expect(AttributeValue.string("é") != AttributeValue.string("e\u{301}"))
    #expect(AttributeValue.compare("Z", "a") < 0 && AttributeValue.compare("a", "a\0") < 0)
  }

  @Test("Every value has a description, also dates Foundation cannot describe")
  func everyValueHasADescription() {
    for seconds in [Double.nan, .infinity, -.infinity, 1e300, -1e15, 0] {
      #expect(!AttributeValue.date(Date(timeIntervalSinceReferenceDate: seconds)).description.isEmpty)
    }
    #expect(AttributeValue.date(Date(timeIntervalSinceReferenceDate: .nan)).description == "nan s since 2001")
    #expect(AttributeValue.date(Date(timeIntervalSinceReferenceDate: 0)).description.hasPrefix("2001-01-01"))
  }

  @Test("Decimals of every length come back exactly")
  func decimalsAreExact() throws {
    for text in [
      "340282366920938463463374607431768211455", "1", "-0.1", "123456789012345678901234567890.12345",
    ] {
      let value = Decimal(string: text)!
      #expect(try #require(DecimalDigits(value).decimal) == value)
    }
    let greatest = Decimal.greatestFiniteMagnitude
    let step = Decimal(sign: .plus, exponent: 127, significand: 1)
    let edges = [greatest, .leastNonzeroMagnitude, -greatest, greatest - step * 5, step * 5 - greatest, step]
    for value in edges + [
      Decimal(sign: .plus, exponent: -128, significand: 7), greatest / 3, greatest - step,
    ] {
      #expect(try #require(DecimalDigits(value).decimal) == value)
    }
    #expect(try #require(DecimalDigits(Decimal.nan).decimal).isNaN)
    let tooMany = DecimalDigits(kind: .positive, exponent: 38, digits: Array(repeating: 9, count: 39))
    let tooLarge = DecimalDigits(kind: .positive, exponent: 166, digits: [9])
    #expect(tooMany.decimal == nil && tooLarge.decimal == nil)
    #expect(
      DecimalDigits(0.1).digits.count == 55 && DecimalDigits(Double.leastNonzeroMagnitude).digits.count == 751
    )
  }
}
