import CoreData

// What a library writes that is built on Core Data: public, partly inlined into its clients, with default arguments. It imports nothing else, and that
// it compiles in Swift 6 mode is the test.

/// The objects of one class.
public struct ClientRepository<Object: NSManagedObject> {
  public let context: NSManagedObjectContext
  public let entityName: String

  public init(
    _ entityName: String,
    context: NSManagedObjectContext = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType),
    policy: NSMergePolicy = .mergeByPropertyObjectTrump
  ) {
    self.entityName = entityName
    self.context = context
    context.mergePolicy = policy
  }

  @inlinable public func all(_ format: String? = nil, limit: Int = 0) throws -> [Object] {
    let request = NSFetchRequest<Object>(entityName: entityName)
    request.predicate = format.map { NSPredicate(format: $0) }
    request.fetchLimit = limit
    return try context.fetch(request)
  }

  @inlinable public func values(_ key: String) throws -> [String] {
    try all().compactMap { $0.value(forKey: key) as? String }.sorted()
  }

  @inlinable public var attributeNames: [String] {
    guard let entity = NSEntityDescription.entity(forEntityName: entityName, in: context) else { return [] }
    return entity.attributesByName.filter { $0.value.attributeType != .undefinedAttributeType }.keys.sorted()
  }

  @inlinable public func make() -> Object { Object(context: context) }
  @inlinable public func save() throws { if context.hasChanges { try context.save() } }

  /// Imports rows that are no values of the concurrency checker's.
  @inlinable public func insert(_ rows: [[String: Any]]) throws -> Int {
    var index = 0
    let request = NSBatchInsertRequest(entityName: entityName) { (dictionary: NSMutableDictionary) -> Bool in
      guard index < rows.count else { return true }
      dictionary.addEntries(from: rows[index])
      index += 1
      return false
    }
    request.resultType = .count
    let count = (try context.execute(request) as? NSBatchInsertResult)?.result as? Int
    return count == index ? index : -1
  }
}
