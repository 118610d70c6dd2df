import Foundation
import Strata
import Testing

/// Several writers at once, edits while a save is under way, and old views of the store.
@MainActor @Suite(.serialized)
struct CrowdedKeysTests {
  @Test(
    "rule 205: contexts that save the same keys at the same time end with one record each",
    arguments: settlingPolicies)
  func atTheSameTime(type: MergePolicyType) async throws {
    let store = try TemporaryStore(CatalogueModel.make())
    let seed = UInt64.random(in: 0 ... .max)
    print("CrowdedKeysTests seed \(seed)")
    let failures = await withTaskGroup(of: [String].self, returning: [String].self) { group in
      for worker in 0..<4 {
        group.addTask { await Self.work(store, type, seed &+ UInt64(worker)) }
      }
      var failures: [String] = []
      for await found in group { failures += found }
      return failures
    }
    #expect(failures == [], "seed \(seed)")
    try store.fresh { reader in
      let keys = try reader.all("Product").compactMap { $0["sku"] as? String }
      #expect(!keys.isEmpty && Set(keys).count == keys.count)
      let codes = try reader.all("Vendor").compactMap { $0["code"] as? String }
      #expect(Set(codes).count == codes.count)
    }
    #expect(try store.problems() == [], "seed \(seed)")
  }

  private nonisolated static func work(_ store: TemporaryStore, _ type: MergePolicyType, _ seed: UInt64) async
    -> [String]
  {
    let context = store.context(.privateQueue)
    context.mergePolicy = MergePolicy(merge: type)
    var failures: [String] = []
    for round in 0..<12 {
      do {
        try await context.perform {
          var dice = Dice(seed: seed &* 31 &+ UInt64(round))
          let vendor = context.new("Vendor", ["code": "\(dice.roll(3))"])
          for _ in 0..<20 {
            context.new("Product", ["sku": "\(dice.roll(40))", "name": dice.word()])["vendor"] = vendor
          }
          try context.upsert(
            entityName: "Product", by: ["sku"],
            records: (0..<5).map { _ in ["sku": "\(dice.roll(40))", "price": dice.roll(100)] })
          if dice.roll(3) == 0, let product = try context.all("Product").first(where: { !$0.isInserted }) {
            context.delete(product)
          }
          if round % 2 == 0 { try context.save() }
        }
        try await context.saveAsynchronously()
      } catch {
        failures.append("round \(round): \(error)")
        await context.perform { context.rollback() }
      }
    }
    return failures
  }

  @Test("an edit made during a save that meets a duplicate is merged into the record that is kept")
  func editedMeanwhile() async throws {
    let gate = StoreGate()
    let store = try TemporaryStore(behind: gate)
    let main = store.context(.mainQueue)
    main.mergePolicy = .mergeByPropertyObjectTrump
    let other = store.context()
    Surfer.make("kelly@example.com", name: "stored", in: other)
    Surfer.make("layne@example.com", name: "stored", in: other)
    try other.save()
    let edited = Surfer.make("kelly@example.com", name: "new", in: main)
    let gone = Surfer.make("layne@example.com", name: "new", in: main)
    let changed = Surfer.make("layne@example.com", name: "renamed", in: main)
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    edited.name = "edited"
    main.delete(gone)
    changed.email = "steph@example.com"
    gate.open()
    try await saving
    try main.save()
    #expect(edited.managedObjectContext == nil && gone.managedObjectContext == nil)
    #expect(changed.managedObjectContext === main && !main.hasChanges)
    let found = try store.context().fetch(
      FetchRequest<Surfer>(entityName: "Surfer", sortDescriptors: [FetchSort("email")]))
    #expect(
      found.map { "\($0.email ?? "") \($0.name ?? "")" } == [
        "kelly@example.com edited", "layne@example.com stored", "steph@example.com renamed",
      ])
  }

  @Test("a save that comes in while one that meets a duplicate is under way settles it")
  func savedMeanwhile() async throws {
    let gate = StoreGate()
    let store = try TemporaryStore(behind: gate)
    let main = store.context(.mainQueue)
    main.mergePolicy = .mergeByPropertyObjectTrump
    let other = store.context()
    Surfer.make("kelly@example.com", name: "stored", in: other)
    try other.save()
    let twin = Surfer.make("kelly@example.com", name: "new", in: main)
    gate.close()
    async let saving: Void = main.saveAsynchronously()
    await gate.isReached()
    Surfer.make("layne@example.com", in: main)
    gate.openSoon()
    try main.save()
    try await saving
    #expect(twin.managedObjectContext == nil && !main.hasChanges)
    #expect(try store.context().count(for: FetchRequest<Surfer>(entityName: "Surfer")) == 2)
  }

  @Test("a context pinned to an old commit inserts what came later, and its save merges it")
  func pinned() throws {
    let store = try TemporaryStore(CatalogueModel.make())
    try store.stock(["a": "old"])
    let context = store.context()
    try context.setQueryGenerationFrom(.current)
    #expect(try context.all("Product").count == 1)
    try store.stock(["b": "later"])
    context.mergePolicy = .mergeByPropertyObjectTrump
    let result = try context.upsert(
      entityName: "Product", by: ["sku"], records: ["a", "b"].map { ["sku": $0, "price": 5] })
    #expect(result.insertedCount == 1 && result.updatedCount == 1)
    try context.save()
    #expect(try store.products() == ["a old 5", "b later 5"])
  }
}
