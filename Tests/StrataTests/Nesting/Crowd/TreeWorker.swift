import Foundation
import Strata
import TortureKit

/// The worker of one place of a `TreeCrowd`. Lives on one thread.
final class TreeWorker {
  struct Wrong: Error, CustomStringConvertible { let description: String }

  private let crowd: TreeCrowd
  private let place: Int
  private let isLeaf: Bool
  private var random: SeededGenerator
  private var context: ManagedObjectContext?
  /// What has been saved to the parent, and with the edits since.
  private var saved = TwigState()
  private var pending = TwigState()
  private var nextPair = 0
  private var lives = 0
  /// Twigs that are held, by pair.
  private var held: [Int: [Twig]] = [:]
  private var observer: (any NSObjectProtocol)?

  init(_ crowd: TreeCrowd, _ place: Int) {
    self.crowd = crowd
    self.place = place
    isLeaf = !crowd.parents.contains(place)
    random = SeededGenerator(seed: crowd.seed &* 31 &+ UInt64(place))
  }

  // MARK: The context

  /// Makes the place's context, on the one below.
  func grow() {
    let parent = crowd.parents[place] < 0 ? nil : crowd.context(crowd.parents[place])
    let kind = crowd.kinds[place]
    let context =
      parent.map { ManagedObjectContext(kind, parent: $0) }
      ?? ManagedObjectContext(kind, coordinator: crowd.container.persistentStoreCoordinator)
    lives += 1
    context.name = "place \(place), life \(lives)"
    context.mergePolicy = .mergeByPropertyObjectTrump
    if kind != .confinement {
      context.automaticallyMergesChangesFromParent = random.chance(50)
      if let parent, random.chance(50) { mergeSaves(of: parent, into: context) }
    }
    self.context = context
    crowd.setContext(place, context)
  }

  /// The old way: what the parent saves is merged by hand.
  private func mergeSaves(of parent: ManagedObjectContext, into context: ManagedObjectContext) {
    observer = NotificationCenter.default.addObserver(
      forName: random.pick([.didSave, .didSaveIDs]), object: parent, queue: nil
    ) { [weak context] notification in
      let carried = Smuggled(notification)
      context?.enqueue { [weak context] in context?.mergeChanges(fromContextDidSave: carried.value) }
    }
  }

  private func letGo() {
    if let observer { NotificationCenter.default.removeObserver(observer) }
    observer = nil
    held = [:]
    crowd.setContext(place, nil)
    context = nil
    pending = saved
  }

  // MARK: Working

  func work() {
    while crowd.goesOn {
      if isLeaf, random.chance(1) {
        crowd.note(place, "grow anew")
        letGo()
        grow()
      }
      guard let context else { return }
      do {
        if context.concurrencyType == .confinement || random.chance(50) {
          try context.performAndWait { try event(context) }
        } else {
          try enqueueEvent(context)
        }
      } catch {
        crowd.complain("\(context), a \(crowd.description): \(error)")
      }
    }
  }

  /// The worker waits while the event runs: what it has is used by one thread at a time.
  private func enqueueEvent(_ context: ManagedObjectContext) throws {
    let done = DispatchSemaphore(value: 0)
    let me = Smuggled(self)
    let failure = Log<any Error>()
    context.enqueue {
      do { try me.value.event(context) } catch { failure.add(error) }
      done.signal()
    }
    done.wait()
    if let error = failure.first { throw error }
  }

  /// Hands everything down.
  func finish() {
    guard let context else { return }
    crowd.note(place, "finish")
    do {
      try context.performAndWait {
        try checkOwn(context)
        try context.save()
        saved = pending
        if context.hasChanges { throw Wrong(description: "it has changes after its last save") }
        try checkOwn(context)
        held = [:]
      }
    } catch {
      crowd.complain("\(context), a \(crowd.description): \(error)")
    }
    crowd.report(place, saved)
  }

  private func event(_ context: ManagedObjectContext) throws {
    for _ in 0..<random.pick([1, 2, 5]) { try step(context) }
  }

  private func step(_ context: ManagedObjectContext) throws {
    let choice = random.below(100)
    switch choice {
    case 0..<15: note("insert"); insert(context)
    case 15..<35: note("edit"); try edit(context)
    case 35..<42: note("delete"); try delete(context)
    case 42..<57: note("raise"); try raise(context)
    case 57..<65: note("look at its own"); try checkOwn(context)
    case 65..<75: note("look at others"); try Self.checkPairs(of: random.below(TreeCrowd.places), in: context)
    case 75..<90:
      note("save")
      try context.save()
      saved = pending
    case 90..<93:
      note("refresh all")
      context.refreshAllObjects()
    case 93..<95: held = [:]
    case 95..<97: note("hold"); try hold(context)
    default:
      // What children have saved here would go as well, and they could not know.
      guard isLeaf else { return }
      if random.chance(50) {
        note("rollback")
        context.rollback()
        held = held.filter { $0.value.allSatisfy { $0.managedObjectContext === context } }
      } else {
        note("reset")
        held = [:]
        context.reset()
      }
      pending = saved
    }
  }

  private func note(_ what: String) { crowd.note(place, what) }

  // MARK: Edits

  private func insert(_ context: ManagedObjectContext) {
    nextPair += 1
    let value = random.below(1_000)
    for side in 0..<2 {
      let twig = Twig(context: context)
      twig.owner = place
      twig.pair = nextPair
      twig.side = side
      twig.set(value)
    }
    pending.twigs[nextPair] = value
  }

  /// Both twigs of a pair of its own.
  private func pair(_ pair: Int, _ context: ManagedObjectContext) throws -> [Twig] {
    if let held = held[pair], held.allSatisfy({ $0.managedObjectContext === context }) { return held }
    let found = try context.fetch(
      FetchRequest<Twig>(
        entityName: "Twig", predicate: Attribute("owner") == place && Attribute("pair") == pair))
    if found.count != 2 { throw Wrong(description: "pair \(pair) of \(place) has \(found.count) twigs") }
    for twig in found where twig.value != pending.twigs[pair] {
      throw Wrong(
        description:
          "pair \(pair) is \(twig.value) and should be \(pending.twigs[pair].map { "\($0)" } ?? "gone")")
    }
    return found
  }

  private func anyPair() -> Int? { random.pickAny(pending.twigs.keys.sorted()) }

  private func edit(_ context: ManagedObjectContext) throws {
    guard let number = anyPair() else { return }
    let value = random.below(1_000)
    for twig in try pair(number, context) { twig.set(value) }
    pending.twigs[number] = value
  }

  private func delete(_ context: ManagedObjectContext) throws {
    guard let number = anyPair() else { return }
    for twig in try pair(number, context) { context.delete(twig) }
    pending.twigs[number] = nil
    held[number] = nil
  }

  private func raise(_ context: ManagedObjectContext) throws {
    let number = random.below(TreeCrowd.tallies)
    guard let tally = try context.existingObject(with: crowd.tallyIDs[number]) as? Tally else {
      throw Wrong(description: "tally \(number) is gone")
    }
    let found = tally.column(place)
    if found != pending.tallies[number] {
      throw Wrong(description: "tally \(number) is \(found) and should be \(pending.tallies[number])")
    }
    tally.raise(place)
    pending.tallies[number] += 1
  }

  private func hold(_ context: ManagedObjectContext) throws {
    guard let number = anyPair() else { return }
    held[number] = try pair(number, context)
  }

  // MARK: Looking

  private func checkOwn(_ context: ManagedObjectContext) throws {
    let found = try Self.twigs(of: place, in: context)
    if found != pending.twigs {
      throw Wrong(description: "of its own, \(TwigState.difference(found, pending.twigs))")
    }
    let count = try context.count(
      for: FetchRequest<Twig>(entityName: "Twig", predicate: Attribute("owner") == place))
    if count != found.count * 2 {
      throw Wrong(description: "\(count) twigs of its own, not \(found.count * 2)")
    }
    for (number, twigs) in held {
      for twig in twigs where twig.value != pending.twigs[number] {
        throw Wrong(
          description: "held pair \(number) is \(twig.value), should be \(pending.twigs[number] ?? -1)")
      }
    }
  }

  /// What `context` sees of a place's twigs: the value of each pair. Throws when twigs of a pair differ, when one has no other,
  /// or its text has another value.
  static func twigs(
    of owner: Int, in context: ManagedObjectContext, checksLongTexts: Bool = true
  ) throws -> [Int: Int] {
    var result: [Int: Int] = [:]
    var sides: [Int: Int] = [:]
    for twig in try context.fetch(
      FetchRequest<Twig>(
        entityName: "Twig", predicate: Attribute("owner") == owner, sortDescriptors: [FetchSort("pair")]))
    {
      let value = twig.value
      // A long text is read later than its row, and may have been replaced by then.
      if checksLongTexts || value % 7 != 0, twig.text != Twig.text(of: value) {
        throw Wrong(description: "\(context): the text of \(value) is \(twig.text?.prefix(20) ?? "nil")")
      }
      if let other = result[twig.pair], other != value {
        throw Wrong(description: "\(context) sees a pair of \(owner) torn: \(other) and \(value)")
      }
      result[twig.pair] = value
      sides[twig.pair, default: 0] += 1
    }
    if let alone = sides.first(where: { $0.value != 2 }) {
      throw Wrong(description: "\(context) sees \(alone.value) twigs of pair \(alone.key) of \(owner)")
    }
    return result
  }

  /// The pairs of another worker agree, and so do their texts unless they have been replaced since.
  static func checkPairs(of owner: Int, in context: ManagedObjectContext) throws {
    _ = try twigs(of: owner, in: context, checksLongTexts: false)
  }
}
