import CoreData
import Testing

/// Expressions as texts that are read back as the same expressions.
@Suite("Expressions as text")
struct ExpressionRoundTripTests {
  /// Random expressions as applications make them, by Apple's initialisers.
  private struct Maker {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }

    mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }

    mutating func constant() -> Any? {
      switch below(14) {
      case 0: nil
      case 1: NSNull()
      case 2: NSNumber(value: below(2) == 0)
      case 3: NSNumber(value: Int64(below(1_000_000)) * 9_007_199_254)
      case 4: NSNumber(value: pick([0.1, 2.0, -1.5, 1e300, .infinity, .leastNonzeroMagnitude]))
      case 5: NSNumber(value: pick([Float(0.1), 2, -7.25]))
      case 6: NSDecimalNumber(string: pick(["12345678901234567890.123456789", "2", "-0.1"]))
      case 7: pick(["", "it's", "a \"b\" \\ c", "x\ny", "%@", "日本", "SELF", "nil"])
      case 8: Date(timeIntervalSinceReferenceDate: Double(below(1000)) / 7)
      case 9: UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
      case 10: URL(string: "https://example.org/?q='x'&%20")
      case 11: Data([0, 255, UInt8(below(256))])
      case 12: [1, 2.5, "three"] as [Any]
      default: below(20) - 10
      }
    }

    mutating func path() -> String {
      pick([
        "name", "site.name", "site.birds.@count", "birds.@sum.tally", "birds.tally.@max", "first", "any",
        "last.size",
        "self", "between", "@count", "birds.@avg.weight", "größe", "true.false", "entity", "entity.name",
        "in", "sum",
        "address.city", "null", "site.birds", "like.not.and",
      ])
    }

    /// What may be in a list, in which there are no lists.
    private mutating func element() -> NSExpression {
      while true {
        let element = expression(0)
        if case .constantValue = element.expressionType, element.constantValue is [Any] { continue }
        return element
      }
    }

    mutating func expression(_ depth: Int) -> NSExpression {
      if depth == 0 {
        switch below(7) {
        case 0: return NSExpression.expressionForEvaluatedObject()
        case 1: return NSExpression(forVariable: pick(["x", "FETCH_SOURCE", "in"]))
        case 2, 3: return NSExpression(forConstantValue: constant())
        default: return NSExpression(forKeyPath: path())
        }
      }
      switch below(9) {
      case 0:
        return NSExpression(forAggregate: (0..<below(4)).map { _ in element() })
      case 1:
        return NSExpression(
          forSubquery: NSExpression(forKeyPath: pick(["birds", "site.birds"])), usingIteratorVariable: "x",
          predicate: predicate(depth - 1))
      case 2:
        return NSExpression(
          forConditional: predicate(depth - 1), trueExpression: expression(depth - 1),
          falseExpression: expression(depth - 1))
      case 3:
        return NSExpression(
          forFunction: pick(["sum:", "count:", "min:", "max:", "average:"]),
          arguments: [NSExpression(forKeyPath: pick(["birds.tally", "birds", "values"]))])
      case 4:
        return NSExpression(
          forFunction: pick([
            "lowercase:", "uppercase:", "canonical:", "length:", "abs:", "sqrt:", "floor:", "ceiling:",
            "trunc:", "exp:",
            "ln:", "log:", "onesComplement:",
          ]), arguments: [expression(depth - 1)])
      case 5: return NSExpression(forFunction: "now", arguments: [])
      case 6: return NSExpression(format: "CAST(%@, 'NSDate')", NSExpression(forKeyPath: "name"))
      default:
        return NSExpression(
          forFunction: pick([
            "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "modulus:by:", "raise:toPower:",
            "bitwiseAnd:with:", "bitwiseOr:with:", "bitwiseXor:with:", "leftshift:by:", "rightshift:by:",
          ]), arguments: [expression(depth - 1), expression(depth - 1)])
      }
    }

    mutating func predicate(_ depth: Int) -> NSPredicate {
      switch below(depth > 0 ? 5 : 2) {
      case 2:
        NSCompoundPredicate(andPredicateWithSubpredicates: [predicate(depth - 1), predicate(depth - 1)])
      case 3: NSCompoundPredicate(orPredicateWithSubpredicates: [predicate(depth - 1), predicate(depth - 1)])
      case 4: NSCompoundPredicate(notPredicateWithSubpredicate: predicate(depth - 1))
      default:
        NSComparisonPredicate(
          leftExpression: expression(depth), rightExpression: expression(depth),
          modifier: pick([.direct, .direct, .any, .all]),
          type: pick([
            .equalTo, .notEqualTo, .lessThan, .greaterThanOrEqualTo, .in, .contains, .beginsWith, .like,
          ]),
          options: pick([[], [], .caseInsensitive, [.caseInsensitive, .diacriticInsensitive]]))
      }
    }
  }

  @Test("What an expression prints is read back as the same expression, which prints the same")
  func expressions() {
    var maker = Maker(state: 26)
    for round in 0..<4_000 {
      let expression = maker.expression(round % 4)
      let text = expression.description
      let again = NSExpression(format: text)
      #expect(again.isEqual(expression), "\(text) is read as \(again)")
      #expect(again.description == text)
      #expect(again.hash == expression.hash)
    }
  }

  @Test("A key path that begins with a variable leads on from it, in fetches, in memory and as text")
  func pathsOfVariables() throws {
    let path = NSExpression(forKeyPath: "$x.name")
    #expect(path == NSExpression(format: "$x.name") && path.description == "$x.name")
    #expect(NSExpression(forKeyPath: "price$.x").keyPath == "price$.x")
    let inner = NSComparisonPredicate(
      leftExpression: path, rightExpression: NSExpression(forConstantValue: "o"), modifier: .direct,
      type: .contains, options: [])
    let found = NSExpression(
      forSubquery: NSExpression(forKeyPath: "birds"), usingIteratorVariable: "x", predicate: inner)
    #expect(found.description == #"SUBQUERY(birds, $x, $x.name CONTAINS "o")"#)
    let context = try BirdStand().stocked()
    for count in [
      NSExpression(format: "(\(found))[SIZE]"), NSExpression(forFunction: "count:", arguments: [found]),
    ] {
      let predicate = NSComparisonPredicate(
        leftExpression: count, rightExpression: NSExpression(forConstantValue: 1), modifier: .direct,
        type: .equalTo, options: [])
      let request = NSFetchRequest<Site>(entityName: "Site")
      request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
      let all = try context.fetch(request)
      request.predicate = predicate
      // Of wren and robin, and of swan and coot, one each.
      #expect(try context.fetch(request).map(\.name) == ["Lake", "Wood"])
      #expect(all.filter { predicate.evaluate(with: $0) }.count == 2)
    }
  }

  @Test("What a predicate prints is read back as the same predicate")
  func predicates() {
    var maker = Maker(state: 7)
    for round in 0..<4_000 {
      let predicate = maker.predicate(round % 3)
      // Foundation's compounds print what Foundation makes of them.
      if predicate is NSCompoundPredicate { continue }
      let again = NSPredicate(format: predicate.description)
      #expect(again.isEqual(predicate), "\(predicate) is read as \(again)")
    }
  }
}
