import CoreData
import ReadInterposer
import Testing

@Suite("NSFetchedResultsController and a store that cannot be read")
struct UnreadableListTests {
  private final class Listener: NSFetchedResultsControllerDelegate {
    var told: [String] = []

    func controller(
      _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any,
      at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) { told.append("\(type) \((anObject as? Bird)?.name ?? "nil")") }
  }

  @Test("The list stays, the context's handler has the error, the next change tells what was missed")
  func listGoesOn() throws {
    let stand = try BirdStand()
    let context = try stand.stocked()
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let controller = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    let listener = Listener()
    controller.delegate = listener
    var codes: [Int] = []
    context.readFailureHandler = { codes.append(($0.error as NSError).code) }
    try controller.performFetch()
    let before = try #require(controller.fetchedObjects)
    let (first, second) = (try #require(before.first), before[1])
    context.refresh(first, mergeChanges: false)

    let file = try #require(stand.coordinator.persistentStores.first?.url)
    let plan = ri_arm(file.resolvingSymlinksInPath().path, 1, 1, EIO)
    try #require(plan >= 0)
    first.name = "zebra finch"
    context.processPendingChanges()
    #expect(ri_disarm(plan) > 0)
    #expect(!codes.isEmpty && listener.told == [])
    #expect(controller.fetchedObjects == before && !first.isDeleted)

    codes = []
    second.tally += 1
    context.processPendingChanges()
    #expect(codes == [])
    #expect(listener.told.contains("move zebra finch"))
    #expect(controller.fetchedObjects == (try context.fetch(request)))
    #expect(controller.fetchedObjects?.last == first)
  }
}
