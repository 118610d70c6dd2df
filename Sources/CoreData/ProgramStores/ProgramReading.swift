import Foundation
import StrataCore

/// What a context reads of a store of the program's own.
final class ProgramReading: OwnerwiseReading, @unchecked Sendable {
  // @unchecked Sendable: nothing is set after `init`; the context is used on its queue only.
  private let engine: ProgramEngine
  private weak var weakContext: NSManagedObjectContext?

  init(_ engine: ProgramEngine, _ context: NSManagedObjectContext) {
    self.engine = engine
    weakContext = context
  }

  private var schema: Schema { engine.schema }

  /// Runs `body` when no other thread calls the store's class.
  private func calling<R>(_ body: (NSManagedObjectContext) throws -> R) throws -> R {
    guard let context = weakContext else {
      throw CoreDataError(.persistentStoreOperation, "The context that reads the store is gone.")
    }
    return try engine.lock.withLock {
      try engine.requireOpen()
      return try body(context)
    }
  }

  // MARK: Requests

  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    try calling { context in
      try engine.source.fetch(ProgramFetch(request, mode, engine, self), context)
    }
  }

  // MARK: Rows

  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] {
    try primaryKeys.map { try row(hierarchy: hierarchy, primaryKey: $0) }
  }

  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    guard let id = engine.identifier(primaryKey, hierarchy: hierarchy),
      let entity = schema.entity(named: id.entityName)
    else { return nil }
    return try calling { context in
      guard let record = try engine.source.record(id, context) else {
        engine.noteGone(id)
        return nil
      }
      let version = engine.version(id, stored: record.version)
      var assembler = RowAssembler()
      let (row, externals) = try assembler.row(
        of: entity, stamp: engine.rowStamp(entity: entity.number), primaryKey: primaryKey, version: version
      ) { slot in
        try value(of: slot, entity, record, id, context)
      }
      engine.keep(externals, of: id, version: version)
      return FetchedRow(primaryKey: primaryKey, entity: entity.number, snapshot: row)
    }
  }

  private func value(
    of slot: Int, _ entity: EntitySchema, _ record: ProgramRecord, _ id: NSManagedObjectID,
    _ context: NSManagedObjectContext
  ) throws -> AttributeValue {
    let attribute = entity.attributes[slot]
    if let number = attribute.relationship {
      let relationship = schema.relationships[number]
      let value = try record.value(attribute.name) ?? related(relationship, id, context)
      guard let other = try identifiers(value, relationship).first else { return .null }
      return .reference(try engine.bits(other))
    }
    guard attribute.composite != nil else {
      return try entity.storedValue(record.value(attribute.name), slot: slot)
    }
    // An element, `address.street`: the record has the whole, in dictionaries.
    func elements(of value: Any?) -> [String: Any]? {
      value.flatMap { FoundationCollections.castable($0) as? [String: Any] }
    }
    var value: Any? = nil
    for (place, name) in attribute.name.split(separator: ".").map(String.init).enumerated() {
      value = place == 0 ? record.value(name) : elements(of: value)?[name]
    }
    return try entity.storedValue(value, slot: slot)
  }

  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    let hierarchy = schema.entities[entity].hierarchyNumber
    guard let id = engine.identifier(primaryKey, hierarchy: hierarchy) else { return nil }
    return try engine.externalValue(id, slot, version) {
      _ = try row(hierarchy: hierarchy, primaryKey: primaryKey)
    }
  }

  // MARK: Relationships

  private func related(
    _ relationship: RelationshipSchema, _ id: NSManagedObjectID, _ context: NSManagedObjectContext
  ) throws -> Any {
    let owner = schema.entity(named: id.entityName)?.entityDescription
    guard let description = owner?.relationshipsByName[relationship.name] else { return NSNull() }
    return try engine.source.related(description, id, context)
  }

  /// The IDs in a value of a relationship.
  private func identifiers(_ value: Any, _ relationship: RelationshipSchema) throws -> [NSManagedObjectID] {
    try relatedParts(of: value).map { part in
      if let id = part as? NSManagedObjectID { return id }
      if let object = part as? NSManagedObject { return object.objectID }
      throw CoreDataError(
        .persistentStoreOperation,
        "The store of type \(engine.storeType) relates \(relationship.qualifiedName) to \(type(of: part)) \(part), which is no NSManagedObjectID."
      )
    }
  }

  func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] {
    let relationship = schema.relationships[edges.relationship]
    let hierarchy =
      edges.isHiddenInverse
      ? relationship.destinationHierarchy : schema.entities[relationship.owner].hierarchyNumber
    guard let id = engine.identifier(owner, hierarchy: hierarchy) else { return [] }
    return try calling { context in
      if edges.isHiddenInverse {
        return try engine.source.referrers(relationship, to: id, context).map { try engine.bits($0) }.sorted()
      }
      let members = try identifiers(related(relationship, id, context), relationship).map {
        try engine.bits($0)
      }
      return relationship.isOrdered ? members : members.sorted()
    }
  }
}

extension ProgramEngine {
  // Contexts read with `reading(for:)`; nothing else knows what to tell the class.

  private var noContext: CoreDataError {
    CoreDataError(
      .persistentStoreOperation,
      "Stores of type \(storeType) can be read by contexts only: their class is told which.")
  }

  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows { throw noContext }
  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] { throw noContext }
  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? { throw noContext }
  func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] { throw noContext }
  func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]] { throw noContext }
  func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int { throw noContext }
  func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool { throw noContext }
  func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember] { throw noContext }
  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    throw noContext
  }
}
