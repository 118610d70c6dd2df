import CoreData
import Testing

@Suite("NSExpression")
struct ExpressionTests {
  @Test("Expressions have values in memory")
  func values() {
    let object: [String: Any] = ["a": 3, "b": [1, 2, 3, 4], "name": "Oak"]
    func value(_ expression: NSExpression) -> Any? { expression.expressionValue(with: object, context: nil) }
    #expect(value(NSExpression(forConstantValue: 5)) as? Int == 5)
    #expect(value(NSExpression(forKeyPath: "a")) as? Int == 3)
    #expect(value(NSExpression(forKeyPath: "b.@sum.self")) as? Int == 10)
    #expect(value(NSExpression(forFunction: "max:", arguments: [NSExpression(forKeyPath: "b")])) as? Int == 4)
    #expect(
      value(NSExpression(forFunction: "average:", arguments: [NSExpression(forKeyPath: "b")])) as? Double
        == 2.5)
    #expect(
      value(NSExpression(forFunction: "lowercase:", arguments: [NSExpression(forKeyPath: "name")])) as? String
        == "oak")
    #expect(value(NSExpression(format: "a * %d + 1", 2)) as? Int == 7)
    #expect(value(NSExpression(format: "%@ - a", argumentArray: [10])) as? Int == 7)
    #expect(
      value(NSExpression(forAggregate: [NSExpression(forKeyPath: "a"), NSExpression(forConstantValue: 1)]))
        as? [Int] == [3, 1])
    let (left, right) = (NSExpression(forKeyPath: "b"), NSExpression(forConstantValue: [3, 4, 5]))
    #expect(value(NSExpression(forUnionSet: left, with: right)) as? Set<AnyHashable> == [1, 2, 3, 4, 5])
    #expect(value(NSExpression(forIntersectSet: left, with: right)) as? Set<AnyHashable> == [3, 4])
    #expect(value(NSExpression(forMinusSet: left, with: right)) as? Set<AnyHashable> == [1, 2])
    let large = NSExpression(
      forSubquery: left, usingIteratorVariable: "x", predicate: NSPredicate(format: "$x > 2"))
    #expect(value(large) as? [Int] == [3, 4])
    let choice = NSExpression(
      forConditional: NSPredicate(format: "a > 1"), trueExpression: NSExpression(forConstantValue: "yes"),
      falseExpression: NSExpression(forConstantValue: "no"))
    #expect(value(choice) as? String == "yes")
    let block = NSExpression(
      block: { object, arguments, _ in
        (arguments[0].expressionValue(with: object, context: nil) as? Int ?? 0) * 100
      },
      arguments: [NSExpression(forKeyPath: "a")])
    #expect(value(block) as? Int == 300)
    #expect(
      NSExpression(forVariable: "v").expressionValue(
        with: nil, context: NSMutableDictionary(dictionary: ["v": 9])) as? Int == 9)
    #expect((value(NSExpression.expressionForEvaluatedObject()) as? [String: Any])?.count == 3)
  }

  @Test("An expression has its parts as properties")
  func parts() {
    let function = NSExpression(forFunction: "add:to:", arguments: [NSExpression(forKeyPath: "a"), 2])
    #expect(function.expressionType == .function)
    #expect(function.function == "add:to:")
    #expect(function.arguments?.count == 2)
    #expect(function.arguments?[1].constantValue as? Int == 2)
    #expect(function.operand.expressionType == .evaluatedObject)
    let subquery = NSExpression(
      forSubquery: NSExpression(forKeyPath: "birds"), usingIteratorVariable: "b",
      predicate: NSPredicate(format: "$b.tally > 2"))
    #expect(subquery.expressionType == .subquery)
    #expect(subquery.variable == "b")
    #expect((subquery.collection as? NSExpression)?.keyPath == "birds")
    #expect(subquery.predicate.description == "$b.tally > 2")
    #expect(subquery.description == "SUBQUERY(birds, $b, $b.tally > 2)")
    #expect(NSExpression(format: "max:(tally)").function == "max:")
    #expect(NSExpression(format: "birds.@count").keyPath == "birds.@count")
    let conditional = NSExpression(format: "TERNARY(a > 1, 'x', 'y')")
    #expect(conditional.expressionType == .conditional)
    #expect(conditional.`true`.constantValue as? String == "x")
    #expect(conditional.`false`.constantValue as? String == "y")
    let union = NSExpression(forUnionSet: function, with: subquery)
    #expect(union.expressionType == .unionSet)
    #expect(union.left === function && union.right === subquery)
    #expect(
      NSExpression(expressionType: .evaluatedObject).isEqual(NSExpression.expressionForEvaluatedObject()))
    #expect(NSExpression.expressionForAnyKey().expressionType == .anyKey)
    #expect(
      NSExpression.ExpressionType.aggregate.rawValue == 14
        && NSExpression.ExpressionType.conditional.rawValue == 20)
  }

  @Test("What only memory can evaluate is refused by a fetch, by name")
  func refusedByFetches() throws {
    let context = try BirdStand().stocked()
    let block = NSExpression(block: { _, _, _ in 1 }, arguments: nil)
    let predicate = NSComparisonPredicate(
      leftExpression: block, rightExpression: NSExpression(forConstantValue: 1), modifier: .direct,
      type: .equalTo)
    #expect(predicate.evaluate(with: nil))
    let error = #expect(throws: CocoaError.self) { try names(predicate, in: context) }
    #expect(error?.localizedDescription.contains("block") == true)
  }

  @Test("A Swift key path is followed in memory and looked up by a fetch")
  func swiftKeyPaths() throws {
    let context = try BirdStand().stocked()
    let many = NSComparisonPredicate(
      leftExpression: NSExpression(forKeyPath: \Bird.tally),
      rightExpression: NSExpression(forConstantValue: 7),
      modifier: .direct, type: .greaterThanOrEqualTo)
    #expect(try names(many, in: context) == ["coot", "wren"])
    let all = try context.fetch(NSFetchRequest<Bird>(entityName: "Bird"))
    #expect(all.filter { many.evaluate(with: $0) }.count == 2)
    #expect(many.leftExpression.keyPath == "tally")
    #expect(NSExpression(forKeyPath: \Bird.site?.name).keyPath == "site.name")
    let computed = NSComparisonPredicate(
      leftExpression: NSExpression(forKeyPath: \Bird.shoutedName),
      rightExpression: NSExpression(forConstantValue: "COOT"),
      modifier: .direct, type: .equalTo)
    #expect(all.filter { computed.evaluate(with: $0) }.map(\.name) == ["coot"])
    #expect(throws: (any Error).self) { try names(computed, in: context) }
  }

  @Test("A fetch is an expression in memory")
  func fetchExpressions() throws {
    let context = try BirdStand().stocked()
    let request = NSFetchRequest<NSFetchRequestResult>(entityName: "Bird")
    let count = NSFetchRequestExpression.expression(
      forFetch: NSExpression(forConstantValue: request), context: NSExpression(forConstantValue: context),
      countOnly: true)
    #expect(count.expressionType == NSFetchRequestExpressionType)
    #expect((count as? NSFetchRequestExpression)?.isCountOnlyRequest == true)
    #expect(count.expressionValue(with: nil, context: nil) as? Int == 5)
  }

  @Test("Numbers in lists in a list are Foundation's, too")
  func nestedLists() throws {
    let number = NSExpression(forConstantValue: 1)
    let inner = NSExpression(forAggregate: [number])
    let list = NSExpression(forAggregate: [inner, NSExpression(forConstantValue: 2)])
    let found = try #require(list.expressionValue(with: nil, context: nil) as? [Any])
    #expect(found.count == 2 && found[1] as? Double == 2)
    #expect((found[0] as? [Any])?.first as? Double == 1)
  }
}
