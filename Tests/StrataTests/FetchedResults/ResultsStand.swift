import Foundation
import Strata
import TortureKit

/// A few saved items in groups, a context, and a recorder of what a controller reports.
///
///     a1 a2 a3   kind a, values 1 2 3, group x
///     b1 b2      kind b, values 1 2, group y
final class ResultsStand {
  let store: TemporaryStore
  let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(LawModel.make(isIndexed: true)) { $0.durability = .none }
    let writer = store.context()
    let (x, y) = (Self.make("Group", writer), Self.make("Group", writer))
    x.setValue("x", forKey: "name")
    y.setValue("y", forKey: "name")
    for (kind, count, group) in [("a", 3, x), ("b", 2, y)] {
      for value in 1...count {
        Self.item("\(kind)\(value)", kind, value, writer).setValue(group, forKey: "group")
      }
    }
    try writer.save()
    context = store.context()
  }

  static func make(_ entity: String, _ context: ManagedObjectContext) -> ManagedObject {
    // The model has these entities.
    ManagedObject(
      entity: context.persistentStoreCoordinator!.managedObjectModel.entitiesByName[entity]!,
      insertInto: context)
  }

  @discardableResult
  static func item(_ name: String, _ kind: String?, _ value: Int, _ context: ManagedObjectContext)
    -> ManagedObject
  {
    let item = make("Item", context)
    item.setValue(name, forKey: "name")
    item.setValue(kind, forKey: "kind")
    item.setValue(value, forKey: "value")
    return item
  }

  func item(_ name: String, _ kind: String?, _ value: Int) -> ManagedObject {
    Self.item(name, kind, value, context)
  }

  func find(_ name: String, _ entity: String = "Item", in context: ManagedObjectContext? = nil) throws
    -> ManagedObject
  {
    let request = FetchRequest<ManagedObject>(
      entityName: entity, predicate: try FetchPredicate(format: "name == %@", argumentArray: [name]))
    guard let found = try (context ?? self.context).fetch(request).first else { throw Missing(name: name) }
    return found
  }

  struct Missing: Error { let name: String }

  /// By kind and value, in sections by kind by default, fetched and followed.
  func controller(
    _ format: String? = nil, sorts: [FetchSort] = [FetchSort("kind"), FetchSort("value")],
    section: String? = "kind", limit: Int = 0,
    delegate: (any FetchedResultsControllerDelegate<ManagedObject>)?,
    in context: ManagedObjectContext? = nil
  ) throws -> FetchedResultsController<ManagedObject> {
    var request = FetchRequest<ManagedObject>(
      entityName: "Item", predicate: try format.map { try FetchPredicate(format: $0) },
      sortDescriptors: sorts)
    request.fetchLimit = limit
    let controller = FetchedResultsController(
      fetchRequest: request, managedObjectContext: context ?? self.context, sectionNameKeyPath: section)
    controller.delegate = delegate
    try controller.performFetch()
    return controller
  }
}

/// Writes down the classic calls.
final class Listener: FetchedResultsChangeDelegate {
  typealias Result = ManagedObject
  private(set) var calls: [String] = []
  var isSilent: Bool { calls.isEmpty }

  /// What was reported since the last look, without the calls around it.
  func take() -> [String] {
    defer { calls = [] }
    return calls
  }

  func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    calls.append("will \(names(controller))")
  }

  func controller(
    _ controller: FetchedResultsController<ManagedObject>,
    didChange sectionInfo: FetchedResultsSection<ManagedObject>, atSectionIndex index: Int,
    for type: FetchedResultsChangeType
  ) { calls.append("section \(sectionInfo.name) \(type) \(index) of \(sectionInfo.numberOfObjects)") }

  func controller(
    _ controller: FetchedResultsController<ManagedObject>, didChange object: ManagedObject,
    at indexPath: IndexPath?, for type: FetchedResultsChangeType, newIndexPath: IndexPath?
  ) {
    func words(_ path: IndexPath?) -> String { path.map { "\($0.section).\($0.row)" } ?? "-" }
    let name = type == .delete ? "" : " \(object.value(forKey: "name") ?? "nil")"
    calls.append("\(type)\(name) \(words(indexPath)) \(words(newIndexPath))")
  }

  func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    calls.append("did \(names(controller))")
  }

  private func names(_ controller: FetchedResultsController<ManagedObject>) -> String {
    "\(controller.fetchedObjects?.count ?? -1)"
  }
}

extension FetchedResultsController where Result == ManagedObject {
  /// The names of all objects, section by section.
  var names: [[String]] {
    (sections.map { Array($0) } ?? []).map { $0.objects.map { $0.value(forKey: "name") as? String ?? "nil" } }
  }
}
