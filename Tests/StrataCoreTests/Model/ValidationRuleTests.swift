import Foundation
import Testing

@testable import StrataCore

@Suite struct ValidationRuleTests {
  /// A model with one attribute of `type` that has `rules`.
  private func model(_ type: AttributeType, _ rules: ValidationRule..., isTransient: Bool = false)
    -> ManagedObjectModel
  {
    ManagedObjectModel(entities: [
      EntityDescription(
        "Wave", properties: [AttributeDescription("size", type, isTransient: isTransient, rules: rules)])
    ])
  }

  private func sentences(_ model: ManagedObjectModel) -> [String] {
    do {
      _ = try model.schema()
      return []
    } catch let error as ModelError { return error.sentences } catch { return ["\(error)"] }
  }

  @Test("A rule that does not fit its attribute is refused with entity, attribute and rule (rule 228)")
  func misfitsAreRefused() {
    for (model, expected) in [
      (
        model(.string, .minimum(3)), "The rule minimum 3 does not fit Wave.size: its type is string, and only"
      ),
      (model(.boolean, .maximum(true)), "The rule maximum true does not fit Wave.size: its type is boolean"),
      (
        model(.integer16, .maximum(70_000)),
        "The rule maximum 70000 does not fit Wave.size: 70000 is no integer16."
      ),
      (model(.integer16, .minimum(0.5)), "The rule minimum 0.5 does not fit Wave.size: 0.5 is no integer16."),
      (model(.double, .minimum("1")), "The rule minimum \"1\" does not fit Wave.size: \"1\" is no double."),
      (
        model(.double, .minimum(.double(.nan))),
        "The rule minimum nan does not fit Wave.size: nan is no double."
      ),
      (
        model(.double, .minimum(.boolean(true))),
        "The rule minimum true does not fit Wave.size: true is no double."
      ),
      (model(.date, .minimum(5)), "The rule minimum 5 does not fit Wave.size: 5 is no date."),
      (model(.double, .maximum(Date(timeIntervalSinceReferenceDate: 0))), "The rule maximum 2001"),
      (
        model(.integer64, .maximumLength(3)),
        "The rule maximum length 3 does not fit Wave.size: its type is integer64"
      ),
      (
        model(.string, .minimumLength(-1)),
        "The rule minimum length -1 does not fit Wave.size: its length is negative."
      ),
      (
        model(.binaryData, .pattern("a")),
        "The rule pattern \"a\" does not fit Wave.size: its type is binaryData"
      ),
      (
        model(.string, .pattern("(a")),
        "The rule pattern \"(a\" does not fit Wave.size: it is no regular expression of 1 to 10,000 bytes."
      ),
      (model(.string, .pattern("")), "The rule pattern \"\" does not fit Wave.size: it is no"),
      (model(.string, .pattern("a)(b")), "The rule pattern \"a)(b\" does not fit Wave.size: it is no"),
      (model(.string, .pattern(String(repeating: "a", count: 10_001))), "The rule pattern \"aaa"),
      (
        model(.integer16, .minimum(5), .maximum(4)),
        "No value of Wave.size meets its rules: minimum 5, maximum 4."
      ),
      (
        model(.string, .minimumLength(5), .maximumLength(4)),
        "No value of Wave.size meets its rules: minimum length 5, maximum length 4."
      ),
      (
        model(.string, .maximumLength(4, warning: String(repeating: "x", count: 20_000))),
        "The rule maximum length 4 does not fit Wave.size: its warning is longer"
      ),
    ] {
      let found = sentences(model)
      #expect(found.count == 1 && found[0].hasPrefix(expected), "\(found) is not: \(expected)")
    }
    let attribute = AttributeDescription("size", .integer16)
    attribute.validationRules = Array(repeating: .minimum(1), count: 101)
    let many = ManagedObjectModel(entities: [EntityDescription("Wave", properties: [attribute])])
    #expect(sentences(many) == ["Property Wave.size has more than 100 rules."])
  }

  @Test("A relationship takes predicates only")
  func relationshipsTakePredicates() {
    let wave = EntityDescription("Wave")
    let next = RelationshipDescription("next", to: wave, maxCount: 1)
    next.validationRules = [.minimum(1)]
    wave.properties = [next]
    let found = sentences(ManagedObjectModel(entities: [wave]))
    #expect(
      found == ["The rule minimum 1 does not fit Wave.next, which is a relationship; only predicates do."])
  }

  @Test("Rules that fit are taken, in any numeric type")
  func fittingRulesAreTaken() {
    for type in [AttributeType.integer16, .integer32, .integer64, .double, .float, .decimal] {
      #expect(sentences(model(type, .minimum(1), .maximum(4.0))).isEmpty)
    }
    #expect(sentences(model(.date, .minimum(Date()), .maximum(.distantFuture))).isEmpty)
    #expect(sentences(model(.string, .pattern("(?x) a+ # comment"), isTransient: true)).isEmpty)
  }

  @Test("Copies and merged models keep every rule, also predicates; the stored form keeps all but predicates")
  func rulesAreKept() throws {
    struct Odd: ValidationPredicate {
      func evaluate(with value: Any?) -> Bool { (value as? Int64 ?? 0) % 2 != 0 }
    }
    let original = model(
      .integer16, .minimum(1, warning: "Flat."), .predicate(Odd(), warning: "Even."), .maximum(9))
    let copy: ManagedObjectModel = try original.copy()
    let rules = try #require(copy.entitiesByName["Wave"]?.attributesByName["size"]?.validationRules)
    #expect(rules.map(\.condition.description) == ["minimum 1", "predicate Odd", "maximum 9"])
    #expect(rules.map(\.warning) == ["Flat.", "Even.", nil])
    #expect(rules[1].predicate is Odd)
    let stored = try ModelCoding.decode(ModelCoding.encode(original))
    let kept = try #require(stored.entitiesByName["Wave"]?.attributesByName["size"])
    #expect(kept.validationRules.map(\.condition.description) == ["minimum 1", "maximum 9"])
    #expect(kept.validationWarnings == ["Flat.", nil])
    #expect(stored.versionChecksum == original.versionChecksum)
  }

  @Test("Copies keep predicates of elements of composite attributes, too")
  func rulesOfElementsAreKept() throws {
    struct Never: ValidationPredicate { func evaluate(with value: Any?) -> Bool { false } }
    let zip = AttributeDescription("zip", .string)
    zip.validationRules = [.predicate(Never(), warning: "Never.")]
    let place = CompositeAttributeDescription(
      "place", elements: [AttributeDescription("name", .string), zip])
    let person = EntityDescription(
      "Person",
      properties: [
        AttributeDescription("zip", .string), CompositeAttributeDescription("home", elements: [place]),
      ])
    let copy: ManagedObjectModel = try ManagedObjectModel(entities: [person]).copy()
    let attributes = try #require(copy.entitiesByName["Person"]?.attributesByName)
    let home = try #require(attributes["home"] as? CompositeAttributeDescription)
    let inner = try #require(home.elements.first as? CompositeAttributeDescription)
    #expect(inner.elements.map(\.validationRules.count) == [0, 1])
    #expect(inner.elements.last?.validationRules.first?.predicate is Never)
    #expect(attributes["zip"]?.validationRules.isEmpty == true)
  }

  @Test("A stored rule that is not valid is refused; a model stored before there were rules is read")
  func storedRulesAreChecked() throws {
    let text = String(decoding: try ModelCoding.encode(model(.integer16, .minimum(1))), as: UTF8.self)
    let rules = ",\"rules\":[{\"bound\":[\"integer\",\"1\"],\"kind\":\"minimum\"}]"
    #expect(text.contains(rules))
    for damaged in [
      ",\"rules\":[{\"kind\":\"minimum\"}]", ",\"rules\":[{\"kind\":\"smallest\"}]", ",\"rules\":7",
    ] {
      #expect(throws: ModelError.self) {
        try ModelCoding.decode(Data(text.replacingOccurrences(of: rules, with: damaged).utf8))
      }
    }
    let old = try ModelCoding.decode(Data(text.replacingOccurrences(of: rules, with: "").utf8))
    #expect(old.entitiesByName["Wave"]?.attributesByName["size"]?.validationRules.isEmpty == true)
    #expect(!String(decoding: try ModelCoding.encode(old), as: UTF8.self).contains("rules"))
  }

  @Test("A pattern speaks of the whole string, and its work is bounded")
  func patterns() throws {
    let choice = try #require(ValidationPattern("a|ab"))
    #expect(choice.compare("ab") == .matches && choice.compare("abc") == .differs)
    #expect(choice.compare("ab\n") == .differs && choice.compare("") == .differs)
    let commented = try #require(ValidationPattern("(?x) a+ # some"))
    #expect(commented.compare("aaa") == .matches && commented.compare("b") == .differs)
    let letters = try #require(ValidationPattern("\\p{L}."))
    #expect(letters.compare("ä🏄") == .matches)
    let endless = try #require(ValidationPattern("(a+)+b"))
    #expect(endless.compare(String(repeating: "a", count: 60)) == .undecided)
    let deep = try #require(ValidationPattern("(?:a|b)*"))
    #expect(deep.compare(String(repeating: "ab", count: 2_000_000)) == .undecided)
  }

  @Test("Conditions answer by themselves, as predicates do")
  func conditionsArePredicates() {
    #expect(ValidationRule.Condition.minimum(3).evaluate(with: 3))
    #expect(!ValidationRule.Condition.minimum(3).evaluate(with: 2.5))
    #expect(!ValidationRule.Condition.maximum(3).evaluate(with: Double.nan))
    #expect(ValidationRule.Condition.maximumLength(2).evaluate(with: "äö"))
    #expect(!ValidationRule.Condition.maximumLength(2).evaluate(with: "🏄a"), "UTF-16 code units count")
    #expect(ValidationRule.Condition.minimumLength(2).evaluate(with: "🏄"))
    #expect(!ValidationRule.Condition.minimumLength(3).evaluate(with: "🏄"))
    #expect(!ValidationRule.Condition.pattern("a").evaluate(with: 3))
    #expect(ValidationRule.Condition.pattern("a").evaluate(with: nil))
  }

  @Test("Core Data's spelling sets and shows the same rules")
  func appleSpelling() {
    struct Whatever: ValidationPredicate { func evaluate(with value: Any?) -> Bool { true } }
    let attribute = AttributeDescription("size", .integer16)
    attribute.setValidationPredicates(
      [ValidationRule.Condition.minimum(1), Whatever()], withValidationWarnings: ["small", "odd"])
    #expect(attribute.validationPredicates.count == 2 && attribute.validationWarnings == ["small", "odd"])
    #expect(attribute.validationRules[0].condition.description == "minimum 1")
    attribute.setValidationPredicates(nil)
    #expect(attribute.validationRules.isEmpty)
  }
}
