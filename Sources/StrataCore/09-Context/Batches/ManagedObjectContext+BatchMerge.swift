import Foundation

// What a batch has changed, merged into a context: the rows of objects that are in it are read, all others are reported by ID only.

extension ManagedObjectContext {
  /// How many rows of a batch are merged at a time: each slice posts notifications of its own, so that a batch of a million rows
  /// never has a million objects or IDs in memory. Of the rows that a batch has inserted the first slice is always reported object by object (rule 179).
  static let batchStep = 1_024

  /// From now on an edited object goes when a batch has deleted its row, with its edits: as when another context has deleted it and saved. Otherwise the next save
  /// finds a conflict.
  package final func takeEditedByBatches() { deletions.takesEdited = true }

  /// Merges a batch that this context itself has carried out, at once. `given` are the rows of an insert.
  func mergeBatch(_ notice: CommitNotice, given: BatchRows? = nil) {
    guard let batch = notice.batch, batch.count > 0 else { return }
    finishMergeBacklog()
    tellChanges()
    var place = 0
    if let given, mergeGiven(given, of: batch, notice) { place = batch.count }
    while place < batch.count {
      let next = min(place + Self.batchStep, batch.count)
      var merged = MergedIdentifiers()
      tellingAfterwards { merge(batch, notice, place..<next, &merged) }
      tellSlice(of: batch, notice, place..<next, merged)
      place = next
    }
    children.tell([notice])
  }

  /// Merges an insert whose rows are stored as they were given and still in memory: none is read again. False when they are not.
  private func mergeGiven(_ given: BatchRows, of batch: BatchChanges, _ notice: CommitNotice) -> Bool {
    let entity = schema.entities[given.entity]
    // Both ends of one-to-one relationships are written more than once.
    let hasPartners = entity.relationships.contains { relationship in
      !relationship.isToMany && schema.inverse(of: relationship)?.isToMany == false
    }
    guard batch.records == nil, !hasPartners, schema.derivedSources == nil, batch.count == given.count,
      batch.inserted.lists[given.entity].count == given.count, let blocks = given.blocksInMemory,
      let binding = coordinator.binding(notice.storeIndex), let bound = binding.entities[given.entity]
    else { return false }
    let store = stores.tables(for: binding)
    var (block, number, place) = (0, 0, 0)
    while place < given.count {
      let count = min(Self.batchStep, given.count - place)
      var merged = MergedIdentifiers()
      merged.inserted.reserveCapacity(count)
      tellingAfterwards {
        if place == 0 { forgetMembers(changedBy: batch) }
        let isSilent = isSilent(at: place)
        for _ in 0..<count {
          while number == blocks[block].count { (block, number) = (block + 1, 0) }
          let key = blocks[block].rows[number].key
          if !isSilent || isHeld(key, bound, store) {
            let told = ToldRow(row: blocks[block].snapshot(number), isStored: true)
            mergeInsert(key, told, bound, store, &merged)
          }
          number += 1
        }
      }
      finishBatchMerge(merged, at: place)
      place += count
    }
    endBatchMerge(batch, binding)
    return true
  }

  /// Whether no objects are made of the rows from `place` on that are inserted and are not here already: only notifications would show them, and those get a
  /// list of the IDs at the end.
  private func isSilent(at place: Int) -> Bool {
    place > 0 && !observation.isObserved && !observation.tellsObjects && strata.isEmpty
      && saving.toldInValidation == nil
  }

  /// Reports what is reported of a batch as a whole.
  private func endBatchMerge(_ batch: BatchChanges, _ binding: StoreBinding) {
    tellObservedMembers()
    if batch.inserted.count <= Self.batchStep { return }
    let identifiers = BatchObjectIDs(batch.inserted, binding)
    let list: [AnyHashable: Any] = [NotificationKey.insertedBatchObjectIDs.rawValue: identifiers]
    let changed: [AnyHashable: Any] = [
      NotificationKey.insertedBatchObjectIDs.rawValue: identifiers,
      SavedInfoForm.mergeKey: Set<ManagedObject>(),
    ]
    post(Self.didChangeObjectsNotification, changed)
    post(Self.didMergeChangesObjectIDsNotification, list)
  }

  /// Whether there is an object of that key.
  private func isHeld(_ key: UInt64, _ bound: BoundEntity, _ store: RegisteredStores.Registered) -> Bool {
    store.tables[bound.hierarchyNumber].contains(key)
  }

  /// Reports the part of a batch that begins at `place`, if there is anything to report.
  private func finishBatchMerge(_ merged: MergedIdentifiers, at place: Int) {
    if !isSilent(at: place) || !merged.isEmpty { finishMerge(merged) }
  }

  /// Reports a part of a batch that is merged.
  func tellSlice(
    of batch: BatchChanges, _ notice: CommitNotice, _ places: Range<Int>, _ merged: MergedIdentifiers
  ) {
    guard let binding = coordinator.binding(notice.storeIndex) else { return }
    finishBatchMerge(merged, at: places.lowerBound)
    if places.upperBound == batch.count { endBatchMerge(batch, binding) }
  }

  /// Merges a part of a batch, and tells nobody: its inserted, updated, touched and deleted rows count as one list.
  func merge(
    _ batch: BatchChanges, _ notice: CommitNotice, _ places: Range<Int>, _ merged: inout MergedIdentifiers
  ) {
    guard let binding = coordinator.binding(notice.storeIndex) else { return }
    let store = stores.tables(for: binding)
    if places.lowerBound == 0 {
      forgetMembers(changedBy: batch)
      if notice.isForeign { forgetMembers(changedElsewhere: batch) }
    }
    var start = 0
    func slice(_ keys: BatchKeys, _ body: (BoundEntity, ArraySlice<UInt64>) -> Void) {
      for (entity, list) in keys.lists.enumerated() {
        let (low, high) = (max(places.lowerBound, start), min(places.upperBound, start + list.count))
        if low < high, let bound = binding.entities[entity] {
          body(bound, Array(list[low - start..<high - start])[...])
        }
        start += list.count
      }
    }
    let isSilent = isSilent(at: places.lowerBound)
    slice(batch.inserted) { bound, inserted in
      let keys = isSilent ? inserted.filter { isHeld($0, bound, store) }[...] : inserted
      let rows = newestRows(keys, bound, binding)
      for (key, row) in zip(keys, rows) {
        // Gone again since, or not to be read: there is no object of it here.
        guard case .row(let row) = row else { continue }
        mergeInsert(key, ToldRow(row: row, isStored: true), bound, store, &merged)
      }
    }
    slice(batch.updated) { mergeUpdates($1, $0, store, &merged) }
    slice(batch.touched) { mergeUpdates($1, $0, store, &merged) }
    slice(batch.related) { mergeRelated($1, $0, store, &merged) }
    slice(batch.suspected) { mergeSuspected($1, $0, store, &merged) }
    slice(batch.deleted) { bound, keys in
      if strata.publishes { strata.knownRows.noteDeletions(keys, of: bound) }
      // Deleted whatever version it had; a row that is there all the same was written again since.
      for key in keys {
        mergeDelete(key, ofVersion: RowDeletion.anyVersion, bound, store, &merged, byBatch: true)
      }
    }
  }

  func mergeUpdates(
    _ keys: ArraySlice<UInt64>, _ bound: BoundEntity, _ store: RegisteredStores.Registered,
    _ merged: inout MergedIdentifiers
  ) {
    let table = store.tables[bound.hierarchyNumber]
    // A child may have read an older row of what is unknown here: what is merged is no conflict when it saves.
    let publishes = strata.publishes
    let wanted = publishes ? Array(keys) : keys.filter { table.contains($0) }
    var rows: [UInt64: NewestRow] = [:]
    for (key, row) in zip(wanted, newestRows(wanted[...], bound, store.binding)) { rows[key] = row }
    for key in keys {
      if case .unreadable? = rows[key] {
        mergeUnreadable(key, bound, store, &merged)
      } else if case .row(let row)? = rows[key] {
        if publishes { strata.knownRows.note(row, of: bound, key) }
        mergeUpdate(key, ToldRow(row: row, isStored: true), bound, store, &merged)
      } else if strata.isEmpty {
        // It is unknown here.
        merged.updated.insert(ManagedObjectID(token: bound.token, primaryKey: key))
        noteRow(key, bound, \.refreshed)
      } else {
        mergeUpdate(key, nil, bound, store, &merged)
      }
    }
  }

  /// A changed row cannot be read now; reported.
  func mergeUnreadable(
    _ key: UInt64, _ bound: BoundEntity, _ store: RegisteredStores.Registered,
    _ merged: inout MergedIdentifiers
  ) {
    merged.updated.insert(ManagedObjectID(token: bound.token, primaryKey: key))
    noteRow(key, bound, \.refreshed)
    if let known = known(key, as: bound, in: store.tables[bound.hierarchyNumber]) { outdate(known) }
  }

  /// The stored rows with these keys. What cannot be read is reported.
  func newestRows(_ keys: ArraySlice<UInt64>, _ bound: BoundEntity, _ binding: StoreBinding) -> [NewestRow] {
    if keys.isEmpty { return [] }
    let keys = Array(keys)
    let found = readRows(
      keys, hierarchy: bound.hierarchyNumber, through: binding.store, isFar: binding.isFar
    ) {
      ManagedObjectID(token: bound.token, primaryKey: keys[$0])
    }
    return found.map { found in
      switch found {
      case .success(let row): row?.snapshot.map { .row($0) } ?? .gone
      case .failure: .unreadable
      }
    }
  }

  private func forgetMembers(changedBy batch: BatchChanges) {
    if schema.relationships.isEmpty { return }
    for (entity, slots) in batch.changedSlots { forgetMembers(referredToBy: schema.entities[entity], slots) }
    for (entity, keys) in batch.deleted.lists.enumerated() where !keys.isEmpty {
      forgetMembers(referredToBy: schema.entities[entity], nil)
      // Those without an inverse lost it, too.
      for relationship in schema.entities[entity].inbound { forgetMembers(of: relationship.number) }
    }
  }
}

extension ManagedObject {
  /// Whether the object has unsaved edits of which no other object tells: of attributes, of references that make it a
  /// member, of members that do not know of it. The other ends of relationships have edits of their own.
  final var hasEditsOfItsOwn: Bool {
    guard let context, isMarkedUpdated else { return false }
    let entity = home.entity
    var hasEdits = false
    slotsThatDiffer.forEach { slot in
      let isTold =
        entity.relationship(slot: slot).flatMap { context.schema.inverse(of: $0) }.map { !$0.isToMany }
        ?? false
      if !isTold { hasEdits = true }
    }
    for entry in relations?.states ?? [] where entry.state.hasChanges && !entry.state.relationship.isTransient
    {
      if context.schema.inverse(of: entry.state.relationship) == nil { hasEdits = true }
    }
    return hasEdits
  }
}
