import Dispatch
import Foundation

extension ManagedObjectContext {
  /// Runs `save` with everything that children have saved so far frozen: what they save meanwhile lies above it and is not
  /// part of it.
  func saveFrozen(_ save: () throws -> SaveOutcome) throws -> SaveOutcome {
    let isCaptured = strata.publishes
    // What hooks have deleted again is not saved.
    publishEdits()
    // willSave() and validation may have taken time: what children have saved since takes part.
    saving.frozenRows = receivedRows(in: freezeStrata())
    defer { saving.frozenRows = [] }
    do {
      let outcome = try save()
      if !isCaptured {
        saving.leaveUncaptured()
        // Saved now.
        unpublished.removeAll()
      }
      return outcome
    } catch {
      saving.thaw()
      saving.stopWriting()
      thawStrata(without: saving.takeSettled())
      publishEdits()
      tellObservers()
      throw error
    }
  }

  /// Freezes what is published and what children have saved, all of which the objects show by then.
  func freezeStrata() -> StratumLayer {
    while true {
      drainReceived()
      if let layer = strata.freeze() {
        saving.freeze()
        return layer
      }
    }
  }

  /// Hands the changes of this context to its parent as one layer (rules 149–151). Waits for no queue.
  func handToParent() throws -> SaveOutcome {
    if checksUniquenessAtParent { try throwingFailures { try checkUniqueness() } }
    for _ in 0..<Self.mostAttempts {
      do {
        return try handOver()
      } catch let conflict as ParentConflict {
        try throwingFailures { try settle(conflict) }
      }
    }
    throw CoreDataError(
      .persistentStoreSaveConflicts,
      "Others changed the same records of the parent \(Self.mostAttempts) times while this save was being merged."
    )
  }

  private func handOver() throws -> SaveOutcome {
    let saves = try throwingFailures { try makePendingSaves() }
    var rows: [StratumRow] = []
    var objects: [ManagedObject?] = []
    for save in saves {
      let made = try throwingFailures { try save.stratumRows() }
      rows += made.rows
      objects += made.objects
    }
    var outcome = SaveOutcome()
    if !rows.isEmpty { saving.watch?.attempts += 1 }
    let dropped = try makeDelivery().hand(rows)
    for save in saves { save.adoptUnsaved(into: &outcome) }
    outcome.notices = notices(of: rows.without(dropped))
    outcome.dropped = dropped.filter { objects[$0] == nil }.map { rows[$0] }
    let gone = Set(dropped.compactMap { objects[$0] })
    if !gone.isEmpty {
      // The parent has deleted what was edited here: it stays deleted (rule 169).
      outcome.inserted.removeAll(where: gone.contains)
      outcome.updated.removeAll(where: gone.contains)
      for object in gone where !object.isMarkedDeleted { dropVanished(object) }
    }
    return outcome
  }

  /// What it takes to give rows to the parent, on any thread.
  func makeDelivery() -> Delivery {
    guard let parent, let strata = ancestors.first else {
      trap("a context without a parent saves to its coordinator")
    }
    saving.noteHandingDown()
    return Delivery(
      parent: parent, strata: strata, coordinator: coordinator, outlived: deletions.outlived,
      findConflicts: detectsConflictsWithParent ? { @Sendable in try self.findConflicts($0, in: $1) } : nil)
  }

  /// What was frozen is pending again, but for what was written although the save as a whole failed.
  ///
  /// - Returns: the objects of what children had saved and was written.
  @discardableResult
  func thawStrata(without settled: SettledRows) -> SaveOutcome {
    strata.thaw(without: settled.own + settled.received.map(\.unsaved.place), rebasing: movedOntoFound)
    var outcome = SaveOutcome()
    settle(settled.received, into: &outcome)
    letGo(deleted: outcome.deleted)
    return outcome
  }

  /// A part of the save that is under way is written, and the rest of it waits: `own` and what children had saved of it lie further down now. The objects of the latter
  /// show it as saved.
  func settleWritten(_ own: [ManagedObject], into outcome: inout SaveOutcome) {
    let received = outcome.received
    outcome.received = []
    let places = received.map(\.unsaved.place)
    strata.settle(own.map(\.place) + places, rebasing: movedOntoFound)
    if received.isEmpty { return }
    let written = Set(places)
    saving.frozenRows.removeAll { written.contains($0.place) }
    settle(received, into: &outcome)
  }

  /// What this save changed, for children that merge it.
  func notices(of rows: [StratumRow]) -> [CommitNotice] {
    var changes: [Int: ChangeSet] = [:]
    for row in rows {
      let index = row.bound.storeIndex
      switch row.kind {
      case .delete:
        changes[index, default: ChangeSet()].deletes.append(
          RowDeletion(
            entity: row.bound.entityNumber, primaryKey: row.primaryKey, baseVersion: row.base?.version ?? .max
          ))
      case .insert, .update:
        guard let bytes = row.row else { continue }
        let change = RowChange(
          entity: row.bound.entityNumber, primaryKey: row.primaryKey, baseVersion: row.base?.version ?? 0,
          row: bytes,
          externals: [], changedSlots: row.changedSlots)
        if row.kind == .insert {
          changes[index, default: ChangeSet()].inserts.append(change)
        } else {
          changes[index, default: ChangeSet()].updates.append(change)
        }
      }
    }
    return changes.sorted { $0.key < $1.key }.map {
      CommitNotice(storeIndex: $0.key, commitNumber: 0, origin: ObjectIdentifier(self), changes: $0.value)
    }
  }

  /// A save has handed down what children had saved: the objects that are here show it as saved, and the layer goes.
  func settleReceived(_ outcome: inout SaveOutcome) {
    if saving.isFrozen { strata.drop { parent == nil ? movedOntoFound($0) : $0 } }
    if saving.leavesUncaptured, !strata.isEmpty {
      // The first child came while the save was under way, and what it saved is based on what was there before.
      strata.rebaseAll(movedOntoFound)
    }
    saving.settle()
    settle(outcome.received, into: &outcome)
  }

  /// The objects of rows that children had saved, and that were handed down, show them as saved.
  private func settle(_ received: [(unsaved: StratumRow, row: RowSnapshot?)], into outcome: inout SaveOutcome)
  {
    let dropped = Set(outcome.dropped.map(ObjectIdentifier.init))
    for (unsaved, row) in received {
      if !dropped.isEmpty, dropped.contains(ObjectIdentifier(unsaved)) {
        settle(dropped: unsaved)
        continue
      }
      // Children may have changed the record again since.
      let newest = strata.row(unsaved.table, unsaved.primaryKey) ?? unsaved
      guard let object = object(for: newest, isOwn: true) else { continue }
      if newest !== unsaved, object.shows(aLaterSaveThan: unsaved) {
        switch unsaved.kind {
        case .insert: outcome.inserted.append(object)
        case .update: outcome.updated.append(object)
        case .delete: break
        }
        continue
      }
      object.state.endReceived()
      if unsaved.kind == .delete {
        object.state.endFlyingDelete()
        if object.state.contains(.inserted) {
          // A child has taken the deletion back, and the record was edited since: it is written again.
          saving.lostVersions[object.objectID] = unsaved.base?.version
          continue
        }
        changes.undelete(object)
        changes.unupdate(object)
        outcome.deleted.append(object)
        continue
      }
      if object.snapshot?.base == unsaved.row?.base { object.take(row) }
      object.state.standOnStoredRow()
      if parent != nil {
        object.settleBase(isStored: false)
        object.keepUnsavedValues(of: unsaved)
      }
      object.settleFastRow()
      if unsaved.kind == .insert { outcome.inserted.append(object) } else { outcome.updated.append(object) }
    }
  }

  /// What a child had saved of a record that the parent has deleted: an object that shows it goes, as one that was edited here does (rule 169).
  private func settle(dropped unsaved: StratumRow) {
    // What children have changed of it since, the next save finds out.
    guard strata.row(unsaved.table, unsaved.primaryKey) == nil,
      let binding = coordinator.binding(unsaved.bound.storeIndex),
      let object = known(
        unsaved.primaryKey, as: unsaved.bound,
        in: stores.tables(for: binding).tables[unsaved.bound.hierarchyNumber])
    else { return }
    object.state.endReceived()
    if object.state.isDisjoint(with: .ownChange) { dropVanished(object) }
  }

  /// A change that a child laid over a row on its way down, as a change of the row that is found below now.
  private func movedOntoFound(_ change: StratumRow) -> StratumRow {
    guard let binding = coordinator.binding(change.bound.storeIndex),
      let found = try? rowBeneath(change)
    else { return change }
    // What cannot be read or encoded now stays as it is: the next save meets the store's own row and asks the merge policy.
    let moved = try? change.moved(
      onto: found.familiar, isStored: found.isStored, keeping: found.externals, in: binding)
    return moved ?? change
  }

  /// The object of a row that a store refuses to overwrite; one that only children have changed becomes an object here, so
  /// that a merge policy can settle it.
  func objectInConflict(_ row: RowConflict, _ binding: StoreBinding, _ table: IdentityTable) -> ManagedObject?
  {
    let place = StratumLayer.Table(storeIndex: binding.index, hierarchy: row.hierarchy)
    let known = table.object(for: row.primaryKey)
    if let known, known.state.isDisjoint(with: .received) { return known }
    let index = saving.frozenRows.firstIndex { $0.primaryKey == row.primaryKey && $0.table == place }
    // After a save off the queue everything is pending again.
    guard let unsaved = index.map({ saving.frozenRows[$0] }) ?? strata.row(place, row.primaryKey),
      let object = known ?? object(for: unsaved, isOwn: true)
    else { return nil }
    object.claim(unsaved, from: binding)
    if let index { saving.frozenRows.remove(at: index) }
    return object
  }
}

/// How a child's rows get to its parent.
struct Delivery: Sendable {
  let parent: ManagedObjectContext
  /// The parent's layers, as long as it stays on the coordinator.
  let strata: Strata
  let coordinator: PersistentStoreCoordinator
  /// Records that count as deleted here although the parent has them not any more.
  let outlived: Set<StratumLayer.Place>
  let findConflicts: (@Sendable ([StratumRow], [StratumRow?]) throws -> Void)?

  /// Gives `rows` to the parent as one layer, which merges them when its queue gets to it; returns the places of those that the parent
  /// has deleted.
  ///
  /// - Throws: `ParentConflict`; why the parent cannot read or encode a record; `CoreDataError` 134060 when it has left the coordinator.
  func hand(_ rows: [StratumRow]) throws -> [Int] {
    if rows.isEmpty { return [] }
    let dropped = try strata.receive(
      rows, store: { coordinator.binding($0) },
      beneath: { change in
        let place = change.place
        return try parent.rowBeneath(change) ?? (outlived.contains(place) ? change.rowThatWas : nil)
      },
      inspect: findConflicts.map { find in { try find(rows, $0) } })
    guard let dropped else {
      throw CoreDataError(
        .coreData,
        "\(parent.description), the parent of the context that saves, has been taken off the coordinator that both were over: nothing was saved. "
          + "Make a new context over that coordinator, or a new child."
      )
    }
    parent.scheduleMerge()
    return dropped
  }
}

extension [StratumRow] {
  /// The rows but those at `places`.
  func without(_ places: [Int]) -> [StratumRow] {
    if places.isEmpty { return self }
    let places = Set(places)
    return indices.lazy.filter { !places.contains($0) }.map { self[$0] }
  }
}

extension StratumRow {
  /// What was beneath when the change was made, for a change that is to meet its absence in the store.
  var rowThatWas: RowBeneath? {
    base.map { RowBeneath(row: $0, isStored: true, isForeign: true, isLost: true) }
  }
}
