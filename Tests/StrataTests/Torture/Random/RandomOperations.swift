import Foundation
import Strata
import Synchronization
import TortureKit

/// Random operations on contexts over one store, each done twice: to the real thing and to the reference.
///
/// Three contexts: two that merge on demand, one that merges automatically. Everything happens on one thread, so that
/// the reference can say beforehand what comes out. A difference is thrown as a `Mismatch`.
final class RandomOperations {
  /// A difference between what happened and what had to.
  struct Mismatch: Error, CustomStringConvertible {
    let description: String
  }

  /// A context, what must be in it, and how it learns of the others' saves.
  final class Tested {
    enum Merging: CaseIterable { case never, atOnce, later, automatic }

    let name: String
    let context: ManagedObjectContext
    let reference: ReferenceContext
    let merging: Merging
    /// Saves of others, to be merged later.
    var waiting: [(Notification, ReferenceNotice)] = []

    init(_ name: String, _ context: ManagedObjectContext, _ reference: ReferenceContext, _ merging: Merging) {
      self.name = name
      self.context = context
      self.reference = reference
      self.merging = merging
    }
  }

  let seed: UInt64
  let url: URL
  var random: SeededGenerator
  let store = ReferenceStore()
  private(set) var container: PersistentContainer
  private(set) var tested: [Tested] = []
  private var observers: [any NSObjectProtocol] = []
  private var log: [String] = []
  private var step = 0
  /// What the run did, for the curious.
  private(set) var counts: [String: Int] = [:]

  init(seed: UInt64, url: URL) throws {
    self.seed = seed
    self.url = url
    random = SeededGenerator(seed: seed)
    container = PersistentContainer(name: "Torture", model: TortureModel.make())
    try openStore()
  }

  /// Takes `steps` steps, then closes and opens the store once more.
  func run(steps: Int) throws {
    for number in 1...steps {
      step = number
      do {
        try takeStep()
        if number % 25 == 0 { try checkEverything() }
      } catch {
        throw Mismatch(description: "seed \(seed), step \(number): \(error)\n\(story(of: "\(error)"))")
      }
    }
    step = steps + 1
    try reopen()
    try close()
  }

  // MARK: Opening and closing

  private func openStore() throws {
    container = PersistentContainer(name: "Torture", model: TortureModel.make())
    var description = PersistentStoreDescription(url: url)
    description.durability = [.full, .relaxed, .none][Int(seed % 3)]
    description.verifiesChecksums = seed % 2 == 0
    try container.persistentStoreCoordinator.addPersistentStore(description)
    let mergings: [Tested.Merging] = [.never, random.pick([.atOnce, .later]), .automatic]
    tested = mergings.enumerated().map { place, merging in
      let context = container.newBackgroundContext()
      context.name = "\(place) \(merging)"
      context.automaticallyMergesChangesFromParent = merging == .automatic
      return Tested("\(place) \(merging)", context, ReferenceContext(store), merging)
    }
    for source in tested { observe(source) }
  }

  func close() throws {
    for observer in observers { NotificationCenter.default.removeObserver(observer) }
    observers = []
    for tested in tested {
      tested.reference.objects = [:]
      tested.waiting = []
    }
    tested = []
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  /// Unsaved changes are lost, everything saved is there.
  func reopen() throws {
    note("reopen")
    try checkStore()
    try close()
    try openStore()
    try checkStore()
    try checkContent()
    for (key, id) in ids {
      let found = container.persistentStoreCoordinator.managedObjectID(
        forURIRepresentation: id.uriRepresentation())
      try expect(found == id, "the URI of \(key) now leads to \(found.map { "\($0)" } ?? "nothing")")
    }
  }

  /// All IDs there ever were.
  var ids: [RecordKey: ManagedObjectID] = [:]

  // MARK: Merging

  /// Nothing here leaves the test's thread: observers are called by the save that runs on it.
  private struct OnThisThread<Value>: @unchecked Sendable { let value: Value }

  private func observe(_ source: Tested) {
    let others = OnThisThread(value: tested.filter { $0 !== source && $0.merging == .atOnce })
    observers.append(
      NotificationCenter.default.addObserver(
        forName: ManagedObjectContext.didSaveObjectsNotification, object: source.context, queue: nil
      ) { notification in
        for other in others.value {
          other.context.performAndWait { other.context.mergeChanges(fromContextDidSave: notification) }
        }
      })
    let later = OnThisThread(value: self)
    observers.append(
      NotificationCenter.default.addObserver(
        forName: ManagedObjectContext.didSaveObjectIDsNotification, object: source.context, queue: nil
      ) { notification in
        later.value.lastNotification = notification
      })
  }

  /// The ID notification of the last save.
  var lastNotification: Notification?

  /// Notifies the references of the other contexts of what was saved.
  func spread(_ notice: ReferenceNotice, from source: Tested) {
    for other in tested where other !== source {
      switch other.merging {
      case .never: break
      case .atOnce: other.reference.merge(notice)
      case .later: if let lastNotification { other.waiting.append((lastNotification, notice)) }
      case .automatic:
        // The merge was enqueued before the save returned: it is done when this has had its turn.
        other.context.performAndWait {}
        other.reference.merge(notice)
      }
    }
    lastNotification = nil
  }

  // MARK: Saying what happens

  func note(_ text: String) {
    log.append("\(step) \(text)")
    if log.count > 4_000 { log.removeFirst(2_000) }
    counts[String(text.split(separator: ": ").last?.prefix { $0 != " " } ?? ""), default: 0] += 1
  }

  /// The last steps, and all those that named a record the complaint is about.
  private func story(of complaint: String) -> String {
    func records(_ text: String) -> Set<Substring> {
      Set(text.split { " ,:.[]\"+=-".contains($0) }.filter { $0.contains("/p") })
    }
    let wanted = records(complaint)
    let about = wanted.count > 3 ? [] : log.filter { !records($0).isDisjoint(with: wanted) }
    return (["Steps with them:"] + about.suffix(60) + ["Steps before:"] + log.suffix(15)).joined(
      separator: "\n  ")
  }

  func expect(_ condition: Bool, _ complaint: @autoclosure () -> String) throws {
    if !condition { throw Mismatch(description: complaint()) }
  }
}
