import CLMDBShim
import Foundation

/// Records what a write transaction changes, in its order.
///
/// Belongs to the thread that holds the write transaction. Changes are recorded before LMDB makes them, since their bytes may lie in pages that move.
/// Past `LogFormat.mostRecordBytes` nothing more is recorded, and the commit is flushed instead.
final class LogRecorder {
  // `@exclusivity(unchecked)`: used by one frame on one thread, and there are no calls back. Some thousand changes of a commit come through here.
  // Memory of its own: a change adds up to six numbers and texts, and an array would be asked each time whether it is shared.
  @exclusivity(unchecked) private var base: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity = 4_096
  @exclusivity(unchecked) private var count = 0
  /// Whether the transaction changed more than a record holds.
  @exclusivity(unchecked) private(set) var isTooLarge = false
  /// Whether there is more than names of keyspaces that exist: LMDB commits nothing when nothing was changed.
  @exclusivity(unchecked) private(set) var hasChanges = false
  /// The keyspaces that have a number in the record, in the order of the numbers.
  @exclusivity(unchecked) private var keyspaces: [MDB_dbi] = []
  @exclusivity(unchecked) private var current = -1

  init() { base = .allocate(byteCount: 4_096, alignment: 8) }

  deinit { base.deallocate() }

  /// What is recorded. Valid until the next change.
  var recorded: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }
  /// A copy of it.
  var bytes: [UInt8] { Array(recorded) }

  /// Begins again.
  func reset() {
    count = 0
    keyspaces.removeAll(keepingCapacity: true)
    isTooLarge = false
    hasChanges = false
    current = -1
  }

  /// Records that the changes that follow concern this keyspace. One that was made just now is a change by itself.
  func note(_ handle: MDB_dbi, _ name: @autoclosure () -> String, isNew: Bool = false) {
    if isNew { hasChanges = true }
    if isTooLarge || current >= 0 && keyspaces[current] == handle { return }
    if let known = keyspaces.firstIndex(of: handle) {
      current = known
      append(LogChange.Code.keyspace, UInt16(known))
      return
    }
    current = keyspaces.count
    keyspaces.append(handle)
    var name = name()
    name.withUTF8 { name in
      append(LogChange.Code.name, UInt16(name.count))
      append(UnsafeRawBufferPointer(name))
    }
  }

  /// Records a put.
  @inline(__always)
  func put(_ keyspace: Keyspace, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    guard begin(keyspace, key.count + value.count) else { return }
    appendKey(LogChange.Code.put, key)
    append(UInt64(truncatingIfNeeded: value.count), count: 4)
    append(value)
  }

  /// Records a deletion.
  @inline(__always)
  func delete(_ keyspace: Keyspace, _ key: UnsafeRawBufferPointer) {
    guard begin(keyspace, key.count) else { return }
    appendKey(LogChange.Code.delete, key)
  }

  /// Records that a keyspace is cleared.
  func clear(_ keyspace: Keyspace) {
    guard begin(keyspace, 0) else { return }
    append(UInt64(LogChange.Code.clear), count: 1)
  }

  /// What was changed cannot be recorded: the commit is flushed.
  func giveUp() {
    isTooLarge = true
    hasChanges = true
    count = 0
    base.deallocate()
    capacity = 4_096
    base = .allocate(byteCount: capacity, alignment: 8)
  }

  /// Where the record ends now, to remove what comes after.
  struct Place {
    fileprivate let count: Int
    fileprivate let current: Int
    fileprivate let keyspaceCount: Int
    fileprivate let hasChanges: Bool
  }

  var place: Place {
    Place(count: count, current: current, keyspaceCount: keyspaces.count, hasChanges: hasChanges)
  }

  /// Removes what was recorded since `place`: LMDB had nothing to change.
  func takeBack(to place: Place) {
    if isTooLarge { return }
    count = place.count
    keyspaces.removeLast(keyspaces.count - place.keyspaceCount)
    current = place.current
    hasChanges = place.hasChanges
  }

  /// Whether the change must be recorded.
  @inline(__always)
  private func begin(_ keyspace: Keyspace, _ count: Int) -> Bool {
    hasChanges = true
    if isTooLarge { return false }
    // A name of a keyspace, and the header before the bytes, are less than 1 KiB.
    if self.count + count > LogFormat.mostRecordBytes - 1_024 {
      giveUp()
      return false
    }
    if current < 0 || keyspaces[current] != keyspace.handle { note(keyspace.handle, keyspace.name) }
    return true
  }

  @inline(__always)
  private func appendKey(_ code: UInt8, _ key: UnsafeRawBufferPointer) {
    append(code, UInt16(truncatingIfNeeded: key.count))
    append(key)
  }

  @inline(__always)
  private func append(_ code: UInt8, _ number: UInt16) {
    append(UInt64(code) | UInt64(number) << 8, count: 3)
  }

  /// The lowest `count` bytes of a number, at most 8, the lowest first.
  @inline(__always)
  private func append(_ number: UInt64, count: Int) {
    makeRoom(8)
    // All eight fit; those that are not wanted are overwritten.
    base.storeBytes(of: number.littleEndian, toByteOffset: self.count, as: UInt64.self)
    self.count += count
  }

  @inline(__always)
  private func append(_ more: UnsafeRawBufferPointer) {
    guard let source = more.baseAddress else { return }
    makeRoom(more.count)
    memcpy(base + count, source, more.count)
    count += more.count
  }

  @inline(__always)
  private func makeRoom(_ more: Int) { if count + more > capacity { grow(more) } }

  @inline(never)
  private func grow(_ more: Int) {
    let larger = max(capacity * 2, count + more)
    let new = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
    memcpy(new, base, count)
    base.deallocate()
    (base, capacity) = (new, larger)
  }
}
