import Dispatch
import Synchronization

/// The rows of many new objects, encoded by another thread while the thread that saves makes the set of the objects for
/// the did-change notification: the first of these works, the second waits for memory.
///
///     save() ──▶ set of the new objects ──▶ wait ──▶ did-change ──▶ willSave, validation ──▶ rows, if nothing changed
///        └─────▶ encode ───────────────────────┘
///
/// Until `wait` returns no other code runs, so the objects are not edited. What is edited later makes the rows void.
final class EncodingAhead: @unchecked Sendable {
  // Unchecked: the objects belong to the thread that saves, which edits none before `wait`; the worker only reads them.
  private let objects: [ManagedObject]
  private let save: PendingSave
  private let editCount: Int
  private let result = Mutex<[RowChange]?>(nil)
  private let group = DispatchGroup()

  init(_ objects: [ManagedObject], _ save: PendingSave, editCount: Int) {
    self.objects = objects
    self.save = save
    self.editCount = editCount
    // What cannot be encoded is found again, and reported, by the save itself.
    DispatchQueue.global(qos: .userInitiated).async(group: group) { [self] in encode() }
  }

  private func encode() {
    let rows = try? objects.withUnsafeBufferPointer { try save.encodeNew($0, parts: 1) }
    result.withLock { $0 = rows }
  }

  /// Returns when the worker is done with the objects.
  func wait() { group.wait() }

  /// The rows, if they are those of `objects` and nothing has been edited since.
  func rows(of objects: [ManagedObject], asOf editCount: Int) -> [RowChange]? {
    guard editCount == self.editCount, objects.count == self.objects.count else { return nil }
    return result.withLock { $0 }
  }
}

extension ManagedObjectContext {
  /// Begins to encode the new objects when they are many, of one store, and the only changes.
  func startEncodingAhead() -> EncodingAhead? {
    guard changes.insertedCount >= PendingSave.fewestAhead, changes.hasNoted, saving.lostVersions.isEmpty,
      changes.updatedCount == 0, changes.deletedCount == 0
    else { return nil }
    let objects = changes.inserted
    let index = objects[0].home.storeIndex
    guard let binding = coordinator.binding(index), !binding.store.isReadOnly,
      objects.allAreOf(store: index)
    else { return nil }
    return EncodingAhead(
      objects, PendingSave(store: binding, lostVersions: [:]), editCount: changes.editCount)
  }
}
