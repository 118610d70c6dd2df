import Foundation
import Observation

/// The objects of a class that satisfy a condition, in order, kept up to date: a list for user interfaces, which observes itself.
///
///     let list = try container.liveList(Book.self, where: #Predicate<Book> { $0.pages > 300 }, sortedBy: .forward(\.title))
///     withObservationTracking { render(list) } onChange: { … }
///
/// It shows what the container's view context shows at the end of each event: edits, saved or not, undo, and what others save. What reads the list's
/// members inside `withObservationTracking` is told of the next change: an object that has come, gone, moved, or whose values have changed. A
/// ``FetchedResultsController`` is beneath: the list holds IDs and makes objects as they are looked at.
///
/// Used on the main actor. It ends when it is released; nothing else holds it.
@MainActor @Observable
public final class LiveList<Element: ManagedObject> {
  /// What is true of the objects in the list; nil for all. Change it with `configure(where:sortedBy:)`.
  public private(set) var condition: FetchPredicate?
  /// The order of the list.
  public private(set) var order: [FetchSort]
  /// Why the list could not follow its context, or could not be configured anew, last; nil when it has succeeded since. While there is an error the list shows
  /// what it showed before. After `context.reset()`, or when a store was removed, call `reload()`.
  public private(set) var error: (any Error)?
  /// The objects of the list, in order, as they are now. A collection that stays what it is when the list changes.
  public private(set) var objects: LiveListObjects<Element>

  @ObservationIgnored private let context: ManagedObjectContext
  @ObservationIgnored private let held: HeldController<Element>
  private var controller: FetchedResultsController<Element> { held.controller }
  @ObservationIgnored private let relay = LiveListRelay<Element>()

  init(_ context: ManagedObjectContext, _ condition: FetchPredicate?, _ order: [FetchSort]) throws {
    context.checkAccess()
    try context.requireStores()
    self.context = context
    self.condition = condition
    self.order = order
    let controller = Self.makeController(context, condition, order)
    try controller.performFetch()
    held = HeldController(controller)
    objects = LiveListObjects(controller.fetchedObjects)
    relay.list = self
    controller.delegate = relay
  }

  deinit {
    // The controller is used where its context is, also when the list is released elsewhere.
    if Thread.isMainThread { return }
    let held = held
    Errand.hand(to: .main, isForMainQueue: true) { withExtendedLifetime(held) {} }
  }

  private static func makeController(
    _ context: ManagedObjectContext, _ condition: FetchPredicate?, _ order: [FetchSort]
  ) -> FetchedResultsController<Element> {
    FetchedResultsController(
      fetchRequest: FetchRequest<Element>(predicate: condition, sortDescriptors: order),
      managedObjectContext: context)
  }

  // MARK: Configuring

  /// Shows other objects, or the same in another order, from now on.
  ///
  /// - Throws: what a fetch throws. The list goes on as before then, and has the error.
  public func configure(where condition: FetchPredicate?, sortedBy order: FetchOrder<Element> = []) throws {
    try configure(condition, order.sorts)
  }

  /// The same with a `#Predicate`.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up; what `fetch(_:)` throws. The list goes on as before then.
  @_disfavoredOverload
  public func configure(where condition: Predicate<Element>?, sortedBy order: FetchOrder<Element> = []) throws
  {
    try configure(condition.map { FetchPredicate($0) }, order.sorts)
  }

  /// The same in the order of Foundation's sort descriptors.
  /// - Throws: what `fetch(_:)` throws. The list goes on as before then.
  public func configure(where condition: FetchPredicate?, sortedBy order: [SortDescriptor<Element>]) throws {
    try configure(condition, FetchOrder(order).sorts)
  }

  /// The same with a `#Predicate`, in the order of Foundation's sort descriptors.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up; what `fetch(_:)` throws. The list goes on as before then.
  @_disfavoredOverload
  public func configure(where condition: Predicate<Element>?, sortedBy order: [SortDescriptor<Element>])
    throws
  {
    try configure(condition.map { FetchPredicate($0) }, FetchOrder(order).sorts)
  }

  /// The same in the order of one attribute, small values first: `sortedBy: \.title`.
  /// - Throws: what `fetch(_:)` throws. The list goes on as before then.
  public func configure<Key>(
    where condition: FetchPredicate?, sortedBy order: KeyPath<Element, Key> & Sendable
  ) throws { try configure(condition, [FetchSort(order)]) }

  /// The same with a `#Predicate`, in the order of one attribute.
  /// - Throws: ``PredicateTranslationError`` for an expression that no store can look up; what `fetch(_:)` throws. The list goes on as before then.
  @_disfavoredOverload
  public func configure<Key>(
    where condition: Predicate<Element>?, sortedBy order: KeyPath<Element, Key> & Sendable
  ) throws { try configure(condition.map { FetchPredicate($0) }, [FetchSort(order)]) }

  private func configure(_ condition: FetchPredicate?, _ order: [FetchSort]) throws {
    do {
      try context.requireStores()
      let next = Self.makeController(context, condition, order)
      try next.performFetch()
      controller.delegate = nil
      held.controller = next
      next.delegate = relay
      self.condition = condition
      self.order = order
      show()
    } catch {
      self.error = error
      throw error
    }
  }

  /// Fetches the list again: after an error, or after the context was reset.
  /// - Throws: what `fetch(_:)` throws. The list shows what it showed before then.
  public func reload() throws { try configure(condition, order) }

  // MARK: Following

  fileprivate func show() {
    if error != nil { error = nil }
    objects = LiveListObjects(controller.fetchedObjects)
  }

  fileprivate func fail(_ error: any Error) {
    self.error = error
    objects = LiveListObjects(controller.fetchedObjects)
  }

  // MARK: Looking

  /// How many objects there are.
  public var count: Int { objects.count }
  /// Whether there is none.
  public var isEmpty: Bool { objects.isEmpty }
  /// The first object.
  public var first: Element? { objects.first }
  /// The last object.
  public var last: Element? { objects.last }
  /// The positions of the objects.
  public var indices: Range<Int> { 0..<objects.count }
  /// The object at a position; makes it, with its neighbours, when it is not in memory. Traps beyond the end.
  public subscript(position: Int) -> Element { objects[position] }
  /// The IDs of the objects, in order; makes none.
  public var objectIDs: [ManagedObjectID] { objects.objectIDs }
  /// Where an object is in the list; nil when it is not in it. Looks for its key, and at no other object.
  public func firstIndex(of object: Element) -> Int? {
    _ = objects
    return controller.indexPath(forObject: object)?[1]
  }
}

#if compiler(>=6.2)
  extension LiveList: @MainActor RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { objects.count }
  }
#endif

/// The objects of a ``LiveList`` at one moment, in order. Holds IDs; an object is made when it is looked at.
public struct LiveListObjects<Element: ManagedObject>: RandomAccessCollection {
  private let results: FetchedResults<Element>?

  init(_ results: FetchedResults<Element>?) { self.results = results }

  /// Always 0.
  public var startIndex: Int { 0 }
  /// How many there are.
  public var endIndex: Int { results?.count ?? 0 }
  /// The object at a position. Traps beyond the end.
  public subscript(position: Int) -> Element {
    guard let results else { trap("position \(position) is out of range: the list is empty.") }
    return results[position]
  }
  /// The IDs, in order; makes no objects.
  public var objectIDs: [ManagedObjectID] { results.map { Array($0.objectIDs) } ?? [] }
}

@available(*, unavailable)
extension LiveListObjects: Sendable {}

/// The controller of a list, which may be released on any thread.
private final class HeldController<Element: ManagedObject>: @unchecked Sendable {
  // @unchecked Sendable: used on the main actor only; other threads hand it there.
  var controller: FetchedResultsController<Element>
  init(_ controller: FetchedResultsController<Element>) { self.controller = controller }
}

/// Tells a list what its controller reports. The controller calls it on the main queue.
private final class LiveListRelay<Element: ManagedObject>: FetchedResultsSnapshotDelegate, @unchecked Sendable
{
  // @unchecked Sendable: `list` is set and read on the main queue.
  typealias Result = Element
  weak var list: LiveList<Element>?

  func controller(
    _ controller: FetchedResultsController<Element>, didChangeContentWith snapshot: FetchedResultsSnapshot
  ) {
    MainActor.assumeIsolated { list?.show() }
  }

  func controller(_ controller: FetchedResultsController<Element>, didFailWith error: any Error) {
    MainActor.assumeIsolated { list?.fail(error) }
  }
}
