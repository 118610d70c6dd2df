import Foundation

/// The objects of a ``FetchedResultsController``, or of one of its sections, in order.
///
/// Holds IDs. An object is made when it is looked at, with the rows of its neighbours: as many as the request's `fetchBatchSize`, or
/// a hundred. The objects of the batches looked at last are kept; others live while they are held. Stays what it was when the
/// list changes. On the context's queue only.
public struct FetchedResults<Object: ManagedObject>: RandomAccessCollection {
  private let reader: ResultsReader
  private let range: Range<Int>

  init(_ reader: ResultsReader, _ range: Range<Int>) {
    self.reader = reader
    self.range = range
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { range.count }

  public subscript(position: Int) -> Object {
    guard position >= 0, position < range.count else {
      trap("position \(position) is out of range: there are \(range.count) objects.")
    }
    // Every object is of the entity's class or a subclass, which was checked to be an Object.
    return unsafeDowncast(reader.object(at: range.lowerBound + position), to: Object.self)
  }

  /// The IDs, in order. Reads nothing.
  public var objectIDs: FetchedResultsIdentifiers {
    FetchedResultsIdentifiers(reader.list, range, reader.stores)
  }
}

@available(*, unavailable)
extension FetchedResults: Sendable {}

/// One section of a ``FetchedResultsController``.
public struct FetchedResultsSection<Object: ManagedObject> {
  /// What the section key path leads to, as text; empty for nil, and for the one section there is without a section key path.
  public let name: String
  /// Its entry in the index of sections.
  public let indexTitle: String?
  /// Its objects, in order.
  public let objects: FetchedResults<Object>
  /// How many there are.
  public var numberOfObjects: Int { objects.count }
}

@available(*, unavailable)
extension FetchedResultsSection: Sendable {}

/// The sections of a ``FetchedResultsController``, in order. Finding one takes a few steps down a tree.
public struct FetchedResultsSections<Object: ManagedObject>: RandomAccessCollection {
  private let snapshot: FetchedResultsSnapshot
  private let reader: ResultsReader
  private let indexTitle: (String) -> String?

  init(
    _ snapshot: FetchedResultsSnapshot, _ reader: ResultsReader, _ indexTitle: @escaping (String) -> String?
  ) {
    self.snapshot = snapshot
    self.reader = reader
    self.indexTitle = indexTitle
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { snapshot.numberOfSections }

  public subscript(position: Int) -> FetchedResultsSection<Object> {
    let name = snapshot.sectionName(position)
    return FetchedResultsSection(
      name: name, indexTitle: indexTitle(name),
      objects: FetchedResults(reader, snapshot.range(ofSection: position)))
  }
}

@available(*, unavailable)
extension FetchedResultsSections: Sendable {}

/// Makes the objects of a list as they are looked at.
final class ResultsReader {
  let list: EntryList
  let stores: [StoreBinding]
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

  private static let usualSize = 100
  private static let mostHeld = 2

  init(
    _ list: EntryList, _ stores: [StoreBinding], _ context: ManagedObjectContext, _ plan: ResultsPlan
  ) {
    self.list = list
    self.stores = stores
    self.context = context
    specification = plan.specification
    entity = plan.request.entity
    size = specification.fetchBatchSize > 0 ? specification.fetchBatchSize : Self.usualSize
  }

  func object(at position: Int) -> ManagedObject {
    context.checkAccess(specification.entityName)
    let first = position / size * size
    if let known = held.first(where: { $0.first == first }),
      known.objects[position - first].context === context
    {
      return known.objects[position - first]
    }
    let batch = read(first..<min(first + size, list.count))
    held.removeAll { $0.first == first }
    if held.count == Self.mostHeld { held.removeFirst() }
    held.append(batch)
    return batch.objects[position - first]
  }

  /// The object of one entry, without its neighbours.
  func object(_ identity: UInt64, _ code: UInt16) -> ManagedObject {
    let store = stores[ResultEntry.store(identity)]
    _ = context.stores.tables(for: store)
    guard
      let object = context.object(
        Reference.bits(ResultEntry.primaryKey(identity), entityCode: code), inStore: store.index)
    else { trap("the store of a fetched object has been removed from the coordinator: fetch anew.") }
    return object
  }

  private func read(_ range: Range<Int>) -> Batch {
    context.flushAncestors()
    context.drainReceived()
    var objects: [ManagedObject] = []
    objects.reserveCapacity(range.count)
    list.forEach(from: range.lowerBound) { leaf, place in
      objects.append(object(leaf.identities[place], leaf.codes[place]))
      return objects.count < range.count
    }
    if specification.includesPropertyValues { context.fulfil(objects) }
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
