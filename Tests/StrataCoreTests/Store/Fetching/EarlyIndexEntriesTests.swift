import Foundation
import Testing

@testable import StrataCore

/// Index entries of large change sets, made by another thread than the one that writes the rows: it is the same store whether they could be
/// made or not.
@Suite struct EarlyIndexEntriesTests {
  private let fixture: StoreFixture
  private let rows: ContiguousArray<FetchedRow>
  private static let count = 3_000

  init() throws {
    let fixture = try StoreFixture(inMemory: true)
    let inserts = try (0..<Self.count).map { number in
      try fixture.insert(
        "Item",
        [
          "i64": .integer(Int64(number % 50)), "s": .string("s\(number % 700)"),
          "code": .string("c\(number)"),
        ])
    }
    try fixture.commit(inserts: inserts)
    self.fixture = fixture
    rows = try fixture.fetch("Item").rows
  }

  enum Made: CaseIterable { case made, refused }

  /// Makes the entries ahead, or fails because another holder has the environment for itself.
  private func prepare(_ changes: ChangeSet, _ made: Made) throws -> ChangeSet {
    var changes = changes
    let work = try #require(fixture.store.workAlongside(&changes))
    switch made {
    case .made: work()
    case .refused:
      // Waiting for the gate here would be waiting for a writer that waits for this.
      try fixture.store.parts.environment.pool.exclusively(until: .now) { environment in
        work()
        return try .success(#require(environment))
      }
    }
    #expect((changes.earlyEntries?.wait() != nil) == (made == .made))
    return changes
  }

  private func expectSound(count: Int) throws {
    #expect(try fixture.store.check().problems == [])
    #expect(try fixture.fetch("Item").rows.count == count)
  }

  private func updates(_ rows: some Sequence<FetchedRow>) throws -> [RowChange] {
    try rows.enumerated().map { number, row in
      try fixture.update(row, number % 3 == 0 ? ["s": .string("new \(number)")] : ["i64": .integer(-1)])
    }
  }

  @Test(arguments: Made.allCases) func deletionsAndUpdates(made: Made) throws {
    let deletions = ChangeSet(deletes: rows.prefix(1_500).map(fixture.delete))
    try fixture.store.commitAndWait(prepare(deletions, made))
    try expectSound(count: 1_500)
    try fixture.store.commitAndWait(prepare(ChangeSet(updates: updates(rows.suffix(1_500))), made))
    try expectSound(count: 1_500)
    #expect(try fixture.fetch("Item", Attribute("i64") == -1).rows.count == 1_000)
    #expect(try fixture.fetch("Item", Attribute("s").beginsWith("new ")).rows.count == 500)
  }

  @Test(arguments: Made.allCases) func insertions(made: Made) throws {
    let inserts = try (0..<1_000).map { try fixture.insert("Item", ["s": .string("i\($0)")]) }
    try fixture.store.commitAndWait(prepare(ChangeSet(inserts: inserts), made))
    try expectSound(count: Self.count + 1_000)
  }

  /// What comes second finds rows that the first has written, where no other thread sees them.
  @Test(arguments: Made.allCases) func severalInOneTransaction(made: Made) throws {
    let sets = [
      try prepare(ChangeSet(deletes: rows.prefix(1_000).map(fixture.delete)), made),
      try prepare(ChangeSet(updates: updates(rows.dropFirst(1_000).prefix(1_000))), made),
      try prepare(ChangeSet(deletes: rows.suffix(1_000).map(fixture.delete)), made),
    ]
    for result in fixture.commit(sets) { _ = try result.get() }
    try expectSound(count: 1_000)
  }

  @Test func whoKnowsAnOlderRowMakesNoEntries() throws {
    try fixture.commit(updates: [fixture.update(rows[7], ["s": .string("meanwhile")])])
    var changes = ChangeSet(deletes: rows.map(fixture.delete))
    let work = try #require(fixture.store.workAlongside(&changes))
    work()
    #expect(changes.earlyEntries?.wait() == nil)
    #expect(throws: CommitConflict.self) { try fixture.store.commitAndWait(changes) }
    try expectSound(count: Self.count)
  }

  @Test func entriesAreMadeOnlyWhereTheyAreOfUse() throws {
    var few = ChangeSet(deletes: rows.prefix(10).map(fixture.delete))
    #expect(fixture.store.workAlongside(&few) == nil)
    var anyVersion = ChangeSet(
      deletes: rows.map {
        RowDeletion(entity: $0.entity, primaryKey: $0.primaryKey, baseVersion: RowDeletion.anyVersion)
      })
    #expect(fixture.store.workAlongside(&anyVersion) == nil)
    var notIndexed = ChangeSet(updates: try rows.map { try fixture.update($0, ["t": .string("t")]) })
    #expect(fixture.store.workAlongside(&notIndexed) == nil)
  }
}
