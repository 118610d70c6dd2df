import Foundation
import Testing

@testable import StrataCore

/// A link of two records never reaches the file at one end only.
@Suite struct HalfLinkTests {
  private func stand() throws -> EdgeFixture {
    let fixture = try EdgeFixture()
    try fixture.commit(
      inserts: [1, 2, 3].flatMap {
        [
          try fixture.insert("Person", $0), try fixture.insert("Tag", $0), try fixture.insert("Address", $0),
          try fixture.insert("Company", $0),
        ]
      })
    return fixture
  }

  private func expectSound(_ fixture: EdgeFixture, _ location: SourceLocation = #_sourceLocation) throws {
    #expect(try fixture.store.check().problems == [], sourceLocation: location)
  }

  @Test func anEdgeToldAtOneEndIsWrittenAtBoth() throws {
    let fixture = try stand()
    try fixture.commit(edges: [
      fixture.add("likes", 1, ("Company", 1)), fixture.add("fans", 2, ("Person", 1)),
      // Reported at both ends.
      fixture.add("likes", 3, ("Company", 3)), fixture.add("fans", 3, ("Person", 3)),
    ])
    try expectSound(fixture)
    #expect(try fixture.members("likes", 1) == [1, 2])
    #expect(try fixture.members("fans", 1) == [1])
    try fixture.commit(edges: [fixture.remove("fans", 1, ("Person", 1))])
    try expectSound(fixture)
    #expect(try fixture.members("likes", 1) == [2])
  }

  @Test func whereBothEndsDisagreeTheLinkGoes() throws {
    let fixture = try stand()
    try fixture.commit(edges: [
      fixture.add("likes", 1, ("Company", 1)), fixture.remove("fans", 1, ("Person", 1)),
    ])
    try expectSound(fixture)
    #expect(try fixture.members("likes", 1).isEmpty && fixture.members("fans", 1).isEmpty)
  }

  /// Said twice from one end, it is said from one end still.
  @Test func theOtherEndOfALinkThatIsSaidTwice() throws {
    let fixture = try stand()
    let (link, back) = (fixture.add("likes", 1, ("Company", 1)), fixture.add("fans", 2, ("Person", 1)))
    try fixture.commit(edges: [
      link, link, back, back, back, fixture.add("friends", 2, ("Person", 1)),
      fixture.add("friends", 2, ("Person", 1)),
    ])
    try expectSound(fixture)
    #expect(try fixture.members("likes", 1) == [1, 2])
    #expect(try fixture.members("fans", 1) == [1])
    #expect(try fixture.members("friends", 1) == [2])
    let gone = fixture.remove("likes", 1, ("Company", 1))
    try fixture.commit(edges: [gone, gone])
    try expectSound(fixture)
    #expect(try fixture.members("fans", 1).isEmpty)
  }

  @Test func amongThemselves() throws {
    let fixture = try stand()
    try fixture.commit(edges: [
      fixture.add("friends", 2, ("Person", 1)), fixture.add("friends", 3, ("Person", 3)),
    ])
    try expectSound(fixture)
    #expect(try fixture.members("friends", 1) == [2])
    #expect(try fixture.members("friends", 3) == [3])
  }

  @Test func aPartnerThatDoesNotReferBackIsRefused() throws {
    let fixture = try stand()
    #expect(
      try fixture.dangling(updates: [fixture.update("Person", 1, ["seat": ("Address", 1)])]) == [
        "seat 1→1 one-sided"
      ])
    try fixture.commit(updates: [
      fixture.update("Person", 1, ["seat": ("Address", 1)]),
      fixture.update("Address", 1, ["sitter": ("Person", 1)]),
    ])
    try expectSound(fixture)
    // Another person takes the address, and its former person is not updated.
    #expect(
      try fixture.dangling(updates: [
        fixture.update("Person", 2, ["seat": ("Address", 1)]),
        fixture.update("Address", 1, ["sitter": ("Person", 2)]),
      ]) == ["seat 1→1 one-sided"])
    #expect(
      try fixture.dangling(updates: [fixture.update("Address", 1, ["sitter": nil])]) == ["seat 1→1 one-sided"]
    )
    #expect(
      try fixture.dangling(inserts: [fixture.insert("Person", 9, ["seat": ("Address", 1)])])
        == ["seat 9→1 one-sided"])
    try fixture.commit(updates: [
      fixture.update("Person", 1, ["seat": nil]), fixture.update("Person", 2, ["seat": ("Address", 1)]),
      fixture.update("Address", 1, ["sitter": ("Person", 2)]),
    ])
    try expectSound(fixture)
  }

  /// An update may set a reference to what it was: the row that goes is still referred to.
  @Test func aReferenceSetAnewToARowThatGoes() throws {
    let fixture = try stand()
    try fixture.commit(updates: [fixture.update("Person", 1, ["employer": ("Company", 1)])])
    #expect(
      try fixture.dangling(
        updates: [fixture.update("Person", 1, ["employer": ("Company", 1)])],
        deletes: [fixture.delete("Company", 1)]) == ["employer 1→1 behind"])
  }
}
