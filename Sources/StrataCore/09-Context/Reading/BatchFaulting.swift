/// Which objects of stores that are far away came together: by one fetch, or as the members of one owner. When a fault among them fires, others are filled
/// with it in one request. Of one context, on its queue.
final class BatchFaulting {
  /// Objects of one table that came together, in their order.
  private struct Batch {
    /// Whether there may be many like it: they are the members of one owner, or were filled together.
    let isPart: Bool
    let table: StratumLayer.Table
    let keys: ContiguousArray<UInt64>
    /// Where somebody was last found.
    var place = 0
  }

  /// So many rows, or owners, are asked for at once.
  static let most = 128
  private static let mostFetches = 16
  /// While the objects of a fetch are gone through, what comes of them must not take its place.
  private static let mostParts = 2 * most
  private static let mostKeys = 65_536
  /// So many keys are remembered in all.
  private static let mostKeysInAll = 131_072
  /// After so many faults that nobody was found to lead to, nobody is looked for until there is another fetch.
  private static let mostMisses = 8
  private static let mostMembers = 16_384
  /// So many places of a batch, and of all, are looked at for one who leads to an object, or whose row or members are not known.
  private static let mostLooked = 4_096
  private static let mostLookedInAll = 16_384

  /// The newest last.
  private var batches: [Batch] = []
  /// Objects that were made ahead, and that nobody holds yet: those of the last request and of the one before.
  private var held: [[ManagedObject]] = []
  /// Rows that a merge has asked for together, or why they could not be read.
  var rowsAhead: [RowAddress: Result<FetchedRow?, any Error>] = [:]
  private var keyCount = 0
  private var misses = 0
  /// By relationship, of how many owners members are read at once: more each time, unless they have very many.
  private var ownersAtOnce: [Int: Int] = [:]

  struct RowAddress: Hashable {
    let table: StratumLayer.Table
    let key: UInt64
  }

  /// Objects have come together.
  func note(_ objects: [ManagedObject], isPart: Bool = false) {
    guard objects.count > 1, let first = objects.first else { return }
    let table = Self.table(first)
    var keys: ContiguousArray<UInt64> = []
    keys.reserveCapacity(min(objects.count, Self.mostKeys))
    for object in objects.prefix(Self.mostKeys) where Self.table(object) == table {
      keys.append(object.primaryKey)
    }
    if !isPart { misses = 0 }
    if let same = batches.firstIndex(where: { $0.table == table && $0.keys == keys }) { remove(same) }
    batches.append(Batch(isPart: isPart, table: table, keys: keys))
    keyCount += keys.count
    let most = isPart ? Self.mostParts : Self.mostFetches
    if batches.count > most, batches.count(where: { $0.isPart == isPart }) > most,
      let oldest = batches.firstIndex(where: { $0.isPart == isPart })
    {
      remove(oldest)
    }
    while keyCount > Self.mostKeysInAll, batches.count > 1 { remove(0) }
  }

  private func remove(_ place: Int) { keyCount -= batches.remove(at: place).keys.count }

  /// Of how many owners the members of a relationship are read at once.
  func ownerCount(_ relationship: Int) -> Int { ownersAtOnce[relationship] ?? 8 }

  /// So many members have come of so many owners.
  func noteMembers(_ count: Int, ofOwners owners: Int, _ relationship: Int) {
    if count > Self.mostMembers {
      ownersAtOnce[relationship] = max(1, owners / 4)
    } else if owners >= ownerCount(relationship) {
      ownersAtOnce[relationship] = min(Self.most, ownerCount(relationship) * 4)
    }
  }

  /// Keeps objects that were made ahead until they are used, or others are made.
  func hold(_ objects: [ManagedObject]) {
    if objects.isEmpty { return }
    held.append(objects)
    if held.count > 2 { held.removeFirst() }
  }

  func removeAll() {
    batches = []
    held = []
    rowsAhead = [:]
    (keyCount, misses) = (0, 0)
    ownersAtOnce = [:]
  }

  static func table(_ object: ManagedObject) -> StratumLayer.Table {
    object.withHome { $0.layerTable }
  }

  // MARK: Who came with whom

  /// Calls `body` with the keys of those that came with an object, those behind it first, until it returns false; not with more than are looked at.
  func forEachCompanion(_ key: UInt64, _ table: StratumLayer.Table, _ body: (UInt64) -> Bool) {
    for number in batches.indices.reversed() where batches[number].table == table {
      let keys = batches[number].keys
      guard let place = place(of: key, in: number) else { continue }
      // All may be known already: who goes through very many must not look at all of them each time.
      for offset in 1..<min(keys.count, Self.mostLooked)
      where !body(keys[(place + offset) % keys.count]) { return }
      return
    }
  }

  private func place(of key: UInt64, in number: Int) -> Int? {
    let keys = batches[number].keys
    // Mostly the next one, or one soon after.
    let start = batches[number].place
    let found = keys[start...].firstIndex(of: key) ?? keys[..<start].firstIndex(of: key)
    if let found { batches[number].place = found }
    return found
  }

  /// Finds, among those that came together, one that `leads` to something, and calls `body` with those behind it until it returns false.
  ///
  /// - Parameters:
  ///   - leads: Whether the object of that key in that table does.
  func forEachBehindSource(
    _ leads: (StratumLayer.Table, UInt64) -> Bool, _ body: (StratumLayer.Table, UInt64) -> Bool
  ) {
    if misses >= Self.mostMisses { return }
    misses += 1
    var left = Self.mostLookedInAll
    for number in batches.indices.reversed() where left > 0 {
      let batch = batches[number]
      for offset in 0..<min(batch.keys.count, Self.mostLooked) {
        left -= 1
        let place = (batch.place + offset) % batch.keys.count
        guard leads(batch.table, batch.keys[place]) else { continue }
        batches[number].place = place
        misses = 0
        for next in 1..<max(1, min(batch.keys.count, Self.mostLooked))
        where !body(batch.table, batch.keys[(place + next) % batch.keys.count]) { return }
        return
      }
    }
  }
}
