import Foundation
import StrataCore

/// A batch insert: the rows, chunk by chunk, and what becomes of those that share the values of a constraint with others.
///
/// What comes of it is what comes of the rows one by one, in their order. Rows that have nothing in common go together; a row waits when an earlier one that is not
/// done has values in common with it, concerns the same record, or is what it refers to.
struct BatchInserting {
  /// A row on its way.
  private struct Row {
    var change: RowChange
    let given: SlotBitmap
    /// Its place in the batch.
    let place: Int
    var key: UInt64 { change.primaryKey }
  }

  private let writing: BatchWriting
  private let rows: BatchRows
  private let rule: DuplicateRule
  private let entity: EntitySchema
  private let indexes: [IndexSchema]
  /// The slots that a row replaces when it replaces all.
  private let slots: SlotBitmap
  /// Of to-one relationships to objects of the rows' own hierarchy.
  private let ownReferences: [Int]
  /// What rows refer to that have become another record, by the keys they have given up.
  private var successors: [UInt64: UInt64] = [:]
  /// What each row has become, by place; 0 for those that are left out.
  private var records: [UInt64]
  private var newKeys: Set<UInt64> = []
  private var updatedKeys: Set<UInt64> = []
  private var hasMetRecords = false

  private var schema: Schema { writing.schema }
  /// The most rows that a refusal names.
  private static let mostNamed = 100

  init(_ rows: BatchRows, _ rule: DuplicateRule, _ writing: BatchWriting) {
    self.rows = rows
    self.rule = rule
    self.writing = writing
    let schema = writing.schema
    let entity = schema.entities[rows.entity]
    self.entity = entity
    indexes = schema.indexes.filter {
      $0.isUnique && schema.entities[$0.owner].subtree.contains(entity.number)
    }
    var slots = SlotBitmap()
    for attribute in entity.attributes
    where !attribute.isTransient && attribute.slot != entity.baselineSlot
      && !entity.derivedSlots.contains(attribute.slot)
    {
      if writing.mapping.table(ofEntity: entity.number).column(entity.number, attribute.slot) != nil {
        slots.insert(attribute.slot)
      }
    }
    self.slots = slots
    ownReferences = entity.relationships.filter {
      !$0.isToMany && !$0.isTransient && $0.destinationHierarchy == entity.hierarchyNumber
    }.map(\.slot)
    records = rule == .refuse ? [] : [UInt64](repeating: 0, count: rows.count)
  }

  /// - Throws: `BatchDuplicates`, and what writing throws.
  mutating func run() throws {
    writing.progress.begin(total: rows.count)
    try requireNoPartners()
    try rows.forEachChunk { chunk in
      if rule == .refuse {
        try insert(chunk)
      } else {
        try settle(chunk)
      }
    }
    if hasMetRecords { noteRecords() }
    writing.progress.complete(rows.count)
  }

  private func requireNoPartners() throws {
    let relationships = entity.relationships.filter { relationship in
      !relationship.isToMany && !relationship.isTransient
        && relationship.inverse.map { !schema.relationships[$0].isToMany } ?? false
    }
    if relationships.isEmpty { return }
    try rows.forEachChunk { chunk in
      for row in chunk.rows {
        for relationship in relationships where row.row.reference(relationship.slot, of: entity) != 0 {
          throw CoreDataError(
            .persistentStoreUnsupportedRequestType,
            "Stores on PostgreSQL carry out no batch inserts that set one-to-one relationships, such as \(relationship.qualifiedName); insert the objects in a context and save it."
          )
        }
      }
    }
  }

  // MARK: Without duplicates

  private func insert(_ chunk: BatchChunk) throws {
    do {
      try writing.write(ChangeSet(inserts: chunk.rows))
    } catch let violation as UniquenessViolation {
      throw try duplicates(violation.violations, chunk)
    }
    for row in chunk.rows { writing.outcome.inserted.append(row.primaryKey, of: row.entity) }
  }

  private func duplicates(_ violations: [ConstraintViolation], _ chunk: BatchChunk) throws -> BatchDuplicates
  {
    let earlier = writing.outcome.inserted.lists[entity.number]
    var result: [BatchDuplicates.Duplicate] = []
    for violation in violations.prefix(Self.mostNamed) {
      guard let row = chunk.rows.firstIndex(where: { $0.primaryKey == violation.primaryKey }) else {
        continue
      }
      let other: BatchDuplicates.Other
      if let place = chunk.rows.firstIndex(where: { $0.primaryKey == violation.otherPrimaryKey }) {
        other = .row(chunk.start + place)
      } else if let place = earlier.firstIndex(of: violation.otherPrimaryKey) {
        other = .row(place)
      } else {
        other = try record(violation.otherPrimaryKey)
      }
      result.append(
        BatchDuplicates.Duplicate(
          row: chunk.start + row, constraint: violation.constraint,
          values: UniquenessQuestions.values(of: chunk.rows[row], schema.indexes[violation.index], schema)
            ?? [],
          other: other))
    }
    return BatchDuplicates(reason: .rule, duplicates: result.sorted { $0.row < $1.row })
  }

  private func record(_ key: UInt64) throws -> BatchDuplicates.Other {
    let row = try writing.reading.row(hierarchy: entity.hierarchyNumber, primaryKey: key)
    return .record(entity: row?.entity ?? entity.number, primaryKey: key)
  }

  // MARK: With duplicates

  private mutating func settle(_ chunk: BatchChunk) throws {
    var rest = chunk.rows.indices.map { place in
      Row(
        change: chunk.rows[place], given: rule == .update ? chunk.given[place] : slots,
        place: chunk.start + place)
    }
    var window = rest.count
    while !rest.isEmpty {
      let part = Array(rest.prefix(window))
      let left = try round(
        part.map { row in
          var row = row
          row.change = try redirected(row.change)
          return row
        })
      // Where little was done, fewer rows are looked at together.
      window = left.count * 2 > part.count ? max(16, part.count / 4) : max(16, window * 2)
      rest = left + rest.dropFirst(part.count)
    }
  }

  /// With which stored records rows have values in common, by the rows' keys.
  private func hits(_ rows: [Row]) throws -> [UInt64: [ConstraintViolation]] {
    let work = ChangeSetWork(
      ChangeSet(inserts: rows.map(\.change)), writing.mapping, looksForInserts: false)
    let questions = try UniquenessQuestions(work, writing.ask)
    let statements = try questions.statements()
    let violations = statements.isEmpty ? [] : try questions.violations(writing.ask(statements))
    return Dictionary(grouping: violations.filter(\.isInStore), by: \.primaryKey)
  }

  /// Does what can be done now; returns the rows that are left, in their order.
  private mutating func round(_ rows: [Row]) throws -> [Row] {
    let hits = try hits(rows)
    var seen: Set<[AttributeValue]> = []
    var claimed: Set<UInt64> = []
    // Rows that wait, that have become other records, and that are made in this round.
    var (waiting, met, made): (Set<UInt64>, Set<UInt64>, Set<UInt64>) = ([], [], [])
    var (inserts, later): ([Row], [Row]) = ([], [])
    var updates: [(row: Row, key: UInt64)] = []
    for row in rows {
      let targets = ownReferences.map {
        StoreReference.primaryKey(row.change.row.reference($0, of: entity))
      }
      var isWaiting = targets.contains { waiting.contains($0) || met.contains($0) }
      for index in indexes {
        guard let values = UniquenessQuestions.values(of: row.change, index, schema) else { continue }
        if !seen.insert([.integer(Int64(index.number))] + values).inserted { isWaiting = true }
      }
      let found = hits[row.key] ?? []
      let keys = found.records(given: row.given, schema)
      if !claimed.isDisjoint(with: keys) { isWaiting = true }
      // Updates are written before what is made.
      if !keys.isEmpty, targets.contains(where: made.contains) { isWaiting = true }
      claimed.formUnion(keys)
      if isWaiting {
        // The record that it waits for may come to have values of rows behind it: these wait, too.
        if rule != .keep, isPartial(row) {
          later += rows.drop { $0.place < row.place }
          break
        }
        waiting.insert(row.key)
        later.append(row)
      } else if keys.isEmpty {
        inserts.append(row)
        made.insert(row.key)
      } else {
        hasMetRecords = true
        met.insert(row.key)
        if rule == .keep {
          try giveUp(row, to: keys[0])
          continue
        }
        guard keys.count == 1 else { throw try refusal(.severalRecords, row, found) }
        updates.append((row, keys[0]))
        // Then it depends on the record's own values whether others are in the way: those behind it wait.
        if isPartial(row) {
          later += rows.drop { $0.place <= row.place }
          break
        }
      }
    }
    try update(updates)
    if !inserts.isEmpty {
      try writing.write(ChangeSet(inserts: inserts.map(\.change)))
      for row in inserts {
        writing.outcome.inserted.append(row.key, of: entity.number)
        records[row.place] = StoreReference.bits(
          row.key, entityCode: writing.mapping.codes[entity.number])
        newKeys.insert(row.key)
      }
    }
    return later
  }

  /// Whether only some of the values of a constraint come from the row, and the others are the record's.
  private func isPartial(_ row: Row) -> Bool {
    indexes.contains { index in
      let given = index.parts.count { row.given.contains($0.slot) }
      return given > 0 && given < index.parts.count
    }
  }

  private mutating func update(_ updates: [(row: Row, key: UInt64)]) throws {
    if updates.isEmpty { return }
    let stored = try writing.reading.rows(hierarchy: entity.hierarchyNumber, primaryKeys: updates.map(\.key))
    var set = ChangeSet()
    var known: [RowAddress: FetchedRow] = [:]
    for ((row, key), record) in zip(updates, stored) {
      guard let record else { throw SQLResult.damaged }
      guard entity.subtree.contains(record.entity) else {
        throw try refusal(.otherEntity, row, try hits([row])[row.key] ?? [])
      }
      try giveUp(row, to: key, entity: record.entity)
      let given = try redirected(row.change)
      var values: [(slot: Int, value: AttributeValue)] = []
      row.given.forEach { slot in
        if slots.contains(slot) { values.append((slot, value(of: given, slot))) }
      }
      guard let change = try writing.changed(record, values) else { continue }
      set.updates.append(change)
      known[RowAddress(hierarchy: entity.hierarchyNumber, key: key)] = record
      if !newKeys.contains(key), updatedKeys.insert(key).inserted {
        writing.outcome.updated.append(key, of: record.entity)
      }
    }
    if set.updates.isEmpty { return }
    do {
      try writing.write(set, known: known)
    } catch let violation as UniquenessViolation {
      throw try refusal(violation, updates)
    }
  }

  private func value(of change: RowChange, _ slot: Int) -> AttributeValue {
    change.value(slot, of: entity) ?? .null
  }

  // MARK: Rows that become other records

  /// A row does not become a record of its own, but is left out or becomes the one of that key.
  private mutating func giveUp(_ row: Row, to key: UInt64, entity known: Int? = nil) throws {
    var number = known ?? (newKeys.contains(key) ? entity.number : nil)
    if number == nil, !ownReferences.isEmpty {
      number = try writing.reading.row(hierarchy: entity.hierarchyNumber, primaryKey: key)?.entity
    }
    let reference = StoreReference.bits(key, entityCode: writing.mapping.codes[number ?? entity.number])
    if !ownReferences.isEmpty { successors[row.key] = reference }
    if rule != .keep { records[row.place] = reference }
  }

  /// References to rows that have become other records lead to these.
  private func redirected(_ change: RowChange) throws -> RowChange {
    if successors.isEmpty { return change }
    let values = ownReferences.compactMap { slot -> (slot: Int, value: AttributeValue)? in
      let reference = change.row.reference(slot, of: entity)
      guard reference != 0, let successor = successors[StoreReference.primaryKey(reference)] else {
        return nil
      }
      return (slot, .reference(successor))
    }
    return values.isEmpty ? change : try writing.recoded(change, values)
  }

  private func noteRecords() {
    var seen: Set<UInt64> = []
    writing.outcome.records = records.compactMap { bits in
      guard bits != 0, seen.insert(bits).inserted else { return nil }
      let key = StoreReference.primaryKey(bits)
      let number = try? writing.mapping.entity(code: Int64(StoreReference.entityCode(bits)))
      return BatchRecord(entity: number ?? entity.number, primaryKey: key, isNew: newKeys.contains(key))
    }
  }

  // MARK: Refusals

  private func other(_ key: UInt64) throws -> BatchDuplicates.Other {
    let bits = StoreReference.bits(key, entityCode: writing.mapping.codes[entity.number])
    if newKeys.contains(key), let place = records.firstIndex(of: bits) { return .row(place) }
    return try record(key)
  }

  private func refusal(_ reason: BatchDuplicates.Reason, _ row: Row, _ found: [ConstraintViolation]) throws
    -> BatchDuplicates
  {
    BatchDuplicates(
      reason: reason,
      duplicates: try found.map { violation in
        BatchDuplicates.Duplicate(
          row: row.place, constraint: violation.constraint,
          values: UniquenessQuestions.values(of: row.change, schema.indexes[violation.index], schema) ?? [],
          other: try other(violation.otherPrimaryKey))
      })
  }

  /// A record would come to have the values of another one.
  private func refusal(_ violation: UniquenessViolation, _ updates: [(row: Row, key: UInt64)]) throws
    -> any Error
  {
    let duplicates = try violation.violations.compactMap { violation -> BatchDuplicates.Duplicate? in
      guard let row = updates.first(where: { $0.key == violation.primaryKey })?.row else { return nil }
      let values = schema.indexes[violation.index].parts.map { value(of: row.change, $0.slot) }
      return BatchDuplicates.Duplicate(
        row: row.place, constraint: violation.constraint, values: values,
        other: try other(violation.otherPrimaryKey))
    }
    return duplicates.isEmpty
      ? violation : BatchDuplicates(reason: .severalRecords, duplicates: duplicates)
  }
}
