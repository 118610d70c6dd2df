import Dispatch
import Foundation
import Synchronization

extension ManagedObjectContext {
  /// Makes a context above `parent`: it reads what `parent` and the contexts below have not saved yet over what is stored, and
  /// saves one level down, to `parent` (rules 149–153, 159).
  ///
  ///     let scratchpad = ManagedObjectContext(.mainQueue, parent: container.viewContext)
  ///
  /// Any kind of context may stand above any other, at any depth. It never waits for its parent's queue, neither to fetch nor
  /// to save (contexts 4): it reads what the parent has finished. An edit is finished at the end of its event: of the `perform` block,
  /// of the outermost `performAndWait`, by `processPendingChanges()`, a fetch or a save, or when the child is made on the parent's queue
  /// (contexts 5). A child sees everything that was finished before it reads, wherever and whenever it was made. May be called from
  /// any thread. The parent is kept alive.
  public convenience init(_ concurrencyType: ConcurrencyType, parent: ManagedObjectContext) {
    self.init(concurrencyType, parent.coordinator, parent: parent, classes: parent.classes)
    parent.becomeParent()
    parent.waitsForCoordinator(self)
  }

  // MARK: Reading through the layers

  /// What was edited before in contexts below that the caller may use as well, on the main queue without `perform` say, is
  /// published: it happened before (contexts 5).
  @inline(__always)
  func flushAncestors() {
    if let parent { parent.flushIfAccessible() }
  }

  /// Whether there is no parent, and no change of this context that is not in the store: rows are those of the stores.
  @inline(__always)
  final var hasNothingUnsavedBelow: Bool { parent == nil && strata.isEmpty && ancestors.isEmpty }

  private func flushIfAccessible() {
    var context: ManagedObjectContext? = self
    while let next = context {
      if next.isAtHand, next.changes.hasNoted || !next.unpublished.isEmpty || next.strata.mustMerge {
        next.tellChanges()
      }
      context = next.parent
    }
  }

  /// What unsaved changes, its own or those of contexts below, say of a record; nil when only the store knows.
  @inline(__always)
  func unsavedRow(_ table: StratumLayer.Table, _ key: UInt64) -> (row: StratumRow, isOwn: Bool)? {
    if strata.isEmpty && ancestors.isEmpty { return nil }
    return findUnsavedRow(table, key)
  }

  /// The same for the record of `object`. Its own edits do not count: they lie above.
  func unsavedRow(for object: ManagedObject) -> (row: StratumRow, isOwn: Bool)? {
    if strata.isEmpty && ancestors.isEmpty { return nil }
    let table = object.home.layerTable
    if object.state.isDisjoint(with: .ownChange) {
      return findUnsavedRow(table, object.primaryKey)
    }
    // What a child had saved may be in flight beneath the object's edits.
    if saving.flight != nil, !object.state.contains(.inFlight),
      let flown = strata.frozenRow(table, object.primaryKey)
    {
      return (flown, false)
    }
    for layer in ancestors { if let row = layer.row(table, object.primaryKey) { return (row, false) } }
    return nil
  }

  private func findUnsavedRow(_ table: StratumLayer.Table, _ key: UInt64) -> (row: StratumRow, isOwn: Bool)? {
    if let row = ownRow(table, key) { return (row, !isFlying(row)) }
    for layer in ancestors { if let row = layer.row(table, key) { return (row, false) } }
    return nil
  }

  /// Whether a save without stopping hands `row` down: it is beneath what is done from now on, like a row of a context below, and no change of this one any more.
  func isFlying(_ row: StratumRow) -> Bool {
    saving.flight != nil && strata.frozenRow(row.table, row.primaryKey) === row
  }

  /// The row that a save without stopping hands down of an object; nil for a deletion, and as long as there was no child.
  func rowInFlight(of object: ManagedObject) -> RowSnapshot? {
    strata.frozenRow(object.home.layerTable, object.primaryKey)?.row
  }

  /// What the context's own layers say of a record that has not been deleted again.
  private func ownRow(_ table: StratumLayer.Table, _ key: UInt64) -> StratumRow? {
    if !unpublished.withdrawn.isEmpty,
      unpublished.withdrawn.contains(StratumLayer.Place(table: table, primaryKey: key))
    {
      return nil
    }
    return strata.row(table, key)
  }

  /// What lies beneath this context, for a child's change: it may be newer than what the child has read, and the child has
  /// only changed some values of it.
  func rowBeneath(_ change: StratumRow) throws -> RowBeneath? {
    for layer in ancestors {
      guard let found = layer.row(change.table, change.primaryKey) else { continue }
      return found.row.map { RowBeneath(row: $0, isStored: false, externals: found.externals) }
    }
    guard let binding = coordinator.binding(change.bound.storeIndex),
      let row = try newest(binding).row(
        hierarchy: change.bound.hierarchyNumber, primaryKey: change.primaryKey)?
        .snapshot
    else {
      // It was not deleted here: the change stays one of the row that was, and the save that reaches the store finds the conflict
      // (rule 199).
      return isDeletedByBatch(change) ? change.rowThatWas : nil
    }
    let known = knowledge(of: change, row.version)
    return RowBeneath(row: row, isStored: true, isForeign: !known.isKnown, known: known.newest)
  }

  private func isDeletedByBatch(_ row: StratumRow) -> Bool {
    let place = row.place
    return ([strata] + ancestors).contains { $0.knownRows.isDeletedByBatch(place) }
  }

  /// Whether this context or one below has written that version of a stored row, or has merged it; and the newest row that they have.
  private func knowledge(of row: StratumRow, _ version: UInt32) -> (isKnown: Bool, newest: RowSnapshot?) {
    let place = row.place
    var result: (isKnown: Bool, newest: RowSnapshot?) = (false, nil)
    for layers in [strata] + ancestors {
      let found = layers.knownRows.find(version, of: place)
      result.isKnown = result.isKnown || found.isKnown
      if let row = found.newest, row.version > result.newest?.version ?? 0 { result.newest = row }
    }
    return result
  }

  /// Whether the record of `object` is in no store: a context below has not saved it.
  func isUnstored(_ object: ManagedObject) -> Bool {
    isUnstored(object.home.layerTable, object.primaryKey)
  }

  /// The same for the record of an unsaved row: its change may be based on an insertion further down.
  func isUnstored(_ row: StratumRow) -> Bool {
    row.kind == .insert || !row.isBaseStored && isUnstored(row.table, row.primaryKey)
  }

  func isUnstored(_ table: StratumLayer.Table, _ key: UInt64) -> Bool {
    ancestors.contains { $0.row(table, key)?.kind == .insert } || strata.row(table, key)?.kind == .insert
  }

  // MARK: What children have saved

  /// Whether children have saved something that this context has not.
  var hasReceivedChanges: Bool {
    if strata.isEmpty { return false }
    return strata.top.contains { !isOwnEdit($0) }
  }

  /// Whether `row` is what this context published of an object it has edited itself.
  func isOwnEdit(_ row: StratumRow) -> Bool {
    if unpublished.withdrawn.contains(row.place) {
      return true
    }
    guard let object = stores.table(for: row.bound)?.object(for: row.primaryKey) else { return false }
    // What a child had saved is in flight beneath what was edited since.
    if saving.flight != nil, !object.state.contains(.inFlight), isFlying(row) { return false }
    return !object.state.isDisjoint(with: .ownChange)
  }

  /// The objects of one kind that children have saved and that were not edited here.
  func receivedObjects(_ kind: StratumRow.Kind) -> [ManagedObject] {
    if strata.isEmpty { return [] }
    drainReceived()
    return receivedRows(in: strata.top).filter { $0.kind == kind }
      .compactMap { object(for: $0, isOwn: true) }
  }

  /// What children have saved and was not edited here: the net effect, record by record (rule 153).
  func receivedRows(in layer: StratumLayer) -> [StratumRow] {
    var result: [StratumRow] = []
    layer.forEach { if !isOwnEdit($0) { result.append($0) } }
    return result
  }

  /// A new object for a record that children have saved and that has no object yet; nil for all others.
  @inline(__always)
  func receivedObject(_ key: UInt64, _ bound: BoundEntity) -> ManagedObject? {
    if strata.isEmpty { return nil }
    let table = bound.layerTable
    return ownRow(table, key).flatMap { object(for: $0, isOwn: true) }
  }

  /// The same for layers that were taken before.
  func receivedObject(_ key: UInt64, _ bound: BoundEntity, in layers: [StratumLayer]) -> ManagedObject? {
    if layers.isEmpty { return nil }
    let table = bound.layerTable
    for layer in layers {
      if let row = layer.row(table, key) { return object(for: row, isOwn: true) }
    }
    return nil
  }

  /// The object of an unsaved row, if there is one.
  func knownObject(of row: StratumRow) -> ManagedObject? {
    guard let binding = coordinator.binding(row.bound.storeIndex) else { return nil }
    return known(
      row.primaryKey, as: row.bound,
      in: stores.tables(for: binding).tables[row.bound.hierarchyNumber])
  }

  /// The object for an unsaved row: the one there is, or a new one. `layers` are this context's own, for a row of a context
  /// below: nil stands for those of this moment.
  func object(for row: StratumRow, isOwn: Bool, above layers: [StratumLayer]? = nil) -> ManagedObject? {
    guard let binding = coordinator.binding(row.bound.storeIndex) else { return nil }
    let table = stores.tables(for: binding).tables[row.bound.hierarchyNumber]
    let isChange = isOwn && !isFlying(row)
    if let known = known(row.primaryKey, as: row.bound, in: table) {
      if known.isFault, row.row != nil,
        known.state.isDisjoint(with: isChange ? .ownChange : [.received, .inFlight])
      {
        known.take(row, isOwn: isChange)
      }
      return known
    }
    if !isOwn {
      let received =
        layers.map { receivedObject(row.primaryKey, row.bound, in: $0) }
        ?? receivedObject(row.primaryKey, row.bound)
      if let received { return received }
    }
    let object = makeObject(row.primaryKey, nil, row.bound, table)
    if isOwn, !isChange, row.kind == .delete {
      // Of this context's own deletion nothing is left.
      guard saving.flight?.isReceived(row) == true else { return object }
      object.state.beginFlyingDelete()
    }
    object.take(row, isOwn: isChange)
    return object
  }
}

extension StratumLayer {
  func contains(where predicate: (StratumRow) -> Bool) -> Bool {
    tables.values.contains { $0.values.contains(where: predicate) }
  }
}

/// Those of a context's children that ask to be notified of its saves.
final class ChildObservers: Sendable {
  private let observers = Mutex<[ObjectIdentifier: any CommitObserver]>([:])

  func add(_ observer: any CommitObserver, for context: ObjectIdentifier) {
    observers.withLock { $0[context] = observer }
  }

  func removeAll() { observers.withLock { $0 = [:] } }

  func remove(for context: ObjectIdentifier) {
    _ = observers.withLock { $0.removeValue(forKey: context) }
  }

  func tell(_ notices: [CommitNotice]) {
    let all = observers.withLock { Array($0.values) }
    for observer in all { for notice in notices { observer.coordinatorDidCommit(notice) } }
  }
}
