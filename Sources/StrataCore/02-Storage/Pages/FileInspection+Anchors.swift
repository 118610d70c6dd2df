import Foundation

/// The first look: is it a store at all, and which anchor counts.
extension FileInspection {
  /// The first bytes of the file and of the page that follows, for every page size there may be.
  ///
  /// The whole of them is compared to see whether there is a commit meanwhile.
  func readAnchors() throws -> [UInt8] {
    var head = [UInt8](repeating: 0, count: MetaPage.size)
    let count = try head.withUnsafeMutableBytes { try read($0, at: 0) }
    guard count == MetaPage.size else { return Array(head[..<count]) }
    let pageSize = head.withUnsafeBytes { MetaPage($0.baseAddress!).pageSize }  // Never nil: 152 bytes.
    guard FileInspection.isPowerOfTwo(pageSize), (512...65536).contains(pageSize) else { return head }
    var second = [UInt8](repeating: 0, count: MetaPage.size)
    let secondCount = try second.withUnsafeMutableBytes { try read($0, at: pageSize) }
    return head + second[..<secondCount]
  }

  /// The anchor that counts, after both have been checked.
  func newestAnchor(_ bytes: [UInt8], fileSize: Int) throws -> MetaPage {
    guard bytes.count >= MetaPage.size else {
      throw foreign(bytes, "It is only \(bytes.count) bytes long.")
    }
    let first = anchor(bytes, at: 0)
    try checkFormat(first, bytes)
    guard bytes.count == 2 * MetaPage.size else {
      if FileInspection.isPowerOfTwo(first.pageSize), (512...65536).contains(first.pageSize) {
        throw damage(1, "the file ends after \(fileSize) bytes, inside its second page", kind: .truncated)
      }
      throw damage(0, "a page size of \(first.pageSize) bytes is impossible")
    }
    let second = anchor(bytes, at: MetaPage.size)
    if second.magic != MetaPage.magic { throw damage(1, "the second anchor has lost its mark") }
    if second.version != first.version { throw damage(1, "the anchors are of two format versions") }
    guard MetaPage.pageSizes.contains(first.pageSize) else {
      throw StorageError(
        .unsupportedFormat, operation: "inspection", path: file.path, page: 0,
        detail: """
          The store has pages of \(first.pageSize) bytes. Pages of \(MetaPage.pageSizes.lowerBound) to \
          \(MetaPage.pageSizes.upperBound) bytes are supported.
          """)
    }
    for (number, anchor) in [first, second].enumerated() {
      try check(anchor, UInt64(number), pageSize: first.pageSize)
    }
    return first.transactionID < second.transactionID ? second : first
  }

  private func anchor(_ bytes: [UInt8], at offset: Int) -> MetaPage {
    // Never nil: the caller has checked the count.
    bytes.withUnsafeBytes { MetaPage($0.baseAddress! + offset) }
  }

  private func checkFormat(_ anchor: MetaPage, _ bytes: [UInt8]) throws {
    if anchor.magic != MetaPage.magic {
      if anchor.magic == MetaPage.magic.byteSwapped {
        throw unsupported("The store was made on a machine of the other byte order.")
      }
      let narrow = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 12, as: UInt32.self) }
      if narrow == MetaPage.magic { throw unsupported("The store was made on a 32-bit machine.") }
      if try hasSecondAnchor() { throw damage(0, "the first anchor has lost its mark") }
      throw foreign(bytes, nil)
    }
    if anchor.version != MetaPage.version {
      throw unsupported(
        "The store is of LMDB format \(anchor.version); format \(MetaPage.version) is supported.")
    }
  }

  private func check(_ anchor: MetaPage, _ number: UInt64, pageSize: Int) throws {
    if anchor.pageNumber != number { throw damage(number, "it is numbered \(anchor.pageNumber)") }
    if anchor.pageFlags != PageFlags.meta { throw damage(number, "it is not marked as an anchor") }
    if anchor.pageSize != pageSize {
      throw damage(number, "the anchors have pages of \(pageSize) and \(anchor.pageSize) bytes")
    }
    // A commit goes to the anchor of its own parity; a new store has two of number 0.
    if anchor.transactionID != 0 && anchor.transactionID & 1 != number {
      throw damage(number, "transaction \(anchor.transactionID) belongs into the other anchor")
    }
    // A commit counts on from here: after the largest number comes 0, and LMDB would overwrite what it stands on.
    if anchor.transactionID >= MetaPage.transactionLimit {
      throw damage(number, "transaction \(anchor.transactionID) cannot have happened")
    }
    if anchor.lastPage < 1 || anchor.lastPage >= UInt64(1) << 47 / UInt64(pageSize) {
      throw damage(number, "the last page cannot be number \(anchor.lastPage)")
    }
    if anchor.lastPage >= anchor.mapSize / UInt64(pageSize) {
      throw damage(
        number, "the last page, number \(anchor.lastPage), lies outside the map of \(anchor.mapSize) bytes")
    }
    // MDB_INTEGERKEY; MDB_NOSUBDIR and MDB_FIXEDMAP are flags of the environment in the same field.
    if anchor.freeTree.flags & ~0x4001 != 0x08 {
      throw damage(number, "the free list has the flags \(anchor.freeTree.flags)")
    }
    if anchor.mainTree.flags != 0 {
      throw unsupported(
        "The store's main database has the flags \(anchor.mainTree.flags), which Strata never sets.")
    }
  }

  /// Whether there is an anchor in some second page: then the first was one, too.
  private func hasSecondAnchor() throws -> Bool {
    var bytes = [UInt8](repeating: 0, count: MetaPage.size)
    for shift in 9...16 {
      let count = try bytes.withUnsafeMutableBytes { try read($0, at: 1 << shift) }
      guard count == MetaPage.size else { return false }
      let second = anchor(bytes, at: 0)
      if second.magic == MetaPage.magic && second.pageNumber == 1 { return true }
    }
    return false
  }

  private func unsupported(_ reason: String) -> StorageError {
    StorageError(.unsupportedFormat, operation: "inspection", path: file.path, page: 0, detail: reason)
  }

  /// The error for a file that never was a store, with a guess at what it is.
  private func foreign(_ bytes: [UInt8], _ remark: String?) -> StorageError {
    let guess: String? =
      if bytes.starts(with: Array("SQLite format 3\0".utf8)) {
        "It is an SQLite database."
      } else if bytes.starts(with: Array("bplist".utf8)) || bytes.starts(with: Array("<?xml".utf8)) {
        "It is a property list or XML."
      } else if !bytes.isEmpty && bytes.allSatisfy({ $0 == 0 }) {
        "It begins with nothing but zeros."
      } else if bytes.allSatisfy({ $0 == 9 || $0 == 10 || $0 == 13 || $0 >= 32 }) {
        "It looks like text."
      } else {
        nil
      }
    let sentences = ["The file is not a Strata store.", guess, remark].compactMap(\.self)
    return StorageError(
      .notADatabase, operation: "inspection", path: file.path, page: 0,
      detail: sentences.joined(separator: " "))
  }

  private static func isPowerOfTwo(_ number: Int) -> Bool { number > 0 && number & (number - 1) == 0 }
}
