import Foundation
import Strata
import TortureKit

/// Random operations on a tree of contexts over one store, each done twice: to the real thing and to the reference.
///
///     store ── root ─┬─ child ── grandchild …      up to eight contexts, new ones are made and old ones released
///                    └─ child …
///
/// Everything happens on one thread, so that the reference can say beforehand what comes out: contexts with queues are
/// entered by `performAndWait`, and each step ends with `processPendingChanges()`. A difference is thrown as a `Mismatch`.
final class TreeOperations {
  /// A difference between what happened and what had to.
  struct Mismatch: Error, CustomStringConvertible {
    let description: String
  }

  /// A context and what must be in it.
  final class Node {
    enum Merging: CaseIterable { case never, atOnce, automatic }

    let name: String
    let context: ManagedObjectContext
    let reference: ReferenceNode
    let parent: Node?
    let merging: Merging
    var children = 0

    init(
      _ name: String, _ context: ManagedObjectContext, _ reference: ReferenceNode, _ parent: Node?,
      _ merging: Merging
    ) {
      self.name = name
      self.context = context
      self.reference = reference
      self.parent = parent
      self.merging = merging
    }
  }

  static let mostNodes = 8

  let seed: UInt64
  let kinds: [ConcurrencyType]
  var random: SeededGenerator
  let store = ReferenceTreeStore()
  let container: PersistentContainer
  var nodes: [Node] = []
  /// All IDs there ever were, and what they were the IDs of.
  var ids: [Int: ManagedObjectID] = [:]
  var numbers: [ManagedObjectID: Int] = [:]
  private var made = 0
  private var log: [String] = []
  private var step = 0
  /// What the run did, for the curious.
  private(set) var counts: [String: Int] = [:]

  /// Whether contexts have undo managers, and steps, sometimes saved, are undone and done again: which changes nothing.
  let undoes: Bool

  /// - Parameter kinds: the kinds of contexts that grow, all usable on the calling thread.
  init(seed: UInt64, url: URL, kinds: [ConcurrencyType], undoes: Bool = false) throws {
    self.seed = seed
    self.kinds = kinds
    self.undoes = undoes
    random = SeededGenerator(seed: seed)
    container = PersistentContainer(name: "Tree", model: TreeModel.make())
    try container.persistentStoreCoordinator.addPersistentStore(PersistentStoreDescription(url: url))
    grow(on: nil)
  }

  /// Takes `steps` steps, then saves everything to the store and looks at that.
  func run(steps: Int) throws {
    for number in 1...steps {
      step = number
      do {
        try takeStep()
        if number % 20 == 0 { for node in nodes { try checkEverything(node) } }
      } catch {
        throw Mismatch(description: "seed \(seed), step \(number): \(error)\n\(story(of: "\(error)"))")
      }
    }
    do {
      while let last = nodes.last {
        try inside(last) { try save(last) }
        try checkEverything(last)
        try letGo(last)
      }
      try checkStore()
    } catch {
      throw Mismatch(description: "seed \(seed), at the end: \(error)\n\(story(of: "\(error)"))")
    }
  }

  func close() throws {
    for node in nodes { node.reference.reset() }
    nodes = []
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  // MARK: The tree

  /// One more context, on `parent` or on the coordinator.
  func grow(on parent: Node?) {
    made += 1
    let kind = random.pick(kinds)
    let context: ManagedObjectContext
    if let parent {
      // With a manager it would make objects of all that its children save; the reference knows them as rows.
      parent.context.performAndWait { parent.context.undoManager = nil }
      // On the parent's queue, or elsewhere: then the parent publishes when its queue gets to it.
      if random.chance(50) {
        context = parent.context.performAndWait { ManagedObjectContext(kind, parent: parent.context) }
      } else {
        context = ManagedObjectContext(kind, parent: parent.context)
        drain()
      }
      parent.children += 1
    } else {
      context = ManagedObjectContext(kind, coordinator: container.persistentStoreCoordinator)
    }
    var merging = random.pick(Node.Merging.allCases)
    // A notice reaches only contexts that have a queue, and the main queue only when this thread rests.
    if merging == .automatic, kind != .privateQueue { merging = .atOnce }
    context.automaticallyMergesChangesFromParent = merging == .automatic
    let kindName = kind == .privateQueue ? "private" : kind == .mainQueue ? "main" : "confined"
    let name = "\(made) (\(kindName), \(merging), on \(parent?.name.prefix { $0 != " " } ?? "the store"))"
    context.name = name
    if undoes, random.chance(70) { context.performAndWait { context.undoManager = UndoManager() } }
    nodes.append(
      Node(name, context, ReferenceNode(store, parent: parent?.reference), parent, merging))
    note("\(name): grown")
  }

  /// Lets a context go that has no children. Nothing of it remains.
  func letGo(_ node: Node) throws {
    note("\(node.name): let go")
    drain()
    weak let remains = node.context
    weak let object = node.reference.leaves.values.compactMap(\.object).first
    nodes.removeAll { $0 === node }
    node.parent?.children -= 1
    node.reference.reset()
    _ = (remains, object)
  }

  /// Runs `body` on the context's queue, as one event.
  func inside(_ node: Node, _ body: () throws -> Void) throws {
    try node.context.performAndWait {
      try body()
      node.context.processPendingChanges()
    }
    drain()
  }

  /// What was enqueued on private queues has had its turn.
  func drain() {
    for node in nodes where node.context.concurrencyType == .privateQueue { node.context.performAndWait {} }
  }

  /// Undoes what the node's last steps have done, all or some of it, and does it again.
  func undoAndRedo(_ node: Node) throws {
    guard undoes, random.chance(60), let manager = node.context.undoManager else { return }
    if random.chance(25) { try save(node) }
    let count = random.below(manager.undoCount + 1)
    for _ in 0..<count { node.context.undo() }
    for _ in 0..<count { node.context.redo() }
    note("\(node.name): undo \(count)")
    try checkChanges(node)
    // A context holds what was changed and is not any more until it saves; the reference does not know what that is.
    if count > 0 { try save(node) }
  }

  /// The reference forgets what is held nowhere, and so do the managers.
  func forgetUndo() {
    for node in nodes where undoes {
      node.context.performAndWait {
        node.context.processPendingChanges()
        node.context.undoManager?.removeAllActions()
      }
    }
  }

  // MARK: Saying what happens

  func note(_ text: String) {
    log.append("\(step) \(text)")
    if log.count > 6_000 { log.removeFirst(3_000) }
    counts[String(text.split(separator: ": ").last?.prefix { $0 != " " } ?? ""), default: 0] += 1
  }

  /// The last steps, and all those that named a leaf the complaint is about.
  private func story(of complaint: String) -> String {
    func leaves(_ text: String) -> Set<Substring> {
      Set(text.split { " ,:.[]\"+=-".contains($0) }.filter { $0.hasPrefix("#") })
    }
    let wanted = leaves(complaint)
    let isAbout = { (line: String) in
      !leaves(line).isDisjoint(with: wanted) || Self.widelyFelt.contains { line.contains($0) }
    }
    let about = wanted.isEmpty || wanted.count > 3 ? [] : log.filter(isAbout)
    return (["Steps with them:"] + about.suffix(70) + ["Steps before:"] + log.suffix(15)).joined(
      separator: "\n  ")
  }

  /// Steps that may concern any leaf.
  private static let widelyFelt = [": save", ": rollback", ": reset", ": grown", ": merge", ": refresh all"]

  func expect(_ condition: Bool, _ complaint: @autoclosure () -> String) throws {
    if !condition { throw Mismatch(description: complaint()) }
  }
}
