import Foundation
import Strata
import Testing

/// Two contexts on one store, each with its merge policy, two children above the first, undo in some of them: random edits, saves in
/// any order, undo, redo, rollback. No save under a settling policy fails, and the file is sound and the same from both ends of every
/// relationship after every save. `STRATA_SEED` runs one seed, `STRATA_POLICY_SEEDS` that many.
struct RandomPoliciesTests {
  @Test(
    "rules 165, 169, 194–206, 208–221: policies, siblings, children and undo in any order", arguments: seeds)
  func randomPolicies(seed: UInt64) throws {
    let market = try RandomMarket(seed: seed)
    try market.run(Self.steps)
    #expect(market.saves > Self.steps / 40, "seed \(seed)")
  }

  private static let environment = ProcessInfo.processInfo.environment
  private static let steps: Int = environment["STRATA_POLICY_STEPS"].flatMap { Int($0) } ?? 250
  private static let seeds: [UInt64] =
    environment["STRATA_SEED"].flatMap { UInt64($0) }.map { [$0] }
    ?? (1...(environment["STRATA_POLICY_SEEDS"].flatMap { UInt64($0) } ?? 20)).map { $0 }
}

/// One run of random operations.
private final class RandomMarket {
  let store: TemporaryStore
  private var dice: Dice
  private let contexts: [(name: String, context: ManagedObjectContext)]
  private var log: [String] = []
  private var number = 0
  private(set) var saves = 0
  private let isErrorPolicy: Bool

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// What the error policy refuses.
  private static let refusals: [CoreDataError.Code] = [
    .managedObjectMerge, .managedObjectConstraintMerge, .managedObjectReferentialIntegrity,
  ]

  private static let policies: [MergePolicyType] = [
    .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback, .error,
  ]

  init(seed: UInt64) throws {
    store = try TemporaryStore(MarketModel.make())
    dice = Dice(seed: seed)
    let (a, b) = (store.context(), store.context())
    let (k, l) = (
      ManagedObjectContext(.confinement, parent: a), ManagedObjectContext(.confinement, parent: a)
    )
    contexts = [("a", a), ("b", b), ("k", k), ("l", l)]
    let type = Self.policies[dice.roll(Self.policies.count)]
    isErrorPolicy = type == .error
    for context in [a, b] { context.mergePolicy = MergePolicy(merge: type) }
    log.append("seed \(seed), policy \(type)")
    for (name, context) in contexts where dice.roll(3) == 0 {
      context.undoManager = Strata.UndoManager()
      log.append("\(name) undoes")
    }
    for kind in ["Shop", "Item", "Tag", "Box", "Step", "Item", "Tag"] { insert(kind, a, "a") }
    try a.save()
  }

  func run(_ count: Int) throws {
    for step in 0..<count {
      do { try perform() } catch {
        throw Failure(description: "step \(step): \(error)\n" + log.suffix(60).joined(separator: "\n"))
      }
    }
    for name in ["l", "k", "b", "a"] {
      guard let context = contexts.first(where: { $0.name == name })?.context else { continue }
      do { try save(context, name) } catch {
        throw Failure(description: "at the end: \(error)\n" + log.suffix(60).joined(separator: "\n"))
      }
    }
  }

  private func insert(_ kind: String, _ context: ManagedObjectContext, _ name: String) {
    number += 1
    let text = kind == "Tag" && number > 7 && dice.roll(3) == 0 ? "t\(dice.roll(4))" : "\(kind)\(number)"
    context.new(kind, ["name": text])
    log.append("\(name): insert \(kind) \(text)")
  }

  private func pick(_ kind: String, _ context: ManagedObjectContext) throws -> ManagedObject? {
    let all = try context.fetch(
      FetchRequest<ManagedObject>(entityName: kind, sortDescriptors: [FetchSort("name")]))
    return all.isEmpty ? nil : all[dice.roll(all.count)]
  }

  private func perform() throws {
    let (name, context) = contexts[dice.roll(contexts.count)]
    switch dice.roll(20) {
    case 0, 1: insert(["Shop", "Item", "Item", "Tag", "Box", "Step"][dice.roll(6)], context, name)
    case 2, 3:
      let kind = ["Shop", "Item", "Tag", "Box", "Step"][dice.roll(5)]
      guard let object = try pick(kind, context) else { return }
      log.append("\(name): delete \(kind) \(object["name"] ?? "nil")")
      context.delete(object)
    case 4, 5, 6:
      guard let object = try pick(["Item", "Tag", "Shop", "Box"][dice.roll(4)], context) else { return }
      let new = "\(dice.roll(2) == 0 ? "t" : "n")\(dice.roll(5))"
      log.append("\(name): rename \(object["name"] ?? "nil") \(new)")
      object["name"] = new
    case 7, 8, 9: try link("tags", to: "Tag", context, name)
    case 10: try link("steps", to: "Step", context, name)
    case 11, 12: try point("box", to: "Box", context, name)
    case 13, 14: try point("shop", to: "Shop", context, name)
    case 15:
      guard context.undoManager != nil else { return }
      log.append("\(name): undo")
      context.undo()
    case 16:
      guard context.undoManager != nil else { return }
      log.append("\(name): redo")
      context.redo()
    case 17 where dice.roll(6) == 0:
      log.append("\(name): rollback")
      context.rollback()
    default: try save(context, name)
    }
    if dice.roll(2) == 0 { context.processPendingChanges() }
  }

  private func link(
    _ key: String, to kind: String, _ context: ManagedObjectContext, _ name: String
  ) throws {
    guard let item = try pick("Item", context), let member = try pick(kind, context) else { return }
    log.append("\(name): \(item["name"] ?? "nil").\(key) ± \(member["name"] ?? "nil")")
    if var list = item[key] as? [ManagedObject] {
      if let place = list.firstIndex(of: member) {
        list.remove(at: place)
      } else {
        list.insert(member, at: 0)
      }
      item[key] = list
    } else {
      var set = item[key] as? Set<ManagedObject> ?? []
      if set.remove(member) == nil { set.insert(member) }
      item[key] = set
    }
  }

  private func point(
    _ key: String, to kind: String, _ context: ManagedObjectContext, _ name: String
  ) throws {
    guard let item = try pick("Item", context), let end = try pick(kind, context) else { return }
    let isTied = item[key] as? ManagedObject === end
    log.append("\(name): \(item["name"] ?? "nil").\(key) = \(isTied ? "nil" : "\(end["name"] ?? "nil")")")
    item[key] = isTied ? nil : end
  }

  private func save(_ context: ManagedObjectContext, _ name: String) throws {
    log.append("\(name): save")
    do {
      try context.save()
    } catch let error as CoreDataError
      where isErrorPolicy && [133_020, 133_021, 133_000].contains(error.errorCode)
    {
      log.append("\(name): refused, rollback")
      context.rollback()
      return
    }
    if context.parent == nil {
      saves += 1
      let problems = try store.problems()
      if !problems.isEmpty { throw Failure(description: "\(problems)") }
    }
    // What others have not read again may be older at one end than at the other.
    if context.parent == nil { try compareEnds(store.context(), name) }
  }

  /// What a new context shows is the same from both ends.
  private func compareEnds(_ context: ManagedObjectContext, _ name: String) throws {
    func members(_ object: ManagedObject, _ key: String) -> Set<ManagedObject> {
      (object[key] as? [ManagedObject]).map(Set.init) ?? object[key] as? Set<ManagedObject> ?? []
    }
    func fail(_ one: ManagedObject, _ key: String, _ other: ManagedObject) throws {
      throw Failure(
        description:
          "\(name): \(one["name"] ?? "nil").\(key) and \(other["name"] ?? "nil") do not agree")
    }
    let items = try context.all("Item")
    for (kind, key, inverse) in [("Tag", "tags", "items"), ("Step", "steps", "items")] {
      for other in try context.all(kind) {
        let owners = members(other, inverse)
        for item in items where owners.contains(item) != members(item, key).contains(other) {
          try fail(item, key, other)
        }
      }
    }
    for box in try context.all("Box") {
      let item = box["item"] as? ManagedObject
      for other in items where (other === item) != (other["box"] as? ManagedObject === box) {
        try fail(other, "box", box)
      }
    }
    for shop in try context.all("Shop") {
      let members = members(shop, "items")
      for item in items where members.contains(item) != (item["shop"] as? ManagedObject === shop) {
        try fail(item, "shop", shop)
      }
    }
  }
}
