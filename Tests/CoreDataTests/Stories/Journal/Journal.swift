import CoreData
import Foundation

/// The model of the stories: entries of a journal, and the trips they belong to.
final class Entry: NSManagedObject {
  var title: String {
    get { value(forKey: "title") as? String ?? "" }
    set { setValue(newValue, forKey: "title") }
  }
  var rating: Int {
    get { value(forKey: "rating") as? Int ?? 0 }
    set { setValue(newValue, forKey: "rating") }
  }
  var trip: Trip? {
    get { value(forKey: "trip") as? Trip }
    set { setValue(newValue, forKey: "trip") }
  }
}

final class Trip: NSManagedObject {
  var name: String {
    get { value(forKey: "name") as? String ?? "" }
    set { setValue(newValue, forKey: "name") }
  }
}

enum Journal {
  static func makeModel() -> NSManagedObjectModel {
    func attribute(_ name: String, _ type: NSAttributeType, optional: Bool = true, default value: Any? = nil)
      -> NSAttributeDescription
    {
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      attribute.isOptional = optional
      attribute.defaultValue = value
      return attribute
    }
    let entry = NSEntityDescription()
    entry.name = "Entry"
    entry.managedObjectClass = Entry.self
    let trip = NSEntityDescription()
    trip.name = "Trip"
    trip.managedObjectClass = Trip.self

    let toTrip = NSRelationshipDescription()
    toTrip.name = "trip"
    toTrip.destinationEntity = trip
    toTrip.maxCount = 1
    toTrip.deleteRule = .nullifyDeleteRule
    let toEntries = NSRelationshipDescription()
    toEntries.name = "entries"
    toEntries.destinationEntity = entry
    toEntries.deleteRule = .cascadeDeleteRule
    toTrip.inverseRelationship = toEntries
    toEntries.inverseRelationship = toTrip
    let toPlan = NSRelationshipDescription()
    toPlan.name = "plan"
    toPlan.destinationEntity = entry
    toPlan.isOrdered = true
    let toPlanned = NSRelationshipDescription()
    toPlanned.name = "plannedIn"
    toPlanned.destinationEntity = trip
    toPlanned.maxCount = 1
    toPlan.inverseRelationship = toPlanned
    toPlanned.inverseRelationship = toPlan

    entry.properties = [
      attribute("title", .stringAttributeType, optional: false),
      attribute("rating", .integer16AttributeType, optional: false, default: 0),
      attribute("isPinned", .booleanAttributeType, optional: false, default: false),
      attribute("height", .doubleAttributeType),
      attribute("date", .dateAttributeType),
      toTrip, toPlanned,
    ]
    trip.properties = [attribute("name", .stringAttributeType), toEntries, toPlan]
    trip.uniquenessConstraints = [["name"]]
    let model = NSManagedObjectModel()
    model.entities = [entry, trip]
    return model
  }

  /// A folder of its own for one test.
  static func makeFolder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  static func makeCoordinator(at url: URL?) throws -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: makeModel())
    try coordinator.addPersistentStore(
      ofType: url == nil ? NSInMemoryStoreType : NSSQLiteStoreType, configurationName: nil, at: url,
      options: [
        NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
      ])
    return coordinator
  }

  /// The titles in the store, as a context that knows nothing else sees them.
  static func savedTitles(_ coordinator: NSPersistentStoreCoordinator) throws -> [String] {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return try context.performAndWait { try titles(context) }
  }

  /// The titles the context sees, sorted.
  static func titles(_ context: NSManagedObjectContext) throws -> [String] {
    try entries(context).map(\.title).sorted()
  }
}
