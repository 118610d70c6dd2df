import Foundation

extension ManagedObjectContext {
  // MARK: Asking the merge policy

  /// Asks the merge policy about everything that refused one attempt of a save, together, and brings the context in line with what it
  /// has done. The save is tried again afterwards.
  /// - Parameter runsHooks: Whether `willSave()` is called on what is left. An attempt that begins with all hooks needs none here.
  func settle(_ conflicts: [Any], runsHooks: Bool = true) throws {
    if conflicts.isEmpty { return }
    statistics.conflicts += conflicts.count
    defer { note(conflicts) }
    let scope = ThreadScope.current
    scope.beginSettling(self)
    defer { scope.endSettling() }
    try askPolicy(conflicts)
    let constraints = conflicts.compactMap { $0 as? ConstraintConflict }
    if constraints.isEmpty {
      if runsHooks { try prepareWhatPolicyInserted() }
      return
    }
    // What children have saved and the policy has edited is no longer handed on as they left it.
    if !saving.frozenRows.isEmpty { saving.frozenRows.removeAll(where: isOwnEdit) }
    let settled = changes.noted
    processPendingChanges()
    settleDeletions()
    saving.lastInserted = nil
    let concerned =
      constraints.flatMap { $0.conflictingObjects + [$0.databaseObject].compactMap { $0 } } + settled
    // What is left is about to be saved: it is told so, again perhaps (rules 135, 137).
    var seen = Set<ObjectIdentifier>()
    let pending = concerned.filter {
      $0.context === self && $0.isMarkedChanged && seen.insert(ObjectIdentifier($0)).inserted
    }
    let changed = runsHooks ? try runWillSave(on: pending) : []
    // What hooks have deleted.
    settleDeletions()
    undoRecorder?.endEvent()
    try validate(concerned + changed)
  }

  /// What a merge policy has inserted to settle conflicts of rows is saved as well, and was not there when the save called hooks and validated.
  func prepareWhatPolicyInserted() throws {
    let new = changes.noted.filter { $0.state.contains(.inserted) }
    if new.isEmpty { return }
    processPendingChanges()
    settleDeletions()
    saving.lastInserted = nil
    let changed = try runWillSave(on: new)
    settleDeletions()
    undoRecorder?.endEvent()
    try validate(new + changed)
  }

  /// Objects may have more members, or other values, than when the save validated them.
  private func validate(_ objects: [ManagedObject]) throws {
    var seen = Set<ObjectIdentifier>()
    for object in objects where object.context === self && seen.insert(ObjectIdentifier(object)).inserted {
      if object.isMarkedInserted {
        try object.validateForInsert()
      } else if object.isMarkedDeleted {
        if !object.state.contains(.rowGone) { try object.validateForDelete() }
      } else if object.isMarkedUpdated {
        try object.validateForUpdate()
      }
    }
  }

  /// A duplicate leaves the context: as a new object that is deleted again, but without its delete rules, since its ties have been
  /// moved.
  func takeOutDuplicate(_ object: ManagedObject) {
    if !saving.lostVersions.isEmpty { saving.lostVersions[object.objectID] = nil }
    if strata.publishes { duplicates.absorbed.append((object.home, object.primaryKey)) }
    let withdrawn = deletions.withdrawn
    takeOut(object)
    // References to it lead on to what it has become.
    deletions.withdrawn = withdrawn
    changes.noteBack(object.place)
  }

  /// Tells children what a save has written, and which records that they may know it has not.
  func tellChildren(_ notices: [CommitNotice]) {
    var notices = notices
    let absorbed = duplicates.takeAbsorbed()
    if !absorbed.isEmpty {
      // An object that came back by an undo is there again.
      let gone = absorbed.filter { stores.table(for: $0.home)?.object(for: $0.primaryKey) == nil }
      for (store, gone) in Dictionary(grouping: gone, by: \.home.storeIndex) {
        let deletions = gone.map {
          RowDeletion(entity: $0.home.entityNumber, primaryKey: $0.primaryKey, baseVersion: 1)
        }
        notices.append(
          CommitNotice(
            storeIndex: store, commitNumber: 0, origin: ObjectIdentifier(self),
            changes: ChangeSet(deletes: deletions)))
      }
    }
    if !notices.isEmpty { children.tell(notices) }
  }

  // MARK: Conflicts from a refusal

  /// The conflicts that a store's refusal stands for; empty when they have settled themselves meanwhile.
  ///
  /// Reads the stored rows in one pass. What only children have changed becomes objects here.
  /// - Throws: `CoreDataError` 133021 when the refusal is just the one that was settled before; `StorageError`.
  func makeConstraintConflicts(_ refusal: UniquenessViolation, in binding: StoreBinding) throws
    -> [ConstraintConflict]
  {
    let groups = ViolationGroups(refusal.violations, schema)
    let conflicts = makeConflicts(groups, try storedObjects(groups.stored, in: binding), in: binding)
    // The object in the way has gone meanwhile.
    if conflicts.isEmpty { return [] }
    if saving.unsettled[binding.index] == refusal.violations {
      throw CoreDataError.unresolved(conflicts, "The merge policy has left them as they were.")
    }
    saving.unsettled[binding.index] = refusal.violations
    return conflicts
  }

  /// The conflicts of unsaved objects among each other, and with `stored` ones.
  func makeConflicts(
    _ groups: ViolationGroups, _ stored: [RowAddress: (object: ManagedObject, row: RowSnapshot)],
    in binding: StoreBinding
  ) -> [ConstraintConflict] {
    let pending = pendingObjects(groups.pending(in: binding.index), in: binding)
    var conflicts: [ConstraintConflict] = []
    for group in groups.twins {
      let objects = group.members.compactMap {
        pending[
          StratumLayer.Place(
            table: .init(storeIndex: binding.index, hierarchy: group.hierarchy), primaryKey: $0)]
      }
      let alive = objects.filter { $0.context === self && !$0.isMarkedDeleted }
      if alive.count > 1 { conflicts.append(makeConflict(group.constraint, alive, nil)) }
    }
    for violation in groups.withStored {
      let hierarchy = schema.entities[violation.entity].hierarchyNumber
      let table = StratumLayer.Table(storeIndex: binding.index, hierarchy: hierarchy)
      guard let object = pending[StratumLayer.Place(table: table, primaryKey: violation.primaryKey)],
        object.context === self, !object.isMarkedDeleted,
        let other = stored[RowAddress(hierarchy: hierarchy, key: violation.otherPrimaryKey)]
      else { continue }
      conflicts.append(makeConflict(violation.constraint, [object], other))
    }
    return conflicts
  }

  private func makeConflict(
    _ constraint: [String], _ objects: [ManagedObject], _ stored: (object: ManagedObject, row: RowSnapshot)?
  ) -> ConstraintConflict {
    ConstraintConflict(
      constraint: constraint, database: stored?.object,
      databaseSnapshot: stored.map { $0.object.dictionary(of: $0.row) }, conflicting: objects,
      conflictingSnapshots: objects.map { object in
        object.isMarkedInserted ? nil : object.snapshot.map { object.dictionary(of: $0) }
      })
  }

  /// The objects of unsaved records, in one pass over what children have saved.
  func pendingObjects(_ places: Set<StratumLayer.Place>, in binding: StoreBinding) -> [StratumLayer
    .Place:
    ManagedObject]
  {
    let tables = stores.tables(for: binding).tables
    var result: [StratumLayer.Place: ManagedObject] = [:]
    var received: [StratumLayer.Place: StratumRow] = [:]
    var missing: Set<StratumLayer.Place> = []
    for place in places {
      let known = tables[place.table.hierarchy].object(for: place.primaryKey)
      if let known, known.state.isDisjoint(with: .received) {
        result[place] = known
      } else {
        missing.insert(place)
        // After a save off the queue everything is pending again.
        if saving.frozenRows.isEmpty { received[place] = strata.row(place.table, place.primaryKey) }
      }
    }
    if missing.isEmpty { return result }
    for row in saving.frozenRows {
      let place = row.place
      if missing.contains(place) { received[place] = row }
    }
    for (place, row) in received {
      guard let object = object(for: row, isOwn: true) else { continue }
      object.claim(row, from: binding)
      result[place] = object
    }
    saving.frozenRows.removeAll { received[$0.place] != nil }
    return result
  }

  /// The objects of stored records with their newest rows; those that are gone by now are left out.
  private func storedObjects(_ addresses: Set<RowAddress>, in binding: StoreBinding) throws -> [RowAddress: (
    object: ManagedObject, row: RowSnapshot
  )] {
    var result: [RowAddress: (object: ManagedObject, row: RowSnapshot)] = [:]
    for (hierarchy, addresses) in Dictionary(grouping: addresses, by: \.hierarchy) {
      let rows = try newest(binding).rows(hierarchy: hierarchy, primaryKeys: addresses.map(\.key).sorted())
      for case let row? in rows {
        guard let snapshot = row.snapshot, let object = storedObject(row, in: binding) else { continue }
        result[RowAddress(hierarchy: hierarchy, key: row.primaryKey)] = (object, snapshot)
      }
    }
    return result
  }

  // MARK: References without inverse

  /// What only children have saved and refers to something that `isGone`, by a relationship without inverse, becomes an edit here.
  func claimReferrers(_ owners: SlotBitmap, _ relationships: [RelationshipSchema], isGone: (UInt64) -> Bool) {
    if strata.isEmpty { return }
    let rows = saving.frozenRows.isEmpty ? receivedRows(in: strata.top) : saving.frozenRows
    for row in rows where owners.contains(row.bound.entityNumber) && row.kind != .delete {
      guard let binding = coordinator.binding(row.bound.storeIndex) else { continue }
      let refers = relationships.contains { relationship in
        guard row.bound.entity.relationship(slot: relationship.slot) === relationship else { return false }
        if !relationship.isToMany {
          return !relationship.isTransient && isGone(row.row?.reference(relationship, row.bound) ?? 0)
        }
        return row.edges[relationship.number]?.contains { isGone($0.key) } ?? false
      }
      if refers, !isOwnEdit(row) { object(for: row, isOwn: true)?.claim(row, from: binding) }
    }
  }
}

/// The violations that a store reports, pair by pair, as conflicts: which objects are in conflict about which values.
///
/// A constraint that extends another one (its attributes are among them) is not reported again for the same records (rule 206).
struct ViolationGroups {
  /// Records of the save with the same values.
  struct Twins {
    let index: Int
    let hierarchy: Int
    let constraint: [String]
    var members: [UInt64]
  }

  private struct Member: Hashable {
    let index: Int
    let key: UInt64
  }

  private(set) var twins: [Twins] = []
  private(set) var withStored: [ConstraintViolation] = []
  private let schema: Schema

  init(_ violations: [ConstraintViolation], _ schema: Schema) {
    self.schema = schema
    var places: [Member: Int] = [:]
    for violation in violations where !violation.isInStore {
      let (mine, other) = (
        Member(index: violation.index, key: violation.primaryKey),
        Member(index: violation.index, key: violation.otherPrimaryKey)
      )
      let place = places[other] ?? twins.count
      if place == twins.count {
        twins.append(
          Twins(
            index: violation.index, hierarchy: schema.entities[violation.entity].hierarchyNumber,
            constraint: violation.constraint, members: [violation.otherPrimaryKey]))
      }
      twins[place].members.append(violation.primaryKey)
      (places[other], places[mine]) = (place, place)
    }
    withStored = violations.filter(\.isInStore)
    leaveOutExtended(places)
  }

  /// Constraints, by index number, all of whose attributes `index` has as well.
  private func narrower(than index: Int, among numbers: Set<Int>) -> [Int] {
    let mine = schema.indexes[index]
    return numbers.filter { number in
      let other = schema.indexes[number]
      guard number != index, other.slots.intersection(mine.slots) == other.slots,
        schema.entities[other.owner].hierarchyNumber == schema.entities[mine.owner].hierarchyNumber
      else { return false }
      // Of two with the same attributes the one that is inherited counts.
      return other.slots != mine.slots || schema.entities[other.owner].subtree.contains(mine.owner)
    }
  }

  private mutating func leaveOutExtended(_ places: [Member: Int]) {
    let numbers = Set(twins.map(\.index) + withStored.map(\.index))
    if numbers.count < 2 { return }
    var narrower: [Int: [Int]] = [:]
    for number in numbers { narrower[number] = self.narrower(than: number, among: numbers) }
    twins = twins.filter { group in
      !(narrower[group.index] ?? []).contains { number in
        let others = Set(group.members.map { places[Member(index: number, key: $0)] })
        return others.count == 1 && others.first != .some(nil)
      }
    }
    let pairs = Set(withStored.map { Pair($0.index, $0) })
    withStored = withStored.filter { violation in
      !(narrower[violation.index] ?? []).contains { pairs.contains(Pair($0, violation)) }
    }
  }

  private struct Pair: Hashable {
    let index: Int
    let key: UInt64
    let other: UInt64

    init(_ index: Int, _ violation: ConstraintViolation) {
      self.index = index
      key = violation.primaryKey
      other = violation.otherPrimaryKey
    }
  }

  /// All records of the save that are concerned.
  func pending(in store: Int) -> Set<StratumLayer.Place> {
    var result: Set<StratumLayer.Place> = []
    func add(_ hierarchy: Int, _ key: UInt64) {
      result.insert(.init(table: .init(storeIndex: store, hierarchy: hierarchy), primaryKey: key))
    }
    for group in twins { for key in group.members { add(group.hierarchy, key) } }
    for violation in withStored {
      add(schema.entities[violation.entity].hierarchyNumber, violation.primaryKey)
    }
    return result
  }

  /// All stored records that are concerned.
  var stored: Set<RowAddress> {
    Set(
      withStored.map {
        RowAddress(hierarchy: schema.entities[$0.entity].hierarchyNumber, key: $0.otherPrimaryKey)
      })
  }
}
