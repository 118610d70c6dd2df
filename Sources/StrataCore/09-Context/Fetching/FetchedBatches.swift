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
  private let fetched: FetchedReferences
  private let context: ManagedObjectContext
  private let reader: BatchReader

  init(_ fetched: FetchedReferences, _ context: ManagedObjectContext, _ reader: BatchReader) {
    self.fetched = fetched
    self.context = context
    self.reader = reader
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { fetched.references.count }

  /// The object at `position`. Reads the rows of its batch unless they are in memory.
  ///
  /// A batch that cannot be read is reported to the context's `readFailureHandler`, and its objects are faults that fire when they are used.
  public subscript(position: Int) -> Object {
    guard fetched.references.indices.contains(position) else {
      trap("position \(position) is out of range: \(fetched.references.count) objects were fetched.")
    }
    // Every object is of the entity's class or a subclass, which was checked to be an Object.
    return unsafeDowncast(reader.object(at: position), to: Object.self)
  }

  /// The IDs, in order. Reads nothing.
  public var objectIDs: [ManagedObjectID] {
    reader.checkAccess()
    return fetched.references.indices.compactMap { place in
      context.identifier(fetched.references[place], inStore: fetched.store(of: place))
    }
  }
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
    let fetch = try ContextFetch(specification, in: self)
    // Names no relationship: better told now than when a batch is read.
    _ = try prefetch(specification.relationshipKeyPathsForPrefetching, of: [], fetch.request.entity)
    // Objects are made by their references, which takes the store's tables.
    for binding in fetch.bindings { _ = stores.tables(for: binding) }
    let fetched = try fetch.references()
    let count = fetched.references.count
    let size = specification.fetchBatchSize > 0 ? specification.fetchBatchSize : max(count, 1)
    let reader = BatchReader(self, specification, fetch.request.entity, count: count, size: size) { range in
      range.map { self.fetchedObject(fetched.references[$0], fetched.store(of: $0)) }
    }
    return FetchedBatches(fetched, self, reader)
  }
}
