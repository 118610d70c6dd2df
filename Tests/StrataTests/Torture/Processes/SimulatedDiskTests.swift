import Testing
import TortureKit

/// What the disk of the power cuts may lose, and what not: a disk that keeps too much would prove nothing.
@Suite struct SimulatedDiskTests {
  private static let folder = "/there"

  /// All states after `events`; few enough changes are open that all combinations are handed over.
  private func states(_ events: [DiskEvent], ignoresFlushes: Bool = false) throws -> [[String: [UInt8]]] {
    var disk = SimulatedDisk(folder: Self.folder, ignoresFlushes: ignoresFlushes)
    for event in events { try disk.apply(event) }
    var random = SeededGenerator(seed: 1)
    var states: [[String: [UInt8]]] = []
    disk.forEachState(atMost: 1 << 10, &random) { states.append($0.files) }
    return states
  }

  /// A durable file of 1,024 ones.
  private let existing: [DiskEvent] = [
    .opened(path: folder, inode: 1, isNew: false, isCut: false),
    .opened(path: folder + "/a", inode: 2, isNew: true, isCut: false),
    .written(inode: 2, offset: 0, bytes: Array(repeating: 1, count: 1_024), isDurable: false),
    .synced(inode: 2), .synced(inode: 1),
  ]

  @Test func whatWasFlushedStays() throws {
    let all = try states(existing)
    #expect(all == [["a": Array(repeating: 1, count: 1_024)]])
  }

  @Test func withoutFlushOfTheFolderTheNameMayBeGone() throws {
    let all = try states(existing.dropLast())
    #expect(all.count == 2)
    #expect(all.contains([:]))
    #expect(all.contains(["a": Array(repeating: 1, count: 1_024)]))
  }

  @Test func withoutFlushOfTheFileEachSectorMayBeMissing() throws {
    let all = try states(
      existing + [
        .written(inode: 2, offset: 256, bytes: Array(repeating: 2, count: 512), isDurable: false)
      ])
    // A piece in the first sector, a piece in the second: torn where sectors meet.
    let contents = Set(all.compactMap { $0["a"] })
    #expect(contents.count == 4)
    #expect(contents.allSatisfy { $0.count == 1_024 })
    #expect(contents.contains { $0[256] == 2 && $0[512] == 1 })
    #expect(contents.contains { $0[256] == 1 && $0[512] == 2 })
  }

  @Test func laterWritesMaySurviveEarlierOnes() throws {
    let all = try states(
      existing + [
        .written(inode: 2, offset: 0, bytes: [5], isDurable: false),
        .written(inode: 2, offset: 512, bytes: [6], isDurable: false),
        .written(inode: 2, offset: 0, bytes: [7], isDurable: false),
      ])
    let pairs = Set(all.compactMap { state in state["a"].map { [$0[0], $0[512]] } })
    #expect(pairs == [[1, 1], [5, 1], [1, 6], [5, 6], [7, 1], [7, 6]])
  }

  @Test func aDurableWriteIsCertainAndFlushesNothingElse() throws {
    let all = try states(
      existing + [
        .written(inode: 2, offset: 0, bytes: [5, 5], isDurable: false),
        .written(inode: 2, offset: 1, bytes: [6], isDurable: true),
      ])
    #expect(Set(all.compactMap { $0["a"].map { Array($0[0..<2]) } }) == [[5, 6], [1, 6]])
  }

  @Test func sizesMayRunAheadOfContent() throws {
    let growth = DiskEvent.written(
      inode: 2, offset: 1_024, bytes: Array(repeating: 3, count: 512), isDurable: false)
    var disk = SimulatedDisk(folder: Self.folder)
    for event in existing + [growth] { try disk.apply(event) }
    var random = SeededGenerator(seed: 1)
    var contents = Set<[UInt8]>()
    for _ in 0..<100 { disk.forEachState(atMost: 2, &random) { contents.insert($0.files["a"] ?? []) } }
    #expect(contents.contains { $0.count == 1_024 })
    #expect(contents.contains { $0.count == 1_536 && $0.last == 3 })
    #expect(contents.contains { $0.count == 1_536 && $0.last == 0 })
    #expect(contents.allSatisfy { (1_024...1_536).contains($0.count) })
  }

  @Test func cuttingMayOrMayNotHaveHappened() throws {
    let all = try states(existing + [.truncated(inode: 2, size: 10)])
    #expect(Set(all.compactMap { $0["a"]?.count }) == [10, 1_024])
  }

  @Test func aRenamedFileIsUnderOneOfItsNames() throws {
    let events = existing + [.renamed(from: Self.folder + "/a", to: Self.folder + "/b")]
    #expect(Set(try states(events).map { Array($0.keys) }) == [["a"], ["b"]])
    #expect(Set(try states(events + [.synced(inode: 1)]).map { Array($0.keys) }) == [["b"]])
    let removed = events + [.unlinked(path: Self.folder + "/b"), .synced(inode: 1)]
    #expect(try states(removed) == [[:]])
  }

  @Test func twoFilesExchangeTheirNamesInOneStep() throws {
    let events =
      existing + [
        .opened(path: Self.folder + "/b", inode: 3, isNew: true, isCut: false),
        .written(inode: 3, offset: 0, bytes: [2], isDurable: false),
        .synced(inode: 3), .synced(inode: 1),
        .exchanged(Self.folder + "/a", Self.folder + "/b"),
      ]
    let sizes = Set(try states(events).map { $0.mapValues(\.count) })
    #expect(sizes == [["a": 1_024, "b": 1], ["a": 1, "b": 1_024]])
    #expect(try states(events + [.synced(inode: 1)]).map { $0["a"] } == [[2]])
    #expect(throws: TortureViolation.self) {
      _ = try states(existing + [.exchanged(Self.folder + "/a", Self.folder + "/x")])
    }
  }

  @Test func aLyingDiskKeepsNothing() throws {
    let all = try states(existing, ignoresFlushes: true)
    #expect(all.contains([:]))
    #expect(all.contains { $0["a"]?.contains(1) == false })
  }

  @Test func aRecordWithoutBeginningIsRefused() {
    #expect(throws: TortureViolation.self) {
      _ = try states([.written(inode: 9, offset: 0, bytes: [1], isDurable: false)])
    }
    #expect(throws: TortureViolation.self) { _ = try states([.unlinked(path: Self.folder + "/x")]) }
  }
}
