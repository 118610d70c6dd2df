import Foundation
import Strata

/// The model of the tests about derived attributes.
///
///     Album ──tracks──▶▶ Track     with `album`; deletes its tracks
///      └ Live                      with a derived attribute of its own
///     Album ──tags──▶▶ Tag         many-to-many with `albums`
///     Album ──notes──▶▶ Note       without inverse; Note ──author──▶ Tag without inverse
///     Album ──cover──▶ Cover       one-to-one with `album`
///     Album ──bonus──▶▶ Track      ordered, without inverse: what its sums come to depends on the order
enum Discography {
  /// - Parameter derives: Whether there are derived attributes.
  static func make(derives: Bool = true) -> ManagedObjectModel {
    func derived(_ name: String, _ type: AttributeType, _ expression: String) -> [AttributeDescription] {
      derives ? [DerivedAttributeDescription(name, type, derivationExpression: expression)] : []
    }
    let live = EntityDescription(
      "Live",
      properties: [AttributeDescription("venue", .string, isOptional: true)]
        + derived("loudVenue", .string, "uppercase:(venue)"))
    let album = EntityDescription(
      "Album",
      properties: [
        AttributeDescription("title", .string, isOptional: true),
        AttributeDescription("year", .integer32, isOptional: true),
      ] + derived("titleCopy", .string, "title") + derived("key", .string, "canonical:(title)")
        + derived("saved", .date, "now()") + derived("trackCount", .integer64, "tracks.@count")
        + derived("seconds", .integer64, "tracks.@sum.seconds")
        + derived("price", .decimal, "tracks.@sum.price") + derived("tagCount", .integer16, "tags.@count")
        + derived("noteCount", .integer32, "notes.@count") + derived("weight", .double, "tracks.@sum.weight")
        + derived("bonusWeight", .double, "bonus.@sum.weight"))
    album.subentities = [live]
    let track = EntityDescription(
      "Track",
      properties: [
        AttributeDescription("name", .string, isOptional: true),
        AttributeDescription("seconds", .integer64, isOptional: true),
        AttributeDescription("price", .decimal, isOptional: true),
        AttributeDescription("weight", .double, isOptional: true),
      ] + derived("albumTitle", .string, "lowercase:(album.title)")
        + derived("year", .integer32, "album.year")
    )
    let tag = EntityDescription("Tag", properties: [AttributeDescription("name", .string, isOptional: true)])
    let note = EntityDescription(
      "Note",
      properties: [AttributeDescription("text", .string, isOptional: true)]
        + derived("authorName", .string, "author.name"))
    let cover = EntityDescription(
      "Cover",
      properties: [AttributeDescription("note", .string, isOptional: true)]
        + derived("albumTitle", .string, "uppercase:(album.title)"))
    join(album, "tracks", 0, track, "album", 1, rule: .cascade)
    join(album, "tags", 0, tag, "albums", 0)
    join(album, "cover", 1, cover, "album", 1)
    album.properties.append(RelationshipDescription("notes", to: note, maxCount: 0))
    album.properties.append(RelationshipDescription("bonus", to: track, maxCount: 0, isOrdered: true))
    note.properties.append(RelationshipDescription("author", to: tag, maxCount: 1))
    return ManagedObjectModel(entities: [album, live, track, tag, note, cover])
  }

  private static func join(
    _ left: EntityDescription, _ name: String, _ maxCount: Int, _ right: EntityDescription,
    _ inverseName: String, _ inverseMaxCount: Int, rule: DeleteRule = .nullify
  ) {
    let relationship = RelationshipDescription(name, to: right, maxCount: maxCount)
    relationship.deleteRule = rule
    let inverse = RelationshipDescription(inverseName, to: left, maxCount: inverseMaxCount)
    relationship.inverseRelationship = inverse
    inverse.inverseRelationship = relationship
    left.properties.append(relationship)
    right.properties.append(inverse)
  }

  /// Every value of every object, in words; of dates whether there is one.
  static func told(_ context: ManagedObjectContext) throws -> [String] {
    let model = context.persistentStoreCoordinator?.managedObjectModel
    return try ["Album", "Cover", "Note", "Tag", "Track"].flatMap { entity in
      try context.all(entity).map { object in
        let values = object.entity.attributesByName.keys.sorted().map { key in
          switch object.value(forKey: key) {
          case nil: "\(key)=nil"
          case is Date: "\(key)=date"
          case let text as String: "\(key)=\(text.count) \(text.prefix(20))"
          case let value?: "\(key)=\(value)"
          }
        }
        return "\(object.entity.name ?? "") \(values)"
      }.sorted()
    } + [model.map { "\($0.entities.count)" } ?? "none"]
  }
}
