import CoreData

/// A bird that was seen somewhere.
final class Bird: NSManagedObject {
  var name: String? {
    get { value(forKey: "name") as? String }
    set { setValue(newValue, forKey: "name") }
  }
  var tally: Int64 {
    get { value(forKey: "tally") as? Int64 ?? 0 }
    set { setValue(newValue, forKey: "tally") }
  }
  var weight: Float {
    get { value(forKey: "weight") as? Float ?? 0 }
    set { setValue(newValue, forKey: "weight") }
  }
  var site: Site? {
    get { value(forKey: "site") as? Site }
    set { setValue(newValue, forKey: "site") }
  }
  var shoutedName: String { (name ?? "").uppercased() }

  class func fetchRequest() -> NSFetchRequest<Bird> { NSFetchRequest<Bird>(entityName: "Bird") }
}

/// Where birds are seen.
final class Site: NSManagedObject {
  var name: String? {
    get { value(forKey: "name") as? String }
    set { setValue(newValue, forKey: "name") }
  }
}

/// A store in a folder of its own with a model of birds and sites.
///
///     Site ──birds──▶▶ Bird, with Bird.site; a site has the fetched property `heavyBirds`
final class BirdStand {
  let coordinator: NSPersistentStoreCoordinator
  private let folder: URL

  init(_ change: (NSManagedObjectModel) throws -> Void = { _ in }) throws {
    let model = Self.model()
    try change(model)
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("birds-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: folder.appendingPathComponent("Birds.store"))
  }

  deinit {
    for store in coordinator.persistentStores { try? coordinator.remove(store) }
    try? FileManager.default.removeItem(at: folder)
  }

  static func model() -> NSManagedObjectModel {
    let bird = NSEntityDescription()
    bird.name = "Bird"
    bird.managedObjectClass = Bird.self
    let site = NSEntityDescription()
    site.name = "Site"
    site.managedObjectClass = Site.self
    let home = NSRelationshipDescription()
    home.name = "site"
    home.destinationEntity = site
    home.maxCount = 1
    let birds = NSRelationshipDescription()
    birds.name = "birds"
    birds.destinationEntity = bird
    birds.inverseRelationship = home
    home.inverseRelationship = birds
    bird.properties = [
      attribute("name", .stringAttributeType), attribute("tally", .integer64AttributeType),
      attribute("weight", .floatAttributeType), attribute("seenAt", .dateAttributeType),
      attribute("isRare", .booleanAttributeType), home,
    ]
    let heavy = NSFetchedPropertyDescription()
    heavy.name = "heavyBirds"
    let request = NSFetchRequest<NSFetchRequestResult>(entityName: "Bird")
    request.predicate = NSPredicate(format: "site == $FETCH_SOURCE AND weight > 1")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: false)]
    heavy.fetchRequest = request
    site.properties = [attribute("name", .stringAttributeType), birds, heavy]
    let model = NSManagedObjectModel()
    model.entities = [bird, site]
    return model
  }

  private static func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    return attribute
  }

  /// A context of the calling thread, or of a queue.
  func context(_ type: NSManagedObjectContextConcurrencyType = .confinementConcurrencyType)
    -> NSManagedObjectContext
  {
    let context = NSManagedObjectContext(concurrencyType: type)
    // The store stays as long as it is in use.
    if type == .privateQueueConcurrencyType {
      context.performAndWait { context.userInfo["stand"] = self }
    } else {
      context.userInfo["stand"] = self
    }
    context.persistentStoreCoordinator = coordinator
    return context
  }

  /// A context with saved birds: wren 7 and robin 2 in the wood, swan 3 and coot 12 on the lake, gull 5 nowhere.
  func stocked() throws -> NSManagedObjectContext {
    let context = context()
    let wood = Site(context: context)
    wood.name = "Wood"
    let lake = Site(context: context)
    lake.name = "Lake"
    Self.bird("wren", 7, 0.1, wood, context)
    Self.bird("robin", 2, 0.2, wood, context)
    Self.bird("swan", 3, 11, lake, context)
    Self.bird("coot", 12, 0.9, lake, context)
    Self.bird("gull", 5, 1.1, nil, context)
    try context.save()
    return context
  }

  @discardableResult
  static func bird(
    _ name: String?, _ tally: Int64, _ weight: Float, _ site: Site?, _ context: NSManagedObjectContext
  )
    -> Bird
  {
    let bird = Bird(context: context)
    bird.name = name
    bird.tally = tally
    bird.weight = weight
    bird.site = site
    bird.setValue(Date(timeIntervalSinceReferenceDate: Double(tally) * 60), forKey: "seenAt")
    bird.setValue(tally > 10, forKey: "isRare")
    return bird
  }
}

/// A fetch of birds by a predicate, as their names in order.
func names(
  _ predicate: NSPredicate?, in context: NSManagedObjectContext,
  sorted: [NSSortDescriptor] = [NSSortDescriptor(key: "name", ascending: true)]
) throws -> [String] {
  let request = NSFetchRequest<Bird>(entityName: "Bird")
  request.predicate = predicate
  request.sortDescriptors = sorted
  return try context.fetch(request).map { $0.name ?? "nil" }
}
