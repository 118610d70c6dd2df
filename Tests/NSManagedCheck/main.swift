import CoreData
import Foundation
import NSManagedSample

// The sample's classes in a program: what `Scripts/check-nsmanaged` builds and runs with optimisation, where the compiler sees whole modules.
// With `--measure` it prints what an access costs.

/// The garden's model in a store in memory.
func makeContext() throws -> NSManagedObjectContext {
  guard let url = gardenURL, let model = NSManagedObjectModel(contentsOf: url) else {
    throw CheckFailure(description: "the model is not beside the program")
  }
  let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
  _ = try coordinator.addPersistentStore(
    ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
  let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
  context.persistentStoreCoordinator = coordinator
  return context
}

struct CheckFailure: Error, CustomStringConvertible {
  let description: String
}

func check(_ holds: Bool, _ what: String) throws {
  if !holds { throw CheckFailure(description: what) }
}

/// A class of this module below one of another.
final class Rose: Gardener {
  override var nickname: String? {
    get { super.nickname.map { "Rose " + $0 } }
    set { super.nickname = newValue }
  }
}

let context = try makeContext()
try context.performAndWait {
  let tree = Tree(context: context)
  tree.name = "Oak"
  tree.height = 2
  tree.height += 0.5
  tree.rings = 80
  tree[keyPath: \Tree.petals] += 4
  tree.hues = ["green"]
  tree.hues?.append("brown")
  let bed = Bed(context: context)
  bed.addToPlants(tree)
  let gardener = Gardener(context: context)
  gardener.nickname = "Ann"
  gardener.beds = [bed]
  gardener[keyPath: \Gardener.nickname]?.append("a")
  try context.save()
  context.refresh(tree, mergeChanges: false)
  context.refresh(gardener, mergeChanges: false)
  try check(tree.name == "Oak" && tree.height == 2.5 && tree.rings == 80 && tree.petals == 4, "values")
  try check(tree.hues == ["green", "brown"] && tree.bed === bed && bed.tallest === tree, "relationships")
  try check(
    gardener.nickname == "Anna" && gardener.beds == [bed] && gardener.visits == 0, "managed properties")
  gardener.visits += 2
  gardener.mood = .calm
  try check(gardener.visits == 2 && gardener.mood == .calm, "scalars and enums")
  let rose = Rose(entity: gardener.entity, insertInto: context)
  rose.nickname = "R"
  try check(rose.nickname == "Rose R" && (rose as Gardener).nickname == "Rose R", "overridden properties")
  print("The sample's classes work.")

  guard CommandLine.arguments.contains("--measure") else { return }
  try context.save()
  let slot = 1
  func measure(_ name: String, _ body: (Int) -> Void) {
    let count = 500_000
    let times = (0..<5).map { _ in
      let start = ContinuousClock.now
      for number in 0..<count { body(number) }
      return (ContinuousClock.now - start) / .nanoseconds(1) / Double(count)
    }
    print(name, String(format: "%.1f ns", times.min() ?? 0))
  }
  var sum = 0.0
  measure("read by slot     ") { _ in sum += tree.readDouble(slot: slot) }
  measure("read, generated  ") { _ in sum += tree.height }
  measure("read, @NSManaged ") { _ in sum += Double(gardener.visits) }
  measure("read by key      ") { _ in sum += tree.value(forKey: "height") as? Double ?? 0 }
  tree.height = 1
  gardener.visits = 1
  measure("write by slot    ") { tree.write(Double($0), slot: slot) }
  measure("write, generated ") { tree.height = Double($0) }
  measure("write, @NSManaged") { gardener.visits = Int64($0) }
  print(sum > 0 ? "" : "nothing was read")
}
