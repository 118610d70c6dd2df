import CoreData
import Testing

@Suite("Operators on bits, and whole numbers")
struct BitOperatorTests {
  @Test("A fetch tests bits with operators, in a store and among unsaved changes")
  func fetched() throws {
    let context = try BirdStand().stocked()
    // wren 7, robin 2, swan 3, coot 12, gull 5
    for saved in [true, false] {
      if !saved {
        for bird in try context.fetch(NSFetchRequest<Bird>(entityName: "Bird")) { bird.weight += 1 }
      }
      #expect(try names(NSPredicate(format: "(tally & 1) != 0"), in: context) == ["gull", "swan", "wren"])
      #expect(try names(NSPredicate(format: "tally & %d == %d", 6, 2), in: context) == ["robin", "swan"])
      #expect(try names(NSPredicate(format: "(tally | 8) == 12"), in: context) == ["coot"])
      #expect(try names(NSPredicate(format: "(tally ^ 2) == 0"), in: context) == ["robin"])
      #expect(try names(NSPredicate(format: "(~tally & 3) == 0"), in: context) == ["swan", "wren"])
      #expect(try names(NSPredicate(format: "tally << 1 == 14"), in: context) == ["wren"])
      #expect(try names(NSPredicate(format: "tally >> 2 == 3"), in: context) == ["coot"])
      // The words of logic keep their signs.
      #expect(
        try names(NSPredicate(format: "tally == 2 || tally == 3 && weight > 1"), in: context)
          == ["robin", "swan"])
    }
  }

  @Test("Operators have values in memory, and the text of an expression is read back")
  func inMemory() throws {
    let cases: [(String, Int)] = [
      ("6 & 3", 2), ("6 | 3", 7), ("6 ^ 3", 5), ("~5", -6), ("1 << 4", 16), ("-16 >> 2", -4),
      ("1 | 2 ^ 3 & 2", 1), ("1 << 2 + 1", 8), ("~1 & 3", 2), ("(1 | 2) & 2", 2), ("1 + 2 | 4", 7),
    ]
    for (text, value) in cases {
      let expression = NSExpression(format: text)
      #expect(expression.expressionValue(with: nil, context: nil) as? Int == value, "\(text)")
      let again = NSExpression(format: expression.description)
      #expect(again == expression, "\(text) became \(expression)")
      #expect(again.expressionValue(with: nil, context: nil) as? Int == value)
    }
    let flags = NSPredicate(format: "(flags & %d) != 0", 4)
    #expect(flags.evaluate(with: ["flags": 12]) && !flags.evaluate(with: ["flags": 3]))
    #expect(NSPredicate(format: flags.description).evaluate(with: ["flags": 4]))
    let built = NSExpression(
      forFunction: "bitwiseAnd:with:",
      arguments: [NSExpression(forKeyPath: "flags"), NSExpression(forConstantValue: 4)])
    #expect(built == NSExpression(format: "flags & 4"))
  }

  @Test("A power, a root or a quotient is a number that is taken as Int when it is whole, and as Double")
  func wholeNumbers() {
    func value(_ text: String) -> Any? { NSExpression(format: text).expressionValue(with: nil, context: nil) }
    #expect(value("2**3") as? Int == 8 && value("2**3") as? Double == 8)
    #expect(value("sqrt:(16)") as? Int == 4)
    #expect(value("2**-1") as? Double == 0.5 && value("2**-1") as? Int == nil)
    #expect(value("7 / 2.0") as? Double == 3.5)
    #expect(value("1 + 2") as? Int == 3)
  }
}
