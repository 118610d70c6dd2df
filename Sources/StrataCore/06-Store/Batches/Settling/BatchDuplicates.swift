/// Rows of a batch insert that share the values of uniqueness constraints with records there are, or with each other: nothing was written.
package struct BatchDuplicates: Error, Sendable {
  /// Why a batch is refused.
  package enum Reason: Sendable {
    /// The rule is to refuse.
    case rule
    /// A row has values of several records, or would give one record the values of another.
    case severalRecords
    /// The record is of an entity that has no place for the row's values.
    case otherEntity
  }

  /// The records that have the values, too.
  package enum Other: Sendable, Hashable {
    /// An earlier row of the batch, by its place, from 0.
    case row(Int)
    /// A stored record: the number of its entity in the schema, and its key.
    case record(entity: Int, primaryKey: UInt64)
  }

  /// A row and one that has the same values.
  package struct Duplicate: Sendable {
    /// The row's place in the batch, from 0.
    package let row: Int
    /// The attributes of the constraint.
    package let constraint: [String]
    /// The values of these that are shared.
    package let values: [AttributeValue]
    /// The records that have them.
    package let other: Other

    package init(row: Int, constraint: [String], values: [AttributeValue], other: Other) {
      self.row = row
      self.constraint = constraint
      self.values = values
      self.other = other
    }
  }

  /// Why.
  package let reason: Reason
  /// Some of the rows, in their order: a hundred at most.
  package let duplicates: [Duplicate]

  package init(reason: Reason, duplicates: [Duplicate]) {
    self.reason = reason
    self.duplicates = duplicates
  }
}

extension [ConstraintViolation] {
  /// The records that a row of a batch has the values of, to which `given` values were given. Constraints of which it was given nothing
  /// count only where there is no other: it has their defaults.
  package func records(given: SlotBitmap, _ schema: Schema) -> [UInt64] {
    func keys(_ violations: some Sequence<ConstraintViolation>) -> [UInt64] {
      var result: [UInt64] = []
      for violation in violations where !result.contains(violation.otherPrimaryKey) {
        result.append(violation.otherPrimaryKey)
      }
      return result
    }
    let all = keys(self)
    if all.count < 2 { return all }
    let meant = keys(lazy.filter { schema.indexes[$0.index].slots.intersects(given) })
    return meant.count == 1 ? meant : all
  }
}

/// Says of which rows and records a refusal is.
struct BatchNaming {
  private let writing: BatchWriting
  private let entity: EntitySchema
  private static let most = 100

  /// `entity` is that of the batch's rows.
  init(_ writing: BatchWriting, _ entity: EntitySchema) {
    self.writing = writing
    self.entity = entity
  }

  /// What an insert under the rule to refuse says. All earlier chunks are written, row by row.
  func duplicates(
    _ violations: [ConstraintViolation], _ chunk: BatchChunk, _ transaction: borrowing ReadTransaction
  ) throws -> BatchDuplicates {
    let earlier = writing.outcome.inserted.lists[entity.number].prefix(chunk.start)
    var result: [BatchDuplicates.Duplicate] = []
    for violation in violations.prefix(Self.most) {
      guard let row = chunk.rows.firstIndex(where: { $0.primaryKey == violation.primaryKey }) else {
        continue
      }
      let other: BatchDuplicates.Other
      if let place = chunk.rows.firstIndex(where: { $0.primaryKey == violation.otherPrimaryKey }) {
        other = .row(chunk.start + place)
      } else if let place = earlier.firstIndex(of: violation.otherPrimaryKey) {
        other = .row(place)
      } else {
        other = try record(violation.otherPrimaryKey, transaction)
      }
      let shared = try values(of: violation, transaction) { _ in chunk.rows[row] }
      result.append(
        .init(row: chunk.start + row, constraint: violation.constraint, values: shared, other: other))
    }
    return BatchDuplicates(reason: .rule, duplicates: result.sorted { $0.row < $1.row })
  }

  /// The stored record of that key.
  func record(_ key: UInt64, _ transaction: borrowing ReadTransaction) throws -> BatchDuplicates.Other {
    let address = RowAddress(hierarchy: entity.hierarchyNumber, key: key)
    return .record(entity: try writing.row(address, transaction)?.entity ?? entity.number, primaryKey: key)
  }

  /// The values that a violation is about; `row` says which new row has one of them, nil when the record of key `violation.primaryKey`
  /// has it.
  func values(
    of violation: ConstraintViolation, _ transaction: borrowing ReadTransaction,
    _ row: (_ slot: Int) -> RowChange?
  ) throws -> [AttributeValue] {
    let address = RowAddress(hierarchy: entity.hierarchyNumber, key: violation.primaryKey)
    return try writing.parts.schema.indexes[violation.index].parts.map { part in
      if let row = row(part.slot) {
        return try writing.reader.value(
          row.storedRow, part.slot, primaryKey: row.primaryKey, externals: row.externals, transaction)
      }
      guard let stored = try writing.row(address, transaction) else { return .null }
      return try writing.reader.value(
        stored, part.slot, primaryKey: address.key, externals: [], transaction)
    }
  }
}
