import Foundation
import Strata
import TortureKit

/// A store of people in teams, in a folder of its own.
final class Stand {
  let folder: ScratchFolder
  let path: String
  private(set) var coordinator: PersistentStoreCoordinator

  static func model(extra: [AttributeDescription] = [], without: Set<String> = []) -> ManagedObjectModel {
    let person = EntityDescription("Person")
    let team = EntityDescription("Team")
    let members = RelationshipDescription("members", to: person, maxCount: 0)
    let own = RelationshipDescription("team", to: team, maxCount: 1)
    members.inverseRelationship = own
    own.inverseRelationship = members
    let all: [PropertyDescription] =
      [
        AttributeDescription("name", .string, isOptional: false), AttributeDescription("age", .integer16),
        AttributeDescription("born", .date), AttributeDescription("photo", .binaryData),
      ] + extra + [own]
    person.properties = all.filter { !without.contains($0.name) }
    if !without.contains("age") {
      person.indexes = [FetchIndexDescription(name: "byAge", attributes: ["age"])]
    }
    team.properties = [AttributeDescription("title", .string)] + (without.contains("team") ? [] : [members])
    team.uniquenessConstraints = [["title"]]
    return ManagedObjectModel(entities: [person, team])
  }

  init(model: ManagedObjectModel = Stand.model(), recordsHistory: Bool = false) throws {
    folder = try ScratchFolder()
    path = folder("People.strata")
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription(url: URL(fileURLWithPath: path))
    description.recordsHistory = recordsHistory
    try coordinator.addPersistentStore(description)
  }

  /// Ann (30, in Red), Bob (41), Cid (17, in Red), and the teams Red and Blue.
  static func people(recordsHistory: Bool = false, closes: Bool = true) throws -> Stand {
    let stand = try Stand(recordsHistory: recordsHistory)
    try stand.edit { context in
      let red = stand.make("Team", ["title": "Red"], context)
      _ = stand.make("Team", ["title": "Blue"], context)
      stand.make(
        "Person", ["name": "Ann", "age": 30, "born": Date(timeIntervalSinceReferenceDate: 0.25)], context
      )
      .setValue(red, forKey: "team")
      _ = stand.make(
        "Person", ["name": "Bob", "age": 41, "photo": Data(repeating: 7, count: 5_000)], context)
      stand.make("Person", ["name": "Cid", "age": 17], context).setValue(red, forKey: "team")
    }
    if closes { try stand.close() }
    return stand
  }

  func make(_ entity: String, _ values: [String: Any], _ context: ManagedObjectContext) -> ManagedObject {
    // The model has the entity: the test says so.
    let object = ManagedObject(
      entity: coordinator.managedObjectModel.entitiesByName[entity]!, insertInto: context)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }

  func edit(author: String? = nil, _ body: (ManagedObjectContext) throws -> Void) throws {
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    context.transactionAuthor = author
    try context.performAndWait {
      try body(context)
      try context.save()
    }
  }

  func close() throws { for store in coordinator.persistentStores { try coordinator.remove(store) } }
}
