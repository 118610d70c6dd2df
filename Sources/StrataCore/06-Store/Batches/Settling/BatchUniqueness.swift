import Foundation

/// Looks whether any two rows have the same values of a uniqueness constraint, once a batch update has written everything.
///
/// One pass over the constraint's index, which holds the values in order: rows with the same ones are neighbours. Memory for the keys of those
/// that are.
struct BatchUniqueness {
  private let index: IndexSchema
  private let writing: BatchWriting

  init(_ index: IndexSchema, _ writing: BatchWriting) {
    self.index = index
    self.writing = writing
  }

  /// - Throws: `UniquenessViolation` with the first hundred pairs.
  func check(_ transaction: borrowing ReadTransaction) throws {
    let indexes = writing.catalogue.indexes
    // One that is still growing has what the batch has written; the rest is found when it grows.
    guard indexes.isMaintained(index.number), let keyspace = indexes.keyspaces[index.number] else { return }
    var violations: [ConstraintViolation] = []
    try transaction.withCursor(keyspace) { cursor in
      var group: [UInt64] = []
      var value: [UInt8] = []
      var entry = try cursor.first()
      while let found = entry {
        try writing.look()
        let isSame = value.withUnsafeBytes { IndexEntries.isEntry(found.key, of: $0) }
        if !isSame {
          try compare(group, &violations, transaction)
          group.removeAll(keepingCapacity: true)
          value.removeAll(keepingCapacity: true)
          value.append(contentsOf: found.key.dropLast(8))
        }
        group.append(PrimaryKeyBytes.last(of: found.key))
        if violations.count >= Self.mostViolations { break }
        entry = try cursor.next()
      }
      try compare(group, &violations, transaction)
    }
    if !violations.isEmpty { throw UniquenessViolation(violations: violations) }
  }

  private static let mostViolations = 100

  /// Rows with the same key: whether they have the same values, none of them nil.
  private func compare(
    _ group: [UInt64], _ violations: inout [ConstraintViolation], _ transaction: borrowing ReadTransaction
  ) throws {
    if group.count < 2 { return }
    let owner = writing.parts.schema.entities[index.owner]
    var owners: [[AttributeValue]: UInt64] = [:]
    for key in group {
      let address = RowAddress(hierarchy: owner.hierarchyNumber, key: key)
      guard let row = try writing.row(address, transaction) else { continue }
      var values: [AttributeValue] = []
      for part in index.parts {
        values.append(
          try writing.reader.value(row, part.slot, primaryKey: key, externals: [], transaction))
      }
      // A key tells which of its parts are nil: the others of the group have nil there, too.
      if values.contains(where: \.isNull) { return }
      if let other = owners[values] {
        violations.append(
          ConstraintViolation(
            entity: row.entity, index: index.number, entityName: owner.name,
            constraint: index.parts.map { owner.attributes[$0.slot].name }, primaryKey: key,
            otherPrimaryKey: other, isInStore: false))
        if violations.count >= Self.mostViolations { return }
      } else {
        owners[values] = key
      }
    }
  }
}
