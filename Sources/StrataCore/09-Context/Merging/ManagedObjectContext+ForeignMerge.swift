import Foundation

// What another process has committed, merged into a context. It comes as a batch does: which rows have changed, not what is in them
// now; those that are in the context are read, from the newest commit. When it is unknown which rows have changed, all objects in the
// context are looked at.

extension ManagedObjectContext {
  /// Merges another process's commit at once.
  func mergeForeign(_ notice: CommitNotice) {
    finishMergeBacklog()
    generation.advance()
    mergeBacklog.notices.append(notice)
    finishMergeBacklog()
  }

  /// Adds the objects that are in the context to a commit of which it is not known what it has changed. False when it is known.
  func suspectHeldObjects(_ notice: inout CommitNotice) -> Bool {
    guard var batch = notice.batch, !batch.uncertain.isEmpty,
      let store = stores.registered(notice.storeIndex)
    else { return false }
    batch.suspected = BatchKeys(entityCount: schema.entities.count)
    let uncertain = Set(batch.uncertain)
    for hierarchy in Set(uncertain.map { schema.entities[$0].hierarchyNumber }) {
      store.tables[hierarchy].forEach { object in
        guard let bound = object.boundReference?.takeUnretainedValue(),
          uncertain.contains(bound.entityNumber),
          !object.isMarkedInserted
        else { return }
        batch.suspected.append(object.objectID.primaryKey, of: bound.entityNumber)
      }
    }
    notice.batch = batch
    return true
  }

  /// Objects whose rows may have changed, or gone.
  func mergeSuspected(
    _ keys: ArraySlice<UInt64>, _ bound: BoundEntity, _ store: RegisteredStores.Registered,
    _ merged: inout MergedIdentifiers
  ) {
    for (key, row) in zip(keys, newestRows(keys, bound, store.binding)) {
      switch row {
      case .row(let row): mergeUpdate(key, ToldRow(row: row, isStored: true), bound, store, &merged)
      case .gone: mergeDelete(key, ofVersion: RowDeletion.anyVersion, bound, store, &merged)
      case .unreadable: mergeUnreadable(key, bound, store, &merged)
      }
    }
  }

  /// Rows that are as they were, with other relationships: their objects are reported as refreshed.
  func mergeRelated(
    _ keys: ArraySlice<UInt64>, _ bound: BoundEntity, _ store: RegisteredStores.Registered,
    _ merged: inout MergedIdentifiers
  ) {
    for key in keys {
      let id = ManagedObjectID(token: bound.token, primaryKey: key)
      merged.updated.insert(id)
      noteRow(key, bound, \.refreshed)
      guard let known = store.tables[bound.hierarchyNumber].object(for: key), !known.isFault,
        !known.isMarkedDeleted
      else { continue }
      merged.refreshed.insert(id)
      changes.note(known, .refresh)
    }
  }

  /// Relationships may have changed wherever the commit has changed rows: it is not known which of their properties.
  func forgetMembers(changedElsewhere batch: BatchChanges) {
    if schema.relationships.isEmpty { return }
    if !batch.uncertain.isEmpty { return forgetAllMembers() }
    for keys in [batch.inserted, batch.updated, batch.related, batch.deleted] {
      for (entity, list) in keys.lists.enumerated() where !list.isEmpty {
        forgetMembers(referredToBy: schema.entities[entity], nil)
        for relationship in schema.entities[entity].inbound { forgetMembers(of: relationship.number) }
      }
    }
  }
}
