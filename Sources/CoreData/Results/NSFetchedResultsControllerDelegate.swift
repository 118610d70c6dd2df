import StrataCore

/// What has become of an object or section of a list. The raw values are Core Data's (rule 247).
public typealias NSFetchedResultsChangeType = FetchedResultsChangeType

/// One section of a fetched results controller.
public protocol NSFetchedResultsSectionInfo {
  /// What the section key path leads to, as text.
  var name: String { get }
  /// Its entry in the index of sections.
  var indexTitle: String? { get }
  /// How many objects there are.
  var numberOfObjects: Int { get }
  /// The objects, in order.
  var objects: [Any]? { get }
}

/// A receiver of the changes of a fetched results controller, on the context's queue.
///
/// Every method has a default and may be left out. The difference counts only for a controller without sections, and then nothing else is
/// told (rule 257), but for one `controllerWillChangeContent(_:)` before the first difference: whether a method is there is known once it has been called.
///
/// Controllers of any type hand over an `NSFetchedResultsController<NSFetchRequestResult>` that shows the same list; `===` and `==` say whether
/// two of them are the same controller.
public protocol NSFetchedResultsControllerDelegate: AnyObject {
  /// The controller still shows what was before.
  func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)

  /// An object has come, gone, moved or changed. Index paths are those before and after all changes (rule 250).
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?)

  /// A section has come or gone (rules 253, 254).
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType)

  /// All has been told.
  func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)

  /// How the list differs from the one before.
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>)

  /// The entry of a section in the index. Default the first letter of its name, capitalised (rule 258).
  func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    sectionIndexTitleForSectionName sectionName: String
  ) -> String?
}

extension NSFetchedResultsControllerDelegate {
  public func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>)
  {}

  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
    at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {}

  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
    for type: NSFetchedResultsChangeType
  ) {}

  public func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {
  }

  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    didChangeContentWith diff: CollectionDifference<NSManagedObjectID>
  ) {
    controller.source.hasNoDifferenceMethod = true
  }

  public func controller(
    _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
    sectionIndexTitleForSectionName sectionName: String
  ) -> String? {
    ResultsSource.usualIndexTitle(sectionName)
  }
}
