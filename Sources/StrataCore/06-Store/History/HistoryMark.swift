/// What tells the lines of a store apart.
///
/// A store that is replaced by an older copy goes on from there, and soon has as many commits as the file that was replaced: then numbers alone say
/// nothing. So a token carries, besides the number of a commit, the mark of the newest transaction that the history tells up to it. The transactions
/// of two lines differ in their times at least, and a history begins with a mark at random.
enum HistoryMark {
  /// In "meta": u64, the mark of the newest commit that is not in the history any more, or of its beginning; 0 without one.
  static let metaKey = "history-mark"
  /// So many bytes of a transaction count, and how many there are: its time and names are among them.
  private static let mostBytes = 256

  /// The mark of the transaction with that first part. Never 0.
  static func of(_ number: UInt64, _ firstPart: UnsafeRawBufferPointer) -> UInt64 {
    // Fowler, Noll and Vo's hash, variant 1a: a few bytes, no enemies.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func fold(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    withUnsafeBytes(of: number.littleEndian) { for byte in $0 { fold(byte) } }
    withUnsafeBytes(of: UInt64(firstPart.count).littleEndian) { for byte in $0 { fold(byte) } }
    for byte in firstPart.prefix(mostBytes) { fold(byte) }
    return max(hash, 1)
  }

  /// A history begins behind commit `number`.
  static func begin(in meta: MetaKeyspace, behind number: UInt64, _ transaction: borrowing WriteTransaction)
    throws
  {
    try meta.put(HistoryFormat.metaKey, number: number, transaction)
    try meta.put(metaKey, number: UInt64.random(in: 1 ... .max), transaction)
  }
}

/// A moment of a store's history.
package struct HistoryMoment: Sendable, Hashable {
  /// The store's own count of its commits.
  package var number: UInt64
  /// See ``HistoryMark``. Nil where it is unknown: in tokens of stores without a history, and in those that say nothing of it.
  package var mark: UInt64?

  package init(number: UInt64, mark: UInt64? = nil) {
    self.number = number
    self.mark = mark
  }
}

extension LMDBStore {
  /// The newest commit and its mark; nil for a store that records no history.
  package func currentHistoryMoment() throws -> HistoryMoment? {
    try read { reader, transaction in
      let number = try parts.stamp(transaction).commitNumber
      return try mark(upTo: number, reader, transaction).map { HistoryMoment(number: number, mark: $0) }
    }
  }

  /// A commit as a moment of the history; nil for a store that records none. Without a mark when the store cannot be read now.
  package func historyMoment(ofCommit number: UInt64) -> HistoryMoment? {
    if catalogue.history == nil { return nil }
    return HistoryMoment(number: number, mark: (try? historyMark(upTo: number)) ?? nil)
  }

  /// The mark of the newest transaction up to commit `number`; nil when the history no longer has it, or there is none.
  package func historyMark(upTo number: UInt64) throws -> UInt64? {
    try read { reader, transaction in try mark(upTo: number, reader, transaction) }
  }

  private func mark(upTo number: UInt64, _ reader: RowReader, _ transaction: borrowing ReadTransaction) throws
    -> UInt64?
  {
    guard let purged = try parts.meta.number(HistoryFormat.metaKey, UInt64.self, transaction),
      number >= purged
    else { return nil }
    guard let keyspace = reader.catalogue.history else {
      // Another process has begun it: the catalogue is read again then.
      if reader.catalogue.missingKeyspaces.contains(HistoryFormat.keyspaceName) {
        throw UnknownCode(detail: "The store has just begun to record a history.")
      }
      return nil
    }
    let found = try transaction.withCursor(keyspace) { cursor -> UInt64? in
      let later =
        try number == .max ? nil : HistoryFormat.Key(number + 1).withBytes { try cursor.seek(atLeast: $0) }
      guard let entry = try later == nil ? cursor.last() : cursor.previous(),
        let key = HistoryFormat.Key(entry.key), key.number > purged,
        let first = try HistoryFormat.Key(key.number).withBytes({ try cursor.seek(exactly: $0) })
      else { return nil }
      return HistoryMark.of(key.number, first.value)
    }
    return try found ?? parts.meta.number(HistoryMark.metaKey, UInt64.self, transaction) ?? 0
  }
}
