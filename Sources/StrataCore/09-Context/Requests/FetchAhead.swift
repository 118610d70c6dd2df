import Dispatch
import Foundation

/// What a fetch has found away from its context's queue: values that any thread may hold.
enum FetchedAhead: Sendable {
  case objects([Found])
  case identifiers([ManagedObjectID])
  case dictionaries([FetchedDictionary])
  case count(Int)

  /// One object, not made yet.
  enum Found: Sendable {
    /// A stored row; the store's place in the coordinator.
    case row(FetchedRow, store: Int)
    /// An object with unsaved changes, in the context or below it.
    case unsaved(ManagedObjectID)
  }
}

/// Runs a context's fetch in another context that sees the same: one beside it when there is nothing unsaved, one above it
/// otherwise, which reads what is published without waiting for a queue.
final class FetchAhead: Sendable {
  private let helper: ManagedObjectContext
  private let specification: FetchSpecification
  private let type: FetchResultType
  let monitor: FetchMonitor
  /// When the store was read, at the earliest.
  private let readAt: UInt32
  /// How much had been saved to each store by then.
  private let commitCounts: [Int: Int]

  /// Made on the context's queue.
  init(
    _ context: ManagedObjectContext, _ specification: FetchSpecification, _ type: FetchResultType,
    _ monitor: FetchMonitor
  ) throws {
    context.flushAncestors()
    context.tellChanges()
    helper = try context.makeReader(specification, type)
    self.specification = specification
    self.type = type
    self.monitor = monitor
    readAt = SnapshotClock.now
    commitCounts = Dictionary(
      uniqueKeysWithValues: context.coordinator.bindings.map { ($0.index, $0.commitCount) })
  }

  /// Reads on a queue of its own, then calls `completion` there.
  func start(_ completion: @escaping @Sendable (Result<FetchedAhead, any Error>) -> Void) {
    helper.perform { completion(Result { try self.readHere() }) }
  }

  /// Reads on a queue of its own.
  /// - Throws: `CancellationError`; why it cannot be read.
  func read() async throws -> FetchedAhead {
    try await helper.perform(schedule: .enqueued) { try self.readHere() }
  }

  private func readHere() throws -> FetchedAhead {
    if monitor.wasStopped { throw CancellationError() }
    switch type {
    case .dictionary: return .dictionaries(try helper.fetchDictionaries(specification, monitor))
    case .count: return .count(try helper.count(of: specification, type, monitor))
    case .managedObject, .managedObjectID:
      let found = try helper.found(specification, type, monitor)
      if monitor.wasStopped { throw CancellationError() }
      return found
    }
  }

  /// Makes the objects, on the context's queue. Those that have been deleted meanwhile are left out.
  func objects(_ found: [FetchedAhead.Found], in context: ManagedObjectContext) throws -> [ManagedObject] {
    context.flushAncestors()
    context.drainReceived()
    let layers = context.strata.layers
    var objects: [ManagedObject] = []
    objects.reserveCapacity(found.count)
    for item in found {
      switch item {
      case .row(let row, let index):
        guard let binding = context.coordinator.binding(index) else { continue }
        let store = context.stores.tables(for: binding)
        if let object = object(for: row, in: store, layers, context), isThere(object) {
          objects.append(object)
        }
      case .unsaved(let identifier):
        let object = context.object(with: identifier)
        if isThere(object) { objects.append(object) }
      }
    }
    // Those whose rows are not as new as what the context has merged: read again, all at once.
    if specification.includesPropertyValues { try context.throwingFailures { context.fulfil(objects) } }
    return try context.finish(objects, specification)
  }

  private func object(
    for row: FetchedRow, in store: RegisteredStores.Registered, _ layers: [StratumLayer],
    _ context: ManagedObjectContext
  ) -> ManagedObject? {
    let hierarchy = context.schema.entities[row.entity].hierarchyNumber
    if let known = store.tables[hierarchy].object(for: row.primaryKey), let own = known.snapshot,
      let found = row.snapshot, own.version > found.version
    {
      return known
    }
    // What others have saved since then may have been merged already, without this object.
    let isOld =
      context.automaticallyMergesChangesFromParent
      && store.binding.commitCount != commitCounts[store.binding.index]
    let row = isOld ? FetchedRow(primaryKey: row.primaryKey, entity: row.entity, snapshot: nil) : row
    return context.object(for: row, in: store, layers, readAt: readAt)
  }

  private func isThere(_ object: ManagedObject) -> Bool {
    if object.state.contains(.rowGone) { return false }
    return !object.isMarkedDeleted || !specification.includesPendingChanges
  }
}

extension ManagedObjectContext {
  /// A context with a queue of its own that sees what this one sees.
  fileprivate func makeReader(
    _ specification: FetchSpecification, _ type: FetchResultType
  ) throws -> ManagedObjectContext {
    let reader: ManagedObjectContext
    if type != .dictionary, specification.includesPendingChanges, hasChanges || saving.flight != nil {
      reader = ManagedObjectContext(.privateQueue, parent: self)
    } else if let parent, parent.coordinator === coordinator {
      reader = ManagedObjectContext(.privateQueue, parent: parent)
    } else {
      reader = ManagedObjectContext(.privateQueue, coordinator: coordinator)
      if generation.isSet, let binding = coordinator.bindings.first {
        // What is to be pinned at the next read is pinned now: both read the same.
        _ = try reading(binding)
        reader.generation.set(generation.current)
      }
    }
    reader.name = name.map { "\($0), fetching" }
    return reader
  }

  /// The matches of a request, as values.
  fileprivate func found(
    _ specification: FetchSpecification, _ type: FetchResultType, _ monitor: FetchMonitor
  ) throws -> FetchedAhead {
    let mode: FetchMode =
      type == .managedObject && specification.includesPropertyValues ? .rows : .identifiers
    let matches = try ContextFetch(specification, in: self) { $0.monitor = monitor }.matches(mode: mode)
    if type == .managedObjectID { return .identifiers(matches.map { $0.identifier(in: self) }) }
    return .objects(
      matches.map { match in
        if case .row(let row, let store) = match { return .row(row, store: store.binding.index) }
        return .unsaved(match.identifier(in: self))
      })
  }
}
