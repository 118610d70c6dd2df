import Foundation
import Testing

@testable import StrataCore

/// Where numbers lie among those an attribute can have, against the order of values.
@Suite struct OperandPositionTests {
  private static let types: [AttributeType] = [
    .integer16, .integer32, .integer64, .double, .float, .decimal, .boolean,
  ]

  /// How a value lies to a constant that the position stands for.
  private func order(_ value: AttributeValue, _ position: OperandPosition) -> Int {
    switch position {
    case .exact(let other): AttributeValue.compare(value, other)
    case .after(let other): AttributeValue.compare(value, other) > 0 ? 1 : -1
    case .above: -1
    case .below: 1
    }
  }

  @Test func aNumberLiesWhereItIsStoredOrElseWhereTheOrderOfValuesPutsIt() {
    var random = ValueGenerator.printed()
    for _ in 0..<rounds(8_000, long: 100_000) {
      let type = Self.types.randomElement(using: &random) ?? .decimal
      let kind = Self.types.randomElement(using: &random) ?? .double
      let constant = random.value(kind)
      if constant.isNull { continue }
      guard let position = OperandPosition(constant, type: type) else {
        Issue.record("\(constant) has no place among \(type)")
        return
      }
      let stored = constant.converted(to: type)
      // Numbers close to the constant find more faults than others.
      let near = [stored, random.neighbour(constant, kind).converted(to: type)].compactMap(\.self)
      for value in near + [random.value(type), random.value(type)] where !value.isNull {
        let expected = ValueOrder.compare(value, stored ?? constant)
        if order(value, position).signum() != expected.signum() {
          Issue.record("\(value) of \(type) beside \(kind) \(constant): \(position)")
        }
      }
      if let stored, position != .exact(stored) { Issue.record("\(constant) among \(type): \(position)") }
    }
  }

  @Test func whatIsNoNumberHasNoPlaceAmongNumbers() {
    for type in Self.types {
      #expect(OperandPosition("1", type: type) == nil)
      #expect(OperandPosition(.date(Date()), type: type) == nil)
    }
    #expect(OperandPosition(1, type: .string) == nil)
    #expect(OperandPosition(true, type: .date) == nil)
  }
}
