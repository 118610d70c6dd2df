import Foundation

/// How many members of each owner satisfy a test, where members refer to their owner.
///
/// Begins by looking at the members of the owners it is asked for, which is cheap for a few and for tests that many satisfy. When
/// it has looked at so many that one pass over all members would have been as cheap, it makes that pass, through an index where the
/// test has one, and knows all the answers. So it never costs more than about twice the better of the two ways.
final class SemiJoin {
  /// What tests that have the same answers have in common.
  struct Meaning: Hashable {
    let relationship: Int
    let predicate: ResolvedPredicate
  }

  private let test: RelatedTest
  private let inverse: RelationshipSchema
  private let plan: FetchPlan
  private let request: ResolvedFetchRequest
  /// How many more members may be looked at one by one.
  private var budget: Int
  private var counts: KeyTable<Int>?

  init(_ test: RelatedTest, _ view: StoredView) throws {
    self.test = test
    let schema = view.schema
    // Only tests of relationships with a to-one inverse are joined so.
    inverse = test.relationship.inverse.map { schema.relationships[$0] } ?? test.relationship
    var request = ResolvedFetchRequest(
      schema: schema, entity: schema.entities[test.relationship.destination], predicate: test.program.source)
    request.monitor = view.monitor
    self.request = request
    let rowCount = view.rowCount(test.relationship.destinationHierarchy)
    plan = try view.plan(request)
    // Where all owners are asked, little is tried before: mostly the pass comes anyway.
    let isAskedOfAll = view.scannedHierarchies.contains(
      schema.entities[test.relationship.owner].hierarchyNumber)
    budget = plan.isNarrow ? 64 : max(32, rowCount / (isAskedOfAll ? 256 : 12))
  }

  func count(
    _ owner: UInt64, atMost: Int, _ view: StoredView, _ evaluation: Evaluation<StoredView>
  ) throws -> Int {
    if let counts { return counts[owner] ?? 0 }
    if budget <= 0 {
      let counts = try countAll(plan, view)
      self.counts = counts
      return counts[owner] ?? 0
    }
    let hierarchy = test.relationship.destinationHierarchy
    var count = 0
    let members = try view.withTransaction {
      try view.reader.members(EdgeSet(relationship: test.relationship.number), of: owner, $0)
    }
    budget -= 1 + members.count / 32
    for member in members {
      budget -= 1
      guard let node = try view.node(member, hierarchy: hierarchy), try evaluation.matches(test.program, node)
      else { continue }
      count += 1
      if count == atMost { break }
    }
    return count
  }

  private func countAll(_ plan: FetchPlan, _ view: StoredView) throws -> KeyTable<Int> {
    var counts = KeyTable(blank: 0)
    let slot = inverse.slot
    try view.withTransaction { transaction in
      let executor = FetchExecutor(request: request, plan: plan, mode: .rows, view: view)
      try executor.forEachMatch(transaction) { _, row in
        let owner = RowBytes.reference(row.base, view.reader.layout(of: row).entry(of: slot))
        if owner != 0 { counts.update(Reference.primaryKey(owner)) { $0 += 1 } }
        return true
      }
    }
    return counts
  }
}
