import Foundation

/// The history of the store that a migration writes anew: its transactions and its named readers go on in the new file, so tokens stay valid.
///
/// The transactions are copied as they are. They name entities and attributes by code, so the new store begins with the codes of the old one, under the names that
/// their entities and attributes have now. What is gone keeps its code without a name, so that nothing else gets it, and is not spoken of any more. Where a code cannot mean the same for all entities,
/// `HistoryRecoding` says what it means.
struct RecordedHistory {
  /// Of "meta": where the history begins, its readers, and what codes mean.
  private let entries: [String: [UInt8]]
  /// What the new store's "meta" begins with.
  let codes: [String: UInt16]

  /// So many bytes of transactions are copied at a time, or one part of one.
  private static let bytesPerStep = 4 << 20

  /// Nil when the store records none.
  /// - Throws: ``StorageError``; `CoreDataError` 134110 when there are too many names.
  init?(_ snapshot: LMDBSnapshot, _ plan: MigrationPlan, _ pairing: ModelPairing) throws {
    let found = try snapshot.read { reader, transaction in
      let meta = reader.parts.meta
      guard try meta.bytes(HistoryFormat.metaKey, transaction) != nil else { return nil as RecordedHistory? }
      var entries: [String: [UInt8]] = [:]
      for key in [HistoryFormat.metaKey, HistoryMark.metaKey] {
        if let bytes = try meta.bytes(key, transaction) { entries[key] = Array(bytes) }
      }
      for prefix in [HistoryFormat.consumerPrefix, HistoryRecoding.prefix] {
        for (name, bytes) in try meta.entries(prefix, transaction) { entries[prefix + name] = Array(bytes) }
      }
      let codes = try HistoryCodes(
        entities: meta.codes("entity/", transaction), attributes: meta.codes("attribute/", transaction)
      ).carried(plan, pairing)
      let commit = try reader.parts.stamp(transaction).commitNumber
      for change in codes.changes {
        let key = HistoryRecoding.key(commit, change.entity)
        entries[key] = HistoryRecoding.value(change.codes, after: entries[key])
      }
      return RecordedHistory(entries: entries, codes: codes.codes)
    }
    guard let found else { return nil }
    self = found
  }

  private init(entries: [String: [UInt8]], codes: [String: UInt16]) {
    (self.entries, self.codes) = (entries, codes)
  }

  /// Copies the transactions into `store`, which has the codes.
  func copy(from snapshot: LMDBSnapshot, to store: LMDBStore, _ progress: BatchProgress) throws {
    let environment = store.parts.environment
    let keyspace = try Self.keyspace(store.parts)
    var next: [UInt8]? = []
    while let start = next {
      try progress.stopIfCancelled()
      var entries: [(key: [UInt8], value: [UInt8])] = []
      next = try snapshot.read { reader, transaction in
        guard let source = reader.catalogue.history else { return nil }
        return try transaction.withCursor(source) { cursor in
          var entry =
            try start.isEmpty ? cursor.first() : start.withUnsafeBytes { try cursor.seek(atLeast: $0) }
          var bytes = 0
          while let found = entry {
            if bytes >= Self.bytesPerStep { return Array(found.key) }
            entries.append((Array(found.key), Array(found.value)))
            bytes += found.key.count + found.value.count
            entry = try cursor.next()
          }
          return nil
        }
      }
      let step = entries
      try environment.write { transaction in
        for entry in step {
          try entry.key.withUnsafeBytes { key in
            try entry.value.withUnsafeBytes { try transaction.put(keyspace, key, $0) }
          }
        }
      }
    }
  }

  /// The new store records from its newest commit on, for the readers that there are, and nothing is known of what was before.
  func beginAnew(in parts: StoreParts) throws {
    let (meta, keyspace) = (parts.meta, try Self.keyspace(parts))
    let recodings = entries.keys.filter { $0.hasPrefix(HistoryRecoding.prefix) }
    try parts.environment.write { transaction in
      try transaction.clear(keyspace)
      for key in recodings { try meta.delete(key, transaction) }
      // The store has the identity of the old one already, and was opened with its own.
      let newest = CommitStamp(try meta.bytes("stamp", transaction.read))?.commitNumber ?? 0
      try HistoryMark.begin(in: meta, behind: newest, transaction)
    }
  }

  private static func keyspace(_ parts: StoreParts) throws -> Keyspace {
    guard let keyspace = try parts.environment.keyspaces([HistoryFormat.keyspaceName])[0] else {
      throw parts.damaged("There is no place for the history.")
    }
    return keyspace
  }

  /// The new store goes on with what was copied.
  func goOn(in meta: MetaKeyspace, _ transaction: borrowing WriteTransaction) throws {
    for (key, value) in entries { try meta.put(key, value, transaction) }
  }
}

/// The codes by which a history names entities and attributes, and what they are called after a migration.
struct HistoryCodes {
  let entities: [String: UInt16]
  let attributes: [String: UInt16]

  /// What is carried into a store of the plan's destination.
  struct Carried {
    /// Entries of "meta" that it begins with.
    var codes: [String: UInt16] = [:]
    /// By the code of an entity, the codes that mean something else now; 0 for nothing.
    var changes: [(entity: UInt16, codes: [UInt16: UInt16])] = []
  }

  /// - Throws: `CoreDataError` 134110 when there are more names than codes.
  func carried(_ plan: MigrationPlan, _ pairing: ModelPairing) throws -> Carried {
    let pairs = HistoryNames.all(pairing, from: plan.source, to: plan.destination)
    let entities = Self.assign(entities, pairs.map { ($0.source.name, $0.destination.name) })
    var attributes = Self.assign(
      attributes,
      pairs.flatMap { pair in
        pair.source.attributes.compactMap { attribute in
          // What the engine has added stays what it is.
          let name =
            attribute.slot == pair.source.baselineSlot ? attribute.name : pair.properties[attribute.name]
          return name.map { (attribute.name, $0) }
        }
      })
    let names = Dictionary(attributes.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    var last = attributes.values.max() ?? 0
    var result = Carried()
    for pair in pairs {
      var changes: [UInt16: UInt16] = [:]
      for attribute in pair.source.attributes where attribute.slot != pair.source.baselineSlot {
        guard let code = self.attributes[attribute.name] else { continue }
        let name = pair.properties[attribute.name]
        if name == names[code] { continue }
        guard let name else {
          // Another attribute may get its name.
          changes[code] = 0
          continue
        }
        if attributes[name] == nil {
          guard last < .max else {
            throw CoreDataError(.migration, "The store has too many names of attributes.")
          }
          last += 1
          attributes[name] = last
        }
        changes[code] = attributes[name]
      }
      if !changes.isEmpty, let entity = self.entities[pair.source.name] {
        result.changes.append((entity, changes))
      }
    }
    result.codes = Dictionary(
      uniqueKeysWithValues: entities.map { ("entity/" + $0, $1) } + attributes.map { ("attribute/" + $0, $1) }
    )
    return result
  }

  /// Gives each code one name: the one that it has after the migration, first of all where it stays, or none: another thing may get the name that it had.
  private static func assign(_ codes: [String: UInt16], _ wishes: [(old: String, new: String)]) -> [String:
    UInt16]
  {
    var result: [String: UInt16] = [:]
    var used = Set<UInt16>()
    func give(_ name: String, _ code: UInt16) {
      if result[name] == nil, used.insert(code).inserted { result[name] = code }
    }
    let ordered = wishes.sorted {
      ($0.old != $0.new ? 1 : 0, $0.old, $0.new) < ($1.old != $1.new ? 1 : 0, $1.old, $1.new)
    }
    for wish in ordered { if let code = codes[wish.old] { give(wish.new, code) } }
    for code in codes.values { give(StoreCatalogue.lostName(code), code) }
    return result
  }
}
