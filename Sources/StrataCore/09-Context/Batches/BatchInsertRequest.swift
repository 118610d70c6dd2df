import Foundation

/// Makes many records straight in the store, without objects in a context and in one transaction: all of them or none.
///
///     let request = BatchInsertRequest(entityName: "Flight", objects: rows.map { ["number": $0.number, "origin": $0.originID] })
///     try context.execute(request)
///
///     var lines = file.lines.makeIterator()
///     let request = BatchInsertRequest(entityName: "Flight") { (values: inout [String: Any]) in
///       guard let line = lines.next() else { return true }     // true: that was all, and these values do not count
///       values["number"] = line.number
///       return false
///     }
///
/// Values that are not named are the defaults. Attributes take what `setValue(_:forKey:)` takes, to-one relationships the ID of a
/// saved object, whose side of the relationship follows. What would break the model is refused (rules 270, 273): unknown names,
/// values of another type, missing mandatory ones, references to nothing, derived and transient attributes, to-many relationships.
/// Validation rules and hooks are not asked (rule 266).
///
/// A row with the values of a uniqueness constraint of a record there is, or of an earlier row, is settled as the `mergeType` of the context's
/// merge policy says (rules 205, 273): object trump gives the record the values that the row was given, overwrite all of the row's, store trump and
/// rollback leave the row out, and the error policy refuses the batch. Object trump and overwrite refuse a row that concerns two
/// records, or a record of an entity without a place for its values. What comes of a batch is what would come of its rows one by one.
///
/// The rows are encoded one by one as they come, on the context's queue and before the store is asked for anything, and wait in a
/// file without a name beside the store when they are many: memory does not grow with their number.
/// Then the store's writer takes them in order. Other savers wait meanwhile, those of other processes as long as their
/// `timeout` allows.
public struct BatchInsertRequest: PersistentStoreRequest {
  /// Where the values come from.
  enum Source {
    case dictionaries([[String: Any]])
    case dictionaryHandler((inout [String: Any]) -> Bool)
    case objectHandler((ManagedObject) -> Bool)
    case rowHandler(columns: [String], (inout BatchRow) -> Bool)
  }

  /// The entity of the new records, not an abstract one.
  public var entityName: String
  /// What is answered. Default: the status.
  public var resultType = BatchResultType.statusOnly
  /// Whether the executing context makes the new objects known to its observers, as after merging another context's save (rule 179).
  /// Contexts that merge automatically (`automaticallyMergesChangesFromParent`) do so anyway. Default true.
  public var mergesIntoContext = true
  /// The stores that may get the records: the first writable one of them that holds the entity does (rule 106).
  public var affectedStores: Set<UUID>?
  /// Tells how far the batch is and cancels it.
  public var progress = BatchProgress()
  /// How many rows are written at a time, within the one transaction.
  @_spi(Testing) public var step = BatchRows.chunkCount
  let source: Source

  /// Always ``PersistentStoreRequestType/batchInsert``.
  public var requestType: PersistentStoreRequestType { .batchInsert }

  /// One record for each dictionary; the keys are names of properties.
  public init(entityName: String, objects: [[String: Any]]) {
    self.entityName = entityName
    source = .dictionaries(objects)
  }

  /// One record for each time `dictionaryHandler` fills its dictionary, which is empty, and returns false; true ends the insert,
  /// and what is in the dictionary then does not count.
  public init(entityName: String, dictionaryHandler: @escaping (inout [String: Any]) -> Bool) {
    self.entityName = entityName
    source = .dictionaryHandler(dictionaryHandler)
  }

  /// One record for each time `rowHandler` fills its row and returns false; true ends the insert, and that row does not count. The quickest of the ways: no
  /// dictionary and no object is made.
  ///
  ///     let request = BatchInsertRequest(entityName: "Flight", columns: ["number", "carrier"]) { row in
  ///       guard let line = lines.next() else { return true }
  ///       row.set(0, line.number)
  ///       row.set(1, line.carrier)
  ///       return false
  ///     }
  ///
  /// - Parameters:
  ///   - entityName: The entity of the new records.
  ///   - columns: Names of properties, each once.
  ///   - rowHandler: Fills one row with each call; true when there is none left to fill.
  public init(entityName: String, columns: [String], rowHandler: @escaping (inout BatchRow) -> Bool) {
    self.entityName = entityName
    source = .rowHandler(columns: columns, rowHandler)
  }

  /// One record for each time `managedObjectHandler` fills its object and returns false; true ends the insert, and that object
  /// does not count.
  ///
  /// The object is a new one each time, in a context of its own that is never saved: for related objects call
  /// `object(with:)` of its `managedObjectContext`. It has the ID of the record already, and `awakeFromInsert()` has been called;
  /// no other hook is. Do not keep it.
  public init(entityName: String, managedObjectHandler: @escaping (ManagedObject) -> Bool) {
    self.entityName = entityName
    source = .objectHandler(managedObjectHandler)
  }

  /// Carries the request out: called by `context.execute(_:)`.
  /// - Throws: what `context.execute(_:)` throws for this request.
  public func outcome(in context: ManagedObjectContext) throws -> BatchResult {
    try context.insertBatch(self)
  }
}
