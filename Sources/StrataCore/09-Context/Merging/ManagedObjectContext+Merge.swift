import Dispatch
import Foundation

/// Receives commits for one context and brings them to its queue; looks for the context only there, so that it never ends
/// on a thread of the store.
final class CommitListener: CommitObserver, @unchecked Sendable {
  // Safe: the reference is set once; loading a weak reference is atomic.
  private weak var context: ManagedObjectContext?
  /// The one whose commits these are: the context may have left it when it gets to them.
  private weak var coordinator: PersistentStoreCoordinator?
  private let queue: DispatchQueue?
  private let isOfMainQueue: Bool
  private let inbox: CommitInbox?

  init(_ context: ManagedObjectContext) {
    self.context = context
    coordinator = context.coordinator
    queue = context.queue.queue
    isOfMainQueue = context.isOfMainQueue
    inbox = context.inbox
  }

  /// A sibling has saved: merges its changes on the context's queue, behind what is already waiting there.
  func coordinatorDidCommit(_ notice: CommitNotice) {
    if let inbox { return inbox.put(notice) }
    guard let queue else { return }
    Errand.hand(to: queue, isForMainQueue: isOfMainQueue) {
      guard let context = self.context, context.coordinator === self.coordinator else { return }
      ThreadScope.current.run(in: context) { context.mergeBySlices(notice) }
    }
  }
}

extension ManagedObjectContext {
  /// Merges what another context of the same coordinator has saved, as its did-save or did-save-IDs notification says.
  ///
  /// Objects without edits take the new rows, edited ones keep their edits on top (rule 173), inserted ones are made known,
  /// deleted ones that are in use become deleted here (rules 172–181). Takes the coordinator's remote-change notification, too, and merges
  /// what other processes have committed. Call it on this context's queue (`perform`); the
  /// notification may come from any.
  public func mergeChanges(fromContextDidSave notification: Notification) {
    checkAccess()
    if let origin = notification.object as? PersistentStoreCoordinator {
      let notices = notification.userInfo?[PersistentStoreCoordinator.noticesKey] as? [CommitNotice]
      if origin === coordinator { for notice in notices ?? [] { mergeForeign(notice) } }
      return
    }
    if let origin = notification.object as? ManagedObjectContext {
      if origin === self { return }
      if let notices = notification.userInfo?[Self.noticesKey] as? [CommitNotice],
        origin.coordinator === coordinator
      {
        merge(notices)
        return
      }
    }
    let userInfo = notification.userInfo ?? [:]
    let ids = userInfo[Self.identifiersKey] as? [AnyHashable: Any]
    merge(RemoteChanges(ids ?? userInfo, coordinator))
  }

  /// Merges changes made elsewhere into several contexts. `changes` has arrays or sets of object IDs, or of their URIs,
  /// under the keys of the did-change or the ID notifications (rules 182, 183). May be called from any thread; returns
  /// when all contexts have merged.
  public static func mergeChanges(
    fromRemoteContextSave changes: [AnyHashable: Any], into contexts: [ManagedObjectContext]
  ) {
    for context in contexts {
      let remote = RemoteChanges(changes, context.coordinator)
      context.performAndWait { context.merge(remote) }
    }
  }

  // MARK: Merging commits

  /// Merges commits, whose rows are at hand: reads nothing.
  func merge(_ notices: [CommitNotice]) {
    finishMergeBacklog()
    if parent == nil { generation.advance() }
    tellChanges()
    var merged = MergedIdentifiers()
    merged.reserve(notices)
    tellingAfterwards {
      for notice in notices { merge(notice, 0..<notice.changes.count, &merged) }
    }
    finishMerge(merged)
  }

  /// Merges a part of a commit: its inserts, updates and deletes count as one list.
  func merge(_ notice: CommitNotice, _ places: Range<Int>, _ merged: inout MergedIdentifiers) {
    guard let binding = coordinator.binding(notice.storeIndex) else { return }
    let store = stores.tables(for: binding)
    let (inserts, updates) = (notice.changes.inserts.count, notice.changes.updates.count)
    if notice.isStored, strata.publishes {
      let written = places.clamped(to: inserts..<inserts + updates)
      strata.knownRows.note(
        notice.changes.updates[written.lowerBound - inserts..<written.upperBound - inserts], in: binding)
    }
    if places.lowerBound == 0 {
      mergeRelationships(notice, store, &merged)
      mergeResaved(notice, store, &merged)
    }
    guard hasSavedSince(notice) else { return mergeRows(notice, places, binding, store, &merged) }
    let ids = notice.changes.inserts[places.clamped(to: 0..<inserts)].compactMap { change in
      binding.entities[change.entity].map { ManagedObjectID(token: $0.token, primaryKey: change.primaryKey) }
    }
    readingAhead(ids, ofUnknownRecords: true) {
      mergeRows(notice, places, binding, store, &merged, isOlder: true)
    }
  }

  /// Whether this context has itself saved after a commit that is merged only now: the newest row of a record that the commit inserted, or deleted, may be one that was saved here, of which no
  /// notice tells.
  private func hasSavedSince(_ notice: CommitNotice) -> Bool {
    parent == nil ? saving.hasWritten(after: notice) : saving.hasHandedDown
  }

  /// - Parameter isOlder: The context may have saved the same records since.
  private func mergeRows(
    _ notice: CommitNotice, _ places: Range<Int>, _ binding: StoreBinding,
    _ store: RegisteredStores.Registered,
    _ merged: inout MergedIdentifiers, isOlder: Bool = false
  ) {
    let (inserts, updates) = (notice.changes.inserts.count, notice.changes.updates.count)
    for place in places {
      if place < inserts {
        let change = notice.changes.inserts[place]
        guard let bound = binding.entities[change.entity] else { continue }
        let told = ToldRow(row: change.row, isStored: notice.isStored)
        mergeInsert(change.primaryKey, told, bound, store, &merged, isOlder: isOlder)
      } else if place < inserts + updates {
        let change = notice.changes.updates[place - inserts]
        guard let bound = binding.entities[change.entity] else { continue }
        let told = ToldRow(row: change.row, isStored: notice.isStored)
        mergeUpdate(change.primaryKey, told, bound, store, &merged)
      } else {
        let change = notice.changes.deletes[place - inserts - updates]
        guard let bound = binding.entities[change.entity] else { continue }
        mergeDelete(
          change.primaryKey, ofVersion: change.baseVersion, bound, store, &merged, isOlder: isOlder)
      }
    }
  }

  /// Merges changes of which only the IDs are known: reads the rows of registered objects.
  func merge(_ remote: RemoteChanges) {
    checkAccess()
    finishMergeBacklog()
    if parent == nil { generation.advance() }
    tellChanges()
    var merged = MergedIdentifiers()
    tellingAfterwards { merge(remote, &merged) }
    finishMerge(merged)
  }

  private func merge(_ remote: RemoteChanges, _ merged: inout MergedIdentifiers) {
    for id in remote.inserted + remote.updated + remote.deleted {
      guard let place = locate(id) else { continue }
      forgetMembers(referredToBy: place.bound.entity, nil)
      // It is unknown what has changed.
      for relationship in place.bound.entity.inbound where relationship.isToMany {
        forgetMembers(of: relationship.number)
      }
    }
    readingAhead(remote.inserted + remote.updated) { mergeWritten(remote, &merged) }
    for id in remote.deleted {
      guard let place = locate(id) else { continue }
      mergeDelete(
        id.primaryKey, ofVersion: nil, place.bound, stores.tables(for: place.store), &merged)
    }
  }

  private func mergeWritten(_ remote: RemoteChanges, _ merged: inout MergedIdentifiers) {
    for id in remote.inserted + remote.updated {
      guard let place = locate(id) else { continue }
      let store = stores.tables(for: place.store)
      if remote.isInserted(id) {
        mergeInsert(id.primaryKey, nil, place.bound, store, &merged)
      } else {
        mergeUpdate(id.primaryKey, nil, place.bound, store, &merged)
      }
    }
  }

  /// A row to be merged, from the store or from a context below that has not saved it.
  private struct MergedRow {
    var row: RowSnapshot
    var unsaved: StratumRow?
  }

  /// What a merge finds of a record.
  private enum MergeFinding {
    case row(MergedRow)
    case gone
    /// Reported.
    case unreadable
  }

  /// A row of a notice.
  struct ToldRow {
    let row: RowSnapshot
    /// Whether it is, or was, in a store.
    let isStored: Bool
  }

  /// The record as it is below this context: unsaved further down, in a notice, or stored. `known` is the object that is to
  /// take it.
  private func newestRow(
    _ key: UInt64, _ bound: BoundEntity, _ binding: StoreBinding, _ told: ToldRow?, _ known: ManagedObject?
  ) -> MergeFinding {
    // What the parent has saved, a context below may have saved or changed since.
    if ancestors.isEmpty, let told { return .row(MergedRow(row: told.row)) }
    let table = StratumLayer.Table(storeIndex: binding.index, hierarchy: bound.hierarchyNumber)
    for layer in ancestors {
      guard let unsaved = layer.row(table, key) else { continue }
      return unsaved.row.map { .row(MergedRow(row: $0, unsaved: unsaved)) } ?? .gone
    }
    // A notice of a save that reached no store reports rows that may have been saved or dropped since; and an object with a row
    // that was unsaved when it was read may be ahead of any notice.
    if let told, told.isStored, known?.state.contains(.unsavedRow) != true {
      return .row(MergedRow(row: told.row))
    }
    do {
      let row: RowSnapshot?
      if let ahead = batchFaulting?.rowsAhead[BatchFaulting.RowAddress(table: table, key: key)] {
        row = try ahead.get()?.snapshot
      } else {
        row = try newest(binding).row(hierarchy: bound.hierarchyNumber, primaryKey: key)?.snapshot
      }
      return row.map { .row(MergedRow(row: $0)) } ?? .gone
    } catch {
      report(ReadFailure(error, [ManagedObjectID(token: bound.token, primaryKey: key)]))
      return .unreadable
    }
  }

  /// The object a merge is about, with what children have saved of it as an edit of its own.
  private func mergeTarget(_ key: UInt64, _ bound: BoundEntity, _ table: IdentityTable) -> ManagedObject? {
    var object = known(key, as: bound, in: table)
    if object == nil, !strata.isEmpty,
      let unsaved = strata.row(bound.layerTable, key)
    {
      object = self.object(for: unsaved, isOwn: true)
    }
    object?.claim()
    return object
  }

  /// Inserted elsewhere: always made known (rule 179), registered only while it is held (rule 176).
  func mergeInsert(
    _ key: UInt64, _ told: ToldRow?, _ bound: BoundEntity, _ store: RegisteredStores.Registered,
    _ merged: inout MergedIdentifiers, isOlder: Bool = false
  ) {
    let table = store.tables[bound.entity.hierarchyNumber]
    let known = mergeTarget(key, bound, table)
    let told = isOlder && known == nil ? nil : told
    guard case .row(let row) = newestRow(key, bound, store.binding, told, known) else { return }
    if let known {
      take(row, known, isTold: told != nil)
    } else {
      let object = makeObject(key, row.row, bound, table)
      object.readAt = SnapshotClock.now
      if let unsaved = row.unsaved { object.take(unsaved, isOwn: false) }
      changes.note(object, .insert)
    }
    merged.inserted.insert(ManagedObjectID(token: bound.token, primaryKey: key))
    noteRow(key, bound, \.inserted)
  }

  /// Updated elsewhere: reported only when in use and not a fault (rules 177, 179).
  func mergeUpdate(
    _ key: UInt64, _ told: ToldRow?, _ bound: BoundEntity, _ store: RegisteredStores.Registered,
    _ merged: inout MergedIdentifiers
  ) {
    let id = ManagedObjectID(token: bound.token, primaryKey: key)
    merged.updated.insert(id)
    noteRow(key, bound, \.refreshed)
    // The object first: with what children have saved as an edit of its own it may be based on a newer row than the reported one.
    let known = mergeTarget(key, bound, store.tables[bound.entity.hierarchyNumber])
    // A child may have read an older row of what is unknown here: what is merged is no conflict when it saves.
    let notesRow = told == nil && strata.publishes
    guard known != nil || notesRow else { return }
    let row: MergedRow
    switch newestRow(key, bound, store.binding, told, known) {
    case .row(let found): row = found
    case .gone: return
    case .unreadable:
      if let known { outdate(known) }
      return
    }
    if notesRow, row.unsaved == nil { strata.knownRows.note(row.row, of: bound, key) }
    if let known, take(row, known, isTold: told != nil) { merged.refreshed.insert(id) }
  }

  /// The row of `object` has changed elsewhere and cannot be read: an object in use goes on showing what it shows, a fault reads the row
  /// when it is next used.
  func outdate(_ object: ManagedObject) {
    if object.isFault, object.state.isDisjoint(with: .received) { object.snapshot = nil }
  }

  /// A newer row for a registered object. True when the object was in use and now shows something else.
  /// - Parameter isTold: whether a notice has told of it; otherwise it was read now.
  @discardableResult
  private func take(_ row: MergedRow, _ object: ManagedObject, isTold: Bool) -> Bool {
    if let old = object.snapshot {
      // A row that was read now is there, whatever was said before.
      if isTold || !object.state.contains(.rowGone) {
        if old.base == row.row.base { return false }
        // Versions count stored rows.
        let isStored = row.unsaved == nil && !object.state.contains(.unsavedRow)
        if isStored, old.version >= row.row.version { return false }
      }
      // It is based on a row that this context is handing down, which is newer than any that a merge can report.
      if object.state.contains(.unsavedRow), saving.isFrozen, strata.isHandingDown(object) {
        if saving.flight != nil { saving.mergedMeanwhile.append(object) }
        return false
      }
    }
    if object.state.contains(.rowGone) { bringBack(object) }
    // Nothing tells whether a reported row is the newest one, and of what this context has saved itself it gets no report: a fault without a row reads it.
    if object.snapshot == nil, object.isFault, isTold {
      if !object.state.isDisjoint(with: .ownChange) { unpublished.objects.append(object) }
      return false
    }
    let old = object.snapshot
    object.dropSettledEdits()
    if let unsaved = row.unsaved {
      object.take(unsaved, isOwn: false)
    } else {
      object.take(row.row)
      object.state.standOnStoredRow()
    }
    if let old, object.isMarkedUpdated || object.isMarkedDeleted { object.leaveOwnersOfOthers(since: old) }
    if object.isFault {
      // Nothing is reported, but what has been published of its relationships is based on the former row.
      if !object.state.isDisjoint(with: .ownChange) { unpublished.objects.append(object) }
      return false
    }
    object.settleFastRow()
    changes.note(object, .refresh)
    object.awake(fromSnapshotEvents: .refresh)
    return true
  }

  /// The row of `object`, which was gone, is there again: another context has undone its deletion, insisted on an edit of it, or saved it for the
  /// first time after it was looked for here. What only that made a deleted object is none any more, and its edits count again; what was
  /// deleted here stays so, and its save deletes the new row.
  func bringBack(_ object: ManagedObject) {
    object.state.regainRow()
    guard object.state.contains(.missing) else { return }
    changes.undelete(object)
    object.restoreMemberships()
    if object.state.contains(.notedDelete) {
      object.state.forgetNoteOfDeletion()
    } else {
      changes.note(object, .insert)
    }
  }

  /// Deleted elsewhere: an object in use becomes deleted here, its values stay readable (rules 174, 175, 179). An object
  /// whose row was, or is to be, written again after that deletion has outlived it (rule 199).
  func mergeDelete(
    _ key: UInt64, ofVersion version: UInt32?, _ bound: BoundEntity, _ store: RegisteredStores.Registered,
    _ merged: inout MergedIdentifiers, byBatch: Bool = false, isOlder: Bool = false
  ) {
    merged.deleted.insert(ManagedObjectID(token: bound.token, primaryKey: key))
    noteRow(key, bound, \.deleted)
    guard let known = mergeTarget(key, bound, store.tables[bound.entity.hierarchyNumber]) else { return }
    if known.isMarkedInserted { return }
    if !ancestors.isEmpty {
      // A context below has it all the same.
      if let found = unsavedRow(for: known), !found.isOwn, found.row.kind != .delete { return }
    }
    // A fault without a row has no version to compare.
    if version == RowDeletion.anyVersion || isOlder && known.snapshot == nil,
      !known.state.contains(.unsavedRow)
    {
      switch newestRow(key, bound, store.binding, nil, known) {
      case .gone: break
      case .row: return
      case .unreadable: return outdate(known)
      }
    }
    if let version, let row = known.snapshot, row.version > version, !known.state.contains(.unsavedRow) {
      return
    }
    if byBatch, !deletions.takesEdited, !known.isMarkedDeleted, known.hasEditsOfItsOwn {
      // Nothing that was edited goes in silence: the save finds the conflict, and the merge policy settles it (rule 199).
      detectConflicts(for: known)
      known.rejoinOwners()
      deletions.outlived.insert(bound.place(key))
      return
    }
    if known.isFault, known.snapshot != nil { known.fire() }
    known.state.loseRow()
    if known.isMarkedDeleted {
      return
    }
    known.state.becomeMissing(byBatch: byBatch)
    if byBatch { deletions.includeBatches = true }
    // Only edits have changed its owners; what was not edited may be a fault, and need not be read.
    if known.isMarkedUpdated { known.withdrawMemberships() }
    changes.delete(known)
  }

  /// Relationships may have changed: loaded members are forgotten, owners in use are reported as refreshed.
  private func mergeRelationships(
    _ notice: CommitNotice, _ store: RegisteredStores.Registered, _ merged: inout MergedIdentifiers
  ) {
    if schema.relationships.isEmpty { return }
    var slots: [Int: SlotBitmap] = [:]
    for change in notice.changes.inserts + notice.changes.updates {
      slots[change.entity, default: SlotBitmap()].formUnion(change.changedSlots)
    }
    for (entity, slots) in slots { forgetMembers(referredToBy: schema.entities[entity], slots) }
    for entity in Set(notice.changes.deletes.map(\.entity)) {
      forgetMembers(referredToBy: schema.entities[entity], nil)
      forgetMembers(withoutInverseTo: schema.entities[entity])
    }
    for change in notice.changes.edges { forgetMembers(of: change.relationship) }
    for touch in notice.changes.touched {
      guard let bound = store.binding.entities[touch.entity] else { continue }
      noteRow(touch.primaryKey, bound, \.refreshed)
      guard let known = store.tables[bound.hierarchyNumber].object(for: touch.primaryKey)
      else { continue }
      let id = ManagedObjectID(token: bound.token, primaryKey: touch.primaryKey)
      merged.updated.insert(id)
      if known.isFault || known.isMarkedDeleted { continue }
      merged.refreshed.insert(id)
      changes.note(known, .refresh)
    }
  }

  /// Saved elsewhere with the values that they had: named as when only their IDs are known (rule 181), also to who follows rows.
  private func mergeResaved(
    _ notice: CommitNotice, _ store: RegisteredStores.Registered, _ merged: inout MergedIdentifiers
  ) {
    for row in notice.changes.resaved {
      guard let bound = store.binding.entities[row.entity] else { continue }
      merged.updated.insert(ManagedObjectID(token: bound.token, primaryKey: row.primaryKey))
      noteRow(row.primaryKey, bound, \.refreshed)
    }
  }

  func finishMerge(_ merged: MergedIdentifiers) {
    // Reports of objects and of rows belong together.
    observation.holds += 1
    event.isOfMerge = true
    tellChanges()
    event.isOfMerge = false
    observation.holds -= 1
    post(Self.didMergeChangesObjectIDsNotification, merged.userInfo)
    tellObservers()
  }
}

/// What a merge was about, for the did-merge notification (rules 120, 181).
struct MergedIdentifiers {
  var inserted: Set<ManagedObjectID> = []
  var updated: Set<ManagedObjectID> = []
  var deleted: Set<ManagedObjectID> = []
  var refreshed: Set<ManagedObjectID> = []

  var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty && refreshed.isEmpty }

  /// Makes room for what `notices` report, so that no set grows step by step.
  mutating func reserve(_ notices: [CommitNotice]) {
    inserted.reserveCapacity(notices.reduce(0) { $0 + $1.changes.inserts.count })
    updated.reserveCapacity(notices.reduce(0) { $0 + $1.changes.updates.count })
    deleted.reserveCapacity(notices.reduce(0) { $0 + $1.changes.deletes.count })
  }

  var userInfo: [AnyHashable: Any] {
    [
      ManagedObjectContext.NotificationKey.insertedObjectIDs.rawValue: inserted,
      ManagedObjectContext.NotificationKey.updatedObjectIDs.rawValue: updated,
      ManagedObjectContext.NotificationKey.deletedObjectIDs.rawValue: deleted,
      ManagedObjectContext.NotificationKey.refreshedObjectIDs.rawValue: refreshed,
      ManagedObjectContext.NotificationKey.invalidatedObjectIDs.rawValue: Set<ManagedObjectID>(),
    ]
  }
}

/// Changes made elsewhere, as IDs: read out of the dictionaries that Core Data code passes around.
struct RemoteChanges {
  private(set) var inserted: [ManagedObjectID] = []
  private(set) var updated: [ManagedObjectID] = []
  private(set) var deleted: [ManagedObjectID] = []
  private var insertedSet: Set<ManagedObjectID> = []

  /// Entries that are no IDs, URIs or objects of `coordinator`'s stores are left out.
  init(_ userInfo: [AnyHashable: Any], _ coordinator: PersistentStoreCoordinator) {
    typealias Key = ManagedObjectContext.NotificationKey
    func identifiers(_ keys: Key...) -> [ManagedObjectID] {
      keys.flatMap { Self.elements(userInfo[$0.rawValue]) }.compactMap { element in
        switch element {
        case let id as ManagedObjectID: id
        case let uri as URL: coordinator.managedObjectID(forURIRepresentation: uri)
        case let object as ManagedObject: object.objectID
        default: nil
        }
      }
    }
    inserted = identifiers(.insertedObjects, .insertedObjectIDs, .insertedBatchObjectIDs)
    updated = identifiers(.updatedObjects, .updatedObjectIDs, .refreshedObjects, .refreshedObjectIDs)
    deleted = identifiers(.deletedObjects, .deletedObjectIDs)
    insertedSet = Set(inserted)
  }

  func isInserted(_ id: ManagedObjectID) -> Bool { insertedSet.contains(id) }

  private static func elements(_ value: Any?) -> [Any] {
    guard let value else { return [] }
    // Of Foundation's classes nothing is cast to a set: that would be empty for an instance of a subclass.
    if !FoundationCollections.isInstance(value) {
      if let ids = value as? Set<ManagedObjectID> { return Array(ids) }
      if let objects = value as? Set<ManagedObject> { return Array(objects) }
      if let ids = value as? BatchObjectIDs { return Array(ids) }
    }
    return FoundationCollections.elements(of: value) ?? []
  }
}
