import Foundation
import Strata
import Testing

/// Stored records that are given the values of others (rule 205).
struct EditedDuplicateTests {
  let store: TemporaryStore
  let context: ManagedObjectContext
  let edited: ManagedObject

  init() throws {
    store = try TemporaryStore(CatalogueModel.make())
    try store.stock(["a": "one", "b": "two"])
    context = store.context()
    edited = try context.product("a")
  }

  @Test(
    "rule 205: an edited record yields, or the one in conflict is deleted",
    arguments: [
      (.mergeByPropertyObjectTrump, ["b mine 0"]), (.overwrite, ["b mine 0"]),
      (.mergeByPropertyStoreTrump, ["a mine 0", "b two 0"]), (.rollback, ["a one 0", "b two 0"]),
    ] as [(MergePolicyType, [String])])
  func withAStoredOne(type: MergePolicyType, products: [String]) throws {
    context.mergePolicy = MergePolicy(merge: type)
    (edited["sku"], edited["name"]) = ("b", "mine")
    try context.save()
    #expect(try store.products() == products)
    #expect(!context.hasChanges && edited.managedObjectContext === context)
    #expect(try store.problems().isEmpty)
  }

  @Test("rule 205: the record that is dropped leaves its members to the one that stays")
  func membersStay() throws {
    let writer = store.context()
    let two = try writer.product("b")
    two["tags"] = Set([writer.new("Tag", ["name": "x"])])
    writer.new("Bolt", ["serial": 1])["product"] = two
    let order = writer.new("Order", ["name": "stored"])
    (order["item"], order["extras"]) = (two, Set([two]))
    try writer.save()
    context.mergePolicy = .mergeByPropertyObjectTrump
    edited["sku"] = "b"
    try context.save()
    #expect(edited.names("tags") == ["x"] && (edited["parts"] as? [ManagedObject])?.count == 1)
    try store.fresh { reader in
      #expect(try reader.all("Bolt")[0].end("product")?["name"] as? String == "one")
      // Stored references without inverse as well.
      let order = try reader.all("Order")[0]
      #expect(order.end("item")?["name"] as? String == "one" && order.names("extras") == ["b"])
    }
    #expect(try store.problems().isEmpty)
  }

  @Test(
    "rule 205: two stored records are given the same values",
    arguments: [
      (.mergeByPropertyObjectTrump, ["c two 0"]), (.overwrite, ["c two 0"]),
      (.mergeByPropertyStoreTrump, ["b two 5", "c one 0"]), (.rollback, ["b two 0", "c one 0"]),
    ] as [(MergePolicyType, [String])])
  func twoStoredOnes(type: MergePolicyType, products: [String]) throws {
    let other = try context.product("b")
    context.mergePolicy = MergePolicy(merge: type)
    (edited["sku"], other["sku"]) = ("c", "c")
    if type == .mergeByPropertyStoreTrump { other["price"] = 5 }
    if type == .mergeByPropertyObjectTrump || type == .overwrite {
      other["name"] = "two "; other["name"] = "two"
    }
    if type == .mergeByPropertyObjectTrump { (other["name"], edited["name"]) = ("two", nil) }
    try context.save()
    let found = try store.products()
    #expect(found.count == products.count && found.last?.hasPrefix("c") == true)
    if type == .mergeByPropertyStoreTrump || type == .rollback { #expect(found == products) }
    #expect(!context.hasChanges)
  }

  @Test("a chain of records that each take the next one's value is no conflict")
  func chain() throws {
    context.mergePolicy = .rollback
    let other = try context.product("b")
    (edited["sku"], other["sku"]) = ("b", "c")
    try context.save()
    #expect(try store.products() == ["b one 0", "c two 0"])
  }

  @Test(
    "a long chain whose last value is taken yields in one attempt",
    arguments: [MergePolicyType.rollback, .mergeByPropertyStoreTrump])
  func longChain(type: MergePolicyType) throws {
    let count = 1_000
    let context = store.context()
    let chain = (0..<count).map { context.new("Product", ["sku": "chain \($0)", "name": "\($0)"]) }
    context.new("Product", ["sku": "chain \(count)", "name": "last"])
    try context.save()
    let before = try store.products()
    let policy = CountingPolicy(merge: type)
    context.mergePolicy = policy
    for (place, product) in chain.enumerated() { product["sku"] = "chain \(place + 1)" }
    context.new("Product", ["sku": "chain 0", "name": "new"])
    try context.save()
    #expect(policy.calls == 1 && !context.hasChanges)
    #expect(try store.products() == before)
  }

  @Test("a policy whose answers lead to ever new conflicts ends the save with an error, and nothing is lost")
  func restlessPolicy() throws {
    final class Restless: MergePolicy, @unchecked Sendable {
      // Safe: used by one test on one thread.
      var calls = 0
      override func resolve(constraintConflicts list: [ConstraintConflict]) throws {
        calls += 1
        list[0].conflictingObjects[0]["sku"] = "taken \(calls)"
      }
    }
    let context = store.context()
    for number in 0..<200 { context.new("Product", ["sku": "taken \(number)"]) }
    try context.save()
    let policy = Restless(merge: .overwrite)
    context.mergePolicy = policy
    let new = context.new("Product", ["sku": "taken 0", "name": "new"])
    let error = #expect(throws: CoreDataError.self) { try context.save() }
    #expect(error?.code == .persistentStoreSaveConflicts)
    #expect(policy.calls == 100 && context.insertedObjects == [new])
    new["sku"] = "free"
    try context.save()
    #expect(try store.products().contains("free new 0"))
  }

  @Test("a chain whose last value is taken yields step by step under rollback")
  func yieldingChain() throws {
    try store.stock(["c": "three"])
    context.mergePolicy = .rollback
    let other = try context.product("b")
    (edited["sku"], other["sku"]) = ("b", "c")
    try context.save()
    #expect(try store.products() == ["a one 0", "b two 0", "c three 0"])
    #expect(!context.hasChanges)
  }
}
