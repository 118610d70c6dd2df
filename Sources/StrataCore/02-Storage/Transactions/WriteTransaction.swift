import CLMDBShim
import Foundation

/// The one transaction that may change the environment, for the length of one closure on the writer thread.
///
/// It sees its own changes. It commits when the closure returns and leaves nothing behind when it throws.
/// Any failed change spoils the whole transaction, even when the closure swallows the error. Bytes that it
/// returned are valid until its next change.
struct WriteTransaction: ~Copyable {
  /// The same transaction, for everything that only reads.
  let read: ReadTransaction
  /// The first code that spoiled the transaction, 0 while it is sound. Lives on the writer thread's stack.
  let firstFailure: UnsafeMutablePointer<Int32>
  /// Records every change for the store's log; nil while there is none. Lives as long as the environment.
  let recorder: Unmanaged<LogRecorder>?

  init(
    read: consuming ReadTransaction, firstFailure: UnsafeMutablePointer<Int32>, recorder: LogRecorder? = nil
  ) {
    self.read = read
    self.firstFailure = firstFailure
    self.recorder = recorder.map { Unmanaged.passUnretained($0) }
  }

  /// The value stored under `key`, or nil.
  @inline(__always)
  func get(_ keyspace: Keyspace, _ key: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer? {
    try read.get(keyspace, key)
  }

  /// Stores `value` under `key`, over what was there.
  ///
  /// The corresponding LMDB function is `mdb_put`.
  /// - Parameter append: the caller knows that `key` lies after every key; full pages, half the time.
  /// - Throws: `StorageError`: `.invalid` for a key that is empty or over 511 bytes, and for a wrong
  ///   `append`; `.tooLarge`; `.mapFull` and `.diskFull`, which the caller must let pass; `.damaged`.
  func put(
    _ keyspace: Keyspace, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, append: Bool = false
  ) throws {
    recorder?._withUnsafeGuaranteedRef { $0.put(keyspace, key, value) }
    var keyValue = MDB_val(key)
    var dataValue = MDB_val(value)
    let flags = append ? UInt32(MDB_APPEND) : 0
    let code = mdb_put(read.handle, keyspace.handle, &keyValue, &dataValue, flags)
    if code != 0 { throw failure(code, "mdb_put") }
  }

  /// Deletes the entry of `key`; whether there was one.
  ///
  /// The corresponding LMDB function is `mdb_del`.
  func delete(_ keyspace: Keyspace, _ key: UnsafeRawBufferPointer) throws -> Bool {
    let place = recorder?._withUnsafeGuaranteedRef { recorder in
      let place = recorder.place
      recorder.delete(keyspace, key)
      return place
    }
    var keyValue = MDB_val(key)
    let code = mdb_del(read.handle, keyspace.handle, &keyValue, nil)
    if code == 0 { return true }
    if code == MDB_NOTFOUND {
      if let place { recorder?._withUnsafeGuaranteedRef { $0.takeBack(to: place) } }
      return false
    }
    throw failure(code, "mdb_del")
  }

  /// Walks `keyspace` with a cursor that can also change it.
  func withCursor<R>(_ keyspace: Keyspace, _ body: (inout Cursor) throws -> R) throws -> R {
    var pointer: OpaquePointer?
    let code = mdb_cursor_open(read.handle, keyspace.handle, &pointer)
    guard code == 0, let pointer else { throw failure(code, "mdb_cursor_open") }
    var cursor = Cursor(handle: pointer, firstFailure: firstFailure)
    if let recorder { cursor.recording = Cursor.Recording(recorder: recorder, keyspace: keyspace) }
    return try body(&cursor)
  }

  /// Deletes every entry of `keyspace`; the keyspace stays. Costs its branch pages, not its entries.
  ///
  /// The corresponding LMDB function is `mdb_drop`.
  func clear(_ keyspace: Keyspace) throws {
    recorder?._withUnsafeGuaranteedRef { $0.clear(keyspace) }
    let code = mdb_drop(read.handle, keyspace.handle, 0)
    if code != 0 { throw failure(code, "mdb_drop") }
  }

  /// Hands the pages that were changed so far to the system, and gives their memory to those that are changed next. They become part of the store with
  /// the commit, as all others; after an abort they are free pages. Cursors stay where they are.
  ///
  /// LMDB keeps what a transaction changes in private memory until it commits, up to 512 MB of it; then it hands over pages to make room. There is no call for
  /// that. But LMDB looks for room before it looks at what it is to store: so it is asked to store more than fits into what is left, over the record of
  /// `keyspace`, which it refuses to take a value's bytes for. Nothing happens with a library of which that is not known.
  ///
  /// The corresponding LMDB function is `mdb_put`.
  /// - Throws: `StorageError` when the pages cannot be written: `.diskFull`, `.io`.
  func handOver(recordOf keyspace: Keyspace) throws {
    guard LMDBVersion.library.refusesValuesForRecords, PageTree.record(keyspace, read) != nil else { return }
    var statistics = MDB_stat()
    guard mdb_stat(read.handle, keyspace.handle, &statistics) == 0 else { return }
    let length = min((Self.mostChangedPages / 2 + 64) * Int(statistics.ms_psize), Int(UInt32.max))
    var name = keyspace.name
    let code = name.withUTF8 { name in
      var key = MDB_val(UnsafeRawBufferPointer(name))
      // Reserved, so that nothing is copied: there is nothing at hand.
      var value = MDB_val(mv_size: length, mv_data: nil)
      return mdb_put(read.handle, PageTree.names, &key, &value, UInt32(MDB_RESERVE))
    }
    // A success would have put a value into the place of the record: the transaction must not be committed.
    if code != MDB_INCOMPATIBLE { throw failure(code == 0 ? MDB_BAD_TXN : code, "mdb_put") }
  }

  /// The most pages that LMDB keeps in memory for a transaction. Part of the library.
  private static let mostChangedPages = 131_072

  @inline(never)
  private func failure(_ code: Int32, _ operation: String) -> StorageError {
    if firstFailure.pointee == 0 { firstFailure.pointee = code }
    return StorageError(code, operation, transaction: read.handle)
  }
}
