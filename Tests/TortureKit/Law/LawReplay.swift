import Foundation
import Strata

/// Copies of one controller's list that are kept up to date only by what the controller reports, in each of its forms.
final class LawReplay {
  let query: LawModel.Query
  let controller: FetchedResultsController<ManagedObject>
  /// By the classic calls.
  private(set) var sections: [(name: String, ids: [ManagedObjectID])] = []
  /// By snapshots.
  fileprivate(set) var snapshot: FetchedResultsSnapshot?
  /// By differences.
  fileprivate(set) var flat: [ManagedObjectID] = []
  private let delegate: any FetchedResultsControllerDelegate<ManagedObject>
  private let stream: LawStream
  /// What has been reported since the last look.
  var failures: [String] = []
  fileprivate var told = 0
  /// How often the list was fetched: each time the sequence begins again.
  private var begins = 1
  private(set) var reports = 0
  private(set) var items = 0

  enum Form: CaseIterable { case classic, difference, snapshot }
  let form: Form

  private let place: String

  init(_ query: LawModel.Query, _ context: ManagedObjectContext, _ form: Form) throws {
    self.query = query
    place = context.parent == nil ? "main" : "child"
    // Differences are reported for lists without sections (rule 257).
    let form = form == .difference && query.section != nil ? Form.classic : form
    self.form = form
    controller = FetchedResultsController(
      fetchRequest: query.request, managedObjectContext: context, sectionNameKeyPath: query.section)
    switch form {
    case .classic: delegate = ClassicRecorder()
    case .difference: delegate = DifferenceRecorder()
    case .snapshot: delegate = SnapshotRecorder()
    }
    try controller.performFetch()
    controller.delegate = delegate
    stream = LawStream(controller.changes)
    begin()
    (delegate as? any LawRecorder)?.replay = self
  }

  private func begin() {
    guard let start = controller.snapshot else { return }
    snapshot = start
    flat = Array(start.itemIdentifiers)
    sections = (0..<start.numberOfSections).map {
      (start.sectionName($0), Array(start.itemIdentifiers(inSection: $0)))
    }
  }

  /// Fetches again: what has been reset has no list.
  func restart() throws {
    try controller.performFetch()
    begins += 1
    begin()
  }

  func fail(_ text: String) { failures.append("\(place) [\(query.name)] \(form): \(text)") }

  // MARK: Looking

  /// Compares all copies with what the context fetches now. Call it on the context's queue.
  func check(_ context: ManagedObjectContext) throws -> [String] {
    defer { failures = [] }
    var ids = FetchRequest<ManagedObjectID>(
      entityName: query.request.entityName, predicate: query.request.predicate,
      sortDescriptors: query.request.sortDescriptors)
    ids.includesSubentities = query.request.includesSubentities
    let expected: [ManagedObjectID]
    if query.request.sortDescriptors.isEmpty {
      // A fetch has no order then, a page has that of the store.
      let end = query.request.fetchLimit == 0 ? 0 : query.request.fetchOffset + query.request.fetchLimit
      let page = try context.fetchPage(ids, size: end == 0 ? 1_000_000 : end).results
      expected = Array(page.dropFirst(query.request.fetchOffset))
    } else {
      ids.fetchLimit = query.request.fetchLimit
      ids.fetchOffset = query.request.fetchOffset
      expected = try context.fetch(ids)
    }
    func compare(_ found: [ManagedObjectID], _ what: String) {
      if found != expected {
        fail("\(what) is \(words(found)), a fetch finds \(words(expected))")
      }
    }
    if controller.fetchedObjects == nil {
      fail("has no list")
      return failures
    }
    compare(Array(controller.fetchedObjects?.objectIDs.map { $0 } ?? []), "the list")
    switch form {
    case .classic:
      compare(sections.flatMap(\.ids), "the replay of calls")
      try checkSections(sections, expected, context)
    case .difference where query.section == nil: compare(flat, "the replay of differences")
    case .difference: break
    case .snapshot: compare(snapshot.map { Array($0.itemIdentifiers) } ?? [], "the snapshot")
    }
    let streamed = stream.take(told: told, begins: begins)
    if let problem = streamed.problem { fail(problem) }
    compare(streamed.flat, "the replay of the sequence's differences")
    compare(streamed.sections.flatMap(\.ids), "the replay of the sequence's items")
    compare(Array(streamed.snapshot?.itemIdentifiers.map { $0 } ?? []), "the sequence's snapshot")
    try checkSections(streamed.sections, expected, context)
    for position in Set([0, expected.count / 2, expected.count - 1])
    where expected.indices.contains(position) {
      guard let path = controller.indexPath(forID: expected[position]) else {
        fail("no index path for position \(position)")
        continue
      }
      if controller.object(at: path).objectID != expected[position] { fail("\(path) is another object") }
    }
    reports += streamed.changes
    items += streamed.items
    return failures
  }

  private func checkSections(
    _ found: [(name: String, ids: [ManagedObjectID])], _ expected: [ManagedObjectID],
    _ context: ManagedObjectContext
  ) throws {
    guard let key = query.section else {
      if found.count != 1 { fail("\(found.count) sections without a section key path") }
      return
    }
    var wanted: [(name: String, ids: [ManagedObjectID])] = []
    for id in expected {
      // What is deleted has no say in an order, though its values can be read.
      var value: Any? = context.object(with: id)
      for part in key.split(separator: ".") {
        let object = value as? ManagedObject
        value = object?.isDeleted == true ? nil : object?.value(forKey: String(part))
      }
      let name =
        switch value {
        case let text as String: text
        case let number as Int64: "\(number)"
        case let number as Int: "\(number)"
        default: ""
        }
      if wanted.last?.name == name {
        wanted[wanted.count - 1].ids.append(id)
      } else {
        wanted.append((name, [id]))
      }
    }
    if wanted.map(\.name) != found.map(\.name) {
      fail("the sections are \(found.map(\.name)), should be \(wanted.map(\.name))")
    }
    if wanted.map(\.ids) != found.map(\.ids) { fail("the sections hold other objects") }
  }

  private func words(_ ids: [ManagedObjectID]) -> String {
    "(\(ids.count)) "
      + ids.map { $0.description.split(separator: "/").last.map(String.init) ?? "" }.joined(
        separator: " ")
  }

  // MARK: The classic calls

  private var isChanging = false
  private var hasItems = false
  private var before: [(name: String, ids: [ManagedObjectID])] = []
  private var deleted: [Int] = []
  private var inserted: [(index: Int, name: String)] = []
  private var taken: [(path: IndexPath, id: ManagedObjectID)] = []
  private var put: [(path: IndexPath, id: ManagedObjectID)] = []
  private var updated: [(old: IndexPath, new: IndexPath, id: ManagedObjectID)] = []

  fileprivate func willChange() {
    if isChanging { fail("willChange twice") }
    isChanging = true
    hasItems = false
    (deleted, inserted, taken, put, updated) = ([], [], [], [], [])
    // The controller still shows what was before.
    let shown = controller.fetchedObjects?.objectIDs.map { $0 } ?? []
    if shown != sections.flatMap(\.ids) { fail("willChange comes too late") }
  }

  fileprivate func change(
    section: FetchedResultsSection<ManagedObject>, _ index: Int, _ type: FetchedResultsChangeType
  ) {
    if hasItems { fail("a section after objects") }
    switch type {
    case .delete:
      if section.numberOfObjects != 0 { fail("a deleted section with objects") }
      deleted.append(index)
    case .insert:
      if section.numberOfObjects == 0 { fail("an inserted section without objects") }
      inserted.append((index, section.name))
    default: fail("a section with \(type)")
    }
  }

  fileprivate func change(
    _ id: ManagedObjectID, _ old: IndexPath?, _ type: FetchedResultsChangeType, _ new: IndexPath?
  ) {
    hasItems = true
    switch (type, old, new) {
    case (.insert, nil, let new?): put.append((new, id))
    case (.delete, let old?, nil): taken.append((old, id))
    case (.move, let old?, let new?):
      taken.append((old, id))
      put.append((new, id))
    case (.update, let old?, let new?): updated.append((old, new, id))
    default: fail("\(type) with \(String(describing: old)) and \(String(describing: new))")
    }
  }

  fileprivate func didChange() {
    if !isChanging { fail("didChange without willChange") }
    isChanging = false
    let report = LawReport(
      deleted: deleted, inserted: inserted, taken: taken, put: put, updated: updated)
    if report.isEmpty { fail("a report of nothing") }
    if let problem = report.apply(to: &sections) { fail(problem) }
    told += 1
  }
}

/// One report in plain form, and how it is replayed.
struct LawReport {
  var deleted: [Int]
  var inserted: [(index: Int, name: String)]
  var taken: [(path: IndexPath, id: ManagedObjectID)]
  var put: [(path: IndexPath, id: ManagedObjectID)]
  var updated: [(old: IndexPath, new: IndexPath, id: ManagedObjectID)]

  var isEmpty: Bool { deleted.isEmpty && inserted.isEmpty && taken.isEmpty && put.isEmpty && updated.isEmpty }

  /// Old index paths are those before all changes, new ones those after all of them.
  func apply(to sections: inout [(name: String, ids: [ManagedObjectID])]) -> String? {
    var found: String?
    func fail(_ text: String) { found = found ?? text }
    for (old, _, id) in updated where !Self.has(sections, old, id) { fail("an update's old path is wrong") }
    for (path, id) in taken.sorted(by: { $0.path > $1.path }) {
      guard Self.has(sections, path, id) else {
        fail("the old path \(path) is that of another object")
        continue
      }
      sections[path[0]].ids.remove(at: path[1])
    }
    for index in deleted.sorted(by: >) {
      guard sections.indices.contains(index) else {
        fail("no section \(index) to delete")
        continue
      }
      if !sections[index].ids.isEmpty { fail("the deleted section \(index) has objects left") }
      sections.remove(at: index)
    }
    for (index, name) in inserted.sorted(by: { $0.index < $1.index }) {
      if index > sections.count {
        fail("section \(index) cannot be inserted")
      } else {
        sections.insert((name, []), at: index)
      }
    }
    for (path, id) in put.sorted(by: { $0.path < $1.path }) {
      guard sections.indices.contains(path[0]), path[1] <= sections[path[0]].ids.count else {
        fail("nothing can be inserted at \(path)")
        continue
      }
      sections[path[0]].ids.insert(id, at: path[1])
    }
    for (_, new, id) in updated where !Self.has(sections, new, id) { fail("an update's new path is wrong") }
    return found
  }

  private static func has(
    _ sections: [(name: String, ids: [ManagedObjectID])], _ path: IndexPath, _ id: ManagedObjectID
  ) -> Bool {
    path.count == 2 && sections.indices.contains(path[0]) && sections[path[0]].ids.indices.contains(path[1])
      && sections[path[0]].ids[path[1]] == id
  }
}

private protocol LawRecorder: AnyObject {
  var replay: LawReplay? { get set }
}

private final class ClassicRecorder: LawRecorder, FetchedResultsChangeDelegate {
  typealias Result = ManagedObject
  weak var replay: LawReplay?

  func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    replay?.willChange()
  }
  func controller(
    _ controller: FetchedResultsController<ManagedObject>,
    didChange sectionInfo: FetchedResultsSection<ManagedObject>, atSectionIndex index: Int,
    for type: FetchedResultsChangeType
  ) { replay?.change(section: sectionInfo, index, type) }
  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject,
    at indexPath: IndexPath?, for type: FetchedResultsChangeType, newIndexPath: IndexPath?
  ) { replay?.change(object.objectID, indexPath, type, newIndexPath) }
  func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    replay?.didChange()
  }
  func controller(_ controller: FetchedResultsController<ManagedObject>, didFailWith error: any Error) {
    replay?.fail("\(error)")
  }
}

private final class DifferenceRecorder: LawRecorder, FetchedResultsDifferenceDelegate {
  typealias Result = ManagedObject
  weak var replay: LawReplay?

  func controller(
    _ controller: FetchedResultsController<ManagedObject>,
    didChangeContentWith difference: CollectionDifference<ManagedObjectID>
  ) {
    guard let replay else { return }
    replay.told += 1
    guard let flat = replay.flat.applying(difference) else {
      return replay.fail("the difference does not apply")
    }
    replay.flat = flat
  }
  func controller(_ controller: FetchedResultsController<ManagedObject>, didFailWith error: any Error) {
    replay?.fail("\(error)")
  }
}

private final class SnapshotRecorder: LawRecorder, FetchedResultsSnapshotDelegate {
  typealias Result = ManagedObject
  weak var replay: LawReplay?

  func controller(
    _ controller: FetchedResultsController<ManagedObject>,
    didChangeContentWith snapshot: FetchedResultsSnapshot
  ) {
    replay?.told += 1
    replay?.snapshot = snapshot
  }
  func controller(_ controller: FetchedResultsController<ManagedObject>, didFailWith error: any Error) {
    replay?.fail("\(error)")
  }
}

/// Iterates over a controller's sequence and replays what it gets.
final class LawStream: @unchecked Sendable {
  // Unchecked: `state` is touched under the lock only.
  struct State {
    var flat: [ManagedObjectID] = []
    var sections: [(name: String, ids: [ManagedObjectID])] = []
    var snapshot: FetchedResultsSnapshot?
    var problem: String?
    var begins = 0
    var changes = 0
    var items = 0
  }

  private let lock = NSCondition()
  private var state = State()
  private var task: Task<Void, Never>?

  init(_ changes: AsyncStream<FetchedResultsChange>) {
    // The threads that tasks share are all taken by the tests that run at the same time.
    task = Task(executorPreference: LawThread.shared) { [weak self] in
      for await change in changes { self?.hear(change) }
    }
  }

  deinit { task?.cancel() }

  private func hear(_ change: FetchedResultsChange) {
    lock.withLock {
      state.snapshot = change.snapshot
      if change.isInitial {
        state.begins += 1
        state.flat = Array(change.snapshot.itemIdentifiers)
        state.sections = (0..<change.snapshot.numberOfSections).map {
          (change.snapshot.sectionName($0), Array(change.snapshot.itemIdentifiers(inSection: $0)))
        }
      } else {
        if let flat = state.flat.applying(change.difference) {
          state.flat = flat
        } else {
          state.problem = "the sequence's difference does not apply"
        }
        var report = LawReport(
          deleted: change.deletedSections.map(\.index),
          inserted: change.insertedSections.map { ($0.index, $0.name) }, taken: [], put: [], updated: [])
        for item in change.items {
          if let old = item.indexPath, item.type == .delete || item.type == .move {
            report.taken.append((old, item.objectID))
          }
          if let new = item.newIndexPath, item.type == .insert || item.type == .move {
            report.put.append((new, item.objectID))
          }
          if let old = item.indexPath, let new = item.newIndexPath, item.type == .update {
            report.updated.append((old, new, item.objectID))
          }
        }
        if let problem = report.apply(to: &state.sections) { state.problem = "sequence: \(problem)" }
        state.changes += 1
        state.items += change.items.count
      }
      lock.broadcast()
    }
  }

  /// What has arrived when nothing more is expected, with the counts since the last call.
  func take(told: Int, begins: Int) -> State {
    lock.lock()
    defer { lock.unlock() }
    let deadline = Date(timeIntervalSinceNow: 20)
    while total + state.changes < told || state.begins < begins {
      if !lock.wait(until: deadline) {
        state.problem = "the sequence has not told of everything: \(total + state.changes) of \(told)"
        break
      }
    }
    let result = state
    total += state.changes
    state.changes = 0
    state.items = 0
    state.problem = nil
    return result
  }

  private var total = 0
}

/// Where the tasks of the law run.
enum LawThread {
  static let shared = QueueExecutor("fetched results law")
}
