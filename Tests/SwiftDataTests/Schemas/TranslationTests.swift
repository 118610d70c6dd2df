import StrataCore
import Testing

@testable import SwiftData

// Models of the tests of schemas. Nested, so that entities of one name do not meet.

private enum Paired {
  @Model final class Owner {
    var pets: [Pet] = []
    var home: Home?
    var likes: [Hobby] = []
    init() {}
  }
  @Model final class Pet {
    var owner: Owner?
    init() {}
  }
  @Model final class Home {
    var owner: Owner
    init(owner: Owner) { self.owner = owner }
  }
  @Model final class Hobby {
    var likedBy: [Owner] = []
    init() {}
  }
}

private enum Ambiguous {
  @Model final class Team {
    var home: [Game] = []
    var away: [Game] = []
    init() {}
  }
  @Model final class Game {
    var host: Team?
    init() {}
  }
}

private enum Tree {
  @Model final class Node {
    var parent: Node?
    var children: [Node] = []
    init() {}
  }
}

private enum Named {
  @Model final class Album {
    @Attribute(.unique, originalName: "name", hashModifier: "v2") var title = ""
    @Attribute(.externalStorage) var cover: Data?
    @Attribute(.ephemeral) var isPlaying = false
    @Attribute(.preserveValueOnDeletion) var number = 0
    @Relationship(
      deleteRule: .cascade, minimumModelCount: 1, maximumModelCount: 20, originalName: "tracks",
      inverse: \Song.album)
    var songs: [Song]
    init(songs: [Song]) { self.songs = songs }
  }
  @Model final class Song {
    var album: Album
    init(album: Album) { self.album = album }
  }
}

private enum Wrong {
  @Model final class One {
    #Unique<One>([\.others])
    @Relationship(inverse: \Two.third) var other: Two?
    var others: [Three] = []
    init() {}
  }
  @Model final class Two {
    var third: Three?
    init() {}
  }
  @Model final class Three {
    init() {}
  }
}

/// Inverses that cannot hold what the other end can.
private enum Misled {
  @Model class Craft {
    var owner: Keeper?
    var user: Keeper?
    init() {}
  }
  @Model final class Glider: Craft {
    var span = 0
    override init() { super.init() }
  }
  @Model final class Jet: Craft {
    var thrust = 0
    override init() { super.init() }
  }
  @Model final class Keeper {
    @Relationship(inverse: \Glider.owner) var gliders: [Glider] = []
    @Relationship(inverse: \Craft.user) var jets: [Jet] = []
    init() {}
  }
  @Model class Fleet {
    @Relationship(inverse: \Crate.carrier) var crates: [Crate] = []
    init() {}
  }
  @Model final class Carrier: Fleet {
    var flag = ""
    override init() { super.init() }
  }
  @Model final class Crate {
    var carrier: Carrier?
    init() {}
  }
}

private enum Twice {
  enum Inner {
    @Model final class Pet { init() {} }
  }
}

private enum Keyed {
  @Model final class Room {
    #Index<Room>(.rtree([\.name]))
    var name = ""
    init() {}
  }
  struct Place: Codable {
    var city: String
    var zip: Int
  }
  @Model final class Shop {
    #Unique<Shop>([\.name, \.place.city])
    #Index<Shop>(
      .rtree([\.latitude, \.longitude]), .binary([\.place.zip]), .binary([\.latitude, \.longitude]))
    var latitude = 0.0
    var longitude = 0.0
    var name = ""
    var place = Place(city: "Bern", zip: 3000)
    init() {}
  }
}

@Suite("Schemas as models")
struct TranslationTests {
  private func model(_ types: any PersistentModel.Type...) throws -> ManagedObjectModel {
    try Schema(types, version: Schema.Version(1, 0, 0)).managedObjectModel { _ in ManagedObject.self }
  }

  private func inverse(_ entity: String, _ name: String, _ model: ManagedObjectModel) -> String? {
    model.entitiesByName[entity]?.relationshipsByName[name]?.inverseRelationship?.name
  }

  @Test("S60: an inverse is inferred where only one pair can be meant")
  func inferred() throws {
    let model = try model(Paired.Owner.self)
    #expect(inverse("Owner", "pets", model) == "owner" && inverse("Pet", "owner", model) == "pets")
    #expect(model.entities.count == 4)
    let tree = try self.model(Tree.Node.self)
    #expect(inverse("Node", "children", tree) == "parent" && inverse("Node", "parent", tree) == "children")
  }

  @Test(
    "S60: none is inferred for a to-one relationship that must have a value, nor where two could be meant")
  func notInferred() throws {
    let model = try model(Paired.Owner.self)
    #expect(inverse("Owner", "home", model) == nil && inverse("Home", "owner", model) == nil)
    let games = try self.model(Ambiguous.Team.self)
    #expect(inverse("Team", "home", games) == nil && inverse("Game", "host", games) == nil)
  }

  @Test("S61: many-to-many relationships are paired by name only")
  func manyToMany() throws {
    #expect(inverse("Owner", "likes", try model(Paired.Owner.self)) == nil)
  }

  @Test("S16, S25, S65, S72: what attributes and relationships say is in the model")
  func options() throws {
    let model = try model(Named.Album.self)
    let album = try #require(model.entitiesByName["Album"])
    let title = try #require(album.attributesByName["title"])
    #expect(title.renamingIdentifier == "name" && title.versionHashModifier == "v2" && !title.isOptional)
    #expect(title.defaultValue as? String == "" && album.uniquenessConstraints == [["title"]])
    #expect(album.attributesByName["cover"]?.allowsExternalBinaryDataStorage == true)
    #expect(album.attributesByName["cover"]?.isOptional == true)
    #expect(album.attributesByName["isPlaying"]?.isTransient == true)
    #expect(album.attributesByName["number"]?.preservesValueInHistoryOnDeletion == true)
    let songs = try #require(album.relationshipsByName["songs"])
    #expect(songs.deleteRule == .cascade && songs.minCount == 1 && songs.maxCount == 20 && songs.isToMany)
    #expect(songs.renamingIdentifier == "tracks" && !songs.isOptional && !songs.isOrdered)
    let back = try #require(model.entitiesByName["Song"]?.relationshipsByName["album"])
    #expect(!back.isOptional && !back.isToMany && back.inverseRelationship === songs)
    #expect(model.versionIdentifiers == ["1.0.0"])
  }

  @Test("Keys may name elements of structs")
  func compositeKeys() throws {
    let shop = try #require(try model(Keyed.Shop.self).entitiesByName["Shop"])
    #expect(shop.uniquenessConstraints == [["name", "place.city"]])
    #expect(shop.indexes.map(\.name) == ["byPlaceZip", "byLatitudeLongitude", "spatialByLatitudeLongitude"])
    #expect(
      shop.indexes.map { $0.elements.map(\.propertyName) } == [
        ["place.zip"], ["latitude", "longitude"], ["latitude", "longitude"],
      ])
    #expect(shop.indexes.map(\.isSpatial) == [false, false, true])
    let place = try #require(shop.attributesByName["place"] as? CompositeAttributeDescription)
    #expect(
      place.elements.map { $0.defaultValue as? String ?? "\($0.defaultValue as? Int64 ?? 0)" } == [
        "Bern", "3000",
      ])
  }

  @Test("Everything that is wrong is said at once")
  func faults() throws {
    let error = #expect(throws: SchemaError.self) { try model(Wrong.One.self) }
    let sentences = error?.sentences ?? []
    #expect(sentences.contains { $0.contains("One.other names the inverse Two.third, which leads to Three") })
    #expect(sentences.contains { $0.contains("names others, which is a to-many relationship") })
    #expect(sentences.count == 2)
  }

  @Test("An inverse of a superclass, or one that leads to a subclass, is refused with the container")
  func misled() throws {
    let error = #expect(throws: SchemaError.self) { try model(Misled.Keeper.self, Misled.Crate.self) }
    let sentences = error?.sentences ?? []
    for words in [
      "Keeper.gliders names the inverse Glider.owner, which is one of every Craft",
      "Keeper.jets names the inverse Jet.user, which is one of every Craft",
      "Fleet.crates names the inverse Crate.carrier, which leads to Carrier, not to Fleet",
    ] {
      #expect(sentences.contains { $0.contains(words) }, "\(words): \(sentences)")
    }
    #expect(sentences.count == 3)
    #expect(throws: SwiftDataError.loadIssueModelContainer) {
      try ModelContainer(
        for: Misled.Keeper.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    }
  }

  @Test("A space has dimensions that are numbers or dates")
  func space() throws {
    let model = try model(Keyed.Room.self)
    let error = #expect(throws: ModelError.self) { try model.schema() }
    #expect(
      error?.sentences == [
        "Index Room.spatialByName is spatial and names name, which is neither a number nor a date."
      ])
    // Written down and read again it is the same space.
    let schema = Schema([Keyed.Room.self])
    let read = try JSONDecoder().decode(Schema.self, from: JSONEncoder().encode(schema))
    #expect(read.entities == schema.entities)
    #expect(read.entities.first?.indices == [["name"]])
  }

  @Test("S85: two classes of one name are refused, with both named")
  func sameName() throws {
    let error = #expect(throws: SchemaError.self) { try model(Paired.Pet.self, Twice.Inner.Pet.self) }
    #expect(error?.description.contains("Twice.Inner.Pet") == true)
    #expect(error?.description.contains("Paired.Pet") == true)
  }

  @Test("An entity without a class is refused")
  func noClass() {
    let error = #expect(throws: SchemaError.self) {
      try Schema(Schema.Entity("A")).managedObjectModel { _ in ManagedObject.self }
    }
    #expect(error?.sentences == ["Entity A has no class: make the schema of classes with @Model."])
  }

  @Test("The same schema answers the same model each time")
  func cached() throws {
    let schema = Schema([Paired.Owner.self])
    #expect(
      try schema.managedObjectModel { _ in ManagedObject.self }
        === schema.managedObjectModel { _ in ManagedObject.self })
  }
}
