import Dispatch
import Foundation

/// A save under way off its context's queue (contexts 15): the pending changes as they were when it began, frozen.
///
///     on the context's queue          on a thread of its own          on the context's queue
///     hooks, validation, freeze ────▶ encode, commit ──────────────▶ adopt, in slices; or pending again
///
/// Frozen drafts are never edited: an object that is edited meanwhile gets a copy.
final class SaveFlight: @unchecked Sendable {
  // Unchecked: entries are set before the flight begins; what the worker makes is read when it is done; objects are only
  // touched on the context's queue.

  /// One object's part.
  struct Entry {
    let kind: StratumRow.Kind
    let object: ManagedObject
    /// Of the part's store, which the part holds.
    let home: Unmanaged<BoundEntity>
    let primaryKey: UInt64
    /// Nil for a deletion, and for a change of transient values alone.
    let draft: RowDraft?
    let base: RowSnapshot?
    let isBaseStored: Bool
    /// A deletion that a store must be told.
    let isStoredDeletion: Bool
    let transients: TransientValues?
    /// What a row written again counts on from.
    let lostVersion: UInt32
    /// What happens to relationships that are not in rows.
    let edges: StratumEdges
    /// Of a deletion that a parent is told.
    let leftReferences: SlotBitmap
    /// Whether members have changed, by whatever means.
    let hasRelations: Bool
  }

  /// What goes to one store.
  final class Part {
    let store: StoreBinding
    var entries: ContiguousArray<Entry> = []
    var checks: [RowCheck] = []
    var received: [StratumRow] = []
    var hasMetadata = false
    // The worker's:
    /// Parallel to `entries`: what was written; nil where there was nothing to write, and for deletions.
    fileprivate(set) var rows: ContiguousArray<RowChange?> = []
    fileprivate(set) var receivedRows: [(unsaved: StratumRow, row: RowSnapshot?)] = []
    fileprivate(set) var notice: CommitNotice?
    fileprivate(set) var isWritten = false
    /// Of a store that had nothing to write: what was saved as it was.
    fileprivate var resaved: [RowTouch] = []
    /// What was told of these.
    fileprivate(set) var toldResaved: CommitNotice?
    /// How long a store had it that did not write it, while somebody asks for saves.
    fileprivate(set) var timeRefused = Duration.zero

    init(_ store: StoreBinding) { self.store = store }

    /// The checks of rows that `changes` do not write: those are checked anyway.
    fileprivate func checks(beside changes: ChangeSet) -> [RowCheck] {
      if checks.isEmpty { return [] }
      var written: Set<RowAddress> = []
      func note(_ entity: Int, _ key: UInt64) {
        guard let hierarchy = store.entities[entity]?.hierarchyNumber else { return }
        written.insert(RowAddress(hierarchy: hierarchy, key: key))
      }
      for change in changes.updates { note(change.entity, change.primaryKey) }
      for deletion in changes.deletes { note(deletion.entity, deletion.primaryKey) }
      return checks.filter { !written.contains(RowAddress(hierarchy: $0.hierarchy, key: $0.primaryKey)) }
    }

    /// The store has derived values: the objects take over the rows that have them.
    fileprivate func takeDerived(_ derived: [RowChange]) {
      var byAddress: [RowAddress: RowChange] = [:]
      for change in derived {
        guard let hierarchy = store.entities[change.entity]?.hierarchyNumber else { continue }
        byAddress[RowAddress(hierarchy: hierarchy, key: change.primaryKey)] = change
      }
      for place in entries.indices where rows[place] != nil {
        let hierarchy = entries[place].home._withUnsafeGuaranteedRef { $0.hierarchyNumber }
        let address = RowAddress(hierarchy: hierarchy, key: entries[place].primaryKey)
        if let change = byAddress[address] { rows[place] = change }
      }
    }
  }

  /// What is told of it at the end, and known before.
  struct Watched {
    /// When the save was asked for.
    let since: ContinuousClock.Instant
    var counts = (inserted: 0, updated: 0, deleted: 0)
    /// What earlier attempts were in the hands of stores.
    var timeInStore = Duration.zero
    init(since: ContinuousClock.Instant) { self.since = since }
  }

  enum Ending {
    case saved
    /// The context settles it, with the merge policy, and tries again.
    case refused(SaveRefusal, StoreBinding)
    /// The parent's records are not what the changes are based on: the merge policy is to be asked.
    case disputed(ParentConflict)
    case failed(any Error)
  }

  let parts: [Part]
  let isForParent: Bool
  fileprivate(set) var ending: Ending?
  /// What the did-save notifications tell.
  private(set) var sets: DidSaveSets?
  /// Places, among all entries, of changes to what the parent has deleted.
  private(set) var dropped: Set<Int> = []
  /// What children had saved of such.
  private(set) var droppedRows: [StratumRow] = []
  private(set) var unsavedRows: [StratumRow] = []
  /// Edited objects whose rows a batch has deleted, when the flight began.
  private(set) var outlivedDeletions: Set<StratumLayer.Place> = []
  /// The objects of `detectConflicts(for:)`: they are asked for again when it fails. Set before it begins.
  var locked: [ManagedObject] = []
  /// There while somebody asks for saves. Set before it begins.
  var watched: Watched?
  /// How far adoption has come, counted over all parts.
  var landedCount = 0
  /// The objects that have taken over what was saved. Their `didSave()` is called when all have.
  private(set) var landed: [ManagedObject] = []
  /// What the save did to each of them.
  private var landedAs: [StratumRow.Kind] = []
  /// Whether a class among theirs overrides `didSave()`.
  private(set) var hasHooks = false
  private var lastLanded: ObjectIdentifier?
  /// Of how many it has been called.
  var calledCount = 0
  /// The context was reset meanwhile: nothing of it is pending again when it fails.
  var isForgotten = false
  /// Whether other work of the queue came between the objects.
  var isSliced = false
  private var known: Set<ManagedObject>?
  private let running = DispatchGroup()
  /// The context shows what came of it.
  private(set) var isLanded = false
  private var places: [ObjectIdentifier: RowDraft]?

  init(_ parts: [Part], isForParent: Bool, known: Set<ManagedObject>?) {
    self.parts = parts
    self.isForParent = isForParent
    self.known = known
  }

  /// Whether `row` is what a child had saved, and no change of the context itself.
  func isReceived(_ row: StratumRow) -> Bool {
    parts.contains { part in part.received.contains { $0 === row } }
  }

  var count: Int { parts.reduce(0) { $0 + $1.entries.count } }

  /// Whether it is not tried again.
  func isOver(after attempts: Int, of most: Int) -> Bool {
    switch ending {
    case .refused, .disputed: attempts >= most
    case .saved, .failed, nil: true
    }
  }

  /// How many objects are inserted, changed, deleted.
  var counts: (inserted: Int, updated: Int, deleted: Int) {
    var counts = (inserted: 0, updated: 0, deleted: 0)
    forEachObject { _, kind in
      switch kind {
      case .insert: counts.inserted += 1
      case .update: counts.updated += 1
      case .delete: counts.deleted += 1
      }
    }
    return counts
  }

  /// Every object with what is done to it.
  func forEachObject(_ body: (ManagedObject, StratumRow.Kind) -> Void) {
    for part in parts { for entry in part.entries { body(entry.object, entry.kind) } }
  }

  /// The draft that is being saved of `object`.
  func draft(of object: ManagedObject) -> RowDraft? {
    if places == nil {
      var found: [ObjectIdentifier: RowDraft] = [:]
      for part in parts { for entry in part.entries { found[ObjectIdentifier(entry.object)] = entry.draft } }
      places = found
    }
    return places?[ObjectIdentifier(object)]
  }

  // MARK: On the queue

  /// The object has taken over what was saved.
  func note(landed object: ManagedObject, _ kind: StratumRow.Kind) {
    landed.append(object)
    landedAs.append(kind)
    let type = Swift.type(of: object)
    if ObjectIdentifier(type) == lastLanded { return }
    lastLanded = ObjectIdentifier(type)
    hasHooks = hasHooks || DidSaveOverrides.contains(type)
  }

  /// Some of the objects that have taken over what was saved, for `didSave()`.
  func told(_ places: Range<Int>, _ context: ManagedObjectContext) -> ToldSave {
    var save = ToldSave(context: context)
    for place in places { save.add(landed[place], landedAs[place]) }
    return save
  }

  // MARK: Off the queue

  /// Begins; `done` is called on no particular thread.
  func start(
    _ context: ManagedObjectContext, _ coordinator: PersistentStoreCoordinator,
    done: @escaping @Sendable () -> Void
  ) {
    let delivery = context.parent == nil ? nil : context.makeDelivery()
    outlivedDeletions = context.deletions.outlived
    let origin = ObjectIdentifier(context)
    let author = context.changeOrigin
    let strata = context.strata
    running.enter()
    Errand.hand(to: .global(qos: .userInitiated)) { [self] in
      do {
        if let delivery {
          try handDown(delivery)
        } else {
          for part in parts { try commit(part, coordinator, origin, author, strata) }
          for part in parts {
            part.toldResaved = coordinator.tell(resaved: part.resaved, in: part.store, origin: origin)
          }
          ending = .saved
        }
        makeSets()
      } catch let refused as Refused {
        ending = .refused(refused.refusal, refused.store)
      } catch let conflict as ParentConflict {
        ending = .disputed(conflict)
      } catch {
        ending = .failed(error)
      }
      running.leave()
    } then: {
      done()
    }
  }

  /// Waits, blocking, until the worker is done. For a save that has come in between.
  func wait() { running.wait() }

  /// What comes of a refused attempt, when the merge policy has spoken.
  func fail(_ error: any Error) { ending = .failed(error) }

  private struct Refused: Error {
    let refusal: SaveRefusal
    let store: StoreBinding
  }

  private func commit(
    _ part: Part, _ coordinator: PersistentStoreCoordinator, _ origin: ObjectIdentifier,
    _ author: ChangeOrigin, _ strata: Strata
  ) throws {
    var changes = try encode(part)
    changes.origin = author
    changes.checks = part.checks(beside: changes)
    strata.noteRowsLeft(by: changes, in: part.store)
    if changes.isEmpty && !part.hasMetadata {
      part.resaved = changes.resaved
      part.isWritten = true
      return
    }
    let start = watched == nil ? nil : ContinuousClock.now
    do {
      let notice = try strata.knowing(changes.updates, in: part.store) {
        try coordinator.commit(changes, to: part.store, origin: origin) {}
      }
      part.notice = notice
      if !notice.derivedRows.isEmpty { part.takeDerived(notice.derivedRows) }
      part.isWritten = true
    } catch {
      if let start { part.timeRefused = ContinuousClock.now - start }
      guard let refusal = SaveRefusal(error) else { throw error }
      throw Refused(refusal: refusal, store: part.store)
    }
  }

  private func encode(_ part: Part) throws -> ChangeSet {
    var changes = ChangeSet()
    var writer = RowSlabWriter(expectedLength: part.entries.count * 128)
    part.rows = []
    part.rows.reserveCapacity(part.entries.count)
    part.receivedRows = []
    for entry in part.entries {
      let home = entry.home.takeUnretainedValue()
      guard entry.kind != .delete else {
        if entry.isStoredDeletion, entry.base != nil || !home.entity.relationships.isEmpty {
          changes.deletes.append(
            RowDeletion(
              entity: home.entityNumber, primaryKey: entry.primaryKey,
              baseVersion: entry.base?.version ?? RowDeletion.anyVersion))
        }
        part.rows.append(nil)
        continue
      }
      changes.edges += entry.edges.changes(of: entry.primaryKey)
      let touch = RowTouch(entity: home.entityNumber, primaryKey: entry.primaryKey)
      if entry.hasRelations { changes.touched.append(touch) }
      let change: RowChange?
      do { change = try entry.encoded(home, into: &writer) } catch let reason as RowError {
        // Told on the context's queue, where the object may be looked at.
        throw UnencodableValue(object: entry.object, reason: reason)
      }
      part.rows.append(change)
      if let change {
        if entry.kind == .insert { changes.inserts.append(change) } else { changes.updates.append(change) }
      } else if !entry.hasRelations {
        changes.resaved.append(touch)
      }
    }
    for unsaved in part.received {
      part.receivedRows.append((unsaved, try unsaved.add(to: &changes, for: part.store, &writer)))
    }
    return changes
  }

  private func handDown(_ delivery: Delivery) throws {
    var rows: [StratumRow] = []
    var places: [Int?] = []
    var place = 0
    for part in parts {
      _ = try encode(part)
      for (index, entry) in part.entries.enumerated() {
        if let row = entry.stratumRow(part.rows[index]) {
          rows.append(row)
          places.append(place)
        }
        place += 1
      }
      rows += part.received
      places += part.received.map { _ in nil }
    }
    let gone = try delivery.hand(rows)
    dropped = Set(gone.compactMap { places[$0] })
    for part in parts { part.isWritten = true }
    droppedRows = gone.filter { places[$0] == nil }.map { rows[$0] }
    unsavedRows = rows.without(gone)
    ending = .saved
  }

  /// The sets of the did-save notifications, made here: a large set takes longer than a frame.
  private func makeSets() {
    var (inserted, updated, deleted): ([ManagedObject], [ManagedObject], [ManagedObject]) = ([], [], [])
    var ids = DidSaveSets.Identifiers()
    var place = 0
    for part in parts {
      for entry in part.entries {
        defer { place += 1 }
        if dropped.contains(place) { continue }
        let id = ManagedObjectID(
          token: entry.home.takeUnretainedValue().token, primaryKey: entry.primaryKey,
          isTemporary: isForParent && entry.kind == .insert)
        switch entry.kind {
        case .insert:
          inserted.append(entry.object)
          ids.inserted.insert(id)
        case .update:
          updated.append(entry.object)
          ids.updated.insert(id)
        case .delete:
          deleted.append(entry.object)
          ids.deleted.insert(id)
        }
      }
    }
    sets = DidSaveSets(inserted: inserted, updated: updated, deleted: deleted, known: known, ids: ids)
  }

  // MARK: At the end

  /// The context shows what came of it. Entries, rows and sets are freed elsewhere: objects are in the context's tables as
  /// well, so this is not the end of them.
  func markLanded() {
    let old = Leftovers(
      entries: parts.map(\.entries), rows: parts.map(\.rows), received: parts.map(\.received), sets: sets,
      known: known, landed: landed)
    let count = count + landed.count + parts.reduce(0) { $0 + $1.receivedRows.count }
    for part in parts {
      part.entries = []
      part.rows = []
      part.received = []
    }
    sets = nil
    known = nil
    places = nil
    landed = []
    landedAs = []
    locked = []
    unsavedRows = []
    droppedRows = []
    Garbage.release(old, count: count)
    isLanded = true
  }

  /// Unchecked: they are used nowhere else.
  private struct Leftovers: @unchecked Sendable {
    let entries: [ContiguousArray<Entry>]
    let rows: [ContiguousArray<RowChange?>]
    let received: [[StratumRow]]
    let sets: DidSaveSets?
    let known: Set<ManagedObject>?
    let landed: [ManagedObject]
  }

}

extension SaveFlight.Entry {
  var place: StratumLayer.Place { home._withUnsafeGuaranteedRef { $0.place(primaryKey) } }

  /// The row that is written; nil where there is nothing to write.
  fileprivate func encoded(_ home: BoundEntity, into writer: inout RowSlabWriter) throws -> RowChange? {
    guard let draft else { return nil }
    if kind == .insert {
      return try .inserted(home, primaryKey, draft, countingFrom: lostVersion, into: &writer)
    }
    guard let base else { return nil }
    return try .updated(home, primaryKey, draft, over: base, into: &writer)
  }

  /// The entry as a parent takes it.
  fileprivate func stratumRow(_ change: RowChange?) -> StratumRow? {
    if base == nil, kind == .delete || change == nil { return nil }
    return StratumRow(
      kind, home.takeUnretainedValue(), primaryKey, change, base: base, isBaseStored: isBaseStored,
      transients: transients, edges: edges, leftReferences: leftReferences,
      isResaved: kind == .update && change == nil && !hasRelations)
  }
}
