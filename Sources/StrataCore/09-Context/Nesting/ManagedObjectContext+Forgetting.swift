extension ManagedObjectContext {
  /// The context was rolled back or reset: what children have saved to it is gone as well.
  func forgetStrata() {
    untold = UntoldRows()
    unpublished.removeAll()
    if strata.holdsEdits || strata.mustMerge { strata.removeAll() }
  }

  /// A new object is deleted again. Children see it until the event ends, as they see everything else of the event.
  ///
  /// - Parameter isPublishedAnew: It is not deleted, but gets another place, and is to be published there.
  func withdraw(_ object: ManagedObject, isPublishedAnew: Bool = false) {
    if !strata.holdsEdits { return }
    unpublished.withdrawn.insert(object.place)
    // Without children what has left the context is passed over.
    if strata.publishes, !isPublishedAnew { unpublished.remove(object) }
  }

  /// A merge policy has dropped what `object` was to be saved as: what was published of it does not count any more.
  func withdrawSaved(_ object: ManagedObject) {
    if saving.isFrozen, object.state.isDisjoint(with: .ownChange) { withdraw(object) }
  }

  /// What this context or its children have changed of one record is dropped.
  func forgetUnsaved(_ object: ManagedObject) {
    unpublished.remove(object)
    let place = object.place
    if strata.capture([CapturedRecord(nothingAt: place)], pending: pendingCount) { return }
    repeat { drainReceived() } while !strata.publish([(place.table, object.primaryKey, nil)])
  }

  /// Takes back what children have saved of the objects that are here.
  func rollBackReceived(_ sets: inout ObjectSets) {
    if strata.isEmpty { return }
    drainReceived()
    var received: [ManagedObject] = []
    stores.forEachLive { if !$0.state.isDisjoint(with: .received) { received.append($0) } }
    for object in received {
      let state = object.state
      let base = unsavedRow(for: object)?.row
      object.state.endReceived()
      if state.contains(.receivedInsert) {
        letGo(object, rowIsGone: true)
        sets.deleted.append(object)
        continue
      }
      guard let row = base?.base else {
        object.state.standOnStoredRow()
        object.turnIntoFault()
        sets.refreshed.append(object)
        continue
      }
      object.discardEdits(takingRow: row)
      object.settleBase(isStored: base?.isBaseStored ?? true)
      object.awake(fromSnapshotEvents: .rollback)
      if state.contains(.receivedDelete) {
        sets.inserted.append(object)
      } else {
        sets.refreshed.append(object)
      }
    }
  }
}
