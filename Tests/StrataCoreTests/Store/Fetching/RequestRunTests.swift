import Foundation
import Testing

@testable import StrataCore

/// How requests are run in the store: stopped, begun behind a page, answered by the ends of an index.
struct RequestRunTests {
  private let fixture: StoreFixture
  private static let rowCount = 12_000

  init() throws {
    fixture = try StoreFixture()
    let rows = try (0..<Self.rowCount).map { number in
      try fixture.insert(
        "Item",
        [
          "i64": number % 10 == 0 ? .null : .integer(Int64(number / 4)), "i32": .integer(Int64(number % 7)),
          "d": .double(Double(Self.rowCount - number)), "t": .string("t\(number % 100)"),
        ])
    }
    try fixture.commit(inserts: rows)
  }

  @Test("rule 112: a fetch that is stopped ends within 1,024 rows, however it runs", arguments: [0, 1, 2, 3])
  func stopping(way: Int) throws {
    var request: ResolvedFetchRequest
    var mode = FetchMode.rows
    switch way {
    case 0: request = try fixture.resolve("Item", Attribute("i32") == 3)
    case 1: request = try fixture.resolve("Item", Attribute("t").contains("9"), sort: [FetchSort("d")])
    case 2:
      request = try fixture.resolve("Item", Attribute("i64") > 5)
      mode = .count
    default: request = try fixture.resolve("Item", nil, sort: [FetchSort("i64")])
    }
    let whole = FetchMonitor()
    request.monitor = whole
    #expect(try fixture.store.fetch(request, mode: mode).count > 100)
    #expect(whole.rowCount > 9_000)
    let stopped = FetchMonitor()
    stopped.stop()
    request.monitor = stopped
    #expect(throws: CancellationError.self) { try fixture.store.fetch(request, mode: mode) }
    #expect(stopped.rowCount == 0)
    let later = Later()
    let monitor = FetchMonitor { if $0 >= 3_000 { later.monitor?.stop() } }
    later.monitor = monitor
    request.monitor = monitor
    #expect(throws: CancellationError.self) { try fixture.store.fetch(request, mode: mode) }
    #expect(monitor.rowCount < 5_000)
  }

  @Test("rule 112: a fetch that is stopped after its last row does not sort")
  func stoppingTheSort() throws {
    var request = try fixture.resolve("Item", nil, sort: [FetchSort("d"), FetchSort("t")])
    let last = Later()
    let monitor = FetchMonitor { if $0 + FetchMonitor.stride > Self.rowCount { last.monitor?.stop() } }
    last.monitor = monitor
    request.monitor = monitor
    #expect(throws: CancellationError.self) { try fixture.store.fetch(request, mode: .rows) }
    #expect(monitor.rowCount > Self.rowCount - FetchMonitor.stride)
  }

  @Test("a long sort checks for cancelling repeatedly, also over equal keys", arguments: [false, true])
  func sortingAsks(isAlike: Bool) throws {
    struct Stop: Error {}
    func keys() -> IndexEntries {
      var entries = IndexEntries()
      for number in 0..<200_000 as Range<UInt64> {
        // The first eight bytes are sorted by counting, the rest by comparing.
        let number = withUnsafeBytes(of: (number &* 7_919 % 200_000).bigEndian, Array.init)
        let bytes = isAlike ? [UInt8](repeating: 0, count: 10) + number : number
        bytes.withUnsafeBytes { entries.append($0, isTruncated: false, isConstrained: false) }
      }
      // Nothing is common to all.
      [UInt8](repeating: 0xFF, count: 30).withUnsafeBytes {
        entries.append($0, isTruncated: false, isConstrained: false)
      }
      return entries
    }
    var asked = 0
    var stopped = keys()
    #expect(throws: Stop.self) {
      try stopped.sort {
        asked += 1
        if asked == 2 { throw Stop() }
      }
    }
    asked = 0
    var entries = keys()
    entries.sort { asked += 1 }
    #expect(asked >= (isAlike ? 10 : 2))
    let isSorted = (1..<entries.count).allSatisfy {
      KeyOrder.order(entries.key($0 - 1), entries.key($0)) <= 0
    }
    #expect(isSorted)
  }

  @Test("a stopped collection of rows of values ends, too")
  func stoppingCollections() throws {
    var request = FetchRequest<FetchedDictionary>(entityName: "Item")
    request.propertiesToFetch = ["t", .count(as: "n")]
    request.propertiesToGroupBy = ["t"]
    var resolved = try ResolvedDictionaryRequest(request, schema: fixture.schema)
    let monitor = FetchMonitor()
    monitor.stop()
    resolved.fetch.monitor = monitor
    #expect(throws: CancellationError.self) { try collect(resolved) }
    resolved.fetch.monitor = nil
    #expect(try collect(resolved).count == 100)
  }

  private func collect(_ request: ResolvedDictionaryRequest) throws -> [FetchedDictionary] {
    let collector = DictionaryCollector(request)
    collector.begin(fixture.store.identifier) { _ in nil }
    try fixture.store.collect(into: collector)
    return try collector.finish()
  }

  @Test("a page begins in the index where the last one ended, both ways")
  func pagesInAnIndex() throws {
    for ascending in [true, false] {
      let request = FetchRequest<ManagedObjectID>(
        entityName: "Item", sortDescriptors: [FetchSort("i64", ascending: ascending)])
      var resolved = try ResolvedFetchRequest(request, schema: fixture.schema)
      resolved.limit = 50
      resolved.isPaged = true
      let whole = try fixture.fetch("Item", sort: request.sortDescriptors).rows
      let last = whole[7_000]
      let continuation = FetchContinuation(
        after: request, values: [try fixture.value(last, "i64")], storeIdentifier: fixture.store.identifier,
        primaryKey: last.primaryKey)
      resolved.start = try FetchStart(continuation, request, resolved.sorts, storeIndex: 0)
      let found = try fixture.store.fetch(resolved, mode: .rows)
      #expect(found.rows.map(\.primaryKey) == whole[7_001..<7_051].map(\.primaryKey))
      let part = try #require(try fixture.store.explain(resolved, mode: .rows, isExecuting: true))
      #expect(part.indexNames == ["Item.byI64"] && part.plan.contains("from the last page on"))
      #expect(try #require(part.execution).rowsExamined <= 55)
    }
  }

  @Test("a page of an unsorted request begins behind the last row's key")
  func pagesOfAScan() throws {
    let request = FetchRequest<ManagedObjectID>(entityName: "Item")
    var resolved = try ResolvedFetchRequest(request, schema: fixture.schema)
    let whole = try fixture.fetch("Item").rows
    resolved.limit = 10
    resolved.isPaged = true
    let continuation = FetchContinuation(
      after: request, values: [], storeIdentifier: fixture.store.identifier,
      primaryKey: whole[9_000].primaryKey)
    resolved.start = try FetchStart(continuation, request, [], storeIndex: 0)
    #expect(
      try fixture.store.fetch(resolved, mode: .identifiers).rows.map(\.primaryKey)
        == whole[9_001..<9_011].map(\.primaryKey))
    let execution = try fixture.store.explain(resolved, mode: .rows, isExecuting: true)?.execution
    #expect(try #require(execution).rowsExamined <= 12)
  }

  @Test("rule 97: counts, smallest and largest indexed values are answered by the ends of indexes")
  func ends() throws {
    var request = FetchRequest<FetchedDictionary>(entityName: "Item")
    request.propertiesToFetch = [
      .count(as: "n"), .expression("least", .aggregate(.minimum, .key("i64"))),
      .expression("most", .aggregate(.maximum, .key("i64"))),
    ]
    var resolved = try ResolvedDictionaryRequest(request, schema: fixture.schema)
    let monitor = FetchMonitor()
    resolved.fetch.monitor = monitor
    let row = try collect(resolved)[0]
    #expect(row["n"] == .integer(Int64(Self.rowCount)) && row["least"] == 0 && row["most"] == 2_999)
    #expect(monitor.rowCount == 0, "no row but the first")
    // Without an index, or with a predicate, all rows are looked at, with the same result.
    request.propertiesToFetch = [.expression("most", .aggregate(.maximum, .key("i32")))]
    #expect(try collect(ResolvedDictionaryRequest(request, schema: fixture.schema))[0]["most"] == 6)
    request.propertiesToFetch = [.expression("least", .aggregate(.minimum, .key("i64")))]
    request.predicate = Attribute("i32") == 3
    #expect(try ResolvedDictionaryRequest(request, schema: fixture.schema).ends == nil)
    #expect(try collect(ResolvedDictionaryRequest(request, schema: fixture.schema))[0]["least"] == 0)
  }
}
