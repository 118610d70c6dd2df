import CoreData
import Testing

/// A bird that keeps something beside its attributes.
private final class ShownBird: NSManagedObject {
  var thumbnail: String?
  var name: String? {
    get { value(forKey: "name") as? String }
    set { setValue(newValue, forKey: "name") }
  }
}

/// Objects are the same instances while a controller shows them.
@Suite("Objects that a fetched results controller holds")
struct HeldResultsTests {
  private let stand: BirdStand
  private let context: NSManagedObjectContext

  init() throws {
    stand = try BirdStand { model in
      let mark = NSAttributeDescription()
      mark.name = "mark"
      mark.attributeType = .stringAttributeType
      mark.isTransient = true
      model.entitiesByName["Bird"]?.managedObjectClass = ShownBird.self
      model.entitiesByName["Bird"]?.properties.append(mark)
    }
    context = stand.context()
  }

  private final class Listener: NSFetchedResultsControllerDelegate {
    var deleted: [ObjectIdentifier] = []
    var deletedNames: [String?] = []
    var count = 0

    func controller(
      _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any,
      at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {
      count += 1
      if type == .delete, let bird = anObject as? ShownBird {
        deleted.append(ObjectIdentifier(bird))
        deletedNames.append(bird.name)
      }
    }
  }

  @discardableResult
  private func make(_ name: String, in context: NSManagedObjectContext) throws -> ShownBird {
    let new = NSEntityDescription.insertNewObject(forEntityName: "Bird", into: context)
    let bird = try #require(new as? ShownBird)
    bird.name = name
    return bird
  }

  private func stock(_ names: [String]) throws {
    let writer = stand.context()
    for name in names { try make(name, in: writer) }
    try writer.save()
  }

  private func list(_ delegate: Listener?, batchSize: Int = 0) throws -> NSFetchedResultsController<
    ShownBird
  > {
    let request = NSFetchRequest<ShownBird>(entityName: "Bird")
    request.fetchBatchSize = batchSize
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let list = NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: nil, cacheName: nil)
    list.delegate = delegate
    try list.performFetch()
    return list
  }

  private func bird(_ place: Int, of list: NSFetchedResultsController<ShownBird>) -> ShownBird {
    list.object(at: IndexPath(item: place, section: 0))
  }

  private func thumbnails(_ list: NSFetchedResultsController<ShownBird>) -> [String] {
    (list.fetchedObjects ?? []).map { $0.thumbnail ?? "nil" }
  }

  @Test("Edits, saves and merges leave what shown objects keep; all of a short list are registered")
  func changes() throws {
    try stock(["coot", "gull", "swan", "wren"])
    let listener = Listener()
    let list = try list(listener)
    #expect(context.registeredObjects.count == 4)
    for place in 0..<4 {
      let bird = bird(place, of: list)
      bird.thumbnail = "of the \(bird.name ?? "nil")"
    }
    for place in [1, 2] { bird(place, of: list).setPrimitiveValue("seen", forKey: "mark") }
    var wanted = ["of the coot", "of the gull", "of the swan", "of the wren"]
    let ids = list.fetchedObjects?.map(\.objectID) ?? []
    bird(3, of: list).name = "auk"
    context.processPendingChanges()
    wanted.insert(wanted.removeLast(), at: 0)
    #expect(thumbnails(list) == wanted)
    try context.save()
    #expect(thumbnails(list) == wanted)
    try mergeSavedElsewhere { $0.name = "zebra finch" }
    #expect(bird(3, of: list).name == "zebra finch")
    wanted.append(wanted.remove(at: 1))
    #expect(thumbnails(list) == wanted)
    let marks = list.fetchedObjects?.map { $0.value(forKey: "mark") as? String }
    #expect(marks == [nil, "seen", "seen", nil])
    #expect(ids.allSatisfy { context.registeredObject(for: $0) != nil } && listener.count == 2)
    // The next fetch gives the same instances, too.
    try list.performFetch()
    #expect(thumbnails(list) == wanted)
  }

  /// Another context edits the coot; this one merges that, and tells of the object, which is shown.
  private func mergeSavedElsewhere(_ edit: (ShownBird) -> Void) throws {
    let other = stand.context()
    let request = NSFetchRequest<ShownBird>(entityName: "Bird")
    request.predicate = NSPredicate(format: "name == 'coot'")
    edit(try #require(try other.fetch(request).first))
    let (center, here, counts) = (NotificationCenter.default, context, Counts())
    let tokens = [
      center.addObserver(forName: .NSManagedObjectContextDidSave, object: other, queue: nil) {
        here.mergeChanges(fromContextDidSave: $0)
      },
      center.addObserver(forName: .NSManagedObjectContextObjectsDidChange, object: here, queue: nil) {
        counts.add(($0.userInfo?[NSRefreshedObjectsKey] as? Set<NSManagedObject>)?.count ?? 0)
      },
    ]
    defer { for token in tokens { center.removeObserver(token) } }
    try other.save()
    #expect(counts.all == [1])
  }

  /// Numbers that an observer adds on the test's thread.
  private final class Counts: @unchecked Sendable {
    // @unchecked Sendable: used on one thread.
    private(set) var all: [Int] = []
    func add(_ count: Int) { all.append(count) }
  }

  @Test("What leaves the list is told as the instance that was shown, and released")
  func leaving() throws {
    try stock(["coot", "gull"])
    let listener = Listener()
    let list = try list(listener)
    weak var gone: ShownBird?
    try { () throws in
      let new = try make("dipper", in: context)
      context.processPendingChanges()
      #expect(bird(1, of: list) === new)
      context.delete(new)
      context.processPendingChanges()
      #expect(listener.deleted == [ObjectIdentifier(new)])
      let coot = bird(0, of: list)
      gone = coot
      context.delete(coot)
      try context.save()
      #expect(listener.deleted == [ObjectIdentifier(new), ObjectIdentifier(coot)])
    }()
    #expect(listener.deletedNames == ["dipper", "coot"])
    #expect(gone == nil && list.fetchedObjects?.map(\.name) == ["gull"])
  }

  @Test("Of a long list what was handed out is held, until it leaves the list or the controller ends")
  func longList() throws {
    try stock((1_000...2_100).map { "bird \($0)" })
    let listener = Listener()
    try { () throws in
      let list = try list(listener)
      #expect(context.registeredObjects.isEmpty)
      for place in [0, 300, 700, 1_100] { bird(place, of: list).thumbnail = "\(place)" }
      bird(500, of: list).name = "zebra finch"
      try context.save()
      #expect(listener.count == 1)
      #expect([0, 300, 699, 1_099].map { bird($0, of: list).thumbnail } == ["0", "300", "700", "1100"])
      list.fetchRequest.predicate = NSPredicate(format: "name != 'bird 1300'")
      try list.performFetch()
      #expect([0, 698, 1_098].map { bird($0, of: list).thumbnail } == ["0", "700", "1100"])
      list.fetchRequest.predicate = nil
      try list.performFetch()
      #expect(bird(300, of: list).name == "bird 1300" && bird(300, of: list).thumbnail == nil)
      #expect(!context.registeredObjects.isEmpty)
    }()
    // Not by a weak reference: a context lets go later of what nobody holds.
    #expect(context.registeredObjects.isEmpty, "nothing holds the controller, which held the objects")
  }

  @Test("Of a long list with a batch size the batches looked at last are held; of a short one what it shows")
  func longListInBatches() throws {
    try stock((10_000..<13_000).map { "bird \($0)" })
    let listener = Listener()
    let list = try list(listener, batchSize: 50)
    #expect(context.registeredObjects.isEmpty)
    func scroll() {
      #expect((0..<3_000).allSatisfy { bird($0, of: list).name == "bird \(10_000 + $0)" })
    }
    scroll()
    #expect(context.registeredObjects.count <= 200)
    // What the delegate is told of is not held, either.
    for number in 0..<300 { bird(number * 10, of: list).setValue(number, forKey: "tally") }
    try context.save()
    #expect(listener.count == 300)
    scroll()
    #expect(context.registeredObjects.count <= 200)
    list.fetchRequest.predicate = NSPredicate(format: "name < 'bird 11000'")
    try list.performFetch()
    #expect(context.registeredObjects.count >= 1_000)
    for place in [0, 500, 999] { bird(place, of: list).thumbnail = "\(place)" }
    for place in 0..<1_000 { _ = bird(place, of: list).name }
    #expect([0, 500, 999].map { bird($0, of: list).thumbnail } == ["0", "500", "999"])
    list.fetchRequest.predicate = nil
    try list.performFetch()
    scroll()
    #expect(context.registeredObjects.count <= 200)
  }

  @Test("A list with a batch size that grows long through changes holds no more than one fetched as long")
  func growingLong() throws {
    try stock((10_000..<11_000).map { "bird \($0)" })
    let listener = Listener()
    let list = try list(listener, batchSize: 50)
    #expect(context.registeredObjects.count >= 1_000)
    let shown = bird(3, of: list)
    try { () throws in for number in 11_000..<11_100 { try make("bird \(number)", in: context) } }()
    try context.save()
    #expect(listener.count == 100)
    #expect(context.registeredObjects.count <= 200)
    #expect(list.sections?.first?.numberOfObjects == 1_100)
    #expect(bird(3, of: list) === shown, "held here")
  }

  @Test("After reset() nothing of before is held, and the next fetch makes new objects")
  func afterReset() throws {
    try stock(["coot"])
    let listener = Listener()
    let list = try list(listener)
    weak var before: ShownBird?
    before = bird(0, of: list)
    before?.thumbnail = "old"
    context.reset()
    #expect(list.fetchedObjects == nil && before == nil)
    try list.performFetch()
    #expect(thumbnails(list) == ["nil"])
  }
}
