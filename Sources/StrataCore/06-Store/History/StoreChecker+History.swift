extension StoreChecker {
  /// Every entry is of a commit that has happened and that the store's history keeps, its parts are all there, and they can be read.
  mutating func checkHistory(_ transaction: borrowing ReadTransaction) throws {
    guard let history = reader.catalogue.history else { return }
    let meta = reader.parts.meta
    // Whatever the stamp's identity: a salvaged store takes over that of the old one before it is checked.
    let newest = CommitStamp(try meta.bytes("stamp", transaction))?.commitNumber ?? 0
    let purged = try meta.number(HistoryFormat.metaKey, UInt64.self, transaction)
    if purged.map({ $0 > newest }) ?? true { report(.historyDamaged, "its beginning") }
    let counters = try reader.parts.schema.hierarchies.map {
      try reader.parts.counter($0.number, transaction)
    }
    var last = HistoryFormat.Key(0)
    try transaction.forEach(in: history) { found in
      if let key = HistoryFormat.Key(found.key), key.number > purged ?? 0, key.number <= newest,
        key.part == (key.number == last.number ? last.part + 1 : 0),
        let part = HistoryPart(found.value, isFirst: key.part == 0)
      {
        last = key
        for list in part.lists where !isKnown(list, counters) {
          report(.historyDamaged, "commit \(key.number): keys that were never given out")
        }
      } else {
        report(.historyDamaged, "\(found.key.hexadecimal)")
        last = HistoryFormat.Key(found.key) ?? last
      }
    }
  }

  /// Whether all keys of a list were given out; this is unknown for an entity that the model does not have.
  private func isKnown(_ list: HistoryList, _ counters: [UInt64]) -> Bool {
    guard let entity = reader.catalogue.entity(code: list.entityCode) else { return true }
    let largest = max(list.runs.last?.upperBound ?? 0, list.tombstones.map(\.primaryKey).max() ?? 0)
    return largest < counters[reader.parts.schema.entities[entity].hierarchyNumber]
  }
}
