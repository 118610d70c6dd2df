import Foundation
import Strata
import Testing

/// Objects as what TERNARY and coalesce choose between, and the length of texts as a key (rules 107, 109).
@Suite struct RelatedValuesTests {
  private let stand: QueryStand

  init() throws { stand = try QueryStand() }

  private func agents(_ format: String, _ arguments: Any?...) throws -> [String] {
    try stand.agents(try FetchPredicate(format: format, argumentArray: arguments))
  }

  private func reason(_ format: String) -> FetchError.Reason? {
    do {
      _ = try agents(format)
      return nil
    } catch { return (error as? FetchError)?.reason }
  }

  @Test func objectsAreChosen() throws {
    let ann = try stand.object("Agent", "name", "ann").objectID
    // The boss; a person without one is their own boss.
    #expect(try agents("coalesce(boss, SELF) == %@", ann) == ["ann", "bob", "cid"])
    #expect(try agents("coalesce(boss, %@).name == 'ann'", ann) == ["ann", "bob", "cid"])
    #expect(try agents("coalesce(nil, boss).name == 'bob'") == ["dan"])
    #expect(try agents("TERNARY(boss == nil, SELF, boss).base.code == 'JFK'") == ["ann", "bob", "cid"])
    #expect(try agents("TERNARY(medium > 2, boss, nil) == nil") == ["ann", "bob"])
    #expect(try agents("TERNARY(medium > 2, boss, %@) == boss", ann) == ["bob", "cid", "dan"])
    #expect(try agents("TERNARY(medium > 2, boss, SELF) IN %@", [ann]) == ["ann", "cid"])
    // So does a context with unsaved changes.
    try stand.object("Agent", "name", "dan").setValue(nil, forKey: "boss")
    #expect(try agents("coalesce(boss, SELF).name == 'dan'") == ["dan"])
  }

  @Test func objectsAndValuesDoNotMix() {
    if case .mismatch? = reason("TERNARY(medium > 2, boss, base) == nil") {
    } else {
      Issue.record("boss or base")
    }
    if case .mismatch? = reason("coalesce(boss, base) == nil") {} else { Issue.record("boss or base") }
    #expect(
      reason("TERNARY(medium > 2, boss, 5) == nil") == .wrongArgument(function: "TERNARY", found: "integer64")
    )
    #expect(reason("coalesce(name, boss) == nil") == .wrongArgument(function: "coalesce", found: "string"))
    if case .wrongArgument(function: "TERNARY", _)? = reason("TERNARY(medium > 2, staff, nil) == nil") {
    } else {
      Issue.record("staff")
    }
  }

  @Test("the length of a text, as a key")
  func lengths() throws {
    #expect(try agents("name.length == 3") == ["ann", "bob", "cid", "dan"])
    #expect(try agents("base.name.length > 7") == ["bob", "cid"])
    #expect(try agents("base.name.length == nil") == ["dan"])
    #expect(try agents("name.length + 1 == length(name) + medium") == ["ann"])
    #expect(try agents("SUBQUERY(visits, $v, $v.note.length == 2).@count == 3") == ["ann"])
    #expect(reason("medium.length == 3") == .notARelationship)
    #expect(reason("length == 3") == .unknownKey)
    if case .wrongArgument? = reason("ANY visits.note.length == 2") {} else { Issue.record("many") }
  }

  @Test("an empty pattern is LIKE the empty text alone")
  func emptyPatterns() throws {
    try stand.object("Agent", "name", "cid").setValue("", forKey: "name")
    try stand.context.save()
    #expect(try agents("name LIKE ''") == [""])
    #expect(try agents("name LIKE[cd] ''") == [""])
    #expect(try agents("NOT name LIKE ''") == ["ann", "bob", "dan"])
    #expect(try agents("name LIKE '*'") == ["", "ann", "bob", "dan"])
    #expect(try agents("nick LIKE ''") == [])
    #expect(try agents("name LIKE %@ AND medium == 3", "") == [""])
    // As a value of the row.
    #expect(try agents("'' LIKE name") == [""])
  }
}
