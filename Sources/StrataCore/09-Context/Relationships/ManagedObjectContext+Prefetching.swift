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
    guard let binding = coordinator.binding(table.storeIndex) else {
      let ids = unsorted.map(\.objectID)
      return report(ReadFailure(ManagedObject.storeIsRemoved(ids[0]), ids))
    }
    // In the order of the keys one row is found beside the other.
    let keys = unsorted.indices.map { (key: unsorted[$0].primaryKey, place: $0) }.sorted { $0.key < $1.key }
    let objects = keys.map { unsorted[$0.place] }
    statistics.fetches += 1
    statistics.rowsRead += keys.count
    let store: any StoreReading
    do { store = try reading(binding) } catch { return report(ReadFailure(error, objects.map(\.objectID))) }
    let rows = readRows(
      keys.map(\.key), hierarchy: table.hierarchy, through: store, isFar: binding.isFar
    ) { objects[$0].objectID }
    let readAt = SnapshotClock.now
    for (object, found) in zip(objects, rows) {
      guard case .success(let row) = found, row?.entity == object.home.entityNumber else { continue }
      object.takeStored(row?.snapshot, readAt: readAt)
    }
    if Watching.concerns(.anyFault) { tellRowsRead(objects, rows) }
  }

  @inline(never)
  private func tellRowsRead(_ objects: [ManagedObject], _ rows: [Result<FetchedRow?, any Error>]) {
    let read = zip(objects, rows).filter { if case .success(.some) = $0.1 { true } else { false } }
    if let first = read.first { tellRowRead(first.0, count: read.count, isAlone: false) }
  }

  /// Reads rows together; one by one when that fails, since it may be for one of them. What cannot be read is reported, all of it at once. A store that is far
  /// and does not answer is not asked again for each.
  func readRows(
    _ keys: [UInt64], hierarchy: Int, through store: any StoreReading, isFar: Bool,
    identifier: (_ place: Int) -> ManagedObjectID
  ) -> [Result<FetchedRow?, any Error>] {
    do {
      return try store.rows(hierarchy: hierarchy, primaryKeys: keys).map { .success($0) }
    } catch {
      if isFar, (error as? StorageError)?.kind != .damaged {
        report(ReadFailure(error, keys.indices.map(identifier)))
        return keys.map { _ in .failure(error) }
      }
    }
    var first: (any Error)?
    var unreadable: [ManagedObjectID] = []
    let found = keys.indices.map { place in
      let row = Result { try store.row(hierarchy: hierarchy, primaryKey: keys[place]) }
      if case .failure(let error) = row {
        first = first ?? error
        unreadable.append(identifier(place))
      }
      return row
    }
    if let first { report(ReadFailure(first, unreadable)) }
    return found
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
          var error = FetchError(
            reason: .unknownKey, entityName: entity.name, key: String(key), part: .prefetchedKeyPath(keyPath))
          error.similarKey = SimilarNames.nearest(String(key), among: entity.relationships.map(\.name))
          throw error
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
    // A member has one owner at most: no member can occur twice.
    let isDisjoint = relationship.isToMany && schema.inverse(of: relationship)?.isToMany == false
    var result: [ManagedObject] = []
    for owner in owners where !owner.state.contains(.rowGone) {
      // Looking at the row of a fault that is at hand notifies no observer.
      if isDisjoint {
        result += owner.members(relationship, isAsked: false)
      } else if relationship.isToMany {
        for member in owner.members(relationship, isAsked: false)
        where seen.insert(ObjectIdentifier(member)).inserted {
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
    guard strata.isEmpty, ancestors.isEmpty, !relationship.isTransient else { return }
    let waiting = owners.filter {
      !$0.isMarkedInserted && ($0.relations?.known(relationship)?.isFault(epoch: epoch) ?? true)
    }
    for (index, group) in Dictionary(grouping: waiting, by: { $0.home.storeIndex }) {
      guard let binding = coordinator.binding(index), !relationship.isOrdered || binding.isFar else {
        continue
      }
      statistics.fetches += 1
      let sorted = group.sorted { $0.primaryKey < $1.primaryKey }
      let found = try reading(binding).members(of: relationship, owners: sorted.map(\.primaryKey))
      for (owner, members) in zip(sorted, found) {
        owner.relationState(relationship).setBase(members, epoch: epoch)
      }
      tellMembersRead(sorted[0], relationship, count: sorted.count, isAlone: false)
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
