import SwiftData
import Testing

@Suite("Schema")
struct SchemaRows {
  let schema = Schema([Trip.self, Lorry.self], version: Schema.Version(2, 1, 0))

  @Test("final class Schema: Codable, Hashable, CustomDebugStringConvertible, Sendable; its initialisers")
  func initializers() throws {
    #expect(Schema().entities.isEmpty)
    #expect(Schema(Trip.self, Vehicle.self).entities.count == 4)
    #expect(Schema(Schema.Entity("A"), Schema.Entity("B")).entitiesByName.keys.sorted() == ["A", "B"])
    #expect(Schema(versionedSchema: FirstVersion.self).version == Schema.Version(1, 0, 0))
    func isSendable<S: Sendable & Hashable & Codable>(_: S) -> Bool { true }
    #expect(isSendable(schema) && schema.debugDescription.contains("Trip"))
    let read = try JSONDecoder().decode(Schema.self, from: JSONEncoder().encode(schema))
    #expect(read == schema && read.hashValue == schema.hashValue && read.version == schema.version)
    #expect(read.entity(for: Trip.self)?.relationshipsByName["stays"]?.inverseName == "trip")
    #expect(read.entitiesByName["Lorry"]?.superentity?.name == "Vehicle")
    let place = read.entity(for: Trip.self)?.attributesByName["place"] as? Schema.CompositeAttribute
    #expect(place?.properties.map(\.name) == ["city", "zip"])
  }

  @Test("entities, entitiesByName, version, encodingVersion, schemaEncodingVersion")
  func entities() {
    #expect(schema.entities.map(\.name).sorted() == ["Guide", "Lorry", "Stay", "Trip", "Vehicle"])
    #expect(schema.version == Schema.Version(2, 1, 0))
    #expect(schema.encodingVersion == Schema.schemaEncodingVersion)
  }

  @Test("func entity(for:), static func entityName(for:), of nested types too")
  func names() {
    #expect(schema.entity(for: Trip.self)?.name == "Trip")
    #expect(schema.entity(for: FirstVersion.Note.self) == nil)
    #expect(Schema.entityName(for: FirstVersion.Note.self) == "Note")
  }

  @Test("func save(to:), static func load(from:)")
  func files() throws {
    let folder = try Folder()
    try schema.save(to: folder.file("schema.json"))
    #expect(try Schema.load(from: folder.file("schema.json")) == schema)
  }

  @Test("struct Schema.Version: Codable, Comparable, CustomStringConvertible, Hashable, Sendable")
  func version() throws {
    let version = Schema.Version(1, 2, 3)
    #expect((version.major, version.minor, version.patch) == (1, 2, 3) && version.description == "1.2.3")
    #expect(Schema.Version(1, 9, 9) < Schema.Version(2, 0, 0) && Schema.Version(1, 2, 2) < version)
    #expect(try JSONDecoder().decode(Schema.Version.self, from: JSONEncoder().encode(version)) == version)
  }

  @Test("struct Schema.PropertyMetadata; protocol SchemaProperty")
  func properties() throws {
    let metadata = Schema.PropertyMetadata(
      name: "name", keypath: \Trip.name, defaultValue: "a", metadata: Schema.Attribute(.unique))
    #expect(Mirror(reflecting: metadata).children.count == 4)
    let entity = try #require(schema.entitiesByName["Trip"])
    for property: any SchemaProperty in entity.properties {
      #expect(property.isAttribute != property.isRelationship)
      #expect(property.originalName == property.name)
    }
    let picture = try #require(entity.propertiesByName["picture"])
    #expect(picture.isOptional && picture.valueType == Data?.self && !picture.isUnique)
    #expect(entity.propertiesByName["isOpen"]?.isTransient == true)
  }

  @Test("class Schema.Attribute; its initialisers and options; isTransformable, isUnique")
  func attribute() throws {
    let options: [Schema.Attribute.Option] = [
      .unique, .externalStorage, .ephemeral, .preserveValueOnDeletion, .spotlight, .allowsCloudEncryption,
      .codable, .transformable(by: "A"), .transformable(by: ReversingTransformer.self),
    ]
    #expect(Set(options).count == 9)
    #expect(options[7].debugDescription == "transformable(by: A)")
    let attribute = Schema.Attribute(
      name: "a", originalName: "b", options: options, valueType: Int?.self, defaultValue: 1, hashModifier: "c"
    )
    #expect(attribute.isOptional && attribute.isUnique && attribute.isTransformable && attribute.isTransient)
    #expect(attribute.options == options && attribute.defaultValue as? Int == 1)
    #expect(Schema.Attribute(.unique, originalName: "b", hashModifier: "c").originalName == "b")
    let entity = try #require(schema.entity(for: Trip.self))
    let name = try #require(entity.attributesByName["name"])
    #expect(name.valueType == String.self && !name.isOptional && name.debugDescription.contains("name"))
    #expect(entity.attributesByName["mood"]?.defaultValue as? Mood == .calm)
  }

  @Test("final class Schema.CompositeAttribute: properties")
  func composite() throws {
    let place = try #require(schema.entity(for: Trip.self)?.attributesByName["place"])
    let properties = try #require((place as? Schema.CompositeAttribute)?.properties)
    #expect(properties.map(\.name) == ["city", "zip"])
    #expect(
      properties.map { ObjectIdentifier($0.valueType) } == [
        ObjectIdentifier(String.self), ObjectIdentifier(Int.self),
      ])
  }

  @Test("final class Schema.Relationship; DeleteRule; Option")
  func relationship() throws {
    let made = Schema.Relationship(
      .unique, deleteRule: .deny, minimumModelCount: 1, maximumModelCount: 3, originalName: "b",
      inverse: \Stay.trip, hashModifier: "c")
    #expect(made.deleteRule == .deny && made.minimumModelCount == 1 && made.maximumModelCount == 3)
    #expect(made.isUnique && made.inverseKeyPath == \Stay.trip && made.hashModifier == "c")
    let rules: [Schema.Relationship.DeleteRule] = [.noAction, .nullify, .cascade, .deny]
    #expect(rules.map(\.rawValue) == ["noAction", "nullify", "cascade", "deny"])
    let trip = try #require(schema.entity(for: Stay.self)?.relationshipsByName["trip"])
    #expect(trip.isToOneRelationship && trip.destination == "Trip" && trip.inverseName == "stays")
    #expect(trip.keypath == \Stay.trip && trip.deleteRule == .nullify)
  }

  @Test("final class Schema.Entity: hierarchy, properties, constraints, indices")
  func entity() throws {
    let lorry = try #require(schema.entity(for: Lorry.self))
    #expect(lorry.superentity?.name == "Vehicle" && lorry.superentityName == "Vehicle")
    #expect(lorry.superentity?.subentities.map(\.name) == ["Lorry"])
    #expect(lorry.properties.map(\.name) == ["wheels", "load"])
    #expect(lorry.storedProperties.map(\.name) == ["load"])
    #expect(lorry.inheritedProperties.map(\.name) == ["wheels"])
    #expect(lorry.storedPropertiesByName.count == 1 && lorry.inheritedPropertiesByName.count == 1)
    let trip = try #require(schema.entity(for: Trip.self))
    #expect(trip.relationships.map(\.name).sorted() == ["guide", "stays"])
    #expect(trip.uniquenessConstraints == [["code"]] && trip.indices.count == 2)
    let made = Schema.Entity(
      "A", subentities: Schema.Entity("B"), properties: Schema.Attribute(name: "a", valueType: Int.self))
    #expect(made.subentities.count == 1 && made.attributes.count == 1)
    #expect(try JSONDecoder().decode(Schema.Entity.self, from: JSONEncoder().encode(trip)) == trip)
  }

  @Test("final class Schema.Unique<T> and Schema.Index<T>: Types, CodingKeys, Codable, Hashable")
  func keys() throws {
    let unique = Schema.Unique<Trip>([\.code], [\.name, \.begins])
    #expect(unique.constraints == [[\Trip.code], [\Trip.name, \Trip.begins]])
    #expect(try JSONDecoder().decode(Schema.Unique<Trip>.self, from: JSONEncoder().encode(unique)) == unique)
    let index = Schema.Index<Trip>(.binary([\.name]), .rtree([\.number]))
    #expect(index.indices.count == 2 && index == index)
    #expect(Schema.Index<Trip>([\.name]).indices == [[\Trip.name]])
    #expect(Schema.Unique<Trip>.CodingKeys.constraints.stringValue == "constraints")
    #expect(Schema.Index<Trip>.CodingKeys.indices.stringValue == "indices")
  }
}
