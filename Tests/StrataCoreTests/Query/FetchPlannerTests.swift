import Foundation
import Testing

@testable import StrataCore

/// Plans as their own explanations.
@Suite struct FetchPlannerTests {
  private func explain(
    _ name: String, _ predicate: FetchPredicate? = nil, sort: [FetchSort] = [], limit: Int = 0,
    offset: Int = 0,
    mode: FetchMode = .rows, includesSubentities: Bool = true
  ) throws -> String {
    let fixture = try StoreFixture(inMemory: true)
    let request = try fixture.resolve(
      name, predicate, sort: sort, limit: limit, offset: offset, includesSubentities: includesSubentities)
    return try fixture.store.plan(request, mode: mode).description
  }

  @Test func withoutAnIndexTheRowsAreScanned() throws {
    #expect(try explain("Item") == "scan of Item")
    #expect(try explain("Item", Attribute("t").contains("x")) == "scan of Item; then t CONTAINS \"x\"")
    #expect(try explain("Special") == "scan of Item; only Special")
    #expect(try explain("Item", includesSubentities: false) == "scan of Item; only Item")
    #expect(
      try explain("Item", sort: [FetchSort("t"), FetchSort("f", ascending: false)], limit: 5, offset: 2)
        == "scan of Item; sort by t, f descending; skip 2; take 5")
    #expect(try explain("Item", .nothing) == "nothing")
  }

  @Test func equalityAndRangesUseAnIndex() throws {
    #expect(try explain("Item", Attribute("i64") == 3) == "index Item.byI64 where i64 == 3")
    #expect(
      try explain("Item", Attribute("i64") > 3 && Attribute("i64") <= 9 && Attribute("t") == "x")
        == "index Item.byI64 where i64 > 3, i64 <= 9; then t == \"x\"")
    #expect(
      try explain("Item", Attribute("s").beginsWith("J"), mode: .count)
        == "index Item.byS where s BEGINSWITH \"J\"")
    #expect(
      try explain("Item", Attribute("flag") == true && Attribute("d") < 1)
        == "index Item.byFlagD where flag == true, d < 1.0")
    #expect(try explain("Item", Attribute("code") == "x") == "index Item.unique(code) where code == \"x\"")
    #expect(try explain("Item", Attribute("i64") == nil) == "index Item.byI64 where i64 == nil")
    #expect(
      try explain("Item", Attribute("i64").isIn([1, 2, 3]), sort: [FetchSort("i64")])
        == "index Item.byI64 where i64 IN {1, 2, 3}")
    #expect(try explain("Special", Attribute("extra") == 1) == "index Special.byExtra where extra == 1")
    #expect(try explain("Special", Attribute("i64") == 1) == "index Item.byI64 where i64 == 1; only Special")
  }

  @Test func negationsAndAlternativesAreLeftToTheResidual() throws {
    #expect(try explain("Item", Attribute("i64") != 3) == "scan of Item; then NOT (i64 == 3)")
    #expect(
      try explain("Item", Attribute("i64") == 3 || Attribute("t") == "x")
        == "scan of Item; then (i64 == 3) OR (t == \"x\")")
  }

  @Test func cutKeysAreCheckedOnTheRow() throws {
    let long = String(repeating: "x", count: 300)
    #expect(try explain("Item", Attribute("code") == long).hasSuffix("; then code == \"\(long)\""))
    #expect(try explain("Item", Attribute("code").beginsWith(long)).contains("; then "))
  }

  @Test func anIndexGivesTheOrderWhereItCan() throws {
    let newest = [FetchSort("date", ascending: false)]
    #expect(try explain("Item", sort: newest, limit: 50) == "index Item.byDate; take 50")
    #expect(
      try explain("Item", sort: [FetchSort("date")], limit: 50) == "index Item.byDate, backwards; take 50")
    // Without a limit one pass over the rows and a sort are cheaper than a jump per row.
    #expect(try explain("Item", sort: newest) == "scan of Item; sort by date descending")
    #expect(
      try explain("Item", sort: newest, mode: .identifiers)
        == "scan of Item; sort by date descending")
    #expect(
      try explain("Place", sort: [FetchSort("x"), FetchSort("y")], mode: .identifiers)
        == "index Place.unique(x,y)")
    // Equal values come in the order of primary keys: an index with more parts does not have that order.
    #expect(try explain("Item", sort: [FetchSort("i16")], limit: 5) == "scan of Item; sort by i16; take 5")
    // Cut strings: not.
    #expect(try explain("Item", sort: [FetchSort("s")], limit: 5) == "scan of Item; sort by s; take 5")
    #expect(
      try explain(
        "Item", Attribute("flag") == true, sort: [FetchSort("flag"), FetchSort("d", ascending: false)])
        == "index Item.byFlagD where flag == true")
    #expect(
      try explain("Item", Attribute("i64") > 3, sort: newest)
        == "index Item.byI64 where i64 > 3; sort by date descending")
  }

  @Test func identifiersAreLookedUp() throws {
    let fixture = try StoreFixture(inMemory: true)
    let elsewhere = ManagedObjectID(
      token: .token(storeIdentifier: UUID(), entity: fixture.entity("Item"), in: fixture.schema),
      primaryKey: 4)
    let place = fixture.identifier("Place", 9)
    let mine = [fixture.identifier("Item", 3), fixture.identifier("Special", 1)]
    let request = try fixture.resolve("Item", .selfIn(mine + [elsewhere, place]) && Attribute("t") == "x")
    let plan = try fixture.store.plan(request)
    #expect(plan.access == .identifiers([1, 3]))
    #expect(plan.description == "2 identifiers; then t == \"x\"")
    #expect(try fixture.store.plan(try fixture.resolve("Item", .selfIn([place]))).access == .nothing)
  }

  @Test func rangesAreExactAtTheirEnds() throws {
    let fixture = try StoreFixture(inMemory: true)
    let keys = try (-3...3).map { try fixture.insert("Item", ["i64": .integer($0)]) }
    try fixture.commit(inserts: keys + [fixture.insert("Item", [:])])
    func count(_ predicate: FetchPredicate) throws -> Int {
      try fixture.fetch("Item", predicate, mode: .count).count
    }
    #expect(try count(Attribute("i64") < 0) == 3)
    #expect(try count(Attribute("i64") <= 0) == 4)
    #expect(try count(Attribute("i64") > 0) == 3)
    #expect(try count(Attribute("i64") >= 0) == 4)
    #expect(try count(Attribute("i64") > 2 && Attribute("i64") < 2) == 0)
    #expect(try count(Attribute("i64").isBetween(-1, 1)) == 3)
    #expect(try count(Attribute("i64").isBetween(1, -1)) == 0)
  }
}
