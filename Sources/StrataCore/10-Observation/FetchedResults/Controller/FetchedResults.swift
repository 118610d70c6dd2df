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
  private let batches: BatchReader
  /// Gets what is handed out, while the list is the newest; nil where nothing is kept.
  var keeper: ResultsKeeper?

  private static let usualSize = 100

  init(
    _ list: EntryList, _ stores: [StoreBinding], _ context: ManagedObjectContext, _ plan: ResultsPlan
  ) {
    self.list = list
    self.stores = stores
    self.context = context
    var specification = plan.specification
    // The list follows its context anyway; looking at it changes nothing.
    specification.shouldRefreshRefetchedObjects = false
    let size = specification.fetchBatchSize > 0 ? specification.fetchBatchSize : Self.usualSize
    batches = BatchReader(context, specification, plan.request.entity, count: list.count, size: size) {
      range in
      var objects: [ManagedObject] = []
      objects.reserveCapacity(range.count)
      list.forEach(from: range.lowerBound) { leaf, place in
        objects.append(Self.object(leaf.entries.identity(place), leaf.entries.code(place), stores, context))
        return objects.count < range.count
      }
      return objects
    }
  }

  func object(at position: Int) -> ManagedObject {
    let object = batches.object(at: position)
    keeper?.keep(object, identity(of: object))
    return object
  }

  /// The identity that the entry of an object of the list has.
  func identity(of object: ManagedObject) -> UInt64 {
    let store = object.home.storeIndex
    let place = stores.count == 1 ? 0 : stores.firstIndex { $0.index == store } ?? 0
    return ResultEntry.identity(object.primaryKey, store: place)
  }

  /// All objects of the list, by identity: faults, but for those that are in memory. Reads no row.
  func forEachObject(_ body: (UInt64, ManagedObject) -> Void) {
    context.flushAncestors()
    context.drainReceived()
    list.forEach { leaf, place in
      let identity = leaf.entries.identity(place)
      body(identity, object(identity, leaf.entries.code(place)))
      return true
    }
  }

  /// The object of one entry, without its neighbours.
  func object(_ identity: UInt64, _ code: UInt16) -> ManagedObject {
    Self.object(identity, code, stores, context)
  }

  private static func object(
    _ identity: UInt64, _ code: UInt16, _ stores: [StoreBinding], _ context: ManagedObjectContext
  ) -> ManagedObject {
    let store = stores[ResultEntry.store(identity)]
    _ = context.stores.tables(for: store)
    return context.fetchedObject(
      Reference.bits(ResultEntry.primaryKey(identity), entityCode: code), store.index)
  }
}
