/// The bytes of a store's history: what each save and batch has changed, kept until it is deleted or expires.
///
/// ```
///   key          commit number, u64 big-endian │ part, u32 big-endian, from 0 on without gaps
///   part 0       header │ lists
///   other parts  u8 format, 1 │ lists
///   header       u8 format, 1 │ f64 timestamp, seconds since 2001 │ author │ context name │ bundle identifier │ process name
///   list         u8 kind │ u16 entity code │ kind 2: properties │ varint, the number of rows or runs │ these
///   properties   varint, their number │ u16 attribute codes
///   run          as in the journal, see `JournalFormat`; of kinds 1, 2 and 3
///   tombstone    of kind 4: varint, the primary key │ varint, the number of values │ u16 attribute code, value, of each
///   text         varint: 0 for none, otherwise its length + 1 │ UTF-8
/// ```
///
/// Numbers are little-endian but for keys. A list of runs names rows that the same has happened to: an import of rows side by side costs a
/// few bytes. A part is ended as soon as it has `partLength` bytes, so that neither writer nor reader holds more.
package enum HistoryFormat {
  static let keyspaceName = "history"
  /// In "meta": u64, the newest commit whose changes are not in the history any more, or never were. There while the store records one.
  static let metaKey = "history"
  /// In "meta", followed by a name: u64, up to which commit the consumer has seen everything, and f64, when it said so.
  static let consumerPrefix = "consumer/"
  static let format: UInt8 = 1
  static let keyLength = 12
  static let partLength = 16 << 10

  /// What has happened to the rows of a list.
  package enum Kind: UInt8, CaseIterable, Sendable {
    case inserted = 1
    case updated = 2
    case deleted = 3
    /// Deleted, with values that stay.
    case buried = 4
  }

  /// The key of one part of what a commit has changed.
  struct Key: Equatable {
    var number: UInt64
    var part: UInt32

    init(_ number: UInt64, part: UInt32 = 0) {
      self.number = number
      self.part = part
    }

    /// Nil for bytes that are no key.
    init?(_ bytes: UnsafeRawBufferPointer) {
      guard bytes.count == keyLength else { return nil }
      number = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
      part = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    }

    func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
      try withUnsafeTemporaryAllocation(byteCount: keyLength, alignment: 8) { bytes in
        bytes.storeBytes(of: number.bigEndian, as: UInt64.self)
        bytes.storeBytes(of: part.bigEndian, toByteOffset: 8, as: UInt32.self)
        return try body(UnsafeRawBufferPointer(bytes))
      }
    }
  }
}

/// The origin of a change, as the caller gives it.
public struct ChangeOrigin: Sendable, Hashable {
  /// `transactionAuthor` of the context.
  public var author: String?
  /// The context's name.
  public var contextName: String?

  public init(author: String? = nil, contextName: String? = nil) {
    self.author = author
    self.contextName = contextName
  }
}
