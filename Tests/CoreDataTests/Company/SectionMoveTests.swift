import CoreData
import Testing

@Suite("Moves, sections and windows of fetched results")
struct SectionMoveTests {
  let stand: CompanyStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try CompanyStand()
    context = try stand.stocked()
  }

  final class Listener: NSFetchedResultsControllerDelegate {
    var told: [String] = []
    func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
      told.append("will")
    }
    func controller(
      _ controller: NSFetchedResultsController<NSFetchRequestResult>, didChange anObject: Any,
      at indexPath: IndexPath?, for type: NSFetchedResultsChangeType, newIndexPath: IndexPath?
    ) {
      let name = (anObject as? Employee)?.name ?? "nil"
      let places = [indexPath, newIndexPath].map { $0.map { "\($0.section).\($0.row)" } ?? "-" }
      told.append("\(type) \(name) \(places.joined(separator: " "))")
    }
    func controller(
      _ controller: NSFetchedResultsController<NSFetchRequestResult>,
      didChange sectionInfo: NSFetchedResultsSectionInfo, atSectionIndex sectionIndex: Int,
      for type: NSFetchedResultsChangeType
    ) { told.append("\(type) section \(sectionInfo.name) \(sectionIndex)") }
    func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
      told.append("did")
    }
  }

  private func controller(
    _ sections: String? = nil, _ predicate: NSPredicate? = nil,
    configure: (NSFetchRequest<Employee>) -> Void = { _ in }
  ) -> NSFetchedResultsController<Employee> {
    let request = NSFetchRequest<Employee>(entityName: "Employee")
    request.predicate = predicate
    request.sortDescriptors = ([sections, "name"] as [String?]).compactMap { $0 }.map {
      NSSortDescriptor(key: $0, ascending: true)
    }
    configure(request)
    return NSFetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: sections, cacheName: nil)
  }

  @Test("Several moves between sections in one save")
  func moves() throws {
    let controller = controller("department.name", NSPredicate(format: "department != nil"))
    let listener = Listener()
    controller.delegate = listener
    try controller.performFetch()
    #expect(controller.sections?.map(\.name) == ["Research", "Sales"])
    let (anna, bert, cleo, dora) = (
      try context.employee("Anna"), try context.employee("Bert"), try context.employee("Cleo"),
      try context.employee("Dora")
    )
    let (sales, research) = (try context.department("Sales"), try context.department("Research"))
    (anna.department, cleo.department, dora.department) = (research, sales, sales)
    context.delete(bert)
    try context.save()
    #expect(listener.told.first == "will" && listener.told.last == "did")
    #expect(
      Set(listener.told.dropFirst().dropLast()) == [
        "move Anna 1.0 0.0", "move Cleo 0.0 1.0", "insert Dora - 1.1", "delete Bert 1.1 -",
      ])
    #expect(controller.indexPath(forObject: dora) == IndexPath(row: 1, section: 1))
    #expect(controller.indexPath(forObject: bert) == nil)
    listener.told = []
    anna.department = nil
    try context.save()
    #expect(listener.told == ["will", "delete section Research 0", "delete Anna 0.0 -", "did"])
  }

  @Test("Sections by a number and by a truth value are called after its text")
  func sectionNames() throws {
    let byAge = controller("age")
    try byAge.performFetch()
    #expect(byAge.sections?.map(\.name) == ["30", "40", "50", "60"])
    #expect(byAge.sectionIndexTitles == ["3", "4", "5", "6"])
    let byTruth = controller("isActive")
    try byTruth.performFetch()
    #expect(byTruth.sections?.map(\.name) == ["0", "1"])
    #expect(byTruth.sections?.map(\.numberOfObjects) == [2, 2])
    #expect((byTruth.sections?[1].objects as? [Employee])?.map(\.name) == ["Anna", "Bert"])
  }

  @Test("A list hears of what another context saved, once it is merged")
  func merged() throws {
    let controller = controller(nil, NSPredicate(format: "age < 60"))
    let listener = Listener()
    controller.delegate = listener
    try controller.performFetch()
    let other = stand.context()
    let observer = NotificationCenter.default.addObserver(
      forName: .NSManagedObjectContextDidSave, object: other, queue: nil
    ) { [context] in context.mergeChanges(fromContextDidSave: $0) }
    defer { NotificationCenter.default.removeObserver(observer) }
    try other.employee("Anna").age = 70
    try other.employee("Dora").age = 20
    try other.employee("Bert").name = "Zed"
    let infos = try notes(.NSManagedObjectContextDidSave, of: other) { try other.save() }
    #expect(infos.count == 1)
    context.processPendingChanges()
    #expect(controller.fetchedObjects?.map(\.name) == ["Cleo", "Dora", "Zed"])
    #expect(listener.told.contains("delete Anna 0.0 -") && listener.told.contains("insert Dora - 0.1"))
    #expect(listener.told.contains("move Zed 0.1 0.2") || listener.told.contains("move Zed 1.0 0.2"))
  }

  @Test("An update in a list with a limit and an offset")
  func window() throws {
    let controller = controller {
      $0.fetchOffset = 1
      $0.fetchLimit = 2
    }
    let listener = Listener()
    controller.delegate = listener
    try controller.performFetch()
    #expect(controller.fetchedObjects?.map(\.name) == ["Bert", "Cleo"])
    try context.employee("Bert").age = 1
    context.processPendingChanges()
    #expect(listener.told == ["will", "update Bert 0.0 0.0", "did"])
  }
}
