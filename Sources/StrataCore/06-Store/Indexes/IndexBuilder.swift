import Foundation

/// Fills an index from the rows that are there: one that the model has gained, or that means something else now.
struct IndexBuilder {
  let parts: StoreParts
  let catalogue: StoreCatalogue

  /// Rebuilds the index. One pass over the hierarchy's rows, then one append per entry.
  ///
  /// - Throws: ``StorageError`` of kind `damaged` when a row cannot be read.
  func build(_ index: IndexSchema, _ transaction: borrowing WriteTransaction) throws {
    let hierarchy = parts.schema.entities[index.owner].hierarchyNumber
    guard let keyspace = catalogue.indexes.keyspaces[index.number], let rows = parts.rows[hierarchy] else {
      return
    }
    let reader = RowReader(parts: parts, catalogue: catalogue)
    let covered = Set(parts.schema.entities[index.owner].subtree)
    let changes = IndexChanges()
    var keys = IndexKeyMaker(index: index, reader: reader)
    try transaction.clear(keyspace)
    try transaction.read.forEach(in: rows) { found in
      let key = PrimaryKeyBytes.last(of: found.key)
      do {
        let row = try reader.row(found.value, primaryKey: key)
        if covered.contains(row.entity) {
          try keys.make(row, key, externals: [], transaction.read)
          keys.append(to: &changes.insertions)
        }
      } catch let unknown as UnknownCode {
        throw parts.damaged(unknown.detail)
      }
    }
    changes.sort()
    try changes.write(keyspace, transaction)
    try parts.meta.put("index/" + index.name, Array(index.signature.utf8), transaction)
  }
}
