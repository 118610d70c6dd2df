import Foundation
import Testing

@testable import StrataCore

@Suite struct ModelValidationTests {
  @Test("A wrong model is reported with all its sentences at once, and stays changeable")
  func allSentencesAreListed() {
    let entity = EntityDescription(
      "Flight",
      properties: [
        AttributeDescription("origin", .string, defaultValue: 5),
        AttributeDescription("origin", .string),
        AttributeDescription("", .string),
        AttributeDescription("free", .undefined),
        AttributeDescription("blob", .objectID),
        AttributeDescription("small", .integer16, defaultValue: 70_000),
        AttributeDescription("note", .string, isTransient: true),
      ], uniquenessConstraints: [["nowhere"], [], ["origin", "origin"]],
      indexes: [
        FetchIndexDescription(name: "a", attributes: ["note"]),
        FetchIndexDescription(name: "a", attributes: ["blank"]),
        FetchIndexDescription(
          name: "spatial", elements: [.init(propertyName: "origin", collationType: .rTree)]),
      ])
    let stranger = EntityDescription("Stranger")
    entity.properties.append(RelationshipDescription("airline", to: stranger, maxCount: 1))
    entity.userInfo = ["key": NSObject()]
    let model = ManagedObjectModel(entities: [entity, EntityDescription(), EntityDescription("Flight")])
    model.setEntities([stranger], forConfigurationName: "Far")
    let error = #expect(throws: ModelError.self) { try model.schema() }
    let sentences = error?.sentences ?? []
    for expected in [
      "An entity has no name.",
      "Two entities are called Flight.",
      "Configuration Far contains entity Stranger, which is not in the model.",
      "A property of entity Flight has no name.",
      "Entity Flight has two properties called origin.",
      "The default value of Flight.origin is 5 (Int), which is no string.",
      "The default value of Flight.small is 70000 (Int), which is no integer16.",
      "Attribute Flight.free has no type; only transient attributes may have none.",
      "Attribute Flight.blob is of type objectID, which is not supported yet.",
      "Relationship Flight.airline leads to entity Stranger, which is not in the model.",
      "Entity Flight has two indexes called a.",
      "Index Flight.a names note, which is transient.",
      "Index Flight.a names blank, which the entity does not have.",
      "Index Flight.spatial is spatial and names origin, which is neither a number nor a date.",
      "Uniqueness constraint (nowhere) of entity Flight names nowhere, which the entity does not have.",
      "Uniqueness constraint () of entity Flight names no attribute.",
      "Uniqueness constraint (origin,origin) of entity Flight names a property twice.",
    ] {
      #expect(sentences.contains(expected), "missing: \(expected)")
    }
    #expect(sentences.contains { $0.hasPrefix("Entity Flight has user info that cannot be stored") })
    #expect(sentences.count == 18)
    // Not frozen: it can be put right.
    entity.properties = [AttributeDescription("origin", .string)]
    entity.uniquenessConstraints = []
    entity.indexes = []
    entity.userInfo = nil
    model.entities = [entity]
    model.setEntities([entity], forConfigurationName: "Far")
    #expect(throws: Never.self) { try model.schema() }
  }

  @Test("Inheritance in a circle, from outside, and twice")
  func inheritanceIsChecked() {
    let a = EntityDescription("A")
    let b = EntityDescription("B")
    a.subentities = [b]
    b.subentities = [a]
    let circle = #expect(throws: ModelError.self) { try ManagedObjectModel(entities: [a]).schema() }
    #expect(circle?.sentences.contains("Entity A inherits from itself.") == true)
    #expect(!a.versionHash.isEmpty && a.properties.isEmpty)

    let child = EntityDescription("Child")
    let parent = EntityDescription("Parent", subentities: [child])
    let orphan = #expect(throws: ModelError.self) { try ManagedObjectModel(entities: [child]).schema() }
    #expect(orphan?.sentences == ["Entity Child inherits from Parent, which is not in the model."])
    let second = EntityDescription("Second", subentities: [child])
    let twice = #expect(throws: ModelError.self) {
      try ManagedObjectModel(entities: [parent, second]).schema()
    }
    #expect(twice?.sentences.contains("Entity Child has more than one superentity.") == true)
  }

  @Test("Rows and keys that could not fit are refused with the model")
  func sizesAreChecked() {
    let many = EntityDescription(
      "Wide", properties: (0..<4_000).map { AttributeDescription("a\($0)", .string) })
    let names = (0..<60).map { "s\($0)" }
    let long = EntityDescription(
      "Long", properties: names.map { AttributeDescription($0, .string) },
      indexes: [FetchIndexDescription(name: "all", attributes: names)])
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(entities: [many, long]).schema()
    }
    #expect(
      error?.sentences == [
        "Index Long.all has too many attributes for one key.",
        "Entity Wide: 4000 attributes do not fit into a row of 60000 bytes.",
      ])
  }

  @Test("Names that could not go into URIs and signatures are refused")
  func namesAreChecked() {
    let entity = EntityDescription("A/B", properties: [AttributeDescription("x\ty", .string)])
    entity.properties.append(AttributeDescription(String(repeating: "n", count: 256), .string))
    let error = #expect(throws: ModelError.self) { try ManagedObjectModel(entities: [entity]).schema() }
    #expect(error?.sentences.count == 3)
  }

  @Test("Undefined transient attributes are legal (rule 334)")
  func undefinedTransientsAreLegal() throws {
    let entity = EntityDescription(
      "A", properties: [AttributeDescription("any", .undefined, isTransient: true)])
    #expect(try ManagedObjectModel(entities: [entity]).schema().entities[0].layout.kind(of: 0) == .transient)
  }
}
