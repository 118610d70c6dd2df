import Foundation

/// One context's changes to one store, encoded, with the objects they came from. Lives for one attempt of a save.
final class PendingSave {
  let store: StoreBinding
  // `@exclusivity(unchecked)`, here and below: used by one frame of `save()` at a time.
  @exclusivity(unchecked) var changes = ChangeSet()
  /// What the store has written.
  @exclusivity(unchecked) var notice: CommitNotice?
  /// The store's metadata was set: it is written although no row is.
  @exclusivity(unchecked) var hasMetadata = false
  /// Whether the store has anything to do. One of the program's own is also asked to save what has the values that it had, as Core Data asks it.
  var concernsStore: Bool {
    !changes.isEmpty || hasMetadata || store.contextual != nil && !changes.resaved.isEmpty
  }
  /// Parallel to `changes.inserts`.
  @exclusivity(unchecked) private var inserted: [ManagedObject] = []
  /// Parallel to `changes.updates`.
  @exclusivity(unchecked) private var updated: [ManagedObject] = []
  /// Changed objects whose values are what they were: not written.
  @exclusivity(unchecked) private var unchanged: [ManagedObject] = []
  @exclusivity(unchecked) private var deleted: [ManagedObject] = []
  /// What children have saved and was not edited since, with the rows that are written.
  @exclusivity(unchecked) private var received: [(unsaved: StratumRow, row: RowSnapshot?)] = []
  @exclusivity(unchecked) private var writer = RowSlabWriter()

  /// What rows written again count on from.
  private let lostVersions: [ManagedObjectID: UInt32]

  init(store: StoreBinding, lostVersions: [ManagedObjectID: UInt32]) {
    self.store = store
    self.lostVersions = lostVersions
  }

  /// The IDs of the new objects, once they have been listed.
  @exclusivity(unchecked) private var insertedIDs: [ManagedObjectID] = []
  /// Whether the new objects have taken over their rows already.
  @exclusivity(unchecked) private var isAdopted = false

  /// All of `objects` are new and of this store; `rows` are theirs when they are encoded already.
  func add(inserted objects: [ManagedObject], rows: [RowChange]?) throws {
    inserted = objects
    try collectEdges(of: objects)
    if let rows {
      changes.inserts = rows
      return
    }
    let parts = Self.encodingParts(objects.count)
    if parts > 1 {
      changes.inserts = try encodeNew(objects, parts: parts)
    } else {
      changes.inserts.reserveCapacity(objects.count)
      try ManagedObject.forEach(objects) { object in
        changes.inserts.append(try encodeNew(object, &writer))
      }
    }
  }

  /// All of `objects` are edited and of this store.
  func add(updated objects: [ManagedObject]) throws {
    try collectEdges(of: objects)
    let parts = Self.encodingParts(objects.count)
    guard parts > 1 else {
      for object in objects { add(updated: object, try encodeUpdated(object, &writer)) }
      return
    }
    let rows: [RowChange?] = try objects.withUnsafeBufferPointer { objects in
      try encode(objects, parts: parts) { try self.encodeUpdated($0, &$1) }
    }
    changes.updates.reserveCapacity(changes.updates.count + objects.count)
    updated.reserveCapacity(updated.count + objects.count)
    for place in objects.indices { add(updated: objects[place], rows[place]) }
  }

  private func add(updated object: ManagedObject, _ row: RowChange?) {
    guard let row else { return add(unchanged: object) }
    changes.updates.append(row)
    updated.append(object)
  }

  private func add(unchanged object: ManagedObject) {
    unchanged.append(object)
    // Nothing else that is saved checks its row.
    if object.state.contains(.locked) { add(locked: object) }
    let row = RowTouch(entity: object.home.entityNumber, primaryKey: object.primaryKey)
    if object.relations?.hasChanges == true {
      changes.touched.append(row)
    } else {
      changes.resaved.append(row)
    }
  }

  /// What was done to relationships is saved.
  private func settleRelations() {
    for objects in [inserted, updated, unchanged] {
      ManagedObject.forEach(objects) { $0.relations?.settle() }
    }
  }

  /// All of `objects` are deleted and of this store.
  func add(deleted objects: [ManagedObject]) throws {
    if deleted.isEmpty { deleted = objects } else { deleted += objects }
    changes.deletes.reserveCapacity(changes.deletes.count + objects.count)
    try ManagedObject.forEach(objects) { object in
      if object.state.contains(.rowGone) { return }
      try object.withHome { home in
        var base = RowDeletion.anyVersion
        if object.snapshot != nil || object.context?.parent != nil || home.entity.relationships.isEmpty {
          guard try object.requireRow(), let version = object.rowVersion else { return }
          base = version
        }
        // Otherwise the row was never looked at: whatever it is now, it goes.
        changes.deletes.append(
          RowDeletion(entity: home.entityNumber, primaryKey: object.primaryKey, baseVersion: base))
      }
    }
  }

  /// What a child has saved goes on as it is, unless it was made from more than one save.
  func add(received unsaved: StratumRow) throws {
    received.append((unsaved, try unsaved.add(to: &changes, for: store, &writer)))
  }

  func add(locked object: ManagedObject) {
    guard let base = object.snapshot else { return }
    changes.checks.append(
      RowCheck(
        hierarchy: object.home.entity.hierarchyNumber, primaryKey: object.primaryKey,
        baseVersion: base.version))
  }

  /// The object holds its draft, and everything the entity's: nothing to count for each of perhaps a million.
  /// - Throws: `UnencodableValue`.
  @inline(__always)
  func encodeNew(_ object: ManagedObject, _ writer: inout RowSlabWriter) throws -> RowChange {
    guard object.hasDraft else { trap("\(object) is new and has no values") }
    return try object.withHome { home in
      let lost = lostVersions.isEmpty ? 0 : lostVersions[object.objectID] ?? 0
      do {
        return try object.withDraft {
          try .inserted(home, object.primaryKey, $0, countingFrom: lost, into: &writer)
        }
      } catch let reason as RowError {
        throw UnencodableValue(object: object, reason: reason)
      }
    }
  }

  /// The new row of an edited object; nil when its values are what they were.
  /// - Throws: `UnencodableValue`.
  @inline(__always)
  private func encodeUpdated(_ object: ManagedObject, _ writer: inout RowSlabWriter) throws -> RowChange? {
    guard object.hasDraft, let base = object.snapshot else { return nil }
    return try object.withHome { home in
      do {
        return try object.withDraft { try .updated(home, object.primaryKey, $0, over: base, into: &writer) }
      } catch let reason as RowError {
        throw UnencodableValue(object: object, reason: reason)
      }
    }
  }

  /// The edited objects, written or not.
  private var allUpdated: [ManagedObject] { unchanged.isEmpty ? updated : updated + unchanged }

  /// What the did-save notifications of a save that is this alone carry.
  func didSaveSets(known: Set<ManagedObject>?) -> DidSaveSets {
    DidSaveSets(inserted: inserted, updated: allUpdated, deleted: deleted, known: known)
  }

  /// Lists the IDs of the new objects, as they are once the save is done.
  func listInserted() {
    insertedIDs.reserveCapacity(inserted.count)
    ManagedObject.forEach(inserted) { insertedIDs.append($0.objectID.with(isTemporary: false)) }
  }

  /// Lets the new objects take over their rows while the store is still writing them: the objects cannot be looked at until
  /// the save is over, and the thread that owns them has nothing else to do.
  func adoptEarly() {
    guard updated.isEmpty, unchanged.isEmpty, deleted.isEmpty, inserted.count >= Self.fewestAhead else {
      return
    }
    var isPlain = true
    ManagedObject.forEach(inserted) { object in
      if !object.withDraft({ $0.primitive.isEmpty }) { isPlain = false }
    }
    if !isPlain { return }
    adoptInserted()
    isAdopted = true
  }

  /// The store refused what `adoptEarly` took for granted: the objects are new and unsaved as before.
  func takeBack() {
    guard isAdopted else { return }
    isAdopted = false
    for place in inserted.indices { inserted[place].takeBack(changes.inserts[place]) }
  }

  /// From how many new objects on it pays to do things ahead of time.
  static let fewestAhead = 4_096

  private func adoptInserted() {
    let checksEveryAccess = ManagedObjectContext.checksEveryAccess
    var place = 0
    ManagedObject.forEach(inserted) { object in
      if place + 6 < inserted.count {
        Unmanaged.passUnretained(inserted[place + 6])._withUnsafeGuaranteedRef { $0.prefetchDraft() }
      }
      object.adoptSaved(changes.inserts[place].row, isFast: !checksEveryAccess)
      place += 1
    }
  }

  /// The store has it all: the objects take over the rows that were written.
  func adopt(into outcome: inout ManagedObjectContext.SaveOutcome) {
    let checksEveryAccess = ManagedObjectContext.checksEveryAccess
    if !isAdopted { adoptInserted() }
    for place in updated.indices {
      updated[place].adoptSaved(changes.updates[place].row, isFast: !checksEveryAccess)
      updated[place].state.standOnStoredRow()
    }
    for object in unchanged { object.adoptSaved(object.snapshot, isFast: !checksEveryAccess) }
    settleRelations()
    if outcome.inserted.isEmpty { outcome.inserted = inserted } else { outcome.inserted += inserted }
    // Appending nothing costs, too.
    if !insertedIDs.isEmpty { outcome.insertedIDs += insertedIDs }
    if outcome.updated.isEmpty { outcome.updated = allUpdated } else { outcome.updated += allUpdated }
    if !deleted.isEmpty { outcome.deleted += deleted }
    if !received.isEmpty { outcome.received += received }
  }

  // MARK: For a parent

  /// The changes as a parent takes them, and the objects they are of (nil for what children have saved here).
  ///
  /// - Throws: why a row that belongs to them cannot be read.
  func stratumRows() throws -> (rows: [StratumRow], objects: [ManagedObject?]) {
    var rows: [StratumRow] = []
    var objects: [ManagedObject?] = []
    func add(
      _ object: ManagedObject, _ change: RowChange?, _ kind: StratumRow.Kind, isResaved: Bool = false
    ) {
      rows.append(
        StratumRow(
          kind, object.home, object.primaryKey, change, base: object.snapshot,
          isBaseStored: kind == .insert || !object.state.contains(.unsavedRow),
          transients: TransientValues(object.transients), edges: object.stratumEdges,
          leftReferences: kind == .delete ? object.leftReferences : SlotBitmap(), isResaved: isResaved))
      objects.append(object)
    }
    for (place, object) in inserted.enumerated() { add(object, changes.inserts[place], .insert) }
    for (place, object) in updated.enumerated() { add(object, changes.updates[place], .update) }
    for object in unchanged {
      let hasRelations = object.relations?.hasChanges ?? false
      if hasRelations { _ = try object.requireRow() }
      // A parent reports an owner whose members have changed, and what is saved with the values that it had (rule 152).
      if object.snapshot != nil { add(object, nil, .update, isResaved: !hasRelations) }
    }
    for object in deleted where !object.state.contains(.rowGone) { add(object, nil, .delete) }
    for (unsaved, _) in received {
      rows.append(unsaved)
      objects.append(nil)
    }
    return (rows, objects)
  }

  /// The parent has taken it all: the objects take over the unsaved rows.
  func adoptUnsaved(into outcome: inout ManagedObjectContext.SaveOutcome) {
    func adopt(_ object: ManagedObject, _ change: RowChange?) {
      // Large values that did not change may be in no store: the object keeps them.
      let kept = object.transients?.filter { $0.key < 0 && change?.changedSlots.contains(~$0.key) != true }
      object.adoptSaved(change?.row ?? object.snapshot, isFast: false)
      if let kept, !kept.isEmpty { object.transients?.merge(kept) { $1 } }
      if let change {
        object.state.standOnUnsavedRow()
        object.keep(change.externals)
      }
      object.settleFastRow()
    }
    for (place, object) in inserted.enumerated() {
      adopt(object, changes.inserts[place])
      object.state.becomeUnstored()
    }
    for (place, object) in updated.enumerated() { adopt(object, changes.updates[place]) }
    for object in unchanged { adopt(object, nil) }
    settleRelations()
    outcome.inserted += inserted
    outcome.updated += updated + unchanged
    outcome.deleted += deleted
    outcome.received += received
  }
}

extension StratumRow {
  /// Adds the record to what goes to `store`; returns the row it has from then on.
  func add(to changes: inout ChangeSet, for store: StoreBinding, _ writer: inout RowSlabWriter) throws
    -> RowSnapshot?
  {
    if kind == .delete {
      guard let base else { return nil }
      changes.deletes.append(
        RowDeletion(entity: bound.entityNumber, primaryKey: primaryKey, baseVersion: base.version))
      return nil
    }
    if !edges.isEmpty { changes.edges += edges.changes(of: primaryKey) }
    // Only transient values and relationships have changed, or nothing.
    if kind == .update, changedSlots.isEmpty {
      let row = RowTouch(entity: bound.entityNumber, primaryKey: primaryKey)
      if isResaved { changes.resaved.append(row) } else { changes.touched.append(row) }
      return base
    }
    let (row, externals) = try encoded(for: store, into: &writer)
    let change = RowChange(
      entity: bound.entityNumber, primaryKey: primaryKey, baseVersion: base?.version ?? 0, row: row,
      externals: externals, changedSlots: changedSlots)
    if kind == .insert { changes.inserts.append(change) } else { changes.updates.append(change) }
    return row
  }

  /// The row as a store takes it: encoded over its base.
  fileprivate func encoded(for store: StoreBinding, into writer: inout RowSlabWriter) throws -> (
    RowSnapshot, [ExternalValue]
  ) {
    if isFinal, let row { return (row, externals.map { ExternalValue(slot: $0.slot, bytes: $0.bytes) }) }
    let draft = try self.draft(from: store)
    do {
      return try RowEncoder.encode(
        layout: bound.layout, stamp: bound.stamp, primaryKey: primaryKey, version: (base?.version ?? 0) &+ 1,
        base: kind == .insert ? nil : base, draft: draft, into: &writer)
    } catch {
      throw CoreDataError(error, in: bound.entity)
    }
  }
}

extension ManagedObjectContext {
  /// The objects of `detectConflicts(for:)` whose rows nothing else that is saved checks. `received` is what children have saved, which checks the rows whose values have changed, and not
  /// those with other members alone.
  func lockedBeside(_ received: [StratumRow]) -> [ManagedObject] {
    if changes.locked.isEmpty { return [] }
    let linked = Set(received.lazy.filter(\.isOnlyLinked).map(\.place))
    return changes.locked.filter { object in
      object.state.contains(.locked) && (!object.isMarkedChanged || linked.contains(object.place))
    }
  }

  /// The context's changes by store, in the order the stores were attached. Stores that an earlier attempt has written have looked at what is only to be checked.
  /// - Throws: `CoreDataError` 1660 or 1550 for a value that no row can hold, with object and property.
  func makePendingSaves(beside written: Set<Int> = []) throws -> [PendingSave] {
    var saves: [PendingSave] = []
    func part(of index: Int) throws -> PendingSave {
      if let known = saves.first(where: { $0.store.index == index }) { return known }
      let new = PendingSave(store: try writableStore(index), lostVersions: saving.lostVersions)
      saves.append(new)
      return new
    }
    let inserted = changes.inserted
    let ahead = saving.encodingAhead?.rows(of: inserted, asOf: changes.editCount)
    saving.encodingAhead = nil
    do {
      try inserted.forEachStore { try part(of: $0).add(inserted: $1, rows: ahead) }
      try changes.updated.forEachStore { try part(of: $0).add(updated: $1) }
    } catch let value as UnencodableValue {
      throw value.error
    }
    try changes.deleted.forEachStore { try part(of: $0).add(deleted: $1) }
    for row in saving.frozenRows { try part(of: row.bound.storeIndex).add(received: row) }
    if parent != nil { return saves }
    for object in lockedBeside(saving.frozenRows) where !written.contains(object.home.storeIndex) {
      try part(of: object.home.storeIndex).add(locked: object)
    }
    for index in coordinator.storesWithPendingMetadata { try part(of: index).hasMetadata = true }
    return saves.count < 2 ? saves : saves.sorted { $0.store.index < $1.store.index }
  }

  func writableStore(_ index: Int) throws -> StoreBinding {
    guard let binding = coordinator.binding(index) else {
      throw CoreDataError(
        .persistentStoreSave, "The store of a changed object has been removed from the coordinator.")
    }
    if binding.index == coordinator.knownProvisional?.index { try requireParentForProvisional() }
    if binding.store.isReadOnly {
      throw CoreDataError(
        .persistentStoreSave,
        "The store \(binding.store.url?.lastPathComponent ?? "in memory") is read-only.")
    }
    return binding
  }
}

extension [ManagedObject] {
  /// Calls `body` with the objects of each store, the stores in the order in which they are met; nearly always there is one.
  fileprivate func forEachStore(_ body: (Int, [ManagedObject]) throws -> Void) rethrows {
    guard let first = self.first?.home.storeIndex else { return }
    if allAreOf(store: first) { return try body(first, self) }
    var order: [Int] = []
    for object in self where !order.contains(object.home.storeIndex) { order.append(object.home.storeIndex) }
    for index in order { try body(index, filter { $0.home.storeIndex == index }) }
  }

  /// Whether every object belongs to the store attached as number `index`.
  func allAreOf(store index: Int) -> Bool {
    var found = true
    ManagedObject.forEach(self) { object in
      if !object.withHome({ $0.storeIndex == index }) { found = false }
    }
    return found
  }
}
