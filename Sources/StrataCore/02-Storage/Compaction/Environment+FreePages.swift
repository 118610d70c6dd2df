import CLMDBShim
import Foundation

/// The free list in order, and the free pages at the end of the file cut off.
///
/// LMDB never makes a file shorter, and takes free pages in an order of its own. Both are put right by exchanging the newest anchor for another one of the same
/// transaction: the same rows, a new free list, an earlier last page. That is done with LMDB's lock for writing, by a transaction that changes nothing.
///
/// ```
///   the new list on free pages ─▶ flush
///   older anchor  := the new one, as of the next transaction ─▶ flush     from here on the power may fail: this one counts
///   newest anchor := the new one ─▶ flush                                 from here on transactions begin with it
///   older anchor  := the new one, as of the transaction before            so that neither leads beyond the end
///   the log's checkpoint ─▶ the file is cut off
/// ```
///
/// At any moment one of the two anchors is whole and durable, as in a commit of LMDB. A process that is killed in between may leave an anchor of the
/// next transaction, with the same rows: decision 60 says who follows it, and what that means for a store without a log.
extension Environment {
  /// What `settleFreePages` has found and made.
  struct FreePages: Sendable {
    let pageSize: Int
    /// How many pages the file has.
    var pageCount: Int
    /// The pages that the next commits may use, in ascending order. Empty when the list is as it was.
    var usable: [UInt64]
    /// How many more become free once readers have gone on.
    var heldCount: Int
    /// The transaction up to which nothing that was freed may be used, and the newest one: readers keep what was freed from the one to the other.
    var oldest: UInt64
    var newest: UInt64
    /// How many are in use.
    var usedCount: Int { pageCount - usable.count - heldCount }
  }

  /// Puts the free list in order and makes the file as short as it can be now.
  ///
  /// Where there are hardly any free pages, or readers need them all, everything stays as it is, and all of them count as held.
  /// - Throws: what `write` throws; ``StorageError`` `.io` when the medium fails: no commit is lost then, and the file is not cut off.
  func settleFreePages() throws -> FreePages {
    log?.wantFlush()
    return try write { transaction in try self.settleFreePages(transaction) }
  }

  /// The commit of the oldest reader, of whatever process; nil when nobody reads.
  func oldestReader() throws -> UInt64? {
    let (slot, environment) = try claimSection()
    defer { pool.leave(slot) }
    ReaderTable.check(environment)
    return ReaderTable.readers(environment).map { UInt64($0.transactionID) }.min()
  }

  private func settleFreePages(_ transaction: borrowing WriteTransaction) throws -> FreePages {
    let handle = transaction.read.handle
    // Every transaction has one.
    let environment = mdb_txn_env(handle)!
    var data: mdb_filehandle_t = -1
    mdb_env_get_fd(environment, &data)
    let source = PageSource(file: file, descriptor: data)
    let newest = UInt64(mdb_txn_id(handle)) - 1
    var totals = MDB_stat()
    mdb_env_stat(environment, &totals)
    let bytes = try source.bytes(at: Int(newest & 1) * Int(totals.ms_psize), count: MetaPage.size)
    let anchor = MetaPage(bytes)
    guard anchor.transactionID == newest else {
      throw source.damage(newest & 1, "it is not the anchor of the newest transaction")
    }
    ReaderTable.check(environment)
    let readers = ReaderTable.readers(environment).map { UInt64($0.transactionID) }
    let oldest = min(newest, readers.min() ?? newest)
    let list = try FreeList(anchor, source)
    guard let draft = FreeListDraft(list, anchor: bytes, oldest: oldest) else {
      return FreePages(
        pageSize: anchor.pageSize, pageCount: Int(anchor.lastPage) + 1, usable: [],
        heldCount: list.pageCount, oldest: oldest, newest: newest)
    }
    let exchange = AnchorExchange(
      file: file, data: data, old: bytes, new: draft.anchor,
      flush: { [self] in
        if let log { return try log.flushData(handle) }
        let code = file.system.syncStore(environment)
        if code != 0 { throw StorageError(code, "fdatasync", path: path) }
      }, doubt: { [self] error in log?.doubtData(error) ?? error })
    try exchange.write(draft.writes)
    try exchange.run()
    if let log, log.isInForce { try log.checkpoint(handle) }
    try exchange.cut(to: draft.pageCount)
    return FreePages(
      pageSize: anchor.pageSize, pageCount: draft.pageCount, usable: draft.usable,
      heldCount: draft.heldCount, oldest: oldest, newest: newest)
  }
}

/// One anchor taking the place of another one of the same transaction.
private struct AnchorExchange {
  let file: StoreFile
  let data: Int32
  let old: [UInt8]
  let new: [UInt8]
  let flush: () throws -> Void
  /// Says of the store that the medium may not have what the file seems to hold, where there is a log to recover it from.
  let doubt: (any Error) -> any Error

  private var meta: MetaPage { MetaPage(old) }
  /// Anchors are written from here on, as LMDB does: what comes before is always the same.
  private static let start = 32

  /// Writes the pages that the new anchor leads to, and flushes them with everything else.
  func write(_ pages: [(page: UInt64, bytes: [UInt8])]) throws {
    for (page, bytes) in pages {
      try bytes.withUnsafeBytes {
        try file.system.writeAll(data, $0, at: Int(page) * meta.pageSize, path: file.path)
      }
    }
    try flush()
  }

  func run() throws {
    let newest = meta.transactionID
    let place = (newest + 1) & 1
    let before = try PageSource(file: file, descriptor: data).bytes(
      at: Int(place) * meta.pageSize, count: MetaPage.size)
    do {
      try write(new, of: newest + 1)
      try flush()
      try write(new, of: newest)
    } catch {
      // The medium may have the new list, whose pages the next commit may take by the old one. So the old anchors are durable before there is a next commit.
      do {
        try write(old, of: newest)
        try flush()
        try before.withUnsafeBytes { try write($0, at: place) }
        try flush()
      } catch let second { throw doubt(second) }
      throw error
    }
    try flush()
    try write(new, of: newest - 1)
  }

  func cut(to pageCount: Int) throws {
    let size = pageCount * meta.pageSize
    switch file.system.statusOfDescriptor(data) {
    case .failure(let code): throw StorageError(code.number, "fstat", path: file.path)
    case .success(let status) where status.size <= size: return
    case .success:
      let code = file.system.truncate(data, size)
      if code != 0 { throw StorageError(-code, "ftruncate", path: file.path) }
    }
  }

  private func write(_ anchor: [UInt8], of transactionID: UInt64) throws {
    var bytes = anchor
    bytes.withUnsafeMutableBytes {
      $0.storeBytes(of: transactionID & 1, toByteOffset: MetaPage.numberOffset, as: UInt64.self)
      $0.storeBytes(of: transactionID, toByteOffset: MetaPage.transactionOffset, as: UInt64.self)
    }
    try bytes.withUnsafeBytes { try write($0, at: transactionID & 1) }
  }

  private func write(_ anchor: UnsafeRawBufferPointer, at place: UInt64) throws {
    try file.system.writeAll(
      data, UnsafeRawBufferPointer(rebasing: anchor[Self.start...]),
      at: Int(place) * meta.pageSize + Self.start, path: file.path)
  }
}
