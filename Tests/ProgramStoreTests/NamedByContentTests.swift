import CoreData
import Testing

/// A store whose records are named by what they contain: a record that has gone and one that is made later have the same name.
@Suite("Incremental stores: references that name a record again")
struct NamedByContentTests {
  /// The rows are those of one test.
  final class ContentStore: NSIncrementalStore, @unchecked Sendable {
    // @unchecked Sendable: only used inside of one context's blocks at a time.
    static let storeType = "NamedByContent"
    var rows: [String: [String: [String: Any]]] = ["Item": [:], "Box": [:]]

    override func loadMetadata() throws {
      metadata = [NSStoreUUIDKey: UUID().uuidString, NSStoreTypeKey: Self.storeType]
    }

    func key(_ id: NSManagedObjectID) -> String { "\(referenceObject(for: id))" }

    override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws
      -> Any
    {
      if let fetch = request as? NSFetchRequest<any NSFetchRequestResult>, let entity = fetch.entity,
        let context
      {
        return (rows[entity.name ?? ""] ?? [:]).keys.sorted().map {
          context.object(with: newObjectID(for: entity, referenceObject: $0))
        }
      }
      guard let save = request as? NSSaveChangesRequest else { return [Any]() }
      for object in (save.insertedObjects ?? []).union(save.updatedObjects ?? []) {
        var values: [String: Any] = ["name": object.value(forKey: "name") ?? ""]
        if object.entity.name == "Item", let box = object.value(forKey: "box") as? NSManagedObject {
          values["box"] = key(box.objectID)
        }
        rows[object.entity.name ?? ""]?[key(object.objectID)] = values
      }
      for object in save.deletedObjects ?? [] { rows[object.entity.name ?? ""]?[key(object.objectID)] = nil }
      return [Any]()
    }

    override func newValuesForObject(with id: NSManagedObjectID, with context: NSManagedObjectContext)
      throws -> NSIncrementalStoreNode
    {
      guard let row = rows[id.entity.name ?? ""]?[key(id)] else {
        throw CocoaError(CocoaError.Code(rawValue: 133_000))
      }
      var values: [String: Any] = ["name": row["name"] ?? ""]
      if let box = row["box"] as? String, let end = id.entity.relationshipsByName["box"]?.destinationEntity {
        values["box"] = newObjectID(for: end, referenceObject: box)
      }
      return NSIncrementalStoreNode(objectID: id, withValues: values, version: 1)
    }

    override func newValue(
      forRelationship relationship: NSRelationshipDescription, forObjectWith id: NSManagedObjectID,
      with context: NSManagedObjectContext?
    ) throws -> Any {
      guard let box = rows[id.entity.name ?? ""]?[key(id)]?[relationship.name] as? String,
        let end = relationship.destinationEntity
      else { return NSNull() }
      return newObjectID(for: end, referenceObject: box)
    }

    override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
      array.map { newObjectID(for: $0.entity, referenceObject: $0.value(forKey: "name") as? String ?? "?") }
    }
  }

  static func model() -> NSManagedObjectModel {
    func name() -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      attribute.name = "name"
      attribute.attributeType = .stringAttributeType
      return attribute
    }
    let item = NSEntityDescription()
    item.name = "Item"
    let box = NSEntityDescription()
    box.name = "Box"
    let relationship = NSRelationshipDescription()
    relationship.name = "box"
    relationship.destinationEntity = box
    relationship.maxCount = 1
    relationship.isOptional = true
    item.properties = [name(), relationship]
    box.properties = [name()]
    let model = NSManagedObjectModel()
    model.entities = [item, box]
    return model
  }

  @Test("A link to a record that somebody makes under the name of one that has gone is kept")
  func madeLater() throws {
    NSPersistentStoreCoordinator.registerStoreClass(ContentStore.self, forStoreType: ContentStore.storeType)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model())
    let store = try #require(
      try coordinator.addPersistentStore(
        ofType: ContentStore.storeType, configurationName: nil, at: nil, options: nil) as? ContentStore)
    let parent = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    parent.persistentStoreCoordinator = coordinator
    let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    child.parent = parent
    func make(_ entity: String, _ name: String) -> NSManagedObject {
      let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: parent)
      object.setValue(name, forKey: "name")
      return object
    }
    try parent.performAndWait { () throws in
      _ = make("Item", "lamp")
      try parent.save()
      let box = make("Box", "A 1")
      try parent.obtainPermanentIDs(for: [box])
      parent.processPendingChanges()
      let id = box.objectID
      try child.performAndWait { () throws in
        #expect(try child.existingObject(with: id).value(forKey: "name") as? String == "A 1")
      }
      parent.delete(box)
      parent.processPendingChanges()
      child.performAndWait { child.reset() }
      _ = make("Item", "table")
      try parent.save()
      store.rows["Box"]?["A 1"] = ["name": "A 1"]
      #expect(try parent.fetch(NSFetchRequest<NSManagedObject>(entityName: "Box")).count == 1)
    }
    try child.performAndWait { () throws in
      let box = try child.fetch(NSFetchRequest<NSManagedObject>(entityName: "Box"))
      let items = try child.fetch(NSFetchRequest<NSManagedObject>(entityName: "Item"))
      try #require(box.count == 1 && items.count == 2)
      items[0].setValue(box[0], forKey: "box")
      try child.save()
    }
    try parent.performAndWait { () throws in try parent.save() }
    #expect(store.rows["Item"]?["lamp"]?["box"] as? String == "A 1")
  }
}
