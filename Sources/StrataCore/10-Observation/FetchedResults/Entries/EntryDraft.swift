/// The entries of a leaf while they are put together: arrays, which can be changed.
struct EntryDraft {
  private(set) var identities: ContiguousArray<UInt64> = []
  private(set) var codes: ContiguousArray<UInt16> = []
  private(set) var sections: ContiguousArray<UInt32> = []
  /// Where each entry's key ends in `bytes`.
  private var ends: ContiguousArray<UInt32> = []
  private var bytes: ContiguousArray<UInt8> = []

  var count: Int { identities.count }

  init() {}

  /// With room for one entry more.
  init(_ entries: PackedEntries) {
    reserve(entries.count + 1)
    for place in 0..<entries.count { append(entries, place) }
  }

  /// The entries in `range`.
  init(_ entries: PackedEntries, _ range: Range<Int>) {
    reserve(range.count)
    for place in range { append(entries, place) }
  }

  private mutating func reserve(_ count: Int) {
    identities.reserveCapacity(count)
    codes.reserveCapacity(count)
    sections.reserveCapacity(count)
    ends.reserveCapacity(count)
  }

  /// The keys, valid inside the closure that received them.
  struct Keys {
    fileprivate let bytes: UnsafeRawBufferPointer
    fileprivate let ends: UnsafeBufferPointer<UInt32>

    @inline(__always)
    func key(_ place: Int) -> UnsafeRawBufferPointer {
      let start = place == 0 ? 0 : Int(ends[place - 1])
      return UnsafeRawBufferPointer(rebasing: bytes[start..<Int(ends[place])])
    }
  }

  @inline(__always)
  func withKeys<R>(_ body: (Keys) -> R) -> R {
    bytes.withUnsafeBytes { bytes in ends.withUnsafeBufferPointer { body(Keys(bytes: bytes, ends: $0)) } }
  }

  /// Adds an entry at the end. The key's bytes are copied.
  mutating func append(_ identity: UInt64, _ code: UInt16, _ section: UInt32, _ key: UnsafeRawBufferPointer) {
    identities.append(identity)
    codes.append(code)
    sections.append(section)
    bytes.append(contentsOf: key)
    ends.append(UInt32(bytes.count))
  }

  /// Adds one of other entries at the end.
  mutating func append(_ entries: PackedEntries, _ place: Int) {
    identities.append(entries.identity(place))
    codes.append(entries.code(place))
    sections.append(entries.section(place))
    entries.appendKey(place, to: &bytes)
    ends.append(UInt32(bytes.count))
  }

  /// Keeps the memory.
  mutating func removeAll() {
    identities.removeAll(keepingCapacity: true)
    codes.removeAll(keepingCapacity: true)
    sections.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
  }

  mutating func insert(_ entry: ResultEntry, at place: Int) {
    identities.insert(entry.identity, at: place)
    codes.insert(entry.code, at: place)
    sections.insert(entry.section, at: place)
    let start = place == 0 ? 0 : Int(ends[place - 1])
    bytes.insert(contentsOf: entry.key, at: start)
    ends.insert(UInt32(start), at: place)
    for index in place..<ends.count { ends[index] += UInt32(entry.key.count) }
  }

  mutating func remove(at place: Int) {
    let start = place == 0 ? 0 : ends[place - 1]
    let length = ends[place] - start
    bytes.removeSubrange(Int(start)..<Int(start + length))
    ends.remove(at: place)
    for index in place..<ends.count { ends[index] -= length }
    identities.remove(at: place)
    codes.remove(at: place)
    sections.remove(at: place)
  }
}
