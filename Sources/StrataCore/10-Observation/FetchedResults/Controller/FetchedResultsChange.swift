import Foundation
import Synchronization

/// What one event has changed in the list of a ``FetchedResultsController``, as a value.
public struct FetchedResultsChange: Sendable {
  /// One object that has come, gone, moved or changed.
  public struct Item: Sendable, Hashable {
    public let objectID: ManagedObjectID
    public let type: FetchedResultsChangeType
    /// Where it was before all of the changes; nil for an insertion.
    public let indexPath: IndexPath?
    /// Where it is after all of them; nil for a deletion.
    public let newIndexPath: IndexPath?
    /// The same as positions in the whole list.
    let oldPosition: Int
    let newPosition: Int
  }

  /// A section that has come or gone.
  public struct Section: Sendable, Hashable {
    public let index: Int
    public let name: String
  }

  /// The list as it is now.
  public let snapshot: FetchedResultsSnapshot
  /// Whether this is not a change but a beginning: the list when the sequence was made, or when it was fetched again.
  public let isInitial: Bool
  /// Sections that have gone, by their index before, ascending.
  public let deletedSections: [Section]
  /// Sections that have come, by their index now, ascending.
  public let insertedSections: [Section]
  /// Deletions, insertions, moves and updates, in this order.
  public let items: [Item]

  /// The change as a difference of two lists of IDs. Moves and updates are removals and insertions that are associated with each
  /// other. Empty when ``isInitial``.
  public var difference: CollectionDifference<ManagedObjectID> {
    var changes: [CollectionDifference<ManagedObjectID>.Change] = []
    for item in items {
      let isPair = item.type == .move || item.type == .update
      if item.type != .insert {
        changes.append(
          .remove(
            offset: item.oldPosition, element: item.objectID,
            associatedWith: isPair ? item.newPosition : nil))
      }
      if item.type != .delete {
        changes.append(
          .insert(
            offset: item.newPosition, element: item.objectID,
            associatedWith: isPair ? item.oldPosition : nil))
      }
    }
    guard let difference = CollectionDifference(changes) else {
      trap("the changes of a list contradict each other")
    }
    return difference
  }

  init(initial snapshot: FetchedResultsSnapshot) {
    self.snapshot = snapshot
    isInitial = true
    deletedSections = []
    insertedSections = []
    items = []
  }

  init(_ report: ResultsReport, _ snapshot: FetchedResultsSnapshot) {
    self.snapshot = snapshot
    isInitial = false
    deletedSections = report.deletedSections.map { Section(index: $0.index, name: $0.name) }
    insertedSections = report.insertedSections.map { Section(index: $0.index, name: $0.name) }
    items = report.items.map { item in
      Item(
        objectID: FetchedResultsIdentifiers.identifier(item.identity, item.code, report.stores),
        type: item.kind, indexPath: item.oldPath, newIndexPath: item.newPath, oldPosition: item.oldPosition,
        newPosition: item.newPosition)
    }
  }
}
