import Foundation

extension ManagedObjectContext {
  /// Reads the rows of faults, all of one entity hierarchy and store with one request (rule 70). The objects stay faults, with
  /// their rows at hand.
  func fulfil(_ objects: [ManagedObject]) {
    var groups: [StratumLayer.Table: [ManagedObject]] = [:]
    // Mostly all are of one entity: neighbours of one table are put into their group together.
    var run: [ManagedObject] = []
    var tableOfRun: StratumLayer.Table?
    for object in objects where object.context === self && object.snapshot == nil && object.isFault {
      let table = object.withHome {
        StratumLayer.Table(storeIndex: $0.storeIndex, hierarchy: $0.hierarchyNumber)
      }
      if table != tableOfRun {
        if let tableOfRun { groups[tableOfRun, default: []] += run }
        run.removeAll(keepingCapacity: true)
        tableOfRun = table
      }
      run.append(object)
    }
    if let tableOfRun { groups[tableOfRun, default: []] += run }
    for (table, group) in groups {
      // Unsaved rows of contexts below come first; they are at hand.
      let isAlone = strata.isEmpty && ancestors.isEmpty
      let waiting =
        isAlone
        ? group
        : group.filter { object in
          guard let found = unsavedRow(for: object) else { return true }
          if found.row.row != nil { object.take(found.row, isOwn: found.isOwn) }
          return false
        }
      if !waiting.isEmpty { read(waiting, table) }
    }
  }

  private func read(_ unsorted: [ManagedObject], _ table: StratumLayer.Table) {
    guard let binding = coordinator.binding(table.storeIndex) else { return }
    // In the order of the keys one row is found beside the other.
    let keys = unsorted.indices.map { (key: unsorted[$0].primaryKey, place: $0) }.sorted { $0.key < $1.key }
    let objects = keys.map { unsorted[$0.place] }
    do {
      statistics.fetches += 1
      let rows = try reading(binding).rows(hierarchy: table.hierarchy, primaryKeys: keys.map(\.key))
      statistics.rowsRead += rows.count
      let readAt = SnapshotClock.now
      for (object, row) in zip(objects, rows) where row?.entity == object.home.entityNumber {
        object.takeStored(row?.snapshot, readAt: readAt)
      }
    } catch {
      report(error, reading: objects[0])
    }
  }

  /// Loads what `keyPaths` lead to from `objects`: one request per relationship on the way (rule 70), and one range scan per
  /// owner of a to-many relationship, all in one view of the store.
  ///
  /// - Returns: the objects that were loaded on the way.
  /// - Throws: `FetchError` for a key path that names no relationship.
  func prefetch(_ keyPaths: [String], of objects: [ManagedObject], _ entity: EntitySchema) throws
    -> [ManagedObject]
  {
    var loaded: [ManagedObject] = []
    for keyPath in keyPaths {
      var owners = objects
      var entity = entity
      for key in keyPath.split(separator: ".", omittingEmptySubsequences: false) {
        guard let slot = entity.slot(named: String(key)), let relationship = entity.relationship(slot: slot)
        else {
          throw FetchError(
            reason: .unknownKey, entityName: entity.name, key: String(key), part: .prefetchedKeyPath(keyPath))
        }
        owners = try prefetch(relationship, of: owners)
        loaded += owners
        entity = schema.entities[relationship.destination]
      }
    }
    return loaded
  }

  /// Loads one relationship of many objects and answers with the objects at its other end, each once.
  private func prefetch(_ relationship: RelationshipSchema, of owners: [ManagedObject]) throws
    -> [ManagedObject]
  {
    fulfil(owners.filter { $0.isFault && $0.snapshot == nil })
    if relationship.isToMany { try loadMembers(relationship, of: owners) }
    var seen = Set<ObjectIdentifier>()
    // A member has one owner at most: nobody can come up twice.
    let isDisjoint = relationship.isToMany && schema.inverse(of: relationship)?.isToMany == false
    var result: [ManagedObject] = []
    for owner in owners where !owner.state.contains(.rowGone) {
      // Looking at the row of a fault that is at hand wakes nobody.
      if isDisjoint {
        result += owner.members(relationship)
      } else if relationship.isToMany {
        for member in owner.members(relationship) where seen.insert(ObjectIdentifier(member)).inserted {
          result.append(member)
        }
      } else if let other = object(owner.unawakenedReference(relationship), inStore: owner.home.storeIndex),
        seen.insert(ObjectIdentifier(other)).inserted
      {
        result.append(other)
      }
    }
    fulfil(result.filter { $0.isFault && $0.snapshot == nil })
    return result
  }

  /// The members of many owners, read together where nothing unsaved lies in between.
  private func loadMembers(_ relationship: RelationshipSchema, of owners: [ManagedObject]) throws {
    flushAncestors()
    drainReceived()
    let epoch = epoch(of: relationship)
    guard strata.isEmpty, ancestors.isEmpty, !relationship.isOrdered, !relationship.isTransient else {
      return
    }
    let waiting = owners.filter {
      !$0.isInserted && ($0.relations?.known(relationship)?.isFault(epoch: epoch) ?? true)
    }
    for (index, group) in Dictionary(grouping: waiting, by: { $0.home.storeIndex }) {
      guard let binding = coordinator.binding(index) else { continue }
      statistics.fetches += 1
      let sorted = group.sorted { $0.primaryKey < $1.primaryKey }
      let found = try reading(binding).members(
        EdgeSet(relationship: relationship.number), of: sorted.map(\.primaryKey))
      for (owner, members) in zip(sorted, found) {
        owner.relationState(relationship).setBase(
          ContiguousArray(members.lazy.map { PlacedMember(position: 0, member: $0) }), epoch: epoch)
      }
    }
  }
}

extension ManagedObject {
  /// What the object refers to, read from the row of a fault without waking it.
  final func unawakenedReference(_ relationship: RelationshipSchema) -> UInt64 {
    if isFault, !relationship.isTransient, !hasDraft { return snapshot?.reference(relationship, home) ?? 0 }
    return reference(relationship)
  }
}
