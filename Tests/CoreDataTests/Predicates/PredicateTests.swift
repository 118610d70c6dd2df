import CoreData
import Testing

@Suite("NSPredicate")
struct PredicateTests {
  /// Format strings, their arguments, and the birds for which they are true.
  static let cases: [(String, [any Sendable], [String])] = [
    ("name == %@", ["swan"], ["swan"]),
    ("%K >= %d", ["tally", 5], ["coot", "gull", "wren"]),
    ("tally BETWEEN {3, 7}", [], ["gull", "swan", "wren"]),
    ("name BEGINSWITH 'w' OR name ENDSWITH 'n'", [], ["robin", "swan", "wren"]),
    ("name CONTAINS[cd] 'ÜL'", [], ["gull"]),
    ("name LIKE '*o*' AND NOT (name MATCHES 'r.*')", [], ["coot"]),
    ("name IN %@", [["wren", "gull", "heron"]], ["gull", "wren"]),
    ("weight == 0.1", [], ["wren"]),
    ("weight == %@", [Decimal(1) / 10], ["wren"]),
    ("isRare == YES", [], ["coot"]),
    ("isRare == 1.0 AND isRare > 0.5", [], ["coot"]),
    ("isRare < 2 AND tally > %@", [Decimal(13) / 2], ["coot", "wren"]),
    ("site == nil", [], ["gull"]),
    ("site.name == 'Lake'", [], ["coot", "swan"]),
    ("site.birds.@count == 2 AND site.birds.@sum.tally == 9", [], ["robin", "wren"]),
    ("ANY site.birds.tally > 11", [], ["coot", "swan"]),
    ("ALL site.birds.weight < 1", [], ["gull", "robin", "wren"]),
    ("SUBQUERY(site.birds, $b, $b.tally > tally).@count > 0", [], ["robin", "swan"]),
    ("tally + 1 == 4", [], ["swan"]),
    ("seenAt > %@", [Date(timeIntervalSinceReferenceDate: 400)], ["coot", "wren"]),
    ("TERNARY(tally > 6, 'many', 'few') == 'few'", [], ["gull", "robin", "swan"]),
    ("uppercase(name) == 'COOT'", [], ["coot"]),
    ("TRUEPREDICATE", [], ["coot", "gull", "robin", "swan", "wren"]),
    ("FALSEPREDICATE", [], []),
  ]

  @Test(
    "Rules 108, 109: a format means the same to a fetch, to evaluate(with:), and after it was written and read",
    arguments: 0..<24)
  func meaning(_ number: Int) throws {
    let (format, arguments, expected) = Self.cases[number]
    let context = try BirdStand().stocked()
    let predicate = NSPredicate(format: format, argumentArray: arguments)
    #expect(try names(predicate, in: context) == expected)
    let all = try context.fetch(NSFetchRequest<Bird>(entityName: "Bird"))
    func inMemory(_ predicate: NSPredicate) -> [String] {
      all.filter { predicate.evaluate(with: $0) }.compactMap(\.name).sorted()
    }
    #expect(inMemory(predicate) == expected, "\(format)")
    let again = NSPredicate(format: predicate.description)
    #expect(try names(again, in: context) == expected, "\(predicate)")
    #expect(again.isEqual(predicate))
  }

  @Test("There are as many cases as are run")
  func everyCaseRuns() { #expect(Self.cases.count == 24) }

  @Test("A collection is one constant as an argument, and a list of expressions in braces")
  func collections() throws {
    let context = try BirdStand().stocked()
    func right(_ predicate: NSPredicate) throws -> CoreData.NSExpression {
      try #require(predicate as? NSComparisonPredicate).rightExpression
    }
    for argument: Any in [
      ["swan", "coot"], Set(["swan", "coot"]), NSArray(array: ["swan", "coot"]),
      NSSet(array: ["swan", "coot"]), NSOrderedSet(array: ["swan", "coot"]),
      ["swan", NSNull(), "coot"] as [Any],
    ] {
      let predicate = NSPredicate(format: "name IN %@", argumentArray: [argument])
      #expect(try right(predicate).expressionType == .constantValue)
      #expect(try right(predicate).constantValue != nil)
      #expect(try names(predicate, in: context) == ["coot", "swan"])
      let all = try context.fetch(Bird.fetchRequest())
      #expect(all.count { predicate.evaluate(with: $0) } == 2)
    }
    let listed = NSPredicate(format: "name IN {'swan', 'coot'}")
    #expect(try right(listed).expressionType == .aggregate)
    #expect(listed.isEqual(NSPredicate(format: "name IN %@", ["swan", "coot"])))
    #expect(listed.description == NSPredicate(format: "name IN %@", ["swan", "coot"]).description)
    let between = NSPredicate(format: "tally BETWEEN %@", [3, 7])
    #expect(try right(between).constantValue as? [Int] == [3, 7])
    #expect(try names(between, in: context) == ["gull", "swan", "wren"])
    let numbers = CoreData.NSExpression(format: "%@", [1, 2])
    #expect(numbers.expressionType == .constantValue && numbers.constantValue as? [Int] == [1, 2])
    let sum = CoreData.NSExpression(format: "sum:(%@)", [1, 2])
    #expect(sum.expressionValue(with: nil, context: nil) as? Int == 3)
    let template = NSPredicate(format: "name IN $names AND tally IN %@", [3, 12])
    let filled = template.withSubstitutionVariables(["names": ["swan", "wren"]])
    #expect(try names(filled, in: context) == ["swan"])
  }

  @Test("A sum of more than 64 bits is a decimal in memory")
  func largeSums() throws {
    let context = try BirdStand().stocked()
    let birds = try context.fetch(Bird.fetchRequest()).filter { $0.site?.name == "Lake" }
    for bird in birds { bird.tally = .max }
    let bird = try #require(birds.first)
    #expect(NSPredicate(format: "site.birds.@sum.tally > 0").evaluate(with: bird))
    let exact = NSDecimalNumber(string: "18446744073709551614")
    #expect(NSPredicate(format: "site.birds.@sum.tally == %@", exact).evaluate(with: bird))
    #expect(NSPredicate(format: "site.birds.@avg.tally > 9000000000000000000").evaluate(with: bird))
    #expect(NSPredicate(format: "sum:(site.birds.tally) > 0").evaluate(with: bird))
    let sum = bird.value(forKeyPath: "site.birds.@sum.tally") as? NSDecimalNumber
    #expect(sum == exact)
  }

  @Test("Rule 107: objects and identifiers are interchangeable")
  func objectsAndIdentifiers() throws {
    let context = try BirdStand().stocked()
    let birds = try context.fetch(Bird.fetchRequest() as NSFetchRequest<Bird>)
    let swan = try #require(birds.first { $0.name == "swan" })
    let lake = try #require(swan.site)
    for argument: Any in [lake, lake.objectID] {
      let predicate = NSPredicate(format: "site == %@", argumentArray: [argument])
      #expect(try names(predicate, in: context) == ["coot", "swan"])
      #expect(predicate.evaluate(with: swan))
    }
    for argument: Any in [[swan], [swan.objectID], NSSet(array: [swan])] {
      let predicate = NSPredicate(format: "SELF IN %@", argumentArray: [argument])
      #expect(try names(predicate, in: context) == ["swan"])
      #expect(predicate.evaluate(with: swan))
    }
    #expect(try names(NSPredicate(format: "objectID == %@", swan.objectID), in: context) == ["swan"])
    #expect(try names(NSPredicate(format: "self == %@", swan), in: context) == ["swan"])
  }

  @Test("A format makes comparisons and compounds that have their parts as properties")
  func parts() throws {
    let predicate = NSPredicate(format: "name BEGINSWITH[cd] %@ AND NOT (ANY birds.tally > 3)", "w")
    let compound = try #require(predicate as? NSCompoundPredicate)
    #expect(compound.compoundPredicateType == .and)
    let parts = compound.subpredicates
    #expect(parts.count == 2)
    let comparison = try #require(parts[0] as? NSComparisonPredicate)
    #expect(comparison.predicateOperatorType == .beginsWith)
    #expect(comparison.options == [.caseInsensitive, .diacriticInsensitive])
    #expect(comparison.comparisonPredicateModifier == .direct)
    #expect(comparison.leftExpression.expressionType == .keyPath)
    #expect(comparison.leftExpression.keyPath == "name")
    #expect(comparison.rightExpression.expressionType == .constantValue)
    #expect(comparison.rightExpression.constantValue as? String == "w")
    let negated = try #require(parts[1] as? NSCompoundPredicate)
    #expect(negated.compoundPredicateType == .not)
    #expect((negated.subpredicates[0] as? NSComparisonPredicate)?.comparisonPredicateModifier == .any)
    #expect(predicate.description == "name BEGINSWITH[cd] \"w\" AND NOT (ANY birds.tally > 3)")
  }

  @Test("Predicates made of parts are those made of formats")
  func madeOfParts() throws {
    let context = try BirdStand().stocked()
    let many = NSComparisonPredicate(
      leftExpression: NSExpression(forKeyPath: "tally"), rightExpression: NSExpression(forConstantValue: 5),
      modifier: .direct, type: .greaterThanOrEqualTo)
    #expect(many.isEqual(NSPredicate(format: "tally >= 5")))
    let both = NSCompoundPredicate(andPredicateWithSubpredicates: [many, NSPredicate(format: "site != nil")])
    #expect(try names(both, in: context) == ["coot", "wren"])
    let either = NSCompoundPredicate(orPredicateWithSubpredicates: [
      NSPredicate(format: "name == 'swan'"), NSPredicate(value: false),
    ])
    #expect(try names(either, in: context) == ["swan"])
    let not = NSCompoundPredicate(notPredicateWithSubpredicate: many)
    #expect(try names(not, in: context) == ["robin", "swan"])
    #expect(try names(NSPredicate(value: true), in: context).count == 5)
  }

  @Test("A predicate made of a block works in memory and is refused by a fetch")
  func blocks() throws {
    let context = try BirdStand().stocked()
    let predicate = NSPredicate { object, _ in (object as? Bird)?.tally == 3 }
    let all = try context.fetch(NSFetchRequest<Bird>(entityName: "Bird"))
    #expect(NSArray(array: all).filtered(using: predicate).map { ($0 as? Bird)?.name } == ["swan"])
    let both = NSCompoundPredicate(andPredicateWithSubpredicates: [
      predicate, NSPredicate(format: "weight > 1"),
    ])
    #expect(all.filter { both.evaluate(with: $0) }.count == 1)
    for refused in [predicate, both] {
      let error = #expect(throws: CocoaError.self) { try names(refused, in: context) }
      #expect(error?.localizedDescription.contains("block") == true)
    }
  }

  @Test("Rule 110: variables take their values when they are given, in memory and in a fetch")
  func variables() throws {
    let context = try BirdStand().stocked()
    let open = NSPredicate(format: "tally > $least AND name != $name")
    let bound = open.withSubstitutionVariables(["least": 4, "name": "coot"])
    #expect(try names(bound, in: context) == ["gull", "wren"])
    let bird = try #require(
      try context.fetch(NSFetchRequest<Bird>(entityName: "Bird")).first { $0.name == "gull" })
    #expect(bound.evaluate(with: bird))
    #expect(open.evaluate(with: bird, substitutionVariables: ["least": 4, "name": "coot"]))
    #expect(!open.evaluate(with: bird, substitutionVariables: ["least": 5, "name": "coot"]))
    #expect(throws: (any Error).self) { try names(open, in: context) }
  }

  @Test("Dictionaries, texts, numbers and plain objects are evaluated by their keys")
  func otherObjects() {
    final class Reading: NSObject {
      let place = "North"
      let values = [3, 1, 2]
    }
    #expect(NSPredicate(format: "age > 3").evaluate(with: ["age": 4]))
    #expect(
      !NSPredicate(format: "age > 3").evaluate(with: NSDictionary(dictionary: ["age": NSNumber(value: 3)])))
    #expect(NSPredicate(format: "missing == nil").evaluate(with: ["age": 4]))
    #expect(
      NSPredicate(format: "place BEGINSWITH 'N' AND values.@max == 3 AND 2 IN values").evaluate(
        with: Reading()))
    let words = NSArray(array: ["ash", "oak", "elm"])
    #expect(words.filtered(using: NSPredicate(format: "SELF CONTAINS 'a'")) as? [String] == ["ash", "oak"])
    let set = NSSet(array: [1, 2, 3]).filtered(using: NSPredicate(format: "SELF >= %d", 2))
    #expect(Set(set.compactMap { ($0.base as? NSNumber)?.intValue }) == [2, 3])
    let ordered = NSOrderedSet(array: [3, 1, 2]).filtered(using: NSPredicate(format: "SELF != 1"))
    #expect(ordered.array as? [Int] == [3, 2])
    let mutable = NSMutableArray(array: ["a", "bb"])
    mutable.filter(using: NSPredicate(format: "length(SELF) == 2"))
    #expect(mutable.count == 1)
  }

  @Test("Objects of any class can be arguments of predicates in memory")
  func foreignArguments() {
    final class Token: NSObject {}
    let (one, two) = (Token(), Token())
    let predicate = NSPredicate(format: "SELF == %@", one)
    #expect(predicate.evaluate(with: one))
    #expect(!predicate.evaluate(with: two))
    #expect(NSPredicate(format: "SELF IN %@", [one]).evaluate(with: one))
  }

  @Test("Arguments may be cast to CVarArg, as code for Core Data does")
  func castArguments() {
    let (id, date, link) = (UUID(), Date(timeIntervalSinceReferenceDate: 5), URL(fileURLWithPath: "/a"))
    let (bytes, price) = (Data([1, 2]), Decimal(string: "1.5") ?? 0)
    let object: [String: Any] = ["id": id, "date": date, "link": link, "bytes": bytes, "price": price]
    let arguments: [(String, any CVarArg)] = [
      ("id", id as CVarArg), ("date", date as CVarArg), ("link", link as CVarArg),
      ("bytes", bytes as CVarArg), ("price", price as CVarArg),
    ]
    for (key, argument) in arguments {
      #expect(NSPredicate(format: "%K == %@", key, argument).evaluate(with: object))
      #expect(!NSPredicate(format: "%K != %@", key, argument).evaluate(with: object))
    }
    #expect(String(format: "%@", id as CVarArg) == id.uuidString)
  }

  @Test("A #Predicate is an NSPredicate, in memory and in a fetch")
  func swiftPredicates() throws {
    let context = try BirdStand().stocked()
    let predicate = try #require(NSPredicate(#Predicate<Bird> { $0.tally > 4 && $0.site?.name == "Lake" }))
    #expect(try names(predicate, in: context) == ["coot"])
    #expect(
      try context.fetch(NSFetchRequest<Bird>(entityName: "Bird")).filter { predicate.evaluate(with: $0) }.map(
        \.name) == ["coot"])
    let both = NSCompoundPredicate(notPredicateWithSubpredicate: predicate)
    #expect(try names(both, in: context) == ["gull", "robin", "swan", "wren"])
  }

  @Test("A predicate sees what is not saved")
  func unsavedValues() throws {
    let context = try BirdStand().stocked()
    let bird = try #require(
      try context.fetch(NSFetchRequest<Bird>(entityName: "Bird")).first { $0.name == "gull" })
    bird.tally = 100
    let new = BirdStand.bird("heron", 101, 1, nil, context)
    let predicate = NSPredicate(format: "tally >= 100")
    #expect(predicate.evaluate(with: bird))
    #expect(predicate.evaluate(with: new))
    #expect(try names(predicate, in: context) == ["gull", "heron"])
  }
}

@Suite("NSPredicate in memory")
struct MemoryPredicateTests {
  /// Formats with their arguments and the birds of `BirdStand` for which they are true, by a fetch and in memory.
  static let cases: [(String, [any Sendable], [String])] = [
    // A double is divided as a double, whatever whole number it happens to be.
    ("weight / 2 > 5", [], ["swan"]),
    ("weight * 10 / 4 == 27.5", [], ["swan"]),
    ("weight / %@ > 5", [2], ["swan"]),
    // 7 and 5: whole numbers are cut, unless the divisor has another type.
    ("tally / 2 == 3", [], ["wren"]),
    ("tally / 2.0 == 3.5", [], ["wren"]),
    ("tally / %@ == 3.5", [2.0], ["wren"]),
    ("tally / %@ == 3.5", [Decimal(2)], ["wren"]),
    ("(site.birds.@sum.weight + 7) / 2 == 3.5", [], ["gull"]),
    ("weight IN {0.1, 11}", [], ["swan", "wren"]),
    ("weight == 0.05 + 0.05", [], ["wren"]),
    ("$w == weight", [], ["wren"]),
  ]

  @Test("Rule 108: arithmetic in memory is that of a fetch", arguments: 0..<11)
  func arithmetic(_ number: Int) throws {
    let (format, arguments, expected) = Self.cases[number]
    let stand = try BirdStand()
    let context = try stand.stocked()
    var predicate = NSPredicate(format: format, argumentArray: arguments)
    for isDressed in [false, true] {
      predicate = predicate.withSubstitutionVariables(["w": isDressed ? NSNumber(value: 0.1) : 0.1])
      if isDressed {
        predicate = NSPredicate(
          format: format,
          argumentArray: arguments.map { argument -> Any in
            switch argument {
            case let number as Decimal: NSDecimalNumber(decimal: number)
            case let number as Double: NSNumber(value: number)
            case let number as Int: NSNumber(value: number)
            default: argument
            }
          }
        ).withSubstitutionVariables(["w": NSNumber(value: 0.1)])
      }
      #expect(try names(predicate, in: context) == expected)
      let all = try context.fetch(NSFetchRequest<Bird>(entityName: "Bird"))
      #expect(all.filter { predicate.evaluate(with: $0) }.compactMap(\.name).sorted() == expected)
    }
  }
}
