import Foundation

/// What one save or batch has changed, as the history keeps it, in the terms of this process's model.
package struct StoredHistoryTransaction: Sendable {
  /// The store's own count of its commits.
  let number: UInt64
  /// See ``HistoryMark``.
  let mark: UInt64
  let header: HistoryHeader
  /// Nil when they were not asked for.
  var lists: [StoredHistoryList]?

  package init(number: UInt64, mark: UInt64, header: HistoryHeader, lists: [StoredHistoryList]? = nil) {
    self.number = number
    self.mark = mark
    self.header = header
    self.lists = lists
  }
}

/// Rows that the same has happened to.
package struct StoredHistoryList: Sendable {
  let kind: HistoryFormat.Kind
  /// The entity's number in the schema.
  let entity: Int
  /// The names of slots that have other values.
  let names: [String]
  let runs: [ClosedRange<UInt64>]
  let tombstones: [(primaryKey: UInt64, values: [(name: String, value: AttributeValue)])]

  package init(
    kind: HistoryFormat.Kind, entity: Int, names: [String] = [], runs: [ClosedRange<UInt64>] = [],
    tombstones: [(primaryKey: UInt64, values: [(name: String, value: AttributeValue)])] = []
  ) {
    self.kind = kind
    self.entity = entity
    self.names = names
    self.runs = runs
    self.tombstones = tombstones
  }
}

/// Which part of a history is read next.
package struct HistoryQuestion {
  /// Beyond this commit.
  package var after: UInt64
  /// Before this one.
  package var below = UInt64.max
  package var isNewestFirst = false
  package var limit = 128
  package var readsChanges = true
  /// Decides by number and header. Called within the read transaction.
  package var isWanted: (UInt64, HistoryHeader) throws -> Bool = { _, _ in true }
}

/// Some of a history.
package struct HistoryBatch {
  package var transactions: [StoredHistoryTransaction] = []
  /// The last commit that was looked at; nil when there are no more.
  package var last: UInt64?
  /// The newest commit that the history did not have any more when this was read; nil when none was recorded.
  package var purged: UInt64?

  package init() {}
}

extension LMDBStore {
  /// The newest commit that the history no longer has, and the newest of all; nil for a store that records no history.
  package func historyBounds() throws -> (purged: UInt64, newest: UInt64)? {
    try read { reader, transaction in
      guard let purged = try parts.meta.number(HistoryFormat.metaKey, UInt64.self, transaction) else {
        return nil
      }
      return (purged, try parts.stamp(transaction).commitNumber)
    }
  }

  /// Some transactions of the history, in order. One read transaction; not many more bytes at a time than the largest commit has.
  package func history(_ question: HistoryQuestion) throws -> HistoryBatch {
    try read { reader, transaction in
      var batch = HistoryBatch()
      if let keyspace = reader.catalogue.history {
        var reading = HistoryReading(reader, keyspace, question)
        batch = try reading.run(transaction)
      } else if reader.catalogue.missingKeyspaces.contains(HistoryFormat.keyspaceName) {
        throw UnknownCode(detail: "The store has just begun to record a history.")
      }
      batch.purged = try parts.meta.number(HistoryFormat.metaKey, UInt64.self, transaction)
      return batch
    }
  }

  /// Deletes what is older than commit `number`, or than `date`: neither it nor anything later. How many transactions are gone.
  package func deleteHistory(before number: UInt64? = nil, date: Date? = nil) throws -> Int {
    try requireWritable()
    let known = catalogue
    guard let keyspace = known.history else { return 0 }
    let parts = parts
    let trim = HistoryTrim(meta: parts.meta, keyspace: keyspace)
    return try parts.environment.write { transaction in
      try parts.requireUnsealed()
      return try trim.delete(transaction) { commit, header in
        number.map { commit < $0 } ?? date.map { header.timestamp < $0 } ?? false
      }
    }
  }

  /// Remembers how far a consumer has come; nil forgets him.
  package func setHistoryConsumer(named name: String, to number: UInt64?) throws {
    try requireWritable()
    guard (1...200).contains(name.utf8.count) else {
      throw CoreDataError(.persistentStoreOperation, "The name of a consumer has 1 to 200 bytes.")
    }
    let (parts, now) = (parts, parts.history.clock())
    try parts.environment.write { transaction in
      try parts.requireUnsealed()
      let key = HistoryFormat.consumerPrefix + name
      guard let number else { return try parts.meta.delete(key, transaction) }
      try parts.meta.put(key, HistoryConsumer(name: name, commitNumber: number, date: now).bytes, transaction)
    }
  }

  package func historyConsumers() throws -> [HistoryConsumer] {
    try read { _, transaction in try HistoryConsumer.all(parts.meta, transaction) }
  }

  /// Deletes the history and records none from now on, until the store is opened with the option again.
  package func endHistory() throws {
    try requireWritable()
    let (parts, known) = (parts, catalogue)
    let fresh = try parts.environment.write { transaction in
      try parts.requireUnsealed()
      if let keyspace = known.history { try transaction.clear(keyspace) }
      try parts.meta.delete(HistoryFormat.metaKey, transaction)
      try parts.meta.delete(HistoryMark.metaKey, transaction)
      for consumer in try HistoryConsumer.all(parts.meta, transaction.read) {
        try parts.meta.delete(HistoryFormat.consumerPrefix + consumer.name, transaction)
      }
      try StoreCatalogue.raiseGeneration(parts.meta, transaction)
      return try parts.readCatalogue(transaction.read)
    }
    adopt(catalogue: fresh, metadata: nil)
  }
}

/// Reads a stretch of a history within one transaction.
private struct HistoryReading {
  private let reader: RowReader
  private let keyspace: Keyspace
  private let question: HistoryQuestion
  private var batch = HistoryBatch()
  private var bytes = 0
  private var looks = 0
  /// Names of attributes by code.
  private let names: [UInt16: String]
  /// What attributes of former transactions are called now; nil before the first is asked for.
  private var recoding: HistoryRecoding?
  /// By hierarchy: no key was given out from here on.
  private var counters: [Int: UInt64] = [:]
  private var isGenerationChecked = false

  /// So many bytes are enough for a batch, and so many transactions looked at.
  private static let (mostBytes, mostLooks) = (1 << 20, 16_384)

  init(_ reader: RowReader, _ keyspace: Keyspace, _ question: HistoryQuestion) {
    self.reader = reader
    self.keyspace = keyspace
    self.question = question
    names = Dictionary(
      reader.catalogue.attributeCodesByName.filter { !$0.key.hasPrefix(StoreCatalogue.lostPrefix) }
        .map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
  }

  mutating func run(_ transaction: borrowing ReadTransaction) throws -> HistoryBatch {
    try transaction.withCursor(keyspace) { cursor in
      var number = try first(&cursor)
      while let current = number {
        try look(at: current, &cursor, transaction)
        batch.last = current
        looks += 1
        if batch.transactions.count >= question.limit || bytes >= Self.mostBytes || looks >= Self.mostLooks {
          return
        }
        number = try next(after: current, &cursor)
      }
      batch.last = nil
    }
    return batch
  }

  // MARK: From one transaction to the next

  private func first(_ cursor: inout Cursor) throws -> UInt64? {
    if !question.isNewestFirst { return try ascending(from: question.after, &cursor) }
    return try descending(below: question.below, &cursor)
  }

  private func next(after number: UInt64, _ cursor: inout Cursor) throws -> UInt64? {
    if !question.isNewestFirst { return try ascending(from: number, &cursor) }
    return try descending(below: number, &cursor)
  }

  private func ascending(from number: UInt64, _ cursor: inout Cursor) throws -> UInt64? {
    if number == .max { return nil }
    let found = try HistoryFormat.Key(number + 1).withBytes { try cursor.seek(atLeast: $0) }
    guard let found else { return nil }
    let next = try key(found).number
    return next < question.below ? next : nil
  }

  private func descending(below number: UInt64, _ cursor: inout Cursor) throws -> UInt64? {
    let later = try HistoryFormat.Key(number).withBytes { try cursor.seek(atLeast: $0) }
    guard let found = try later == nil ? cursor.last() : cursor.previous() else { return nil }
    let previous = try key(found).number
    return previous > question.after ? previous : nil
  }

  private func key(_ entry: Cursor.Entry) throws -> HistoryFormat.Key {
    guard let key = HistoryFormat.Key(entry.key) else { throw damaged(nil) }
    return key
  }

  // MARK: One transaction

  private mutating func look(
    at number: UInt64, _ cursor: inout Cursor, _ transaction: borrowing ReadTransaction
  ) throws {
    var entry = try HistoryFormat.Key(number).withBytes { try cursor.seek(exactly: $0) }
    guard let first = entry,
      let header = HistoryPart(first.value, isFirst: true, readsLists: false)?.header
    else { throw damaged(number) }
    guard try question.isWanted(number, header) else { return }
    var result = StoredHistoryTransaction(
      number: number, mark: HistoryMark.of(number, first.value), header: header)
    if question.readsChanges {
      var lists: [StoredHistoryList] = []
      var part: UInt32 = 0
      while let found = entry {
        let key = try key(found)
        if key.number != number { break }
        guard key.part == part, let read = HistoryPart(found.value, isFirst: part == 0) else {
          throw damaged(number)
        }
        bytes += found.value.count
        for list in read.lists {
          if let list = try named(list, number, transaction) { lists.append(list) }
        }
        part += 1
        entry = try cursor.next()
      }
      result.lists = lists
    }
    batch.transactions.append(result)
  }

  /// Nil for rows of an entity that this process's model does not have.
  private mutating func named(
    _ list: HistoryList, _ number: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> StoredHistoryList? {
    guard let entity = reader.catalogue.entity(code: list.entityCode) else {
      // Another process may have added it since.
      if !isGenerationChecked,
        try reader.parts.meta.number("generation", UInt64.self, transaction) != reader.catalogue.generation
      {
        throw UnknownCode(detail: "The catalogue changes again and again.")
      }
      isGenerationChecked = true
      return nil
    }
    let hierarchy = reader.parts.schema.entities[entity].hierarchyNumber
    let counter = try counters[hierarchy] ?? reader.parts.counter(hierarchy, transaction)
    counters[hierarchy] = counter
    // A key that was never given out: a damaged run may be as long as all keys there are.
    if let last = list.runs.last?.upperBound, last >= counter { throw damaged(number) }
    let recoding = try recoding ?? HistoryRecoding(reader.parts, transaction)
    self.recoding = recoding
    func name(_ code: UInt16) -> String? { names[recoding.code(code, of: list.entityCode, in: number)] }
    return StoredHistoryList(
      kind: list.kind, entity: entity, names: list.properties.compactMap(name), runs: list.runs,
      tombstones: list.tombstones.map { tombstone in
        (
          tombstone.primaryKey,
          tombstone.values.compactMap { value in name(value.code).map { ($0, value.value) } }
        )
      })
  }

  private func damaged(_ number: UInt64?) -> StorageError {
    reader.parts.damaged("The history\(number.map { " of commit \($0)" } ?? "") is damaged.")
  }
}
