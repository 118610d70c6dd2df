import Foundation

extension ManagedObject {
  /// Traps for a derived attribute, which cannot be set.
  @inline(__always)
  final func requireSettable(_ slot: Int) {
    withHome { if $0.entity.baselineSlot != nil, $0.entity.derivedSlots.contains(slot) { trapDerived(slot) } }
  }

  @inline(never)
  private final func trapDerived(_ slot: Int) -> Never {
    trap(
      "\(home.token.entityName).\(home.entity.attributes[slot].name) is derived and cannot be set; set what it follows from."
    )
  }

  /// One failure for each derived attribute that was set all the same: typed accessors do not look, in an object that is being
  /// edited.
  final func derivedFailures() -> [CoreDataError] {
    guard home.entity.baselineSlot != nil, let draft else { return [] }
    var failures: [CoreDataError] = []
    draft.changed.intersection(home.entity.derivedSlots).forEach { slot in
      failures.append(
        failure(
          .managedObjectValidation, home.entity.attributes[slot].name, nil,
          "is derived and cannot be set; set what it follows from"))
    }
    return failures
  }
}

extension ManagedObjectContext {
  /// The objects show the values that the store has derived in a save of this context: those saved, and those of others that
  /// follow from them, which count as refreshed.
  func takeDerived(_ notice: CommitNotice) {
    guard parent == nil, let binding = coordinator.binding(notice.storeIndex) else { return }
    let tables = stores.tables(for: binding).tables
    for change in notice.derivedRows {
      guard let bound = binding.entities[change.entity] else { continue }
      noteRow(change.primaryKey, bound, \.refreshed)
      guard let object = tables[bound.hierarchyNumber].object(for: change.primaryKey),
        object.context === self,
        object.state.isDisjoint(with: [.rowGone, .unsavedRow]), let old = object.snapshot,
        old.base != change.row.base, old.version <= change.row.version
      else { continue }
      object.take(change.row)
      object.settleFastRow()
      if change.baseVersion == 0 || object.isFault || object.isMarkedDeleted { continue }
      // Of the objects that were saved more has changed.
      if !change.changedSlots.intersects(bound.persistentSlots) { changes.note(object, .refresh) }
    }
    take(notice.unsaidTouches, tables, binding)
  }

  /// Others had related these rows to something that this context has deleted, unknown to it: they count as refreshed.
  private func take(_ touches: [RowTouch], _ tables: [IdentityTable], _ binding: StoreBinding) {
    for entity in Set(touches.map(\.entity)) {
      for relationship in schema.entities[entity].relationships where relationship.isToMany {
        forgetMembers(of: relationship.number)
      }
    }
    for touch in touches {
      guard let bound = binding.entities[touch.entity] else { continue }
      noteRow(touch.primaryKey, bound, \.refreshed)
      guard let object = tables[bound.hierarchyNumber].object(for: touch.primaryKey), object.context === self,
        !object.isFault, !object.isMarkedDeleted
      else { continue }
      changes.note(object, .refresh)
    }
  }
}
