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
  static let name = Slot<Trail, String>("name")
  static let kilometers = Slot<Trail, Double>("kilometers")
  static let hikes = Slot<Trail, Set<Hike>>("hikes")
  override class var namedSlots: [NamedSlot]? { [NamedSlot(name), NamedSlot(kilometers), NamedSlot(hikes)] }

  var name: String {
    get { read(Trail.name) }
    set { write(newValue, Trail.name) }
  }
  var kilometers: Double {
    get { read(Trail.kilometers) }
    set { write(newValue, Trail.kilometers) }
  }
  var hikes: RelatedObjects<Hike> { members(Trail.hikes) }
}

final class Hike: ManagedObject {
  static let date = Slot<Hike, Date?>("date")
  static let minutes = Slot<Hike, Int32>("minutes")
  static let trail = Slot<Hike, Trail?>("trail")
  override class var namedSlots: [NamedSlot]? { [NamedSlot(date), NamedSlot(minutes), NamedSlot(trail)] }

  var date: Date? {
    get { read(Hike.date) }
    set { write(newValue, Hike.date) }
  }
  var minutes: Int32 {
    get { read(Hike.minutes) }
    set { write(newValue, Hike.minutes) }
  }
  var trail: Trail? {
    get { read(Hike.trail) }
    set { write(newValue, Hike.trail) }
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
