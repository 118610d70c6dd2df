import CoreData
import Testing

/// Derivations as expressions: every spelling that means one of Core Data's forms.
@Suite("Derivation expressions")
struct DerivedExpressionTests {
  private static func path(_ path: String) -> NSExpression { NSExpression(forKeyPath: path) }
  private static func call(_ name: String, _ path: String...) -> NSExpression {
    NSExpression(forFunction: name, arguments: path.map(Self.path))
  }

  /// The name of a derived attribute of sites, its type, its expression, and its value for a site “Äcker” with birds of 7 and 5.
  private static func forms() -> [(String, NSAttributeType, NSExpression, String)] {
    [
      ("copy", .stringAttributeType, NSExpression(format: "name"), "Äcker"),
      ("copyOfSelf", .stringAttributeType, NSExpression(format: "SELF.name"), "Äcker"),
      ("copyByKey", .stringAttributeType, path("name"), "Äcker"),
      ("reserved", .stringAttributeType, path("first"), "F"),
      ("reservedForm", .stringAttributeType, call("lowercase:", "first"), "f"),
      ("upper", .stringAttributeType, NSExpression(format: "uppercase:(name)"), "ÄCKER"),
      ("upperCall", .stringAttributeType, NSExpression(format: "uppercase(name)"), "ÄCKER"),
      ("lower", .stringAttributeType, call("lowercase:", "name"), "äcker"),
      ("canonical", .stringAttributeType, NSExpression(format: "canonical:(name)"), "acker"),
      ("canonicalCall", .stringAttributeType, NSExpression(format: "FUNCTION('canonical:', name)"), "acker"),
      ("count", .integer64AttributeType, NSExpression(format: "birds.@count"), "2"),
      ("countCall", .integer64AttributeType, NSExpression(format: "count:(birds)"), "2"),
      ("countByName", .integer64AttributeType, call("count:", "birds"), "2"),
      ("sum", .integer64AttributeType, NSExpression(format: "birds.@sum.tally"), "12"),
      ("sumBehind", .integer64AttributeType, NSExpression(format: "birds.tally.@sum"), "12"),
      ("sumCall", .integer64AttributeType, NSExpression(format: "sum:(birds.tally)"), "12"),
      ("sumByName", .integer64AttributeType, call("sum:", "birds.tally"), "12"),
      ("sumByKey", .integer64AttributeType, path("birds.@sum.tally"), "12"),
      ("now", .dateAttributeType, NSExpression(format: "now()"), "a date"),
      ("nowCall", .dateAttributeType, NSExpression(forFunction: "now", arguments: []), "a date"),
    ]
  }

  private static func extend(_ model: NSManagedObjectModel) {
    let first = NSAttributeDescription()
    first.name = "first"
    first.attributeType = .stringAttributeType
    model.entitiesByName["Site"]?.properties.append(first)
    for (name, type, expression, _) in forms() {
      let derived = NSDerivedAttributeDescription()
      derived.name = name
      derived.attributeType = type
      derived.derivationExpression = expression
      model.entitiesByName["Site"]?.properties.append(derived)
    }
  }

  @Test("Rule 335: a derivation is understood however its expression is spelled")
  func everyForm() throws {
    let stand = try BirdStand(Self.extend)
    let context = stand.context()
    let site = Site(context: context)
    site.name = "Äcker"
    site.setValue("F", forKey: "first")
    BirdStand.bird("wren", 7, 1, site, context)
    BirdStand.bird("gull", 5, 1, site, context)
    try context.save()
    for (name, _, _, expected) in Self.forms() {
      let value = site.value(forKey: name)
      #expect((value is Date ? "a date" : "\(value ?? "nil")") == expected, "\(name)")
    }
  }

  @Test("A derivation's expression comes back, and one meaning has one version hash")
  func oneMeaning() throws {
    func hash(_ expression: NSExpression) throws -> Data {
      let model = BirdStand.model()
      let derived = NSDerivedAttributeDescription()
      derived.name = "sum"
      derived.attributeType = .integer64AttributeType
      derived.derivationExpression = expression
      model.entitiesByName["Site"]?.properties.append(derived)
      #expect(derived.derivationExpression?.isEqual(expression) == true)
      #expect(derived.derivationExpression?.description == expression.description)
      return try #require(model.entityVersionHashesByName["Site"])
    }
    let sums = try ["birds.@sum.tally", "sum:(birds.tally)", "sum(birds.tally)", "birds.tally.@sum"].map {
      try hash(NSExpression(format: $0))
    }
    #expect(Set(sums).count == 1)
    let count = try hash(NSExpression(format: "birds.@count"))
    #expect(count == (try hash(NSExpression(forFunction: "count:", arguments: [Self.path("birds")]))))
    #expect(count != sums[0])
  }

  @Test(
    "Rule 340: any other form than Core Data's is refused, and the error lists the forms",
    arguments: [
      "max:(birds.tally)", "birds.@avg.tally", "length:(name)", "name + 'x'", "birds.@sum.tally + 1", "5",
    ])
  func refused(_ format: String) throws {
    let error = #expect(throws: (any Error).self) {
      _ = try BirdStand { model in
        let derived = NSDerivedAttributeDescription()
        derived.name = "it"
        derived.attributeType = .integer64AttributeType
        derived.derivationExpression = NSExpression(format: format)
        model.entitiesByName["Site"]?.properties.append(derived)
      }
    }
    #expect("\(String(describing: error))".contains("@sum"))
  }
}
