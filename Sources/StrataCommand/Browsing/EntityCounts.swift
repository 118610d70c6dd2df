import Foundation
import StrataCore

/// How many objects of each entity there are. From one commit to the next only what was made and deleted is looked at.
///
/// May be used from any thread.
final class EntityCounts: Sendable {
  private struct Known {
    let commit: UInt64
    /// By the number of the entity: those of hierarchies with several entities that can have objects.
    var counts: [Int: Int]
  }

  private let known = Mutex<Known?>(nil)
  private let walks = Mutex(0)
  /// How often all rows of a hierarchy were looked at.
  var walkCount: Int { walks.withLock { $0 } }

  /// The number of objects of each entity, without those of its subentities, by the entity's number.
  /// - Parameter commit: The number of the window's commit; nil when it is not known.
  /// - Throws: `StorageError`; `CancellationError` when `asker` has left.
  func counts(_ window: StoreWindow, _ commit: UInt64?, of store: any FollowedStore, for asker: Asker) throws
    -> [Int: Int]
  {
    let schema = window.schema
    let concrete = schema.hierarchies.map { hierarchy in
      hierarchy.memberNumbers.filter { !schema.entities[$0].isAbstract }
    }
    var (found, uncertain) = try told(commit, store, schema)
    for (hierarchy, members) in zip(schema.hierarchies, concrete) {
      let total = try window.rowCount(of: hierarchy.number)
      if members.count == 1 {
        found[members[0]] = total
        continue
      }
      let isRight =
        members.allSatisfy { found[$0, default: -1] >= 0 }
        && members.reduce(0) { $0 + found[$1, default: 0] } == total
      if isRight, !uncertain.contains(hierarchy.number) { continue }
      for member in members { found[member] = 0 }
      walks.withLock { $0 += 1 }
      var next: UInt64? = 0
      while let key = next {
        if asker.isGone { throw CancellationError() }
        let part = try window.rows(of: hierarchy.number, from: key)
        for row in part.rows { found[row.entity, default: 0] += 1 }
        next = part.next
      }
      uncertain.remove(hierarchy.number)
    }
    if let commit {
      known.withLock { known in
        if known.map({ $0.commit < commit }) ?? true { known = Known(commit: commit, counts: found) }
      }
    }
    return found
  }

  /// What follows from the counts of an earlier commit, and the hierarchies of which nothing does.
  private func told(_ commit: UInt64?, _ store: any FollowedStore, _ schema: Schema) throws -> (
    counts: [Int: Int], uncertain: Set<Int>
  ) {
    guard let commit, let known = known.withLock({ $0 }), known.commit <= commit else { return ([:], []) }
    var counts = known.counts
    if known.commit == commit { return (counts, []) }
    var uncertain: Set<Int> = []
    for change in try store.journal(after: known.commit).commits {
      // What this program has saved itself is there without what has changed.
      if change.isUnknown || change.isOwn && change.number <= commit { return ([:], []) }
      if change.number > commit { continue }
      for entity in change.changes.uncertain { uncertain.insert(schema.entities[entity].hierarchyNumber) }
      for entity in schema.entities.indices {
        let difference =
          change.changes.inserted.lists[entity].count - change.changes.deleted.lists[entity].count
        if difference != 0 { counts[entity, default: 0] += difference }
      }
    }
    return (counts, uncertain)
  }
}
