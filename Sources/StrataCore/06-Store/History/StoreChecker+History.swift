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
    try transaction.withCursor(history) { cursor in
      var entry = try cursor.first()
      while let found = entry {
        if let key = HistoryFormat.Key(found.key), key.number > purged ?? 0, key.number <= newest,
          key.part == (key.number == last.number ? last.part + 1 : 0),
          let part = HistoryPart(found.value, isFirst: key.part == 0)
        {
          last = key
          for list in part.lists where !isKnown(list, counters) {
            report(.historyDamaged, "commit \(key.number): keys that were never given out")
          }
        } else {
          report(.historyDamaged, "\(StoreDump.hex(found.key))")
          last = HistoryFormat.Key(found.key) ?? last
        }
        entry = try cursor.next()
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

extension StoreDump {
  /// One line for each list of a part. Time and program are left out: they differ from run to run.
  static func history(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ reader: RowReader
  ) -> [String] {
    guard let place = HistoryFormat.Key(key), let part = HistoryPart(value, isFirst: place.part == 0) else {
      return ["history \(hex(key)) \(hex(value))"]
    }
    let name = "history \(place.number).\(place.part)"
    var lines: [String] = []
    if let origin = part.header?.origin {
      lines.append("\(name) by \(origin.author ?? "nobody") in \(origin.contextName ?? "nothing")")
    }
    let names = Dictionary(
      reader.catalogue.attributeCodesByName.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    for list in part.lists {
      let entity = reader.catalogue.entity(code: list.entityCode)
      var words = [name, "\(list.kind)", entity.map { reader.parts.schema.entities[$0].name } ?? "?"]
      words += list.runs.map {
        $0.count == 1 ? "p\($0.lowerBound)" : "p\($0.lowerBound)–\($0.upperBound)"
      }
      words += list.properties.map { names[$0] ?? "?" }
      for tombstone in list.tombstones {
        words.append("p\(tombstone.primaryKey)")
        words += tombstone.values.map { "\(names[$0.code] ?? "?")=\($0.value)" }
      }
      lines.append(words.joined(separator: " "))
    }
    return lines
  }
}
