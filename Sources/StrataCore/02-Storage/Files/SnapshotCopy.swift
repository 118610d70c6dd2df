import CLMDBShim
import Foundation

/// A copy of a store, page by page, as one read transaction sees it. It does not wait and does not block writers.
///
/// LMDB's own plain copy takes the lock for writing for a moment, and would wait for a stopped process without limit. What needs that lock
/// there are the two anchors, which the next commits overwrite; here they are made from the one that the transaction began with. The pages that
/// it leads to are not written as long as the transaction lives.
struct SnapshotCopy {
  let environment: OpaquePointer
  let destination: StoreFile
  /// The copy, open for writing.
  let descriptor: Int32

  private static let mostAttempts = 100
  private static let chunk = 1 << 20

  /// Writes the copy. The caller flushes it.
  /// - Throws: ``StorageError`` of reading or writing.
  func write() throws {
    var source: mdb_filehandle_t = -1
    mdb_env_get_fd(environment, &source)
    for _ in 0..<Self.mostAttempts {
      var transaction: OpaquePointer?
      let code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction)
      guard code == 0, let transaction else {
        throw StorageError(code, "mdb_txn_begin", path: destination.path)
      }
      defer { mdb_txn_abort(transaction) }
      guard let anchor = try readAnchor(UInt64(mdb_txn_id(transaction)), from: source) else { continue }
      try writeAnchors(anchor)
      try copyPages(MetaPage(anchor), from: source)
      return
    }
    throw StorageError(
      .busy, operation: "pread", path: destination.path,
      detail: "The store was written so often that no copy of one moment could be begun.")
  }

  /// The bytes of the anchor of that transaction; nil when later commits have overwritten it.
  private func readAnchor(_ transactionID: UInt64, from source: Int32) throws -> [UInt8]? {
    var statistics = MDB_stat()
    mdb_env_stat(environment, &statistics)
    let offset = Int(transactionID & 1) * Int(statistics.ms_psize)
    // A commit may be writing it just now: what counts was read twice.
    var bytes = try read(MetaPage.size, at: offset, from: source)
    for _ in 0..<Self.mostAttempts {
      let again = try read(MetaPage.size, at: offset, from: source)
      if again == bytes { break }
      bytes = again
    }
    guard bytes.count == MetaPage.size else { return nil }
    return MetaPage(bytes).transactionID == transactionID ? bytes : nil
  }

  /// The anchor and, in the place of the other one, the same with the number before.
  private func writeAnchors(_ anchor: [UInt8]) throws {
    let meta = MetaPage(anchor)
    var pages = [UInt8](repeating: 0, count: 2 * meta.pageSize)
    for (number, bytes) in MetaPage.pair(anchor).enumerated() {
      let start = number * meta.pageSize
      pages.replaceSubrange(start..<start + MetaPage.size, with: bytes)
    }
    try pages.withUnsafeBytes {
      try destination.system.writeAll(descriptor, $0, at: 0, path: destination.path)
    }
  }

  private func copyPages(_ anchor: MetaPage, from source: Int32) throws {
    let end = Int(anchor.lastPage + 1) * anchor.pageSize
    var offset = 2 * anchor.pageSize
    while offset < end {
      let bytes = try read(min(Self.chunk, end - offset), at: offset, from: source)
      // A file may end before its last page, which is free then.
      if bytes.isEmpty { return }
      try bytes.withUnsafeBytes {
        try destination.system.writeAll(descriptor, $0, at: offset, path: destination.path)
      }
      offset += bytes.count
    }
  }

  /// Fewer bytes only at the end of the file.
  private func read(_ count: Int, at offset: Int, from source: Int32) throws -> [UInt8] {
    let system = destination.system
    var failure = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
      while done < count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[done...])
        let got = system.read(source, rest, offset + done)
        if got < 0 { failure = -got }
        if got <= 0 { return }
        done += got
      }
    }
    if failure != 0 { throw StorageError(Int32(failure), "pread", path: destination.path) }
    return bytes
  }
}
