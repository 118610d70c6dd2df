/// Writes down which rows a transaction changes, as they are written: no pass of its own.
///
/// Lives for one run of a transaction's body, on the writer's thread.
final class JournalRecorder {
  private struct List {
    let entity: Int
    let kind: JournalFormat.Kind
    var keys: KeyRuns
  }

  private let limits: JournalFormat.Limits
  private let writer: UInt64
  // `@exclusivity(unchecked)`: one frame on one thread uses it, and there are no calls back.
  @exclusivity(unchecked) private var lists: ContiguousArray<List> = []
  /// The list the last row went to.
  @exclusivity(unchecked) private var current = -1
  /// By entity and kind, the newest list; empty while there are few lists.
  @exclusivity(unchecked) private var places: [Int: Int] = [:]
  @exclusivity(unchecked) private var entities = SlotBitmap()
  /// Runs that are written; when they are too many, only entities are noted.
  @exclusivity(unchecked) private var runCount = 0
  @exclusivity(unchecked) private var isTooLong = false

  /// `writer` names who commits.
  init(writer: UInt64, limits: JournalFormat.Limits) {
    self.writer = writer
    self.limits = limits
  }

  /// A row has been changed.
  @inline(__always)
  func note(_ key: UInt64, of entity: Int, _ kind: JournalFormat.Kind) {
    if current >= 0 {
      // Mostly the next key of the same kind.
      let isNext = lists.withUnsafeMutableBufferPointer { lists in
        let list = lists.baseAddress.unsafelyUnwrapped + current
        return list.pointee.entity == entity && list.pointee.kind == kind && list.pointee.keys.extend(to: key)
      }
      if isNext { return }
    }
    noteElsewhere(key, entity, kind)
  }

  @inline(never)
  private func noteElsewhere(_ key: UInt64, _ entity: Int, _ kind: JournalFormat.Kind) {
    entities.insert(entity)
    if isTooLong { return }
    runCount += 1
    // A run takes a byte at least.
    if runCount > limits.entryBytes {
      isTooLong = true
      lists = []
      current = -1
      return
    }
    if let known = newestList(entity, kind), lists[known].keys.last <= key {
      current = known
      if lists[known].keys.last < key { lists[known].keys.append(key) }
      return
    }
    current = lists.count
    lists.append(List(entity: entity, kind: kind, keys: KeyRuns(key)))
    if lists.count > Self.few {
      // The first time of all that there are.
      for place in places.isEmpty ? 0..<lists.count : current..<lists.count {
        places[Self.place(lists[place].entity, lists[place].kind)] = place
      }
    }
  }

  private func newestList(_ entity: Int, _ kind: JournalFormat.Kind) -> Int? {
    if lists.count > Self.few { return places[Self.place(entity, kind)] }
    return lists.lastIndex { $0.entity == entity && $0.kind == kind }
  }

  private static func place(_ entity: Int, _ kind: JournalFormat.Kind) -> Int {
    entity << 3 | Int(kind.rawValue)
  }

  /// So many lists are looked through one by one: most commits have one.
  private static let few = 8

  /// The entry. `codes` are the store's, by entity number.
  func entry(codes: [UInt16]) -> ContiguousArray<UInt8> {
    var bytes: ContiguousArray<UInt8> = [JournalFormat.format]
    bytes.append(littleEndian: writer)
    if !isTooLong {
      for var list in lists {
        list.keys.endRun()
        append(codes[list.entity], list.kind, to: &bytes)
        bytes.append(varint: list.keys.count)
        bytes.append(contentsOf: list.keys.bytes)
      }
      if bytes.count <= limits.entryBytes { return bytes }
      bytes.removeSubrange(JournalFormat.headerLength...)
    }
    entities.forEach { append(codes[$0], .any, to: &bytes) }
    return bytes
  }

  private func append(_ code: UInt16, _ kind: JournalFormat.Kind, to bytes: inout ContiguousArray<UInt8>) {
    bytes.append(littleEndian: code)
    bytes.append(kind.rawValue)
  }
}
