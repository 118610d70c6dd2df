import Foundation
import Strata

/// Which record: the root of its hierarchy and the primary key, as the ID's URI says.
struct RecordKey: Hashable, Comparable, CustomStringConvertible {
  let root: String
  let number: UInt64

  init(_ id: ManagedObjectID) {
    root = TortureModel.roots[id.entityName] ?? id.entityName
    // The last part of a URI is `p` and the key (rule 32).
    number = UInt64(id.description.split(separator: "/").last?.dropFirst() ?? "") ?? 0
  }

  static func < (a: RecordKey, b: RecordKey) -> Bool { (a.root, a.number) < (b.root, b.number) }
  var description: String { "\(root)/p\(number)" }
}

/// A stored row as the reference knows it.
struct ReferenceRow {
  let entity: String
  var values: [AttributeValue]
  /// No two writings of a row have the same: what a row's version has to distinguish.
  var stamp: Int
  /// By slot, which writing of a large value the row refers to.
  var large: [Int: Int] = [:]

  /// Whether the value lies outside its row.
  static func isLarge(_ value: AttributeValue) -> Bool {
    switch value {
    case .string(let text): text.utf8.count > 1_024
    case .data(let data): data.count > 1_024
    case .url(let url): url.absoluteString.utf8.count > 1_024
    default: false
    }
  }
}

/// What the store must hold.
final class ReferenceStore {
  var rows: [RecordKey: ReferenceRow] = [:]
  /// Every key that was ever given to an object: none may come again.
  var usedKeys: Set<RecordKey> = []
  /// All that was ever written, oldest first.
  private var history: [RecordKey: [ReferenceRow]] = [:]
  private var lastStamp = 0
  /// How often the rarer things happened: a run that meets none of them proves little.
  private(set) var events: [String: Int] = [:]

  func count(_ event: String) { events[event, default: 0] += 1 }

  func nextStamp() -> Int {
    lastStamp += 1
    return lastStamp
  }

  func remember(_ row: ReferenceRow, _ key: RecordKey) { history[key, default: []].append(row) }

  /// The values an attribute had from the writing `stamp` on; nil among them when the row is gone.
  func values(_ key: RecordKey, _ slot: Int, since stamp: Int) -> [AttributeValue] {
    let values = (history[key] ?? []).filter { $0.stamp >= stamp }.map { $0.values[slot] }
    return rows[key] == nil ? values + [.null] : values
  }

  /// Whether two of the rows share the values of a uniqueness constraint.
  static func hasTwins(_ rows: [RecordKey: ReferenceRow]) -> Bool {
    for (root, constraints) in TortureModel.constraints {
      for slots in constraints {
        var seen: Set<[AttributeValue]> = []
        for (key, row) in rows where key.root == root {
          let values = slots.map { row.values[$0] }
          if !values.contains(where: \.isNull), !seen.insert(values).inserted { return true }
        }
      }
    }
    return false
  }
}

/// What one save changed, for contexts that merge it.
struct ReferenceNotice: CustomStringConvertible {
  var inserted: [(RecordKey, ReferenceRow)] = []
  var updated: [(RecordKey, ReferenceRow)] = []
  /// With the writing that was deleted.
  var deleted: [(RecordKey, stamp: Int)] = []

  var description: String {
    let words = inserted.map { "+\($0.0)" } + updated.map { "=\($0.0)" } + deleted.map { "-\($0.0)" }
    return words.joined(separator: " ")
  }
}

/// What a context must think of one object.
final class ReferenceObject {
  let id: ManagedObjectID
  let key: RecordKey
  let entity: String
  /// The object itself while the test holds it; nil when only the context does.
  var object: ManagedObject?
  var isInserted = false { didSet { wasChanged = wasChanged || isInserted } }
  var isUpdated = false { didSet { wasChanged = wasChanged || isUpdated } }
  var isDeleted = false { didSet { wasChanged = wasChanged || isDeleted } }
  /// Whether the object had changes since the last save: its context may hold it until the next one.
  var wasChanged = false
  var isFault = false
  var isRowGone = false
  /// Deleted only because the row is gone, not by a deletion here.
  var isMissing = false
  var snapshot: ReferenceRow?
  var edits: [Int: AttributeValue] = [:]
  /// Large values that were read for the snapshot.
  var loaded: [Int: AttributeValue] = [:]

  init(_ id: ManagedObjectID, _ object: ManagedObject?) {
    self.id = id
    self.object = object
    key = RecordKey(id)
    entity = id.entityName
  }

  var attributes: [TortureModel.Attribute] { TortureModel.attributes[entity] ?? [] }
  var hasChanges: Bool { isInserted || isUpdated || isDeleted }

  /// A large value that was not read yet and has been replaced in the store since: there is more than one answer.
  func isUncertain(_ slot: Int, _ store: ReferenceStore) -> Bool {
    guard edits[slot] == nil, loaded[slot] == nil, let writing = snapshot?.large[slot] else { return false }
    return store.rows[key]?.large[slot] != writing
  }

  /// The edited slots whose value is not the saved one; large values are never known to be the same.
  var slotsThatDiffer: [Int] {
    edits.keys.filter { slot in
      guard let edit = edits[slot] else { return false }
      let saved = snapshot.map { $0.values[slot] } ?? attributes[slot].defaultValue
      return ReferenceRow.isLarge(saved) || !ReferenceOrder.isIdentical(saved, edit)
    }
  }

  /// A newer row comes: what is back at what the old one says is no edit.
  func dropSettledEdits() {
    if snapshot == nil { return }
    let differing = Set(slotsThatDiffer)
    edits = edits.filter { differing.contains($0.key) }
  }

  func take(_ row: ReferenceRow?) {
    snapshot = row
    loaded = [:]
  }
}

/// What a context must hold and answer: Core Data's rules for one level, one thread at a time, on dictionaries.
final class ReferenceContext {
  let store: ReferenceStore
  /// Objects the test holds, and those with changes.
  var objects: [RecordKey: ReferenceObject] = [:]

  enum SaveResult {
    case saved(ReferenceNotice)
    case conflict
    case notUnique
    case invalid(Int)
  }

  init(_ store: ReferenceStore) { self.store = store }

  var hasChanges: Bool { objects.values.contains { $0.hasChanges } }

  // MARK: Faults and values

  func fire(_ object: ReferenceObject) {
    guard object.isFault else { return }
    object.isFault = false
    if object.snapshot != nil { return }
    guard let row = store.rows[object.key] else {
      // Rule 48: a fault whose row is gone becomes a deleted object.
      store.count("faults without a row")
      object.isRowGone = true
      object.isMissing = !object.isDeleted
      object.isDeleted = true
      return
    }
    object.take(row)
  }

  /// The value an attribute has; fires a fault. A large value that was replaced in the store before it was read
  /// is the newest one, since the old one is nowhere any more.
  func value(_ object: ReferenceObject, _ slot: Int) -> AttributeValue {
    fire(object)
    if let edit = object.edits[slot] { return edit }
    return savedValue(object, slot)
  }

  private func savedValue(_ object: ReferenceObject, _ slot: Int) -> AttributeValue {
    guard let snapshot = object.snapshot else { return .null }
    guard let writing = snapshot.large[slot] else { return snapshot.values[slot] }
    if let loaded = object.loaded[slot] { return loaded }
    guard let row = store.rows[object.key] else { return .null }
    let value = row.large[slot] == writing ? snapshot.values[slot] : row.values[slot]
    if row.large[slot] != writing { store.count("large values replaced unread") }
    if !value.isNull { object.loaded[slot] = value }
    return value
  }

  // MARK: Edits

  func insert(_ object: ReferenceObject) {
    object.isInserted = true
    for (slot, attribute) in object.attributes.enumerated() { object.edits[slot] = attribute.defaultValue }
    objects[object.key] = object
  }

  func edit(_ object: ReferenceObject, _ slot: Int, _ value: AttributeValue) {
    fire(object)
    object.edits[slot] = value
    if !object.hasChanges { object.isUpdated = true }
  }

  func delete(_ object: ReferenceObject) {
    if object.isInserted {
      objects[object.key] = nil
    } else {
      object.isDeleted = true
    }
  }

  func rollback() {
    for object in objects.values where object.hasChanges {
      if object.isInserted || (object.isDeleted && object.isRowGone) {
        objects[object.key] = nil
      } else {
        discardEdits(object, object.snapshot)
      }
    }
    for object in objects.values { object.wasChanged = false }
  }

  private func discardEdits(_ object: ReferenceObject, _ row: ReferenceRow?) {
    object.isUpdated = false
    object.isDeleted = false
    object.isMissing = false
    object.edits = [:]
    object.take(row)
  }

  // MARK: Refreshing

  func refresh(_ object: ReferenceObject, mergeChanges: Bool) {
    if object.isInserted { return }
    if mergeChanges {
      refreshKeepingChanges(object)
    } else {
      object.isDeleted = false
      object.isUpdated = false
      object.isRowGone = false
      object.isMissing = false
      turnIntoFault(object)
    }
  }

  func refreshAllObjects() {
    for object in objects.values where !object.isInserted {
      if object.hasChanges { refreshKeepingChanges(object) } else { turnIntoFault(object) }
    }
  }

  private func turnIntoFault(_ object: ReferenceObject) {
    object.edits = [:]
    object.take(nil)
    object.isFault = true
  }

  private func refreshKeepingChanges(_ object: ReferenceObject) {
    if object.isFault {
      object.take(nil)
    } else if let row = store.rows[object.key] {
      object.dropSettledEdits()
      object.take(row)
    }
  }

  // MARK: Merging

  func merge(_ notice: ReferenceNotice) {
    for (key, row) in notice.inserted + notice.updated {
      if let object = objects[key] { takeNewer(row, object) }
    }
    for (key, stamp) in notice.deleted {
      guard let object = objects[key] else { continue }
      // The deletion of a row that was, or is to be, written again since.
      if object.isInserted { continue }
      if let row = object.snapshot, row.stamp > stamp { continue }
      if object.snapshot != nil { object.isFault = false }
      object.isRowGone = true
      if !object.isDeleted { object.isMissing = true }
      object.isDeleted = true
    }
  }

  private func takeNewer(_ row: ReferenceRow, _ object: ReferenceObject) {
    if let old = object.snapshot, old.stamp >= row.stamp { return }
    // The context that deleted it, or kept an edit of it, has written it again.
    object.isRowGone = false
    if object.isMissing {
      store.count("deleted elsewhere and there again")
      object.isMissing = false
      object.isDeleted = false
      // What was edited while it was gone counts again.
      if !object.edits.isEmpty { object.isUpdated = true }
    }
    // It reads its row when it is used: the reported one may be older than what this context has saved.
    if object.isFault, object.snapshot == nil { return }
    object.dropSettledEdits()
    object.take(row)
  }

  // MARK: Saving

  func save(_ policy: MergePolicyType) -> SaveResult {
    let invalid = objects.values.filter {
      ($0.isInserted || $0.isUpdated) && !$0.isDeleted && $0.key.root == "Thing"
        && value($0, TortureModel.rankSlot).isNull
    }
    if !invalid.isEmpty { return .invalid(invalid.count) }
    for _ in 0..<10 {
      let conflicts = findConflicts()
      if conflicts.isEmpty { return write() }
      for object in conflicts where object.snapshot != nil {
        // A conflict carries the object's snapshot with all its values: they are read.
        for slot in object.attributes.indices { _ = savedValue(object, slot) }
      }
      if policy == .error { return .conflict }
      for object in conflicts { settle(object, policy) }
    }
    fatalError("the reference does not settle its conflicts")
  }

  /// The objects whose rows are not what they were read as.
  private func findConflicts() -> [ReferenceObject] {
    var conflicts: [ReferenceObject] = []
    for object in objects.values where object.hasChanges {
      let row = store.rows[object.key]
      if object.isDeleted {
        if object.isRowGone { continue }
        if object.snapshot == nil { object.take(row) }
        guard let base = object.snapshot else { continue }
        if row == nil {
          object.isRowGone = true; store.count("deleted here and there")
        } else if row?.stamp != base.stamp {
          conflicts.append(object)
        }
      } else if object.isInserted {
        if row != nil { conflicts.append(object) }
      } else if !object.slotsThatDiffer.isEmpty, row?.stamp != object.snapshot?.stamp {
        conflicts.append(object)
      }
    }
    return conflicts
  }

  private func settle(_ object: ReferenceObject, _ policy: MergePolicyType) {
    let isObjectStronger = policy == .overwrite || policy == .mergeByPropertyObjectTrump
    let what = object.isDeleted ? "deleted" : object.isInserted ? "written anew" : "updated"
    store.count(
      "conflicts: \(policy), \(what) here, \(store.rows[object.key] == nil ? "deleted" : "updated") there")
    guard let stored = store.rows[object.key] else {
      // Rule 199: a context that insists writes the row again, one that yields releases the object.
      if isObjectStronger {
        keepEveryValue(object)
        object.take(nil)
        object.isUpdated = false
        object.isInserted = true
      } else {
        objects[object.key] = nil
      }
      return
    }
    if object.isDeleted {
      if isObjectStronger { object.take(stored) } else { discardEdits(object, stored) }
      return
    }
    if object.isInserted {
      // Its row was gone, and another context has written it again: an edited object again.
      object.isInserted = false
      object.isUpdated = true
    }
    switch policy {
    case .rollback: discardEdits(object, stored)
    case .overwrite:
      keepEveryValue(object)
      object.take(stored)
    case .mergeByPropertyObjectTrump:
      object.dropSettledEdits()
      object.take(stored)
    default:
      for slot in object.edits.keys where isChanged(slot, object.snapshot, stored) {
        object.edits[slot] = nil
      }
      object.take(stored)
    }
  }

  /// Whether the store changed the attribute since `base` was read. Without a base everything counts as changed.
  private func isChanged(_ slot: Int, _ base: ReferenceRow?, _ stored: ReferenceRow) -> Bool {
    guard let base else { return true }
    if base.large[slot] != stored.large[slot] { return true }
    return !ReferenceOrder.isIdentical(base.values[slot], stored.values[slot])
  }

  private func keepEveryValue(_ object: ReferenceObject) {
    for slot in object.attributes.indices where object.edits[slot] == nil {
      object.edits[slot] = savedValue(object, slot)
    }
  }

  /// Writes everything unless constraints forbid it.
  private func write() -> SaveResult {
    var notice = ReferenceNotice()
    var rows = store.rows
    for object in objects.values.sorted(by: { $0.key < $1.key }) where object.hasChanges {
      if object.isDeleted {
        guard !object.isRowGone, let snapshot = object.snapshot else { continue }
        rows[object.key] = nil
        notice.deleted.append((object.key, snapshot.stamp))
      } else if object.isInserted || !object.slotsThatDiffer.isEmpty {
        let row = newRow(object)
        rows[object.key] = row
        if object.isInserted {
          notice.inserted.append((object.key, row))
        } else {
          notice.updated.append((object.key, row))
        }
      }
    }
    if ReferenceStore.hasTwins(rows) {
      meetTwins(of: Set((notice.inserted + notice.updated).map(\.0)), among: rows)
      return .notUnique
    }
    store.rows = rows
    for (key, row) in notice.inserted + notice.updated { store.remember(row, key) }
    for object in objects.values where object.hasChanges || object.wasChanged {
      object.wasChanged = false
      if !object.hasChanges { continue }
      if object.isDeleted {
        objects[object.key] = nil
      } else {
        let isWritten = object.isInserted || !object.slotsThatDiffer.isEmpty
        object.isInserted = false
        object.isUpdated = false
        object.edits = [:]
        object.take(isWritten ? rows[object.key] : object.snapshot)
      }
    }
    return .saved(notice)
  }

  /// The conflicts name the stored records that share values with those of the save: their objects take the newest rows, unless that would
  /// cost them edits or they are deleted here.
  private func meetTwins(of saved: Set<RecordKey>, among rows: [RecordKey: ReferenceRow]) {
    for (key, row) in rows where !saved.contains(key) {
      guard let object = objects[key] else { continue }
      let isMet = (TortureModel.constraints[key.root] ?? []).contains { slots in
        let values = slots.map { row.values[$0] }
        return !values.contains(where: \.isNull)
          && saved.contains { other in
            other.root == key.root && slots.map { rows[other]?.values[$0] ?? .null } == values
          }
      }
      if isMet { meet(row, object) }
    }
  }

  private func meet(_ row: ReferenceRow, _ object: ReferenceObject) {
    store.count("stored twins")
    if object.isFault { object.take(row) }
    if object.isRowGone {
      object.isRowGone = false
      discardEdits(object, row)
    } else if !object.isFault, !object.isDeleted, object.slotsThatDiffer.isEmpty,
      let old = object.snapshot, old.stamp < row.stamp
    {
      object.dropSettledEdits()
      object.take(row)
    }
  }

  private func newRow(_ object: ReferenceObject) -> ReferenceRow {
    let stamp = store.nextStamp()
    var row =
      object.snapshot
      ?? ReferenceRow(entity: object.entity, values: object.attributes.map { _ in .null }, stamp: 0)
    row.stamp = stamp
    for (slot, value) in object.edits {
      row.values[slot] = value
      row.large[slot] = ReferenceRow.isLarge(value) ? stamp : nil
    }
    return row
  }
}
