import Foundation

extension ManagedObjectContext {
  /// The objects that match `request`, in its order.
  ///
  /// Pending changes take part (rule 86): unsaved objects that match are found, edited ones are matched and sorted by the
  /// values they have now, deleted ones are left out, and the window is cut from the merged result (rule 92). Objects already
  /// in the context come back as they are (rules 40, 65); others are made as faults with their rows in memory.
  ///
  /// - Throws: `FetchError` for an unknown entity or key or a value of the wrong type; `CoreDataError` when `T` is not the
  ///   class of the entity, 134070 while no store is loaded; `StorageError` when the store cannot be read.
  public func fetch<T: ManagedObject>(_ request: FetchRequest<T>) throws -> [T] {
    let specification = try specification(of: request)
    try checkResultType(T.self, specification.entityName)
    let objects = try fetchObjects(specification)
    // Every object is of the entity's class or a subclass, which was checked to be a T.
    return unsafeDowncastArray(objects)
  }

  /// The IDs of the objects that match `request`, in its order, unsaved ones included (rules 89, 90).
  /// - Throws: what `fetch(_:)` throws for objects.
  public func fetch(_ request: FetchRequest<ManagedObjectID>) throws -> [ManagedObjectID] {
    try fetchIdentifiers(try specification(of: request))
  }

  /// How many objects `fetch(request)` would return (rule 91).
  /// - Throws: what `fetch(_:)` throws for objects.
  public func count<T: FetchRequestResult>(for request: FetchRequest<T>) throws -> Int {
    try count(of: specification(of: request), T.fetchResultType)
  }

  func count(
    of specification: FetchSpecification, _ type: FetchResultType, _ monitor: FetchMonitor? = nil
  ) throws -> Int {
    if type == .dictionary { return try countDictionaries(specification, monitor) }
    return try ContextFetch(specification, in: self) { $0.monitor = monitor }.count()
  }

  /// The object for `id`, from the context or as a fault that has not been looked for (rule 45). Never reads the store.
  ///
  /// Traps when the ID belongs to no store of this context's coordinator.
  public func object(with id: ManagedObjectID) -> ManagedObject { object(with: id, readsAhead: false) }

  /// The same for somebody who is about to read the object: its row is read at once, where that takes one look into a near store. When there is no row, or it cannot be read,
  /// the object is a fault, which says so when it fires.
  package final func objectToRead(with id: ManagedObjectID) -> ManagedObject {
    object(with: id, readsAhead: true)
  }

  @inline(__always)
  private func object(with id: ManagedObjectID, readsAhead: Bool) -> ManagedObject {
    checkAccess(id.entityName)
    settleProvisional()
    drainReceived()
    guard let kept = locate(id) else {
      trap(
        "\(id) belongs to no store of this context's coordinator; use the context of the stack it came from.")
    }
    // Until the object is there: that may call code of the application.
    defer { withExtendedLifetime(kept) {} }
    return Unmanaged.passUnretained(kept)._withUnsafeGuaranteedRef { place in
      if let known = place.table.object(for: id.primaryKey) { return known }
      if let received = receivedObject(id.primaryKey, place.bound) { return received }
      let row = readsAhead ? rowAhead(id.primaryKey, place) : nil
      let object = makeObject(id.primaryKey, row, place.bound, place.table)
      object.noteWhetherStored()
      return object
    }
  }

  /// Whether a row is what its store has: nothing unsaved lies below, no generation is set. And nobody asks for faults that fire.
  @inline(__always)
  final var readsRowsPlainly: Bool {
    hasNothingUnsavedBelow && !generation.isSet && !Watching.concerns(.anyFault)
      && !DebugOutput.current.contains(.faults)
  }

  /// The row with a key, where only a near store has to be asked, and rows do not go stale.
  private func rowAhead(_ key: UInt64, _ place: RegisteredStores.Place) -> RowSnapshot? {
    guard readsRowsPlainly, place.store.answersPlainly, stalenessInterval < 0 else { return nil }
    var found: RowSnapshot?
    do {
      _ = try place.store.store.readRow(hierarchy: place.bound.hierarchyNumber, primaryKey: key) {
        if $0 == place.bound.entityNumber { found = $1 }
      }
    } catch {
      // The fault reads it again, and reports the error.
      return nil
    }
    if found != nil { statistics.faultsFired += 1 }
    return found
  }

  /// The object for `id` with its values, never a fault (rule 46).
  /// - Throws: `CoreDataError` 133000 when there is no such record (rule 47); `StorageError` when it cannot be read.
  @_disfavoredOverload public func existingObject(with id: ManagedObjectID) throws -> ManagedObject {
    checkAccess(id.entityName)
    settleProvisional()
    flushAncestors()
    drainReceived()
    guard let kept = locate(id) else {
      try requireStores()
      throw missing(id)
    }
    var isRead = false
    let object = try Unmanaged.passUnretained(kept)._withUnsafeGuaranteedRef { place in
      if let known = place.table.object(for: id.primaryKey) {
        if known.state.contains(.rowGone) { throw missing(id) }
        if known.state.contains(.inserted) { return known }
        if !known.isFault || (known.snapshot != nil && stalenessInterval < 0) { return known }
        if !known.state.isDisjoint(with: .anyDeleted) { return try existing(deleted: known) }
      }
      if let found = unsavedRow(place.table(id), id.primaryKey) {
        guard found.row.kind != .delete, let object = self.object(for: found.row, isOwn: found.isOwn) else {
          throw missing(id)
        }
        return object
      }
      statistics.fetches += 1
      guard
        let row = try generation.isSet || place.store.contextual != nil
          ? reading(place.store).row(hierarchy: place.bound.hierarchyNumber, primaryKey: id.primaryKey)
          : place.store.store.row(hierarchy: place.bound.hierarchyNumber, primaryKey: id.primaryKey)
      else { throw missing(id) }
      isRead = true
      if row.entity == place.bound.entityNumber, !place.table.contains(id.primaryKey) {
        return makeObject(id.primaryKey, row.snapshot, place.bound, place.table)
      }
      guard let bound = place.store.entities[row.entity] else { throw missing(id) }
      if let known = known(id.primaryKey, as: bound, in: place.table) {
        known.takeStored(row.snapshot, readAt: SnapshotClock.now)
        return known
      }
      return makeObject(id.primaryKey, row.snapshot, bound, place.table)
    }
    // `kept` lives until here; what follows may call code of the application.
    withExtendedLifetime(kept) {}
    if isRead { tellRowRead(object, isAlone: true) }
    if object.isFault { try throwingFailures { object.fire() } }
    return object
  }

  /// What is deleted here, and was not looked at before, is there until the deletion is saved.
  private func existing(deleted object: ManagedObject) throws -> ManagedObject {
    try throwingFailures { object.fire() }
    guard object.state.contains(.rowGone) else { return object }
    // The deletion stays one to be saved: below, the record may come back.
    object.state.regainRow()
    throw missing(object.objectID)
  }

  private func missing(_ id: ManagedObjectID) -> CoreDataError {
    CoreDataError(
      .managedObjectReferentialIntegrity,
      "There is no record \(id.uriRepresentation().absoluteString).\(fateInWords(of: id))")
  }

  // MARK: Making objects from rows

  /// Makes and registers a fault. The key must not be in `table`.
  @inline(__always)
  func makeObject(_ key: UInt64, _ row: RowSnapshot?, _ bound: BoundEntity, _ table: IdentityTable)
    -> ManagedObject
  {
    let object = ThreadScope.current.materializing {
      classes.types[bound.entity.number].init(materializing: bound.entity.entityDescription)
    }
    fill(object, key, row, bound)
    table.insert(object, for: key)
    statistics.objectsMade += 1
    return object
  }

  @inline(__always)
  private func fill(_ object: ManagedObject, _ key: UInt64, _ row: RowSnapshot?, _ bound: BoundEntity) {
    object.boundReference = .passUnretained(bound)
    object.table = bound.table
    object.slotCount = bound.slotCount
    // Beside what else is read of the entity: later, something might have let go of it, and a reference would be counted.
    object.state = .newFault(announces: bound.announcesChanges)
    object.primaryKey = key
    object.context = self
    object.snapshot = row
  }

  /// The one object for a fetched row. `layers` are the context's own.
  @inline(__always)
  func object(
    for row: FetchedRow, in store: RegisteredStores.Registered, _ layers: [StratumLayer], readAt: UInt32
  ) -> ManagedObject? {
    guard let bound = store.binding.entities[row.entity] else { return nil }
    let table = store.tables[bound.entity.hierarchyNumber]
    if let known = known(row.primaryKey, as: bound, in: table) {
      if known.isFault, row.snapshot != nil, known.state.isDisjoint(with: .received) {
        known.takeStored(row.snapshot, readAt: readAt)
      }
      return known
    }
    if let received = receivedObject(row.primaryKey, bound, in: layers) { return received }
    let object = makeObject(row.primaryKey, row.snapshot, bound, table)
    object.readAt = readAt
    return object
  }

  // MARK: Running a request

  /// That there is a store that can be asked: a program that reads before its stores are loaded is not to take that for nothing being there.
  func requireStores() throws {
    settleProvisional()
    if coordinator.hasStores { return }
    throw CoreDataError(
      .persistentStoreOperation,
      isJoined
        ? "No persistent store is loaded: add one to the coordinator, or wait for loadPersistentStores, before you fetch or save."
        : "\(self) has no coordinator: set its persistentStoreCoordinator or its parent before you fetch or save."
    )
  }

  /// Names made slots.
  /// - Parameters:
  ///   - ofStored: Whether what is not saved has no say in aggregates of all objects in the condition.
  ///   - steady: What the request is to be read through, where there are such aggregates: see `settling`.
  func resolved(
    _ specification: FetchSpecification, ofStored: Bool, _ steady: inout SteadyReading?
  ) throws -> ResolvedFetchRequest {
    try requireStores()
    return try settling(specification, ofStored: ofStored, &steady) {
      try ResolvedFetchRequest($0, schema: schema)
    }
  }

  /// The same for a request that is looked at only.
  func resolved(_ specification: FetchSpecification) throws -> ResolvedFetchRequest {
    var steady: SteadyReading?
    return try resolved(specification, ofStored: false, &steady)
  }

  /// Looks up the names of a request, and executes nothing but aggregates of all objects in its condition.
  /// - Throws: what `fetch(_:)` throws for a request that is wrong.
  package func requireNames<T: FetchRequestResult>(of request: FetchRequest<T>) throws {
    _ = try resolved(try specification(of: request))
  }

  /// The stores a request goes to.
  func bindings(for request: ResolvedFetchRequest, _ specification: FetchSpecification) -> [StoreBinding] {
    coordinator.bindings.filter { binding in
      binding.holds(entity: request.entity.number)
        && specification.affectedStores?.contains(binding.store.identifier) ?? true
    }
  }

  func fetchObjects(_ specification: FetchSpecification) throws -> [ManagedObject] {
    try ContextFetch(specification, in: self).objects()
  }

  func fetchIdentifiers(_ specification: FetchSpecification) throws -> [ManagedObjectID] {
    try ContextFetch(specification, in: self).identifiers()
  }

  /// The objects of what one store has answered, nothing being unsaved that could matter.
  func makeObjects(
    _ fetched: consuming FetchedRows, _ request: ResolvedFetchRequest, in binding: StoreBinding
  ) -> [ManagedObject] {
    let table = stores.tables(for: binding).tables[request.entity.hierarchyNumber]
    table.reserve(fetched.rows.count)
    var rows = fetched.rows
    fetched.rows = []
    return ThreadScope.current.materializing { makeObjects(&rows, in: binding, table) }
  }

  /// The hot loop of every large fetch: per row one look-up and one allocation. Takes the snapshots out of `rows`.
  private func makeObjects(
    _ rows: inout ContiguousArray<FetchedRow>, in binding: StoreBinding, _ table: IdentityTable
  ) -> [ManagedObject] {
    let total = rows.count
    // The standard library writes into the one empty array that all threads share.
    if total == 0 { return [] }
    let readAt = SnapshotClock.now
    var made = 0
    let objects = [ManagedObject](unsafeUninitializedCapacity: total) { buffer, count in
      rows.withUnsafeMutableBufferPointer { rows in
        var index = 0
        while index < total {
          // One run of rows of the same entity after the other, so that what they share is looked up once.
          let number = rows[index].entity
          var end = index + 1
          while end < total, rows[end].entity == number { end += 1 }
          if let bound = binding.entities[number] {
            let run = RowRun(rows: rows[index..<end], bound: bound, table: table, readAt: readAt)
            made += fetchRun(run, into: buffer, &count)
          }
          index = end
        }
      }
    }
    statistics.objectsMade += made
    return objects
  }

  private struct RowRun {
    let rows: Slice<UnsafeMutableBufferPointer<FetchedRow>>
    let bound: BoundEntity
    let table: IdentityTable
    let readAt: UInt32
  }

  private func fetchRun(
    _ run: RowRun, into buffer: UnsafeMutableBufferPointer<ManagedObject>, _ count: inout Int
  ) -> Int {
    let (bound, table) = (run.bound, run.table)
    let type = classes.types[bound.entity.number]
    let description = bound.entity.entityDescription
    // Unsafe: the buffers are not empty, and `buffer` has room for one object per row.
    let rows = run.rows.base.baseAddress.unsafelyUnwrapped
    let target = buffer.baseAddress.unsafelyUnwrapped
    var made = 0
    for place in run.rows.startIndex..<run.rows.endIndex {
      if place + 8 < run.rows.endIndex { table.prefetch((rows + place + 8).pointee.primaryKey) }
      let row = (rows + place).move()
      (rows + place).initialize(to: FetchedRow(primaryKey: 0, entity: 0, snapshot: nil))
      if let known = known(row.primaryKey, as: bound, in: table) {
        if known.isFault, let snapshot = row.snapshot {
          known.takeStored(snapshot, readAt: run.readAt)
        }
        (target + count).initialize(to: known)
      } else {
        let object = type.init(materializing: description)
        fill(object, row.primaryKey, row.snapshot, bound)
        object.readAt = run.readAt
        table.insert(object, for: row.primaryKey)
        made += 1
        (target + count).initialize(to: object)
      }
      count += 1
    }
    return made
  }

  /// `shouldRefreshRefetchedObjects`: objects without changes take the newest rows, changed ones keep their edits on top
  /// (rule 66, as documented by Apple, not as implemented there).
  func refreshRefetched(_ objects: [ManagedObject]) {
    for object in objects where !object.isFault && !object.isMarkedInserted { refreshKeepingChanges(object) }
    tellChanges()
  }

  func checkResultType<T: ManagedObject>(_ type: T.Type, _ entityName: String) throws {
    guard T.self != ManagedObject.self, let entity = schema.entity(named: entityName) else { return }
    for number in entity.subtree where !(classes.types[number] is T.Type) {
      throw CoreDataError(
        .coreData,
        "Objects of entity \(schema.entities[number].name) are of class \(classes.types[number]), not \(T.self)."
      )
    }
  }
}

/// The same array under its elements' known class, without a copy.
private func unsafeDowncastArray<T: ManagedObject>(_ objects: [ManagedObject]) -> [T] {
  // Unsafe: class references have one representation; the caller checked the class of the entity and its subentities. A cast would ask each object.
  return unsafeBitCast(objects, to: [T].self)
}

extension Array where Element == ManagedObject {
  /// The same array under a class of all its elements, without a copy; nil when `type` is no such class.
  package func typed<Object>(_ type: Object.Type) -> [Object]? {
    guard Object.self is ManagedObject.Type else { return nil }
    var fits = true
    // Most are exactly of the class, which costs nothing to see.
    ManagedObject.forEach(self) { object in
      if Swift.type(of: object) as Any.Type != Object.self, !(object is Object) { fits = false }
    }
    // Unsafe: `Object` is a class, as has been asked, so that both arrays hold references.
    return fits ? unsafeBitCast(self, to: [Object].self) : nil
  }
}
