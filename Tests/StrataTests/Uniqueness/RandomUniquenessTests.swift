import Foundation
import Strata
import Testing

/// Random edits with few distinct keys, saves under all policies, children and reopening, against a plain model of rules 202–205.
struct RandomUniquenessTests {
  @Test(
    "rule 205: whatever is inserted, edited and deleted, each save leaves what the policies promise",
    arguments: 0..<12)
  func againstAPlainModel(round: Int) async throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("RandomUniquenessTests seed \(seed)")
    var run = try UniquenessRun(seed: seed)
    do {
      for _ in 0..<60 { try await run.step() }
      try run.checkFile()
    } catch {
      Issue.record("seed \(seed): \(error)\n\(run.story.suffix(25).joined(separator: "\n"))")
    }
  }
}

/// One product of the plain model.
struct PlainProduct: Equatable {
  struct Values: Equatable {
    var sku: String?
    var name: String?
    var price: Int64 = 0
  }

  /// Grows from product to product, as primary keys do.
  let number: Int
  var now = Values()
  /// What is stored; nil for a new one.
  var stored: Values?
  var isDeleted = false
  /// The names of the orders that refer to it: unsaved ones, and stored ones.
  var orders: Set<String> = []
  var storedOrders: Set<String> = []

  /// Whether a save writes the key.
  var claimsKey: Bool { !isDeleted && now.sku != nil && now.sku != stored?.sku }
}

/// What a context and its children have done, as plain values: rules 202–205 in forty lines.
struct PlainCatalogue {
  var products: [PlainProduct] = []

  private func place(_ number: Int) -> Int? { products.firstIndex { $0.number == number && !$0.isDeleted } }

  /// Saves; false when the policy does not settle what is in the way.
  mutating func save(_ policy: MergePolicyType) -> Bool {
    while true {
      let twins = Dictionary(grouping: products.filter(\.claimsKey), by: \.now.sku).values.filter {
        $0.count > 1
      }
      .map { group in group.map(\.number) }
      let withStored = products.filter(\.claimsKey).compactMap { product in
        products.first {
          $0.claimsKey == false && !$0.isDeleted && $0.stored != nil && $0.now.sku == product.now.sku
        }
        .map { (product.number, $0.number) }
      }
      if twins.isEmpty && withStored.isEmpty { break }
      if policy == .error { return false }
      let isYielding = policy == .rollback || policy == .mergeByPropertyStoreTrump
      if isYielding { for pair in withStored { settle(pair.0, stored: pair.1, policy) } }
      for group in twins { settle(twins: group, policy) }
      if !isYielding { for pair in withStored { settle(pair.0, stored: pair.1, policy) } }
    }
    products.removeAll(where: \.isDeleted)
    for place in products.indices {
      products[place].stored = products[place].now
      products[place].storedOrders.formUnion(products[place].orders)
      products[place].orders = []
    }
    return true
  }

  private mutating func settle(_ number: Int, stored: Int, _ policy: MergePolicyType) {
    guard let mine = place(number), let other = place(stored),
      products[mine].now.sku == products[other].now.sku
    else {
      return
    }
    let isNew = products[mine].stored == nil
    switch policy {
    case .rollback, .mergeByPropertyStoreTrump:
      if isNew { absorb(number, into: stored, .rollback) } else { yield(mine, policy) }
    default:
      if isNew { absorb(number, into: stored, policy) } else { absorb(stored, into: number, .rollback) }
    }
  }

  private mutating func settle(twins: [Int], _ policy: MergePolicyType) {
    let alive = twins.compactMap(place).map { products[$0] }
    guard let sku = alive.first?.now.sku else { return }
    let group = alive.filter { $0.now.sku == sku }.sorted {
      ($0.stored == nil ? 1 : 0, $0.number) < ($1.stored == nil ? 1 : 0, $1.number)
    }
    for other in group.dropFirst() {
      switch policy {
      case .rollback, .mergeByPropertyStoreTrump:
        if other.stored == nil {
          absorb(other.number, into: group[0].number, .rollback)
        } else if let place = place(other.number) {
          yield(place, policy)
        }
      default: absorb(other.number, into: group[0].number, policy)
      }
    }
  }

  private mutating func yield(_ place: Int, _ policy: MergePolicyType) {
    guard let stored = products[place].stored else { return }
    if policy == .rollback { products[place].now = stored } else { products[place].now.sku = stored.sku }
  }

  private mutating func absorb(_ number: Int, into kept: Int, _ policy: MergePolicyType) {
    guard let from = place(number), let to = place(kept) else { return }
    let duplicate = products[from]
    let base = duplicate.stored ?? PlainProduct.Values()
    if policy == .overwrite { products[to].now = duplicate.now }
    if policy == .mergeByPropertyObjectTrump {
      if duplicate.now.name != base.name { products[to].now.name = duplicate.now.name }
      if duplicate.now.price != base.price { products[to].now.price = duplicate.now.price }
    }
    products[to].orders.formUnion(duplicate.orders.union(duplicate.storedOrders))
    (products[from].orders, products[from].storedOrders) = ([], [])
    products[from].isDeleted = true
    if duplicate.stored == nil { products.remove(at: from) }
  }
}

/// One run: a stack, its plain model, and dice.
struct UniquenessRun {
  private var dice: Dice
  private var store: TemporaryStore
  private var root: ManagedObjectContext
  private var plain = PlainCatalogue()
  private var identifiers: [Int: URL] = [:]
  private var orders = 0
  private(set) var story: [String] = []

  struct Mismatch: Error { let text: String }

  init(seed: UInt64) throws {
    dice = Dice(seed: seed)
    store = try TemporaryStore(CatalogueModel.make())
    root = store.context(.privateQueue)
  }

  mutating func step() async throws {
    switch dice.roll(22) {
    case 0..<7: try change(in: root)
    case 20: try upsert(in: root)
    case 21:
      let child = makeChild()
      try upsert(in: child)
      try child.performAndWait { try child.save() }
    case 7..<13:
      let child = makeChild()
      for _ in 0...dice.roll(3) { try change(in: child) }
      try child.performAndWait { try child.save() }
      story.append("child saved")
    case 13..<19: try await save()
    default: try reopen()
    }
    try checkPending()
  }

  // MARK: Steps

  /// A child that sees all that was done in the root: made there, when the event has ended.
  private func makeChild() -> ManagedObjectContext {
    root.performAndWait {
      root.processPendingChanges()
      return ManagedObjectContext(.privateQueue, parent: root)
    }
  }

  private mutating func change(in context: ManagedObjectContext) throws {
    let alive = plain.products.indices.filter { !plain.products[$0].isDeleted }
    let choice = dice.roll(10)
    if choice < 5 || alive.isEmpty { return insert(in: context) }
    let place = alive[dice.roll(alive.count)]
    let id = try identifier(plain.products[place].number)
    let number = plain.products[place].number
    if choice == 5 {
      // A reference to an object that was never saved is refused: that is another rule.
      if plain.products[place].stored == nil, !plain.products[place].orders.isEmpty { return }
      story.append("delete \(number)")
      context.performAndWait { context.delete(context.object(with: id)) }
      if plain.products[place].stored == nil {
        plain.products.remove(at: place)
      } else {
        plain.products[place].isDeleted = true
        plain.products[place].orders = []
      }
      return
    }
    var values = plain.products[place].now
    switch choice {
    case 6, 7: values.sku = key()
    case 8: values.name = dice.roll(4) == 0 ? nil : dice.word()
    default: values.price = Int64(dice.roll(3))
    }
    story.append("edit \(number) to \(values)")
    plain.products[place].now = values
    let new = values
    context.performAndWait {
      let object = context.object(with: id)
      if object["sku"] as? String != new.sku { object["sku"] = new.sku }
      if object["name"] as? String != new.name { object["name"] = new.name }
      if object["price"] as? Int64 != new.price { object["price"] = new.price }
    }
  }

  private mutating func insert(in context: ManagedObjectContext) {
    var values = PlainProduct.Values(sku: key())
    if dice.roll(3) > 0 { values.name = dice.word() }
    if dice.roll(2) > 0 { values.price = Int64(dice.roll(3)) }
    let (new, order) = (values, dice.roll(2) == 0 ? "order \(orders)" : nil)
    orders += 1
    let uri = context.performAndWait {
      let object = context.new("Product")
      (object["sku"], object["name"], object["price"]) = (new.sku, new.name, new.price)
      if let order { context.new("Order", ["name": order])["item"] = object }
      return object.objectID.uriRepresentation()
    }
    let number = Int(uri.lastPathComponent.drop { !$0.isNumber }) ?? -1
    identifiers[number] = uri
    plain.products.append(PlainProduct(number: number, now: values, orders: order.map { [$0] } ?? []))
    story.append("insert \(number) \(values) \(order ?? "")")
  }

  private mutating func upsert(in context: ManagedObjectContext) throws {
    var records: [[String: any Sendable]] = []
    var numbers: [Int?] = []
    for sku in ["a", "b", "c", "d", "e"].shuffled(using: &dice).prefix(1 + dice.roll(4)) {
      let owners = plain.products.indices.filter {
        !plain.products[$0].isDeleted && plain.products[$0].now.sku == sku
      }
      // Which of several unsaved ones is meant is not specified.
      if owners.count > 1 { continue }
      let (name, price) = (dice.word(), Int64(dice.roll(3)))
      records.append(["sku": sku, "name": name, "price": price])
      numbers.append(owners.first.map { plain.products[$0].number })
      if let place = owners.first {
        (plain.products[place].now.name, plain.products[place].now.price) = (name, price)
      }
    }
    story.append("upsert \(records)")
    let sent = records
    let uris = try context.performAndWait {
      try context.upsert(entityName: "Product", by: ["sku"], records: sent).objectIDs.map {
        $0.uriRepresentation()
      }
    }
    for (place, uri) in uris.enumerated() {
      let number = Int(uri.lastPathComponent.drop { !$0.isNumber }) ?? -1
      if let known = numbers[place] {
        if known != number { throw Mismatch(text: "upsert found \(number), should be \(known)") }
        continue
      }
      identifiers[number] = uri
      let values = PlainProduct.Values(
        sku: sent[place]["sku"] as? String, name: sent[place]["name"] as? String,
        price: sent[place]["price"] as? Int64 ?? 0)
      plain.products.append(PlainProduct(number: number, now: values))
    }
  }

  private mutating func key() -> String? {
    dice.roll(6) == 0 ? nil : ["a", "b", "c", "d", "e"][dice.roll(5)]
  }

  private mutating func save() async throws {
    let policy = [
      MergePolicyType.error, .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback,
    ][dice.roll(5)]
    root.mergePolicy = MergePolicy(merge: policy)
    let isAsynchronous = dice.roll(2) == 0
    story.append("save \(policy)\(isAsynchronous ? " asynchronously" : "")")
    let shouldSucceed = plain.save(policy)
    var failure: (any Error)?
    do {
      if isAsynchronous {
        try await root.saveAsynchronously()
      } else {
        try root.performAndWait { try root.save() }
      }
    } catch {
      failure = error
    }
    if shouldSucceed, let failure { throw Mismatch(text: "the save failed: \(failure)") }
    if !shouldSucceed {
      guard let error = failure as? CoreDataError, error.code == .managedObjectConstraintMerge else {
        throw Mismatch(text: "the save should fail with 133021: \(String(describing: failure))")
      }
      return
    }
    if root.performAndWait({ root.hasChanges }) { throw Mismatch(text: "there are changes after a save") }
    try compare(
      plain.products.map { ($0.number, $0.now, $0.storedOrders) }, store.context(.privateQueue), "stored")
  }

  private mutating func reopen() throws {
    story.append("reopen")
    store = try store.reopened(CatalogueModel.make())
    root = store.context(.privateQueue)
    plain.products = plain.products.compactMap { product in
      product.stored.map {
        PlainProduct(number: product.number, now: $0, stored: $0, storedOrders: product.storedOrders)
      }
    }
  }

  // MARK: Checks

  private func checkPending() throws {
    let alive = plain.products.filter { !$0.isDeleted }
    try compare(alive.map { ($0.number, $0.now, $0.orders.union($0.storedOrders)) }, root, "pending")
  }

  private func compare(
    _ expected: [(Int, PlainProduct.Values, Set<String>)], _ context: ManagedObjectContext, _ what: String
  ) throws {
    let found = try context.performAndWait {
      var orders: [ManagedObjectID: [String]] = [:]
      for order in try context.all("Order") {
        if let item = order.end("item") {
          orders[item.objectID, default: []].append(order["name"] as? String ?? "")
        }
      }
      return try context.all("Product").map { product in
        "\(product.objectID.uriRepresentation().lastPathComponent) \(product["sku"] ?? "nil") \(product["name"] ?? "nil") "
          + "\(product["price"] ?? "nil") \(orders[product.objectID, default: []].sorted())"
      }.sorted()
    }
    let wanted = expected.map { number, values, orders in
      "p\(number) \(values.sku ?? "nil") \(values.name ?? "nil") \(values.price) \(orders.sorted())"
    }.sorted()
    if found != wanted {
      throw Mismatch(
        text:
          "\(what):\n  found  \(found.joined(separator: "; "))\n  wanted \(wanted.joined(separator: "; "))")
    }
  }

  func checkFile() throws {
    let problems = try store.problems()
    if !problems.isEmpty { throw Mismatch(text: "\(problems)") }
  }

  private func identifier(_ number: Int) throws -> ManagedObjectID {
    guard let uri = identifiers[number], let id = store.coordinator.managedObjectID(forURIRepresentation: uri)
    else {
      throw Mismatch(text: "no ID for \(number)")
    }
    return id
  }
}
