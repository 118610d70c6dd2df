import Foundation
import Testing

@testable import StrataCore

/// All tests of this target, one after the other: observers are the process's.
@Suite(.serialized) enum TelemetryTests {}

final class Team: ManagedObject {
  override class var declaredSlots: [String]? { ["name", "people"] }
  var name: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var people: RelatedObjects<Person> { related(slot: 1) }
}

final class Person: ManagedObject {
  override class var declaredSlots: [String]? { ["name", "age", "code", "team"] }
  var name: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var age: Int64 {
    get { readInt64(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var code: String? {
    get { readString(slot: 2) }
    set { write(newValue, slot: 2) }
  }
  var team: Team? {
    get { readObject(slot: 3) }
    set { write(newValue, slot: 3) }
  }

  /// Nobody is younger than nothing.
  override func validateForInsert() throws {
    try super.validateForInsert()
    if age < 0 { throw CoreDataError(.coreData, "too young") }
  }
}

/// The class of no entity.
final class Stranger: ManagedObject {}

/// A store of teams and people whose names no other test uses, and contexts of it.
final class Club: Sendable {
  let tag = UUID().uuidString
  let coordinator: PersistentStoreCoordinator

  /// - Parameter url: The store's file; nil for one in memory.
  init(url: URL? = nil) throws {
    coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model())
    try coordinator.addPersistentStore(url.map { PersistentStoreDescription(url: $0) } ?? .inMemory)
  }

  /// - Parameters:
  ///   - more: Further attributes of people; then, and where some are left out, the classes are nobody's.
  ///   - without: The attributes that they do not have.
  static func model(more: [AttributeDescription] = [], without: Set<String> = []) -> ManagedObjectModel {
    let isPlain = !more.isEmpty || !without.isEmpty
    let team = EntityDescription(
      "Team", managedObjectClass: isPlain ? ManagedObject.self : Team.self,
      properties: [AttributeDescription("name", .string)])
    let attributes = [
      AttributeDescription("name", .string), AttributeDescription("age", .integer64, defaultValue: 0),
      AttributeDescription("code", .string),
    ]
    let person = EntityDescription(
      "Person", managedObjectClass: isPlain ? ManagedObject.self : Person.self,
      properties: attributes.filter { !without.contains($0.name) } + more,
      uniquenessConstraints: without.contains("code") ? [] : [["code"]],
      indexes: [FetchIndexDescription(name: "byAge", attributes: ["age"])])
    let people = RelationshipDescription("people", to: person, maxCount: 0)
    let own = RelationshipDescription("team", to: team, maxCount: 1)
    (people.inverseRelationship, own.inverseRelationship) = (own, people)
    team.properties.append(people)
    person.properties.append(own)
    return ManagedObjectModel(entities: [team, person])
  }

  func context(_ type: ConcurrencyType = .confinement) -> ManagedObjectContext {
    let context = ManagedObjectContext(type, coordinator: coordinator)
    context.name = tag
    return context
  }

  /// `teams` teams of `people` people each, saved.
  func fill(teams: Int, people: Int) throws {
    let context = context()
    for number in 0..<teams {
      let team = Team(context: context)
      team.name = "team \(number)"
      for other in 0..<people {
        let person = Person(context: context)
        person.name = "person \(number).\(other)"
        person.age = Int64(other)
        person.team = team
      }
    }
    try context.save()
  }

  func people(_ predicate: FetchPredicate? = nil) -> FetchRequest<Person> {
    FetchRequest<Person>(entityName: "Person", predicate: predicate)
  }
}
