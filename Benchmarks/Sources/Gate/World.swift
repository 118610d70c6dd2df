import Foundation
import Strata

final class Team: ManagedObject {
  override class var declaredSlots: [String]? { ["name", "members"] }

  var name: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var members: RelatedObjects<Person> { related(slot: 1) }
}

final class Person: ManagedObject {
  override class var declaredSlots: [String]? { ["name", "age", "salary", "joined", "note", "team"] }

  var name: String? {
    get { readString(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var age: Int64 {
    get { readInt64(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var salary: Double {
    get { readDouble(slot: 2) }
    set { write(newValue, slot: 2) }
  }
  var joined: Date? {
    get { readDate(slot: 3) }
    set { write(newValue, slot: 3) }
  }
  var note: String? {
    get { readString(slot: 4) }
    set { write(newValue, slot: 4) }
  }
  var team: Team? {
    get { readObject(slot: 5) }
    set { write(newValue, slot: 5) }
  }

  func fill(_ number: Int) {
    name = "Person \(number)"
    age = Int64(number % 50)
    salary = Double(number) * 1.5
    joined = Date(timeIntervalSinceReferenceDate: Double(number))
    note = "a note of some length, number \(number)"
  }
}

/// A store of `people` people in `teams` teams, without a sync: what the system does is not counted anyway.
final class World {
  static let people = 1_000
  static let teams = 20

  let coordinator: PersistentStoreCoordinator
  /// The IDs of all people, in the order in which they were made.
  let identifiers: [ManagedObjectID]

  init(in folder: URL) throws {
    coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model)
    var description = PersistentStoreDescription(url: folder.appendingPathComponent("world.strata"))
    description.durability = .none
    try coordinator.addPersistentStore(description)
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    identifiers = try context.performAndWait {
      let teams = (0..<Self.teams).map { number in
        let team = Team(context: context)
        team.name = "Team \(number)"
        return team
      }
      let people = (0..<Self.people).map { number in
        let person = Person(context: context)
        person.fill(number)
        person.team = teams[number % teams.count]
        return person
      }
      try context.save()
      return people.map(\.objectID)
    }
  }

  func makeContext(parent: ManagedObjectContext? = nil) -> ManagedObjectContext {
    if let parent { return ManagedObjectContext(.privateQueue, parent: parent) }
    return ManagedObjectContext(.privateQueue, coordinator: coordinator)
  }

  func close() throws {
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  private static let model: ManagedObjectModel = {
    let person = EntityDescription(
      "Person", managedObjectClass: Person.self,
      properties: [
        AttributeDescription("name", .string), AttributeDescription("age", .integer64),
        AttributeDescription("salary", .double), AttributeDescription("joined", .date),
        AttributeDescription("note", .string),
      ],
      indexes: [FetchIndexDescription(name: "byAge", attributes: ["age"])])
    let team = EntityDescription(
      "Team", managedObjectClass: Team.self, properties: [AttributeDescription("name", .string)])
    let members = RelationshipDescription("members", to: person, maxCount: 0, deleteRule: .nullify)
    let inverse = RelationshipDescription("team", to: team, maxCount: 1)
    members.inverseRelationship = inverse
    inverse.inverseRelationship = members
    team.properties.append(members)
    person.properties.append(inverse)
    return ManagedObjectModel(entities: [team, person])
  }()
}
