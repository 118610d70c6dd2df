import Strata

/// What a writer's places hold after a number of its saves, and what its next save changes: only numbers decide, so
/// that every reader of the store can tell what must be in it.
public struct LedgerPlan: Sendable, Hashable {
  public let writer: Int
  /// How many saves have been made.
  public private(set) var lastSave = 0
  /// The filled places, and the save that filled each.
  public private(set) var stamps: [Int: Int] = [:]

  public init(writer: Int) { self.writer = writer }

  /// The state after a number of saves.
  public init(writer: Int, after saves: Int) {
    self.init(writer: writer)
    while lastSave < saves { advance() }
  }

  /// By place, whether the next save fills it or empties it: one to four places.
  var nextChanges: [(place: Int, fills: Bool)] {
    var random = SeededGenerator(seed: UInt64(writer) << 32 ^ UInt64(lastSave + 1))
    var places = Set<Int>()
    for _ in 0...random.below(4) { places.insert(random.below(Ledger.placeCount)) }
    return places.sorted().map { ($0, stamps[$0] == nil || !random.chance(40)) }
  }

  /// Whether the next save makes new items, and does not only change and delete them.
  public var insertsNext: Bool { nextChanges.contains { stamps[$0.place] == nil } }

  /// Makes the next save.
  public mutating func advance() {
    let changes = nextChanges
    lastSave += 1
    for change in changes { stamps[change.place] = change.fills ? lastSave : nil }
  }

  /// Makes the next save's changes in `context`, which has read or made the writer's last state. On its queue.
  public func change(_ context: ManagedObjectContext) throws {
    let items = try context.fetch(
      FetchRequest<LedgerItem>(entityName: "Item", predicate: Attribute("writer") == writer))
    let byPlace = Dictionary(uniqueKeysWithValues: items.map { ($0.place, $0) })
    for change in nextChanges {
      if change.fills {
        (byPlace[change.place] ?? LedgerItem(context: context)).fill(writer, change.place, lastSave + 1)
      } else if let item = byPlace[change.place] {
        context.delete(item)
      } else {
        throw TortureViolation("writer \(writer), save \(lastSave): place \(change.place) is empty")
      }
    }
    let found = try context.fetch(
      FetchRequest<LedgerProgress>(entityName: "Progress", predicate: Attribute("writer") == writer))
    let progress = found.first ?? LedgerProgress(context: context)
    progress.writer = writer
    progress.lastSave = lastSave + 1
  }
}

/// What a store holds: by writer, its last save. Made only when everything else follows from that.
public struct LedgerState: Sendable, Hashable {
  public private(set) var lastSaves: [Int: Int] = [:]

  /// Checks the open store, reads it, and compares every item with its plan.
  /// - Throws: ``TortureViolation`` for any contradiction.
  public init(_ container: PersistentContainer) throws {
    let check = try Ledger.store(container).check()
    guard check.isSound else { throw TortureViolation("the check found \(check.problems)") }
    let context = container.newBackgroundContext()
    self = try context.performAndWait { try LedgerState(reading: context) }
    let rows = lastSaves.reduce(0) { $0 + 1 + LedgerPlan(writer: $1.key, after: $1.value).stamps.count }
    guard check.rowCount == rows else {
      throw TortureViolation("the check read \(check.rowCount) rows, there must be \(rows)")
    }
  }

  /// The same without the check. On the context's queue.
  public init(reading context: ManagedObjectContext) throws {
    for progress in try context.fetch(FetchRequest<LedgerProgress>(entityName: "Progress")) {
      guard lastSaves.updateValue(progress.lastSave, forKey: progress.writer) == nil else {
        throw TortureViolation("writer \(progress.writer) has two rows of progress")
      }
    }
    var stamps: [Int: [Int: Int]] = [:]
    for item in try context.fetch(FetchRequest<LedgerItem>(entityName: "Item")) {
      guard stamps[item.writer, default: [:]].updateValue(item.stamp, forKey: item.place) == nil else {
        throw TortureViolation("writer \(item.writer) has place \(item.place) twice")
      }
      guard item.isWhole else {
        throw TortureViolation(
          "writer \(item.writer): place \(item.place) has other values than save \(item.stamp)'s")
      }
    }
    for writer in Set(stamps.keys).union(lastSaves.keys) {
      let plan = LedgerPlan(writer: writer, after: lastSaves[writer] ?? 0)
      guard plan.stamps == stamps[writer] ?? [:] else {
        throw TortureViolation(
          "writer \(writer): save \(plan.lastSave) leaves \(plan.stamps), the store has \(stamps[writer] ?? [:])"
        )
      }
    }
  }
}
