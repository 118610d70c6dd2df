import SwiftData
import Testing

final class ReversingTransformer: ValueTransformer {
  override func transformedValue(_ value: Any?) -> Any? {
    (value as? Unlisted).map { Data($0.text.reversed().map(String.init).joined().utf8) }
  }
  override func reverseTransformedValue(_ value: Any?) -> Any? {
    (value as? Data).map { Unlisted(text: String(String(decoding: $0, as: UTF8.self).reversed())) }
  }
}

/// Not Codable: only a transformer can keep it.
struct Unlisted: Equatable { var text: String }

@Model final class Transformed {
  @Attribute(.transformable(by: "ReversingTransformer")) var byName: Unlisted?
  @Attribute(.transformable(by: ReversingTransformer.self)) var byType: Unlisted?
  init() {}
}

/// What an expansion looks like that was pasted into the source.
@Model final class Named {
  @Attribute(originalName: "title", hashModifier: "2") var name = ""
  @Attribute(.codable) var place = Place(city: "", zip: 0)
  init() {}
}

@ModelActor actor Keeper {
  func insert(_ name: String) throws -> PersistentIdentifier {
    let trip = Trip(name: name)
    modelContext.insert(trip)
    try modelContext.save()
    return trip.persistentModelID
  }
  func name(_ id: PersistentIdentifier) -> String? { self[id, as: Trip.self]?.name }
}

@Suite("Macros; R1: everything here imports SwiftData alone")
struct MacroRows {
  @Test("@attached … public macro Model(): the conformances and members that it adds")
  func model() {
    func conforms<M: PersistentModel & Observable>(_: M.Type) -> Bool { true }
    #expect(conforms(Trip.self) && conforms(Lorry.self))
    let trip = Trip(name: "a")
    #expect(trip.name == "a")
    trip.name = "b"
    #expect(trip.name == "b")
  }

  @Test("public macro _PersistedProperty(): a property without and with an initial value, an optional one")
  func persistedProperty() {
    let trip = Trip(name: "a")
    #expect(trip.mood == .calm && trip.place == nil)
    trip.place = Place(city: "Bern", zip: 3000)
    #expect(trip.place?.city == "Bern")
  }

  @Test("public macro _TransformablePersistedProperty(), transformable(by:) by type and by name")
  func transformable() throws {
    ValueTransformer.setValueTransformer(
      ReversingTransformer(), forName: NSValueTransformerName("ReversingTransformer"))
    let context = ModelContext(
      try ModelContainer(
        for: Transformed.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    let one = Transformed()
    one.byName = Unlisted(text: "abc")
    one.byType = Unlisted(text: "xyz")
    context.insert(one)
    try context.save()
    let other = try #require(ModelContext(context.container).fetch(FetchDescriptor<Transformed>()).first)
    #expect(other.byName == Unlisted(text: "abc") && other.byType == Unlisted(text: "xyz"))
  }

  @Test("public macro Attribute(_:originalName:hashModifier:)")
  func attribute() throws {
    let entity = try #require(Schema([Named.self]).entitiesByName["Named"])
    let name = try #require(entity.attributesByName["name"])
    #expect(name.originalName == "title" && name.hashModifier == "2")
    #expect(entity.attributesByName["place"]?.isCodable == true)
  }

  @Test("public macro Relationship(…), and a relationship without it")
  func relationship() throws {
    let entity = try #require(Schema([Trip.self]).entitiesByName["Trip"])
    let stays = try #require(entity.relationshipsByName["stays"])
    #expect(stays.deleteRule == .cascade && stays.inverseName == "trip" && !stays.isToOneRelationship)
    #expect(entity.relationshipsByName["guide"]?.inverseName == "trips")
  }

  @Test("public macro Transient()")
  func transient() throws {
    let entity = try #require(Schema([Trip.self]).entitiesByName["Trip"])
    #expect(entity.attributesByName["draws"] == nil)
    let trip = Trip(name: "a")
    trip.draws = 3
    #expect(trip.draws == 3)
  }

  @Test("public macro Unique<T>(_:) and Index<T>(_:)")
  func keys() throws {
    let entity = try #require(Schema([Trip.self]).entitiesByName["Trip"])
    #expect(entity.uniquenessConstraints == [["code"]])
    #expect(entity.indices == [["name"], ["name", "begins"]])
  }

  @Test("public macro ModelActor()")
  func modelActor() async throws {
    let keeper = Keeper(modelContainer: try makeContainer())
    let id = try await keeper.insert("a")
    #expect(await keeper.name(id) == "a")
  }
}
