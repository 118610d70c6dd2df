import Foundation
import Strata
import Testing

/// What a save says of duplicates (rules 202–204, 206).
struct ConstraintConflictTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(CatalogueModel.make())
    context = store.context()
  }

  private func conflicts(_ error: CoreDataError?) -> [ConstraintConflict] {
    error?.userInfo["conflictList"] as? [ConstraintConflict] ?? []
  }

  private func failure() throws -> [ConstraintConflict] {
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectConstraintMerge)
    return conflicts(error)
  }

  @Test("rule 202: a conflict with a stored record names it, what is stored, and one object")
  func withStored() throws {
    try store.stock(["a": "stored"])
    let duplicate = context.new("Product", ["sku": "a", "name": "mine"])
    let found = try failure()
    #expect(found.count == 1)
    #expect(found[0].constraint == ["sku"] && found[0].constraintValues["sku"] as? String == "a")
    #expect(found[0].conflictingObjects == [duplicate])
    #expect(found[0].databaseObject !== duplicate && found[0].databaseObject?["name"] as? String == "stored")
    #expect(found[0].databaseSnapshot?["name"] as? String == "stored")
    // Rule 203: nothing was ever read or saved of a new object.
    #expect(found[0].conflictingSnapshots.count == 1 && found[0].conflictingSnapshots[0] == nil)
    #expect("\(found[0])".contains("sku \"a\""))
  }

  @Test("rule 202: a conflict among the objects of a save has no stored record, and names all of them")
  func withinASave() throws {
    try store.stock(["a": "one"])
    let edited = try context.product("a")
    edited["sku"] = "b"
    let new = [context.new("Product", ["sku": "b"]), context.new("Product", ["sku": "b"])]
    let found = try failure()
    #expect(found.count == 1 && found[0].databaseObject == nil && found[0].databaseSnapshot == nil)
    #expect(Set(found[0].conflictingObjects) == Set(new + [edited]))
    // Rule 203: the snapshots are in the order of the objects.
    let place = try #require(found[0].conflictingObjects.firstIndex(of: edited))
    #expect(found[0].conflictingSnapshots[place]?["sku"] as? String == "a")
    #expect(found[0].conflictingSnapshots.filter { $0 == nil }.count == 2)
  }

  @Test(
    "rule 204: a failed save says which objects are in the way; when they go, or change, the next one succeeds"
  )
  func notPoisoned() throws {
    try store.stock(["a": "stored", "b": "stored"])
    context.new("Product", ["sku": "a"])
    context.new("Product", ["sku": "b"])
    context.new("Product", ["sku": "c", "name": "fine"])
    let found = try failure()
    #expect(try store.products() == ["a stored 0", "b stored 0"])
    #expect(context.insertedObjects.count == 3)
    context.delete(found[0].conflictingObjects[0])
    let left = try failure()
    #expect(left.count == 1)
    left[0].conflictingObjects[0]["sku"] = "d"
    try context.save()
    #expect(try store.products().count == 4 && !context.hasChanges)
  }

  @Test("rule 204: the stored record may go as well")
  func storedRecordGoes() throws {
    try store.stock(["a": "stored"])
    context.new("Product", ["sku": "a", "name": "mine"])
    let found = try failure()
    context.delete(try #require(found[0].databaseObject))
    try context.save()
    #expect(try store.products() == ["a mine 0"])
  }

  @Test("rule 206: a constraint that extends an inherited one is not reported beside it")
  func extendedConstraint() throws {
    let first = context.new("LongBolt", ["serial": 1, "length": 5])
    let second = context.new("LongBolt", ["serial": 1, "length": 5])
    #expect(try failure().map(\.constraint) == [["serial"]])
    second["serial"] = 2
    try context.save()
    second["serial"] = 1
    let found = try failure()
    #expect(found.map(\.constraint) == [["serial"]] && found[0].databaseObject === first)
  }

  @Test("rule 206: an inherited constraint holds between the entities of a hierarchy, and is reported once")
  func inheritedConstraint() throws {
    context.new("Bolt", ["serial": 1])
    context.new("Nut", ["serial": 1])
    let found = try failure()
    #expect(found.count == 1 && found[0].conflictingObjects.count == 2)
  }

  @Test("of several attributes all must be the same; nil is never the same")
  func compoundConstraint() throws {
    context.new("Product", ["maker": "ACME", "model": 1])
    context.new("Product", ["maker": "ACME", "model": 2])
    context.new("Product", ["maker": "ACME"])
    context.new("Product", ["maker": "ACME"])
    context.new("Product", [:])
    context.new("Product", [:])
    try context.save()
    context.new("Product", ["maker": "ACME", "model": 2])
    let found = try failure()
    #expect(found.map(\.constraint) == [["maker", "model"]])
    #expect(found[0].constraintValues["model"] as? Int64 == 2)
  }

  @Test("values that are too long for an index are compared as a whole")
  func longValues() throws {
    let long = String(repeating: "x", count: 3_000)
    for number in 0..<50 { context.new("Product", ["sku": long + "\(number)", "name": "stored"]) }
    try context.save()
    let again = (40..<60).map { context.new("Product", ["sku": long + "\($0)"]) }
    let twin = context.new("Product", ["sku": long + "59"])
    let found = try failure()
    #expect(found.filter { $0.databaseObject != nil }.count == 10)
    #expect(
      found.filter { $0.databaseObject == nil }.map { Set($0.conflictingObjects) } == [[again[19], twin]])
    #expect(
      found.allSatisfy { $0.constraintValues["sku"] as? String == $0.conflictingObjects[0]["sku"] as? String }
    )
    context.mergePolicy = .overwrite
    try context.save()
    #expect(try store.products().count == 60)
  }

  @Test("rule 207: a store in memory keeps the constraints as well")
  func inMemory() throws {
    let store = try TemporaryStore(CatalogueModel.make()) { $0 = .inMemory }
    let context = store.context()
    context.new("Product", ["sku": "a", "name": "one"])
    try context.save()
    context.new("Product", ["sku": "a", "name": "two"])
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .managedObjectConstraintMerge)
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try store.products() == ["a two 0"])
  }

  @Test(
    "no conflict: stored records exchange their values, and deleted ones free theirs",
    arguments: settlingPolicies)
  func freedValues(policy: MergePolicyType) throws {
    try store.stock(["a": "one", "b": "two", "c": "three"])
    context.mergePolicy = MergePolicy(merge: policy)
    let (one, two, three) = (try context.product("a"), try context.product("b"), try context.product("c"))
    (one["sku"], two["sku"]) = ("b", "a")
    context.delete(three)
    context.new("Product", ["sku": "c", "name": "new"])
    try context.save()
    #expect(try store.products() == ["a two 0", "b one 0", "c new 0"])
  }

  @Test(
    "rule 201: a custom policy sees the conflicts, changes what it likes, and calls super for the rest")
  func ownPolicy() throws {
    try store.stock(["a": "stored", "b": "stored"])
    context.mergePolicy = Renaming(merge: .mergeByPropertyObjectTrump)
    context.new("Product", ["sku": "a", "name": "renamed"])
    context.new("Product", ["sku": "b", "name": "merged"])
    try context.save()
    #expect(try store.products() == ["a stored 0", "a2 renamed 0", "b merged 0"])
  }

  private final class Renaming: MergePolicy, @unchecked Sendable {
    // Safe: has no state.
    override func resolve(constraintConflicts list: [ConstraintConflict]) throws {
      for conflict in list where conflict.constraintValues["sku"] as? String == "a" {
        conflict.conflictingObjects[0]["sku"] = "a2"
      }
      try super.resolve(constraintConflicts: list)
    }
  }

  @Test("rule 201: row versions are settled before uniqueness")
  func bothKinds() throws {
    try store.stock(["a": "stored", "b": "stored"])
    let edited = try context.product("b")
    edited["name"] = "mine"
    let other = store.context()
    try other.product("b")["price"] = 7
    try other.save()
    context.new("Product", ["sku": "a", "name": "new"])
    context.mergePolicy = .mergeByPropertyObjectTrump
    try context.save()
    #expect(try store.products() == ["a new 0", "b mine 7"])
  }

  @Test("a policy that leaves the conflicts as they are ends the save with 133021, and is asked once")
  func idlePolicy() throws {
    final class Idle: MergePolicy, @unchecked Sendable {
      // Safe: used by one test on one thread.
      var calls = 0
      override func resolve(constraintConflicts list: [ConstraintConflict]) throws { calls += 1 }
    }
    let policy = Idle(merge: .overwrite)
    context.mergePolicy = policy
    context.new("Product", ["sku": "a"])
    context.new("Product", ["sku": "a"])
    #expect(try failure().count == 1)
    #expect(policy.calls == 1 && context.insertedObjects.count == 2)
    // The next save asks again.
    #expect(try failure().count == 1)
    #expect(policy.calls == 2)
  }
}
