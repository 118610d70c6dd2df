import Foundation

/// What the three kinds of batch have in common.
protocol BatchRequest {
  var requestType: PersistentStoreRequestType { get }
  var resultType: BatchResultType { get }
  var mergesIntoContext: Bool { get }
  var progress: BatchProgress { get }
  var step: Int { get }
}

extension BatchInsertRequest: BatchRequest {}
extension BatchUpdateRequest: BatchRequest {}
extension BatchDeleteRequest: BatchRequest {}

extension ManagedObjectContext {
  // MARK: Insert

  func insertBatch(_ request: BatchInsertRequest) throws -> BatchResult {
    let entity = try batchEntity(request.entityName)
    if entity.isAbstract {
      throw CoreDataError(
        .coreData, "\(entity.name) is abstract and has no objects of its own; insert a subentity.")
    }
    let home = coordinator.bindings.first { binding in
      !binding.store.isReadOnly && binding.holds(entity: entity.number)
        && request.affectedStores?.contains(binding.store.identifier) ?? true
    }
    guard let home, let bound = home.entities[entity.number] else {
      throw CoreDataError(
        .persistentStoreSave, "No writable store that the request may use holds \(entity.name).")
    }
    // Without constraints there is nothing to settle.
    let duplicates = entity.indexes.contains(where: \.isUnique) ? mergePolicy.mergeType.duplicates : .refuse
    let rows = home.store.makeBatchRows(
      entity: entity.number, slots: bound.persistentSlots, keepsGiven: duplicates == .update,
      step: request.step)
    var maker = BatchRowMaker(bound, home, in: self, rows)
    try maker.run(request.source, request.progress)
    return try run([(.insert(rows, duplicates: duplicates), home)], request, given: rows) { $0.inserted }
  }

  // MARK: Update

  func updateBatch(_ request: BatchUpdateRequest) throws -> BatchResult {
    let entity = try batchEntity(request.entityName)
    if request.propertiesToUpdate.isEmpty {
      throw CoreDataError(
        .coreData,
        "A batch update of \(entity.name) sets nothing: propertiesToUpdate is empty. To know how many objects there are, count them."
      )
    }
    var specification = FetchSpecification(entityName: entity.name, predicate: request.predicate)
    specification.includesSubentities = request.includesSubentities
    specification.affectedStores = request.affectedStores
    // Aggregates of all objects, in the condition and in new values, are of one commit.
    var steady: SteadyReading?
    let resolved = try resolved(specification, ofStored: true, &steady)
    var operations: [(StoreBatch.Operation, StoreBinding)] = []
    for binding in bindings(for: resolved, specification) {
      let assignments = try assignments(
        request.propertiesToUpdate, entity, binding, specification, &steady)
      let update = BatchUpdate(
        request: resolved, assignments: assignments, cutsNumbers: speaksFoundation)
      operations.append((.update(update), binding))
    }
    steady?.release()
    return try run(operations, request) { $0.updated }
  }

  private func assignments(
    _ values: [String: any Sendable], _ entity: EntitySchema, _ binding: StoreBinding,
    _ specification: FetchSpecification, _ steady: inout SteadyReading?
  ) throws -> [BatchUpdate.Assignment] {
    guard let bound = binding.entities[entity.number] else { return [] }
    let properties = BatchProperties(bound, binding, in: self)
    var assignments: [Int: BatchUpdate.Assignment.Value] = [:]
    func assign(_ slot: Int, _ value: BatchUpdate.Assignment.Value) throws {
      if assignments.updateValue(value, forKey: slot) == nil { return }
      throw CoreDataError(
        .coreData, "\(entity.name).\(entity.attributes[slot].name) is given two values at once.")
    }
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      if let expression = value as? FetchExpression {
        let slot = try properties.slot(name)
        try assign(
          slot,
          try settling(expression, of: specification, &steady) { try properties.resolved($0, slot) })
        continue
      }
      try properties.forEachValue(name, value) { slot, value in
        try properties.requireValue(value, slot)
        try assign(slot, .constant(value))
      }
    }
    return assignments.sorted { $0.key < $1.key }.map {
      BatchUpdate.Assignment(slot: $0.key, value: $0.value)
    }
  }

  // MARK: Delete

  func deleteBatch(_ request: BatchDeleteRequest) throws -> BatchResult {
    var operations: [(StoreBatch.Operation, StoreBinding)] = []
    switch request.subject {
    case .matching(let asked):
      var specification = asked.entityName.isEmpty ? try self.specification(of: asked) : asked
      specification.affectedStores = request.affectedStores
      _ = try batchEntity(specification.entityName)
      var steady: SteadyReading?
      let resolved = try resolved(specification, ofStored: true, &steady)
      steady?.release()
      let stores = bindings(for: resolved, specification)
      if stores.count > 1, resolved.limit > 0 || resolved.offset > 0 {
        throw CoreDataError(
          .coreData,
          "A batch delete with a limit or an offset goes to one store; name it in affectedStores.")
      }
      for binding in stores { operations.append((.delete(.matching(resolved)), binding)) }
    case .identifiers(let identifiers):
      operations = try deletions(identifiers, request)
    }
    return try run(operations, request) { $0.deleted }
  }

  private func deletions(_ identifiers: [ManagedObjectID], _ request: BatchDeleteRequest) throws -> [(
    StoreBatch.Operation, StoreBinding
  )] {
    guard let first = identifiers.first else { return [] }
    let entity = try batchEntity(first.entityName)
    var known: Set<String> = [first.entityName]
    for identifier in identifiers where known.insert(identifier.entityName).inserted {
      guard try batchEntity(identifier.entityName).hierarchyNumber != entity.hierarchyNumber else { continue }
      throw CoreDataError(
        .coreData,
        "A batch delete takes IDs of one entity, or of entities that inherit from one; these are of "
          + "\(first.entityName) and of \(identifier.entityName)."
      )
    }
    var keys: [(store: StoreBinding, keys: [UInt64])] = []
    for identifier in identifiers {
      guard let place = locate(identifier) else {
        throw CoreDataError(
          .coreData, "\(identifier) belongs to no store of this context's coordinator.")
      }
      if request.affectedStores?.contains(place.store.store.identifier) == false { continue }
      if let index = keys.firstIndex(where: { $0.store === place.store }) {
        keys[index].keys.append(identifier.primaryKey)
      } else {
        keys.append((place.store, [identifier.primaryKey]))
      }
    }
    return keys.map {
      (.delete(.rows(hierarchy: entity.hierarchyNumber, primaryKeys: $0.keys)), $0.store)
    }
  }

  // MARK: Shared steps

  private func batchEntity(_ name: String) throws -> EntitySchema {
    checkAccess(name)
    try requireStores()
    guard let entity = schema.entity(named: name) else {
      throw FetchError(reason: .unknownEntity, entityName: name, key: nil)
    }
    return entity
  }

  /// Carries the operations out, each in its store, and lets this context have what they changed.
  private func run(
    _ operations: [(operation: StoreBatch.Operation, store: StoreBinding)], _ request: some BatchRequest,
    given: BatchRows? = nil, _ rows: (BatchChanges) -> BatchKeys
  ) throws -> BatchResult {
    var count = 0
    var (identifiers, updated): ([ManagedObjectID], [ManagedObjectID]) = ([], [])
    for (place, (operation, store)) in operations.enumerated() {
      let notice: CommitNotice
      let start = ContinuousClock.now
      do {
        var batch = StoreBatch(operation, progress: request.progress, step: request.step)
        batch.origin = rootOrigin
        notice = try coordinator.execute(batch, in: store, origin: ObjectIdentifier(self))
      } catch {
        let error = batchError(error, store)
        if place == 0 { throw error }
        throw CoreDataError(
          .persistentStoreIncompleteSave, "The batch was carried out in only some of the stores: \(error)",
          userInfo: [NSUnderlyingErrorKey: error])
      }
      if let changes = notice.batch {
        let keys = rows(changes)
        let number = changes.records?.count ?? keys.count
        count += number
        noteBatch(request.requestType, number, since: start)
        if request.resultType == .objectIDs {
          if let records = changes.records {
            append(records, store, &identifiers, &updated)
          } else {
            append(keys, store, &identifiers)
            if request.requestType == .batchUpdate { updated = identifiers }
          }
        }
      }
      // A batch moves no pinned generation, and what is pinned does not show it (rule 276).
      if request.mergesIntoContext, !generation.isSet { mergeBatch(notice, given: given) }
    }
    let hasIdentifiers = request.resultType == .objectIDs
    return BatchResult(
      resultType: request.resultType, count: count, objectIDs: hasIdentifiers ? identifiers : nil,
      updatedObjectIDs: hasIdentifiers ? updated : nil)
  }

  /// What stores record with a batch: author and name of the root it goes through (rule 278).
  private var rootOrigin: ChangeOrigin {
    var root = self
    while let parent = root.parent { root = parent }
    return root.changeOrigin
  }

  private func append(
    _ records: [BatchRecord], _ store: StoreBinding, _ identifiers: inout [ManagedObjectID],
    _ updated: inout [ManagedObjectID]
  ) {
    for record in records {
      guard let token = store.entities[record.entity]?.token else { continue }
      let id = ManagedObjectID(token: token, primaryKey: record.primaryKey)
      identifiers.append(id)
      if !record.isNew { updated.append(id) }
    }
  }

  private func append(_ keys: BatchKeys, _ store: StoreBinding, _ identifiers: inout [ManagedObjectID]) {
    identifiers.reserveCapacity(identifiers.count + keys.count)
    for (entity, list) in keys.lists.enumerated() {
      guard let token = store.entities[entity]?.token else { continue }
      for key in list { identifiers.append(ManagedObjectID(token: token, primaryKey: key)) }
    }
  }

  /// What the store says, as Core Data says it.
  private func batchError(_ error: any Error, _ store: StoreBinding) -> any Error {
    switch error {
    case let duplicates as BatchDuplicates: refusal(duplicates, in: store)
    case let violation as UniquenessViolation:
      CoreDataError(
        .managedObjectConstraintMerge, "The batch would make duplicates; nothing was written. \(violation)",
        userInfo: [NSUnderlyingErrorKey: violation])
    case let dangling as DanglingReferences:
      CoreDataError(
        .managedObjectReferentialIntegrity,
        "The batch refers to objects that do not exist; nothing was written. \(text(dangling))",
        userInfo: [NSUnderlyingErrorKey: dangling])
    case let conflict as CommitConflict:
      CoreDataError(
        .persistentStoreSaveConflicts, "The batch met rows of others under its keys; nothing was written.",
        userInfo: [NSUnderlyingErrorKey: conflict])
    default: error
    }
  }

  private func text(_ dangling: DanglingReferences) -> String {
    dangling.references.prefix(5).map { reference in
      let relationship = schema.relationships[reference.relationship]
      return "\(relationship.qualifiedName) of p\(reference.source) leads to "
        + "\(schema.entities[relationship.destination].name)/p\(reference.target)."
    }.joined(separator: " ")
  }
}
