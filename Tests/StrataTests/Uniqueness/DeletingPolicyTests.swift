import Foundation
import Strata
import Testing

/// Merge policies that delete objects, call super, and look at relationships.
struct DeletingPolicyTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(CatalogueModel.make())
    context = store.context()
  }

  /// Deletes the tags of the stored product that the new one does not have; writes down the tags before and after super.
  private final class Pruning: MergePolicy, @unchecked Sendable {
    // Safe: used by one test on one thread.
    var tags: [[String]] = []

    override func resolve(constraintConflicts list: [ConstraintConflict]) throws {
      for conflict in list {
        guard let stored = conflict.databaseObject, stored.entity.name == "Product" else { continue }
        let wanted = conflict.conflictingObjects[0].names("tags")
        for tag in stored["tags"] as? Set<ManagedObject> ?? []
        where !wanted.contains(tag["name"] as? String ?? "") { stored.managedObjectContext?.delete(tag) }
      }
      try super.resolve(constraintConflicts: list)
      for conflict in list {
        if let stored = conflict.databaseObject, stored.entity.name == "Product" {
          tags.append(stored.names("tags"))
        }
      }
    }

    override func resolve(optimisticLockingConflicts conflicts: [MergeConflict]) throws {
      for conflict in conflicts {
        let product = conflict.sourceObject
        for tag in product["tags"] as? Set<ManagedObject> ?? [] { product.managedObjectContext?.delete(tag) }
      }
      try super.resolve(optimisticLockingConflicts: conflicts)
      for conflict in conflicts { tags.append(conflict.sourceObject.names("tags")) }
    }
  }

  private func add(_ tags: [String], to product: ManagedObject, in context: ManagedObjectContext) {
    product["tags"] = Set(tags.map { context.new("Tag", ["name": $0]) })
  }

  private func saved() throws -> [[String]] {
    try store.fresh { context in
      let tags = try context.all("Tag").compactMap { $0["name"] as? String }
      return [try context.product("a").names("tags"), tags.sorted()]
    }
  }

  @Test("rule 201: what a policy deletes has left relationships when super returns, of constraints")
  func constraints() throws {
    let first = store.context()
    add(["old", "both"], to: first.new("Product", ["sku": "a"]), in: first)
    try first.save()
    let policy = Pruning(merge: .mergeByPropertyObjectTrump)
    context.mergePolicy = policy
    add(["both", "new"], to: context.new("Product", ["sku": "a", "name": "again"]), in: context)
    let recorder = NotificationRecorder(context)
    try context.save()
    #expect(!policy.tags.isEmpty && policy.tags.allSatisfy { !$0.contains("old") })
    #expect(try saved() == [["both", "new"], ["both", "new"]])
    #expect(recorder.all(.didSave).map(\.deleted.count) == [1])
  }

  @Test("rule 201: the same of row versions; observers are told of the deletions before the save")
  func versions() throws {
    let first = store.context()
    add(["old"], to: first.new("Product", ["sku": "a"]), in: first)
    try first.save()
    let policy = Pruning(merge: .mergeByPropertyObjectTrump)
    context.mergePolicy = policy
    let product = try context.product("a")
    product["price"] = 7
    let tag = try #require((product["tags"] as? Set<ManagedObject>)?.first).objectID
    try first.product("a")["name"] = "theirs"
    try first.save()
    context.processPendingChanges()
    let recorder = NotificationRecorder(context)
    try context.save()
    #expect(policy.tags == [[]])
    #expect(try saved() == [[], []])
    #expect(recorder.all(.didChange).filter { $0.deleted == [tag] }.count == 1)
    #expect(recorder.all(.didSave).map(\.deleted) == [[tag]])
  }
}
