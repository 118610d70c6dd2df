import Dispatch
import Foundation

extension ManagedObjectContext {
  // MARK: On the child's thread

  /// A child has saved: sees to it that this context's objects come to show it. Inline when the caller is on this context's
  /// queue already, else as a job there (contexts.md, rule 6); a confinement context has no queue and finds it when it is
  /// used next.
  func scheduleMerge() {
    if isAccessible {
      mergeReceived()
      return
    }
    queue.queue?.async { [weak self] in
      guard let self else { return }
      self.runAsEvent {}
    }
  }

  // MARK: On this context's queue

  /// Brings what children have saved into the objects here, and tells of it.
  func mergeReceived() {
    drainReceived()
    tellReceived()
  }

  /// Brings what children have saved into the objects that are registered here; the others stay rows of the strata. Whether
  /// there is anything costs one load to find out.
  @inline(__always)
  func drainReceived() {
    if strata.mustMerge { drainNow() }
  }

  private func drainNow() {
    for save in strata.takeReceived() {
      for change in save where !apply(change) { untold.append(change) }
    }
  }

  /// True when the record's object is here; then it shows the change.
  private func apply(_ change: StratumRow) -> Bool {
    guard let binding = persistentStoreCoordinator.binding(change.bound.storeIndex) else { return true }
    let table = stores.tables(for: binding).tables[change.bound.hierarchyNumber]
    guard let known = known(change.primaryKey, as: change.bound, in: table) else { return false }
    if known.state.isDisjoint(with: .ownChange) {
      applyToClean(change, known)
    } else {
      applyToEdited(change, known, binding)
    }
    return true
  }

  private func applyToClean(_ change: StratumRow, _ object: ManagedObject) {
    let wasInserted = object.isInserted
    guard let row = strata.row(change.table, change.primaryKey) else {
      // Inserted by one child, deleted by another; or rolled back here since.
      if change.kind == .delete { letGo(object, of: .rowGone) }
      if wasInserted { changes.note(object, .notedDelete) }
      return
    }
    if row.kind == .delete {
      if object.isFault, object.snapshot != nil { object.fire() }
      object.state.subtract(.received)
      object.state.insert(.receivedDelete)
      changes.note(object, .notedDelete)
      return
    }
    object.take(row, isOwn: true)
    changes.note(object, change.kind == .insert ? .notedInsert : .notedUpdate)
  }

  private func applyToEdited(_ change: StratumRow, _ object: ManagedObject, _ binding: StoreBinding) {
    switch change.kind {
    case .insert: return
    case .delete:
      if object.state.contains(.inserted) {
        changes.uninsert(object)
        letGo(object, of: .rowGone)
      } else {
        changes.delete(object)
      }
    case .update:
      if object.state.contains(.deleted) { return }
      let draft = object.editableDraft()
      change.changedSlots.forEach { slot in
        draft[slot] = change.value(slot, in: binding)
        draft.primitive.remove(slot)
        draft.eventChanged.insert(slot)
      }
      if let values = change.transients?.values {
        object.transients = (object.transients ?? [:]).merging(values) { $1 }
      }
      changes.update(object)
      changes.note(object, .notedUpdate)
    }
  }

  // MARK: Telling of it

  /// Tells, in did-change notifications, of records that children have saved and that are no objects here yet (rule 152). On
  /// the main queue in slices, so that a hundred thousand of them never hold it for long.
  func tellReceived(all: Bool = false) {
    let isSliced = !all && queue.type == .mainQueue
    let end = DispatchTime.now().uptimeNanoseconds + Self.sliceLength
    repeat {
      while untoldStart < untold.count {
        if isSliced, DispatchTime.now().uptimeNanoseconds >= end { break }
        let next = min(untoldStart + Self.sliceStep, untold.count)
        for place in untoldStart..<next { tell(untold[place]) }
        untoldStart = next
      }
      // Children may save meanwhile, and observers look: then there is more to tell.
      processPendingChanges()
    } while !isSliced && untoldStart < untold.count
    if untoldStart == untold.count {
      let old = untold
      untold = []
      untoldStart = 0
      Garbage.release(old, count: old.count)
    } else {
      DispatchQueue.main.async { [weak self] in
        guard let self else { return }
        ThreadScope.current.run(in: self) { self.tellReceived() }
      }
    }
  }

  /// How long a slice may hold the main queue, in nanoseconds.
  static let sliceLength: UInt64 = 4_000_000
  /// How many records between two looks at the clock.
  static let sliceStep = 256

  private func tell(_ change: StratumRow) {
    // What was saved further down meanwhile is told of as it was.
    let isPending = strata.row(change.table, change.primaryKey)
    if isPending == nil, change.kind == .delete { return }
    guard let object = object(for: isPending ?? change, isOwn: isPending != nil) else { return }
    switch change.kind {
    case .insert: changes.note(object, .notedInsert)
    case .update: changes.note(object, .notedUpdate)
    case .delete: changes.note(object, .notedDelete)
    }
  }
}
