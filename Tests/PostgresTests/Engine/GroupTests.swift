import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Change sets that are written together: one transaction, and each succeeds or fails alone.
@Suite struct GroupTests {
  private func commit(_ stand: ServerStand, _ sets: [ChangeSet]) -> [Result<CommitResult, any Error>] {
    let answers = Mutex<[Result<CommitResult, any Error>]>([])
    let done = DispatchSemaphore(value: 0)
    stand.store.commit(sets, deadline: nil) { results in
      answers.withLock { $0 = results }
      done.signal()
    }
    done.wait()
    return answers.withLock { $0 }
  }

  /// A row of an entity with a name.
  private func row(
    _ stand: ServerStand, _ entityName: String, _ name: String, key: UInt64? = nil, base: UInt32 = 0
  )
    throws -> RowChange
  {
    let entity = try #require(stand.store.mapping.schema.entity(named: entityName))
    let slot = try #require(entity.slot(named: "name"))
    let key = try key ?? stand.store.makePrimaryKey(hierarchy: entity.hierarchyNumber)
    var values = [AttributeValue](repeating: .null, count: entity.attributes.count)
    values[slot] = .string(name)
    var assembler = RowAssembler()
    let row = try assembler.row(
      of: entity, stamp: stand.store.rowStamp(entity: entity.number), primaryKey: key, version: base + 1,
      values: values)
    return RowChange(
      entity: entity.number, primaryKey: key, baseVersion: base, row: row, externals: [],
      changedSlots: SlotBitmap(allBelow: entity.attributes.count))
  }

  @Test func eachSetFailsAlone() throws {
    let stand = try ServerStand(Library.make())
    let first = try row(stand, "Subject", "first")
    let results = commit(
      stand,
      [
        // Refused before anything is sent, by the versions, by the server, by values that must be unique.
        ChangeSet(edges: [EdgeChange(relationship: 10_000, owner: 1, member: 1, kind: .remove)]),
        ChangeSet(inserts: [first]),
        ChangeSet(updates: [try row(stand, "Subject", "gone", key: 77, base: 3)]),
        ChangeSet(inserts: [try row(stand, "Author", "Ada")]),
        ChangeSet(inserts: [try row(stand, "Author", "Ada"), try row(stand, "Subject", "lost")]),
        ChangeSet(inserts: [try row(stand, "Subject", "again", key: first.primaryKey)]),
        ChangeSet(inserts: [try row(stand, "Subject", "last")]),
      ])
    #expect(results.count == 7)
    let numbers = results.map { try? $0.get().commitNumber }
    #expect(numbers.map { $0 != nil } == [false, true, false, true, false, false, true])
    #expect(numbers.compactMap(\.self) == [1, 2, 3], "each has a number of its own, without gaps")
    let times = try #require(
      try stand.sql("SELECT count(DISTINCT at) FROM \(stand.table("strata_commit"))"))
    #expect(try times.text(0, 0) == "3", "and a time of its own")
    let notes = try #require(
      try stand.sql(
        "SELECT string_agg(number::text, ',' ORDER BY number), count(token) FROM \(stand.table("strata_commit"))"
      ))
    #expect(try notes.text(0, 0) == "1,2,3")
    #expect(try notes.text(0, 1) == "1")
    func failure(_ place: Int) -> (any Error)? {
      if case .failure(let error) = results[place] { return error }
      return nil
    }
    #expect((failure(0) as? StorageError)?.kind == .invalid)
    #expect((failure(2) as? CommitConflict)?.conflicts.map(\.primaryKey) == [77])
    #expect((failure(4) as? UniquenessViolation)?.violations.count == 1)
    // A row of the first version may be that of a save whose outcome was unknown.
    #expect((failure(5) as? CommitConflict)?.conflicts.first?.stored?.primaryKey == first.primaryKey)
    #expect(try stand.context().texts("Subject", "name") == ["first", "last"])
    #expect(try stand.context().texts("Author", "name") == ["Ada"])
  }

  @Test func theFirstThatTheServerRefusesTakesNoOtherWithIt() throws {
    let stand = try ServerStand(Library.make())
    let taken = try row(stand, "Subject", "taken")
    #expect(commit(stand, [ChangeSet(inserts: [taken])]).count { (try? $0.get()) != nil } == 1)
    let results = commit(
      stand,
      [
        ChangeSet(inserts: [try row(stand, "Subject", "again", key: taken.primaryKey)]),
        ChangeSet(inserts: [try row(stand, "Subject", "last")]),
      ])
    #expect(results.map { try? $0.get().commitNumber } == [nil, 2])
    #expect(try stand.context().texts("Subject", "name") == ["last", "taken"])
  }

  @Test func aSetThatCannotBeCopiedTakesNoOtherWithIt() throws {
    let stand = try ServerStand(Library.make())
    let many = try (0..<RowStatements.leastCopied * 8).map { number in
      try row(stand, "Subject", number == RowStatements.leastCopied * 7 ? "a\0b" : "subject \(number)")
    }
    let results = commit(
      stand,
      [
        ChangeSet(inserts: [try row(stand, "Subject", "first")]), ChangeSet(inserts: many),
        ChangeSet(inserts: Array(many.prefix(RowStatements.leastCopied))),
      ])
    #expect(results.map { try? $0.get().commitNumber } == [1, nil, 2])
    #expect(try stand.context().all("Subject").count == 1 + RowStatements.leastCopied)
  }

  /// What is missing is not the store's.
  @Test func aSetWhoseTriggerMissesATableTakesNoOtherWithIt() throws {
    let stand = try ServerStand(Library.make())
    try stand.sql(
      """
      CREATE FUNCTION \(stand.table("note"))() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO missing VALUES (NEW.name); RETURN NEW; END $$;
      CREATE TRIGGER notes BEFORE INSERT ON \(stand.table("author"))
        FOR EACH ROW EXECUTE FUNCTION \(stand.table("note"))();
      """)
    let results = commit(
      stand,
      [
        ChangeSet(inserts: [try row(stand, "Subject", "first")]),
        ChangeSet(inserts: [try row(stand, "Author", "Ada")]),
        ChangeSet(inserts: [try row(stand, "Subject", "last")]),
      ])
    #expect(results.map { try? $0.get().commitNumber } == [1, nil, 2])
    let error = #expect(throws: StorageError.self) { try results[1].get() }
    #expect(error?.kind == .refused && error?.detail.contains("missing") == true)
    #expect(try stand.context().texts("Subject", "name") == ["first", "last"])
  }

  @Test func setsThatAllFailLeaveNothing() throws {
    let stand = try ServerStand(Library.make())
    let results = commit(
      stand,
      try (0..<3).map { ChangeSet(updates: [try row(stand, "Subject", "x", key: UInt64($0) + 5, base: 1)]) })
    #expect(
      results.allSatisfy { if case .failure(let error) = $0 { error is CommitConflict } else { false } })
    let count = try #require(try stand.sql("SELECT commit_number FROM \(stand.table("strata_store"))"))
    #expect(try count.text(0, 0) == "0")
  }
}
