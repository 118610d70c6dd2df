import Foundation
import Testing

@testable import StrataCore

/// What a commit does to the members of relationships.
@Suite struct EdgeWritingTests {
  /// Rules 208, 212: the to-many side follows from the rows at the other end.
  @Test func membersFollowFromRows() throws {
    let fixture = try EdgeFixture()
    try fixture.commit(inserts: [
      fixture.insert("Company", 1), fixture.insert("Company", 2),
      fixture.insert("Person", 1, ["employer": ("Company", 1), "favourite": ("Company", 2)]),
      fixture.insert("Student", 2, ["employer": ("Company", 1), "parent": ("Person", 1)]),
      fixture.insert("Person", 3, ["parent": ("Person", 3), "favourite": ("Company", 2)]),
    ])
    #expect(try fixture.members("employees", 1) == [1, 2])
    #expect(try fixture.members("children", 1) == [2])
    #expect(try fixture.members("children", 3) == [3])
    #expect(try fixture.members("favourite", 2, hidden: true) == [1, 3])
    #expect(try fixture.members("favourite", 2) == [])
    let student = fixture.reference("Student", 2)
    let employees = EdgeSet(relationship: fixture.relationship("employees").number)
    #expect(try fixture.store.hasMember(employees, of: 1, student))
    #expect(try !fixture.store.hasMember(employees, of: 1, fixture.reference("Person", 2)))

    try fixture.commit(updates: [
      fixture.update("Person", 1, ["employer": ("Company", 2), "favourite": nil]),
      fixture.update("Student", 2, ["employer": nil, "tutor": ("Person", 3)]),
    ])
    #expect(try fixture.members("employees", 1) == [])
    #expect(try fixture.members("employees", 2) == [1])
    #expect(try fixture.members("favourite", 2, hidden: true) == [3])
    #expect(try fixture.members("tutor", 3, hidden: true) == [2])

    try fixture.commit(
      updates: [fixture.update("Student", 2, ["parent": nil])], deletes: [fixture.delete("Person", 1)])
    #expect(try fixture.members("employees", 2) == [])
    #expect(try fixture.members("children", 1) == [])
    try fixture.base.reopen()
    #expect(try fixture.members("tutor", 3, hidden: true) == [2])
    #expect(try fixture.store.check().problems == [])
  }

  /// Rule 200: a row whose own columns do not change keeps its version.
  @Test func ownersKeepTheirVersions() throws {
    let fixture = try EdgeFixture()
    try fixture.commit(inserts: [fixture.insert("Company", 1), fixture.insert("Person", 1)])
    try fixture.commit(updates: [fixture.update("Person", 1, ["employer": ("Company", 1)])])
    try fixture.commit(edges: [
      fixture.add("likes", 1, ("Company", 1)), fixture.add("fans", 1, ("Person", 1)),
    ])
    #expect(try fixture.version("Company", 1) == 1)
    #expect(try fixture.version("Person", 1) == 2)
    #expect(try fixture.members("fans", 1) == [1])
  }

  @Test func editingAnotherSlotLeavesEdgesAlone() throws {
    let fixture = try EdgeFixture()
    try fixture.commit(inserts: [
      fixture.insert("Company", 1), fixture.insert("Person", 1, ["employer": ("Company", 1)]),
    ])
    let row = try #require(try fixture.base.row("Person", 1))
    try fixture.commit(updates: [fixture.base.update(row, ["name": "Ada"])])
    #expect(try fixture.members("employees", 1) == [1])
    #expect(try fixture.store.check().problems == [])
  }

  @Test func manyToManyIsWrittenInBothDirectionsAndTwiceIsOnce() throws {
    let fixture = try EdgeFixture()
    try fixture.commit(inserts: [
      fixture.insert("Person", 1), fixture.insert("Student", 2), fixture.insert("Person", 3),
    ])
    let both = [fixture.add("friends", 1, ("Student", 2)), fixture.add("friends", 2, ("Person", 1))]
    try fixture.commit(edges: both + both)
    try fixture.commit(edges: both + [fixture.add("friends", 3, ("Person", 3))])
    #expect(try fixture.members("friends", 1) == [2])
    #expect(try fixture.members("friends", 2) == [1])
    #expect(try fixture.members("friends", 3) == [3])
    let apart = [fixture.remove("friends", 1, ("Student", 2)), fixture.remove("friends", 2, ("Person", 1))]
    try fixture.commit(edges: apart)
    try fixture.commit(edges: apart)
    #expect(try fixture.members("friends", 1) == [])
    // What is said last counts.
    try fixture.commit(edges: both + apart + both)
    #expect(try fixture.members("friends", 1) == [2])
    try fixture.commit(edges: apart + both + apart)
    #expect(try fixture.members("friends", 2) == [])
    #expect(try fixture.store.check().problems == [])
  }

  @Test func relationshipWithoutInverseKeepsHiddenEdges() throws {
    let fixture = try EdgeFixture()
    try fixture.commit(inserts: [fixture.insert("Person", 1), fixture.insert("Student", 2)])
    try fixture.commit(edges: [
      fixture.add("links", 1, ("Student", 2)), fixture.add("links", 2, ("Student", 2)),
      fixture.add("links", 2, ("Person", 1)),
    ])
    #expect(try fixture.members("links", 2) == [1, 2])
    #expect(try fixture.members("links", 2, hidden: true) == [1, 2])
    #expect(try fixture.members("links", 1, hidden: true) == [2])
    #expect(
      try fixture.store.members(
        EdgeSet(relationship: fixture.relationship("links").number, isHiddenInverse: true), of: 1)
        == [fixture.reference("Student", 2)])
    try fixture.commit(edges: [fixture.remove("links", 2, ("Student", 2))])
    #expect(try fixture.members("links", 2) == [1])
    #expect(try fixture.members("links", 2, hidden: true) == [1])
    #expect(try fixture.store.check().problems == [])
  }

  /// A row that goes takes the edges of both directions along (rule 212).
  @Test func deletedRowLeavesNoEdges() throws {
    let fixture = try EdgeFixture()
    try fixture.commit(
      inserts: [
        fixture.insert("Person", 1), fixture.insert("Person", 2), fixture.insert("Tag", 1),
        fixture.insert("Company", 1),
      ],
      edges: [
        fixture.add("friends", 1, ("Person", 2)), fixture.add("friends", 2, ("Person", 1)),
        fixture.add("friends", 1, ("Person", 1)), fixture.add("tags", 1, ("Tag", 1)),
        fixture.add("people", 1, ("Person", 1)), fixture.add("route", 1, ("Tag", 1)),
        fixture.add("links", 1, ("Person", 2)), fixture.add("links", 2, ("Person", 1)),
        fixture.add("likes", 1, ("Company", 1)), fixture.add("fans", 1, ("Person", 1)),
      ])
    #expect(try fixture.store.check().problems == [])
    try fixture.commit(deletes: [fixture.delete("Person", 1)])
    #expect(try fixture.members("friends", 2) == [])
    #expect(try fixture.members("people", 1) == [])
    #expect(try fixture.members("fans", 1) == [])
    #expect(try fixture.members("route", 1, hidden: true) == [])
    #expect(try fixture.members("links", 2) == [])
    let edges = try #require(fixture.store.parts.edges)
    #expect(try fixture.store.parts.environment.read { try $0.entryCount(edges) } == 0)
    // A row that is gone already is no conflict when any version may go.
    try fixture.commit(deletes: [fixture.delete("Person", 1), fixture.delete("Tag", 1)])
    #expect(try fixture.base.row("Tag", 1) == nil)
  }

  /// Rule 217.
  @Test func orderedMembersStandWhereTheyArePut() throws {
    let fixture = try EdgeFixture()
    try fixture.commit(inserts: (1...5).map { try fixture.insert("Tag", $0) } + [fixture.insert("Person", 1)])
    try fixture.commit(edges: [5, 3, 1].map { fixture.add("route", 1, ("Tag", $0)) })
    #expect(try fixture.members("route", 1) == [5, 3, 1])
    let (first, gap) = (EdgePosition.first, EdgePosition.gap)
    #expect(try fixture.positions("route", 1) == [first, first + gap, first + 2 * gap])
    try fixture.commit(edges: [
      fixture.add("route", 1, ("Tag", 2), at: first + 1), fixture.add("route", 1, ("Tag", 1), at: first - 1),
      fixture.add("route", 1, ("Tag", 5)),
    ])
    #expect(try fixture.members("route", 1) == [1, 5, 2, 3])
    try fixture.commit(edges: [
      fixture.add("route", 1, ("Tag", 4)), fixture.remove("route", 1, ("Tag", 5)),
      fixture.remove("route", 1, ("Tag", 2)),
    ])
    #expect(try fixture.members("route", 1) == [1, 3, 4])
    // At one position members stand in order of their references.
    let end = EdgePosition.firstProvisional - 1
    try fixture.commit(edges: [4, 2].map { fixture.add("route", 1, ("Tag", $0), at: end) })
    try fixture.commit(edges: [fixture.add("route", 1, ("Tag", 5))])
    #expect(try fixture.members("route", 1) == [1, 3, 2, 4, 5])
    #expect(try fixture.positions("route", 1).suffix(3) == [end, end, end])
    // Provisional positions only say which is appended first.
    try fixture.commit(edges: [
      fixture.add("route", 1, ("Tag", 1), at: first), fixture.remove("route", 1, ("Tag", 5)),
      fixture.add("route", 1, ("Tag", 2), at: first + 9), fixture.remove("route", 1, ("Tag", 4)),
    ])
    try fixture.commit(edges: [
      fixture.add("route", 1, ("Tag", 5), at: .max),
      fixture.add("route", 1, ("Tag", 1), at: EdgePosition.firstProvisional),
    ])
    #expect(try fixture.members("route", 1) == [2, 3, 1, 5])
    #expect(
      try fixture.positions("route", 1)
        == [first + 9, first + gap, first + gap + gap, first + gap + 2 * gap])
    #expect(try fixture.store.check().problems == [])
  }

  @Test func orderedMembersOfRowsComeInTheirOrderOrWhereTheyArePut() throws {
    let fixture = try EdgeFixture()
    try fixture.commit(inserts: [
      fixture.insert("Company", 1), fixture.insert("Person", 9, ["visited": ("Company", 1)]),
      fixture.insert("Person", 4, ["visited": ("Company", 1)]),
    ])
    #expect(try fixture.members("visitors", 1) == [9, 4])
    try fixture.commit(
      inserts: [
        fixture.insert("Person", 12, ["visited": ("Company", 1)]),
        fixture.insert("Person", 11, ["visited": ("Company", 1)]), fixture.insert("Person", 13),
      ],
      edges: [
        fixture.add("visitors", 1, ("Person", 12), at: EdgePosition.first - 5),
        fixture.add("visitors", 1, ("Person", 4), at: EdgePosition.first - 4),
        // A row that does not refer is no member.
        fixture.add("visitors", 1, ("Person", 13), at: 1),
      ])
    #expect(try fixture.members("visitors", 1) == [12, 4, 9, 11])
    try fixture.commit(
      updates: [fixture.update("Person", 9, ["visited": nil])], deletes: [fixture.delete("Person", 4)],
      edges: [fixture.add("visitors", 1, ("Person", 9), at: 7)])
    #expect(try fixture.members("visitors", 1) == [12, 11])
    #expect(try fixture.store.check().problems == [])
  }

  @Test func transientRelationshipsAreNotKept() throws {
    let fixture = try EdgeFixture()
    try fixture.commit(
      inserts: [fixture.insert("Person", 1), fixture.insert("Company", 1)],
      edges: [fixture.add("ghost", 1, ("Company", 1))])
    #expect(try fixture.members("ghost", 1) == [])
    #expect(fixture.store.catalogue.relationships.codesByName["Person.ghost"] == nil)
  }

  /// A store that was made before there were relationships gets what it needs when it is opened.
  @Test func olderStoreGetsCodesAndRoom() throws {
    let fixture = try EdgeFixture()
    fixture.base.close()
    let url = fixture.base.directory.appendingPathComponent("Older.strata")
    let old = try LMDBStore(
      url: url, schema: EdgeFixture.model(withRelationships: false).schema(), options: .scratch)
    let entity = try #require(old.parts.schema.entity(named: "Person"))
    let draft = RowDraft.make(entity.layout, defaults: entity.defaults)
    var writer = RowSlabWriter()
    let (row, externals) = try RowEncoder.encode(
      layout: entity.layout, stamp: old.rowStamp(entity: entity.number), primaryKey: 1, version: 1, base: nil,
      draft: draft, into: &writer)
    let change = RowChange(
      entity: entity.number, primaryKey: 1, baseVersion: 0, row: row, externals: externals,
      changedSlots: SlotBitmap(allBelow: entity.attributes.count))
    _ = try fixture.base.commit([ChangeSet(inserts: [change])], store: old)[0].get()
    old.close()
    var options = LMDBStoreOptions.scratch
    options.ignoresVersionHashes = true
    let new = try LMDBStore(url: url, schema: fixture.schema, options: options)
    defer { new.close() }
    #expect(new.catalogue.isComplete(for: new.parts.held))
    let found = try #require(try fixture.base.row("Person", 1, store: new))
    let company = try fixture.base.insert("Company", [:], key: 1, store: new)
    let moved = try fixture.base.update(
      found,
      [
        "employer": .reference(Reference.bits(1, entityCode: new.rowStamp(entity: company.entity).entityCode))
      ],
      store: new)
    _ = try fixture.base.commit([ChangeSet(inserts: [company], updates: [moved])], store: new)[0].get()
    let employees = EdgeSet(relationship: fixture.relationship("employees").number)
    #expect(try new.members(employees, of: 1).map { Reference.primaryKey($0) } == [1])
    #expect(try new.check().problems == [])
  }

  /// A snapshot continues showing the members of its commit.
  @Test func snapshotKeepsItsMembers() throws {
    let fixture = try EdgeFixture()
    try fixture.commit(inserts: [
      fixture.insert("Company", 1), fixture.insert("Person", 1, ["visited": ("Company", 1)]),
    ])
    let snapshot = try #require(try fixture.store.makeSnapshot())
    defer { snapshot.release() }
    try fixture.commit(updates: [fixture.update("Person", 1, ["visited": nil])])
    let visitors = EdgeSet(relationship: fixture.relationship("visitors").number)
    let member = fixture.reference("Person", 1)
    #expect(try snapshot.members(visitors, of: 1) == [member])
    #expect(try snapshot.members(visitors, of: [1, 2]) == [[member], []])
    #expect(try snapshot.memberCount(visitors, of: 1) == 1)
    #expect(try snapshot.hasMember(visitors, of: 1, member))
    #expect(
      try snapshot.placedMembers(visitors, of: 1)
        == [PlacedMember(position: EdgePosition.first, member: member)])
    #expect(try fixture.members("visitors", 1) == [])
  }
}
