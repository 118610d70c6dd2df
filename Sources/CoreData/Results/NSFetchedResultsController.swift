import StrataCore

/// A fetched results controller, whatever its type.
open class NSFetchedResultsList: NSObject {
  let source: ResultsSource

  init(source: ResultsSource) { self.source = source }

  /// The title of a section, as a subclass may say.
  func title(ofSection name: String) -> String? { source.usualTitle(name) }

  open override func isEqual(_ object: Any?) -> Bool { (object as? NSFetchedResultsList)?.source === source }
  open override var hash: Int { ObjectIdentifier(source).hashValue }
}

/// Whether both are the same controller, also when a delegate has been handed one under another type.
public func === (left: NSFetchedResultsList?, right: NSFetchedResultsList?) -> Bool {
  left?.source === right?.source
}

/// Whether they are different controllers.
public func !== (left: NSFetchedResultsList?, right: NSFetchedResultsList?) -> Bool {
  left?.source !== right?.source
}

/// The objects that match a request, in order and in sections, kept up to date as their context changes (rules 242–265).
///
/// Belongs to its context's queue and does not hold its delegate. Without a delegate the results stay what they were (rule 244). The request
/// may be changed before the next `performFetch()`, which takes it as it is then; there is no cache that would have to be deleted.
///
/// Holds the objects that it has handed out and those that its delegate was told of, until they leave the list: they stay the same instances, with their transient values and what their
/// class stores in Swift. Those of a list of at most 1,024 objects are all registered and held from `performFetch()` on, as faults; of longer lists an object is registered when it is first
/// asked for. Of a longer list with a `fetchBatchSize` only the batches looked at last are held.
///
/// When the store cannot be read while a change is followed, the list stays as it was, the context's `readFailureHandler` receives the error, and
/// the next change in the context reads the list again and tells what was missed. `performFetch()` does so at once, or throws.
open class NSFetchedResultsController<ResultType>: NSFetchedResultsList {
  /// Makes a controller, which has no results before `performFetch()` (rule 243).
  ///
  /// - Parameters:
  ///   - sectionNameKeyPath: What divides the objects into sections; the first sort descriptor must keep these together (rule 242).
  ///   - name: Kept, and used for nothing: there is no cache.
  public init(
    fetchRequest: NSFetchRequest<ResultType>, managedObjectContext context: NSManagedObjectContext,
    sectionNameKeyPath: String?, cacheName name: String?
  ) {
    super.init(source: ResultsSource(fetchRequest, context, sectionNameKeyPath, name))
    source.owner = self
    source.makeController = { [weak self] in
      guard let self else { return nil }
      return self as? NSFetchedResultsController<any NSFetchRequestResult>
        ?? NSFetchedResultsController<any NSFetchRequestResult>(self.source)
    }
  }

  /// The same controller under another type.
  init(_ source: ResultsSource) { super.init(source: source) }

  /// What is fetched.
  open var fetchRequest: NSFetchRequest<ResultType> {
    if let request = source.request as? NSFetchRequest<ResultType> { return request }
    // What a delegate is handed: the request under the type it sees.
    return NSFetchRequest<ResultType>(source.request)
  }

  /// The context whose objects these are.
  open var managedObjectContext: NSManagedObjectContext { source.context }
  /// The key path to what divides objects into sections.
  open var sectionNameKeyPath: String? { source.sectionNameKeyPath }
  /// As given; there is no cache.
  open var cacheName: String? { source.cacheName }

  /// The receiver of changes. Not held.
  ///
  /// Set on the context's queue, and taken away from any thread, as by a view model's `deinit`: no call is decided on after `delegate = nil` has returned. That does not wait for a call that
  /// the context's queue is beginning or making just then, which holds the delegate until it is over.
  open var delegate: (any NSFetchedResultsControllerDelegate)? {
    get { source.delegate }
    set { source.delegate = newValue }
  }

  /// Does nothing: there is no cache that could be out of date (rule 259).
  open class func deleteCache(withName name: String?) {}

  /// Fetches the objects, or fetches them again. Does not notify the delegate. Objects that the list had and has again stay the same instances.
  ///
  /// - Throws: 134060 when the sort descriptors are nil (an empty list leaves the order to the store), for a result type that is not managed objects, when objects of a section do not stand together (rule 242), and for an order that no store has, unless all stores that are asked are in memory or atomic;
  ///   what `fetch` throws.
  open func performFetch() throws { try cocoa { try source.performFetch() } }

  /// All objects, in order; nil before `performFetch()` (rule 243). Makes all of them; `object(at:)` makes those around one.
  open var fetchedObjects: [ResultType]? {
    source.fetchedObjects.map { objects in
      guard let results = objects as? [ResultType] else { Self.refuse(objects.first) }
      return results
    }
  }

  /// The object at section and row. Traps when there is none.
  open func object(at indexPath: IndexPath) -> ResultType {
    let object = source.object(at: indexPath)
    guard let result = object as? ResultType else { Self.refuse(object) }
    return result
  }

  /// Section and row of an object; nil when it is not among the results.
  open func indexPath(forObject object: ResultType) -> IndexPath? {
    (object as? NSManagedObject).flatMap { source.indexPath(forObject: $0) }
  }

  /// The sections, in order; one without a section key path; nil before `performFetch()` (rule 258).
  open var sections: [any NSFetchedResultsSectionInfo]? { source.fetchedSections }

  /// The titles of the sections, each once, in order (rule 258).
  open var sectionIndexTitles: [String] { source.sectionIndexTitles }

  /// The title of a section: what the delegate says, or the first letter of its name, capitalised (rule 258). A subclass may say
  /// something else, which counts for the sections and for all titles.
  open func sectionIndexTitle(forSectionName sectionName: String) -> String? {
    source.indexTitle(sectionName, askedBy: self)
  }

  override func title(ofSection name: String) -> String? { sectionIndexTitle(forSectionName: name) }

  /// The first section of a title. Traps when `sectionIndexTitles` has another one at that index.
  open func section(forSectionIndexTitle title: String, at sectionIndex: Int) -> Int {
    source.section(forTitle: title, at: sectionIndex)
  }

  private static func refuse(_ object: NSManagedObject?) -> Never {
    stop(
      "a controller of \(ResultType.self) has fetched objects of class \(object.map { "\(type(of: $0))" } ?? "?"); its results are managed objects."
    )
  }
}
