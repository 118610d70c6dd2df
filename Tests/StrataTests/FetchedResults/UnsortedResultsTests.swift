import Foundation
import Strata
import Testing

/// Controllers of requests without sort descriptors: the order is the store's, by primary keys (rule 242).
@Suite struct UnsortedResultsTests {
  @Test("rule 242: without sort descriptors the order is the store's, and changes keep it")
  func storesOrder() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let controller = try stand.controller(sorts: [], section: nil, delegate: listener)
    #expect(controller.names == [["a1", "a2", "a3", "b1", "b2"]])
    let new = stand.item("new", "c", 0)
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 5", "insert new - 0.5", "did 6"])
    try stand.find("a2").setValue("a9", forKey: "name")
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 6", "update a9 0.1 0.1", "did 6"])
    stand.context.delete(try stand.find("a1"))
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 6", "delete 0.0 -", "did 5"])
    try stand.context.save()
    #expect(listener.isSilent)
    #expect(controller.names == [["a9", "a3", "b1", "b2", "new"]])
    #expect(controller.indexPath(forObject: new)?.row == 4)
    #expect(try stand.context.fetch(FetchRequest<ManagedObject>(entityName: "Item")).count == 5)
  }

  @Test("rule 242: with a predicate that an index answers, and with a window", arguments: [0, 2])
  func predicateAndWindow(limit: Int) throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let controller = try stand.controller(
      "value <= 2", sorts: [], section: nil, limit: limit, delegate: listener)
    #expect(controller.names == [limit == 0 ? ["a1", "a2", "b1", "b2"] : ["a1", "a2"]])
    try stand.find("a1").setValue(7, forKey: "value")
    stand.context.processPendingChanges()
    #expect(controller.names == [limit == 0 ? ["a2", "b1", "b2"] : ["a2", "b1"]])
    try stand.find("a1").setValue(0, forKey: "value")
    stand.context.processPendingChanges()
    #expect(controller.names == [limit == 0 ? ["a1", "a2", "b1", "b2"] : ["a1", "a2"]])
    withExtendedLifetime(listener) {}
  }

  @Test("rule 242: sections need objects that are contiguous in that order as well")
  func sections() throws {
    let stand = try ResultsStand()
    let controller = try stand.controller(sorts: [], section: "kind", delegate: nil)
    #expect(controller.names == [["a1", "a2", "a3"], ["b1", "b2"]])
    let error = #expect(throws: CoreDataError.self) {
      try stand.controller(sorts: [], section: "value", delegate: nil)
    }
    #expect(error?.localizedDescription.contains("do not stand together") == true)
  }
}
