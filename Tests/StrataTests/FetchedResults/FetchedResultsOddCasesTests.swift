import Foundation
import Strata
import Testing

/// Cases that somebody who used controllers for the first time came upon.
@Suite struct FetchedResultsOddCasesTests {
  @Test(
    "rules 152, 248: a deletion that a child saves is told of, although the records that led there come first",
    arguments: [true, false])
  func childDeletesWhatOthersLeadTo(hasUndo: Bool) throws {
    let stand = try ResultsStand()
    let context = stand.context
    if hasUndo { context.undoManager = UndoManager() }
    let listener = Listener()
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(
        entityName: "Group", sortDescriptors: [FetchSort("name")]),
      managedObjectContext: context)
    controller.delegate = listener
    try controller.performFetch()
    // Without an undo manager the objects are claimed only where something is edited here.
    let edited = hasUndo ? nil : try stand.find("a1")
    edited?.setValue(8, forKey: "value")
    try stand.find("a2").setValue(stand.find("y", "Group"), forKey: "group")
    context.processPendingChanges()
    _ = listener.take()
    let child = ManagedObjectContext(.confinement, parent: context)
    child.delete(try stand.find("x", "Group", in: child))
    try child.save()
    context.processPendingChanges()
    #expect(listener.take() == ["will 2", "delete 0.0 -", "did 1"])
    #expect(context.deletedObjects.count == 1)
    try context.save()
    #expect(listener.isSilent)
    #expect(controller.fetchedObjects?.count == 1)
  }

  @Test("a deletion that was told of here is not told of again when a child saves the same")
  func deletedByBoth() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let controller = try stand.controller(delegate: listener)
    let child = ManagedObjectContext(.confinement, parent: stand.context)
    let inChild = try stand.find("b1", in: child)
    inChild.setValue(9, forKey: "value")
    stand.context.delete(try stand.find("b1"))
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 5", "delete 1.0 -", "did 4"])
    child.delete(inChild)
    try child.save()
    stand.context.processPendingChanges()
    #expect(listener.isSilent)
    #expect(controller.names == [["a1", "a2", "a3"], ["b2"]])
  }

  @Test("sections are told apart as the order of a fetch tells values apart: by their bytes")
  func canonicallyEquivalentSections() throws {
    let stand = try ResultsStand()
    for (name, kind) in [("n1", "e\u{301}"), ("n2", "f"), ("n3", "\u{e9}")] { _ = stand.item(name, kind, 1) }
    let listener = Listener()
    let controller = try stand.controller(delegate: listener)
    #expect(controller.names == [["a1", "a2", "a3"], ["b1", "b2"], ["n1"], ["n2"], ["n3"]])
    try stand.find("a3").setValue("\u{e9}", forKey: "kind")
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 8", "move a3 0.2 4.1", "did 8"])
  }

  @Test("zeros of either sign are one section")
  func zeros() throws {
    let reading = EntityDescription(
      "Reading", properties: [AttributeDescription("score", .double), AttributeDescription("name", .string)])
    let store = try TemporaryStore(ManagedObjectModel(entities: [reading])) { $0.durability = .none }
    let context = store.context()
    let readings = [0.0, 5, -0.0, 0.0].enumerated().map { place, score in
      let object = ManagedObject(entity: reading, insertInto: context)
      object.setValue(score, forKey: "score")
      object.setValue("\(place)", forKey: "name")
      return object
    }
    try context.save()
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<ManagedObject>(
        entityName: "Reading", sortDescriptors: [FetchSort("score"), FetchSort("name")]),
      managedObjectContext: context, sectionNameKeyPath: "score")
    let listener = Listener()
    controller.delegate = listener
    try controller.performFetch()
    #expect(controller.names == [["0", "2", "3"], ["1"]])
    readings[0].setValue(-0.0, forKey: "score")
    readings[1].setValue(-0.0, forKey: "score")
    context.processPendingChanges()
    #expect(controller.names == [["0", "1", "2", "3"]])
  }
}
