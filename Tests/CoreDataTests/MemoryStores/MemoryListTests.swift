import CoreData
import Testing

@Suite("Fetched results controllers of stores in memory: members by blocks, orders by functions")
struct MemoryListTests {
  private let shelf: MemoryShelf

  init() throws { shelf = try MemoryShelf() }

  /// Notes what it is told, as `insert - 0.1 New`.
  private final class Listener: NSFetchedResultsControllerDelegate {
    var calls: [String] = []

    func controllerWillChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {
      let shown = (controller.fetchedObjects as? [NSManagedObject] ?? []).count
      calls.append("will \(shown)")
    }

    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>, didChange anObject: Any,
      at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {
      let text = (anObject as? NSManagedObject)?.value(forKey: "text") as? String ?? "?"
      calls.append("\(type) \(Self.text(indexPath)) \(Self.text(newIndexPath)) \(text)")
    }

    func controller(
      _ controller: NSFetchedResultsController<any NSFetchRequestResult>,
      didChange sectionInfo: any NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
      for type: NSFetchedResultsChangeType
    ) {
      calls.append("\(type) section \(sectionIndex) \(sectionInfo.name)")
    }

    func controllerDidChangeContent(_ controller: NSFetchedResultsController<any NSFetchRequestResult>) {
      calls.append("did")
    }

    private static func text(_ path: IndexPath?) -> String { path.map { "\($0[0]).\($0[1])" } ?? "-" }

    /// What it was told since the last time.
    func told() -> [String] {
      defer { calls = [] }
      return calls
    }
  }

  private func note(_ text: String) throws -> NSManagedObject {
    let request = MemoryShelf.request(NSPredicate(format: "text == %@", text))
    return try #require(try shelf.context.fetch(request).first)
  }

  private func change(_ text: String, _ value: Any, _ key: String) throws {
    try note(text).setValue(value, forKey: key)
    shelf.context.processPendingChanges()
  }

  @Test("Objects come, go, move and change with what the block and the function say of them")
  func follows() throws {
    let controller = NSFetchedResultsController(
      fetchRequest: MemoryShelf.request(MemoryShelf.viewed(5), [MemoryShelf.byLength, MemoryShelf.byText]),
      managedObjectContext: shelf.context, sectionNameKeyPath: nil, cacheName: nil)
    let listener = Listener()
    controller.delegate = listener
    try controller.performFetch()
    var shown: [String] { MemoryShelf.texts(controller.fetchedObjects ?? []) }
    #expect(shown == ["Zed", "Hello"])
    #expect(controller.indexPath(forObject: try note("Hello")) == IndexPath(indexes: [0, 1]))
    #expect(controller.object(at: IndexPath(indexes: [0, 0])).value(forKey: "text") as? String == "Zed")

    try change("Bye", 6, "views")
    #expect(shown == ["Bye", "Zed", "Hello"])
    #expect(listener.told() == ["will 2", "insert - 0.0 Bye", "did"])
    try change("Hello", 43, "views")
    #expect(listener.told() == ["will 3", "update 0.2 0.2 Hello", "did"])
    try change("Bye", "Goodbye", "text")
    #expect(shown == ["Zed", "Hello", "Goodbye"])
    #expect(listener.told() == ["will 3", "move 0.0 0.2 Goodbye", "did"])
    // What the list does not show is told to nobody.
    MemoryShelf.note("Quiet", 1, [], in: shelf.context)
    shelf.context.processPendingChanges()
    #expect(listener.told().isEmpty)
    try change("Zed", 0, "views")
    #expect(listener.told() == ["will 3", "delete 0.0 - Zed", "did"])
    shelf.context.delete(try note("Hello"))
    shelf.context.processPendingChanges()
    #expect(listener.told() == ["will 2", "delete 0.0 - Hello", "did"])
    #expect(shown == ["Goodbye"])
    #expect(controller.sections?.map(\.numberOfObjects) == [1])
    shelf.context.reset()
    #expect(controller.fetchedObjects == nil)
  }

  @Test("Sections come and go with their objects")
  func sections() throws {
    let byViews = NSSortDescriptor(key: "views", ascending: true) { first, second in
      let (left, right) = (first as? Int ?? 0, second as? Int ?? 0)
      return left < right ? .orderedAscending : left > right ? .orderedDescending : .orderedSame
    }
    let controller = NSFetchedResultsController(
      fetchRequest: MemoryShelf.request(NSPredicate(format: "tags != nil AND text != 'Hidden'"), [byViews]),
      managedObjectContext: shelf.context, sectionNameKeyPath: "views", cacheName: nil)
    let listener = Listener()
    controller.delegate = listener
    try controller.performFetch()
    var shown: [String] { controller.sections?.map { "\($0.name):\($0.numberOfObjects)" } ?? [] }
    #expect(shown == ["3:1", "10:1", "42:1"])
    #expect(controller.sectionIndexTitles == ["3", "1", "4"])
    #expect(controller.section(forSectionIndexTitle: "4", at: 2) == 2)
    try change("Bye", 42, "views")
    #expect(shown == ["10:1", "42:2"])
    let told = listener.told()
    #expect(told.contains("delete section 0 3"))
    #expect(told.contains { $0.hasPrefix("move 0.0 1.") && $0.hasSuffix(" Bye") }, "\(told)")
    MemoryShelf.note("New", 20, [], in: shelf.context)
    shelf.context.processPendingChanges()
    #expect(listener.told() == ["will 3", "insert section 1 20", "insert - 1.0 New", "did"])
    let wrong = NSFetchedResultsController(
      fetchRequest: MemoryShelf.request(nil, [byViews]), managedObjectContext: shelf.context,
      sectionNameKeyPath: "nothing", cacheName: nil)
    #expect(throws: CocoaError.self) { try wrong.performFetch() }
  }

  @Test("Rule 242: objects of a section that do not stand together are an error")
  func brokenSections() throws {
    MemoryShelf.note("Adieu", 3, [], in: shelf.context)
    MemoryShelf.note("Au revoir", 42, [], in: shelf.context)
    let controller = NSFetchedResultsController(
      fetchRequest: MemoryShelf.request(nil, [MemoryShelf.byLength, MemoryShelf.byText]),
      managedObjectContext: shelf.context, sectionNameKeyPath: "views", cacheName: nil)
    let error = #expect(throws: CocoaError.self) { try controller.performFetch() }
    #expect(error?.code == .coreData)
    #expect(controller.fetchedObjects == nil)
    // The same in a list that is followed: it is as before performFetch().
    let texts = NSFetchedResultsController(
      fetchRequest: MemoryShelf.request(nil, [MemoryShelf.byLength]), managedObjectContext: shelf.context,
      sectionNameKeyPath: "text", cacheName: nil)
    let listener = Listener()
    texts.delegate = listener
    try texts.performFetch()
    #expect(texts.sections?.count == 5)
    MemoryShelf.note("Hello", 1, [], in: shelf.context)
    shelf.context.processPendingChanges()
    #expect(texts.fetchedObjects == nil && texts.sections == nil)
    #expect(listener.told().isEmpty)
  }
}
