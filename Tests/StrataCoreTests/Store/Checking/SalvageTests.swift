import Foundation
import Testing

@testable import StrataCore

/// What is readable of a damaged store comes back; what was never saved does not appear.
@Suite struct SalvageTests {
  @Test("A sound store comes back whole: rows, versions, large values, identity, metadata, counters")
  func aSoundStoreComesBackWhole() throws {
    let history = try SalvageHistory(seed: testSeed(), rows: 150)
    let report = try history.salvage(history.image)
    #expect(report.isComplete && report.check.isSound, "\(report)")
    #expect(report.modelSource == .store && report.keepsIdentity)
    #expect(report.rowCount == history.current.count)
    try history.withSalvaged { store, read in
      history.expectCurrent(read)
      #expect(store.identifier == history.identifier)
      #expect(store.metadata["owner"] == .string("me"))
      let number = try store.commitNumber()
      let key = try store.makePrimaryKey(hierarchy: history.hierarchy)
      #expect(number >= history.commitNumber && key >= history.counter)
    }
  }

  /// One to four pages are damaged in some way. Every row of which no page was touched must be back as it was;
  /// every row that is back must have been saved like that once, and be named when no tree led to it.
  @Test(arguments: 0..<4) func undamagedRowsComeBackAndNothingIsInvented(part: Int) throws {
    let seed = testSeed() &+ UInt64(part)
    var random = SeededGenerator(seed: seed)
    let history = try SalvageHistory(seed: seed, rows: 120)
    for round in 0..<rounds(6, long: 100) {
      var image = history.image
      var damaged: Set<UInt64> = []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        damaged.insert(history.damagePage(&image, from: round % 5 == 0 ? 0 : 2, &random))
      }
      let report = try history.salvage(image)
      #expect(report.check.isSound, "\(damaged): \(report.check.problems)")
      let incomplete = Set(report.lostValues.map { $0.row.primaryKey })
      // A damaged anchor may mean the save before the last; a lost uniqueness conflict is named.
      let isOlder = damaged.contains { $0 < 2 } || !report.remarks.isEmpty
      let leftOut = Set(report.leftOutRows.map(\.primaryKey))
      try history.withSalvaged { _, read in
        for (key, row) in read where !incomplete.contains(key) {
          let isTouchedValue = row.hasLargeValue && !history.pages(of: key).isDisjoint(with: damaged)
          let isKnown = history.all[key, default: []].contains(row) || isTouchedValue
          #expect(isKnown, "invented p\(key) after damage to \(damaged)")
          // Which save a row is of cannot be asked: a changed page number in a damaged page may lead to an older page of
          // the same tree, which is whole in itself.
        }
        if isOlder { return }
        for (key, row) in history.current
        where history.pages(of: key).isDisjoint(with: damaged) && !leftOut.contains(key) {
          #expect(read[key] == row, "p\(key) is lost after damage to \(damaged)")
        }
      }
    }
  }

  @Test(
    "A store that somebody opens and saves to while it is salvaged is refused in the end: no mixture of two commits"
  )
  func savedMeanwhile() throws {
    let directory = try ScratchDirectory()
    let url = URL(fileURLWithPath: directory("Things.strata"))
    let schema = try ManagedObjectModel(entities: [EntityDescription("Thing", properties: [])]).schema()
    try LMDBStore(url: url, schema: schema).close()
    func save() throws {
      var options = LMDBStoreOptions()
      options.keepsLog = false
      let store = try LMDBStore(url: url, schema: schema, options: options)
      defer { store.close() }
      var change = ChangeSet()
      change.metadata = StoreMetadata(values: ["number": .integer(Int64.random(in: 0..<1_000))])
      try store.commitAndWait(change)
    }
    let target = URL(fileURLWithPath: directory("Saved.strata"))
    var isSaved = false
    let error = #expect(throws: StorageError.self) {
      _ = try LMDBStore.salvage(from: url, to: target) { _ in
        if !isSaved { try save() }
        isSaved = true
      }
    }
    #expect(isSaved)
    #expect(error?.kind == .busy)
    #expect(!FileManager.default.fileExists(atPath: target.path))
    _ = try LMDBStore.salvage(from: url, to: target)
  }

  @Test("Without both anchors, rows are found on all pages, each in its newest version")
  func rowsAreFoundWithoutAnchors() throws {
    let history = try SalvageHistory(seed: testSeed(), rows: 100)
    var image = history.image
    for offset in 0..<8192 { image[offset] = 0 }
    let report = try history.salvage(image)
    #expect(report.looseRowCount >= history.current.count && !report.isComplete)
    try history.withSalvaged { _, read in
      for (key, row) in history.current where !report.lostValues.contains(where: { $0.row.primaryKey == key })
      {
        #expect(read[key] == row || report.leftOutRows.contains { $0.primaryKey == key })
      }
    }
  }

  @Test("While the tree is readable, deleted rows stay deleted although loose pages still have them")
  func deletedRowsStayDeleted() throws {
    let history = try SalvageHistory(seed: testSeed(), rows: 150)
    let deleted = Set(history.all.keys).subtracting(history.current.keys)
    try #require(!deleted.isEmpty)
    _ = try history.salvage(history.image)
    try history.withSalvaged { _, read in #expect(deleted.isDisjoint(with: read.keys)) }
  }

  @Test("A model is asked for when the store's own is lost, and its codes are assumed when those are")
  func theCallersModelIsUsed() throws {
    let history = try SalvageHistory(seed: testSeed(), rows: 60)
    // Whatever looks like the model or a code is struck from all pages.
    var image = history.image
    for word in ["model", "entity/", "layout/", "attribute/", "hierarchy/"] { image.strike(Array(word.utf8)) }
    let error = try storageError { _ = try history.salvage(image, model: nil) }
    #expect(error.description.contains("model"))
    #expect(!FileManager.default.fileExists(atPath: history.destination.path))
    let report = try history.salvage(image)
    #expect(report.modelSource == .caller && report.guessedCodes)
    try history.withSalvaged { _, read in history.expectCurrent(read) }
  }

  @Test("Nothing is overwritten, nothing is left when there is nothing to salvage")
  func refusalsLeaveNothing() throws {
    let history = try SalvageHistory(seed: testSeed(), rows: 10)
    try Data("taken".utf8).write(to: history.destination)
    #expect(try storageError { _ = try history.salvage(history.image) }.kind == .exists)
    #expect(FileManager.default.contents(atPath: history.destination.path) == Data("taken".utf8))
    try FileManager.default.removeItem(at: history.destination)
    for bytes in [[], Array("text".utf8), [UInt8](repeating: 0, count: 50_000)] {
      #expect(try storageError { _ = try history.salvage(bytes) }.kind == .notADatabase)
    }
    let missing = URL(fileURLWithPath: history.source.path + ".none")
    #expect(
      try storageError { _ = try LMDBStore.salvage(from: missing, to: history.destination) }.kind == .missing)
    let folder = history.source.deletingLastPathComponent()
    #expect(
      try storageError { _ = try LMDBStore.salvage(from: folder, to: history.destination) }.kind
        == .notADatabase)
    #expect(!FileManager.default.fileExists(atPath: history.destination.path))
  }
}

/// A store with a past: what was saved when, its bytes, and which pages each row lies on.
final class SalvageHistory {
  struct SavedRow: Equatable {
    var version: UInt32
    var values: [String: AttributeValue]
    var hasLargeValue: Bool {
      values["blob"].map { if case .data(let data) = $0 { data.count > 1_024 } else { false } } ?? false
    }
  }

  let directory: ScratchDirectory
  let model: ManagedObjectModel
  let image: [UInt8]
  let identifier: UUID
  let commitNumber: UInt64
  let counter: UInt64
  let hierarchy: Int
  private(set) var all: [UInt64: [SavedRow]] = [:]
  private(set) var current: [UInt64: SavedRow] = [:]
  private var pagesOfKey: [UInt64: Set<UInt64>] = [:]
  /// The leaves of the rows' tree.
  private var livePages: [Int] = []

  var source: URL { URL(fileURLWithPath: directory("Damaged.strata")) }
  var destination: URL { URL(fileURLWithPath: directory("New.strata")) }

  init(seed: UInt64, rows: Int) throws {
    directory = try ScratchDirectory()
    model = StoreFixture.model()
    var random = ValueGenerator(seed: seed)
    let fixture = try StoreFixture(model: model)
    let item = fixture.entity("Item")
    hierarchy = item.hierarchyNumber
    var all: [UInt64: [SavedRow]] = [:]
    var stored: [UInt64: FetchedRow] = [:]
    func values(_ key: Int) -> [String: AttributeValue] {
      var values: [String: AttributeValue] = [
        "i64": .integer(Int64(key)),
        "s": .string(String(repeating: "s", count: Int.random(in: 0...60, using: &random))),
        "d": random.value(.double), "code": .string("code \(key) \(random.next())"),
        "dec": random.value(.decimal),
        "t": .string(String(repeating: "t", count: random.chance(12) ? 900 : 3)),
      ]
      if random.chance(8) {
        values["blob"] = .data(Data(repeating: UInt8(key & 255), count: 1_100 + key * 40))
      }
      return values.filter { !$0.value.isNull }
    }
    var number = 0
    for save in 0..<8 {
      var inserts: [RowChange] = []
      for _ in 0..<(rows / 4) where save < 6 {
        number += 1
        inserts.append(try fixture.insert(random.chance(5) ? "Special" : "Item", values(number)))
      }
      var updates: [RowChange] = []
      var deletes: [RowDeletion] = []
      for (_, row) in stored.sorted(by: { $0.key < $1.key }) {
        if random.chance(6) {
          updates.append(try fixture.update(row, values(number)))
        } else if random.chance(15) {
          deletes.append(fixture.delete(row))
        }
      }
      try fixture.commit(
        inserts: inserts, updates: updates, deletes: deletes,
        metadata: StoreMetadata(values: ["owner": .string("me")]))
      stored = Dictionary(uniqueKeysWithValues: try fixture.fetch("Item").rows.map { ($0.primaryKey, $0) })
      for (key, row) in stored {
        let saved = SavedRow(version: row.snapshot?.version ?? 0, values: try fixture.values(row))
        if all[key]?.last != saved { all[key, default: []].append(saved) }
        current[key] = saved
      }
      for key in Set(current.keys).subtracting(stored.keys) { current[key] = nil }
    }
    self.all = all
    identifier = fixture.store.identifier
    commitNumber = try fixture.store.commitNumber()
    counter = (all.keys.max() ?? 0) + 1
    fixture.store.close()
    image = try fileBytes(fixture.url.path)
    try findPages(fixture.url.path)
  }

  /// Notes which pages each row lies on, large values and the way from the root included.
  private func findPages(_ path: String) throws {
    let file = try DamagedFile(StoreFile(path, .system))
    let anchor = try #require(file.anchors.first)
    var shared: Set<UInt64> = [0, 1]
    func walk(_ number: UInt64, _ way: Set<UInt64>, _ visit: (DamagedPage.Entry, Set<UInt64>) -> Void) throws
    {
      if number == TreeRecord.noPage { return }
      let page = try #require(file.page(number))
      let way = way.union([number])
      for index in 0..<page.count {
        if page.isLeaf {
          let entry = try #require(page.entry(index))
          let run = entry.overflowPage.flatMap { file.overflowRun($0, byteCount: entry.valueCount) }
          visit(entry, way.union(run.map(Set.init) ?? []))
        } else {
          try walk(try #require(page.branch(index)).child, way, visit)
        }
      }
    }
    var roots: [String: UInt64] = [:]
    try walk(anchor.mainTree.root, []) { entry, way in
      shared.formUnion(way)
      entry.value.withUnsafeBytes {
        roots[String(decoding: entry.key, as: UTF8.self)] = TreeRecord($0.baseAddress!).root
      }
    }
    try walk(try #require(roots["meta"]), []) { _, way in shared.formUnion(way) }
    var leaves: Set<UInt64> = []
    try walk(try #require(roots["rows:Item"]), []) { entry, way in
      let key = entry.key.withUnsafeBytes { PrimaryKeyBytes.last(of: $0) }
      leaves.formUnion(way.filter { file.page($0)?.isLeaf == true })
      pagesOfKey[key, default: shared].formUnion(way)
    }
    livePages = leaves.sorted().map { Int($0) }
    try walk(try #require(roots["large"]), []) { entry, way in
      guard let key = entry.key.withUnsafeBytes({ LargeValueKey($0) }) else { return }
      pagesOfKey[key.primaryKey, default: shared].formUnion(way)
    }
  }

  /// Expects every current row and no other; names those that differ.
  func expectCurrent(_ read: [UInt64: SavedRow]) {
    let differing = Set(read.keys).union(current.keys).filter { read[$0] != current[$0] }
    #expect(differing.isEmpty)
  }

  func pages(of key: UInt64) -> Set<UInt64> { pagesOfKey[key] ?? [] }

  /// Damages one page in some way; which.
  func damagePage(_ image: inout [UInt8], from first: Int, _ random: inout SeededGenerator) -> UInt64 {
    let pages = image.count / 4096
    // Half of the damage where it costs rows.
    let page =
      Bool.random(using: &random)
      ? livePages.randomElement(using: &random) ?? first : Int.random(in: first..<pages, using: &random)
    let start = page * 4096
    switch Int.random(in: 0..<5, using: &random) {
    case 0:
      for _ in 0..<Int.random(in: 1...12, using: &random) {
        image[start + Int.random(in: 0..<4096, using: &random)] ^=
          1 << UInt8.random(in: 0..<8, using: &random)
      }
    case 1: image[start + Int.random(in: 0..<32, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
    case 2: for offset in 0..<4096 { image[start + offset] = 0 }
    case 3: for offset in 0..<4096 { image[start + offset] = .random(in: 0...255, using: &random) }
    default:
      let other = Int.random(in: 2..<pages, using: &random) * 4096
      image.replaceSubrange(start..<(start + 4096), with: Array(image[other..<(other + 4096)]))
    }
    return UInt64(page)
  }

  /// Salvages these bytes with the caller's model at hand.
  func salvage(_ image: [UInt8]) throws -> SalvageReport { try salvage(image, model: model) }

  func salvage(_ image: [UInt8], model: ManagedObjectModel?) throws -> SalvageReport {
    if FileManager.default.fileExists(atPath: destination.path + "-lock") {
      try LMDBStore.destroy(at: destination)
    }
    try Data(image).write(to: source)
    defer { #expect((try? fileBytes(source.path)) == image) }
    return try LMDBStore.salvage(from: source, to: destination, model: model)
  }

  /// Opens the salvaged store and reads all of it.
  func withSalvaged(_ body: (LMDBStore, [UInt64: SavedRow]) throws -> Void) throws {
    let store = try LMDBStore(url: destination, schema: model.schema(), options: .scratch)
    defer { store.close() }
    let fixture = try StoreFixture(model: model, inMemory: true)
    var read: [UInt64: SavedRow] = [:]
    for row in try fixture.fetch("Item", store: store).rows {
      read[row.primaryKey] = SavedRow(
        version: row.snapshot?.version ?? 0, values: try fixture.values(row, store: store))
    }
    try body(store, read)
  }
}

/// What a report says of one thing and of several.
struct SalvageReportTests {
  @Test func oneThingIsSaidOfInTheSingular() {
    var report = SalvageReport()
    (report.rowCounts, report.looseRowCount, report.damagedEntryCount) = (["Item": 1], 1, 1)
    (report.lostReferenceCount, report.lostEdgeCount, report.looseEdgeCount) = (1, 1, 1)
    (report.unreadablePages, report.keepsIdentity) = ([7], true)
    #expect(
      report.description.split(separator: "\n") == [
        "Item: 1 row", "1 of them from a loose page: it may be out of date.", "1 row is damaged.",
        "1 reference led to a row that is not back and is nil now.",
        "1 member of a relationship is not back.",
        "1 member of a relationship is from a loose page: it may be out of date.", "1 page is unreadable.",
      ])
    (report.rowCounts, report.damagedEntryCount, report.lostEdgeCount) = (["Item": 2], 2, 0)
    #expect(report.description.contains("Item: 2 rows") && report.description.contains("2 rows are damaged."))
    #expect(!report.description.contains("not back."))
  }
}

extension [UInt8] {
  /// Replaces every occurrence of `word`.
  mutating func strike(_ word: [UInt8]) {
    var place = 0
    while place + word.count <= count {
      if self[place] == word[0], self[place..<(place + word.count)].elementsEqual(word) {
        for offset in word.indices { self[place + offset] = 0x2A }
      }
      place += 1
    }
  }
}
