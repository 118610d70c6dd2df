import Foundation

/// The objects that match a request, as a collection that holds their IDs and reads their rows in batches when the application looks
/// at them (rules 82, 163).
///
///     var request = FetchRequest<Flight>(entityName: "Flight", sortDescriptors: [FetchSort("departure")])
///     request.fetchBatchSize = 50
///     let flights = try context.fetchInBatches(request)   // 8 bytes for each flight
///     let shown = flights[120]                            // reads rows 100 ..< 150
///
/// What matches, and in which order, is settled when the collection is made; values are those of the objects, as always. An
/// object that is deleted later keeps its place. The collection keeps the objects of the two batches looked at last, and
/// with them what the request prefetches; others live while they are held. It may be used on its context's queue
/// only, and holds the context.
public struct FetchedBatches<Object: ManagedObject>: RandomAccessCollection {
  private let batches: BatchReader

  init(_ batches: BatchReader) { self.batches = batches }

  public var startIndex: Int { 0 }
  public var endIndex: Int { batches.references.count }

  /// The object at `position`. Reads the rows of its batch unless they are in memory.
  ///
  /// A batch that cannot be read is reported to the context's `readFailureHandler`, and its objects are faults that fire when they are used.
  public subscript(position: Int) -> Object {
    guard batches.references.indices.contains(position) else {
      trap("position \(position) is out of range: \(batches.references.count) objects were fetched.")
    }
    // Every object is of the entity's class or a subclass, which was checked to be an Object.
    return unsafeDowncast(batches.object(at: position), to: Object.self)
  }

  /// The IDs, in order. Reads nothing.
  public var objectIDs: [ManagedObjectID] { batches.identifiers }
}

@available(*, unavailable)
extension FetchedBatches: Sendable {}

extension ManagedObjectContext {
  /// The objects that match `request`, in its order, read `fetchBatchSize` at a time when they are looked at (rules 82, 163); all
  /// at once on the first look when that is 0. Pending changes of this context and those below take part as in `fetch(_:)`.
  ///
  /// - Throws: what `fetch(_:)` throws.
  public func fetchInBatches<T: ManagedObject>(_ request: FetchRequest<T>) throws -> FetchedBatches<T> {
    let specification = try specification(of: request)
    try checkResultType(T.self, specification.entityName)
    return FetchedBatches(try batches(of: specification))
  }

  private func batches(of specification: FetchSpecification) throws -> BatchReader {
    checkAccess(specification.entityName)
    flushAncestors()
    tellChanges()
    let resolved = try resolved(specification)
    // Names no relationship: better told now than when a batch is read.
    _ = try prefetch(specification.relationshipKeyPathsForPrefetching, of: [], resolved.entity)
    let overlay = try makeOverlay(resolved, specification)
    let bindings = bindings(for: resolved, specification)
    // Objects are made by their references, which takes the store's tables.
    for binding in bindings { _ = stores.tables(for: binding) }
    var references: ContiguousArray<UInt64> = []
    var stores: ContiguousArray<Int32> = []
    if overlay.isEmpty, bindings.count == 1 {
      let binding = bindings[0]
      let rows = try ask(reading(binding), resolved, mode: .identifiers).rows
      references.reserveCapacity(rows.count)
      for row in rows {
        guard let bound = binding.entities[row.entity] else { continue }
        references.append(Reference.bits(row.primaryKey, entityCode: bound.stamp.entityCode))
      }
      stores = [Int32(binding.index)]
    } else {
      for match in try matches(resolved, specification, mode: .identifiers, overlay: overlay) {
        let (bits, store) = match.reference
        references.append(bits)
        stores.append(Int32(store))
      }
    }
    return BatchReader(self, specification, resolved.entity, references, stores)
  }
}

/// What the collections of all classes have in common.
final class BatchReader {
  let references: ContiguousArray<UInt64>
  /// The store of each, or the one store of all.
  private let stores: ContiguousArray<Int32>
  private let context: ManagedObjectContext
  private let specification: FetchSpecification
  private let entity: EntitySchema
  private let size: Int
  private var held: [Batch] = []

  private struct Batch {
    let first: Int
    let objects: [ManagedObject]
    /// Kept alive only.
    let prefetched: [ManagedObject]
  }

  init(
    _ context: ManagedObjectContext, _ specification: FetchSpecification, _ entity: EntitySchema,
    _ references: ContiguousArray<UInt64>, _ stores: ContiguousArray<Int32>
  ) {
    self.context = context
    self.specification = specification
    self.entity = entity
    self.references = references
    self.stores = stores
    size = specification.fetchBatchSize > 0 ? specification.fetchBatchSize : max(references.count, 1)
  }

  var identifiers: [ManagedObjectID] {
    context.checkAccess(specification.entityName)
    return references.indices.compactMap { context.identifier(references[$0], inStore: store(of: $0)) }
  }

  private func store(of place: Int) -> Int { Int(stores.count == 1 ? stores[0] : stores[place]) }

  func object(at place: Int) -> ManagedObject {
    context.checkAccess(specification.entityName)
    let first = place / size * size
    if let known = held.first(where: { $0.first == first }) { return known.objects[place - first] }
    let batch = read(first..<min(first + size, references.count))
    if held.count == Self.mostHeld { held.removeFirst() }
    held.append(batch)
    return batch.objects[place - first]
  }

  private static let mostHeld = 2

  private func read(_ range: Range<Int>) -> Batch {
    context.flushAncestors()
    context.drainReceived()
    let objects = range.map { place -> ManagedObject in
      guard let object = context.object(references[place], inStore: store(of: place)) else {
        trap("the store of a fetched object has been removed from the coordinator: fetch anew.")
      }
      return object
    }
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
