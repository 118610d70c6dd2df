import Foundation
import Testing

@testable import StrataCore

/// Rules 212, 221: what would leave a reference to a row that does not exist is not written.
@Suite struct DanglingReferenceTests {
  private func people(_ count: UInt64 = 3) throws -> EdgeFixture {
    let fixture = try EdgeFixture()
    try fixture.commit(
      inserts: (1...count).flatMap {
        [try fixture.insert("Person", $0), try fixture.insert("Company", $0), try fixture.insert("Tag", $0)]
      })
    return fixture
  }

  @Test func referenceToAMissingRowIsRefused() throws {
    let fixture = try people()
    #expect(
      try fixture.dangling(
        inserts: [
          fixture.insert("Person", 10, ["employer": ("Company", 7), "favourite": ("Company", 8)]),
          fixture.insert("Person", 11, ["employer": ("Company", 7), "parent": ("Person", 10)]),
          fixture.insert("Person", 12, ["seat": ("Address", 5), "visited": ("Company", 9)]),
        ], updates: [fixture.update("Person", 1, ["watched": ("Company", 6)])])
        == [
          "employer 10→7", "employer 11→7", "favourite 10→8", "seat 12→5", "visited 12→9", "watched 1→6",
        ])
  }

  @Test func referenceToARowThatGoesIsRefused() throws {
    let fixture = try people()
    #expect(
      try fixture.dangling(
        inserts: [fixture.insert("Person", 10, ["employer": ("Company", 1)])],
        deletes: [fixture.delete("Company", 1)]) == ["employer 10→1"])
  }

  @Test func edgeToOrFromAMissingRowIsRefused() throws {
    let fixture = try people()
    #expect(try fixture.dangling(edges: [fixture.add("likes", 1, ("Company", 9))]) == ["likes 1→9"])
    #expect(try fixture.dangling(edges: [fixture.add("likes", 9, ("Company", 1))]) == ["fans 1→9"])
    #expect(
      try fixture.dangling(edges: [fixture.add("route", 9, ("Tag", 1))]) == ["route 9→1 sourceless"])
    #expect(
      try fixture.dangling(
        deletes: [fixture.delete("Person", 1)], edges: [fixture.add("tags", 1, ("Tag", 1))])
        == ["people 1→1"])
    #expect(
      try fixture.dangling(
        deletes: [fixture.delete("Tag", 1)], edges: [fixture.add("tags", 1, ("Tag", 1))])
        == ["tags 1→1"])
    // Taking away what is not there is no error.
    try fixture.commit(edges: [
      fixture.remove("likes", 9, ("Company", 9)), fixture.remove("route", 9, ("Tag", 9)),
    ])
  }

  @Test func rowsThatReferToADeletedOneAreLeftBehind() throws {
    let fixture = try people(5)
    try fixture.commit(updates: [
      fixture.update("Person", 1, ["employer": ("Company", 1), "favourite": ("Company", 1)]),
      fixture.update("Person", 2, ["visited": ("Company", 1), "parent": ("Person", 1)]),
      fixture.update("Person", 3, ["employer": ("Company", 1)]),
      fixture.update("Person", 4, ["employer": ("Company", 1)]),
    ])
    // 3 goes as well, 4 is updated away, 1 and 2 know of nothing.
    #expect(
      try fixture.dangling(
        updates: [fixture.update("Person", 4, ["employer": ("Company", 2)])],
        deletes: [fixture.delete("Company", 1), fixture.delete("Person", 3)])
        == ["employer 1→1 behind", "favourite 1→1 behind", "visited 2→1 behind"])
    // An update of something else does not help.
    #expect(
      try fixture.dangling(
        updates: [fixture.update("Person", 2, ["favourite": ("Company", 2)])],
        deletes: [fixture.delete("Person", 1)]) == ["parent 2→1 behind"])
    try fixture.commit(deletes: [
      fixture.delete("Person", 1), fixture.delete("Person", 2), fixture.delete("Person", 3),
      fixture.delete("Person", 4), fixture.delete("Company", 1),
    ])
    #expect(try fixture.store.check().problems == [])
  }

  /// Rule 212: with noAction the reference stays.
  @Test func noActionLeavesTheReference() throws {
    let fixture = try people()
    try fixture.commit(updates: [fixture.update("Person", 1, ["watched": ("Company", 1)])])
    try fixture.commit(deletes: [fixture.delete("Company", 1)])
    let row = try #require(try fixture.base.row("Person", 1))
    #expect(try fixture.base.values(row)["watched"]?.isNull == false)
    let check = try fixture.store.check()
    #expect(check.problems == [])
    #expect(check.danglingReferenceCount == 1)
    // Another change of the row does not bring it up; a change of the reference ends it.
    try fixture.commit(updates: [fixture.update("Person", 1, ["employer": ("Company", 2)])])
    try fixture.commit(updates: [fixture.update("Person", 1, ["watched": ("Company", 2)])])
    #expect(try fixture.members("watchers", 2) == [1])
    #expect(try fixture.store.check().danglingReferenceCount == 0)
    #expect(try fixture.store.check().problems == [])
  }

  @Test func partnerOfADeletedRowIsLeftBehind() throws {
    let fixture = try people()
    try fixture.commit(inserts: [
      fixture.insert("Address", 1, ["sitter": ("Person", 10), "owner": ("Person", 10)]),
      fixture.insert("Person", 10, ["seat": ("Address", 1), "den": ("Address", 1)]),
    ])
    #expect(
      try fixture.dangling(deletes: [fixture.delete("Address", 1)])
        == ["den 10→1 behind", "seat 10→1 behind"])
    // Person.den has noAction: Address.owner may stay.
    #expect(try fixture.dangling(deletes: [fixture.delete("Person", 10)]) == ["sitter 1→10 behind"])
    try fixture.commit(
      updates: [fixture.update("Address", 1, ["sitter": nil])], deletes: [fixture.delete("Person", 10)])
    #expect(try fixture.store.check().danglingReferenceCount == 1)
    // The partner is deleted already: no reference is left.
    try fixture.commit(deletes: [fixture.delete("Address", 1)])
    #expect(try fixture.store.check().danglingReferenceCount == 0)
    #expect(try fixture.store.check().problems == [])
  }

  @Test func referenceToAnotherEntityIsInvalid() throws {
    let fixture = try people()
    try fixture.commit(inserts: [fixture.insert("Student", 20)])
    func kind(_ body: () throws -> Void) -> StorageError.Kind? {
      do { try body() } catch { return (error as? StorageError)?.kind }
      return nil
    }
    #expect(
      kind { try fixture.commit(inserts: [fixture.insert("Person", 10, ["employer": ("Person", 1)])]) }
        == .invalid)
    #expect(kind { try fixture.commit(edges: [fixture.add("likes", 1, ("Tag", 1))]) } == .invalid)
    #expect(kind { try fixture.commit(edges: [fixture.add("friends", 1, ("Person", 20))]) } == .invalid)
    #expect(kind { try fixture.commit(edges: [fixture.add("employer", 1, ("Company", 1))]) } == .invalid)
    #expect(
      kind { try fixture.commit(inserts: [fixture.insert("Person", 11, ["parent": ("Student", 20)])]) } == nil
    )
    #expect(try fixture.members("children", 20) == [11])
  }

  /// One change set of a batch that is refused does not keep the others from being written.
  @Test func refusedChangeSetLeavesTheOthers() throws {
    let fixture = try people()
    let results = try fixture.base.commit([
      ChangeSet(inserts: [fixture.insert("Person", 10, ["employer": ("Company", 1)])]),
      ChangeSet(deletes: [fixture.delete("Company", 1)]),
      ChangeSet(deletes: [fixture.delete("Company", 2)]),
      ChangeSet(inserts: [fixture.insert("Person", 11, ["employer": ("Company", 2)])]),
    ])
    #expect(results.map { (try? $0.get()) != nil } == [true, false, true, false])
    #expect(try fixture.members("employees", 1) == [10])
    #expect(try fixture.store.check().problems == [])
  }

  /// A cascade is one change set, however large.
  @Test func cascadeOverManyRows() throws {
    let fixture = try people(1)
    let count: UInt64 = 5_000
    try fixture.commit(
      inserts: try (0..<count).map {
        try fixture.insert(
          "Person", 100 + $0, ["parent": ("Person", $0 == 0 ? 1 : 100 + $0 / 7), "employer": ("Company", 1)])
      })
    #expect(try fixture.members("employees", 1).count == Int(count))
    var deletes = (0..<count).map { fixture.delete("Person", 100 + $0) }
    deletes.removeLast()
    #expect(
      try fixture.dangling(deletes: deletes + [fixture.delete("Company", 1)])
        == ["employer \(99 + count)→1 behind", "parent \(99 + count)→\(100 + (count - 1) / 7) behind"])
    try fixture.commit(deletes: deletes.shuffled() + [fixture.delete("Person", 99 + count)])
    #expect(try fixture.members("employees", 1) == [])
    let edges = try #require(fixture.store.parts.edges)
    #expect(try fixture.store.parts.environment.read { try $0.entryCount(edges) } == 0)
  }
}
