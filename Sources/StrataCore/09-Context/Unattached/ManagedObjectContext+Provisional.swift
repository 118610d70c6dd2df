import Synchronization

/// Objects that were inserted while no store was there for them.
///
///     insert ──▶ provisional ID, everything works but fetches and saves
///     a store is attached ──▶ at the context's next use the objects move there: their IDs change, once
///
/// An ID that was kept meanwhile then belongs to no object, as with Core Data's temporary IDs. While there are child contexts, which may have such IDs, the
/// objects wait until these are gone.
extension ManagedObjectContext {
  /// Gives provisional objects their places in the stores that have come.
  @inline(__always)
  func settleProvisional() {
    if provisional.hasObjects || awaitsProvisional.load(ordering: .acquiring) { moveProvisional() }
  }

  private func moveProvisional() {
    guard
      coordinator.storesGeneration != provisional.generation || awaitsProvisional.load(ordering: .acquiring),
      coordinator.hasStores, storedParent == nil, saving.flight == nil, !saving.isRunning, !hasChildren,
      let binding = coordinator.knownProvisional, let place = stores.registered(binding.index)
    else { return }
    drainReceived()
    // What children have saved becomes an edit of this context's own, which can move.
    for object in receivedObjects(.insert) where object.home.storeIndex == binding.index {
      object.claim()
    }
    var moving: [ManagedObject] = []
    var isWaiting = false
    for table in place.tables {
      table.forEach { object in
        if object.state.contains(.inserted), coordinator.home(forNew: object.home.entityNumber) != nil {
          moving.append(object)
        } else if object.state.contains(.inserted) {
          isWaiting = true
        }
      }
    }
    provisional.settle(generation: coordinator.storesGeneration, isWaiting: isWaiting)
    awaitsProvisional.store(false, ordering: .releasing)
    if moving.isEmpty { return }
    moving.sort { $0.primaryKey < $1.primaryKey }
    // What could be undone speaks of the old IDs.
    undoRecorder?.removeAll()
    var moved: [UInt64: ManagedObject] = [:]
    var identifiers: [ManagedObjectID: ManagedObject] = [:]
    for object in moving {
      moved[object.referenceBits] = object
      identifiers[object.objectID] = object
      withdraw(object)
      stores.table(for: object.home)?.remove(object.primaryKey)
    }
    for object in moving { bind(object, to: boundForNew(object.entity)) }
    for object in moving { object.replaceReferences { moved[$0] } }
    linkForeign(identifiers)
    unpublished.objects += moving
    // Without children the end of the event is early enough.
    if strata.publishes { publishEdits() }
  }

  /// Relationships with objects that have come to the same store meanwhile.
  private func linkForeign(_ identifiers: [ManagedObjectID: ManagedObject]) {
    for object in changes.inserted + changes.updated {
      for (slot, id) in object.relations?.foreign.all ?? [] {
        guard let other = identifiers[id] ?? registeredObject(for: id),
          let relationship = object.home.entity.relationship(slot: slot),
          other.home.storeIndex == object.home.storeIndex
        else { continue }
        object.relations?.foreign.remove(id, slot: slot)
        if relationship.isToMany {
          object.addMember(relationship, other)
        } else {
          object.setRelatedObject(relationship, other)
        }
      }
    }
  }

  private var hasChildren: Bool {
    strata.publishes && shared.withLock { $0.offspring.contains { $0.context != nil } }
  }

  /// Objects that have no store yet are to be saved: only a parent takes them.
  /// - Throws: `CoreDataError` 134070 with the remedy.
  func requireParentForProvisional() throws {
    guard let parent = storedParent else { throw withoutHome() }
    parent.awaitsProvisional.store(true, ordering: .releasing)
  }

  private func withoutHome() -> CoreDataError {
    let words =
      if !coordinator.hasStores {
        "No persistent store is loaded: add one to the coordinator, or wait for loadPersistentStores, before you save."
      } else if hasChildren {
        "Objects were inserted before a store was loaded, and there are child contexts that may know them by the IDs they have: let go of "
          + "the child contexts, then save again."
      } else {
        "Objects were inserted of entities that no writable store holds; add one to the coordinator before you save."
      }
    return CoreDataError(.persistentStoreOperation, words)
  }
}

extension ManagedObject {
  /// The object, and those it is related to, have moved to a store: `moved` answers who a reference led to before.
  final func replaceReferences(_ moved: (UInt64) -> ManagedObject?) {
    /// The new reference; nil for what stays, or is in another store now, which a relationship cannot lead to.
    func replacement(_ bits: UInt64, _ relationship: RelationshipSchema) -> UInt64? {
      guard let other = moved(bits) else { return bits }
      if other.home.storeIndex == home.storeIndex { return other.referenceBits }
      addForeign(relationship, other)
      return nil
    }
    for relationship in home.entity.relationships {
      let slot = relationship.slot
      if relationship.isToMany {
        relations?.known(relationship)?.replaceMembers { replacement($0, relationship) }
      } else if relationship.isTransient {
        guard let bits = transients?[slot] as? UInt64 else { continue }
        transients?[slot] = replacement(bits, relationship)
      } else if let draft, draft.isChanged(slot), case .reference(let bits) = draft[slot] {
        editableDraft()[slot] = replacement(bits, relationship).map { .reference($0) } ?? .null
      }
    }
  }
}
