import Foundation

/// The entries that one change set takes out of one index and puts in.
final class IndexChanges {
  // `@exclusivity(unchecked)`: filled, sorted and written one after the other by one thread.
  @exclusivity(unchecked) var removals = IndexEntries()
  @exclusivity(unchecked) var insertions = IndexEntries()

  var isEmpty: Bool { removals.isEmpty && insertions.isEmpty }

  func sort() {
    removals.sort()
    insertions.sort()
  }

  /// Applies the changes, sorted before, through one cursor.
  func write(_ keyspace: Keyspace, _ transaction: borrowing WriteTransaction) throws {
    try transaction.withCursor(keyspace) { cursor in
      try remove(&cursor)
      guard !insertions.isEmpty else { return }
      let none = UnsafeRawBufferPointer(start: nil, count: 0)
      // Entries after the last one are appended; where that begins is found once, by the last key as it is now.
      var start = insertions.count
      if let last = try cursor.last() {
        start = insertions.firstPlace(after: last.key)
      } else {
        start = 0
      }
      for place in 0..<insertions.count {
        // Sorted entries point all over the buffer of bytes.
        insertions.prefetch(place + 8)
        try cursor.put(insertions.key(place), none, append: place >= start)
      }
    }
  }
}

extension IndexChanges {
  /// Removes the entries that are to go. Those of one value lie side by side: after a deletion the cursor stands on what followed, which
  /// is the next one to go then, and need not be searched for.
  private func remove(_ cursor: inout Cursor) throws {
    var isRun = false
    for place in 0..<removals.count {
      let key = removals.key(place)
      // Entries that lie apart are not asked for in vain each time.
      let isHere = (isRun || place % Self.searchesBetween == 1) && cursor.stands(on: key)
      isRun = isHere
      if try isHere || cursor.seek(exactly: key) != nil { try cursor.delete(key) }
    }
  }

  private static let searchesBetween = 16
}

extension IndexEntries {
  /// The place of the first entry after `key`. Only after `sort`.
  func firstPlace(after key: UnsafeRawBufferPointer) -> Int {
    (0..<count).partitioningIndex { KeyOrder.order(self.key($0), key) > 0 }
  }
}

extension ChangeSetWriter {
  /// Builds the index entries of every row that changes, from its old and its new bytes.
  ///
  /// An update whose indexed slots are the same touches no index (only changed slots are looked at).
  ///
  /// Those that another thread is making are left out; should it fail, they are made when the rows have been written, from the old rows,
  /// which are as they were as long as they lie in the file.
  func collectIndexChanges(_ transaction: borrowing ReadTransaction, _ isUnchanged: Bool) throws {
    if changeSet.leavesIndexes { return }
    let early = isUnchanged || changeSet.isOnlyInserts ? changeSet.earlyEntries : nil
    for index in maintainedIndexes {
      if !index.isUnique, let early, early.generation == catalogue.generation {
        awaitedIndexes.append(index)
      } else {
        indexChanges.append((index, try collectIndexChanges(index, transaction)))
      }
    }
  }

  /// The indexes that are complete and must stay so, and those on their way there.
  var maintainedIndexes: some Sequence<IndexSchema> { catalogue.indexes.maintained }

  /// The changes of one index, sorted.
  func collectIndexChanges(_ index: IndexSchema, _ transaction: borrowing ReadTransaction) throws
    -> IndexChanges
  {
    let changes = IndexChanges()
    try collect(index, changes, transaction)
    changes.sort()
    return changes
  }

  private func collect(
    _ index: IndexSchema, _ changes: IndexChanges, _ transaction: borrowing ReadTransaction
  ) throws {
    var covered = SlotBitmap()
    // Keys with derived values are made when these are known.
    var late = SlotBitmap()
    for entity in parts.schema.entities[index.owner].subtree {
      if index.slots.intersects(parts.schema.entities[entity].derivedSlots) {
        late.insert(entity)
      } else {
        covered.insert(entity)
      }
    }
    try collectNew(index, changes, covered, transaction)
    if !changeSet.updates.isEmpty || !deleted.isEmpty {
      try collectOld(index, changes, covered, late, transaction)
    }
  }

  /// The entries of new rows.
  private func collectNew(
    _ index: IndexSchema, _ changes: IndexChanges, _ covered: SlotBitmap,
    _ transaction: borrowing ReadTransaction
  ) throws {
    if changeSet.inserts.isEmpty { return }
    var keys = IndexKeyMaker(index: index, reader: reader)
    let inserts = changeSet.inserts
    changes.insertions.reserve(inserts.count)
    try inserts.withUnsafeBufferPointer { inserts in
      var (last, isCovered) = (-1, false)
      for place in inserts.indices {
        // Objects of one entity mostly come together.
        if inserts[place].entity != last {
          last = inserts[place].entity
          isCovered = covered.contains(last)
        }
        if !isCovered { continue }
        // `inserts` keeps the row alive: nothing to count for each of perhaps a million.
        if try keys.makeInline(inserts[place].row.base, inserts[place].entity, inserts[place].primaryKey) {
          keys.append(to: &changes.insertions)
          continue
        }
        let row = StoredRow(
          base: inserts[place].row.base, count: Int(inserts[place].row.count), entity: inserts[place].entity)
        try keys.make(row, inserts[place].primaryKey, externals: inserts[place].externals, transaction)
        keys.append(to: &changes.insertions)
      }
    }
  }

  /// The entries of replaced rows and of those that go.
  private func collectOld(
    _ index: IndexSchema, _ changes: IndexChanges, _ covered: SlotBitmap, _ late: SlotBitmap,
    _ transaction: borrowing ReadTransaction
  ) throws {
    var keys = IndexKeyMaker(index: index, reader: reader)
    var old = IndexKeyMaker(index: index, reader: reader)
    for place in changeSet.updates.indices {
      let change = changeSet.updates[place]
      if late.contains(change.entity) {
        try old.make(replaced[place], change.primaryKey, externals: [], transaction)
        old.append(to: &changes.removals)
        continue
      }
      guard covered.contains(change.entity) else { continue }
      guard change.changedSlots.intersects(index.slots) else { continue }
      try old.make(replaced[place], change.primaryKey, externals: [], transaction)
      try keys.make(change.storedRow, change.primaryKey, externals: change.externals, transaction)
      // Cut keys may be the same for different values: the constraint must be looked at again.
      if old.hasSameKey(as: keys) && !(keys.isTruncated && index.isUnique) { continue }
      old.append(to: &changes.removals)
      keys.append(to: &changes.insertions)
    }
    changes.removals.reserve(changes.removals.count + deleted.count)
    try deleted.withUnsafeBufferPointer { deleted in
      for place in deleted.indices {
        // The file's pages: by the time a row is needed it has arrived.
        if place + 4 < deleted.count { deleted[place + 4].row.prefetch() }
        let entity = deleted[place].row.entity
        guard covered.contains(entity) || late.contains(entity) else { continue }
        if try !old.makeInline(deleted[place].row.base, entity, deleted[place].key) {
          try old.make(deleted[place].row, deleted[place].key, externals: [], transaction)
        }
        old.append(to: &changes.removals)
      }
    }
  }
}
