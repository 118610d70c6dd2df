/// The head of a page of LMDB's format 1 (MDB_page). The offsets of its entries follow, in the order of their keys, two bytes each.
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 8 | page number |
/// | 10 | 2 | kind, see `PageFlags` |
/// | 12 | 2 | end of the offsets |
/// | 14 | 2 | begin of the entries |
/// | 12 | 4 | of overflow pages: how many there are in a row |
struct PageHeader {
  static let size = 16

  let number: UInt64
  let flags: UInt16
  let lower: Int
  let upper: Int

  /// Reads what lies at `page`.
  @inline(__always)
  init(_ page: UnsafeRawPointer) {
    number = page.loadUnaligned(as: UInt64.self)
    flags = page.loadUnaligned(fromByteOffset: 10, as: UInt16.self)
    lower = Int(page.loadUnaligned(fromByteOffset: 12, as: UInt16.self))
    upper = Int(page.loadUnaligned(fromByteOffset: 14, as: UInt16.self))
  }

  /// Of an overflow page.
  var pageCount: UInt64 { UInt64(lower) | UInt64(upper) << 16 }

  /// How many entries the page has. Makes sense with plausible bounds only.
  @inline(__always)
  var entryCount: Int { (lower - Self.size) / 2 }

  @inline(__always)
  func hasPlausibleBounds(_ pageSize: Int) -> Bool {
    lower >= Self.size && lower & 1 == 0 && lower <= upper && upper <= pageSize
  }

  /// How many entries a page in a map has; nil when it is not of the kind `flags`.
  @inline(__always)
  static func entryCount(_ page: UnsafeRawPointer, _ flags: UInt16, pageSize: Int) -> Int? {
    let header = PageHeader(page)
    return header.flags == flags && header.hasPlausibleBounds(pageSize) ? header.entryCount : nil
  }

  /// Where the entry with this number begins.
  @inline(__always)
  static func offset(_ page: UnsafeRawPointer, _ number: Int) -> Int {
    Int(page.loadUnaligned(fromByteOffset: size + 2 * number, as: UInt16.self))
  }
}

/// The head of an entry (MDB_node); the key and the value follow.
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 4 | size of the value |
/// | 4 | 2 | kind, see `NodeFlags` |
/// | 0 | 6 | in branch pages instead: the page the entry leads to |
/// | 6 | 2 | size of the key |
struct NodeHeader {
  static let size = 8

  let valueCount: Int
  let flags: UInt16
  let keyCount: Int

  /// Reads what lies at `node`.
  @inline(__always)
  init(_ node: UnsafeRawPointer) {
    valueCount = Int(node.loadUnaligned(as: UInt32.self))
    flags = node.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
    keyCount = Int(node.loadUnaligned(fromByteOffset: 6, as: UInt16.self))
  }

  /// Of an entry of a branch page.
  @inline(__always)
  var child: UInt64 { UInt64(valueCount) | UInt64(flags) << 32 }
}

/// The kinds of pages (MDB_page.mp_flags).
enum PageFlags {
  static let branch: UInt16 = 0x01
  static let leaf: UInt16 = 0x02
  static let overflow: UInt16 = 0x04
  static let meta: UInt16 = 0x08
}

/// The kinds of leaf nodes (MDB_node.mn_flags).
enum NodeFlags {
  static let overflow: UInt16 = 0x01
  static let keyspace: UInt16 = 0x02
}
