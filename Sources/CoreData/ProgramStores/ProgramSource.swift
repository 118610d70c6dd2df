import Foundation
import StrataCore

/// What the two kinds of stores of the program's own have in common. Called inside the engine's lock, on the context's queue.
protocol ProgramSource: AnyObject {
  /// The values of a record; nil when there is none.
  func record(_ id: NSManagedObjectID, _ context: NSManagedObjectContext) throws -> ProgramRecord?
  /// What a relationship of a record leads to: one ID or `NSNull`, or a collection of IDs.
  func related(
    _ relationship: NSRelationshipDescription, _ id: NSManagedObjectID, _ context: NSManagedObjectContext
  ) throws -> Any
  /// The records that a relationship without an inverse leads from.
  func referrers(
    _ relationship: RelationshipSchema, to id: NSManagedObjectID, _ context: NSManagedObjectContext
  ) throws -> [NSManagedObjectID]
  func fetch(_ fetch: ProgramFetch, _ context: NSManagedObjectContext) throws -> FetchedRows
  /// The IDs that new objects have from now on.
  func identifiers(for objects: [NSManagedObject]) throws -> [NSManagedObjectID]
  /// Writes everything, or throws and writes nothing.
  func save(_ save: ProgramSave) throws
}

/// The values of one record.
struct ProgramRecord {
  /// The version that the store says they are of.
  let version: UInt64
  /// The value of a property by its name; nil when the store says nothing of it.
  let value: (String) -> Any?
}

/// A request as a store of the program's own is asked it.
struct ProgramFetch {
  let request: ResolvedFetchRequest
  let mode: FetchMode
  let engine: ProgramEngine
  let reading: ProgramReading

  init(
    _ request: ResolvedFetchRequest, _ mode: FetchMode, _ engine: ProgramEngine, _ reading: ProgramReading
  ) {
    (self.request, self.mode, self.engine, self.reading) = (request, mode, engine, reading)
  }

  /// The request by Apple's names; without condition, order and window when only their resolved form is known: then `decide` is left to do.
  var spelled: (request: NSFetchRequest<any NSFetchRequestResult>, isWhole: Bool) {
    var value = FetchRequest<NSManagedObjectID>(entityName: request.entity.name)
    value.includesSubentities =
      request.entityNumbers.count > 1 || request.entityNumbers == request.entity.subtree
    value.includesPendingChanges = false
    let source = request.continues ? nil : request.source
    if let source {
      value.predicate = source.predicate
      value.sortDescriptors = source.sortDescriptors
      value.fetchLimit = request.limit
      value.fetchOffset = request.offset
      value.fetchBatchSize = source.fetchBatchSize
      value.relationshipKeyPathsForPrefetching = source.relationshipKeyPathsForPrefetching
    }
    let spelled = NSFetchRequest<any NSFetchRequestResult>(value)
    spelled.entity = request.entity.entityDescription
    spelled.resultType = .managedObjectIDResultType
    if source != nil {
      switch mode {
      case .count: spelled.resultType = .countResultType
      case .rows: spelled.resultType = .managedObjectResultType
      case .identifiers: break
      }
    }
    return (spelled, source != nil)
  }

  /// Rows without values, in the order of `ids`.
  func named(_ ids: [NSManagedObjectID]) throws -> FetchedRows {
    let rows = try ids.map { id in
      guard id.storeIdentifier == engine.identifier, let entity = engine.schema.entity(named: id.entityName),
        entity.hierarchyNumber == request.hierarchyNumber
      else {
        throw CoreDataError(
          .persistentStoreOperation,
          "The store of type \(engine.storeType) was asked for \(request.entity.name) and found \(id).")
      }
      return FetchedRow(primaryKey: id.recordKey, entity: entity.number, snapshot: nil)
    }
    return FetchedRows(rows: ContiguousArray(rows), count: rows.count, description: words)
  }

  func counted(_ count: Int) -> FetchedRows { FetchedRows(rows: [], count: count, description: words) }

  /// What the request finds among these records.
  func decide(_ ids: [NSManagedObjectID]) throws -> FetchedRows {
    let hierarchy = request.hierarchyNumber
    let rows = try reading.rows(hierarchy: hierarchy, primaryKeys: ids.map(\.recordKey)).compactMap(\.self)
    return try FetchInMemory(request, in: reading, storeIdentifier: engine.identifier).fetch(
      rows, mode: mode, description: words)
  }

  private var words: String { "asked the store of type \(engine.storeType)" }
}

/// What a save writes to a store of the program's own: objects of the context that saves.
struct ProgramSave {
  let context: NSManagedObjectContext
  let inserted: [NSManagedObject]
  let updated: [NSManagedObject]
  /// Those of them that have the values that they had.
  let resaved: [NSManagedObject]
  let deleted: [NSManagedObject]
  let locked: [NSManagedObject]

  var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && locked.isEmpty }

  init(_ changes: ChangeSet, _ engine: ProgramEngine, _ context: NSManagedObjectContext) {
    self.context = context
    var seen: Set<NSManagedObjectID> = []
    func object(_ entity: Int, _ key: UInt64) -> NSManagedObject? {
      let id = engine.schema.identifier(
        entity: entity, primaryKey: key, storeIdentifier: engine.identifier)
      return seen.insert(id).inserted ? context.object(with: id) : nil
    }
    inserted = changes.inserts.compactMap { object($0.entity, $0.primaryKey) }
    deleted = changes.deletes.compactMap { object($0.entity, $0.primaryKey) }
    var updated =
      changes.updates.compactMap { object($0.entity, $0.primaryKey) }
      + changes.touched.compactMap { object($0.entity, $0.primaryKey) }
    // Of an ordered relationship perhaps nothing but the order has changed.
    for edge in changes.edges {
      let owner = engine.schema.entities[engine.schema.relationships[edge.relationship].owner]
      guard let id = engine.identifier(edge.owner, hierarchy: owner.hierarchyNumber),
        let entity = engine.schema.entity(named: id.entityName)
      else { continue }
      if let object = object(entity.number, edge.owner) { updated.append(object) }
    }
    // Of what was saved with the values that it had, those that another context has saved meanwhile are left out: older values would be
    // written over newer ones.
    resaved = changes.resaved.compactMap { object($0.entity, $0.primaryKey) }.filter(engine.isNewest)
    self.updated = updated + resaved
    locked = changes.checks.compactMap { check in
      engine.identifier(check.primaryKey, hierarchy: check.hierarchy).map { context.object(with: $0) }
    }
  }
}

/// What a value of a relationship, as a store of the program's own says it, is made of: the members of a collection, or the one thing.
func relatedParts(of value: Any?) -> [Any] {
  switch value {
  case nil, is NSNull: []
  case let list as NSOrderedSet: list.array
  case let set as NSSet: set.allObjects
  case let set as Set<AnyHashable>: set.map(\.base)
  case let list as [Any]: list
  case let one?: [one]
  }
}
