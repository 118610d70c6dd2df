import Foundation
import Strata

enum HikingModel {
  static func make() -> ManagedObjectModel {
    let trail = EntityDescription(
      "Trail", managedObjectClass: Trail.self,
      properties: [
        AttributeDescription("name", .string, isOptional: false),
        AttributeDescription("kilometers", .double, isOptional: false, rules: [.minimum(.double(0.1))]),
      ],
      uniquenessConstraints: [["name"]])
    let hike = EntityDescription(
      "Hike", managedObjectClass: Hike.self,
      properties: [
        AttributeDescription("date", .date, isOptional: false),
        AttributeDescription("minutes", .integer32, isOptional: false, defaultValue: 0),
      ])
    let hikes = RelationshipDescription("hikes", to: hike, maxCount: 0, deleteRule: .cascade)
    let hiked = RelationshipDescription("trail", to: trail, maxCount: 1)
    hikes.inverseRelationship = hiked
    hiked.inverseRelationship = hikes
    trail.properties.append(hikes)
    hike.properties.append(hiked)
    return ManagedObjectModel(entities: [trail, hike])
  }
}

final class Trail: ManagedObject {
  override class var declaredSlots: [String]? { ["name", "kilometers", "hikes"] }

  var name: String {
    get { readString(slot: 0) ?? "" }
    set { write(newValue, slot: 0) }
  }
  var kilometers: Double {
    get { readDouble(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var hikes: RelatedObjects<Hike> { related(slot: 2) }
}

final class Hike: ManagedObject {
  override class var declaredSlots: [String]? { ["date", "minutes", "trail"] }

  var date: Date? {
    get { readDate(slot: 0) }
    set { write(newValue, slot: 0) }
  }
  var minutes: Int32 {
    get { readInt32(slot: 1) }
    set { write(newValue, slot: 1) }
  }
  var trail: Trail? {
    get { readObject(slot: 2) }
    set { write(newValue, slot: 2) }
  }
}

@MainActor final class HikingLog {
  let container: PersistentContainer
  var context: ManagedObjectContext { container.viewContext }

  init(storedAt url: URL) async throws {
    container = PersistentContainer(name: "Hiking", model: HikingModel.make())
    container.persistentStoreDescriptions = [PersistentStoreDescription(url: url)]
    try await container.loadPersistentStores()
    container.viewContext.automaticallyMergesChangesFromParent = true
  }
}

extension HikingLog {
  func addTrail(_ name: String, kilometers: Double) throws -> Trail {
    let trail = Trail(context: context)
    trail.name = name
    trail.kilometers = kilometers
    try save()
    return trail
  }

  func hike(_ trail: Trail, on date: Date, minutes: Int32) throws {
    let hike = Hike(context: context)
    hike.date = date
    hike.minutes = minutes
    hike.trail = trail
    try save()
  }

  private func save() throws {
    do {
      try context.save()
    } catch {
      context.rollback()
      throw error
    }
  }
}

extension HikingLog {
  func longTrails() throws -> [Trail] {
    let request = FetchRequest<Trail>(
      entityName: "Trail", predicate: Attribute("kilometers") >= 20, sortDescriptors: [FetchSort("name")])
    return try context.fetch(request)
  }

  func numberOfHikes(onTrail name: String) throws -> Int {
    try context.count(
      for: FetchRequest<Hike>(entityName: "Hike", predicate: Attribute("trail.name") == name))
  }

  func fastHikes() throws -> [Hike] {
    let predicate = try FetchPredicate(format: "minutes < %@ AND trail.kilometers > %@", 240, 10)
    return try context.fetch(FetchRequest<Hike>(entityName: "Hike", predicate: predicate))
  }
}

extension HikingLog {
  func importTrails(_ trails: [(name: String, kilometers: Double)]) async throws {
    try await container.performBackgroundTask { context in
      context.mergePolicy = .mergeByPropertyObjectTrump
      for (name, kilometers) in trails {
        let trail = Trail(context: context)
        trail.name = name
        trail.kilometers = kilometers
      }
      try context.save()
    }
    await context.perform {}
  }
}

extension HikingLog {
  func nameLists() throws -> AsyncStream<[String]> {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<Trail>(entityName: "Trail", sortDescriptors: [FetchSort("name")]),
      managedObjectContext: context)
    try controller.performFetch()
    return AsyncStream { continuation in
      let task = Task { @MainActor in
        for await snapshot in controller.snapshots {
          continuation.yield(self.names(of: snapshot))
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  private func names(of snapshot: FetchedResultsSnapshot) -> [String] {
    snapshot.itemIdentifiers.compactMap { (context.object(with: $0) as? Trail)?.name }
  }
}
