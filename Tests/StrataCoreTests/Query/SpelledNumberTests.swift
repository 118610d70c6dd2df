import Foundation
import Testing

@testable import StrataCore

/// Texts beside numbers and numbers beside texts.
@Suite struct SpelledNumberTests {
  private func value(_ text: String, _ type: AttributeType) -> AttributeValue? {
    SpelledNumber(text)?.value(beside: type)
  }

  @Test(arguments: [
    ("5", 5), (" 5 ", 5), ("\t5\r\n", 5), ("+5", 5), ("-3", -3), ("5.0", 5), ("5.", 5), ("1e3", 1_000),
    ("1E+3", 1_000),
    ("50e-1", 5), ("-0", 0), ("0e999999999999999999999", 0), ("9223372036854775807", Int64.max),
    ("-9223372036854775808", Int64.min), ("0009007199254740993", 9_007_199_254_740_993),
  ])
  func wholeNumbersAreExact(text: String, number: Int64) {
    for type in [AttributeType.integer16, .integer64, .boolean, .decimal] {
      #expect(value(text, type) == .integer(number), "\(text) beside \(type)")
    }
    #expect(value(text, .double) == .double(Double(number)))
    #expect(value(text, .float) == .float(Float(number)))
  }

  @Test(arguments: [
    "", " ", "x", "5x", "x5", "5 5", "1,5", "0x10", "nan", "inf", "infinity", "1e", "e5", ".", "-", "+-5",
    "5.5.5", "--5",
    "1e5.5", "٥", "5\u{A0}", "true",
  ])
  func otherTextsSpellNone(text: String) {
    #expect(value(text, .integer64) == nil)
    #expect(ComparedValues.adapted(.string(text), beside: .double) == .string(text))
  }

  @Test func fractionsAreWhatTheTypeCanHold() {
    #expect(value(".1", .double) == .double(0.1))
    #expect(value("0.1", .float) == .float(0.1))
    #expect(value("0.1", .decimal) == .decimal(Decimal(1) / 10))
    let digits = "1234567890123456789012345678.9012345678"
    #expect(value(digits, .decimal) == Decimal(string: digits).map { .decimal($0) })
    #expect(value("1e400", .double) == .double(.infinity))
    #expect(value("-1e400", .integer64) == .double(-.infinity))
    #expect(value("1e-400", .double) == .double(0))
  }

  /// Where a text lies among integers, also where no decimal and no double does.
  @Test func textsLieBetweenIntegers() {
    let zeros = String(repeating: "0", count: 60)
    let places: [(String, OperandPosition)] = [
      ("5.\(zeros)1", .after(.integer(5))), ("-5.\(zeros)1", .after(.integer(-6))),
      ("9223372036854775806.5", .after(.integer(.max - 1))), ("9223372036854775807.5", .above),
      ("9223372036854775808", .above), ("1\(zeros)", .above), ("-1e400", .below),
      ("1e-400", .after(.integer(0))),
    ]
    for (text, position) in places {
      let found = value(text, .integer64).flatMap { OperandPosition($0, type: .integer64) }
      #expect(found == position, "\(text)")
    }
  }

  @Test func numbersAreWrittenAsSQLiteWritesThem() {
    func text(_ value: AttributeValue) -> AttributeValue { ComparedValues.adapted(value, beside: .string) }
    #expect(text(.integer(-5)) == "-5")
    #expect(text(.double(5)) == "5.0")
    #expect(text(.float(0.1)) == "0.1")
    #expect(text(.decimal(Decimal(15) / 10)) == "1.5")
    #expect(text(.boolean(true)) == "1" && text(.boolean(false)) == "0")
    #expect(text(.null) == .null)
    let date = AttributeValue.date(Date(timeIntervalSinceReferenceDate: 5))
    #expect(text(date) == date)
    #expect(ComparedValues.adapted(5, beside: .date) == 5)
  }

  @Test func valuesOfDifferentKindsHaveNoOrder() {
    let values: [AttributeValue] = [
      5, "5", .date(Date(timeIntervalSinceReferenceDate: 5)), .data(Data([5])), .uuid(UUID()), .null,
    ]
    for (place, left) in values.enumerated() {
      for (other, right) in values.enumerated() where place != other {
        #expect(!ComparedValues.isOrdered(left, right, [], orSame: true), "\(left) <= \(right)")
      }
    }
    #expect(ComparedValues.isOrdered(.boolean(false), .double(0.5), [], orSame: false))
    #expect(ComparedValues.isOrdered(.decimal(1), 1, [], orSame: true))
  }
}
