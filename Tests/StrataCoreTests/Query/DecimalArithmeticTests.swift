import Foundation
import Testing

@testable import StrataCore

@Suite("Products and quotients of decimals")
struct DecimalArithmeticTests {
  private func decimal(_ text: String) throws -> Decimal { try #require(Decimal(string: text)) }

  @Test(
    "Places beyond the last one are rounded away",
    arguments: [
      ("1e-100", "1e-100", "0"), ("1e-64", "1e-64", "1e-128"), ("1e-64", "5e-65", "1e-128"),
      ("1e-64", "-4e-65", "0"), ("-6e-64", "9e-65", "-5e-128"), ("1e-128", "1e127", "0.1"),
      ("0", "1e-128", "0"),
      ("0.1234567890123456789012345678901234567", "1e-100", "1234567890123456789012345679e-128"),
      ("2.5", "4", "10"),
    ])
  func products(_ left: String, _ right: String, _ product: String) throws {
    #expect(try DecimalArithmetic.product(decimal(left), decimal(right)) == decimal(product))
    #expect(try DecimalArithmetic.product(decimal(right), decimal(left)) == decimal(product))
  }

  @Test(
    "So are those of quotients",
    arguments: [
      ("1e-100", "1e100", "0"), ("1e-128", "3", "0"), ("1e-128", "2", "1e-128"),
      ("1e-100", "3e20", "33333333e-128"),
      ("-1e-95", "7", "-142857142857142857142857142857143e-128"), ("0.3", "3", "0.1"), ("0", "5", "0"),
    ])
  func quotients(_ left: String, _ right: String, _ quotient: String) throws {
    #expect(try DecimalArithmetic.quotient(decimal(left), decimal(right)) == decimal(quotient))
  }

  @Test("What is too large, and a division by zero, is not a number")
  func notNumbers() throws {
    #expect(try DecimalArithmetic.product(decimal("1e100"), decimal("1e100")).isNaN)
    #expect(try DecimalArithmetic.quotient(decimal("1e100"), decimal("1e-100")).isNaN)
    #expect(DecimalArithmetic.quotient(5, 0).isNaN)
    #expect(DecimalArithmetic.product(.nan, 1).isNaN && DecimalArithmetic.quotient(.nan, 1).isNaN)
  }

  @Test("The average of decimals is exact, that of integers as its column wants it")
  func averages() throws {
    func accumulator(_ values: AttributeValue...) -> AggregateAccumulator {
      var accumulator = AggregateAccumulator(.average)
      for value in values { accumulator.add(value) }
      return accumulator
    }
    let tenth = AttributeValue.decimal(try decimal("0.1"))
    #expect(accumulator(tenth, tenth, tenth, .null).result == tenth)
    #expect(accumulator(tenth, .double(0.3)).result == .double(0.2))
    let large = accumulator(.integer(.max), .integer(.max))
    #expect(large.average(as: .integer64) == .integer(.max))
    #expect(large.average(as: .decimal) == .decimal(Decimal(Int64.max)))
    #expect(large.average(as: .double) == nil && large.result == .double(0x1p63))
  }
}
