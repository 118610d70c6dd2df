//
//  FetchedListController.swift
//  LedgerKit
//

import CoreData
import Foundation

/// One change of a list, in the order in which it is told.
public enum ListChange: Equatable {
  case insertSection(Int)
  case deleteSection(Int)
  case insert(IndexPath)
  case delete(IndexPath)
  case update(IndexPath)
  case move(IndexPath, IndexPath)
}

@objc public protocol FetchedListDelegate: AnyObject {
  func listDidChange(_ list: NSObject)
}

/// A list of objects in sections, with what a table needs.
open class FetchedListController<T: NSManagedObject>: NSObject, NSFetchedResultsControllerDelegate {
  public let controller: NSFetchedResultsController<T>
  public weak var delegate: FetchedListDelegate?
  public private(set) var changes: [[ListChange]] = []
  private var pending: [ListChange] = []

  public init(
    request: NSFetchRequest<T>, context: NSManagedObjectContext, sectionKeyPath: String? = nil, cacheName: String? = nil
  ) {
    controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: sectionKeyPath, cacheName: cacheName)
    super.init()
    controller.delegate = self
  }

  public func reload() throws {
    NSFetchedResultsController<T>.deleteCache(withName: controller.cacheName)
    try controller.performFetch()
  }

  public func filter(_ predicate: NSPredicate?) throws {
    controller.fetchRequest.predicate = predicate
    try reload()
  }

  public var numberOfSections: Int { return controller.sections?.count ?? 0 }

  public func numberOfItems(in section: Int) -> Int {
    return controller.sections?[section].numberOfObjects ?? 0
  }

  public func title(ofSection section: Int) -> String? {
    return controller.sections?[section].name
  }

  public subscript(indexPath: IndexPath) -> T {
    return controller.object(at: indexPath)
  }

  /// The titles of all rows by section, for tests and for logs.
  public func outline(_ title: (T) -> String) -> [String] {
    return (controller.sections ?? []).map { section in
      let titles = (section.objects as? [T] ?? []).map(title)
      return "\(section.name): \(titles.joined(separator: ", "))"
    }
  }

  // MARK: NSFetchedResultsControllerDelegate

  public func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
    pending = []
  }

  public func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange sectionInfo: NSFetchedResultsSectionInfo,
    atSectionIndex sectionIndex: Int, for type: NSFetchedResultsChangeType
  ) {
    switch type {
    case .insert:
      pending.append(.insertSection(sectionIndex))
    case .delete:
      pending.append(.deleteSection(sectionIndex))
    case .move, .update:
      break
    @unknown default:
      break
    }
  }

  public func controller(
    _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any, at indexPath: IndexPath?,
    for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    switch type {
    case .insert:
      if let newIndexPath = newIndexPath { pending.append(.insert(newIndexPath)) }
    case .delete:
      if let indexPath = indexPath { pending.append(.delete(indexPath)) }
    case .update:
      if let indexPath = indexPath { pending.append(.update(indexPath)) }
    case .move:
      if let indexPath = indexPath, let newIndexPath = newIndexPath { pending.append(.move(indexPath, newIndexPath)) }
    @unknown default:
      break
    }
  }

  public func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
    changes.append(pending)
    pending = []
    delegate?.listDidChange(self)
  }
}

/// Accounts by their first letters.
public final class AccountIndexController: FetchedListController<Account> {
  public convenience init(context: NSManagedObjectContext) {
    let request: NSFetchRequest<Account> = Account.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(key: #keyPath(Account.name), ascending: true)]
    self.init(request: request, context: context, sectionKeyPath: #keyPath(Account.initial))
  }

  public var indexTitles: [String] { return controller.sectionIndexTitles }

  public func section(forTitle title: String) -> Int {
    guard let index = indexTitles.firstIndex(of: title) else { return NSNotFound }
    return controller.section(forSectionIndexTitle: title, at: index)
  }
}

/// Entries by month.
public final class JournalController: FetchedListController<Entry> {
  public convenience init(context: NSManagedObjectContext, account: Account? = nil) {
    let request = Entry.sortedFetchRequest
    if let account = account {
      request.predicate = NSPredicate(format: "%K == %@", #keyPath(Entry.account), account)
    }
    self.init(request: request, context: context, sectionKeyPath: #keyPath(Entry.sectionIdentifier))
  }
}

/// Entries by the name of their account, a computed property of another object.
public final class AccountJournalController: FetchedListController<Entry> {
  public convenience init(context: NSManagedObjectContext) {
    let request = NSFetchRequest<Entry>(entityName: Entry.entityName)
    request.sortDescriptors = [
      NSSortDescriptor(key: "account.name", ascending: true),
      NSSortDescriptor(key: #keyPath(Entry.bookedAt), ascending: true),
    ]
    self.init(request: request, context: context, sectionKeyPath: #keyPath(Entry.accountName))
  }
}
