import Testing

@testable import StrataCore

/// Packed leaves against the entries that they were made of, and the table of leaves against a dictionary.
@Suite struct PackedEntriesTests {
  /// How the entries of a leaf differ.
  struct Shape: Sendable, CustomTestStringConvertible {
    var name: String
    /// The bytes that all keys begin with, and how many follow at most, at least.
    var prefix = 0
    var suffix = 1...4
    var primaryKeys: ClosedRange<UInt64> = 1...4_000
    var stores = 1
    var codes = 1
    var sections = 1

    var testDescription: String { name }
  }

  static let shapes = [
    Shape(name: "keys of one length", prefix: 13, suffix: 3...3),
    Shape(name: "keys of many lengths", prefix: 2, suffix: 0...40),
    Shape(name: "equal keys", prefix: 9, suffix: 0...0),
    Shape(name: "keys of nothing", suffix: 0...0),
    Shape(name: "long keys", prefix: 700, suffix: 300...900),
    Shape(name: "primary keys of more than 32 bits", suffix: 2...2, primaryKeys: 1...(1 << 44)),
    Shape(name: "primary keys above 32 bits, close together", primaryKeys: (1 << 40)...(1 << 40 + 900)),
    Shape(name: "two stores", stores: 2),
    Shape(name: "entities and sections", codes: 3, sections: 4),
  ]

  private func entries(_ shape: Shape, _ count: Int, _ random: inout SeededGenerator) -> [ResultEntry] {
    let prefix = [UInt8](repeating: 7, count: shape.prefix)
    var identities: Set<UInt64> = []
    while identities.count < count {
      identities.insert(
        ResultEntry.identity(
          UInt64.random(in: shape.primaryKeys, using: &random),
          store: Int.random(in: 0..<shape.stores, using: &random)))
    }
    return identities.sorted().map { identity in
      let length = Int.random(in: shape.suffix, using: &random)
      // An end that no other byte is equal to: no key is the beginning of another one.
      let rest = (0..<length).map { _ in UInt8.random(in: 1...255, using: &random) } + [0]
      return ResultEntry(
        identity: identity, code: UInt16.random(in: 0..<UInt16(shape.codes), using: &random),
        section: UInt32.random(in: 0..<UInt32(shape.sections), using: &random), key: prefix + rest)
    }
    .sorted { $0.isBefore($1) }
  }

  private func pack(_ entries: [ResultEntry]) -> PackedEntries {
    var draft = EntryDraft()
    for entry in entries {
      entry.key.withUnsafeBytes { draft.append(entry.identity, entry.code, entry.section, $0) }
    }
    return PackedEntries(draft)
  }

  private func all(_ packed: PackedEntries) -> [ResultEntry] {
    let node = EntryNode(edit: 0, leaf: 0, packed)
    return (0..<packed.count).map { node.entry($0) }
  }

  @Test(
    "a key that is shorter than what the first and the last one begin with, as in a damaged file, is packed, too"
  )
  func shortKeyInBetween() {
    let keys: [[UInt8]] = [[7, 7, 7, 1], [7], [7, 7, 7, 7, 7, 7, 7, 7, 2], [], [7, 7, 7, 3]]
    for count in 3...keys.count {
      let entries = (0..<count).map { place in
        ResultEntry(
          identity: ResultEntry.identity(UInt64(place + 1), store: 0), code: 0, section: 0,
          key: place == count - 1 ? [7, 7, 7, 3] : keys[place])
      }
      #expect(all(pack(entries)).map(\.key) == entries.map(\.key))
    }
  }

  @Test("what was packed is what was there, in any shape", arguments: shapes, [0, 1, 2, 144, 192])
  func packing(shape: Shape, count: Int) {
    var random = SeededGenerator(seed: UInt64(count) + 5)
    let wanted = entries(shape, count, &random)
    let packed = pack(wanted)
    #expect(all(packed) == wanted)
    var summary = EntrySummary()
    for entry in wanted { summary.append(section: entry.section) }
    #expect(packed.summary == summary)
    let misplaced = wanted.indices.filter { packed.place(of: wanted[$0].identity) != $0 }
    #expect(misplaced == [])
    let strangers = entries(shape, 60, &random)
    for stranger in strangers {
      #expect(
        packed.place(of: stranger.identity) == wanted.firstIndex { $0.identity == stranger.identity })
      let wantedPlace = wanted.count { $0.isBefore(stranger) }
      #expect(stranger.key.withUnsafeBytes { packed.lowerBound($0, stranger.identity) } == wantedPlace)
    }
    // Keys that end inside of what all have in common, and those that leave it.
    for length in 0...min(shape.prefix, 20) {
      for last in [[], [UInt8(0)], [6], [8]] {
        for identity in [1 << 16, UInt64.max] {
          let stranger = ResultEntry(
            identity: identity, code: 0, section: 0, key: [UInt8](repeating: 7, count: length) + last)
          let wantedPlace = wanted.count { $0.isBefore(stranger) }
          #expect(
            stranger.key.withUnsafeBytes { packed.lowerBound($0, stranger.identity) } == wantedPlace)
        }
      }
    }
  }

  @Test("a leaf that is edited is what an array would be, and the one before stays", arguments: shapes)
  func editing(shape: Shape) {
    var random = SeededGenerator(seed: 77)
    var wanted = entries(shape, 100, &random)
    let node = EntryNode(edit: 0, leaf: 0, pack(wanted))
    for step in 0..<60 {
      let before = node.entries
      let old = wanted
      if step % 3 == 0 {
        let place = Int.random(in: 0..<wanted.count, using: &random)
        wanted.remove(at: place)
        node.remove(at: place)
      } else {
        // Some are of another kind, and have not in common what all others have.
        let kind = step % 4 == 1 ? Self.shapes[step / 4 % Self.shapes.count] : shape
        guard let entry = entries(kind, 1, &random).first, before.place(of: entry.identity) == nil
        else { continue }
        let place = entry.key.withUnsafeBytes { before.lowerBound($0, entry.identity) }
        wanted.insert(entry, at: place)
        node.insert(entry, at: place)
      }
      #expect(all(node.entries) == wanted)
      #expect(all(before) == old)
      #expect(node.summary == node.entries.summary)
    }
    let right = EntryNode(edit: 0, leaf: 1)
    node.moveEntries(from: 40, to: right)
    #expect(all(node.entries) == Array(wanted[..<40]) && all(right.entries) == Array(wanted[40...]))
  }

  @Test("a part of a leaf is what was packed there, and can be edited", arguments: shapes, [1, 2, 144, 192])
  func parts(shape: Shape, count: Int) {
    var random = SeededGenerator(seed: UInt64(count) + 11)
    let wanted = entries(shape, count, &random)
    let packed = pack(wanted)
    let more = entries(shape, 20, &random).filter { packed.place(of: $0.identity) == nil }
    let ranges = [
      0..<0, 0..<count / 2, count / 2..<count, count - 1..<count, 0..<count, count / 3..<count / 2,
    ]
    for range in ranges {
      var rest = Array(wanted[range])
      let part = packed.part(range)
      #expect(all(part) == rest)
      #expect(part.byteCount <= pack(rest).byteCount + rest.count)
      var summary = EntrySummary()
      for entry in rest { summary.append(section: entry.section) }
      #expect(part.summary == summary)
      // Parts of parts, and what is inserted into them.
      #expect(all(part.part(0..<rest.count / 2)) == Array(rest[..<(rest.count / 2)]))
      let node = EntryNode(edit: 0, leaf: 0, part)
      for entry in more {
        let place = entry.key.withUnsafeBytes { node.entries.lowerBound($0, entry.identity) }
        rest.insert(entry, at: place)
        node.insert(entry, at: place)
      }
      #expect(all(node.entries) == rest && rest == rest.sorted { $0.isBefore($1) })
    }
    #expect(all(packed) == wanted)
  }

  @Test("short keys that begin alike take few bytes")
  func size() {
    var random = SeededGenerator(seed: 3)
    let shape = Shape(name: "", prefix: 13, suffix: 2...2)
    let layout = Self.layout(entries(shape, 144, &random))
    // Four of the identity, two that differ; the end is common to none.
    #expect(layout.byteCount == 144 * (4 + 3) + 13)
    var wide = shape
    wide.suffix = 2...5
    #expect(Self.layout(entries(wide, 144, &random)).endWidth == 2)
  }

  private static func layout(_ entries: [ResultEntry]) -> PackedEntries.Layout {
    var bytes: [UInt8] = []
    var ranges: [Range<Int>] = []
    for entry in entries {
      ranges.append(bytes.count..<bytes.count + entry.key.count)
      bytes += entry.key
    }
    return bytes.withUnsafeBytes { bytes in
      PackedEntries.Layout(count: entries.count, identity: { entries[$0].identity }) {
        UnsafeRawBufferPointer(rebasing: bytes[ranges[$0]])
      }
    }
  }

  @Test(
    "the table finds the leaf of each entry as edits go on: keys in a row, far apart, of two stores",
    arguments: [1, 3, 50_000] as [UInt64], 1...2)
  func table(distance: UInt64, stores: Int) {
    var random = SeededGenerator(seed: distance)
    // Some are before the first one of the list, others behind its last one.
    func identity(_ number: Int) -> UInt64 {
      let number = number + 20
      return ResultEntry.identity(1_000 + UInt64(number / stores) * distance, store: number % stores)
    }
    var builder = EntryIndex.Builder()
    for number in 0..<2_000 {
      builder.append(ResultEntry(identity: identity(number), code: 1, section: 0, key: [1]))
    }
    let list = builder.finish().list
    var wanted: [UInt64: Int] = [:]
    list.forEachLeaf { leaf in leaf.entries.forEachIdentity { wanted[$0] = leaf.number } }
    var table = LeafTable(list)
    func check() {
      let wrong = (-20..<2_400).map(identity).filter { table[$0] != wanted[$0] }
      #expect(wrong == [])
    }
    check()
    for _ in 0..<3_000 {
      let one = identity(Int.random(in: -20..<2_400, using: &random))
      if Bool.random(using: &random) {
        table.remove(one)
        wanted[one] = nil
      } else {
        let leaf = Int.random(in: 0..<30, using: &random)
        table.set(one, leaf)
        wanted[one] = leaf
      }
    }
    check()
    #expect(LeafTable(EntryIndex().list)[identity(1)] == nil)
  }
}
