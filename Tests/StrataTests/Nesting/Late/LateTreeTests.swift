import Foundation
import Strata
import Testing
import TortureKit

/// Random trees of contexts whose children are made late, against plain dictionaries.
///
/// `STRATA_LATE_TREES=10000 STRATA_SEED=n swift test --filter LateTreeTests` grows so many trees, beginning with seed n.
struct LateTreeTests {
  @Test("whichever thread makes a child, where and when: it sees what the contexts below had finished")
  func lateTrees() async throws {
    let environment = ProcessInfo.processInfo.environment
    let count = environment["STRATA_LATE_TREES"].flatMap { UInt64($0) } ?? 60
    let first = environment["STRATA_SEED"].flatMap { UInt64($0) } ?? 1
    let store = try TemporaryStore()
    try await Elsewhere.begin {
      var saved: [String: LateTree.Record] = [:]
      for seed in first..<first + count {
        let tree = LateTree(seed: seed, store, saved)
        do { try tree.grow() } catch {
          Issue.record("seed \(seed): \(error)\n\(tree.log.joined(separator: "\n"))")
          return
        }
        saved = tree.saved
      }
    }
    print("late trees: \(count) from seed \(first)")
  }
}

/// One tree, driven by one thread; contexts are entered on threads of all kinds.
final class LateTree {
  struct Record: Equatable { var rating: Int16, notes: String? }
  struct Mismatch: Error { let text: String }

  /// A context and what it has edited: nil for what it has deleted.
  private final class Branch {
    let context: ManagedObjectContext
    let parent: Branch?
    let name: String
    /// As its blocks have left it.
    var finished: [String: Record?] = [:]
    /// With what the running block has done.
    var edited: [String: Record?] = [:]

    init(_ context: ManagedObjectContext, _ parent: Branch?, _ name: String) {
      self.context = context
      self.parent = parent
      self.name = name
    }

    func isAbove(_ other: Branch) -> Bool { parent.map { $0 === other || $0.isAbove(other) } ?? false }
  }

  private(set) var saved: [String: Record]
  private(set) var log: [String] = []
  private var dice: SeededGenerator
  private let store: TemporaryStore
  private var branches: [Branch] = []
  private static let names = (0..<7).map { "place \($0)" }

  init(seed: UInt64, _ store: TemporaryStore, _ saved: [String: Record]) {
    dice = SeededGenerator(seed: seed)
    self.store = store
    self.saved = saved
  }

  func grow() throws {
    let kind = dice.pick([ConcurrencyType.privateQueue, .privateQueue, .mainQueue, .confinement])
    let root = Branch(store.context(kind), nil, "root")
    log.append("root is \(kind)")
    branches = [root]
    if dice.chance(30) { try edit(root, rounds: 2) }
    for _ in 0..<4 + dice.below(8) {
      let branch = dice.pick(branches)
      switch dice.below(100) {
      case ..<40: try edit(branch, rounds: 1 + dice.below(3))
      case ..<60: try watch(branch)
      case ..<75: try addChild(branch)
      case ..<90: try save(branch, isAsynchronous: dice.chance(40))
      default: try giveUp(branch)
      }
      if dice.chance(60) { try compareLate(dice.pick(branches)) }
    }
    for branch in branches.reversed() where dice.chance(80) { try save(branch, isAsynchronous: false) }
    for branch in branches { try compareLate(branch) }
  }

  // MARK: The reference

  private func view(_ branch: Branch, isRunning: Bool = false) -> [String: Record] {
    var result = branch.parent.map { view($0) } ?? saved
    for (name, record) in isRunning ? branch.edited : branch.finished { result[name] = record }
    return result
  }

  /// A record is edited by one context, and those above it.
  private func mayEdit(_ name: String, _ branch: Branch) -> Bool {
    branches.allSatisfy { $0 === branch || branch.isAbove($0) || $0.edited[name] == nil }
  }

  // MARK: Steps

  /// A thread that may use the context.
  private func inside<T>(_ branch: Branch, _ body: () throws -> T) throws -> T {
    let context = branch.context
    if context.concurrencyType == .confinement { return try body() }
    return dice.chance(50)
      ? try context.performAndWait(body) : try Elsewhere.run { try context.performAndWait(body) }
  }

  /// Random changes; the caller is inside.
  private func change(_ branch: Branch) throws {
    let context = branch.context
    for _ in 0..<1 + dice.below(3) {
      let name = dice.pick(Self.names)
      guard mayEdit(name, branch) else { continue }
      let found = try context.entries().filter { $0.location == name }
      // A fetch finishes what was done before it.
      branch.finished = branch.edited
      let known = view(branch)[name]
      guard found.count == (known == nil ? 0 : 1) else {
        throw Mismatch(text: "\(branch.name) has \(name) \(found.count) times")
      }
      guard let entry = found.first else {
        let rating = Int16(dice.below(100))
        log.append("\(branch.name) inserts \(name) \(rating)")
        Entry.make(name, rating: rating, in: context)
        branch.edited[name] = .some(Record(rating: rating, notes: nil))
        continue
      }
      if dice.chance(25) {
        log.append("\(branch.name) deletes \(name)")
        context.delete(entry)
        // A new record that is gone leaves nothing.
        if below(branch)[name] == nil {
          branch.edited.removeValue(forKey: name)
        } else {
          branch.edited[name] = .some(nil)
        }
        continue
      }
      context.refresh(entry, mergeChanges: true)
      var record = Record(rating: entry.rating, notes: entry.notes)
      guard record == known else {
        throw Mismatch(text: "\(branch.name) has \(name) \(record) instead of \(known.debugDescription)")
      }
      if dice.chance(60) {
        record.rating = Int16(dice.below(100))
        entry.rating = record.rating
      } else {
        record.notes = dice.chance(20) ? nil : "note \(dice.below(100))"
        entry.notes = record.notes
      }
      log.append("\(branch.name) edits \(name): \(record)")
      branch.edited[name] = .some(record)
    }
  }

  private func below(_ branch: Branch) -> [String: Record] { branch.parent.map { view($0) } ?? saved }

  /// Edits in one block, which may finish parts of what it does while it runs.
  private func edit(_ branch: Branch, rounds: Int) throws {
    let context = branch.context
    func block() throws {
      for round in 0..<rounds {
        try change(branch)
        if round < rounds - 1, dice.chance(50) {
          context.processPendingChanges()
          branch.finished = branch.edited
        }
        if dice.chance(30) { try Elsewhere.run { try compareLate(branch) } }
      }
    }
    if context.concurrencyType != .confinement, dice.chance(50) {
      log.append("\(branch.name) performs")
      try context.performAndFinish(block)
    } else {
      log.append("\(branch.name) performs and waits")
      try inside(branch, block)
      if context.concurrencyType == .confinement { context.processPendingChanges() }
    }
    branch.finished = branch.edited
  }

  /// Makes children while a block of the context runs that has edited something.
  private func watch(_ branch: Branch) throws {
    let context = branch.context
    if context.concurrencyType == .confinement {
      try change(branch)
      try Elsewhere.run { try compareLate(branch) }
      context.processPendingChanges()
      branch.finished = branch.edited
      return
    }
    let (begun, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    nonisolated(unsafe) var failure: (any Error)?
    // Unsafe: this thread waits while the block works, and the block waits while this thread does.
    nonisolated(unsafe) let (me, running) = (self, branch)
    context.perform {
      do {
        try me.change(running)
      } catch { failure = error }
      begun.signal()
      go.wait()
    }
    begun.wait()
    let result = Result { try compareLate(branch) }
    go.signal()
    context.performAndWait {}
    branch.finished = branch.edited
    if let failure { throw failure }
    try result.get()
  }

  private func addChild(_ branch: Branch) throws {
    guard branches.count < 6 else { return }
    let kind = dice.pick([ConcurrencyType.privateQueue, .privateQueue, .mainQueue])
    let parent = branch.context
    let make = { ManagedObjectContext(kind, parent: parent) }
    let context: ManagedObjectContext
    switch dice.below(3) {
    case 0: context = make()
    case 1: context = try Elsewhere.run(make)
    default: context = try inside(branch, make)
    }
    let child = Branch(context, branch, "\(branch.name).\(branches.count)")
    log.append("\(child.name) is \(kind)")
    branches.append(child)
    try compare(child, context)
  }

  private func save(_ branch: Branch, isAsynchronous: Bool) throws {
    let context = branch.context
    log.append("\(branch.name) saves\(isAsynchronous ? " off the queue" : "")")
    if isAsynchronous, context.concurrencyType != .confinement {
      let done = DispatchSemaphore(value: 0)
      nonisolated(unsafe) var failure: (any Error)?
      Task.detached {
        do { try await context.saveAsynchronously() } catch { failure = error }
        done.signal()
      }
      // Before, during or after it: the same is seen.
      try compareLate(branch)
      done.wait()
      if let failure { throw failure }
    } else {
      try inside(branch) {
        if dice.chance(30) { try change(branch) }
        try context.save()
        branch.finished = branch.edited
      }
    }
    if let parent = branch.parent {
      let beneath = below(parent)
      for (name, record) in branch.finished {
        // What is new there and deleted again leaves nothing.
        if record == nil, beneath[name] == nil {
          parent.finished.removeValue(forKey: name)
        } else {
          parent.finished[name] = record
        }
      }
      parent.edited = parent.finished
    } else {
      saved = view(branch)
    }
    branch.finished = [:]
    branch.edited = [:]
  }

  private func giveUp(_ branch: Branch) throws {
    let context = branch.context
    // Children's changes above it would have no base.
    guard branches.allSatisfy({ !$0.isAbove(branch) || $0.edited.isEmpty }) else { return }
    log.append("\(branch.name) gives up")
    try inside(branch) {
      if dice.chance(50) { context.rollback() } else { context.reset() }
    }
    branch.finished = [:]
    branch.edited = [:]
  }

  // MARK: Looking

  /// A child made now, anywhere, sees what its parent has finished.
  private func compareLate(_ branch: Branch) throws {
    try dice.pick(LateChild.allCases).read(above: branch.context) { child in
      try compare(branch, child)
    }
  }

  private func compare(_ branch: Branch, _ context: ManagedObjectContext) throws {
    let expected = view(branch)
    let seen = try context.performAndWait {
      Dictionary(
        try context.entries().map { ($0.location ?? "", Record(rating: $0.rating, notes: $0.notes)) }
      ) { first, _ in first }
    }
    guard seen != expected else { return }
    throw Mismatch(text: "above \(branch.name): \(seen) instead of \(expected)")
  }
}
