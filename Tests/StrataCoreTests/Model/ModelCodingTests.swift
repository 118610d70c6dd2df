import Foundation
import Testing

@testable import StrataCore

@Suite struct ModelCodingTests {
  @Test("Every property of every description survives")
  func fullModelsRoundTrip() throws {
    let model = makeFullModel()
    let data = try ModelCoding.encode(model)
    let decoded = try ModelCoding.decode(data)
    #expect(try ModelDocument(decoded) == ModelDocument(model))
    #expect(try ModelCoding.encode(decoded) == data)
    #expect(decoded.entityVersionHashesByName == model.entityVersionHashesByName)
    #expect(decoded.versionChecksum == model.versionChecksum)

    let person = try #require(decoded.entitiesByName["Person"])
    let attributes = person.attributesByName
    for (name, attribute) in try #require(model.entitiesByName["Person"]).attributesByName {
      let copy = try #require(attributes[name])
      let type = attribute.attributeType
      let expected = try #require(AttributeValue(attribute.defaultValue, type: type))
      #expect(try isIdentical(#require(AttributeValue(copy.defaultValue, type: type)), expected))
      #expect(copy.isOptional == attribute.isOptional && copy.isTransient == attribute.isTransient)
    }
    let photo = try #require(attributes["photo"])
    #expect(photo.allowsExternalBinaryDataStorage && photo.preservesValueInHistoryOnDeletion)
    #expect(photo.renamingIdentifier == "picture" && photo.versionHashModifier == "photo modifier")
    #expect(photo.userInfo?["limit"] as? Int == 10 && photo.userInfo?["unit"] as? String == "bytes")
    let nested = try #require((photo.userInfo?["nested"] as? [String: Any])?["a"] as? [Any])
    #expect(nested[0] as? Double == 1.5 && nested[1] as? Bool == true && nested[2] as? String == "x")
    #expect(person.userInfo?["written"] as? Date == Date(timeIntervalSinceReferenceDate: 3))
    #expect(person.renamingIdentifier == "Human" && person.isAbstract && person.versionHashModifier == "2")
    #expect(person.indexes[0].elements.map(\.isAscending) == [false, true])
    #expect(person.indexes[0].elements[1].collationType == .rTree)
    #expect(person.subentities.map(\.name) == ["Employee"])

    let employees = try #require(decoded.entitiesByName["Company"]?.relationshipsByName["employees"])
    #expect(employees.destinationEntity === decoded.entitiesByName["Employee"])
    #expect(employees.inverseRelationship?.name == "employer" && employees.isToMany && employees.isOrdered)
    #expect(employees.minCount == 1 && employees.maxCount == 50 && employees.deleteRule == .deny)
    #expect(
      decoded.versionIdentifiers == ["v1", "first"] && decoded.configurations == ["Nothing", "People"])
    #expect(decoded.entities(forConfigurationName: "People")?.map(\.name) == ["Person", "Employee"])
  }

  @Test("A class is found again by its name")
  func classesAreFoundByName() throws {
    let decoded = try ModelCoding.decode(try ModelCoding.encode(makeFullModel()))
    let employee = try #require(decoded.entitiesByName["Employee"])
    #expect(employee.managedObjectClassName.hasSuffix(".PlainObject"))
    #expect(employee.managedObjectClass == PlainObject.self)
    #expect(decoded.entitiesByName["Person"]?.managedObjectClass == nil)
    #expect(decoded.entitiesByName["Person"]?.managedObjectClassName == "ManagedObject")
    let entity = EntityDescription("A")
    for name in ["", "Nothing.Here", "a.b.c", "../x", String(repeating: "x", count: 100_000)] {
      entity.managedObjectClassName = name
      #expect(entity.managedObjectClass == nil)
    }
  }

  @Test("A compiled model survives and compiles to the same layouts and indexes")
  func schemasSurvive() throws {
    let schema = try makeLibrary().schema()
    let again = try ModelCoding.decode(try ModelCoding.encode(schema.model)).schema()
    #expect(again.entities.map(\.layout.signature) == schema.entities.map(\.layout.signature))
    #expect(again.indexes.map(\.signature) == schema.indexes.map(\.signature))
    #expect(again.entities.map(\.versionHash) == schema.entities.map(\.versionHash))
  }

  @Test("Damaged models throw or decode, and never trap")
  func damagedModelsThrow() throws {
    var random = ValueGenerator.printed()
    let data = Array(try ModelCoding.encode(makeFullModel()))
    var refused = 0
    let count = rounds(600, long: 10_000)
    for _ in 0..<count {
      var bytes = data
      switch Int.random(in: 0..<4, using: &random) {
      case 0: bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random))
      case 1: bytes.remove(at: Int.random(in: 0..<bytes.count, using: &random))
      default:
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let place = Int.random(in: 0..<bytes.count, using: &random)
          bytes[place] = random.chance(2) ? UInt8(truncatingIfNeeded: random.next()) : UInt8(ascii: "0")
        }
      }
      do {
        _ = try? ModelCoding.decode(Data(bytes)).schema()
        _ = try ModelCoding.decode(Data(bytes))
      } catch {
        refused += 1
        #expect(!error.sentences.isEmpty)
      }
    }
    #expect(refused > count / 2)
  }

  @Test("JSON that is not a model, contradicts itself or is nested without end throws")
  func hostileModelsThrow() throws {
    let good = String(decoding: try ModelCoding.encode(makeLibrary()), as: UTF8.self)
    let deep = String(repeating: "[", count: 1_000_000)
    for text in ["", "{}", "null", "[]", deep, "{\"entities\":" + deep] {
      #expect(throws: ModelError.self) { try ModelCoding.decode(Data(text.utf8)) }
    }
    for (old, new) in [
      ("\"superentity\":\"Item\"", "\"superentity\":\"Comic\""),
      ("\"superentity\":\"Item\"", "\"superentity\":\"Nobody\""),
      ("\"name\":\"Shelf\"", "\"name\":\"Book\""),
      ("\"format\":1", "\"format\":2"),
      ("\"type\":100", "\"type\":101"),
      ("[\"integer\",\"100\"]", "[\"string\",\"100\"]"),
      ("[\"integer\",\"100\"]", "[\"integer\",\"x\"]"),
      ("\"order\":[\"row\"]", "\"order\":[\"row\",\"row\"]"),
      ("\"order\":[\"row\"]", "\"order\":[]"),
      ("\"isAbstract\":true", "\"isAbstract\":false"),
    ] {
      let damaged = good.replacingOccurrences(of: old, with: new)
      #expect(damaged != good, "nothing to replace: \(old)")
      #expect(throws: ModelError.self) { try ModelCoding.decode(Data(damaged.utf8)) }
    }
  }

  @Test("A digest tells what a model says, whatever the order of its parts and whoever its classes are")
  func digests() throws {
    let document = try ModelDocument(makeFullModel())
    let digest = ModelDigest.of(document)
    let bytes = try ModelCoding.encode(document)
    var other = document
    other.entities.reverse()
    for place in other.entities.indices {
      other.entities[place].className = nil
      other.entities[place].order.reverse()
      other.entities[place].attributes.reverse()
      other.entities[place].uniquenessConstraints.reverse()
    }
    other.configurations = other.configurations.mapValues { $0.reversed() }
    #expect(ModelDigest.of(other) == digest && ModelCoding.isStale(bytes, beside: other) == false)
    let person = try #require(document.entities.firstIndex { $0.name == "Person" })
    let changes: [(inout ModelDocument) -> Void] = [
      { $0.entities[person].attributes[0].property.isOptional.toggle() },
      { $0.entities[person].attributes[0].property.rules = nil },
      { $0.entities[person].attributes[1].defaultValue = ValueDocument(.integer(19)) },
      { $0.entities[person].uniquenessConstraints[0].reverse() },
      { $0.entities[person].indexes[0].elements.reverse() },
      { $0.entities[person].userInfo = nil },
      { $0.configurations["Nothing"] = ["Person"] },
    ]
    for (place, change) in changes.enumerated() {
      var changed = document
      change(&changed)
      #expect(ModelDigest.of(changed) != digest, "\(place)")
      #expect(ModelCoding.isStale(bytes, beside: changed) == true, "\(place)")
    }
    #expect(ModelCoding.isStale(Data("{}".utf8), beside: document) == nil)
    // It is about just these bytes.
    let note = ModelDigest.note(digest, beside: bytes)
    #expect(note.count == 17 && note != ModelDigest.note(digest, beside: bytes + [0]))
  }

  @Test("Random values survive as text")
  func valuesSurvive() throws {
    var random = ValueGenerator.printed()
    for type in ValueGenerator.storedTypes {
      for _ in 0..<500 {
        let value = random.value(type, longest: 200)
        let data = try JSONEncoder().encode([ValueDocument(value)])
        let decoded = try JSONDecoder().decode([ValueDocument].self, from: data)[0].value
        // NaN comes back as the plain one.
        #expect(isIdentical(decoded, value) || decoded == value && "\(value)".contains("nan"))
      }
    }
  }
}
