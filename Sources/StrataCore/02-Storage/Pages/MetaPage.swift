import Foundation

/// One of the two anchors of an LMDB file, as it lies in pages 0 and 1.
///
/// A commit writes the anchor whose number is the parity of its own; the one with the higher transaction
/// number counts. All numbers are in the machine's byte order, little-endian wherever Strata runs.
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 8 | page number |
/// | 8 | 2 | unused |
/// | 10 | 2 | page flags: 0x08 |
/// | 12 | 4 | unused |
/// | 16 | 4 | magic 0xBEEFC0DE |
/// | 20 | 4 | format version 1 |
/// | 24 | 8 | address of a fixed map, unused |
/// | 32 | 8 | size of the map |
/// | 40 | 48 | record of the free list's tree; its first four bytes are the page size |
/// | 88 | 48 | record of the tree of keyspaces |
/// | 136 | 8 | number of the last page |
/// | 144 | 8 | transaction number |
struct MetaPage: Equatable {
  static let magic: UInt32 = 0xBEEF_C0DE
  static let version: UInt32 = 1
  /// Bytes of the page that mean something.
  static let size = 152
  static let numberOffset = 0
  static let freeTreeOffset = 40
  static let lastPageOffset = 136
  static let transactionOffset = 144
  /// Page sizes that LMDB can hold in its 16-bit offsets and that hold two keys of 511 bytes.
  static let pageSizes = 4096...32768
  /// Numbers of transactions are below this: more than will ever be counted.
  static let transactionLimit: UInt64 = 1 << 62

  var pageNumber: UInt64
  var pageFlags: UInt16
  var magic: UInt32
  var version: UInt32
  var mapSize: UInt64
  var freeTree: TreeRecord
  var mainTree: TreeRecord
  var lastPage: UInt64
  var transactionID: UInt64

  /// Bytes in a page of this file.
  var pageSize: Int { Int(freeTree.pad) }

  /// Reads the anchor in `bytes`, which are at least `size` long.
  init(_ bytes: [UInt8]) {
    precondition(bytes.count >= Self.size, "an anchor has \(Self.size) bytes")
    // Never nil: there are some.
    self = bytes.withUnsafeBytes { MetaPage($0.baseAddress!) }
  }

  /// The bytes of both anchors of a file that is to stand on `anchor`: the other one is the same with the number before, so that it does not count.
  static func pair(_ anchor: [UInt8]) -> [[UInt8]] {
    let meta = MetaPage(anchor)
    return (0..<2).map { number in
      let isOwn = meta.transactionID & 1 == UInt64(number)
      let transaction = isOwn || meta.transactionID == 0 ? meta.transactionID : meta.transactionID - 1
      var bytes = Array(anchor.prefix(size))
      bytes.withUnsafeMutableBytes {
        $0.storeBytes(of: UInt64(number), toByteOffset: numberOffset, as: UInt64.self)
        $0.storeBytes(of: transaction, toByteOffset: transactionOffset, as: UInt64.self)
      }
      return bytes
    }
  }

  /// Reads the anchor at `bytes`, which are at least `size` long.
  init(_ bytes: UnsafeRawPointer) {
    pageNumber = bytes.loadUnaligned(fromByteOffset: Self.numberOffset, as: UInt64.self)
    pageFlags = bytes.loadUnaligned(fromByteOffset: 10, as: UInt16.self)
    magic = bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self)
    version = bytes.loadUnaligned(fromByteOffset: 20, as: UInt32.self)
    mapSize = bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self)
    freeTree = TreeRecord(bytes + Self.freeTreeOffset)
    mainTree = TreeRecord(bytes + 88)
    lastPage = bytes.loadUnaligned(fromByteOffset: Self.lastPageOffset, as: UInt64.self)
    transactionID = bytes.loadUnaligned(fromByteOffset: Self.transactionOffset, as: UInt64.self)
  }

  /// The page size of a store made on this machine.
  static var systemPageSize: Int { min(max(Int(getpagesize()), pageSizes.lowerBound), 32768) }

  /// The bytes of an empty store: its two anchors, as LMDB itself would write them.
  static func emptyStore(pageSize: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 2 * pageSize)
    bytes.withUnsafeMutableBytes { buffer in
      for page in 0..<2 {
        func store<Number: FixedWidthInteger>(_ offset: Int, _ number: Number) {
          buffer.storeBytes(of: number, toByteOffset: page * pageSize + offset, as: Number.self)
        }
        store(0, UInt64(page))
        store(10, PageFlags.meta)
        store(16, magic)
        store(20, version)
        store(32, UInt64(1 << 20))
        store(40, UInt32(pageSize))
        // MDB_INTEGERKEY, and MDB_NOSUBDIR of the environment, which LMDB keeps in the same field.
        store(44, UInt16(0x4008))
        store(80, TreeRecord.noPage)
        store(128, TreeRecord.noPage)
        store(136, UInt64(1))
      }
    }
    return bytes
  }
}

/// LMDB's record of one tree (MDB_db).
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 4 | page size in the free list's record, else 0 |
/// | 4 | 2 | flags of the keyspace |
/// | 6 | 2 | depth |
/// | 8 | 8 | branch pages |
/// | 16 | 8 | leaf pages |
/// | 24 | 8 | overflow pages |
/// | 32 | 8 | entries |
/// | 40 | 8 | root page, all ones when the tree is empty |
struct TreeRecord: Equatable {
  static let size = 48
  static let noPage = UInt64.max

  var pad: UInt32
  var flags: UInt16
  var depth: UInt16
  var entries: UInt64
  var root: UInt64

  /// Reads the record at `bytes`.
  init(_ bytes: UnsafeRawPointer) {
    pad = bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self)
    flags = bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
    depth = bytes.loadUnaligned(fromByteOffset: 6, as: UInt16.self)
    entries = bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self)
    root = bytes.loadUnaligned(fromByteOffset: 40, as: UInt64.self)
  }
}
