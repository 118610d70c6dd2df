extension StoreChecker {
  /// Whether derived values are what follows from the rows and edges as they are. What cannot be read has been reported.
  mutating func checkDerived(_ transaction: borrowing ReadTransaction) throws {
    let schema = reader.parts.schema
    for hierarchy in schema.hierarchies
    where hierarchy.memberNumbers.contains(where: { schema.entities[$0].baselineSlot != nil }) {
      guard let keyspace = reader.parts.rows[hierarchy.number] else { continue }
      try transaction.forEach(in: keyspace) { found in
        if let key = PrimaryKeyBytes.whole(found.key),
          let row = try? reader.row(found.value, primaryKey: key, of: hierarchy.number)
        {
          try checkDerived(row, key, transaction)
        }
      }
    }
  }

  private mutating func checkDerived(
    _ row: StoredRow, _ key: UInt64, _ transaction: borrowing ReadTransaction
  ) throws {
    let values = DerivedValues(reader: reader, row: row, primaryKey: key, now: nil)
    let entity = reader.parts.schema.entities[row.entity]
    for derived in entity.derived {
      do {
        guard let expected = try values.value(of: derived, transaction) else { continue }
        let found = try reader.value(row, derived.slot, primaryKey: key, externals: [], transaction)
        if found == expected { continue }
        report(.derivedValueWrong, "\(entity.name).\(entity.attributes[derived.slot].name) p\(key)")
      } catch let error as StorageError where error.kind != .damaged {
        // What cannot be read now is not wrong.
        throw error
      } catch {
        report(.derivedValueWrong, "\(entity.name).\(entity.attributes[derived.slot].name) p\(key): \(error)")
      }
    }
  }
}
