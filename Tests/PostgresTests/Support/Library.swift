import Foundation
import Strata

/// A small model for stories: books of authors, in order on shelves, with subjects.
///
///     Book ──author──▶ Author      with `books`, which cascades
///     Shelf ──books──▶▶ Book       ordered, the inverse, `shelf`, is to-one
///     Book ──subjects──▶▶ Subject  many-to-many with `books`
///     List ──entries──▶▶ Book      ordered many-to-many with `lists`
///     Person ──friends──▶▶ Person  its own inverse
///     Person ──card──▶ Card        one-to-one with `holder`
enum Library {
  static func make() -> ManagedObjectModel {
    let author = EntityDescription(
      "Author",
      properties: [
        AttributeDescription("name", .string, isOptional: true),
        AttributeDescription("born", .date, isOptional: true),
      ])
    author.uniquenessConstraints = [["name"]]
    let book = EntityDescription(
      "Book",
      properties: [
        AttributeDescription("title", .string, isOptional: true),
        AttributeDescription("code", .string, isOptional: true),
        AttributeDescription("pages", .integer32, isOptional: true),
        AttributeDescription("price", .decimal, isOptional: true),
        AttributeDescription("text", .string, isOptional: true),
        AttributeDescription("cover", .binaryData, isOptional: true),
      ])
    book.uniquenessConstraints = [["code"]]
    let novel = EntityDescription(
      "Novel", properties: [AttributeDescription("plot", .string, isOptional: true)])
    book.subentities = [novel]
    let shelf = EntityDescription(
      "Shelf", properties: [AttributeDescription("room", .string, isOptional: true)])
    let subject = EntityDescription(
      "Subject", properties: [AttributeDescription("name", .string, isOptional: true)])
    let list = EntityDescription(
      "List", properties: [AttributeDescription("name", .string, isOptional: true)])
    let person = EntityDescription(
      "Person", properties: [AttributeDescription("name", .string, isOptional: true)])
    let card = EntityDescription(
      "Card", properties: [AttributeDescription("number", .integer64, isOptional: true)])
    join(book, "author", 1, author, "books", 0, backRule: .cascade)
    join(book, "shelf", 1, shelf, "books", 0, isBackOrdered: true)
    join(book, "subjects", 0, subject, "books", 0)
    join(list, "entries", 0, book, "lists", 0, isOrdered: true)
    join(person, "card", 1, card, "holder", 1)
    let friends = RelationshipDescription("friends", to: person, maxCount: 0)
    friends.inverseRelationship = friends
    person.properties.append(friends)
    person.properties.append(RelationshipDescription("favourite", to: book, maxCount: 1))
    person.properties.append(RelationshipDescription("wishes", to: book, maxCount: 0))
    return ManagedObjectModel(entities: [author, book, card, list, novel, person, shelf, subject])
  }

  private static func join(
    _ left: EntityDescription, _ name: String, _ maxCount: Int, _ right: EntityDescription, _ inverse: String,
    _ inverseMaxCount: Int, isOrdered: Bool = false, isBackOrdered: Bool = false,
    backRule: DeleteRule = .nullify
  ) {
    let there = RelationshipDescription(name, to: right, maxCount: maxCount, isOrdered: isOrdered)
    let back = RelationshipDescription(inverse, to: left, maxCount: inverseMaxCount, isOrdered: isBackOrdered)
    back.deleteRule = backRule
    there.inverseRelationship = back
    back.inverseRelationship = there
    left.properties.append(there)
    right.properties.append(back)
  }
}

private struct NoSuchEntity: Error {
  let name: String
}

extension ManagedObjectContext {
  /// A new object with values.
  @discardableResult
  func make(_ entity: String, _ values: [String: Any] = [:]) throws -> ManagedObject {
    guard let description = persistentStoreCoordinator?.managedObjectModel.entitiesByName[entity] else {
      throw NoSuchEntity(name: entity)
    }
    let object = ManagedObject(entity: description, insertInto: self)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }

  /// All objects of an entity, in the order of an attribute.
  func all(_ entity: String, by key: String? = nil, _ predicate: FetchPredicate? = nil) throws
    -> [ManagedObject]
  {
    try fetch(
      FetchRequest<ManagedObject>(
        entityName: entity, predicate: predicate, sortDescriptors: key.map { [FetchSort($0)] } ?? []))
  }

  /// The values of an attribute of all objects of an entity, in their order.
  func texts(_ entity: String, _ key: String) throws -> [String] {
    try all(entity, by: key).map { $0.value(forKey: key) as? String ?? "nil" }
  }
}

extension ManagedObject {
  /// The members of a to-many relationship without an order.
  func set(_ key: String) -> Set<ManagedObject> { value(forKey: key) as? Set<ManagedObject> ?? [] }

  /// Those of one with an order.
  func list(_ key: String) -> [ManagedObject] { value(forKey: key) as? [ManagedObject] ?? [] }

  func add(_ members: [ManagedObject], to key: String) { setValue(set(key).union(members), forKey: key) }
  func remove(_ member: ManagedObject, from key: String) {
    setValue(set(key).subtracting([member]), forKey: key)
  }
}
