import CoreData
import Testing

@Suite("A delegate that is taken away on another thread")
struct DelegateElsewhereTests {
  /// Writes down the calls.
  private final class Listener: NSFetchedResultsControllerDelegate {
    var told: [String] = []
    var inWill: (() -> Void)?

    func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
      told.append("will")
      inWill?()
    }
    func controller(
      _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any,
      at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) { told.append("object") }
    func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
      told.append("did")
    }
  }

  /// As programs have them: whoever lets go of the model last, on whatever thread, takes the delegate away.
  private final class BirdList: NSFetchedResultsControllerDelegate {
    let controller: NSFetchedResultsController<Bird>

    init(_ context: NSManagedObjectContext) throws {
      controller = DelegateElsewhereTests.controller(context)
      controller.delegate = self
      try controller.performFetch()
    }
    deinit { controller.delegate = nil }
  }

  private let stand: BirdStand
  private let context: NSManagedObjectContext

  init() throws {
    stand = try BirdStand()
    context = stand.context(.privateQueueConcurrencyType)
  }

  private static func controller(_ context: NSManagedObjectContext) -> NSFetchedResultsController<Bird> {
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    return NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
  }

  /// A new bird, and the end of the event.
  private func insert(_ name: String) {
    let bird = Bird(context: context)
    bird.name = name
    context.processPendingChanges()
  }

  /// Runs `work` on a thread of its own, and waits for it.
  private func elsewhere(_ work: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      work()
      done.signal()
    }
    done.wait()
  }

  @Test("A view model that is released on another thread takes its delegate away")
  func releasedModel() throws {
    var list: BirdList? = try context.performAndWait { try BirdList(context) }
    weak let gone = list
    #expect(gone != nil)
    // This thread is not the context's.
    list = nil
    #expect(gone == nil)
    context.performAndWait { insert("wren") }
    #expect(context.performAndWait { context.insertedObjects.count } == 1)
  }

  @Test("Without its delegate the list stays what it was, and follows again with the next one")
  func unfollowed() throws {
    let listener = Listener()
    // Unsafe: used by one thread after the other.
    nonisolated(unsafe) let controller = Self.controller(context)
    try context.performAndWait {
      controller.delegate = listener
      try controller.performFetch()
      insert("wren")
    }
    #expect(listener.told == ["will", "object", "did"])
    elsewhere { controller.delegate = nil }
    #expect(controller.delegate == nil)
    context.performAndWait {
      insert("robin")
      #expect(controller.fetchedObjects?.map(\.name) == ["wren"])
      #expect(listener.told.count == 3)
      controller.delegate = listener
      insert("swan")
      // What was missed comes along.
      #expect(listener.told.dropFirst(3) == ["will", "object", "object", "did"])
      #expect(controller.fetchedObjects?.map(\.name) == ["robin", "swan", "wren"])
    }
  }

  @Test("A delegate that is taken away in the middle of a report gets nothing more of it")
  func inTheMiddle() throws {
    let listener = Listener()
    // Unsafe: used by one thread after the other.
    nonisolated(unsafe) let controller = Self.controller(context)
    try context.performAndWait {
      controller.delegate = listener
      try controller.performFetch()
      listener.inWill = {
        _ = controller.fetchedObjects
        elsewhere { controller.delegate = nil }
      }
      insert("wren")
      #expect(listener.told == ["will"])
      // The list had changed already, and is told so by all that asks it.
      let bird = try #require(controller.fetchedObjects?.first)
      #expect(controller.object(at: IndexPath(row: 0, section: 0)) === bird)
      insert("robin")
      #expect(controller.fetchedObjects?.count == 1)
      #expect(listener.told == ["will"])
    }
  }

  @Test("A delegate that is taken away while the context's queue edits is not told afterwards")
  func atOnce() throws {
    let listener = Listener()
    // Unsafe: the delegate is what two threads set; all else is used on the context's queue.
    nonisolated(unsafe) let controller = Self.controller(context)
    try context.performAndWait { try controller.performFetch() }
    for round in 0..<50 {
      context.performAndWait { controller.delegate = listener }
      let begun = DispatchSemaphore(value: 0)
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        begun.signal()
        controller.delegate = nil
        done.signal()
      }
      begun.wait()
      context.performAndWait {
        insert("a \(round)")
        insert("b \(round)")
      }
      done.wait()
      context.performAndWait {
        let count = listener.told.count
        insert("c \(round)")
        #expect(listener.told.count == count)
      }
    }
    context.performAndWait {
      controller.delegate = listener
      insert("last")
      #expect(controller.fetchedObjects?.count == 151)
      #expect(listener.told.last == "did")
    }
  }
}
