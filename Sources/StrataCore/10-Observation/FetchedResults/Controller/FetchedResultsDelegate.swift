import Foundation

/// What has become of an object in a list of fetched results (rule 247).
public enum FetchedResultsChangeType: UInt, Sendable, Hashable {
  case insert = 1
  case delete = 2
  case move = 3
  case update = 4
}

/// A receiver of the changes of a ``FetchedResultsController``.
///
/// It chooses its reports by the protocol it conforms to: ``FetchedResultsSnapshotDelegate``, ``FetchedResultsDifferenceDelegate``,
/// ``FetchedResultsChangeDelegate``. When to several, the first of these counts, the difference only for a controller without sections
/// (rule 257). A delegate that conforms to none of them is not notified, and the results stay as they were (rule 244).
///
/// All methods are called on the context's queue, under no lock. They may edit the context and fetch; what they change is
/// told when they have come back.
public protocol FetchedResultsControllerDelegate<Result>: AnyObject {
  associatedtype Result: ManagedObject

  /// The entry of a section in ``FetchedResultsController/sectionIndexTitles``. The default is the first letter of its name,
  /// capitalised (rule 258).
  func controller(
    _ controller: FetchedResultsController<Result>, sectionIndexTitleForSectionName name: String
  )
    -> String?

  /// The list could not be followed.
  ///
  /// When the store could not be read, the controller still shows the list of before; with the next change in the context it reads the list
  /// again and tells what has changed since. `performFetch()` does so at once. When sections would not stand together, the controller is as it
  /// was before `performFetch()`: `fetchedObjects` is nil. The default hands what could not be read to the context's `readFailureHandler`, and writes
  /// other errors to standard error.
  func controller(_ controller: FetchedResultsController<Result>, didFailWith error: any Error)
}

extension FetchedResultsControllerDelegate {
  public func controller(
    _ controller: FetchedResultsController<Result>, sectionIndexTitleForSectionName name: String
  ) -> String? {
    FetchedResultsController<Result>.usualIndexTitle(name)
  }

  public func controller(_ controller: FetchedResultsController<Result>, didFailWith error: any Error) {
    if controller.fetchedObjects != nil {
      return controller.managedObjectContext.tell(ReadFailure(error, []))
    }
    Diagnostics.write("a fetched results controller could not follow its context", error, .error)
  }
}

/// Receives each change, between a call before and a call after all of them (rule 246).
///
/// Old index paths are those before all of the changes, new ones those after all of them. To bring a copy up to date: take out what
/// is deleted and what is moved, then the deleted sections; put in the inserted sections, then, in ascending order, what
/// is inserted and what is moved; then read again what is updated (rule 265).
public protocol FetchedResultsChangeDelegate<Result>: FetchedResultsControllerDelegate {
  /// The controller still shows what was before.
  func controllerWillChangeContent(_ controller: FetchedResultsController<Result>)

  /// A section has come or gone. `sectionInfo` of one that has gone holds no objects (rule 254).
  func controller(
    _ controller: FetchedResultsController<Result>, didChange sectionInfo: FetchedResultsSection<Result>,
    atSectionIndex index: Int, for type: FetchedResultsChangeType)

  /// An object has come, gone, moved or changed. `indexPath` is nil for an insertion, `newIndexPath` for a deletion (rule 250).
  func controller(
    _ controller: FetchedResultsController<Result>, didChange object: Result, at indexPath: IndexPath?,
    for type: FetchedResultsChangeType, newIndexPath: IndexPath?)

  /// All was reported; or the list was fetched again meanwhile, and must be read as a whole.
  func controllerDidChangeContent(_ controller: FetchedResultsController<Result>)
}

extension FetchedResultsChangeDelegate {
  public func controllerWillChangeContent(_ controller: FetchedResultsController<Result>) {}
  public func controller(
    _ controller: FetchedResultsController<Result>, didChange sectionInfo: FetchedResultsSection<Result>,
    atSectionIndex index: Int, for type: FetchedResultsChangeType
  ) {}
  public func controller(
    _ controller: FetchedResultsController<Result>, didChange object: Result, at indexPath: IndexPath?,
    for type: FetchedResultsChangeType, newIndexPath: IndexPath?
  ) {}
  public func controllerDidChangeContent(_ controller: FetchedResultsController<Result>) {}
}

/// Receives the difference from the list before. Only for controllers without sections (rule 257).
public protocol FetchedResultsDifferenceDelegate<Result>: FetchedResultsControllerDelegate {
  /// Moves are removals and insertions that are associated with each other, and so are updates, which stay where they are.
  func controller(
    _ controller: FetchedResultsController<Result>,
    didChangeContentWith difference: CollectionDifference<ManagedObjectID>)
}

/// Receives the new list as a value.
public protocol FetchedResultsSnapshotDelegate<Result>: FetchedResultsControllerDelegate {
  func controller(
    _ controller: FetchedResultsController<Result>, didChangeContentWith snapshot: FetchedResultsSnapshot)
}
