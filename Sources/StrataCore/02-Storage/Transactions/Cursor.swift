import CLMDBShim
import Foundation

/// A place in a keyspace, between which and its neighbours it steps in key order.
///
/// A fresh cursor stands nowhere: `next()` then means the first entry and `previous()` the last. After nil
/// from `next()` or `previous()` it still stands on the entry it could not leave. After `delete()` it stands
/// where the entry was: `next()` gives the one that followed.
///
/// Steps cost some tens of nanoseconds and never allocate. Bytes are valid until the closure of the
/// transaction ends, in a write transaction until its next change.
struct Cursor: ~Copyable {
  /// One key and its value, as they lie in the memory map.
  struct Entry {
    var key: UnsafeRawBufferPointer
    var value: UnsafeRawBufferPointer
  }

  /// LMDB's cursor.
  let handle: OpaquePointer
  /// Where a write transaction remembers the first code that spoiled it; nil in a read transaction.
  let firstFailure: UnsafeMutablePointer<Int32>?
  /// What changes are taken down with; nil in a read transaction, and while the store has no log.
  var recording: Recording?

  /// The recorder of changes, and the keyspace.
  struct Recording {
    let recorder: Unmanaged<LogRecorder>
    let keyspace: Keyspace
  }

  init(handle: OpaquePointer, firstFailure: UnsafeMutablePointer<Int32>?) {
    self.handle = handle
    self.firstFailure = firstFailure
  }

  deinit { mdb_cursor_close(handle) }

  /// Goes to the entry with the smallest key.
  @inline(__always)
  mutating func first() throws -> Entry? { try move(MDB_FIRST) }

  /// Goes to the entry with the largest key.
  @inline(__always)
  mutating func last() throws -> Entry? { try move(MDB_LAST) }

  /// Goes to the entry that follows.
  @inline(__always)
  mutating func next() throws -> Entry? { try move(MDB_NEXT) }

  /// Goes to the entry before.
  @inline(__always)
  mutating func previous() throws -> Entry? { try move(MDB_PREV) }

  /// Goes to the first entry whose key is not below `key`. An empty `key` means the first entry.
  @inline(__always)
  mutating func seek(atLeast key: UnsafeRawBufferPointer) throws -> Entry? {
    if key.isEmpty { return try first() }
    return try move(MDB_SET_RANGE, to: key)
  }

  /// Goes to the entry whose key is `key`.
  @inline(__always)
  mutating func seek(exactly key: UnsafeRawBufferPointer) throws -> Entry? { try move(MDB_SET_KEY, to: key) }

  /// Stores `value` under `key` and goes there. Only in a write transaction.
  ///
  /// - Parameter append: the caller knows that `key` lies after every key; full pages, half the time.
  /// - Throws: `.invalid` when `append` is wrong; otherwise what `WriteTransaction.put` throws.
  mutating func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, append: Bool = false
  ) throws {
    if let recording {
      recording.recorder._withUnsafeGuaranteedRef { $0.put(recording.keyspace, key, value) }
    }
    var keyValue = MDB_val(key)
    var dataValue = MDB_val(value)
    let code = mdb_cursor_put(handle, &keyValue, &dataValue, append ? UInt32(MDB_APPEND) : 0)
    if code != 0 { throw failure(code, "mdb_cursor_put") }
  }

  /// Whether the cursor stands on the entry of `key`.
  @inline(__always)
  mutating func stands(on key: UnsafeRawBufferPointer) -> Bool {
    var found = MDB_val()
    var value = MDB_val()
    // Standing nowhere, or behind the end, is no failure: a caller that wants to know more seeks.
    guard mdb_cursor_get(handle, &found, &value, MDB_GET_CURRENT) == 0, found.mv_size == key.count,
      let start = key.baseAddress
    else { return false }
    return memcmp(found.mv_data, start, key.count) == 0
  }

  /// Deletes the entry the cursor stands on. Only in a write transaction.
  mutating func delete() throws {
    if let recording { takeDownDeletion(recording) }
    let code = mdb_cursor_del(handle, 0)
    if code != 0 { throw failure(code, "mdb_cursor_del") }
  }

  /// The same where it is known that the entry is that of `key`.
  mutating func delete(_ key: UnsafeRawBufferPointer) throws {
    if let recording {
      recording.recorder._withUnsafeGuaranteedRef { $0.delete(recording.keyspace, key) }
    }
    let code = mdb_cursor_del(handle, 0)
    if code != 0 { throw failure(code, "mdb_cursor_del") }
  }

  /// The entry on which the cursor stands is going to be deleted.
  private mutating func takeDownDeletion(_ recording: Recording) {
    var key = MDB_val()
    var value = MDB_val()
    let code = mdb_cursor_get(handle, &key, &value, MDB_GET_CURRENT)
    recording.recorder._withUnsafeGuaranteedRef { recorder in
      // Where LMDB does not say which entry it is, it has nothing to delete, or the record cannot tell what.
      if code == 0 {
        recorder.delete(recording.keyspace, UnsafeRawBufferPointer(key))
      } else {
        recorder.giveUp()
      }
    }
  }

  @inline(__always)
  private mutating func move(
    _ operation: MDB_cursor_op, to key: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) throws -> Entry? {
    var keyValue = MDB_val(key)
    var value = MDB_val()
    let code = mdb_cursor_get(handle, &keyValue, &value, operation)
    if code == 0 { return Entry(key: UnsafeRawBufferPointer(keyValue), value: UnsafeRawBufferPointer(value)) }
    if code == MDB_NOTFOUND { return nil }
    throw failure(code, "mdb_cursor_get")
  }

  @inline(never)
  private func failure(_ code: Int32, _ operation: String) -> StorageError {
    if let firstFailure, firstFailure.pointee == 0 { firstFailure.pointee = code }
    return StorageError(code, operation, transaction: mdb_cursor_txn(handle))
  }
}
