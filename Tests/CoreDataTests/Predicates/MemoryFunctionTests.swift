import CoreData
import Testing

@Suite("Functions that are evaluated in memory only")
struct MemoryFunctionTests {
  private func value(_ format: String, _ object: Any? = nil) -> Any? {
    NSExpression(format: format).expressionValue(with: object, context: nil)
  }

  private func number(_ format: String, _ object: Any? = nil) -> Double? { value(format, object) as? Double }

  @Test("Median, most frequent values and standard deviation of a list")
  func statistics() {
    #expect(number("median({3, 1, 2})") == 2)
    #expect(number("median:({4, 1, 2, 3})") == 2.5)
    #expect(number("median(1, 5, 9)") == 5)
    #expect(value("mode({3, 1, 3, 2, 2})") as? [Int] == [2, 3])
    #expect(value("FUNCTION('mode:', {'b', 'a', 'b'})") as? [String] == ["b"])
    let deviation = NSExpression(
      forFunction: "stddev:", arguments: [NSExpression(forConstantValue: [1, 2, 3, 4, 4, 5, 9, 11])])
    let found = deviation.expressionValue(with: nil, context: nil) as? Double ?? 0
    #expect(abs(found - 3.218_59) < 0.000_01)
    #expect(value("median({})") == nil && value("stddev({})") == nil)
    #expect(number("median(b)", ["b": [7, 1, 8]]) == 7)
    #expect(NSPredicate(format: "a == median(%@)", [1, 4, 9]).evaluate(with: ["a": 4]))
  }

  @Test("Chance, elements of lists, the distance of places, and a value without an index")
  func others() throws {
    for _ in 0..<50 {
      #expect((value("random()") as? Int ?? -1) >= 0)
      #expect((0..<3).contains(value("random(3)") as? Int ?? -1))
      #expect((0..<3).contains(value("randomn:(3)") as? Int ?? -1))
    }
    #expect(Set((0..<60).compactMap { _ in value("random:(2)") as? Int }) == [0, 1])
    #expect(value("objectFrom:withIndex:({4, 5, 6}, 1)") as? Int == 5)
    #expect(value("objectFrom:withIndex:({4, 5, 6}, 3)") == nil)
    #expect(value("objectFrom:withIndex:(SELF, 'k')", ["k": 8]) as? Int == 8)
    #expect(value("noindex:(a)", ["a": 3]) as? Int == 3)
    let (paris, rome) = (
      ["latitude": 48.8566, "longitude": 2.3522], ["coordinate": ["latitude": 41.9028, "longitude": 12.4964]]
    )
    let far = try #require(
      number("distanceToLocation:fromLocation:(a, b)", ["a": paris, "b": rome] as [String: Any]))
    #expect((1_090_000...1_120_000).contains(far))
    #expect(value("distanceToLocation:fromLocation:(a, b)", ["a": 1, "b": 2]) == nil)
  }

  @Test(
    "Every function of Apple's list is read, and none stops the process",
    arguments: [
      "average({1})", "sum({1})", "count({1})", "min({1})", "max({1})", "median({1})", "mode({1})",
      "stddev({1})", "add:to:(1, 2)", "from:subtract:(1, 2)", "multiply:by:(1, 2)", "divide:by:(1, 2)",
      "modulus:by:(1, 2)", "sqrt(4)", "log(1)", "ln(1)", "raise:toPower:(1, 2)", "exp(1)", "ceiling(1.5)",
      "abs(1)", "trunc(1.5)", "random()", "random(2)", "randomn(2)", "now()", "floor(1.5)", "uppercase('a')",
      "lowercase('A')", "bitwiseAnd:with:(1, 2)", "bitwiseOr:with:(1, 2)", "bitwiseXor:with:(1, 2)",
      "leftshift:by:(1, 2)", "rightshift:by:(1, 2)", "onesComplement(1)", "noindex(1)", "length('a')",
      "castObject:toType:(1, 'NSString')", "objectFrom:withIndex:({1}, 0)", "canonical('a')",
    ])
  func allNames(_ format: String) {
    let expression = NSExpression(format: format)
    #expect(expression.expressionValue(with: nil, context: nil) != nil)
    #expect(!expression.description.isEmpty)
  }

  @Test("A fetch refuses them with an error that names them")
  func fetches() throws {
    let context = try BirdStand().stocked()
    for format in ["tally > median({1, 2})", "tally == random(3)", "stddev({1, 2}) > 1"] {
      let error = #expect(throws: CocoaError.self) { try names(NSPredicate(format: format), in: context) }
      #expect(error?.localizedDescription.contains("evaluated in memory only") == true)
    }
    let request = NSFetchRequest<NSDictionary>(entityName: "Bird")
    request.resultType = .dictionaryResultType
    let column = NSExpressionDescription()
    column.name = "middle"
    column.expression = NSExpression(forFunction: "median:", arguments: [NSExpression(forKeyPath: "tally")])
    column.expressionResultType = .doubleAttributeType
    request.propertiesToFetch = [column]
    #expect(throws: (any Error).self) { try context.fetch(request) }
    #expect(try names(NSPredicate(format: "noindex:(name) == 'wren'"), in: context) == ["wren"])
  }

  @Test("A function that there is not stops the process with its name")
  func unknown() async {
    await #expect(processExitsWith: .failure) { _ = NSExpression(format: "shout(1)") }
  }
}
