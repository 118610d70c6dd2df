import Foundation

/// A batch insert whose rows may be there already: each becomes a new record, or changes the record that has its values, or is left out.
///
/// ```
///   rows ──▶ inserted together          when nothing has their values, which costs what any insert costs
///     └────▶ those with a record        the record gets what they were given, all of it, or nothing (`DuplicateRule`)
///            those with an earlier row  wait for it, and are looked at again
///            the others                 inserted
/// ```
///
/// What comes of it is what comes of the rows one by one, in their order. Rows wait when they have values in common with an earlier one that
/// is not done, or concern the same record; after some rounds those that are left go one by one.
///
/// A row that becomes a record there is gives its primary key up: references of later rows to it lead to the record.
struct BatchSettling {
  /// A row on its way.
  private struct Row {
    var change: RowChange
    let given: SlotBitmap
    /// Its place in the batch.
    let place: Int
  }

  /// Rows with the same values of an index, by the first one.
  private struct Twins: Hashable {
    let index: Int
    let first: UInt64
  }

  private let writing: BatchWriting
  private let rule: DuplicateRule
  private let entity: EntitySchema
  private let partnerships: BatchPartnerships
  private let total: Int
  /// The slots that a row replaces when it replaces all.
  private let slots: SlotBitmap
  /// The to-one relationships to objects of the rows' own hierarchy, and where their references are.
  private let ownReferences: [(slot: Int, entry: UInt32)]
  /// What rows refer to that have become another record, by the keys they have given up.
  private var successors: [UInt64: UInt64] = [:]
  /// References to the records that the rows have become, by their places; 0 for those that are left out. Empty until a row has met a record.
  private var records: [UInt64] = []
  /// The keys of the records that the batch has made, from then on.
  private var newKeys: Set<UInt64> = []
  /// Those of the others that it has changed.
  private var updatedKeys: Set<UInt64> = []

  private var schema: Schema { writing.parts.schema }

  /// How often rows that had to wait are looked at together.
  private static let mostRounds = 4

  init(
    _ rows: BatchRows, _ rule: DuplicateRule, _ partnerships: BatchPartnerships, _ writing: BatchWriting
  ) {
    self.writing = writing
    self.rule = rule
    self.partnerships = partnerships
    total = rows.count
    let entity = writing.parts.schema.entities[rows.entity]
    self.entity = entity
    var slots = rows.slots
    entity.derivedSlots.forEach { slots.remove($0) }
    if let baseline = entity.baselineSlot { slots.remove(baseline) }
    self.slots = slots
    ownReferences = entity.relationships.compactMap { relationship in
      guard !relationship.isToMany, !relationship.isTransient,
        relationship.destinationHierarchy == entity.hierarchyNumber
      else { return nil }
      return (relationship.slot, entity.layout.entry(of: relationship.slot))
    }
  }

  /// - Throws: `BatchDuplicates`, and what writing throws.
  mutating func add(_ chunk: BatchChunk, _ transaction: borrowing WriteTransaction) throws {
    var start = 0
    if partnerships.concern(chunk.rows) {
      for place in chunk.rows.indices where partnerships.hasPartner(chunk.rows[place]) {
        try addTogether(chunk, start..<place, transaction)
        try addAlone(row(place, of: chunk), transaction)
        start = place + 1
      }
    }
    try addTogether(chunk, start..<chunk.rows.count, transaction)
    writing.progress.complete(chunk.start + chunk.rows.count)
  }

  /// Tells what the rows have become.
  func finish() {
    if records.isEmpty { return }
    var seen: Set<UInt64> = []
    var result: [BatchRecord] = []
    for bits in records where bits != 0 && seen.insert(bits).inserted {
      let key = Reference.primaryKey(bits)
      let number = writing.catalogue.entity(code: Reference.entityCode(bits)) ?? entity.number
      result.append(BatchRecord(entity: number, primaryKey: key, isNew: newKeys.contains(key)))
    }
    writing.noteRecords(result)
  }

  private func row(_ place: Int, of chunk: BatchChunk) -> Row {
    Row(
      change: chunk.rows[place], given: rule == .update ? chunk.given[place] : slots,
      place: chunk.start + place)
  }

  // MARK: Together

  private mutating func addTogether(
    _ chunk: BatchChunk, _ range: Range<Int>, _ transaction: borrowing WriteTransaction
  ) throws {
    if range.isEmpty { return }
    var rows: [Row] = []
    var violations: [ConstraintViolation] = []
    if records.isEmpty {
      let all = range.count == chunk.rows.count ? chunk.rows : Array(chunk.rows[range])
      violations = try writing.insertUnlessViolated(all, transaction)
      if violations.isEmpty { return }
      beginSettling()
      rows = range.map { row($0, of: chunk) }
    } else {
      rows = range.map { row($0, of: chunk) }
      violations = try insert(&rows, transaction)
      if violations.isEmpty { return }
    }
    for _ in 0..<Self.mostRounds {
      rows = try settle(rows, violations, transaction)
      if rows.isEmpty { return }
      violations = try insert(&rows, transaction)
      if violations.isEmpty { return }
    }
    for row in rows { try addAlone(row, transaction) }
  }

  /// From now on it is written down what each row becomes. So far each has become a record of its own, in order.
  private mutating func beginSettling() {
    if !records.isEmpty { return }
    let inserted = writing.outcome.inserted.lists[entity.number]
    records = inserted.map(ownReference)
    records.append(contentsOf: repeatElement(0, count: total - inserted.count))
    newKeys = Set(inserted)
  }

  private func ownReference(_ key: UInt64) -> UInt64 {
    Reference.bits(key, entityCode: writing.catalogue.entityCodes[entity.number])
  }

  /// Inserts the rows, or says why they cannot be, which changes nothing but where their references lead.
  private mutating func insert(_ rows: inout [Row], _ transaction: borrowing WriteTransaction) throws
    -> [ConstraintViolation]
  {
    try redirect(&rows)
    let violations = try writing.insertUnlessViolated(rows.map(\.change), transaction)
    if violations.isEmpty { noteInserted(rows) }
    return violations
  }

  private mutating func noteInserted(_ rows: [Row]) {
    if records.isEmpty { return }
    for row in rows {
      records[row.place] = ownReference(row.change.primaryKey)
      newKeys.insert(row.change.primaryKey)
    }
  }

  /// Which rows have values in common with which.
  private struct Hits {
    /// With stored records, by the rows' numbers.
    var stored: [Int: [ConstraintViolation]] = [:]
    /// With other rows.
    var twins: [Int: Set<Twins>] = [:]

    init(_ rows: [Row], _ violations: [ConstraintViolation]) {
      var numbers: [UInt64: Int] = [:]
      numbers.reserveCapacity(rows.count)
      for (number, row) in rows.enumerated() { numbers[row.change.primaryKey] = number }
      for violation in violations {
        guard let number = numbers[violation.primaryKey] else { continue }
        if violation.isInStore {
          stored[number, default: []].append(violation)
          continue
        }
        let group = Twins(index: violation.index, first: violation.otherPrimaryKey)
        twins[number, default: []].insert(group)
        if let first = numbers[violation.otherPrimaryKey] { twins[first, default: []].insert(group) }
      }
    }
  }

  /// Does what can be done now; returns the rows that are left, in their order.
  private mutating func settle(
    _ rows: [Row], _ violations: [ConstraintViolation], _ transaction: borrowing WriteTransaction
  ) throws -> [Row] {
    let hits = Hits(rows, violations)
    if rule == .keep { return try leaveOut(rows, hits, transaction) }
    var (inserts, later): ([Row], [Row]) = ([], [])
    var updates: [(row: Row, key: UInt64)] = []
    var seen: Set<Twins> = []
    var claimed: Set<UInt64> = []
    for (number, row) in rows.enumerated() {
      let groups = hits.twins[number] ?? []
      let found = hits.stored[number] ?? []
      let keys = found.isEmpty ? [] : found.records(given: row.given, schema)
      let waits = !groups.isDisjoint(with: seen) || !claimed.isDisjoint(with: keys)
      seen.formUnion(groups)
      claimed.formUnion(keys)
      if waits {
        // The record that it waits for may come to have values of rows behind it.
        if isPartial(row) { return try addAlone(rows, transaction) }
        later.append(row)
      } else if keys.count > 1 {
        throw try refusal(.severalRecords, row, found, transaction.read)
      } else if let key = keys.first {
        try requirePlace(row, found, transaction.read)
        // Then it depends on the record's own values whether others are in the way.
        if try isPartial(row, key, transaction.read) { return try addAlone(rows, transaction) }
        updates.append((row, key))
      } else {
        inserts.append(row)
      }
    }
    try update(&updates, transaction)
    if try !insert(&inserts, transaction).isEmpty { later = (inserts + later).sorted { $0.place < $1.place } }
    return later
  }

  /// Under the rule to keep what there is: records do not change, so that all is known at once.
  private mutating func leaveOut(
    _ rows: [Row], _ hits: Hits, _ transaction: borrowing WriteTransaction
  ) throws -> [Row] {
    var owners: [Twins: UInt64] = [:]
    var inserts: [Row] = []
    for (number, row) in rows.enumerated() {
      let groups = hits.twins[number] ?? []
      if let found = hits.stored[number]?.first {
        try noteSuccessor(found.otherPrimaryKey, of: row, transaction.read)
      } else if let owner = groups.lazy.compactMap({ owners[$0] }).first {
        if !ownReferences.isEmpty { successors[row.change.primaryKey] = ownReference(owner) }
      } else {
        for group in groups { owners[group] = row.change.primaryKey }
        inserts.append(row)
      }
    }
    // What is left has values that no other record has.
    return try insert(&inserts, transaction).isEmpty ? [] : inserts
  }

  // MARK: One by one

  /// Adds them in their order; returns that none is left.
  private mutating func addAlone(_ rows: [Row], _ transaction: borrowing WriteTransaction) throws -> [Row] {
    for row in rows { try addAlone(row, transaction) }
    return []
  }

  private mutating func addAlone(_ row: Row, _ transaction: borrowing WriteTransaction) throws {
    var rows = [row]
    try redirect(&rows)
    let change = rows[0].change
    let hasPartner = partnerships.hasPartner(change)
    let found = try writing.insertUnlessViolated(
      [hasPartner ? partnerships.single(change) : change], transaction)
    if found.isEmpty {
      noteInserted(rows)
      if hasPartner { try partnerships.tie(change, transaction) }
      return
    }
    beginSettling()
    if rule == .keep {
      try noteSuccessor(found[0].otherPrimaryKey, of: row, transaction.read)
      return
    }
    let keys = found.records(given: rows[0].given, schema)
    guard keys.count == 1 else { throw try refusal(.severalRecords, row, found, transaction.read) }
    try requirePlace(rows[0], found, transaction.read)
    var updates = [(row: rows[0], key: keys[0])]
    try update(&updates, transaction)
  }

  // MARK: Records there are

  private func stored(_ key: UInt64, _ transaction: borrowing ReadTransaction) throws -> StoredRow {
    let address = RowAddress(hierarchy: entity.hierarchyNumber, key: key)
    guard let row = try writing.row(address, transaction) else {
      throw writing.parts.damaged(
        "An index of \(entity.name) leads to the row p\(key), which does not exist.")
    }
    return row
  }

  /// A record of a subentity has a place for all values of the row; another one has not.
  private func requirePlace(
    _ row: Row, _ found: [ConstraintViolation], _ transaction: borrowing ReadTransaction
  ) throws {
    for key in found.records(given: row.given, schema)
    where !entity.subtree.contains(try stored(key, transaction).entity) {
      throw try refusal(.otherEntity, row, found, transaction)
    }
  }

  /// Whether only some of the values of a constraint come from the row, and the others are the record's.
  private func isPartial(_ row: Row, _ key: UInt64, _ transaction: borrowing ReadTransaction) throws -> Bool {
    isPartial(row, try stored(key, transaction).entity)
  }

  /// The same for whatever record it will be.
  private func isPartial(_ row: Row) -> Bool { entity.subtree.contains { isPartial(row, $0) } }

  private func isPartial(_ row: Row, _ number: Int) -> Bool {
    schema.entities[number].indexes.contains { index in
      index.isUnique && index.slots.intersects(row.given)
        && index.slots.intersection(row.given) != index.slots
    }
  }

  private mutating func update(
    _ updates: inout [(row: Row, key: UInt64)], _ transaction: borrowing WriteTransaction
  ) throws {
    if updates.isEmpty { return }
    for (row, key) in updates {
      records[row.place] = try noteSuccessor(key, of: row, transaction.read)
    }
    do {
      for (row, key) in updates {
        var rows = [row]
        try redirect(&rows)
        try update(rows[0], key, transaction)
      }
      try writing.flush(transaction)
    } catch let violation as UniquenessViolation {
      throw try refusal(violation, updates, transaction.read)
    }
  }

  private mutating func update(_ row: Row, _ key: UInt64, _ transaction: borrowing WriteTransaction) throws {
    let address = RowAddress(hierarchy: entity.hierarchyNumber, key: key)
    if writing.isWaiting(address) { try writing.flush(transaction) }
    var record = try stored(key, transaction.read)
    let draft = RowDraft.make(schema.entities[record.entity].layout)
    let given = row.change.storedRow
    try row.given.forEach { slot in
      if !slots.contains(slot) { return }
      let value = try writing.reader.value(
        given, slot, primaryKey: row.change.primaryKey, externals: row.change.externals, transaction.read)
      let old = try writing.reader.value(record, slot, primaryKey: key, externals: [], transaction.read)
      if value != old { draft[slot] = value }
    }
    let changed = draft.changed
    if changed.isEmpty { return }
    if !newKeys.contains(key), updatedKeys.insert(key).inserted {
      writing.noteUpdated(key, of: record.entity)
    }
    for relationship in partnerships.relationships where changed.contains(relationship.slot) {
      var reference: UInt64 = 0
      if case .reference(let bits) = draft[relationship.slot] { reference = bits }
      try BatchPartners(writing, relationship).tie(key, entity: record.entity, to: reference, transaction)
      // Others have changed along with it, the record perhaps among them.
      if writing.isWaiting(address) { try writing.flush(transaction) }
    }
    record = try stored(key, transaction.read)
    try writing.update(record, key, draft, changed, transaction)
  }

  // MARK: References

  /// A row does not become a record of its own, but the one of that key; returns the reference to it.
  @discardableResult
  private mutating func noteSuccessor(
    _ key: UInt64, of row: Row, _ transaction: borrowing ReadTransaction
  ) throws -> UInt64 {
    let entity =
      newKeys.contains(key) ? self.entity.number : try stored(key, transaction).entity
    let reference = Reference.bits(key, entityCode: writing.catalogue.entityCodes[entity])
    if !ownReferences.isEmpty { successors[row.change.primaryKey] = reference }
    return reference
  }

  /// References to rows that have become other records lead to these.
  private func redirect(_ rows: inout [Row]) throws {
    if successors.isEmpty { return }
    for number in rows.indices {
      var draft: RowDraft?
      for (slot, entry) in ownReferences {
        let reference = RowBytes.reference(rows[number].change.row.base, entry)
        guard reference != 0, let successor = successors[Reference.primaryKey(reference)] else { continue }
        let redirected = draft ?? RowDraft.make(entity.layout)
        redirected[slot] = .reference(successor)
        draft = redirected
      }
      if let draft { rows[number].change = try writing.recoded(rows[number].change, draft) }
    }
  }

  // MARK: Refusals

  private func refusal(
    _ reason: BatchDuplicates.Reason, _ row: Row, _ found: [ConstraintViolation],
    _ transaction: borrowing ReadTransaction
  ) throws -> BatchDuplicates {
    let naming = BatchNaming(writing, entity)
    return BatchDuplicates(
      reason: reason,
      duplicates: try found.map { violation in
        BatchDuplicates.Duplicate(
          row: row.place, constraint: violation.constraint,
          values: try naming.values(of: violation, transaction) { _ in row.change },
          other: try other(violation.otherPrimaryKey, transaction))
      })
  }

  /// A record would come to have the values of another one.
  private func refusal(
    _ violation: UniquenessViolation, _ updates: [(row: Row, key: UInt64)],
    _ transaction: borrowing ReadTransaction
  ) throws -> any Error {
    let naming = BatchNaming(writing, entity)
    var duplicates: [BatchDuplicates.Duplicate] = []
    for violation in violation.violations {
      guard let row = updates.first(where: { $0.key == violation.primaryKey })?.row else { continue }
      duplicates.append(
        BatchDuplicates.Duplicate(
          row: row.place, constraint: violation.constraint,
          values: try naming.values(of: violation, transaction) {
            row.given.contains($0) ? row.change : nil
          },
          other: try other(violation.otherPrimaryKey, transaction)))
    }
    return duplicates.isEmpty
      ? violation : BatchDuplicates(reason: .severalRecords, duplicates: duplicates)
  }

  private func other(_ key: UInt64, _ transaction: borrowing ReadTransaction) throws -> BatchDuplicates.Other
  {
    if newKeys.contains(key), let place = records.firstIndex(of: ownReference(key)) { return .row(place) }
    return try BatchNaming(writing, entity).record(key, transaction)
  }
}
