import Foundation
import Strata
import Testing
import TortureKit

/// An answer that takes several reads of a store shows one commit, whatever others save in between.
///
///     group x, rank 0: x1 x2 x3      group y, rank 1: y1 y2      group z, rank 2
@Suite struct OneCommitTests {
  private let store: TemporaryStore
  private let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(LawModel.make(isIndexed: true)) { $0.durability = .none }
    let writer = store.context()
    for (rank, (name, count)) in [("x", 3), ("y", 2), ("z", 0)].enumerated() {
      let group = ResultsStand.make("Group", writer)
      group.setValue(name, forKey: "name")
      group.setValue(rank, forKey: "rank")
      for place in 0..<count {
        ResultsStand.item("\(name)\(place + 1)", name, place, writer).setValue(group, forKey: "group")
      }
    }
    try writer.save()
    context = store.context()
  }

  private func group(_ name: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    let request = FetchRequest<ManagedObject>(
      entityName: "Group", predicate: try FetchPredicate(format: "name == %@", argumentArray: [name]))
    return try #require(try context.fetch(request).first)
  }

  /// Saves in another context: both groups have the items and the rank of the other. Who is in the group of which rank stays the same.
  private func exchange() throws {
    let writer = store.context()
    let (x, y) = (try group("x", writer), try group("y", writer))
    for item in try writer.fetch(FetchRequest<ManagedObject>(entityName: "Item")) {
      item.setValue(item.value(forKey: "kind") as? String == "x" ? y : x, forKey: "group")
    }
    x.setValue(1, forKey: "rank")
    y.setValue(0, forKey: "rank")
    try writer.save()
  }

  private func items(_ format: String? = nil) throws -> FetchRequest<ManagedObject> {
    FetchRequest<ManagedObject>(
      entityName: "Item", predicate: try format.map { try FetchPredicate(format: $0) },
      sortDescriptors: [FetchSort("group.rank"), FetchSort("name")])
  }

  private func names(_ objects: [ManagedObject]) -> [String] {
    objects.map { $0.value(forKey: "name") as? String ?? "nil" }
  }

  @Test(
    "a fetched list is ordered, and divided into sections, as one commit says",
    arguments: [nil, "group.rank"] as [String?])
  func list(section: String?) throws {
    let request = try items()
    let controller = FetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: section)
    let listener = Listener()
    controller.delegate = listener
    defer { withExtendedLifetime(listener) {} }
    try BetweenReads.run(of: context, exchange) { try controller.performFetch() }
    let objects = try #require(controller.fetchedObjects)
    #expect(names(Array(objects)) == ["x1", "x2", "x3", "y1", "y2"])
    for (place, object) in objects.enumerated() {
      let path = section == nil ? [0, place] : place < 3 ? [0, place] : [1, place - 3]
      #expect(controller.indexPath(forObject: object) == IndexPath(indexes: path))
    }
    // What is edited is found by its key, and leaves its place.
    objects[4].setValue("a", forKey: "name")
    context.processPendingChanges()
    let now = try #require(controller.fetchedObjects)
    #expect(names(Array(now)).sorted() == ["a", "x1", "x2", "x3", "y1"])
  }

  @Test(
    "what related objects have a say in is counted as of one commit beside unsaved edits of others",
    arguments: [false, true])
  func related(inChild: Bool) throws {
    try group("z", context).setValue("edited", forKey: "name")
    context.processPendingChanges()
    let reader = inChild ? ManagedObjectContext(.confinement, parent: context) : context
    let request = try items("group.rank == 0")
    let count = try BetweenReads.run(of: reader, exchange) { try reader.count(for: request) }
    #expect(count == 3)
    #expect(try names(reader.fetch(request)) == ["x1", "x2", "x3"])
  }

  @Test("objects that are found by related objects are one commit's beside unsaved edits of others")
  func relatedObjects() throws {
    try group("z", context).setValue("edited", forKey: "name")
    let request = try items("group.rank == 0")
    let found = try BetweenReads.run(of: context, exchange) { try context.fetch(request) }
    #expect(names(found) == ["x1", "x2", "x3"])
  }

  @Test("an order by related objects is one commit's beside unsaved edits of the objects themselves")
  func relatedOrder() throws {
    let edited = try #require(try context.fetch(items("name == 'x1'")).first)
    edited.setValue(9, forKey: "value")
    let found = try BetweenReads.run(of: context, exchange) { try context.fetch(items()) }
    #expect(names(found).sorted() == ["x1", "x2", "x3", "y1", "y2"])
    #expect(names(found).filter { $0 != "x1" } == ["x2", "x3", "y1", "y2"])
  }

  @Test("nothing is held afterwards: the next fetch sees what was saved")
  func endsWithTheAnswer() throws {
    try group("z", context).setValue("edited", forKey: "name")
    let request = try items("group.rank == 0")
    let count = try BetweenReads.run(of: context, exchange) { try context.count(for: request) }
    let writer = store.context()
    let last = ResultsStand.item("y0", "x", 0, writer)
    last.setValue(try group("y", writer), forKey: "group")
    try writer.save()
    #expect(try count == 3 && context.count(for: request) == 4)
  }
}
