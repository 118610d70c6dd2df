import Foundation

/// Releases the oldest part of a history, and notes up to where: tokens from before are expired from then on.
struct HistoryTrim {
  let meta: MetaKeyspace
  let keyspace: Keyspace

  /// The most parts that one save deletes because of their age: the next one goes on.
  private static let mostParts = 4_096

  /// The newest commit that the history no longer has.
  func purged(_ transaction: borrowing ReadTransaction) throws -> UInt64 {
    try meta.number(HistoryFormat.metaKey, UInt64.self, transaction) ?? 0
  }

  /// Releases what a store need not keep.
  func run(_ retention: HistoryRetention, at now: Date, _ transaction: borrowing WriteTransaction) throws {
    let oldest = retention.maximumAge.map { now.addingTimeInterval(-$0.seconds) }
    var consumed: UInt64 = 0
    if retention.dropsConsumed {
      consumed = try HistoryConsumer.all(meta, transaction.read).map(\.commitNumber).min() ?? 0
    }
    _ = try delete(transaction, atMost: Self.mostParts) { number, header in
      number <= consumed || oldest.map { header.timestamp < $0 } ?? false
    }
  }

  /// Deletes from the oldest on, as long as `isUnwanted`; what cannot be read is. How many commits are gone.
  func delete(
    _ transaction: borrowing WriteTransaction, atMost most: Int = .max,
    while isUnwanted: (_ number: UInt64, _ header: HistoryHeader) throws -> Bool
  ) throws -> Int {
    var (count, parts) = (0, 0)
    var last: UInt64?
    var mark: UInt64 = 0
    try transaction.withCursor(keyspace) { cursor in
      var entry = try cursor.first()
      while let found = entry {
        if let key = HistoryFormat.Key(found.key), key.number != last {
          if parts >= most { break }
          if let header = HistoryPart(found.value, isFirst: true, readsLists: false)?.header {
            if try !isUnwanted(key.number, header) { break }
          }
          last = key.number
          mark = HistoryMark.of(key.number, found.value)
          count += 1
        }
        try cursor.delete()
        parts += 1
        entry = try cursor.next()
      }
    }
    if let last, try last > purged(transaction.read) {
      try meta.put(HistoryFormat.metaKey, number: last, transaction)
      try meta.put(HistoryMark.metaKey, number: mark, transaction)
    }
    return count
  }
}

extension Duration {
  /// In seconds.
  package var seconds: TimeInterval {
    // Durations go further than the seconds of their components.
    let most = Duration.seconds(Int64.max)
    let (seconds, attoseconds) = min(max(self, .zero - most), most).components
    return TimeInterval(seconds) + TimeInterval(attoseconds) * 1e-18
  }
}

/// A named reader of a store's history, and how far it has read.
public struct HistoryConsumer: Sendable, Hashable {
  /// What he is called.
  public let name: String
  /// The newest commit he has seen.
  public let commitNumber: UInt64
  /// When he said so.
  public let date: Date

  package init(name: String, commitNumber: UInt64, date: Date) {
    self.name = name
    self.commitNumber = commitNumber
    self.date = date
  }

  /// Those that a store knows, by name. An entry that cannot be read is left out.
  static func all(_ meta: MetaKeyspace, _ transaction: borrowing ReadTransaction) throws -> [HistoryConsumer]
  {
    try meta.entries(HistoryFormat.consumerPrefix, transaction).compactMap { name, bytes in
      bytes.withUnsafeBytes { bytes in
        var reader = ByteReader(bytes)
        guard let number = reader.number(UInt64.self), let bits = reader.number(UInt64.self), reader.isAtEnd,
          Double(bitPattern: bits).isFinite
        else { return nil }
        return HistoryConsumer(
          name: name, commitNumber: number,
          date: Date(timeIntervalSinceReferenceDate: Double(bitPattern: bits)))
      }
    }
  }

  /// As "meta" keeps it.
  var bytes: [UInt8] {
    withUnsafeBytes(of: commitNumber.littleEndian) { Array($0) }
      + withUnsafeBytes(of: date.timeIntervalSinceReferenceDate.bitPattern.littleEndian) { Array($0) }
  }
}
