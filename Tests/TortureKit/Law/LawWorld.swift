import Foundation
import Strata

/// Contexts with controllers, what happens to them at random, and the law: replaying what controllers report on the old list gives what
/// a fetch finds now (rule 265).
///
///     child (C)   editor (D)        C has controllers; D only edits
///          └───┬───┘
///           main (A)   writer (B)   A has controllers and an undo manager; B is a sibling
///              └────┬──────┘
///            one store or two
///
/// All four edit the same records without regard for each other; relationships only while no other context has unsaved changes, unless
/// `STRATA_RIVALS` is set; then the child is inspected while it has none of its own. Saves are synchronous or not, and A may be of the main queue, which merges in slices.
final class LawWorld {
  private let coordinator: PersistentStoreCoordinator
  private let main: ManagedObjectContext
  private let writer: ManagedObjectContext
  private let child: ManagedObjectContext
  private let editor: ManagedObjectContext
  private var random: SeededGenerator
  private var mainReplays: [LawReplay] = []
  private var childReplays: [LawReplay] = []
  /// The last things that were done.
  private(set) var story: [String] = []
  /// How many edits of single objects were made.
  private(set) var edits = 0
  private var number = 0
  /// Whether the child shows what the main context shows: it is notified when the main context saves.
  private var childIsCurrent = true
  /// Whether the main context has taken back what the child may have seen, or the child has looked at records again that were edited
  /// below it: it is not notified of that (rule 165), so it has to refresh.
  private var childHasMissed = false
  private let isOnMainQueue: Bool

  var reports: Int { (mainReplays + childReplays).reduce(0) { $0 + $1.reports } }
  var items: Int { (mainReplays + childReplays).reduce(0) { $0 + $1.items } }

  init(_ coordinator: PersistentStoreCoordinator, seed: UInt64, onMainQueue: Bool = false) throws {
    self.coordinator = coordinator
    isOnMainQueue = onMainQueue
    random = SeededGenerator(seed: seed &* 0x2545_F491_4F6C_DD1D)
    main = ManagedObjectContext(onMainQueue ? .mainQueue : .privateQueue, coordinator: coordinator)
    writer = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    child = ManagedObjectContext(.privateQueue, parent: main)
    editor = ManagedObjectContext(.privateQueue, parent: main)
    for context in [main, writer, child, editor] { context.mergePolicy = .mergeByPropertyObjectTrump }
    for context in [main, writer, child, editor] { context.automaticallyMergesChangesFromParent = true }
    main.undoManager = UndoManager()
    try writer.performAndWait {
      for _ in 0..<3 { _ = make("Area", writer) }
      for _ in 0..<6 { _ = make("Group", writer) }
      for _ in 0..<4 { _ = make("Tag", writer) }
      for _ in 0..<30 { _ = make(random.chance(20) ? "Special" : "Item", writer) }
      for _ in 0..<80 { edit(writer) }
      try writer.save()
    }
    settle()
    let queries = try LawModel.queries()
    let forms = LawReplay.Form.allCases
    for (place, query) in queries.enumerated() {
      let form = forms[(place + Int(seed % 3)) % 3]
      mainReplays.append(try main.performAndWait { try LawReplay(query, main, form) })
      let other = forms[(place + 1 + Int(seed % 3)) % 3]
      childReplays.append(try child.performAndWait { try LawReplay(query, child, other) })
    }
  }

  /// What waits on the queues has happened.
  private func settle() {
    // A slice of a merge sends the next one to the end of the queue.
    if isOnMainQueue { for _ in 0..<8 { DispatchQueue.main.sync {} } }
    for context in [writer, main, editor, child, main] {
      context.performAndWait { context.processPendingChanges() }
    }
  }

  // MARK: Steps

  /// Does something and looks; returns what is wrong.
  func step() throws -> [String] {
    edits = 0
    try act()
    settle()
    var failures: [String] = []
    try main.performAndWait { for replay in mainReplays { failures += try replay.check(main) } }
    // The child learns only at its save what rivals have done to records that it has edited.
    if childIsCurrent, !Self.allowsRivals || child.performAndWait({ !child.hasChanges }) {
      try child.performAndWait { for replay in childReplays { failures += try replay.check(child) } }
    }
    return failures
  }

  /// `STRATA_VERBOSE=n`: each edit is noted, and that much of the story printed.
  private static let verbosity = ProcessInfo.processInfo.environment["STRATA_VERBOSE"].flatMap { Int($0) }

  /// What has happened lately.
  var news: ArraySlice<String> { story.suffix(Self.verbosity ?? 5) }

  private func note(_ text: String) { story.append(text) }

  private func act() throws {
    switch random.below(100) {
    case 0..<40:
      note("main edits")
      main.performAndWait { for _ in 0...random.below(random.pick([1, 2, 6, 30])) { edit(main) } }
      childIsCurrent = false
    case 40..<50: try save(main, "main")
    case 50..<62:
      note("the writer edits")
      writer.performAndWait { for _ in 0...random.below(random.pick([1, 4, 30])) { edit(writer) } }
      try save(writer, "writer")
      try catchUpChild()
    case 62..<70:
      note("the editor edits")
      editor.performAndWait { for _ in 0...random.below(random.pick([1, 4, 20])) { edit(editor) } }
      try save(editor, "editor")
      try catchUpChild()
    case 70..<78:
      if !childIsCurrent, random.chance(50) { try save(main, "main") }
      if !childIsCurrent { childHasMissed = true }
      note("the child edits")
      child.performAndWait { for _ in 0...random.below(random.pick([1, 4, 20])) { edit(child) } }
    case 78..<82:
      if random.chance(60) {
        try save(child, "child")
        try save(main, "main")
      } else {
        note("the child rolls back")
        child.performAndWait { child.rollback() }
      }
    case 82..<84:
      note("main rolls back")
      main.performAndWait { main.rollback() }
      childHasMissed = true
      try catchUpChild()
    case 84..<88:
      note("undo")
      main.performAndWait { if main.undoManager?.canUndo == true { main.undo() } }
      childHasMissed = true
      try catchUpChild()
    case 88..<90:
      note("redo")
      main.performAndWait { if main.undoManager?.canRedo == true { main.redo() } }
      childHasMissed = true
      try catchUpChild()
    case 90..<92:
      note("main refreshes all")
      main.performAndWait { main.refreshAllObjects() }
      childHasMissed = true
      try catchUpChild()
    case 92..<94:
      let isMerging = random.chance(50)
      note("main refreshes one, \(isMerging ? "merging" : "dropping edits")")
      try main.performAndWait {
        if let object = try pick("Item", main) { main.refresh(object, mergeChanges: isMerging) }
      }
      childHasMissed = true
      try catchUpChild()
    case 94..<96: try batch(main, "main")
    case 96..<99: try batch(writer, "writer")
    default:
      note("main is reset")
      main.performAndWait { main.reset() }
      try main.performAndWait { for replay in mainReplays { try replay.restart() } }
      childHasMissed = true
      try catchUpChild()
    }
  }

  private func save(_ context: ManagedObjectContext, _ name: String) throws {
    let wasDirty = main.performAndWait { main.hasChanges }
    if random.chance(25) {
      note("\(name) saves asynchronously")
      try saveAsynchronously(context)
    } else {
      note("\(name) saves")
      try context.performAndWait { try context.save() }
    }
    settle()
    // The child is not notified of what others commit below its parent; of what the editor has saved it is notified when the main context saves, but
    // it may have looked through what that has edited.
    if context === writer || context !== main && wasDirty { childHasMissed = true }
    if context === main { try catchUpChild() }
  }

  /// Edits while the save is under way.
  private func saveAsynchronously(_ context: ManagedObjectContext) throws {
    let done = DispatchSemaphore(value: 0)
    let outcome = LawOutcome()
    Task(executorPreference: LawThread.shared) {
      do { try await context.saveAsynchronously() } catch { outcome.error = error }
      done.signal()
    }
    if context === main, random.chance(50) {
      childHasMissed = true
      main.performAndWait { for _ in 0...random.below(3) { edit(main) } }
    }
    done.wait()
    if let error = outcome.error { throw error }
  }

  /// The child reads what the main context has not saved, but is notified only when it is saved.
  private func catchUpChild() throws {
    settle()
    if main.performAndWait({ main.hasChanges }) {
      childIsCurrent = false
      return
    }
    // What was not reported to it, such as what was rolled back. Saves of the main context are reported.
    if childHasMissed { child.performAndWait { child.refreshAllObjects() } }
    childHasMissed = false
    childIsCurrent = true
  }

  // MARK: Edits

  private func make(_ entity: String, _ context: ManagedObjectContext) -> ManagedObject? {
    guard let description = coordinator.managedObjectModel.entitiesByName[entity] else { return nil }
    number += 1
    let object = ManagedObject(entity: description, insertInto: context)
    let stores = coordinator.persistentStores
    if stores.count > 1 {
      do { try context.assign(object, to: random.pick(stores)) } catch { story.append("\(error)") }
    }
    switch entity {
    case "Area": object.setValue("area\(number % 4)", forKey: "title")
    case "Group":
      object.setValue("group\(random.below(9))", forKey: "name")
      object.setValue(random.below(6), forKey: "rank")
    case "Tag": object.setValue(random.below(6), forKey: "weight")
    default:
      object.setValue("name\(random.below(40))", forKey: "name")
      object.setValue(random.below(10), forKey: "value")
      object.setValue(random.chance(15) ? nil : random.pick(["a", "b", "c", "d", "e"]), forKey: "kind")
      if random.chance(80) { object.setValue(try? pick("Group", context, object), forKey: "group") }
    }
    return object
  }

  /// Any object, or any of the store of another one.
  private func pick(_ entity: String, _ context: ManagedObjectContext, _ other: ManagedObject? = nil) throws
    -> ManagedObject?
  {
    var found = try context.fetch(
      FetchRequest<ManagedObjectID>(entityName: entity, sortDescriptors: []))
    if let other { found.removeAll { $0.storeIdentifier != other.objectID.storeIdentifier } }
    guard !found.isEmpty else { return nil }
    let object = context.object(with: random.pick(found.sorted { $0.description < $1.description }))
    return object.isDeleted ? nil : object
  }

  /// Whether relationships must not be edited now: two contexts that relate the same objects in different ways before either has saved are the
  /// merge policies' business, and what is left of them when both have saved does not always agree with what was reported.
  private func hasRivals(_ context: ManagedObjectContext) -> Bool {
    if Self.allowsRivals { return false }
    let contexts: [ManagedObjectContext] = [main, writer, child, editor]
    return contexts.contains { other in
      other !== context && !(context === main && other === editor)
        && other.performAndWait { other.hasChanges }
    }
  }

  private static let allowsRivals = ProcessInfo.processInfo.environment["STRATA_RIVALS"] != nil

  /// One random edit.
  private func edit(_ context: ManagedObjectContext) {
    edits += 1
    guard let item = try? pick("Item", context) else {
      _ = make("Item", context)
      return
    }
    var what = random.below(100)
    if (12..<20).contains(what) || (58..<82).contains(what) || what == 93 || what > 96, hasRivals(context) {
      what = 20 + what % 18
    }
    if Self.verbosity != nil {
      note("  edit \(what) of \(item.objectID.description.split(separator: "/").last ?? "")")
    }
    switch what {
    case 0..<12: _ = make(random.chance(20) ? "Special" : "Item", context)
    case 12..<20: context.delete(item)
    case 20..<38: item.setValue(random.below(10), forKey: "value")
    case 38..<46:
      item.setValue(random.chance(15) ? nil : random.pick(["a", "b", "c", "d", "e"]), forKey: "kind")
    case 46..<53: item.setValue("name\(random.below(40))", forKey: "name")
    case 53..<58:
      guard let other = try? pick("Item", context) else { return }
      let value = item.value(forKey: "value")
      item.setValue(other.value(forKey: "value"), forKey: "value")
      other.setValue(value, forKey: "value")
    case 58..<68: item.setValue(random.chance(15) ? nil : try? pick("Group", context, item), forKey: "group")
    case 68..<72: item.setValue(random.chance(25) ? nil : try? pick("Group", context, item), forKey: "spare")
    case 72..<82:
      guard let tag = try? pick("Tag", context, item) else { return }
      var tags = item.value(forKey: "tags") as? Set<ManagedObject> ?? []
      if tags.contains(tag) { tags.remove(tag) } else { tags.insert(tag) }
      item.setValue(tags, forKey: "tags")
    case 82..<86: (try? pick("Tag", context))?.setValue(random.below(6), forKey: "weight")
    case 86..<90: (try? pick("Group", context))?.setValue("group\(random.below(9))", forKey: "name")
    case 90..<93: (try? pick("Group", context))?.setValue(random.below(6), forKey: "rank")
    case 93..<94:
      (try? pick("Group", context)).map { $0.setValue(try? pick("Area", context, $0), forKey: "area") }
    case 94..<95: (try? pick("Area", context))?.setValue("area\(random.below(5))", forKey: "title")
    case 95..<96: _ = make("Group", context)
    case 96..<97: _ = make("Tag", context)
    case 97..<98: (try? pick("Group", context)).map { context.delete($0) }
    case 98..<99: (try? pick("Tag", context)).map { context.delete($0) }
    default:
      context.delete(item)
      context.processPendingChanges()
      _ = make("Item", context)
    }
  }

  private func batch(_ context: ManagedObjectContext, _ name: String) throws {
    // A batch and unsaved changes of the same records would be a conflict at the next save.
    try save(context, name)
    try context.performAndWait {
      switch random.below(4) {
      case 0:
        note("\(name): batch insert")
        _ = try context.execute(
          BatchInsertRequest(
            entityName: random.chance(20) ? "Special" : "Item",
            objects: (0..<random.below(8)).map { _ in
              [
                "name": "name\(random.below(40))", "value": random.below(10),
                "kind": random.pick(["a", "b", "f"]),
              ]
            }))
      case 1:
        note("\(name): batch update of values")
        _ = try context.execute(
          BatchUpdateRequest(
            entityName: "Item", predicate: try FetchPredicate(format: "value < \(random.below(6))"),
            propertiesToUpdate: ["value": random.below(10)]))
      case 2:
        note("\(name): batch update of groups")
        _ = try context.execute(
          BatchUpdateRequest(
            entityName: "Group", predicate: try FetchPredicate(format: "rank == \(random.below(6))"),
            propertiesToUpdate: ["name": "group\(random.below(9))", "rank": random.below(6)]))
      default:
        if hasRivals(context) { return }
        note("\(name): batch delete")
        var request = FetchRequest<ManagedObject>(
          entityName: random.chance(85) ? "Item" : random.pick(["Group", "Tag"]), sortDescriptors: [])
        request.predicate =
          request.entityName == "Item"
          ? try FetchPredicate(format: "value == \(random.below(10))")
          : request.entityName == "Group"
            ? try FetchPredicate(format: "rank == \(random.below(6))")
            : try FetchPredicate(format: "weight == \(random.below(6))")
        _ = try context.execute(BatchDeleteRequest(fetchRequest: request))
      }
    }
    if context === writer || main.performAndWait({ main.hasChanges }) { childHasMissed = true }
    try catchUpChild()
  }
}

/// What has come of a save that another thread awaits. (A `Mutex` of the standard library, when it is contended, is taken in code that the
/// thread sanitizer does not see, and what it guards looks like a race.)
private final class LawOutcome: @unchecked Sendable {
  // Safe: touched under the lock only.
  private let lock = NSLock()
  private var stored: (any Error)?

  var error: (any Error)? {
    get { lock.withLock { stored } }
    set { lock.withLock { stored = newValue } }
  }
}
