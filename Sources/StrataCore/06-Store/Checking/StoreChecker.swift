import Foundation

/// Reads everything a store holds, in one view of it, and compares.
///
/// Takes one pass over the rows per index; a second one, and memory for the keys of that index, where it is unique, incomplete, or does not
/// agree with the rows. Relationships: see `EdgeChecker`.
struct StoreChecker {
  let reader: RowReader
  private(set) var result = StoreCheck()
  /// The large values that rows refer to, with their lengths.
  private var references: [LargeValueKey: UInt64] = [:]
  /// By hierarchy: references to its rows; filled when there are relationships.
  private var rows: [ContiguousArray<UInt64>]
  private var parts: StoreParts { reader.parts }
  private var catalogue: StoreCatalogue { reader.catalogue }

  init(reader: RowReader) {
    self.reader = reader
    rows = reader.parts.schema.hierarchies.map { _ in [] }
  }

  mutating func run(_ transaction: borrowing ReadTransaction) throws {
    for hierarchy in parts.schema.hierarchies {
      try checkRows(hierarchy, transaction)
    }
    for index in catalogue.indexes.maintained { try checkIndex(index, transaction) }
    try checkLargeValues(transaction)
    try checkEdges(transaction)
    if parts.schema.derivedSources != nil { try checkDerived(transaction) }
    try checkJournal(transaction)
    try checkHistory(transaction)
    checkCatalogue()
  }

  /// `place` is made for problems only: most entries have none.
  mutating func report(_ kind: StoreCheck.Problem.Kind, _ place: @autoclosure () -> String) {
    if result.problems.count < StoreCheck.maximumProblemCount {
      result.problems.append(StoreCheck.Problem(kind: kind, place: place()))
    }
  }

  /// Every entry is of a commit that has happened, and can be read.
  private mutating func checkJournal(_ transaction: borrowing ReadTransaction) throws {
    guard let journal = parts.journal else { return }
    // Whatever the stamp's identity: a salvaged store takes over that of the old one before it is checked.
    let newest = CommitStamp(try parts.meta.bytes("stamp", transaction))?.commitNumber ?? 0
    try transaction.forEach(in: journal.keyspace) { found in
      let number = PrimaryKeyBytes.whole(found.key)
      if number.map({ $0 == 0 || $0 > newest }) ?? true || JournalEntry(found.value) == nil {
        report(.journalDamaged, "commit \(found.key.hexadecimal)")
      }
    }
  }

  private mutating func checkCatalogue() {
    for entity in parts.schema.entities where parts.held[entity.number] {
      if catalogue.entityCodes[entity.number] == 0 || catalogue.layoutNumbers[entity.number] == 0 {
        report(.metadataDamaged, "\(entity.name) has no code")
      }
      for relationship in entity.relationships
      where !relationship.isTransient && catalogue.relationships.codes[relationship.number] == 0 {
        report(.metadataDamaged, "\(relationship.qualifiedName) has no code")
      }
    }
  }

  // MARK: Rows

  private mutating func checkRows(_ hierarchy: HierarchySchema, _ transaction: borrowing ReadTransaction)
    throws
  {
    guard let keyspace = parts.rows[hierarchy.number] else { return }
    let counter = try parts.counter(hierarchy.number, transaction)
    try transaction.forEach(in: keyspace) { found in
      result.rowCount += 1
      if let key = PrimaryKeyBytes.whole(found.key), key > 0, key < PrimaryKeyAllocator.limit {
        if key >= counter { report(.keyBeyondCounter, "\(hierarchy.rootName) p\(key), counter \(counter)") }
        checkRow(found.value, key, hierarchy)
      } else {
        report(.keyMalformed, "\(hierarchy.rootName) \(found.key.hexadecimal)")
      }
    }
  }

  private mutating func checkRow(_ bytes: UnsafeRawBufferPointer, _ key: UInt64, _ hierarchy: HierarchySchema)
  {
    // Made when something is wrong.
    var place: String { "\(hierarchy.rootName) p\(key)" }
    guard bytes.count >= RowFormat.headerLength, let base = bytes.baseAddress else {
      return report(.rowUnreadable, "\(place): too short")
    }
    guard let entity = catalogue.entity(code: RowBytes.entityCode(base)),
      hierarchy.memberNumbers.contains(entity)
    else { return report(.entityUnknown, "\(place): code \(RowBytes.entityCode(base))") }
    guard let layout = catalogue.layouts[RowBytes.layoutNumber(base)] else {
      return report(.layoutUnknown, "\(place): number \(RowBytes.layoutNumber(base))")
    }
    do {
      try RowDecoder.validate(bytes, primaryKey: key, layout: layout, verifyChecksum: false)
    } catch {
      let words = error.words(in: parts.schema.entities[entity], layout)
      return report(.rowUnreadable, "\(place): \(words)")
    }
    do {
      try RowDecoder.validate(bytes, primaryKey: key, layout: layout, verifyChecksum: true)
    } catch {
      return report(.checksumWrong, place)
    }
    do {
      let row = try reader.row(bytes, primaryKey: key)
      if !parts.schema.relationships.isEmpty {
        rows[hierarchy.number].append(
          Reference.bits(key, entityCode: catalogue.entityCodes[row.entity]))
      }
      let layout = reader.layout(of: row)
      reader.forEachReference(row, primaryKey: key) { slot, largeKey in
        references[largeKey] = row.externalReference(slot, layout)?.byteCount
      }
    } catch {
      report(.rowUnreadable, "\(place): \(error)")
    }
  }

  // MARK: Relationships

  private mutating func checkEdges(_ transaction: borrowing ReadTransaction) throws {
    var checker = EdgeChecker(
      reader: reader, rows: rows, room: StoreCheck.maximumProblemCount - result.problems.count)
    try checker.run(transaction)
    result.problems += checker.problems.list
    result.edgeCount = checker.edgeCount
    result.danglingReferenceCount = checker.danglingReferenceCount
  }

  // MARK: Indexes

  private mutating func checkIndex(_ index: IndexSchema, _ transaction: borrowing ReadTransaction) throws {
    let hierarchy = parts.schema.entities[index.owner].hierarchyNumber
    guard let rows = parts.rows[hierarchy], let keyspace = catalogue.indexes.keyspaces[index.number] else {
      return
    }
    let isComplete = catalogue.indexes.isUsable(index.number)
    if isComplete && !index.isUnique,
      let count = try countOfSameKeys(index, rows, keyspace, transaction)
    {
      result.indexEntryCount += count
      return
    }
    let expected = IndexChanges()
    try forEachKey(of: index, rows, transaction) { $0.append(to: &expected.insertions) }
    expected.sort()
    try compare(index, expected, keyspace, mayLackEntries: !isComplete, transaction)
    if index.isUnique { try checkUniqueness(index, expected, transaction) }
  }

  /// The number of entries when they are those that the rows have; nil when they differ. Both are compared by their digests.
  private func countOfSameKeys(
    _ index: IndexSchema, _ rows: Keyspace, _ keyspace: Keyspace, _ transaction: borrowing ReadTransaction
  ) throws -> Int? {
    var (expected, found) = (KeySetDigest(), KeySetDigest())
    try forEachKey(of: index, rows, transaction) { $0.add(to: &expected) }
    try transaction.forEach(in: keyspace) { found.add($0.key) }
    return expected == found ? found.count : nil
  }

  private func forEachKey(
    of index: IndexSchema, _ rows: Keyspace, _ transaction: borrowing ReadTransaction,
    _ body: (borrowing IndexKeyMaker) -> Void
  ) throws {
    let covered = Set(parts.schema.entities[index.owner].subtree)
    var keys = IndexKeyMaker(index: index, reader: reader)
    try transaction.forEach(in: rows) { found in
      // Unreadable rows have been reported; their entries show as stray.
      if let key = PrimaryKeyBytes.whole(found.key),
        let row = try? reader.row(found.value, primaryKey: key),
        covered.contains(row.entity),
        (try? keys.make(row, key, externals: [], transaction)) != nil
      {
        body(keys)
      }
    }
  }

  private mutating func compare(
    _ index: IndexSchema, _ expected: IndexChanges, _ keyspace: Keyspace, mayLackEntries: Bool,
    _ transaction: borrowing ReadTransaction
  ) throws {
    try transaction.withCursor(keyspace) { cursor in
      var entry = try cursor.first()
      var place = 0
      while place < expected.insertions.count || entry != nil {
        let order: Int
        if let entry, place < expected.insertions.count {
          order = KeyOrder.order(expected.insertions.key(place), entry.key)
        } else {
          order = entry == nil ? -1 : 1
        }
        if order < 0 {
          if !mayLackEntries {
            report(.indexEntryMissing, "\(index.name) p\(expected.insertions.primaryKey(place))")
          }
          place += 1
        } else {
          result.indexEntryCount += 1
          if order > 0, let entry { report(.indexEntryStray, "\(index.name) \(entry.key.hexadecimal)") }
          if order == 0 { place += 1 }
          entry = try cursor.next()
        }
      }
    }
  }

  private mutating func checkUniqueness(
    _ index: IndexSchema, _ expected: IndexChanges, _ transaction: borrowing ReadTransaction
  ) throws {
    let entries = expected.insertions.entries
    for place in entries.indices.dropFirst() where entries[place].isConstrained {
      var earlier = place - 1
      while earlier >= 0,
        KeyOrder.order(expected.insertions.value(earlier), expected.insertions.value(place)) == 0
      {
        let key = expected.insertions.primaryKey(place)
        let other = expected.insertions.primaryKey(earlier)
        if try !entries[place].isTruncated || sameValues(index, key, other, transaction) {
          report(.notUnique, "\(index.name) p\(other) and p\(key)")
          break
        }
        earlier -= 1
      }
    }
  }

  private func sameValues(
    _ index: IndexSchema, _ key: UInt64, _ other: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    guard let keyspace = parts.rows[parts.schema.entities[index.owner].hierarchyNumber] else { return false }
    for part in index.parts {
      var values: [AttributeValue] = []
      for key in [key, other] {
        guard let bytes = try transaction.get(keyspace, key) else {
          return false
        }
        let row = try reader.row(bytes, primaryKey: key)
        values.append(try reader.value(row, part.slot, primaryKey: key, externals: [], transaction))
      }
      if !values[0].isSame(values[1]) { return false }
    }
    return true
  }

  // MARK: Large values

  private mutating func checkLargeValues(_ transaction: borrowing ReadTransaction) throws {
    if let large = parts.large {
      try transaction.forEach(in: large) { found in
        result.largeValueCount += 1
        if let key = LargeValueKey(found.key), let count = references.removeValue(forKey: key) {
          if count != UInt64(found.value.count) {
            report(.largeValueMissing, "p\(key.primaryKey): \(found.value.count) of \(count) bytes")
          }
        } else {
          report(.largeValueStray, found.key.hexadecimal)
        }
      }
    }
    for key in references.keys.sorted(by: { $0.primaryKey < $1.primaryKey }) {
      report(.largeValueMissing, "p\(key.primaryKey), attribute code \(key.attributeCode)")
    }
  }

}

/// Stands for a set of keys in any order, in little memory. Two sets that differ have the same one by chance only: one time in 2^64.
private struct KeySetDigest: Equatable {
  private(set) var count = 0
  private var sum: UInt64 = 0

  mutating func add(_ key: UnsafeRawBufferPointer) {
    var hasher = Hasher()
    hasher.combine(bytes: key)
    sum &+= UInt64(bitPattern: Int64(hasher.finalize()))
    count += 1
  }
}

extension IndexKeyMaker {
  /// Adds the last key to a digest, if the row has one.
  fileprivate func add(to digest: inout KeySetDigest) {
    withKey { digest.add($0) }
  }
}

extension StoreCheck {
  static let maximumProblemCount = 1000
}

extension LMDBStore {
  /// Proves that rows, indexes, relationships and large values agree. Reads everything, in one view, while the store is in use.
  ///
  /// - Throws: ``StorageError`` when the file cannot be read at all.
  public func check() throws -> StoreCheck {
    try requireOpen()
    // Taken before the view begins, which knows no later keyspace.
    let open = parts.openKeyspaces
    return try parts.environment.read { transaction in
      let catalogue = try parts.readCatalogue(transaction, open: open)
      var checker = StoreChecker(reader: RowReader(parts: parts, catalogue: catalogue))
      try checker.run(transaction)
      return checker.result
    }
  }
}
