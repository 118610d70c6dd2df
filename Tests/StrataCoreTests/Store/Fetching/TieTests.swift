import Foundation
import Testing

@testable import StrataCore

/// Pages and windows over rows that the sort keys do not distinguish: they cost what they hold.
struct TieTests {
  private let fixture: StoreFixture
  private static let rowCount = 4_000

  init() throws {
    fixture = try StoreFixture()
    var rows: [RowChange] = []
    for number in 0..<Self.rowCount {
      // All alike; in groups of thousands, hundreds and a few; some have none.
      var values: [String: AttributeValue] = ["flag": .boolean(number % 2 == 0)]
      values["u"] = .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))
      if number % 9 != 0 { values["i64"] = .integer(Int64(number % 3)) }
      values["date"] = .date(Date(timeIntervalSinceReferenceDate: Double(number % 20)))
      values["dec"] = .decimal(Decimal(number % 1_000))
      if number % 5 != 0 { values["d"] = .double(-0.0) }
      rows.append(try fixture.insert("Item", values))
    }
    try fixture.commit(inserts: rows)
  }

  /// How a request is executed and what that took.
  private func run(_ request: ResolvedFetchRequest) throws -> (rows: FetchedRows, counters: FetchCounters) {
    try fixture.store.read { reader, transaction in
      let view = StoredView(reader, transaction)
      let counters = FetchCounters()
      let executor = FetchExecutor(
        request: request, plan: try view.plan(request, mode: .rows), mode: .rows, view: view,
        counters: counters)
      return (try executor.run(transaction), counters)
    }
  }

  private static let lists: [(predicate: FetchPredicate?, sorts: [FetchSort])] = [
    (nil, [FetchSort("u")]), (nil, [FetchSort("u", ascending: false)]), (nil, [FetchSort("i64")]),
    (nil, [FetchSort("i64", ascending: false)]), (nil, [FetchSort("date")]),
    (nil, [FetchSort("date", ascending: false)]), (nil, [FetchSort("dec")]),
    (nil, [FetchSort("dec", ascending: false)]),
    (Attribute("flag") == true, [FetchSort("d")]),
    (Attribute("flag") == true, [FetchSort("d", ascending: false)]),
    (Attribute("flag") == true, [FetchSort("flag"), FetchSort("d", ascending: false)]),
    (Attribute("i64") > 0, [FetchSort("i64")]), (Attribute("i64") >= 1, [FetchSort("i64", ascending: false)]),
    (Attribute("i64") == 1, [FetchSort("i64")]), (Attribute("i64") == 1, []),
  ]

  @Test("a page costs what is on it, however many equal values precede it", arguments: lists.indices)
  func pages(list: Int) throws {
    let (predicate, sorts) = Self.lists[list]
    let request = FetchRequest<ManagedObjectID>(
      entityName: "Item", predicate: predicate, sortDescriptors: sorts)
    var resolved = try ResolvedFetchRequest(request, schema: fixture.schema)
    resolved.isPaged = true
    let whole = try fixture.fetch("Item", predicate, sort: sorts).rows.map(\.primaryKey)
    #expect(whole.count > 400)
    let size = 130
    resolved.limit = size
    var found: [UInt64] = []
    while true {
      let (page, counters) = try run(resolved)
      found += page.rows.map(\.primaryKey)
      #expect(counters.examined <= size, "of \(sorts) at \(found.count)")
      #expect(counters.walked <= 4 * size, "of \(sorts) at \(found.count)")
      guard let last = page.rows.last else { break }
      let continuation = FetchContinuation(
        after: request, values: try sorts.map { try fixture.value(last, $0.key) },
        storeIdentifier: fixture.store.identifier, primaryKey: last.primaryKey)
      resolved.start = try FetchStart(continuation, request, resolved.sorts, storeIndex: 0)
    }
    #expect(found == whole)
  }

  @Test("a page may begin with the row that has the key itself: that of a store behind")
  func pagesOfOtherStores() throws {
    for list in [0, 1, 2, 3] {
      let sorts = Self.lists[list].sorts
      let request = FetchRequest<ManagedObjectID>(entityName: "Item", sortDescriptors: sorts)
      var resolved = try ResolvedFetchRequest(request, schema: fixture.schema)
      resolved.isPaged = true
      resolved.limit = 5
      let whole = try fixture.fetch("Item", sort: sorts).rows
      let continuation = FetchContinuation(
        after: request, values: try sorts.map { try fixture.value(whole[900], $0.key) },
        storeIdentifier: fixture.store.identifier, primaryKey: whole[900].primaryKey)
      resolved.start = try FetchStart(continuation, request, resolved.sorts, storeIndex: 0)
      #expect(try run(resolved).rows.rows.map(\.primaryKey) == whole[901..<906].map(\.primaryKey))
      resolved.start?.includesEqual = true
      #expect(try run(resolved).rows.rows.map(\.primaryKey) == whole[900..<905].map(\.primaryKey))
    }
  }

  @Test("the last of many equal values come in the order of keys, and no more of them are read")
  func windowsFromTheEnd() throws {
    for (predicate, sorts) in Self.lists.prefix(13) {
      let whole = try fixture.fetch("Item", predicate, sort: sorts).rows.map(\.primaryKey)
      for (limit, offset) in [(1, 0), (50, 0), (50, 20), (3, 600)] {
        let request = try fixture.resolve("Item", predicate, sort: sorts, limit: limit, offset: offset)
        let (page, counters) = try run(request)
        #expect(page.rows.map(\.primaryKey) == Array(whole.dropFirst(offset).prefix(limit)))
        #expect(counters.examined <= limit + offset)
        #expect(counters.walked <= 2 * (limit + offset) + 200, "of \(sorts), \(limit) from \(offset)")
      }
    }
  }
}
