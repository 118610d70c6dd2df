import Foundation
import Strata
import Synchronization
import TortureKit

/// A tree of contexts over one store, each driven by a thread of its own, all at once.
///
///     store ─┬─ 0 ─┬─ 2 ── 5          each has twigs of its own, which no other context edits; all raise shared tallies,
///            │     └─ 3 ─┬─ 4         each in a column of its own
///            └─ 1 ── …   └─ …
///
/// Every context must always see its own twigs as it left them, saved or not and however far down others have handed them
/// meanwhile; the pairs of all others' twigs must agree with each other at any time; and in the end the store holds just what
/// all of them have saved.
final class TreeCrowd: Sendable {
  static let places = 8
  static let tallies = 4

  let container: PersistentContainer
  /// By place, what it stands on; -1 for the coordinator.
  let parents: [Int]
  let kinds: [ConcurrencyType]
  let seed: UInt64
  let tallyIDs: [ManagedObjectID]
  private let shared = Guarded(Shared())
  private let isOver = Atomic<Bool>(false)

  private struct Shared {
    var contexts = [ManagedObjectContext?](repeating: nil, count: TreeCrowd.places)
    /// What each place did last, and how often it did something.
    var doing = [String](repeating: "nothing yet", count: TreeCrowd.places)
    var progress = [Int](repeating: 0, count: TreeCrowd.places)
    var saved = [Int: TwigState](minimumCapacity: TreeCrowd.places)
    var complaints: [String] = []
  }

  init(seed: UInt64, url: URL) throws {
    self.seed = seed
    var random = SeededGenerator(seed: seed)
    parents = (0..<Self.places).map { $0 == 0 || $0 == 1 && random.chance(30) ? -1 : random.below($0) }
    // Mostly with queues; one place is the main queue's.
    let main = random.below(Self.places)
    kinds = (0..<Self.places).map { place in
      place == main ? .mainQueue : random.chance(20) ? .confinement : .privateQueue
    }
    container = PersistentContainer(name: "Crowd", model: TwigModel.make())
    try container.persistentStoreCoordinator.addPersistentStore(PersistentStoreDescription(url: url))
    let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
    let made = (0..<Self.tallies).map { number in
      let tally = Tally(context: context)
      tally.number = number
      return tally
    }
    try context.save()
    tallyIDs = made.map(\.objectID)
  }

  var description: String {
    zip(parents, kinds).enumerated().map { place, what in
      let kind = what.1 == .mainQueue ? "main" : what.1 == .privateQueue ? "private" : "confined"
      return "\(place) \(kind) on \(what.0 < 0 ? "the store" : "\(what.0)")"
    }.joined(separator: ", ")
  }

  // MARK: Running

  /// Runs all places for `seconds`, on threads of their own, and waits for them. Must not be called on the main thread.
  func run(seconds: Int) -> [String] {
    let ready = DispatchSemaphore(value: 0)
    let finished = (0..<Self.places).map { _ in DispatchSemaphore(value: 0) }
    for place in 0..<Self.places {
      let children = parents.indices.filter { parents[$0] == place }.map { finished[$0] }
      let thread = Thread {
        let worker = TreeWorker(self, place)
        worker.grow()
        ready.signal()
        worker.work()
        // Children hand down first.
        for child in children { child.wait() }
        worker.finish()
        finished[place].signal()
        finished[place].signal()
      }
      thread.name = "place \(place)"
      thread.start()
      // Its children need its context.
      ready.wait()
    }
    let visitors = (0..<2).map { startVisitor(number: $0) }
    let watchdog = startWatchdog()
    Thread.sleep(forTimeInterval: TimeInterval(seconds))
    isOver.store(true, ordering: .releasing)
    for place in finished.indices.reversed() { finished[place].wait() }
    for visitor in visitors { visitor.wait() }
    watchdog.signal()
    return shared.withLock { $0.complaints }
  }

  var goesOn: Bool { !isOver.load(ordering: .acquiring) && shared.withLock { $0.complaints.isEmpty } }

  /// A worker that enters the contexts of others, by their queues.
  private func startVisitor(number: Int) -> DispatchSemaphore {
    let done = DispatchSemaphore(value: 0)
    let thread = Thread {
      var random = SeededGenerator(seed: self.seed &+ 1_000 &+ UInt64(number))
      while self.goesOn {
        let place = random.below(Self.places)
        guard self.kinds[place] != .confinement, let context = self.context(place) else { continue }
        do {
          let owner = random.below(Self.places)
          if random.chance(50) {
            try context.performAndWait { try TreeWorker.checkPairs(of: owner, in: context) }
          } else {
            let answered = DispatchSemaphore(value: 0)
            context.enqueue {
              do { try TreeWorker.checkPairs(of: owner, in: context) } catch { self.complain("\(error)") }
              answered.signal()
            }
            answered.wait()
          }
        } catch {
          self.complain("\(error)")
        }
      }
      done.signal()
    }
    thread.name = "visitor \(number)"
    thread.start()
    return done
  }

  /// Names the contexts that are stuck, and stops the process, when nothing at all has happened for minutes.
  private func startWatchdog() -> DispatchSemaphore {
    let over = DispatchSemaphore(value: 0)
    let thread = Thread {
      var last: [Int] = []
      while over.wait(timeout: .now() + 180) == .timedOut {
        let (progress, doing) = self.shared.withLock { ($0.progress, $0.doing) }
        let stuck = progress.indices.filter { last.indices.contains($0) && last[$0] == progress[$0] }
        if stuck.count == progress.count {
          // Stuck threads cannot be ended one by one: only the end of the process shows where they stand.
          fatalError(
            "seed \(self.seed), \(self.description): nothing moves; "
              + stuck.map { "\($0) is stuck in: \(doing[$0])" }.joined(separator: "; "))
        }
        last = progress
      }
    }
    thread.start()
    return over
  }

  // MARK: What the places share

  func context(_ place: Int) -> ManagedObjectContext? { shared.withLock { $0.contexts[place] } }
  func setContext(_ place: Int, _ context: ManagedObjectContext?) {
    let old = shared.withLock { state in
      defer { state.contexts[place] = context }
      return state.contexts[place]
    }
    _ = old
  }

  func note(_ place: Int, _ what: String) {
    shared.withLock {
      $0.doing[place] = what
      $0.progress[place] += 1
    }
  }

  func complain(_ complaint: String) {
    shared.withLock { $0.complaints.append("seed \(seed): \(complaint)") }
  }

  func report(_ place: Int, _ state: TwigState) { shared.withLock { $0.saved[place] = state } }

  /// How many steps all places took.
  var steps: Int { shared.withLock { $0.progress.reduce(0, +) } }

  // MARK: In the end

  /// What is in the store and should not, or should be and is not.
  func checkStore() throws -> [String] {
    var complaints: [String] = []
    let saved = shared.withLock { $0.saved }
    let context = ManagedObjectContext(.confinement, coordinator: container.persistentStoreCoordinator)
    for place in 0..<Self.places {
      let found = try TreeWorker.twigs(of: place, in: context)
      let expected = saved[place]?.twigs ?? [:]
      if found != expected {
        complaints.append("stored twigs of \(place): \(TwigState.difference(found, expected))")
      }
    }
    for (number, id) in tallyIDs.enumerated() {
      let tally = try context.existingObject(with: id) as? Tally
      let found = (0..<Self.places).map { tally?.column($0) ?? -1 }
      let expected = (0..<Self.places).map { saved[$0]?.tallies[number] ?? 0 }
      if found != expected {
        complaints.append("stored tally \(number) is \(found) and should be \(expected)")
      }
    }
    for case let store as LMDBStore in container.persistentStoreCoordinator.persistentStores {
      let check = try store.check()
      if !check.isSound { complaints.append("StoreCheck says: \(check.problems.prefix(5))") }
    }
    return complaints
  }
}
