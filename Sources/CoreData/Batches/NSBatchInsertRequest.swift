import StrataCore

/// Makes many records straight in the store, or updates those that are there already, as the merge policy of the executing context says
/// (rules 205, 273). Contexts are notified when the application merges the IDs, with `mergeChanges(fromRemoteContextSave:into:)`: those of updated
/// records are among them.
open class NSBatchInsertRequest: NSPersistentStoreRequest {
  /// The entity's name.
  public let entityName: String
  private var givenEntity: NSEntityDescription?
  /// What is answered. Default: the status.
  open var resultType = NSBatchInsertRequestResultType.statusOnly
  /// The values of the new records, by property name.
  open var objectsToInsert: [[String: Any]]?
  /// Fills in the values of one record after another, until it returns true.
  open var dictionaryHandler: ((NSMutableDictionary) -> Bool)?
  /// Fills in one new object after another, until it returns true.
  open var managedObjectHandler: ((NSManagedObject) -> Bool)?

  /// Inserts records with these values.
  public init(entityName: String, objects dictionaries: [[String: Any]]) {
    self.entityName = entityName
    objectsToInsert = dictionaries
    super.init()
  }

  /// Inserts nothing, into no entity: executing it throws.
  public override convenience init() { self.init(entityName: "", objects: []) }

  /// Inserts records with these values.
  public convenience init(entity: NSEntityDescription, objects dictionaries: [[String: Any]]) {
    self.init(entityName: entity.name ?? "", objects: dictionaries)
    givenEntity = entity
  }

  /// Inserts records whose values `handler` fills in, until it returns true; that record is not inserted.
  public init(entityName: String, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool) {
    self.entityName = entityName
    dictionaryHandler = handler
    super.init()
  }

  /// Inserts records whose values `handler` fills in, until it returns true; that record is not inserted.
  public convenience init(
    entity: NSEntityDescription, dictionaryHandler handler: @escaping (NSMutableDictionary) -> Bool
  ) {
    self.init(entityName: entity.name ?? "", dictionaryHandler: handler)
    givenEntity = entity
  }

  /// Inserts objects that `handler` fills in, until it returns true; that object is not inserted.
  public init(entityName: String, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool) {
    self.entityName = entityName
    managedObjectHandler = handler
    super.init()
  }

  /// Inserts objects that `handler` fills in, until it returns true; that object is not inserted.
  public convenience init(
    entity: NSEntityDescription, managedObjectHandler handler: @escaping (NSManagedObject) -> Bool
  ) {
    self.init(entityName: entity.name ?? "", managedObjectHandler: handler)
    givenEntity = entity
  }

  /// The entity: the one given, or the one of that name in the newest model in use.
  open var entity: NSEntityDescription? { givenEntity ?? .inUse(named: entityName) }

  open override var requestType: NSPersistentStoreRequestType { .batchInsert }

  open override func copy(with zone: NSZone? = nil) -> Any {
    let copy =
      givenEntity.map { NSBatchInsertRequest(entity: $0, objects: []) }
      ?? NSBatchInsertRequest(entityName: entityName, objects: [])
    copy.objectsToInsert = objectsToInsert
    copy.dictionaryHandler = dictionaryHandler
    copy.managedObjectHandler = managedObjectHandler
    copy.resultType = resultType
    copy.affectedStores = affectedStores
    return copy
  }

  override func outcome(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
    var request: BatchInsertRequest
    if let managedObjectHandler {
      request = BatchInsertRequest(entityName: entityName, managedObjectHandler: managedObjectHandler)
    } else if let dictionaryHandler {
      request = BatchInsertRequest(entityName: entityName) { (values: inout [String: Any]) -> Bool in
        let filled = NSMutableDictionary()
        defer {
          for case let (key as String, value) in filled { values[key] = value }
        }
        return dictionaryHandler(filled)
      }
    } else {
      request = BatchInsertRequest(entityName: entityName, objects: objectsToInsert ?? [])
    }
    request.resultType = resultType
    request.mergesIntoContext = false
    request.affectedStores = affectedStoreIdentifiers
    return NSBatchInsertResult(try request.outcome(in: context))
  }
}
