import Foundation
import Strata
import Testing

/// Duplicates in contexts above contexts, in several stores, and in saves that do not stop (rules 156, 205).
struct NestedDuplicateTests {
  let store: TemporaryStore

  init() throws { store = try TemporaryStore(CatalogueModel.make()) }

  @Test(
    "rules 156, 205: the root's save meets conflicts of records that only children inserted",
    arguments: settlingPolicies)
  func childrenInserted(type: MergePolicyType) throws {
    try store.stock(["a": "stored", "c": "stored"])
    let root = store.context()
    root.mergePolicy = MergePolicy(merge: type)
    let child = ManagedObjectContext(.confinement, parent: root)
    let other = ManagedObjectContext(.confinement, parent: root)
    let duplicate = child.new("Product", ["sku": "a", "name": "child"])
    child.new("Bolt", ["serial": 1])["product"] = duplicate
    child.new("Order", ["name": "one"])["item"] = duplicate
    child.new("Product", ["sku": "b", "name": "child"])
    try child.save()
    other.new("Product", ["sku": "b", "name": "other"])
    other.new("Product", ["sku": "d", "name": "other"])
    try other.save()
    #expect(try root.count(for: FetchRequest<ManagedObject>(entityName: "Product")) == 6)
    try root.save()
    #expect(!root.hasChanges)
    let isYielding = type == .rollback || type == .mergeByPropertyStoreTrump
    #expect(
      try store.products()
        == [
          "a \(isYielding ? "stored" : "child") 0", "b \(isYielding ? "child" : "other") 0", "c stored 0",
          "d other 0",
        ])
    try store.fresh { reader in
      let product = try reader.product("a")
      #expect(try reader.all("Bolt")[0].end("product") === product)
      #expect(try reader.all("Order")[0].end("item") === product)
    }
    #expect(try root.all("Product").count == 4 && child.all("Product").count == 4)
    #expect(try store.problems().isEmpty)
  }

  @Test("rule 204: under the error policy the root knows which records of its children are in conflict")
  func errorPolicy() throws {
    try store.stock(["a": "stored"])
    let root = store.context()
    let child = ManagedObjectContext(.confinement, parent: root)
    let duplicate = child.new("Product", ["sku": "a"])
    try child.save()
    let error = #expect(throws: CoreDataError.self) { try root.save() }
    let conflicts = error?.userInfo["conflictList"] as? [ConstraintConflict] ?? []
    #expect(conflicts.map { $0.conflictingObjects.map(\.objectID) } == [[duplicate.objectID]])
    #expect(root.hasChanges && root.insertedObjects.count == 1)
    root.delete(try #require(conflicts.first?.conflictingObjects.first))
    try root.save()
    #expect(try store.products() == ["a stored 0"])
  }

  @Test("a child that merges automatically learns that its record was merged into another one")
  func childrenHear() async throws {
    try store.stock(["a": "stored"])
    let root = store.context(.privateQueue)
    root.mergePolicy = .mergeByPropertyObjectTrump
    let child = ManagedObjectContext(.privateQueue, parent: root)
    child.automaticallyMergesChangesFromParent = true
    let duplicate = try await child.perform {
      let object = child.new("Product", ["sku": "a", "name": "child"])
      child.userInfo["held"] = object
      try child.save()
      return object.objectID
    }
    try await root.perform { try root.save() }
    await child.perform {
      #expect(child.registeredObject(for: duplicate)?.isDeleted == true)
      #expect((try? child.all("Product").count) == 1)
    }
  }

  @Test("rule 205: a save that does not stop settles duplicates as well", arguments: settlingPolicies)
  func asynchronously(type: MergePolicyType) async throws {
    try store.stock(["a": "stored"])
    let context = store.context(.privateQueue)
    let policy = CountingPolicy(merge: type)
    context.mergePolicy = policy
    await context.perform {
      for number in 0..<3 { context.new("Product", ["sku": "a", "name": "\(number)"]) }
      context.new("Bolt", ["serial": 1])["product"] = context.new("Product", ["sku": "a", "name": "last"])
    }
    try await context.saveAsynchronously()
    let isYielding = type == .rollback || type == .mergeByPropertyStoreTrump
    #expect(try store.products() == ["a \(isYielding ? "stored" : "last") 0"])
    await context.perform {
      #expect(!context.hasChanges && (try? context.all("Product").count) == 1)
      #expect((try? context.all("Bolt").first?.end("product")?["sku"]) as? String == "a")
    }
    #expect(policy.calls == 1)
  }

  @Test("rule 204: one that fails under the error policy can be repaired, and asks another policy again")
  func asynchronousFailure() async throws {
    try store.stock(["a": "stored"])
    let context = store.context(.privateQueue)
    await context.perform { _ = context.new("Product", ["sku": "a", "name": "mine"]) }
    for _ in 0..<2 {
      await #expect(throws: CoreDataError.self) { try await context.saveAsynchronously() }
    }
    await context.perform { #expect(context.insertedObjects.count == 1) }
    context.mergePolicy = .mergeByPropertyObjectTrump
    try await context.saveAsynchronously()
    #expect(try store.products() == ["a mine 0"])
  }

  @Test("rules 156, 205: what children inserted, in a save that does not stop")
  func childrenAsynchronously() async throws {
    try store.stock(["a": "stored"])
    let root = store.context(.privateQueue)
    root.mergePolicy = .mergeByPropertyObjectTrump
    let child = ManagedObjectContext(.privateQueue, parent: root)
    try await child.perform {
      let duplicate = child.new("Product", ["sku": "a", "name": "child"])
      child.new("Order", ["name": "one"])["item"] = duplicate
      child.new("Product", ["sku": "b"])
      try child.save()
    }
    try await root.saveAsynchronously()
    #expect(try store.products() == ["a child 0", "b nil 0"])
    #expect(try store.fresh { try $0.all("Order")[0].end("item")?["name"] as? String } == "child")
    await root.perform { #expect(!root.hasChanges && (try? root.all("Product").count) == 2) }
  }

  @Test(
    "a child may continue using what was merged into another record: what it relates to it belongs to that one"
  )
  func successors() throws {
    let writer = store.context()
    writer.new("Product", ["sku": "a", "name": "stored"])
    writer.new("Tag", ["name": "x"])
    try writer.save()
    let root = store.context()
    root.mergePolicy = .mergeByPropertyObjectTrump
    let main = ManagedObjectContext(.confinement, parent: root)
    let worker = ManagedObjectContext(.confinement, parent: main)
    let (product, tag) = (worker.new("Product", ["sku": "a"]), worker.new("Tag", ["name": "x"]))
    for round in 0..<2 {
      worker.new("Bolt", ["serial": round])["product"] = product
      let order = worker.new("Order", ["name": "\(round)"])
      (order["item"], order["extras"]) = (product, Set([product]))
      worker.new("Product", ["sku": "\(round)"])["tags"] = Set([tag])
      try worker.save()
      try main.save()
      try root.save()
    }
    // Like one that the parent has deleted (rule 169).
    #expect(product.managedObjectContext == nil)
    try store.fresh { reader in
      let found = try reader.product("a")
      #expect(found["name"] as? String == "stored")
      #expect((found["parts"] as? [ManagedObject])?.map { $0["serial"] as? Int64 } == [0, 1])
      #expect(try reader.all("Order").allSatisfy { $0.end("item") === found && $0.names("extras") == ["a"] })
      #expect(try reader.all("Tag").map { $0.names("products") } == [["0", "1"]])
    }
    #expect(try store.problems().isEmpty)
  }

  @Test("rule 205: each of several stores settles its own")
  func severalStores() throws {
    let second = store.folderURL.appendingPathComponent("Second.strata")
    try store.coordinator.addPersistentStore(PersistentStoreDescription(url: second))
    let stores = store.coordinator.persistentStores
    let writer = store.context()
    for place in 0..<2 {
      try writer.assign(writer.new("Product", ["sku": "a", "name": "stored"]), to: stores[place])
    }
    // The same values in two stores are no conflict.
    try writer.save()
    let context = store.context()
    context.mergePolicy = .mergeByPropertyObjectTrump
    for place in 0..<2 {
      try context.assign(context.new("Product", ["sku": "a", "name": "new \(place)"]), to: stores[place])
    }
    try context.save()
    #expect(try store.products() == ["a new 0 0", "a new 1 0"])
  }

  @Test("the work for duplicates of children grows with their number")
  func workGrowsWithTheConflicts() throws {
    let count = 2_000
    let writer = store.context()
    for number in 0..<count / 2 { writer.new("Product", ["sku": "\(number * 2)", "name": "stored"]) }
    try writer.save()
    let root = store.context()
    let policy = CountingPolicy(merge: .mergeByPropertyObjectTrump)
    root.mergePolicy = policy
    let child = ManagedObjectContext(.confinement, parent: root)
    for number in 0..<count { child.new("Product", ["sku": "\(number)", "name": "new"]) }
    try child.save()
    try root.save()
    #expect(policy.calls == 1 && policy.conflicts == count / 2 && root.statistics.saveAttempts == 2)
    #expect(root.statistics.fetches == 0 && root.statistics.faultsFired == 0)
    #expect(try store.products().count == count)
  }
}
