/// Which rows a change set inserts, updates and deletes, by hierarchy and in order of their keys.
struct ChangedRows {
  /// By hierarchy: references to the rows that are new.
  private(set) var inserts: [ContiguousArray<UInt64>]
  /// By hierarchy: references to the rows that go and were there.
  private(set) var deletes: [ContiguousArray<UInt64>]
  /// By hierarchy: references to the rows that are replaced.
  private(set) var updates: [ContiguousArray<UInt64>]
  /// By hierarchy: their places among the updates of the change set.
  private(set) var updatePlaces: [ContiguousArray<Int>]

  init(_ writer: ChangeSetWriter) {
    let schema = writer.parts.schema
    let codes = writer.catalogue.entityCodes
    let empty = [ContiguousArray<UInt64>](repeating: [], count: schema.hierarchies.count)
    (inserts, deletes, updates) = (empty, empty, empty)
    updatePlaces = empty.map { _ in [] }
    writer.changeSet.inserts.withUnsafeBufferPointer { changes in
      var place = 0
      while place < changes.count {
        // Runs of one entity: it is looked up once for each.
        let entity = changes[place].entity
        let hierarchy = writer.hierarchy(ofEntity: entity)
        while place < changes.count, changes[place].entity == entity {
          inserts[hierarchy].append(Reference.bits(changes[place].primaryKey, entityCode: codes[entity]))
          place += 1
        }
      }
    }
    for (key, row) in writer.deleted {
      deletes[writer.hierarchy(ofEntity: row.entity)].append(
        Reference.bits(key, entityCode: codes[row.entity]))
    }
    for (place, change) in writer.changeSet.updates.enumerated() {
      let hierarchy = writer.hierarchy(ofEntity: change.entity)
      updates[hierarchy].append(Reference.bits(change.primaryKey, entityCode: codes[change.entity]))
      updatePlaces[hierarchy].append(place)
    }
    for hierarchy in empty.indices {
      Self.sort(&inserts[hierarchy])
      Self.sort(&deletes[hierarchy])
      if Self.isSorted(updates[hierarchy]) { continue }
      let order = updates[hierarchy].indices.sorted { updates[hierarchy][$0] < updates[hierarchy][$1] }
      updates[hierarchy] = ContiguousArray(order.map { updates[hierarchy][$0] })
      updatePlaces[hierarchy] = ContiguousArray(order.map { updatePlaces[hierarchy][$0] })
    }
  }

  private static func sort(_ references: inout ContiguousArray<UInt64>) {
    if !isSorted(references) { references.sort() }
  }

  private static func isSorted(_ references: ContiguousArray<UInt64>) -> Bool {
    references.withUnsafeBufferPointer { references in
      for place in references.indices.dropFirst() where references[place] < references[place - 1] {
        return false
      }
      return true
    }
  }
}

/// Finds primary keys among sorted references: one step each when asked in ascending order and close together.
struct ReferenceFinder {
  let references: ContiguousArray<UInt64>
  /// The first place that may hold the next key.
  private(set) var place = 0

  init(_ references: ContiguousArray<UInt64>) { self.references = references }

  /// The reference with that key; nil when there is none.
  @inline(__always)
  mutating func find(_ key: UInt64) -> UInt64? {
    if references.isEmpty { return nil }
    advance(to: key)
    guard place < references.count, Reference.primaryKey(references[place]) == key else { return nil }
    return references[place]
  }

  /// Goes to the first reference whose key is not below `key`, backwards too: in steps that double, then by halves.
  @inline(__always)
  mutating func advance(to key: UInt64) {
    let wanted = Reference.bits(key, entityCode: 0)
    references.withUnsafeBufferPointer { references in
      var low = place
      if low > 0, references[low - 1] >= wanted { low = 0 }
      var step = 1
      var high = low
      while high < references.count, references[high] < wanted {
        low = high + 1
        high += step
        step *= 2
      }
      high = min(high, references.count)
      place = (low..<high).partitioningIndex { references[$0] >= wanted }
    }
  }
}
