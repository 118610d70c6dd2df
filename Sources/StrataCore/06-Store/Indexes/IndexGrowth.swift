import Foundation

/// Builds an index in many short transactions, between which others read and commit.
///
/// ```
///   rows, by primary key     [ done ··············│ not yet ························ ]
///                                                 next
///   commits, of any process  keep the entries of all rows: those done and those not
///   a step                   puts the entries of the next rows, most of which are new; moves `next`
/// ```
///
/// So at any moment every entry in the index is right, and every row before `next` has its own. Where it stands is part of the same
/// transactions, under the index's name: the next program that opens the store goes on from there, and two who build the same index help each
/// other. Takes memory for the keys of one step.
struct IndexGrowth: Sendable {
  let parts: StoreParts
  /// The index's name in the store.
  let name: String
  /// The most rows of one step.
  let step: Int

  /// About the most bytes that the keys of a step may take.
  static let mostKeyBytes = 8 << 20
  /// How many rows a step takes when no save waits for it: keys that are written together are written in order.
  static let rowsAlone = 262_144

  /// What a step has come to.
  enum Outcome: Sendable {
    case more(rows: Int, StoreCatalogue)
    case complete(rows: Int, StoreCatalogue)
    /// The store no longer needs the index.
    case unwanted(StoreCatalogue)
  }

  /// The body of one transaction.
  /// - Throws: ``StorageError`` of kind `damaged` when a row cannot be read; ``MissingKeyspaces``.
  func run(_ known: StoreCatalogue, _ transaction: borrowing WriteTransaction) throws -> Outcome {
    var catalogue = try parts.currentCatalogue(known, transaction)
    guard let index = catalogue.indexes.index(named: name) else { return .unwanted(catalogue) }
    switch catalogue.indexes.states[index.number] {
    case .complete: return .complete(rows: 0, catalogue)
    case .growing: break
    case .absent: catalogue = try begin(index, transaction)
    }
    guard let keyspace = catalogue.indexes.keyspaces[index.number] else {
      throw MissingKeyspaces(names: [StoredIndexes.keyspaceName(name)])
    }
    let text = try parts.meta.bytes("index/" + name, transaction.read).map {
      String(decoding: $0, as: UTF8.self)
    }
    let start = text.flatMap { Self.next(in: $0, index.signature) } ?? 0
    let changes = IndexChanges()
    let (rows, next) = try collect(index, from: start, changes, catalogue, transaction.read)
    changes.sort()
    try changes.write(keyspace, transaction)
    guard let next else {
      try parts.meta.put("index/" + name, index.signature.utf8, transaction)
      try StoreCatalogue.raiseGeneration(parts.meta, transaction)
      return .complete(rows: rows, try parts.readCatalogue(transaction.read))
    }
    try parts.meta.put("index/" + name, Self.text(next: next, index.signature).utf8, transaction)
    return .more(rows: rows, catalogue)
  }

  /// From here on every commit keeps the index.
  private func begin(_ index: IndexSchema, _ transaction: borrowing WriteTransaction) throws -> StoreCatalogue
  {
    try parts.meta.put("index/" + name, Self.text(next: 0, index.signature).utf8, transaction)
    try StoreCatalogue.raiseGeneration(parts.meta, transaction)
    let catalogue = try parts.readCatalogue(transaction.read)
    guard let keyspace = catalogue.indexes.keyspaces[index.number] else {
      throw MissingKeyspaces(names: [StoredIndexes.keyspaceName(name)])
    }
    // What an earlier index of that name has left.
    try transaction.clear(keyspace)
    return catalogue
  }

  /// Makes the entries of the next rows. Answers how many rows that were, and the first one that is left; nil when none is.
  private func collect(
    _ index: IndexSchema, from start: UInt64, _ changes: IndexChanges, _ catalogue: StoreCatalogue,
    _ transaction: borrowing ReadTransaction
  ) throws -> (rows: Int, next: UInt64?) {
    let owner = parts.schema.entities[index.owner]
    guard let keyspace = parts.rows[owner.hierarchyNumber] else { return (0, nil) }
    let reader = RowReader(parts: parts, catalogue: catalogue)
    var isCovered = [Bool](repeating: false, count: parts.schema.entities.count)
    for entity in owner.subtree { isCovered[entity] = true }
    var keys = IndexKeyMaker(index: index, reader: reader)
    var rows = 0
    return try transaction.withCursor(keyspace) { cursor in
      var entry = try PrimaryKeyBytes.with(start) { try cursor.seek(atLeast: $0) }
      while let found = entry {
        let key = PrimaryKeyBytes.last(of: found.key)
        if rows >= step || changes.insertions.byteCount >= Self.mostKeyBytes { return (rows, key) }
        do {
          let row = try reader.row(found.value, primaryKey: key)
          if isCovered[row.entity] {
            try keys.make(row, key, externals: [], transaction)
            keys.append(to: &changes.insertions)
          }
        } catch let unknown as UnknownCode {
          throw parts.damaged(unknown.detail)
        }
        rows += 1
        entry = try cursor.next()
      }
      return (rows, nil)
    }
  }

  // MARK: Where it stands

  private static let prefix = "growing "

  /// What is stored while rows from `next` on may lack their entries.
  private static func text(next: UInt64, _ signature: String) -> String { "\(prefix)\(next)\n\(signature)" }

  /// The first primary key that may lack its entry; nil when the text says nothing of the kind.
  static func next(in text: String, _ signature: String) -> UInt64? {
    guard text.hasPrefix(prefix), let end = text.firstIndex(of: "\n"),
      text[text.index(after: end)...] == signature
    else { return nil }
    return UInt64(text[text.index(text.startIndex, offsetBy: prefix.count)..<end])
  }
}
