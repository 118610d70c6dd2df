import Foundation

/// The entries of a leaf in as few bytes as they take: an immutable value.
///
/// ```
///   identities   4 bytes each; 8 where they differ in more than that
///   ends         where suffixes differ in length: 2 bytes each, 4 where they do not do
///   prefix       what all keys begin with
///   suffixes     the rest of each key, one behind the other
/// ```
///
/// Neighbours in a list mostly begin alike, and are of the same entity, section and store.
struct PackedEntries: @unchecked Sendable {
  // Unchecked: what is written is not changed any more.

  let count: Int
  private let memory: EntryMemory
  private let offset: Int
  private let layout: Layout
  /// Of all of them, unless `mixed` is there.
  private let code: UInt16
  private let section: UInt32
  private let mixed: Mixed?

  /// Entities and sections of entries that are not all of the same.
  private final class Mixed: Sendable {
    let codes: ContiguousArray<UInt16>
    let sections: ContiguousArray<UInt32>

    init(_ codes: ContiguousArray<UInt16>, _ sections: ContiguousArray<UInt32>) {
      self.codes = codes
      self.sections = sections
    }

    /// Nil when all are the same.
    convenience init?(ofDifferent codes: ContiguousArray<UInt16>, _ sections: ContiguousArray<UInt32>) {
      if codes.allSatisfy({ $0 == codes[0] }), sections.allSatisfy({ $0 == sections[0] }) { return nil }
      self.init(codes, sections)
    }
  }

  static let empty = PackedEntries(EntryDraft())

  /// Where what lies.
  struct Layout {
    /// What all identities have in common beside 32 bits of the primary key.
    var common: UInt64 = 0
    var isNarrow = true
    var longestKey = 0
    var prefixLength = 0
    /// Negative when suffixes differ in length.
    var suffixLength = 0
    var endWidth = 0
    var endsOffset = 0
    var prefixOffset = 0
    var byteCount = 0

    /// The bits of an identity that four bytes keep.
    private static let narrow: UInt64 = 0xFFFF_FFFF << 16

    init() {}

    /// For entries in order.
    @inline(__always)
    init(
      count: Int, identity: (Int) -> UInt64, key: (Int) -> UnsafeRawBufferPointer
    ) {
      if count == 0 { return }
      let firstKey = key(0)
      let lastKey = key(count - 1)
      let common = identity(0) & ~Self.narrow
      var differing: UInt64 = 0
      var (shortest, longest, total) = (firstKey.count, firstKey.count, 0)
      for place in 0..<count {
        differing |= identity(place) ^ common
        let length = key(place).count
        total += length
        shortest = min(shortest, length)
        longest = max(longest, length)
      }
      self.common = common
      longestKey = longest
      let isUniform = shortest == longest
      isNarrow = differing & ~Self.narrow == 0
      // What the first and the last one begin with, all in between begin with, too: in order none is shorter than that. In a damaged file one may be.
      while prefixLength < shortest, firstKey[prefixLength] == lastKey[prefixLength] { prefixLength += 1 }
      total -= count * prefixLength
      suffixLength = isUniform ? firstKey.count - prefixLength : -1
      endWidth = isUniform ? 0 : total <= Int(UInt16.max) ? 2 : 4
      endsOffset = count * (isNarrow ? 4 : 8)
      prefixOffset = endsOffset + count * endWidth
      byteCount = prefixOffset + prefixLength + total
    }

    /// Whether four bytes are enough for each of these identities.
    static func isNarrow(_ places: Range<Int>, _ identity: (Int) -> UInt64) -> Bool {
      guard let first = places.first.map(identity) else { return true }
      return places.allSatisfy { (identity($0) ^ first) & ~narrow == 0 }
    }

    /// For another number of entries of the same kind.
    func resized(count: Int, suffixes: Int) -> Layout {
      var result = self
      result.endsOffset = count * (isNarrow ? 4 : 8)
      result.prefixOffset = result.endsOffset + count * endWidth
      result.byteCount = result.prefixOffset + prefixLength + suffixes
      return result
    }

    /// Whether an identity has in common what all have.
    func holds(_ identity: UInt64) -> Bool { !isNarrow || identity & ~Self.narrow == common }

    @inline(__always)
    func store(_ identity: UInt64, at place: Int, in target: UnsafeMutableRawPointer) {
      if isNarrow {
        target.storeBytes(
          of: UInt32(truncatingIfNeeded: identity >> 16), toByteOffset: 4 * place, as: UInt32.self)
      } else {
        target.storeBytes(of: identity, toByteOffset: 8 * place, as: UInt64.self)
      }
    }

    @inline(__always)
    func store(end: Int, at place: Int, in target: UnsafeMutableRawPointer) {
      if endWidth == 2 {
        target.storeBytes(
          of: UInt16(truncatingIfNeeded: end), toByteOffset: endsOffset + 2 * place, as: UInt16.self)
      } else {
        target.storeBytes(
          of: UInt32(truncatingIfNeeded: end), toByteOffset: endsOffset + 4 * place, as: UInt32.self)
      }
    }

    /// Writes the entries to `target`, which has room for `byteCount` bytes.
    @inline(__always)
    func write(
      count: Int, to target: UnsafeMutableRawPointer, identity: (Int) -> UInt64,
      key: (Int) -> UnsafeRawBufferPointer
    ) {
      if count == 0 { return }
      for place in 0..<count { store(identity(place), at: place, in: target) }
      let start = target + prefixOffset + prefixLength
      PackedEntries.copy(key(0), 0, prefixLength, to: target + prefixOffset)
      if suffixLength >= 0 {
        for place in 0..<count {
          PackedEntries.copy(key(place), prefixLength, suffixLength, to: start + place * suffixLength)
        }
        return
      }
      var next = start
      for place in 0..<count {
        let bytes = key(place)
        let length = bytes.count - prefixLength
        PackedEntries.copy(bytes, prefixLength, length, to: next)
        next += length
        store(end: next - start, at: place, in: target)
      }
    }
  }

  /// Copies `count` bytes from `offset` on; short ones without a call.
  @inline(__always)
  private static func copy(
    _ bytes: UnsafeRawBufferPointer, _ offset: Int, _ count: Int, to target: UnsafeMutableRawPointer
  ) {
    guard count > 0, let source = bytes.baseAddress else { return }
    if count > 8 {
      target.copyMemory(from: source + offset, byteCount: count)
      return
    }
    for place in 0..<count {
      target.storeBytes(
        of: source.load(fromByteOffset: offset + place, as: UInt8.self), toByteOffset: place, as: UInt8.self)
    }
  }

  private init(
    _ count: Int, _ layout: Layout, _ memory: EntryMemory, _ offset: Int, _ code: UInt16, _ section: UInt32,
    _ mixed: Mixed?
  ) {
    self.count = count
    self.layout = layout
    self.memory = memory
    self.offset = offset
    self.code = code
    self.section = section
    self.mixed = mixed
  }

  /// Those that lie at `offset` of a memory, all of one entity and section.
  init(count: Int, _ layout: Layout, in memory: EntryMemory, at offset: Int, code: UInt16, section: UInt32) {
    self.init(count, layout, memory, offset, code, section, nil)
  }

  /// The same in other sections, one for each.
  init(_ entries: PackedEntries, sections: ContiguousArray<UInt32>) {
    let codes = ContiguousArray((0..<entries.count).map { entries.code($0) })
    self.init(
      entries.count, entries.layout, entries.memory, entries.offset, entries.code, sections.first ?? 0,
      Mixed(codes, sections))
  }

  init(_ draft: borrowing EntryDraft) {
    let count = draft.count
    let (layout, memory) = draft.withKeys { keys in
      let layout = Layout(count: count, identity: { draft.identities[$0] }, key: { keys.key($0) })
      let memory = EntryMemory(byteCount: layout.byteCount)
      layout.write(
        count: count, to: memory.start, identity: { draft.identities[$0] }, key: { keys.key($0) })
      return (layout, memory)
    }
    self.init(
      count, layout, memory, 0, draft.codes.first ?? 0, draft.sections.first ?? 0,
      Mixed(ofDifferent: draft.codes, draft.sections))
  }

  // MARK: Looking

  private var start: UnsafeRawPointer { UnsafeRawPointer(memory.start + offset) }

  @inline(__always)
  func identity(_ place: Int) -> UInt64 {
    precondition(place >= 0 && place < count, "a place is that of an entry")
    return layout.isNarrow
      ? layout.common | UInt64(start.loadUnaligned(fromByteOffset: 4 * place, as: UInt32.self)) << 16
      : start.loadUnaligned(fromByteOffset: 8 * place, as: UInt64.self)
  }

  func code(_ place: Int) -> UInt16 { mixed?.codes[place] ?? code }
  func section(_ place: Int) -> UInt32 { mixed?.sections[place] ?? section }

  /// How many bytes they take, without entities and sections that are not all the same.
  var byteCount: Int { layout.byteCount }

  /// How many entries there are, and runs of equal sections.
  var summary: EntrySummary {
    guard let mixed else { return EntrySummary(count: count, section: section) }
    var sum = EntrySummary()
    for section in mixed.sections { sum.append(section: section) }
    return sum
  }

  /// Calls `body` with each section and a number of its entries; with a section several times when it changes back and forth.
  func forEachSection(_ body: (UInt32, Int) -> Void) {
    if let mixed {
      for section in mixed.sections { body(section, 1) }
    } else if count > 0 {
      body(section, count)
    }
  }

  /// The place of an object's entry.
  func place(of identity: UInt64) -> Int? {
    let start = start
    if layout.isNarrow {
      let narrow = UInt32(truncatingIfNeeded: identity >> 16)
      guard layout.common | UInt64(narrow) << 16 == identity else { return nil }
      for place in 0..<count
      where start.loadUnaligned(fromByteOffset: 4 * place, as: UInt32.self) == narrow { return place }
      return nil
    }
    for place in 0..<count where start.loadUnaligned(fromByteOffset: 8 * place, as: UInt64.self) == identity {
      return place
    }
    return nil
  }

  /// Calls `body` with each identity, in order.
  @inline(__always)
  func forEachIdentity(_ body: (UInt64) -> Void) {
    for place in 0..<count { body(identity(place)) }
  }

  private var prefix: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: start + layout.prefixOffset, count: layout.prefixLength)
  }

  /// What lies behind the prefix.
  @inline(__always)
  private func suffix(_ place: Int) -> UnsafeRawBufferPointer {
    let suffixes = start + layout.prefixOffset + layout.prefixLength
    if layout.suffixLength >= 0 {
      return UnsafeRawBufferPointer(
        start: suffixes + place * layout.suffixLength, count: layout.suffixLength)
    }
    let from = place == 0 ? 0 : end(place - 1)
    return UnsafeRawBufferPointer(start: suffixes + from, count: end(place) - from)
  }

  @inline(__always)
  private func end(_ place: Int) -> Int {
    layout.endWidth == 2
      ? Int(start.loadUnaligned(fromByteOffset: layout.endsOffset + 2 * place, as: UInt16.self))
      : Int(start.loadUnaligned(fromByteOffset: layout.endsOffset + 4 * place, as: UInt32.self))
  }

  func key(_ place: Int) -> [UInt8] {
    let suffix = suffix(place)
    return [UInt8](unsafeUninitializedCapacity: layout.prefixLength + suffix.count) { bytes, count in
      let target = UnsafeMutableRawBufferPointer(bytes)
      target.copyMemory(from: prefix)
      if !suffix.isEmpty {
        UnsafeMutableRawBufferPointer(rebasing: target[layout.prefixLength...]).copyMemory(from: suffix)
      }
      count = target.count
    }
  }

  /// Adds the bytes of a key to others.
  func appendKey(_ place: Int, to bytes: inout ContiguousArray<UInt8>) {
    bytes.append(contentsOf: prefix)
    bytes.append(contentsOf: suffix(place))
  }

  /// How many of the entries come before the key.
  func lowerBound(_ key: UnsafeRawBufferPointer, _ identity: UInt64) -> Int {
    if count == 0 { return 0 }
    let length = min(layout.prefixLength, key.count)
    let order = KeyOrder.order(
      UnsafeRawBufferPointer(rebasing: prefix.prefix(length)),
      UnsafeRawBufferPointer(rebasing: key.prefix(length)))
    if order != 0 { return order < 0 ? count : 0 }
    // All of them go on where the key ends.
    if key.count < layout.prefixLength { return 0 }
    let rest = UnsafeRawBufferPointer(rebasing: key.dropFirst(layout.prefixLength))
    return (0..<count).partitioningIndex {
      EntryNode.order(suffix($0), self.identity($0), rest, identity) >= 0
    }
  }

  // MARK: Changing

  /// With one entry more. Copies bytes, when what all have in common the entry has, too.
  func inserting(_ entry: ResultEntry, at place: Int) -> PackedEntries {
    spliced(place, entry)
      ?? {
        var draft = EntryDraft(self)
        draft.insert(entry, at: place)
        return PackedEntries(draft)
      }()
  }

  /// Without one of the entries.
  func removing(at place: Int) -> PackedEntries {
    spliced(place, nil)
      ?? {
        var draft = EntryDraft(self)
        draft.remove(at: place)
        return PackedEntries(draft)
      }()
  }

  /// With an entry at `place`, or without the one that is there; nil when what is packed has to be packed otherwise then.
  private func spliced(_ place: Int, _ entry: ResultEntry?) -> PackedEntries? {
    guard mixed == nil, count > 1 else { return nil }
    var added = 0
    if let entry {
      guard entry.code == code, entry.section == section, layout.holds(entry.identity),
        entry.key.starts(with: prefix)
      else { return nil }
      added = entry.key.count - layout.prefixLength
      if layout.suffixLength >= 0, added != layout.suffixLength { return nil }
    }
    let (from, to) = (suffixStart(place), entry == nil ? suffixStart(place + 1) : suffixStart(place))
    let total = suffixStart(count)
    let newTotal = total - (to - from) + added
    if layout.endWidth == 2, newTotal > Int(UInt16.max) { return nil }
    let newCount = entry == nil ? count - 1 : count + 1
    let new = layout.resized(count: newCount, suffixes: newTotal)
    let memory = EntryMemory(byteCount: new.byteCount)
    let (source, target) = (start, memory.start)
    // The first entry that stays behind the place.
    let next = entry == nil ? place + 1 : place
    let newNext = entry == nil ? place : place + 1

    let width = layout.isNarrow ? 4 : 8
    target.copyMemory(from: source, byteCount: place * width)
    if let entry { new.store(entry.identity, at: place, in: target) }
    (target + newNext * width).copyMemory(from: source + next * width, byteCount: (count - next) * width)

    if layout.endWidth > 0 {
      for place in 0..<place { new.store(end: end(place), at: place, in: target) }
      if entry != nil { new.store(end: from + added, at: place, in: target) }
      for behind in 0..<count - next {
        new.store(end: end(next + behind) + newTotal - total, at: newNext + behind, in: target)
      }
    }

    let oldSuffixes = source + layout.prefixOffset + layout.prefixLength
    let suffixes = target + new.prefixOffset + new.prefixLength
    (target + new.prefixOffset).copyMemory(
      from: source + layout.prefixOffset, byteCount: layout.prefixLength + from)
    entry?.key.withUnsafeBytes { key in
      Self.copy(key, layout.prefixLength, added, to: suffixes + from)
    }
    (suffixes + from + added).copyMemory(from: oldSuffixes + to, byteCount: total - to)
    return PackedEntries(newCount, new, memory, 0, code, section, nil)
  }

  /// The entries in `range`, in a memory of their own. Copies bytes: what all have in common, these have, too. They are packed anew where they have notably more.
  func part(_ range: Range<Int>) -> PackedEntries {
    if range.isEmpty { return .empty }
    if range.count == count { return self }
    if isPackedBetterAlone(range) { return PackedEntries(EntryDraft(self, range)) }
    let (from, to) = (suffixStart(range.lowerBound), suffixStart(range.upperBound))
    let new = layout.resized(count: range.count, suffixes: to - from)
    let memory = EntryMemory(byteCount: new.byteCount)
    let (source, target) = (start, memory.start)
    let width = layout.isNarrow ? 4 : 8
    target.copyMemory(from: source + range.lowerBound * width, byteCount: range.count * width)
    if layout.endWidth > 0 {
      for place in 0..<range.count {
        new.store(end: end(range.lowerBound + place) - from, at: place, in: target)
      }
    }
    (target + new.prefixOffset).copyMemory(
      from: source + layout.prefixOffset, byteCount: layout.prefixLength)
    (target + new.prefixOffset + new.prefixLength).copyMemory(
      from: source + layout.prefixOffset + layout.prefixLength + from, byteCount: to - from)
    let mixed = mixed.flatMap {
      Mixed(ofDifferent: ContiguousArray($0.codes[range]), ContiguousArray($0.sections[range]))
    }
    return PackedEntries(
      range.count, new, memory, 0, self.code(range.lowerBound), self.section(range.lowerBound), mixed)
  }

  /// Whether some entries, which are not none, take at least two bytes less for each when they are packed without the others.
  private func isPackedBetterAlone(_ range: Range<Int>) -> Bool {
    let (first, last) = (suffix(range.lowerBound), suffix(range.upperBound - 1))
    if first.count >= 2, last.count >= 2, first[0] == last[0], first[1] == last[1] { return true }
    if !layout.isNarrow, Layout.isNarrow(range, { identity($0) }) { return true }
    if layout.endWidth == 0 { return false }
    let total = suffixStart(range.upperBound) - suffixStart(range.lowerBound)
    if layout.endWidth == 4, total <= Int(UInt16.max) { return true }
    return range.allSatisfy { suffix($0).count == first.count }
  }

  /// Where the suffix of an entry begins among them; with the count, where they end.
  private func suffixStart(_ place: Int) -> Int {
    if layout.suffixLength >= 0 { return place * layout.suffixLength }
    return place == 0 ? 0 : end(place - 1)
  }
}

/// Memory that entries are packed in. Written before it is shared.
final class EntryMemory: @unchecked Sendable {
  // Unchecked: see above.
  private(set) var start: UnsafeMutableRawPointer

  init(byteCount: Int) { start = Self.allocate(byteCount) }

  deinit { free(start) }

  /// Gives back all but the first bytes. Only before anything is read from it.
  func shrink(to byteCount: Int) {
    if let smaller = realloc(start, max(byteCount, 1)) { start = smaller }
  }

  private static func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer {
    guard let memory = malloc(max(byteCount, 1)) else {
      trap("there is no memory for \(byteCount) bytes of a list.")
    }
    return memory
  }
}
