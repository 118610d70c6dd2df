import Foundation

extension ManagedObjectContext {
  /// Makes the context's objects what `records` say: objects with the same key are edited, the others are inserted.
  ///
  ///     let result = try context.upsert(
  ///       Airport.self, by: ["faa"], records: rows.map { ["faa": $0.code, "name": $0.name, "tags": $0.tagIDs] },
  ///       relationships: ["tags": .merge])
  ///     try context.save()
  ///
  /// The key is a uniqueness constraint of the entity, or one that it inherits. What is unsaved counts, here and in contexts below: an
  /// object whose key was edited is found under its new one, a deleted one is not found. Nothing is saved.
  ///
  /// A record names properties; those it does not name stay as they are, in a new object at their defaults. Attributes take what
  /// `setValue(_:forKey:)` takes. Relationships take objects of this context or IDs, to-many ones arrays or sets of them. Nil and
  /// `NSNull` are nil. What has the value already is not touched, so that a record that says nothing new changes nothing. Of several records with
  /// the same key, the last that names a property wins; members to be merged are added up.
  ///
  /// Costs one pass over what is unsaved and, per store, one ordered pass over the constraint's index; so hand over records by the thousand, not
  /// one by one. All records are looked at before anything is changed.
  ///
  /// - Parameters:
  ///   - type: The class of the entity.
  ///   - keys: The names of the attributes and to-one relationships of the constraint, in any order. New objects of a key with a relationship are made in the store
  ///     of what it leads to.
  ///   - records: Values by the names of properties, one dictionary for each record.
  ///   - relationships: What happens to members that a record does not name; `.replace` for relationships that are not listed.
  /// - Returns: the objects, and the numbers of new, changed and unchanged ones.
  /// - Throws: with nothing changed, `CoreDataError` 134060 for keys that are no constraint, or lead to several stores, an abstract entity, an unknown property; 1570 for
  ///   a key that is nil or missing; 134070 while no store is loaded; 1550 for a value that does not fit; 133021 for a key that an object of another entity has.
  ///   `StorageError` when the store cannot be read; what a hook of a new object cannot read is told to ``readFailureHandler``, and the upsert
  ///   is done. Each names the place of the record. Traps when `type` is the class of no entity, or of several, as `T(context:)` does.
  @discardableResult
  public func upsert<T: ManagedObject>(
    _ type: T.Type, by keys: [String], records: some Sequence<[String: Any]>,
    relationships: [String: UpsertRelationshipRule] = [:]
  ) throws -> UpsertResult<T> {
    checkAccess()
    return try upsert(entityDescription(for: type), by: keys, records: records, relationships: relationships)
  }

  /// The same for the entity of that name, whatever its class.
  /// - Throws: as for a class; ``FetchError`` when the model has no entity of that name.
  @discardableResult
  public func upsert(
    entityName: String, by keys: [String], records: some Sequence<[String: Any]>,
    relationships: [String: UpsertRelationshipRule] = [:]
  ) throws -> UpsertResult<ManagedObject> {
    checkAccess(entityName)
    guard let entity = schema.entity(named: entityName) else {
      throw FetchError(reason: .unknownEntity, entityName: entityName, key: nil)
    }
    return try upsert(entity.entityDescription, by: keys, records: records, relationships: relationships)
  }

  private func upsert<T: ManagedObject>(
    _ description: EntityDescription, by keys: [String], records: some Sequence<[String: Any]>,
    relationships: [String: UpsertRelationshipRule]
  ) throws -> UpsertResult<T> {
    guard let entity = compiledEntity(description) else {
      trap("entity \(description.name ?? "?") is not of this context's model.")
    }
    try requireStores()
    try checkResultType(T.self, entity.name)
    // An observer of what was changed before may change more.
    flushAncestors()
    tellChanges()
    var plan = try UpsertPlan(entity, by: keys, relationships, in: self)
    for record in records { try plan.add(record) }
    return try plan.run()
  }

  /// A new object of the entity's class.
  func insertNew(_ entity: EntitySchema) -> ManagedObject {
    let object = ThreadScope.current.materializing {
      classes.types[entity.number].init(materializing: entity.entityDescription)
    }
    adoptNew(object, entity: entity.entityDescription)
    return object
  }
}
