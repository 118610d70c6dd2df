import CoreData
import Foundation
import Testing

/// Counts from a closure, as code did before the compiler checked for data races.
private var notifications = 0

@Suite("Code for Core Data in Swift 5 mode")
struct LibraryTests {
  private func library() -> (Library, NSManagedObjectContext) {
    let library = Library()
    let context = library.container.newBackgroundContext()
    return (library, context)
  }

  @Test("Objects are made, validated, saved, fetched and deleted")
  func story() throws {
    let (library, context) = library()
    try context.performAndWait {
      let shelf = NSEntityDescription.insertNewObject(forEntityName: "Bookcase", into: context) as! Bookcase
      shelf.setValue("Cellar", forKey: "room")
      for (title, pages) in [("emma", 474), ("ulysses", 732), ("candide", 129)] {
        let book = Novel(context: context)
        book.title = title
        book.pages = Int32(pages)
        book.shelf = shelf
      }
      library.saveContext(context)
      #expect(library.saves == 1)

      let request: NSFetchRequest<Novel> = Novel.fetchRequest()
      request.predicate = NSPredicate(format: "pages > %d AND shelf.room == %@", 200, "Cellar")
      request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: false)]
      let books = try context.fetch(request)
      // Validation has written them with capitals.
      #expect(books.map { $0.title! } == ["Ulysses", "Emma"] && books[0].value(forKey: "added") is Date)
      books[0].setValue(nil, forKey: "pages")
      #expect(books[0].value(forKey: "pages") as? Int == 0)
      let members = shelf.mutableSetValue(forKey: "books")
      members.remove(books[0])
      #expect(members.count == 2 && books[0].shelf == nil)
      library.saveContext(context)
      context.delete(shelf)
      library.saveContext(context)
      #expect(try context.count(for: Novel.fetchRequest() as NSFetchRequest<Novel>) == 1)
    }
  }

  @Test("Errors are NSErrors: Core Data's, and the application's own")
  func errors() throws {
    let (_, context) = library()
    context.performAndWait {
      let book = Novel(context: context)
      do {
        try context.save()
        Issue.record("saved without a title")
      } catch let error as NSError {
        #expect(error.domain == NSCocoaErrorDomain && error.code == NSValidationMissingMandatoryPropertyError)
      }
      book.title = "Forbidden"
      book.setValue(NSNumber(value: 3_000_000_000), forKey: "pages")
      do {
        try context.save()
        Issue.record("saved")
      } catch let error as NSError {
        #expect(error.code == NSValidationNumberTooLargeError)
      }
      book.pages = 3
      do {
        try context.save()
        Issue.record("saved")
      } catch let error as NSError {
        #expect(error.domain == "Library" && error.localizedDescription == "Not in this library.")
      }
      var value: AnyObject? = "war and peace" as NSString
      do { try book.validateValue(&value, forKey: "title") } catch { Issue.record(error) }
      #expect(value as? String == "War And Peace")
    }
  }

  @Test("Contexts beside each other, closures that capture objects, notifications")
  func contexts() throws {
    let library = Library()
    let writer = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    writer.persistentStoreCoordinator = library.container.persistentStoreCoordinator
    let child = NSManagedObjectContext(.privateQueue)
    child.parent = writer
    writer.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
    let observer = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: writer, queue: nil
    ) { note in
      let inserted = note.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject>
      notifications += inserted?.count ?? 0
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    var book: Novel!
    try child.performAndWait {
      book = Novel(context: child)
      book.title = "Emma"
      try child.save()
    }
    let done = DispatchSemaphore(value: 0)
    writer.perform {
      library.saveContext(writer)
      done.signal()
    }
    done.wait()
    #expect(notifications == 1 && library.saves == 1)
    let title = child.performAndWait { (child.object(with: book.objectID) as? Novel)?.title }
    #expect(title == "Emma")
  }

  @Test("A fetched results controller with a delegate")
  func results() throws {
    let library = Library()
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = library.container.persistentStoreCoordinator
    class Delegate: NSObject, NSFetchedResultsControllerDelegate {
      var changes: [NSFetchedResultsChangeType] = []
      func controller(
        _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any,
        at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
      ) { changes.append(type) }
    }
    let request: NSFetchRequest<Novel> = Novel.fetchRequest()
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    let delegate = Delegate()
    controller.delegate = delegate
    try controller.performFetch()
    let book = Novel(context: context)
    book.title = "Emma"
    library.saveContext(context)
    book.pages = 4
    library.saveContext(context)
    #expect(delegate.changes == [.insert, .update] && controller.fetchedObjects == [book])
  }
}
