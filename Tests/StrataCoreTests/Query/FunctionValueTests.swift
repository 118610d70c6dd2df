import Foundation
import Testing

@testable import StrataCore

/// Functions of expressions against plain Swift.
@Suite struct FunctionValueTests {
  private func value(_ function: FetchFunction, _ arguments: AttributeValue...) -> AttributeValue {
    FunctionValue.value(function, arguments)
  }

  @Test func remaindersOfDecimals() throws {
    func decimal(_ text: String) throws -> AttributeValue { .decimal(try #require(Decimal(string: text))) }
    // What has more digits than a decimal has no result that could be trusted.
    #expect(try FunctionValue.value(.modulus, [decimal("1e40"), .integer(7)]).isNull)
    #expect(try FunctionValue.value(.modulus, [decimal("1e20"), decimal("1.234567890123456789e-2")]).isNull)
    #expect(try FunctionValue.value(.modulus, [decimal("3"), decimal("1e40")]) == decimal("3"))
    #expect(try FunctionValue.value(.modulus, [decimal("1e30"), .integer(7)]) == decimal("1"))
    #expect(try FunctionValue.value(.modulus, [decimal("-1e30"), .integer(7)]) == decimal("-1"))
    let nearly = "69999999999999999999999999999999999999"
    #expect(try FunctionValue.value(.modulus, [decimal(nearly), decimal("7e37")]) == decimal(nearly))
  }

  @Test func arithmeticOfIntegersStaysWhole() {
    #expect(value(.add, 2, 3) == 5)
    #expect(value(.subtract, 2, 3) == -1)
    #expect(value(.multiply, -4, 3) == -12)
    #expect(value(.divide, 7, 2) == 3)
    #expect(value(.divide, -7, 2) == -3)
    #expect(value(.modulus, -7, 2) == -1)
    #expect(value(.power, 2, 10) == 1024.0)
    #expect(value(.negate, 4) == -4)
    #expect(value(.absolute, -4) == 4)
    #expect(value(.ceiling, 4) == 4)
  }

  @Test func whatHasNoResultIsNil() {
    for function in [FetchFunction.add, .subtract, .multiply, .divide, .modulus, .power, .concatenate] {
      #expect(value(function, .null, 1).isNull)
      #expect(value(function, 1, .null).isNull)
    }
    #expect(value(.divide, 1, 0).isNull)
    #expect(value(.modulus, 1, 0).isNull)
    #expect(value(.divide, 1.0, 0.0).isNull)
    #expect(value(.add, .integer(.max), 1).isNull)
    #expect(value(.multiply, .integer(.max), 2).isNull)
    #expect(value(.divide, .integer(.min), -1).isNull)
    #expect(value(.negate, .integer(.min)).isNull)
    #expect(value(.absolute, .integer(.min)).isNull)
    #expect(value(.squareRoot, -1).isNull)
    #expect(value(.naturalLogarithm, 0).isNull)
    #expect(value(.exponential, 1_000).isNull)
    #expect(value(.leftShift, 1, -1).isNull)
    #expect(value(.divide, .decimal(1), .decimal(0)).isNull)
    #expect(value(.uppercase, 3).isNull)
    #expect(value(.concatenate, "a", 3).isNull)
  }

  @Test func numbersOfOtherKinds() throws {
    #expect(value(.add, 2, 0.5) == 2.5)
    #expect(value(.divide, 7.0, 2) == 3.5)
    #expect(value(.modulus, 7.5, 2) == 1.5)
    #expect(value(.add, .float(0.5), .integer(1)) == 1.5)
    #expect(
      value(
        .add, .decimal(try #require(Decimal(string: "0.1"))), .decimal(try #require(Decimal(string: "0.2"))))
        == .decimal(try #require(Decimal(string: "0.3"))))
    #expect(
      value(.modulus, .decimal(try #require(Decimal(string: "-7.5"))), 2)
        == .decimal(try #require(Decimal(string: "-1.5"))))
    #expect(value(.squareRoot, 16) == 4.0)
    #expect(value(.exponential, 0) == 1.0)
    #expect(value(.naturalLogarithm, .double(M_E)) == 1.0)
    #expect(value(.logarithm, 1_000) == 3.0)
    #expect(value(.ceiling, -1.5) == -1.0)
    #expect(value(.floor, -1.5) == -2.0)
    #expect(value(.truncate, -1.5) == -1.0)
    #expect(value(.ceiling, .decimal(try #require(Decimal(string: "1.2")))) == .decimal(2))
    #expect(value(.truncate, .decimal(try #require(Decimal(string: "-1.2")))) == .decimal(-1))
  }

  @Test func datesMoveBySeconds() {
    let date = Date(timeIntervalSinceReferenceDate: 1_000)
    #expect(value(.add, .date(date), 5) == .date(date + 5))
    #expect(value(.add, 5, .date(date)) == .date(date + 5))
    #expect(value(.subtract, .date(date), 5) == .date(date - 5))
    #expect(value(.subtract, .date(date + 7), .date(date)) == 7.0)
    #expect(value(.add, .date(date), .date(date)).isNull)
  }

  @Test func bits() {
    #expect(value(.bitwiseAnd, 12, 10) == 8)
    #expect(value(.bitwiseOr, 12, 10) == 14)
    #expect(value(.bitwiseXor, 12, 10) == 6)
    #expect(value(.onesComplement, 0) == -1)
    #expect(value(.leftShift, 1, 4) == 16)
    #expect(value(.leftShift, 1, 64) == 0)
    #expect(value(.rightShift, -16, 2) == -4)
    #expect(value(.rightShift, -16, 80) == -1)
  }

  @Test func texts() {
    #expect(value(.lowercase, "ÅSA") == "åsa")
    #expect(value(.uppercase, "straße") == "STRASSE")
    #expect(value(.canonical, "Ünïté") == "Unite")
    #expect(value(.length, "e\u{301}👩‍👩‍👧") == 2)
    #expect(value(.concatenate, "a", "b", "c") == "abc")
    #expect(value(.coalesce, .null, "b", "c") == "b")
    #expect(value(.coalesce, .null, .null).isNull)
  }

  @Test func casts() {
    func cast(_ value: AttributeValue, _ type: AttributeType) -> AttributeValue {
      FunctionValue.cast(value, to: type)
    }
    #expect(cast("12", .integer32) == 12)
    #expect(cast("1.5", .double) == 1.5)
    #expect(cast("x", .double).isNull)
    #expect(cast(2.9, .integer64) == 2)
    #expect(cast(-2.9, .integer64) == -2)
    #expect(cast(70_000, .integer16).isNull)
    #expect(cast(5, .string) == "5")
    #expect(cast(5, .date) == .date(Date(timeIntervalSinceReferenceDate: 5)))
    #expect(cast(.date(Date(timeIntervalSinceReferenceDate: 5)), .double) == 5.0)
    #expect(cast(1, .boolean) == true)
    #expect(cast(.null, .string).isNull)
    let uuid = UUID()
    #expect(cast(.string(uuid.uuidString), .uuid) == .uuid(uuid))
    #expect(cast(.uuid(uuid), .string) == .string(uuid.uuidString))
    #expect(cast("http://a.b", .uri) == (URL(string: "http://a.b").map { .url($0) } ?? .null))
  }

  @Test func aggregates() throws {
    func result(_ aggregate: FetchAggregate, _ values: AttributeValue...) -> AttributeValue {
      var accumulator = AggregateAccumulator(aggregate)
      for value in values { accumulator.add(value) }
      return accumulator.result
    }
    #expect(result(.count, 1, .null, 3) == 2)
    #expect(result(.sum, 1, .null, 3) == 4)
    #expect(result(.sum) == 0)
    #expect(result(.sum, 1, 0.5) == 1.5)
    #expect(result(.sum, .decimal(1), .decimal(2)) == .decimal(3))
    #expect(result(.average, 1, 2, .null) == 1.5)
    #expect(result(.average).isNull)
    #expect(result(.minimum, "b", "a", .null) == "a")
    #expect(result(.maximum, 1, 3, 2) == 3)
    #expect(result(.maximum).isNull)
    var large = AggregateAccumulator(.sum)
    large.add(.integer(.max))
    #expect(!large.isTooLarge)
    large.add(1)
    #expect(large.isTooLarge)
  }
}
