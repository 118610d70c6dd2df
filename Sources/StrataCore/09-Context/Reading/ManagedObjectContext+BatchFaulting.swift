import Foundation

// Over a store to which each question is a way there and back, faults are filled together: those that came with the one that fires, by one fetch or as
// members of one owner; or what those refer to that came with the one which leads to it.

extension ManagedObjectContext {
  /// Objects of a far store have come together.
  @inline(never)
  func noteTogether(_ objects: [ManagedObject], isPart: Bool = false) {
    let faulting = batchFaulting ?? BatchFaulting()
    batchFaulting = faulting
    faulting.note(objects, isPart: isPart)
  }

  // MARK: Rows

  /// A fault that may be filled ahead: its object, or nil for one that has none yet.
  private struct Companion {
    let key: UInt64
    let object: ManagedObject?
  }

  /// The row of a fault; those of others that will probably fire next come with it, and stay with their objects.
  /// - Throws: what the store throws for the row itself.
  func readTogether(_ object: ManagedObject, _ binding: StoreBinding) throws -> FetchedRow? {
    let hierarchy = object.home.hierarchyNumber
    let store = try reading(binding)
    // Companions of an object that a save reads anew stay what the pinned generation shows.
    let companions = saving.readsNewest ? [] : batchFaulting.map { self.companions(of: object, $0) } ?? []
    if companions.isEmpty {
      let row = try store.row(hierarchy: hierarchy, primaryKey: object.primaryKey)
      if row != nil { tellRowRead(object, isAlone: true) }
      return row
    }
    let rows: [FetchedRow?]
    do {
      rows = try store.rows(
        hierarchy: hierarchy, primaryKeys: [object.primaryKey] + companions.map(\.key))
    } catch let error as StorageError where error.kind == .damaged {
      // It may be another one that cannot be read.
      let row = try store.row(hierarchy: hierarchy, primaryKey: object.primaryKey)
      if row != nil { tellRowRead(object, isAlone: true) }
      return row
    }
    statistics.rowsRead += companions.count
    take(rows.dropFirst(), companions, binding, hierarchy)
    let count = rows.reduce(0) { $1 == nil ? $0 : $0 + 1 }
    if count > 0 { tellRowRead(object, count: count, isAlone: false) }
    return rows[0]
  }

  private func take(
    _ rows: ArraySlice<FetchedRow?>, _ companions: [Companion], _ binding: StoreBinding, _ hierarchy: Int
  ) {
    let readAt = SnapshotClock.now
    let table = stores.tables(for: binding).tables[hierarchy]
    var (made, all): ([ManagedObject], [ManagedObject]) = ([], [])
    for (companion, row) in zip(companions, rows) {
      guard let row, let bound = binding.entities[row.entity] else { continue }
      if let object = companion.object {
        guard object.home.entityNumber == row.entity else { continue }
        object.takeStored(row.snapshot, readAt: readAt)
        all.append(object)
      } else if !table.contains(companion.key) {
        let object = makeObject(companion.key, row.snapshot, bound, table)
        object.readAt = readAt
        made.append(object)
        all.append(object)
      }
    }
    batchFaulting?.hold(made)
    // What these lead to will be wanted together, too.
    if !made.isEmpty { batchFaulting?.note(all, isPart: true) }
  }

  private func companions(of object: ManagedObject, _ faulting: BatchFaulting) -> [Companion] {
    let table = BatchFaulting.table(object)
    var companions: [Companion] = []
    faulting.forEachCompanion(object.primaryKey, table) { key in
      if let other = waiting(key, table, with: object) {
        companions.append(Companion(key: key, object: other))
      }
      return companions.count < BatchFaulting.most - 1
    }
    if companions.isEmpty { addTargets(of: object, table, faulting, &companions) }
    return companions
  }

  /// The fault of that key, when its row is not at hand and is the store's. One that is deleted is wanted with another one that is: what both lead to is
  /// looked at when deletions are propagated.
  private func waiting(_ key: UInt64, _ table: StratumLayer.Table, with asked: ManagedObject)
    -> ManagedObject?
  {
    guard let object = stores.registered(table.storeIndex)?.tables[table.hierarchy].object(for: key),
      object.isFault, object.snapshot == nil, !object.hasDraft,
      !object.isMarkedDeleted || asked.isMarkedDeleted,
      object.state.isDisjoint(with: [.inserted, .rowGone]), unsavedRow(for: object) == nil
    else { return nil }
    return object
  }

  /// What those refer to, through the same relationship, that came with one that refers to `object`.
  private func addTargets(
    of object: ManagedObject, _ table: StratumLayer.Table, _ faulting: BatchFaulting,
    _ companions: inout [Companion]
  ) {
    var relationship: RelationshipSchema?
    var seen: Set<UInt64> = [object.primaryKey]
    func source(_ origin: StratumLayer.Table, _ key: UInt64) -> ManagedObject? {
      guard origin.storeIndex == table.storeIndex,
        let source = stores.registered(origin.storeIndex)?.tables[origin.hierarchy].object(for: key),
        source.snapshot != nil, !(source.isFault && source.hasDraft)
      else { return nil }
      return source
    }
    faulting.forEachBehindSource { origin, key in
      guard let source = source(origin, key) else { return false }
      relationship = source.home.entity.relationships.first { relationship in
        !relationship.isToMany && !relationship.isTransient
          && relationship.destinationHierarchy == table.hierarchy
          && Reference.primaryKey(source.unawakenedReference(relationship)) == object.primaryKey
      }
      return relationship != nil
    } _: { origin, key in
      guard let relationship, let source = source(origin, key),
        source.home.entity.relationship(slot: relationship.slot)?.number == relationship.number
      else { return true }
      let target = Reference.primaryKey(source.unawakenedReference(relationship))
      guard target != 0, seen.insert(target).inserted else { return true }
      let known = stores.registered(table.storeIndex)?.tables[table.hierarchy].object(for: target)
      if known == nil, unsavedRow(table, target) == nil {
        companions.append(Companion(key: target, object: nil))
      } else if let other = waiting(target, table, with: object) {
        companions.append(Companion(key: target, object: other))
      }
      return companions.count < BatchFaulting.most - 1
    }
  }

  // MARK: Members

  /// The members of an owner's relationship; those of owners that came with it, and whose members are not known, come with them. Of owners that are deleted
  /// with an owner that is: a save that deletes many looks at the members of each.
  /// - Parameter isPlain: Whether nothing unsaved has a say in the members of an owner.
  /// - Throws: what the store throws.
  func membersTogether(
    _ owner: ManagedObject, _ relationship: RelationshipSchema, through store: any StoreReading,
    isPlain: (ManagedObject) -> Bool
  ) throws -> ContiguousArray<PlacedMember> {
    let epoch = epoch(of: relationship)
    let table = BatchFaulting.table(owner)
    var owners: [ManagedObject] = []
    let most = saving.readsNewest ? 1 : batchFaulting?.ownerCount(relationship.number) ?? 1
    batchFaulting?.forEachCompanion(owner.primaryKey, table) { key in
      if owners.count >= most - 1 { return false }
      if let other = stores.registered(table.storeIndex)?.tables[table.hierarchy].object(for: key),
        other.state.isDisjoint(with: [.inserted, .rowGone]),
        !other.isMarkedDeleted || owner.isMarkedDeleted,
        other.home.entity.relationship(slot: relationship.slot)?.number == relationship.number,
        other.relations?.known(relationship)?.isFault(epoch: epoch) ?? true, isPlain(other)
      {
        owners.append(other)
      }
      return true
    }
    let keys = [owner.primaryKey] + owners.map(\.primaryKey)
    let lists = try store.members(of: relationship, owners: keys)
    batchFaulting?.noteMembers(
      lists.reduce(0) { $0 + $1.count }, ofOwners: lists.count, relationship.number)
    for (other, members) in zip(owners, lists.dropFirst()) {
      other.relationState(relationship).setBase(members, epoch: epoch)
    }
    tellMembersRead(owner, relationship, count: keys.count, isAlone: keys.count == 1)
    return lists[0]
  }

  // MARK: Deleting

  /// Whether one of the objects is of a far store.
  func isAnyFar(_ objects: [ManagedObject]) -> Bool {
    var seen: Set<Int> = []
    return objects.contains { object in
      guard object.context === self else { return false }
      let index = object.home.storeIndex
      return seen.insert(index).inserted && coordinator.binding(index)?.isFar == true
    }
  }

  /// Objects are deleted together: those of a far store are asked about together.
  func noteDeletedTogether(_ objects: ArraySlice<ManagedObject>) {
    let far = objects.filter { object in
      object.context === self && coordinator.binding(object.home.storeIndex)?.isFar == true
    }
    if far.count < 2 { return }
    for group in Dictionary(grouping: far, by: BatchFaulting.table).values {
      noteTogether(group, isPart: true)
    }
  }

  /// The members without rows of deleted owners that came with `owner`, where the members are known: their rows are wanted next. None but over a far store.
  /// - Parameter most: So many are asked for anyway.
  func faultsBehind(_ owner: ManagedObject, _ relationship: RelationshipSchema, most asked: Int)
    -> [ManagedObject]
  {
    guard let batchFaulting, owner.isMarkedDeleted, !saving.readsNewest,
      coordinator.binding(owner.home.storeIndex)?.isFar == true
    else { return [] }
    let epoch = epoch(of: relationship)
    let table = BatchFaulting.table(owner)
    var owners: [ManagedObject] = []
    batchFaulting.forEachCompanion(owner.primaryKey, table) { key in
      if let other = stores.registered(table.storeIndex)?.tables[table.hierarchy].object(for: key),
        other.isMarkedDeleted, other.state.isDisjoint(with: [.inserted, .rowGone]),
        other.home.entity.relationship(slot: relationship.slot)?.number == relationship.number,
        let known = other.relations?.known(relationship), !known.isFault(epoch: epoch)
      {
        owners.append(other)
      }
      return owners.count < BatchFaulting.most
    }
    var faults: [ManagedObject] = []
    for other in owners where asked + faults.count < BatchFaulting.most {
      for member in other.members(relationship, isAsked: false)
      where !member.isMarkedDeleted && member.isFault && member.snapshot == nil {
        faults.append(member)
      }
    }
    batchFaulting.hold(faults)
    return faults
  }

  // MARK: Merging

  /// Reads the rows that a merge will look at, in one request for each table of a far store, for the length of `body`.
  func readingAhead(
    _ identifiers: [ManagedObjectID], ofUnknownRecords: Bool = false, _ body: () -> Void
  ) {
    var keys: [StratumLayer.Table: (binding: StoreBinding, keys: [UInt64])] = [:]
    for id in identifiers {
      guard let place = locate(id), place.store.isFar else { continue }
      let known = stores.tables(for: place.store).tables[place.bound.hierarchyNumber].object(
        for: id.primaryKey)
      if known == nil, !ofUnknownRecords { continue }
      let table = StratumLayer.Table(storeIndex: place.store.index, hierarchy: place.bound.hierarchyNumber)
      // Layers below are looked at before the store: what they have is not read ahead (contexts 4).
      if known?.state.contains(.unsavedRow) == true || unsavedRow(table, id.primaryKey) != nil { continue }
      keys[table, default: (place.store, [])].keys.append(id.primaryKey)
    }
    if keys.isEmpty { return body() }
    let faulting = batchFaulting ?? BatchFaulting()
    batchFaulting = faulting
    for (table, asked) in keys {
      do {
        let rows = try newest(asked.binding).rows(hierarchy: table.hierarchy, primaryKeys: asked.keys)
        for (key, row) in zip(asked.keys, rows) {
          faulting.rowsAhead[BatchFaulting.RowAddress(table: table, key: key)] = .success(row)
        }
      } catch let error as StorageError where error.kind == .damaged {
        // Then they are read one by one, and those that cannot be are reported.
        continue
      } catch {
        // A server that does not answer is not asked for each of them.
        for key in asked.keys {
          faulting.rowsAhead[BatchFaulting.RowAddress(table: table, key: key)] = .failure(error)
        }
      }
    }
    body()
    faulting.rowsAhead = [:]
  }
}
