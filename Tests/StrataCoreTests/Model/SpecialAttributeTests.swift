import Foundation
import Testing

@testable import StrataCore

/// Transformable and composite attributes in models: slots, documents, hashes.
@Suite struct SpecialAttributeTests {
  private func makeEntity(_ change: (EntityDescription) -> Void = { _ in }) -> EntityDescription {
    let color = AttributeDescription("color", .transformable)
    color.valueTransformerName = "Color"
    color.attributeValueClassName = "App.Color"
    let place = CompositeAttributeDescription(
      "place", elements: [AttributeDescription("x", .double), AttributeDescription("y", .double)],
      isOptional: false)
    place.renamingIdentifier = "spot"
    let entity = EntityDescription(
      "Thing",
      properties: [AttributeDescription("name", .string), color, place, AttributeDescription("z", .double)])
    change(entity)
    return entity
  }

  @Test("rule 341: elements have slots behind their composite, which takes no bytes")
  func slots() throws {
    let schema = try ManagedObjectModel(entities: [makeEntity()]).schema()
    let entity = schema.entities[0]
    #expect(entity.attributes.map(\.name) == ["name", "color", "place", "place.x", "place.y", "z"])
    #expect(entity.attributes[2].elements == [3, 4] && entity.attributes[2].isTransient)
    #expect(entity.attributes[4].composite == 2 && entity.attributes[5].composite == nil)
    #expect(entity.layout.slots.map(\.kind) == [.string, .data, .transient, .double, .double, .double])
    #expect(entity.layout.slots[3].canonicalName == "spot.x")
    #expect(entity.hasComposites && entity.hasTransformables && schema.hasTransformables)
  }

  @Test("rule 341, 342: the model document keeps elements and transformers")
  func documents() throws {
    let model = ManagedObjectModel(entities: [makeEntity()])
    let decoded = try ModelCoding.decode(try ModelCoding.encode(model))
    #expect(try ModelDocument(decoded) == ModelDocument(model))
    #expect(decoded.entityVersionHashesByName == model.entityVersionHashesByName)
    let thing = try #require(decoded.entitiesByName["Thing"])
    #expect(thing.attributesByName["color"]?.valueTransformerName == "Color")
    #expect(thing.attributesByName["color"]?.attributeValueClassName == "App.Color")
    let place = try #require(thing.attributesByName["place"] as? CompositeAttributeDescription)
    #expect(place.elements.map(\.name) == ["x", "y"] && !place.isOptional && place.type == .composite)
    let circle = makeEntity {
      ($0.attributesByName["place"] as? CompositeAttributeDescription)?.elements.append(
        $0.attributesByName["place"]!)
    }
    #expect(throws: ModelError.self) {
      _ = try ManagedObjectModel(entities: [circle]).copy() as ManagedObjectModel
    }
    #expect(!circle.versionHash.isEmpty)
  }

  @Test(
    "rule 299: transformer and elements count in the version hash; the class name and the default's name do not"
  )
  func hashes() {
    let plain = makeEntity().versionHash
    func place(_ entity: EntityDescription) -> CompositeAttributeDescription {
      entity.attributesByName["place"] as! CompositeAttributeDescription
    }
    #expect(makeEntity().versionHash == plain)
    #expect(makeEntity { $0.attributesByName["color"]!.valueTransformerName = "Other" }.versionHash != plain)
    #expect(makeEntity { $0.attributesByName["color"]!.attributeValueClassName = nil }.versionHash == plain)
    #expect(makeEntity { place($0).elements[0].name = "u" }.versionHash != plain)
    #expect(makeEntity { place($0).elements[0].attributeType = .float }.versionHash != plain)
    #expect(makeEntity { place($0).elements[0].isOptional = false }.versionHash != plain)
    #expect(makeEntity { place($0).elements.removeLast() }.versionHash != plain)
    #expect(makeEntity { place($0).elements.reverse() }.versionHash == plain)
    func named(_ name: String?) -> Data {
      makeEntity { $0.attributesByName["color"]!.valueTransformerName = name }.versionHash
    }
    #expect(named(nil) == named(AttributeTransformers.secureName))
    #expect(named(nil) == named("NSSecureUnarchiveFromDataTransformer"))
  }

  @Test("rule 298: elements are frozen with the model")
  func frozenElements() async {
    await #expect(processExitsWith: .failure) {
      let place = CompositeAttributeDescription("place", elements: [AttributeDescription("x", .double)])
      _ = try ManagedObjectModel(entities: [EntityDescription("A", properties: [place])]).schema()
      place.elements[0].name = "y"
    }
  }
}

/// Derived attributes in models: expressions, documents, hashes.
@Suite struct DerivedModelTests {
  @Test(
    "rule 335: Apple's forms are read, others are not",
    arguments: [
      ("name", Derivation.copy(path: ["name"], nil)), ("a.b.c", .copy(path: ["a", "b", "c"], nil)),
      ("canonical:(name)", .copy(path: ["name"], .canonical)),
      ("uppercase:(a.b)", .copy(path: ["a", "b"], .uppercase)),
      ("lowercase:(name)", .copy(path: ["name"], .lowercase)),
      ("children.@count", .count(relationship: "children")),
      ("children.@sum.amount", .sum(relationship: "children", attribute: "amount")),
      ("children.@sum.price.net", .sum(relationship: "children", attribute: "price.net")), ("now()", .now),
      ("", nil), ("a..b", nil), ("@count", nil), (".@count", nil), ("a.@count.b", nil), ("a.@avg.b", nil),
      ("a.@sum", nil),
      ("upper:(a)", nil), ("uppercase:()", nil), ("uppercase:(a", nil), ("a b", nil),
      ("now", .copy(path: ["now"], nil)),
    ] as [(String, Derivation?)])
  func expressions(_ text: String, _ expected: Derivation?) {
    #expect(Derivation(text) == expected)
  }

  @Test("rules 299, 335: documents keep the expression, and it counts in the hash; a hidden slot is last")
  func documentsAndHashes() throws {
    func make(_ expression: String) -> EntityDescription {
      EntityDescription(
        "Thing",
        properties: [
          DerivedAttributeDescription("upper", .string, derivationExpression: expression),
          AttributeDescription("name", .string),
        ], subentities: [EntityDescription("Sub", properties: [AttributeDescription("own", .string)])])
    }
    let model = ManagedObjectModel(entities: [make("uppercase:(name)")])
    let decoded = try ModelCoding.decode(try ModelCoding.encode(model))
    #expect(try ModelDocument(decoded) == ModelDocument(model))
    let copy = try #require(
      decoded.entitiesByName["Thing"]?.attributesByName["upper"] as? DerivedAttributeDescription)
    #expect(copy.derivationExpression == "uppercase:(name)")
    #expect(make("uppercase:(name)").versionHash == make("uppercase:(name)").versionHash)
    #expect(make("uppercase:(name)").versionHash != make("lowercase:(name)").versionHash)
    let plain = EntityDescription(
      "Thing", properties: [AttributeDescription("upper", .string), AttributeDescription("name", .string)])
    #expect(make("name").versionHash != plain.versionHash)
    let schema = try decoded.schema()
    let sub = try #require(schema.entity(named: "Sub"))
    #expect(sub.attributes.map(\.name) == ["upper", "name", "own", "~baseline"])
    #expect(sub.baselineSlot == 3 && sub.slot(named: "~baseline") == nil && sub.layout.kind(of: 3) == .int64)
    #expect(sub.derived == [DerivedSchema(slot: 0, source: .own(slot: 1), form: .uppercase)])
    #expect(try ManagedObjectModel(entities: [plain]).schema().derivedSources == nil)
    let reserved = EntityDescription("Thing", properties: [AttributeDescription("~baseline", .string)])
    #expect(throws: ModelError.self) { try ManagedObjectModel(entities: [reserved]).schema() }
  }
}
