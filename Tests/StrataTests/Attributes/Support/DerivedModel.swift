import Foundation
import Strata

/// The model of the tests about derived attributes.
///
///     Album    title, place (composite: city) · titleCopy, key, upper, lower, saved, trackCount, seconds, price, tagCount, noteCount
///      └ Live  venue · loudVenue
///     Track    name, seconds, price, album · albumTitle, city
///     Tag      name, albums ⟷ Album.tags (many-to-many)
///     Note     text · Album.notes leads here without inverse; author ─▶ Tag without inverse · authorName
///     Cover    note, album ⟷ Album.cover (one-to-one) · albumTitle
enum DerivedModel {
  static func make(_ change: ([String: EntityDescription]) -> Void = { _ in }) -> ManagedObjectModel {
    let live = EntityDescription(
      "Live",
      properties: [
        AttributeDescription("venue", .string), derived("loudVenue", .string, "uppercase:(venue)"),
      ])
    let album = EntityDescription(
      "Album",
      properties: [
        AttributeDescription("title", .string),
        CompositeAttributeDescription("place", elements: [AttributeDescription("city", .string)]),
        derived("titleCopy", .string, "title"), derived("key", .string, "canonical:(title)"),
        derived("upper", .string, "uppercase:(title)"), derived("lower", .string, "lowercase:(title)"),
        derived("saved", .date, "now()"),
        derived("trackCount", .integer64, "tracks.@count", isOptional: false),
        derived("seconds", .integer64, "tracks.@sum.seconds"),
        derived("price", .decimal, "tracks.@sum.price"),
        derived("tagCount", .integer16, "tags.@count"), derived("noteCount", .integer32, "notes.@count"),
      ],
      indexes: [
        FetchIndexDescription(name: "byCount", attributes: ["trackCount", "title"]),
        FetchIndexDescription(name: "byKey", attributes: ["key"]),
        FetchIndexDescription(name: "byTitle", attributes: ["title"]),
      ], subentities: [live])
    let track = EntityDescription(
      "Track",
      properties: [
        AttributeDescription("name", .string), AttributeDescription("seconds", .integer32),
        AttributeDescription("price", .decimal), derived("albumTitle", .string, "album.title"),
        derived("city", .string, "lowercase:(album.place.city)"),
      ], indexes: [FetchIndexDescription(name: "byAlbumTitle", attributes: ["albumTitle"])])
    let tag = EntityDescription("Tag", properties: [AttributeDescription("name", .string)])
    let note = EntityDescription(
      "Note",
      properties: [AttributeDescription("text", .string), derived("authorName", .string, "author.name")])
    let cover = EntityDescription(
      "Cover",
      properties: [
        derived("albumTitle", .string, "uppercase:(album.title)"), AttributeDescription("note", .string),
      ])
    join(album, "tracks", 0, track, "album", 1, rule: .cascade)
    join(album, "tags", 0, tag, "albums", 0)
    join(album, "cover", 1, cover, "album", 1)
    album.properties.append(RelationshipDescription("notes", to: note, maxCount: 0))
    note.properties.append(RelationshipDescription("author", to: tag, maxCount: 1))
    let entities = [album, live, track, tag, note, cover]
    change(Dictionary(uniqueKeysWithValues: entities.map { ($0.name ?? "", $0) }))
    return ManagedObjectModel(entities: entities)
  }

  static func derived(
    _ name: String, _ type: AttributeType, _ expression: String, isOptional: Bool = true
  ) -> DerivedAttributeDescription {
    DerivedAttributeDescription(name, type, derivationExpression: expression, isOptional: isOptional)
  }

  private static func join(
    _ left: EntityDescription, _ name: String, _ maxCount: Int, _ right: EntityDescription,
    _ inverseName: String, _ inverseMaxCount: Int, rule: DeleteRule = .nullify
  ) {
    let relationship = RelationshipDescription(name, to: right, maxCount: maxCount, deleteRule: rule)
    let inverse = RelationshipDescription(inverseName, to: left, maxCount: inverseMaxCount)
    relationship.inverseRelationship = inverse
    inverse.inverseRelationship = relationship
    left.properties.append(relationship)
    right.properties.append(inverse)
  }
}

extension ManagedObjectContext {
  /// A new object of that entity, with values.
  @discardableResult
  func make(_ entity: String, _ values: [String: Any] = [:]) throws -> ManagedObject {
    guard let description = persistentStoreCoordinator?.managedObjectModel.entitiesByName[entity] else {
      throw NoSuchObject(entity: entity, name: "", count: 0)
    }
    let object = ManagedObject(entity: description, insertInto: self)
    for (key, value) in values { object[key] = value }
    return object
  }

  /// All objects of that entity that match, in order of their keys.
  func allOf(_ entity: String, _ predicate: FetchPredicate? = nil) throws -> [ManagedObject] {
    try fetch(FetchRequest<ManagedObject>(entityName: entity, predicate: predicate))
  }

  /// The one object of that entity that matches.
  func onlyOf(_ entity: String, _ predicate: FetchPredicate? = nil) throws -> ManagedObject {
    let found = try allOf(entity, predicate)
    guard found.count == 1 else {
      throw NoSuchObject(entity: entity, name: "\(predicate ?? .everything)", count: found.count)
    }
    return found[0]
  }
}
