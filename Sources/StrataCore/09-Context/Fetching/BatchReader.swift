/// Makes the objects of a list in batches, when they are looked at.
///
/// Keeps the batches that were looked at last alive, and with them what the request prefetches. On the context's queue.
final class BatchReader {
  private let context: ManagedObjectContext
  private let specification: FetchSpecification
  private let entity: EntitySchema
  private let count: Int
  private let size: Int
  private let make: (Range<Int>) -> [ManagedObject]
  private var held: [Batch] = []

  private struct Batch {
    let first: Int
    let objects: [ManagedObject]
    /// Kept alive only.
    let prefetched: [ManagedObject]
  }

  private static let mostHeld = 2

  /// - Parameter make: Makes the objects at the given places, as faults or as they are.
  init(
    _ context: ManagedObjectContext, _ specification: FetchSpecification, _ entity: EntitySchema,
    count: Int, size: Int, make: @escaping (Range<Int>) -> [ManagedObject]
  ) {
    self.context = context
    self.specification = specification
    self.entity = entity
    self.count = count
    self.size = size
    self.make = make
  }

  func checkAccess() { context.checkAccess(specification.entityName) }

  func object(at place: Int) -> ManagedObject {
    checkAccess()
    let first = place / size * size
    // Objects that the context has let go of, as by a reset, are made again.
    if let known = held.first(where: { $0.first == first }),
      known.objects[place - first].context === context
    {
      return known.objects[place - first]
    }
    let batch = read(first..<min(first + size, count))
    held.removeAll { $0.first == first }
    if held.count == Self.mostHeld { held.removeFirst() }
    held.append(batch)
    return batch.objects[place - first]
  }

  private func read(_ range: Range<Int>) -> Batch {
    context.flushAncestors()
    context.drainReceived()
    let objects = make(range)
    if specification.includesPropertyValues { context.fulfil(objects) }
    if specification.shouldRefreshRefetchedObjects { context.refreshRefetched(objects) }
    if !specification.returnsObjectsAsFaults { for object in objects { object.fire() } }
    var prefetched: [ManagedObject] = []
    do {
      prefetched = try context.prefetch(
        specification.relationshipKeyPathsForPrefetching, of: objects, entity)
    } catch {
      context.report(error, reading: objects[0])
    }
    return Batch(first: range.lowerBound, objects: objects, prefetched: prefetched)
  }
}

extension ManagedObjectContext {
  /// The object of a reference that a fetch has found. Traps when its store has been removed.
  func fetchedObject(_ reference: UInt64, _ storeIndex: Int) -> ManagedObject {
    guard let object = object(reference, inStore: storeIndex) else {
      trap("the store of a fetched object has been removed from the coordinator: fetch again.")
    }
    return object
  }
}
