import Testing

@testable import StrataCore

/// The list of a fetched results controller against a sorted array: edited one by one, and in one walk.
@Suite struct EntryIndexTests {
  /// An entry whose section and key follow from two numbers.
  private static func entry(_ identity: UInt64, _ key: Int) -> ResultEntry {
    ResultEntry(
      identity: identity, code: UInt16(identity % 7), section: UInt32(key / 50),
      key: [UInt8(key / 256), UInt8(key % 256)])
  }

  private static func check(
    _ index: inout EntryIndex, _ wanted: [ResultEntry], _ place: SourceLocation = #_sourceLocation
  ) {
    var found: [ResultEntry] = []
    index.list.forEach { leaf, place in
      found.append(leaf.entry(place))
      return true
    }
    #expect(found == wanted, sourceLocation: place)
    var starts: [Int] = []
    for (place, entry) in wanted.enumerated()
    where place == 0 || wanted[place - 1].section != entry.section { starts.append(place) }
    #expect(index.list.runCount == starts.count && index.sectionCount == starts.count, sourceLocation: place)
    #expect((0..<starts.count).map { index.list.start(ofRun: $0) } == starts, sourceLocation: place)
    #expect(index.list.count == wanted.count && index.isGrouped, sourceLocation: place)
    // One expectation for all places: one for each takes longer than what it looks at.
    var run = -1
    let misplaced = wanted.enumerated().filter { position, entry in
      if run + 1 < starts.count, starts[run + 1] == position { run += 1 }
      return index.position(entry.identity) != position || index.list.run(at: position) != run
    }
    #expect(misplaced.map(\.offset) == [], sourceLocation: place)
    for (section, count) in index.sectionCounts.enumerated() {
      #expect(count == wanted.count { $0.section == section }, sourceLocation: place)
    }
  }

  @Test(
    "any edits, one by one or in one walk, give the sorted array; what was handed out stays", arguments: 1...4
  )
  func edits(seed: UInt64) {
    print("entry index: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    var index = EntryIndex()
    var wanted: [ResultEntry] = []
    var next: UInt64 = 1
    for step in 0..<40 {
      let before = index.list
      let old = wanted
      var removed: [ResultEntry] = []
      for _ in 0..<Int.random(in: 0...(step % 4 == 3 ? 400 : 20), using: &random) where !wanted.isEmpty {
        removed.append(wanted.remove(at: Int.random(in: 0..<wanted.count, using: &random)))
      }
      var inserted: [ResultEntry] = []
      for _ in 0..<Int.random(in: 0...(step % 5 == 0 ? 600 : 20), using: &random) {
        // Some come back elsewhere.
        let back = inserted.count < removed.count && Bool.random(using: &random)
        let identity = back ? removed[inserted.count].identity : next
        if !back { next += 1 }
        inserted.append(Self.entry(identity, Int.random(in: 0..<600, using: &random)))
      }
      wanted = (wanted + inserted).sorted { $0.isBefore($1) }
      if Bool.random(using: &random) {
        index.replace(removed, by: inserted)
      } else {
        index.beginEdit()
        for entry in removed { index.remove(entry) }
        for entry in inserted { index.insert(entry) }
      }
      Self.check(&index, wanted)
      var kept: [ResultEntry] = []
      before.forEach { leaf, place in
        kept.append(leaf.entry(place))
        return true
      }
      #expect(kept == old)
    }
  }
}
