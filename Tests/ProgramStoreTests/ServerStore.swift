import CoreData

/// A store over `ShelfServer`, as it is written for Core Data.
class ServerStore: NSIncrementalStore, @unchecked Sendable {
  // @unchecked Sendable: called one at a time.
  class var storeType: String { "ServerStore" }
  static func register() { NSPersistentStoreCoordinator.registerStoreClass(self, forStoreType: storeType) }

  private(set) var server = ShelfServer()
  /// What the store knows of the versions on the server.
  private var versions: [NSManagedObjectID: UInt64] = [:]
  private(set) var fetches: [NSFetchRequest<any NSFetchRequestResult>] = []
  private(set) var saves: [NSSaveChangesRequest] = []
  private(set) var registered: [NSManagedObjectID] = []
  private(set) var unregistered: [NSManagedObjectID] = []
  private(set) var events: [String] = []

  override var type: String { Self.storeType }

  override func loadMetadata() throws {
    guard let url, let server = ShelfServer.at(url) else {
      throw CocoaError(.fileReadNoSuchFile, userInfo: [NSLocalizedDescriptionKey: "There is no such server."])
    }
    self.server = server
    let identifier = server.metadata[NSStoreUUIDKey] ?? Self.identifierForNewStore(at: url)
    var metadata = server.metadata
    metadata[NSStoreUUIDKey] = identifier
    metadata[NSStoreTypeKey] = Self.storeType
    self.metadata = metadata
    try server.apply([.metadata(metadata)])
  }

  override func didAdd(to coordinator: NSPersistentStoreCoordinator) { events.append("added") }
  override func willRemove(from coordinator: NSPersistentStoreCoordinator?) { events.append("removing") }

  override func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext?) throws
    -> Any
  {
    switch request.requestType {
    case .fetchRequestType:
      guard let fetch = request as? NSFetchRequest<any NSFetchRequestResult>, let context else { break }
      fetches.append(fetch)
      return try found(fetch, context)
    case .saveRequestType:
      guard let save = request as? NSSaveChangesRequest, let context else { break }
      saves.append(save)
      try write(save, context)
      return [Any]()
    case .batchDeleteRequestType:
      guard let delete = request as? NSBatchDeleteRequest, let context else { break }
      return Deleted(try deleteAll(delete, context))
    default: break
    }
    throw CocoaError(CocoaError.Code(rawValue: NSPersistentStoreUnsupportedRequestTypeError))
  }

  /// What a batch deletion answers.
  private final class Deleted: NSBatchDeleteResult {
    let ids: [NSManagedObjectID]
    init(_ ids: [NSManagedObjectID]) {
      self.ids = ids
      super.init()
    }
    override var result: Any? { ids }
    override var resultType: NSBatchDeleteRequestResultType { .resultTypeObjectIDs }
  }

  private func deleteAll(_ request: NSBatchDeleteRequest, _ context: NSManagedObjectContext) throws
    -> [NSManagedObjectID]
  {
    let ids = try objects(request.fetchRequest, context).map(\.objectID)
    try server.apply(ids.map { .delete(resource: $0.entity.name ?? "", identifier: name(of: $0)) })
    return ids
  }

  private func name(of id: NSManagedObjectID) -> String { "\(referenceObject(for: id))" }

  private func objects(_ request: NSFetchRequestDescription, _ context: NSManagedObjectContext) throws
    -> [NSManagedObject]
  {
    guard let entity = request.entity else { return [] }
    var entities = [entity]
    if request.includesSubentities { entities += entity.subentities }
    var objects: [NSManagedObject] = []
    for entity in entities {
      for identifier in try server.list(entity.name ?? "") {
        objects.append(context.object(with: newObjectID(for: entity, referenceObject: identifier)))
      }
    }
    if let predicate = request.predicate { objects = objects.filter { predicate.evaluate(with: $0) } }
    for sort in (request.sortDescriptors ?? []).reversed() {
      let keyed = objects.map { ($0.value(forKeyPath: sort.key ?? ""), $0) }
      objects = keyed.sorted { Self.isBefore($0.0, $1.0) == sort.ascending && !Self.isEqual($0.0, $1.0) }
        .map(\.1)
    }
    objects = Array(objects.dropFirst(request.fetchOffset))
    return request.fetchLimit > 0 ? Array(objects.prefix(request.fetchLimit)) : objects
  }

  private static func isEqual(_ a: Any?, _ b: Any?) -> Bool { "\(a ?? "")" == "\(b ?? "")" }
  private static func isBefore(_ a: Any?, _ b: Any?) -> Bool {
    switch (a, b) {
    case (nil, _): true
    case (_, nil): false
    case (let a as NSNumber, let b as NSNumber): a.doubleValue < b.doubleValue
    default: "\(a ?? "")" < "\(b ?? "")"
    }
  }

  private func found(_ request: NSFetchRequest<any NSFetchRequestResult>, _ context: NSManagedObjectContext)
    throws -> Any
  {
    let objects = try objects(request, context)
    switch request.resultType {
    case .managedObjectIDResultType: return objects.map(\.objectID)
    case .countResultType: return [NSNumber(value: objects.count)]
    case .dictionaryResultType:
      let names = (request.propertiesToFetch ?? []).compactMap {
        $0 as? String ?? ($0 as? NSPropertyDescription)?.name
      }
      return objects.map { $0.dictionaryWithValues(forKeys: names) }
    default: return objects
    }
  }

  override func newValuesForObject(with objectID: NSManagedObjectID, with context: NSManagedObjectContext)
    throws -> NSIncrementalStoreNode
  {
    guard let record = try server.get(objectID.entity.name ?? "", name(of: objectID)) else {
      throw CocoaError(CocoaError.Code(rawValue: NSManagedObjectReferentialIntegrityError))
    }
    versions[objectID] = record.version
    var values: [String: Any] = [:]
    for (name, property) in objectID.entity.propertiesByName {
      if let relationship = property as? NSRelationshipDescription {
        guard !relationship.isToMany, let other = relationship.destinationEntity,
          let identifier = record.values[name]
        else { continue }
        values[name] =
          identifier is NSNull ? identifier : newObjectID(for: other, referenceObject: identifier)
      } else {
        values[name] = record.values[name]
      }
    }
    return NSIncrementalStoreNode(objectID: objectID, withValues: values, version: record.version)
  }

  override func newValue(
    forRelationship relationship: NSRelationshipDescription, forObjectWith objectID: NSManagedObjectID,
    with context: NSManagedObjectContext?
  ) throws -> Any {
    let record = try server.get(objectID.entity.name ?? "", name(of: objectID))
    guard let other = relationship.destinationEntity else { return NSNull() }
    if !relationship.isToMany { return NSNull() }
    let members = record?.values[relationship.name] as? [String] ?? []
    return members.map { newObjectID(for: other, referenceObject: $0) }
  }

  override func obtainPermanentIDs(for array: [NSManagedObject]) throws -> [NSManagedObjectID] {
    try array.map {
      newObjectID(for: $0.entity, referenceObject: try server.makeIdentifier($0.entity.name ?? ""))
    }
  }

  private func write(_ save: NSSaveChangesRequest, _ context: NSManagedObjectContext) throws {
    var changes: [ShelfServer.Change] = []
    for object in save.insertedObjects ?? [] { changes.append(put(object, known: nil)) }
    for object in save.updatedObjects ?? [] { changes.append(put(object, known: versions[object.objectID])) }
    for object in save.deletedObjects ?? [] {
      changes.append(.delete(resource: object.entity.name ?? "", identifier: name(of: object.objectID)))
    }
    if changes.isEmpty { changes.append(.metadata(metadata)) }
    do {
      try server.apply(changes)
    } catch let outdated as ShelfServer.Outdated {
      let objects = (save.updatedObjects ?? []).filter {
        outdated.identifiers.contains(name(of: $0.objectID))
      }
      let conflicts = objects.map {
        NSMergeConflict(source: $0, newVersion: 2, oldVersion: 1, cachedSnapshot: nil, persistedSnapshot: nil)
      }
      throw CocoaError(
        CocoaError.Code(rawValue: NSPersistentStoreSaveConflictsError),
        userInfo: [NSPersistentStoreSaveConflictsErrorKey: conflicts])
    }
    for object in (save.insertedObjects ?? []).union(save.updatedObjects ?? []) {
      versions[object.objectID] = server.peek(object.entity.name ?? "", name(of: object.objectID))?.version
    }
  }

  private func put(_ object: NSManagedObject, known: UInt64?) -> ShelfServer.Change {
    var values: [String: Any] = [:]
    for (name, property) in object.entity.propertiesByName {
      let value = object.value(forKey: name)
      switch property {
      case let relationship as NSRelationshipDescription where relationship.isToMany:
        let others = (value as? NSOrderedSet)?.array ?? (value as? NSSet)?.allObjects ?? []
        values[name] = others.compactMap { ($0 as? NSManagedObject).map { self.name(of: $0.objectID) } }
      case is NSRelationshipDescription:
        values[name] = (value as? NSManagedObject).map { self.name(of: $0.objectID) } ?? NSNull()
      default: values[name] = value ?? NSNull()
      }
    }
    return .put(
      resource: object.entity.name ?? "", identifier: name(of: object.objectID), values: values, known: known)
  }

  override func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID]) {
    registered += objectIDs
  }
  override func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID]) {
    unregistered += objectIDs
  }
}

/// A server with a stack over it.
struct ServerStack {
  let server: ShelfServer
  let url: URL
  let coordinator: NSPersistentStoreCoordinator
  let store: ServerStore
  let context: NSManagedObjectContext

  init(_ storeClass: ServerStore.Type = ServerStore.self, _ given: (server: ShelfServer, url: URL)? = nil)
    throws
  {
    storeClass.register()
    let (server, url) = given ?? ShelfServer.start()
    (self.server, self.url) = (server, url)
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: Shelf.model())
    let added = try coordinator.addPersistentStore(
      ofType: storeClass.storeType, configurationName: nil, at: url, options: ["answer": 42])
    guard let store = added as? ServerStore else {
      throw ShelfServer.Refused(reason: "\(added) is no ServerStore")
    }
    self.store = store
    context = .on(coordinator)
    _ = server.takeLog()
  }

  /// Three books of two authors.
  func plant() {
    server.plant("Author", "ann", ["name": "Ann", "books": ["b1", "b2"]])
    server.plant("Author", "bob", ["name": "Bob", "books": ["b3"]])
    server.plant("Book", "b1", ["title": "One", "pages": 100, "author": "ann", "tags": ["t"]])
    server.plant("Book", "b2", ["title": "Two", "pages": 200, "author": "ann"])
    server.plant("Book", "b3", ["title": "Three", "pages": 300, "author": "bob"])
    server.plant("Tag", "t", ["word": "red", "books": ["b1"]])
  }
}
