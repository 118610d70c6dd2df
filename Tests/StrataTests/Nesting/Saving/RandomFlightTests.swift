import Foundation
import Strata
import Testing
import TortureKit

/// Random operations around saves without stopping, against three plain dictionaries: what is stored, what is under way, what the context shows (contexts 15).
/// `STRATA_SEED=n STRATA_FLIGHT_ROUNDS=n swift test --filter RandomFlightTests` repeats one seed.
///
///     stored ──▶ flying ──▶ shown      a save under way makes `flying` of `shown`; when it lands that is what is stored; when it is refused
///                                      nothing is, and all of it is pending again
struct RandomFlightTests {
  private struct Values: Equatable, CustomStringConvertible {
    var rating = Int16(0)
    var height = 0.0
    var description: String { "\(rating)/\(height)" }
  }
  private typealias Table = [String: Values]

  /// One story: a context, a child that stays and children that come and go, another context that makes conflicts.
  private final class Story {
    let gate = StoreGate()
    let store: TemporaryStore
    let root: ManagedObjectContext
    let child: ManagedObjectContext
    var random: SeededGenerator
    var (stored, shown): (Table, Table) = ([:], [:])
    var flying: Table?
    var lastName = 0
    var log: [String] = []
    /// Objects that somebody holds.
    var held: [Smuggled<Entry>] = []

    init(_ seed: UInt64) throws {
      random = SeededGenerator(seed: seed)
      store = try TemporaryStore(behind: gate)
      root = store.context(.privateQueue)
      child = ManagedObjectContext(.privateQueue, parent: root)
    }

    var base: Table { flying ?? stored }

    func roll(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
    func name(_ table: Table) -> String? { table.keys.sorted().randomElement(using: &random) }

    static func read(_ context: ManagedObjectContext) throws -> Table {
      try context.performAndWait {
        try context.entries().reduce(into: Table()) {
          $0[$1.location ?? ""] = Values(rating: $1.rating, height: $1.height)
        }
      }
    }

    /// Edits, inserts or deletes in `context`; `isChild` saves it to the root.
    func change(in context: ManagedObjectContext, isChild: Bool) throws {
      let (kind, number, name) = (roll(6), roll(5), name(shown))
      try context.performAndWait {
        if isChild { context.refreshAllObjects() }
        switch (kind, name) {
        case (0, _), (_, nil):
          lastName += 1
          let name = "n\(lastName)"
          Entry.make(name, rating: Int16(number), in: context)
          shown[name] = Values(rating: Int16(number))
          log.append("\(isChild ? "child" : "root") inserts \(name)")
        case (1, let name?):
          context.delete(try context.entry(name))
          shown[name] = nil
          log.append("\(isChild ? "child" : "root") deletes \(name)")
        case (_, let name?):
          let entry = try context.entry(name)
          if kind % 2 == 0 {
            entry.rating = Int16(number)
            shown[name]?.rating = Int16(number)
          } else {
            entry.height = Double(number)
            shown[name]?.height = Double(number)
          }
          log.append("\(isChild ? "child" : "root") changes \(name) to \(shown[name].map { "\($0)" } ?? "")")
        }
        if isChild { try context.save() }
      }
    }

    func hold() throws {
      guard let name = name(shown) else { return }
      log.append("root holds \(name)")
      held.append(try root.performAndWait { Smuggled(try root.entry(name)) })
    }

    func refresh(merging: Bool) throws {
      guard let name = name(shown), base[name] != nil else { return }
      log.append("root refreshes \(name), merging \(merging)")
      try root.performAndWait { root.refresh(try root.entry(name), mergeChanges: merging) }
      if !merging { shown[name] = base[name] }
    }

    func rollback() {
      log.append("root rolls back")
      root.performAndWait { root.rollback() }
      shown = base
    }

    /// Everything as it is to be, as each context sees it.
    func check() throws {
      #expect(try Self.read(root) == shown, "root\n\(log.suffix(30).joined(separator: "\n"))")
      #expect(try Self.read(child) == shown, "child\n\(log.suffix(30).joined(separator: "\n"))")
      if roll(4) == 0 {
        let late = ManagedObjectContext(.privateQueue, parent: root)
        #expect(try Self.read(late) == shown, "late child\n\(log.suffix(30).joined(separator: "\n"))")
      }
      #expect(try Self.read(store.context()) == stored, "stored\n\(log.suffix(30).joined(separator: "\n"))")
      let hasChanges = root.performAndWait { root.hasChanges }
      #expect(hasChanges || shown == base, "has changes\n\(log.suffix(30).joined(separator: "\n"))")
    }

    func step() throws {
      switch roll(12) {
      case 0...3: try change(in: root, isChild: false)
      case 4...6: try change(in: child, isChild: true)
      case 7: try change(in: ManagedObjectContext(.privateQueue, parent: root), isChild: true)
      case 8: try hold()
      case 9: if !held.isEmpty { held.remove(at: roll(held.count)) }
      case 10: try refresh(merging: roll(2) == 0)
      default: if roll(4) == 0 { rollback() }
      }
      try check()
    }

    /// Another context changes a record that the save is to write, so that it is refused; the record has another name for the model.
    func bump() throws -> Bool {
      guard
        let name = shown.keys.sorted().first(where: {
          stored[$0] != nil && stored[$0]?.height == shown[$0]?.height
            && stored[$0]?.rating != shown[$0]?.rating
        })
      else { return false }
      let other = store.context()
      try other.entry(name).notes = "\(log.count)"
      try other.save()
      log.append("another changes \(name)")
      return true
    }

    func flight() async throws {
      while shown == stored { try step() }
      let isRefused = roll(3) == 0 ? try bump() : false
      log.append("save\(isRefused ? ", to be refused" : "")")
      gate.close()
      let root = root
      async let saving: Void = root.saveAsynchronously()
      await gate.isReached()
      flying = shown
      for _ in 0..<roll(8) { try step() }
      gate.open()
      do {
        try await saving
        #expect(!isRefused, "\(log.suffix(30))")
        stored = flying ?? stored
        flying = nil
        log.append("saved")
      } catch let error as CoreDataError {
        #expect(
          isRefused && error.code == .managedObjectMerge,
          "\(error)\n\(log.suffix(30).joined(separator: "\n"))")
        flying = nil
        log.append("refused")
        try check()
        // The edits stay, above the newest rows.
        root.performAndWait { root.refreshAllObjects() }
      }
      try check()
    }
  }

  @Test("what is shown, pending and stored agrees with plain tables", arguments: TortureSettings.seeds)
  func agrees(seed: UInt64) async throws {
    let rounds = ProcessInfo.processInfo.environment["STRATA_FLIGHT_ROUNDS"].flatMap(Int.init) ?? 25
    let story = try Story(seed)
    for _ in 0..<rounds {
      for _ in 0..<story.roll(4) { try story.step() }
      try await story.flight()
    }
    // Whatever was done in between can be saved.
    try story.root.performAndWait { try story.root.save() }
    story.stored = story.shown
    try story.check()
  }
}
