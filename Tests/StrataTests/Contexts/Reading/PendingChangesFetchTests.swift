import Foundation
import Strata
import Testing

/// Fetches while there are unsaved changes (rules 86–93).
struct PendingChangesFetchTests {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    let writer = store.context()
    for name in ["a", "b", "c", "d"] { Entry.make(name, rating: 3, in: writer) }
    try writer.save()
    context = store.context()
  }

  private func request(
    _ predicate: FetchPredicate? = nil, ascending: Bool = true, limit: Int = 0, offset: Int = 0
  ) -> FetchRequest<Entry> {
    FetchRequest(
      entityName: "Entry", predicate: predicate,
      sortDescriptors: [FetchSort("location", ascending: ascending)],
      fetchLimit: limit, fetchOffset: offset)
  }

  private func locations(_ request: FetchRequest<Entry>) throws -> [String] {
    try context.fetch(request).compactMap(\.location)
  }

  @Test("rule 86: pending inserts that match are returned, in their place")
  func pendingInsertsAreReturned() throws {
    Entry.make("bb", rating: 3, in: context)
    Entry.make("zz", rating: 1, in: context)
    #expect(try locations(request()) == ["a", "b", "bb", "c", "d", "zz"])
    #expect(try locations(request(Attribute("rating") == 3)) == ["a", "b", "bb", "c", "d"])
  }

  @Test("rule 86: pending updates are matched on the values they have now, into the result and out of it")
  func pendingUpdatesAreMatchedOnCurrentValues() throws {
    let entries = try context.entries()
    entries[0].rating = 5
    #expect(try locations(request(Attribute("rating") == 3)) == ["b", "c", "d"])
    #expect(try locations(request(Attribute("rating") == 5)) == ["a"])
    #expect(try context.fetch(request(Attribute("rating") == 5)).first === entries[0])
  }

  @Test("rule 86: pending updates are sorted by the values they have now")
  func pendingUpdatesAreSortedByCurrentValues() throws {
    let entries = try context.entries()
    entries[0].location = "cc"
    #expect(try locations(request()) == ["b", "c", "cc", "d"])
    #expect(try locations(request(ascending: false)) == ["d", "cc", "c", "b"])
  }

  @Test("rule 86: pending deletes are not returned; rolled back they are again")
  func pendingDeletesAreNotReturned() throws {
    context.delete(try context.entry("b"))
    #expect(try locations(request()) == ["a", "c", "d"])
    #expect(throws: Never.self) { try context.count(for: request()) == 3 }
    context.rollback()
    #expect(try locations(request()) == ["a", "b", "c", "d"])
  }

  @Test("rule 87: includesPendingChanges off: membership as stored, values as in memory")
  func withoutPendingChanges() throws {
    let entries = try context.entries()
    entries[0].rating = 5
    context.delete(entries[1])
    Entry.make("new", in: context)
    var stored = request(Attribute("rating") == 3)
    stored.includesPendingChanges = false
    let found = try context.fetch(stored)
    #expect(Set(found.map(\.objectID)) == Set(entries.map(\.objectID)))
    #expect(found.first { $0 === entries[0] }?.rating == 5)
    #expect(try context.count(for: stored) == 4)
  }

  @Test("rule 89: ID results reflect pending changes; pending inserts come with temporary IDs")
  func identifiersReflectPendingChanges() throws {
    let entries = try context.entries()
    entries[0].rating = 5
    context.delete(entries[1])
    let new = Entry.make("bb", rating: 3, in: context)
    var ids = FetchRequest<ManagedObjectID>(entityName: "Entry", predicate: Attribute("rating") == 3)
    ids.sortDescriptors = [FetchSort("location")]
    let found = try context.fetch(ids)
    #expect(found == [new, entries[2], entries[3]].map(\.objectID))
    #expect(found.map(\.isTemporaryID) == [true, false, false])
  }

  @Test("rule 90 (better): ID results are sorted as a whole, window included")
  func identifiersAreSortedAsAWhole() throws {
    let entries = try context.entries()
    let new = Entry.make("bb", in: context)
    var ids = FetchRequest<ManagedObjectID>(
      entityName: "Entry", sortDescriptors: [FetchSort("location", ascending: false)])
    #expect(
      try context.fetch(ids) == [entries[3], entries[2], new, entries[1], entries[0]].map(\.objectID))
    ids.fetchOffset = 2
    ids.fetchLimit = 2
    #expect(try context.fetch(ids) == [new, entries[1]].map(\.objectID))
  }

  @Test("rule 91: a count includes pending changes and the window")
  func countIncludesPendingChanges() throws {
    Entry.make("bb", rating: 3, in: context)
    context.delete(try context.entry("a"))
    try context.entry("b").rating = 5
    #expect(try context.count(for: request()) == 4)
    #expect(try context.count(for: request(Attribute("rating") == 3)) == 3)
    #expect(try context.count(for: request(limit: 2, offset: 3)) == 1)
    #expect(try context.count(for: request(limit: 2, offset: 4)) == 0)
  }

  @Test("rule 92 (better): the window is cut from the merged result")
  func windowIsCutFromTheMergedResult() throws {
    Entry.make("aa", in: context)
    Entry.make("bb", in: context)
    context.delete(try context.entry("c"))
    try context.entry("d").location = "A"
    let all = ["A", "a", "aa", "b", "bb"]
    #expect(try locations(request()) == all)
    for offset in 0...6 {
      for limit in 0...6 {
        let expected = Array(all.dropFirst(offset).prefix(limit == 0 ? .max : limit))
        #expect(try locations(request(limit: limit, offset: offset)) == expected)
        #expect(try context.count(for: request(limit: limit, offset: offset)) == expected.count)
      }
    }
  }

  @Test("rule 93: includesSubentities off leaves pending subentities out, too")
  func pendingSubentitiesAreLeftOut() throws {
    _ = Beach("Bells", in: context)
    _ = HiddenBeach("Cove", in: context)
    _ = Reef("Winki", in: context)
    var request = FetchRequest<Beach>(entityName: "Beach")
    #expect(try context.count(for: request) == 2)
    request.includesSubentities = false
    #expect(try context.fetch(request).map(\.name) == ["Bells"])
    #expect(try context.fetch(FetchRequest<Spot>(entityName: "Spot")).count == 3)
  }

  @Test("rule 86: changes of other contexts that are not saved are not seen")
  func unsavedChangesOfOthersAreNotSeen() throws {
    let other = store.context()
    Entry.make("theirs", in: other)
    other.delete(try other.entry("a"))
    #expect(try locations(request()) == ["a", "b", "c", "d"])
    try other.save()
    #expect(try locations(request()) == ["b", "c", "d", "theirs"])
  }

  @Test("rule 122: a fetch processes pending changes first")
  func fetchProcessesPendingChanges() throws {
    let recorder = NotificationRecorder(context)
    Entry.make("new", in: context)
    #expect(recorder.names.isEmpty)
    _ = try context.entries()
    #expect(recorder.names == [.didChange])
  }

  @Test("rules 86, 91, 92: random edits and requests agree with a plain array", arguments: 0..<6)
  func randomEditsAgreeWithAPlainArray(_ round: Int) throws {
    var dice = Dice(seed: 0x5A17 &+ UInt64(round) &* 7_919)
    print("pending changes, round \(round): seed \(dice.seed)")
    var live = try context.entries()
    for step in 0..<120 {
      switch dice.roll(10) {
      case 0..<3:
        live.append(
          Entry.make(dice.word(), rating: Int16(dice.roll(6)), height: Double(dice.roll(4)), in: context))
      case 3..<6 where !live.isEmpty:
        let entry = live[dice.roll(live.count)]
        entry.rating = Int16(dice.roll(6))
        if dice.roll(2) == 0 { entry.location = dice.word() }
      case 6 where !live.isEmpty:
        context.delete(live.remove(at: dice.roll(live.count)))
      case 7 where dice.roll(4) == 0:
        try context.save()
      default: break
      }
      let rating = Int16(dice.roll(6))
      let request = FetchRequest<Entry>(
        entityName: "Entry", predicate: dice.roll(3) == 0 ? nil : Attribute("rating") >= rating,
        sortDescriptors: [
          FetchSort("rating", ascending: dice.roll(2) == 0),
          FetchSort("location", ascending: dice.roll(2) == 0),
        ], fetchLimit: dice.roll(3) == 0 ? 0 : dice.roll(8), fetchOffset: dice.roll(6))
      let expected = try plainFetch(request, among: live, atLeast: rating)
      let found = try context.fetch(request)
      // Objects that all keys call equal come in an order of their own: compare the keys and the membership.
      #expect(found.map(key) == expected.map(key), "seed \(dice.seed), step \(step)")
      #expect(Set(found).count == found.count)
      #expect(Set(found).isSubset(of: Set(live)), "seed \(dice.seed), step \(step)")
      #expect(try context.count(for: request) == expected.count, "seed \(dice.seed), step \(step)")
    }
  }

  private func key(_ entry: Entry) -> String { "\(entry.rating) \(entry.location ?? "nil")" }

  /// What the request should give, worked out on an array.
  private func plainFetch(_ request: FetchRequest<Entry>, among live: [Entry], atLeast rating: Int16) throws
    -> [Entry]
  {
    let matching = request.predicate == nil ? live : live.filter { $0.rating >= rating }
    let sorted = matching.sorted { left, right in
      if left.rating != right.rating {
        return request.sortDescriptors[0].ascending == (left.rating < right.rating)
      }
      let (first, second) = (Array((left.location ?? "").utf8), Array((right.location ?? "").utf8))
      if first == second { return false }
      return request.sortDescriptors[1].ascending == first.lexicographicallyPrecedes(second)
    }
    let rest = sorted.dropFirst(request.fetchOffset)
    return Array(request.fetchLimit == 0 ? rest : rest.prefix(request.fetchLimit))
  }

  @Test("rule 92: a window that ends beyond every number has no end, with pending changes and without")
  func windowsBeyondEveryNumber() throws {
    let window = request(limit: .max, offset: 2)
    #expect(try locations(window) == ["c", "d"])
    context.delete(try context.entry("c"))
    #expect(try locations(window) == ["d"])
    Entry.make("e", in: context)
    #expect(try locations(window) == ["d", "e"])
    #expect(try context.count(for: window) == 2)
    #expect(try locations(request(limit: .max)) == ["a", "b", "d", "e"])
    #expect(try locations(request(limit: .max, offset: .max)) == [])
  }
}
