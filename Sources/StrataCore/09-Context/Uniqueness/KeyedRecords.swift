import Foundation

/// Finds records by the values of a uniqueness constraint, many at once: what is unsaved laid over what is stored.
///
///     own edits ─▶ layers of this context, of those below ─▶ stores: one ordered pass over the index
///
/// One pass over what is unsaved and one look-up per key. Lives for one call, on the context's queue.
struct KeyedRecords {
  private let context: ManagedObjectContext
  private let index: IndexSchema
  private let hierarchy: Int
  private let members: Set<Int>
  /// Where each key stands in the list.
  private var places: [[AttributeValue]: Int] = [:]
  private let keys: [[AttributeValue]]
  /// By place.
  private(set) var objects: [ManagedObject?]
  /// Records, by store, of which something unsaved tells: what lies beneath does not count.
  private var hidden: [Int: Set<UInt64>] = [:]
  /// The one store that counts; nil for all.
  private var store: StoreBinding?

  /// - Parameter keys: distinct, in the order of the index's parts, without nil.
  private init(_ context: ManagedObjectContext, _ index: IndexSchema, _ keys: [[AttributeValue]]) {
    self.context = context
    self.index = index
    self.keys = keys
    let owner = context.schema.entities[index.owner]
    hierarchy = owner.hierarchyNumber
    members = Set(owner.subtree)
    objects = Array(repeating: nil, count: keys.count)
    places.reserveCapacity(keys.count)
    for (place, key) in keys.enumerated() { places[key] = place }
  }

  /// The objects that have the keys, by their places; nil for a key that no object has.
  ///
  /// - Parameter store: Where only records of one store count, as for keys that refer to records.
  static func find(
    _ keys: [[AttributeValue]], _ index: IndexSchema, in context: ManagedObjectContext,
    store: StoreBinding? = nil
  ) throws -> [ManagedObject?] {
    var records = KeyedRecords(context, index, keys)
    records.store = store
    // The layers are taken before the stores are read: changes only ever move down, so nothing is missed.
    var layers: [StratumLayer]
    context.flushAncestors()
    context.tellChanges()
    repeat {
      context.drainReceived()
      layers = context.strata.layers
    } while context.strata.mustMerge
    records.lookAtEdits(matches: true)
    for layer in layers { try records.look(at: layer, isOwn: true) }
    try records.lookBeneath()
    return records.objects
  }

  /// The same for what lies beneath the context: what a save of it would meet.
  ///
  /// - Parameter store: only records of this store count.
  static func findBeneath(
    _ keys: [[AttributeValue]], _ index: IndexSchema, _ context: ManagedObjectContext, in store: StoreBinding
  ) throws -> [ManagedObject?] {
    var records = KeyedRecords(context, index, keys)
    records.store = store
    records.lookAtEdits(matches: false)
    for layer in context.strata.layers { records.hide(layer) }
    try records.lookBeneath()
    return records.objects
  }

  private mutating func lookBeneath() throws {
    for strata in context.ancestors where !strata.isEmpty {
      for layer in strata.layers { try look(at: layer, isOwn: false) }
    }
    try lookIntoStores()
  }

  // MARK: What is unsaved

  private mutating func lookAtEdits(matches: Bool) {
    for object in context.changes.inserted { look(at: object, matches: matches) }
    // Of an object of which only relationships have changed, the stored row is the one it has.
    for object in context.changes.updated where object.hidesStoredRow { look(at: object, matches: matches) }
    // The row of an object that was gone may be there again.
    for object in context.changes.deleted where !object.state.contains(.rowGone) {
      look(at: object, matches: false)
    }
    guard let flight = context.saving.flight else { return }
    var flying: [(ManagedObject, Bool)] = []
    flight.forEachObject { object, kind in
      if object.context === context, object.state.isDisjoint(with: [.inserted, .updated, .deleted]) {
        flying.append((object, kind != .delete))
      }
    }
    for (object, isThere) in flying { look(at: object, matches: matches && isThere) }
  }

  private mutating func look(at object: ManagedObject, matches: Bool) {
    guard members.contains(object.home.entityNumber) else { return }
    hidden[object.home.storeIndex, default: []].insert(object.primaryKey)
    guard matches, store.map({ $0.index == object.home.storeIndex }) ?? true else { return }
    take(object, index.parts.map { object.currentValue($0.slot) })
  }

  private mutating func take(_ object: @autoclosure () -> ManagedObject?, _ key: [AttributeValue]) {
    guard let place = places[key], objects[place] == nil else { return }
    objects[place] = object()
  }

  private mutating func look(at layer: StratumLayer, isOwn: Bool) throws {
    let context = context
    for (table, rows) in layer.tables where table.hierarchy == hierarchy {
      guard let binding = context.coordinator.binding(table.storeIndex) else { continue }
      for (key, row) in rows where hidden[table.storeIndex, default: []].insert(key).inserted {
        if let store, store !== binding { continue }
        guard row.kind != .delete, members.contains(row.bound.entityNumber) else { continue }
        let values = try index.parts.map { try row.value($0.slot, in: binding) }
        take(context.object(for: row, isOwn: isOwn), values)
      }
    }
  }

  private mutating func hide(_ layer: StratumLayer) {
    for (table, rows) in layer.tables where table.hierarchy == hierarchy {
      hidden[table.storeIndex, default: []].formUnion(rows.keys)
    }
  }

  // MARK: What is stored

  private mutating func lookIntoStores() throws {
    for binding in context.coordinator.bindings where store.map({ $0 === binding }) ?? true {
      let missing = objects.indices.filter { objects[$0] == nil }
      if missing.isEmpty { return }
      let lookup = UniqueLookup(schema: context.schema, index: index, keys: missing.map { keys[$0] })
      context.statistics.fetches += 1
      let rows = try context.reading(binding).rows(lookup)
      let hidden = hidden[binding.index] ?? []
      for (place, row) in zip(missing, rows) {
        guard let row, !hidden.contains(row.primaryKey) else { continue }
        objects[place] = context.storedObject(row, in: binding)
      }
    }
  }
}

extension ManagedObjectContext {
  /// The object of a stored row; one of whose attributes none is edited has nothing to lose, and takes the row if it is newer than
  /// its own.
  func storedObject(_ row: FetchedRow, in binding: StoreBinding) -> ManagedObject? {
    let store = stores.tables(for: binding)
    guard let object = object(for: row, in: store, strata.layers, readAt: SnapshotClock.now) else {
      return nil
    }
    if object.state.contains(.rowGone) {
      // It was gone, and so the object taken for deleted; another context has written it again since.
      object.state.regainRow()
      // Of one that is deleted only because its row was gone nobody had to let go.
      if object.state.contains(.deleted), !object.state.contains(.missing) {
        takeBackDeletion(of: object)
      } else {
        changes.undelete(object)
      }
      knowingLeavers(after: object) {
        object.discardEdits(takingRow: row.snapshot)
        object.adoptLostMembers()
        changes.note(object, .insert)
      }
      return object
    }
    // A child may have related others to it.
    if object.state.contains(.receivedUpdate) { object.claim() }
    if object.state.isDisjoint(with: [.deleted, .unsavedRow, .inFlight]),
      object.state.isDisjoint(with: .updated) || object.slotsThatDiffer.isEmpty,
      let new = row.snapshot, let old = object.snapshot, old.version < new.version
    {
      object.dropSettledEdits()
      object.take(new)
      object.settleFastRow()
      changes.note(object, .refresh)
    }
    return object
  }
}
