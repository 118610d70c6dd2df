import Foundation
import Strata
import Testing

/// What a controller shows and reports, rule by rule.
@Suite struct FetchedResultsRulesTests {
  @Test("rule 242: with sections that are not contiguous nothing is fetched")
  func whatCannotBeFetched() throws {
    let stand = try ResultsStand()
    let error = #expect(throws: CoreDataError.self) {
      try stand.controller(sorts: [FetchSort("value")], section: "kind", delegate: nil)
    }
    #expect(error?.localizedDescription.contains("do not stand together") == true)
    // The same groups by another key.
    let controller = try stand.controller(
      sorts: [FetchSort("kind"), FetchSort("value")], section: "group.name", delegate: nil)
    #expect(controller.sections?.map(\.name) == ["x", "y"])
  }

  @Test("rule 243: no objects before the fetch; then what the context shows, saved or not")
  func beforeAndAfterTheFetch() throws {
    let stand = try ResultsStand()
    _ = stand.item("a0", "a", 0)
    let request = FetchRequest<ManagedObject>(entityName: "Item", sortDescriptors: [FetchSort("name")])
    let controller = FetchedResultsController(fetchRequest: request, managedObjectContext: stand.context)
    #expect(controller.fetchedObjects == nil)
    #expect(controller.sections == nil)
    try controller.performFetch()
    #expect(controller.names == [["a0", "a1", "a2", "a3", "b1", "b2"]])
  }

  @Test("rule 244: without a delegate that wants changes, the results stay what they were")
  func withoutDelegate() throws {
    let stand = try ResultsStand()
    let controller = try stand.controller(delegate: nil)
    _ = stand.item("a4", "a", 4)
    stand.context.processPendingChanges()
    #expect(controller.fetchedObjects?.count == 5)
    // What has been missed comes with the first change afterwards.
    let listener = Listener()
    controller.delegate = listener
    _ = stand.item("a5", "a", 5)
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 5", "insert a4 - 0.3", "insert a5 - 0.4", "did 7"])
  }

  @Test("rules 245, 246, 250, 251: one event is one batch of calls; what was not fetched is not reported")
  func oneEvent() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let controller = try stand.controller("value > 0", section: nil, delegate: listener)
    stand.context.delete(try stand.find("a1"))
    for name in ["a2", "b2"] { try stand.find(name).setValue("x", forKey: "name") }
    try stand.find("a3").setValue("c", forKey: "kind")
    _ = stand.item("a4", "a", 4)
    _ = stand.item("b0", "b", 1)
    _ = listener.take()
    // `find` has ended events before: a new one.
    stand.context.processPendingChanges()
    _ = listener.take()
    let all = try stand.context.fetch(
      FetchRequest<ManagedObject>(
        entityName: "Item", sortDescriptors: [FetchSort("kind"), FetchSort("value"), FetchSort("name")]))
    #expect(controller.fetchedObjects?.count == 6)
    stand.context.delete(all[0])
    all[1].setValue("u1", forKey: "name")
    all[2].setValue("u2", forKey: "name")
    all[3].setValue("d", forKey: "kind")
    _ = stand.item("n1", "a", 1)
    _ = stand.item("n2", "a", 2)
    stand.context.processPendingChanges()
    let calls = listener.take()
    #expect(calls.count == 8)
    #expect(calls.first == "will 6" && calls.last == "did 7")
    #expect(calls.filter { $0.hasPrefix("delete") }.count == 1)
    #expect(calls.filter { $0.hasPrefix("insert") }.count == 2)
    #expect(calls.filter { $0.hasPrefix("move") }.count == 1)
    #expect(calls.filter { $0.hasPrefix("update") }.count == 2)
    // Nothing that is fetched: nothing is reported.
    _ = stand.item("z", "z", -1)
    stand.context.processPendingChanges()
    #expect(listener.isSilent)
  }

  @Test("rule 248: objects come and go as they begin and cease to match")
  func matching() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let followed = try stand.controller("value >= 2", delegate: listener)
    defer { withExtendedLifetime(followed) {} }
    let (first, second) = (try stand.find("a1"), try stand.find("a2"))
    first.setValue(5, forKey: "value")
    second.setValue(0, forKey: "value")
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 3", "delete 0.0 -", "insert a1 - 0.1", "did 3"])
  }

  @Test(
    "rules 249, 252, 262: a change in place is an update at its old path, one that moves is a move; neighbours are not reported"
  )
  func updatesAndMoves() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let followed = try stand.controller(delegate: listener)
    defer { withExtendedLifetime(followed) {} }
    let (first, last) = (try stand.find("a1"), try stand.find("a3"))
    first.setValue("A", forKey: "name")
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 5", "update A 0.0 0.0", "did 5"])
    // A sort key that changes nothing about the order.
    first.setValue(0, forKey: "value")
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 5", "update A 0.0 0.0", "did 5"])
    first.setValue(9, forKey: "value")
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 5", "move A 0.0 0.2", "did 5"])
    // An update next to a deletion: the path is the one before.
    stand.context.delete(try stand.find("a2"))
    last.setValue("B", forKey: "name")
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 5", "delete 0.0 -", "update B 0.1 0.0", "did 4"])
  }

  @Test("rules 253, 254: objects move across sections; sections come and go before the objects do")
  func sections() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let controller = try stand.controller(delegate: listener)
    let (one, two) = (try stand.find("b1"), try stand.find("b2"))
    one.setValue("a", forKey: "kind")
    two.setValue("c", forKey: "kind")
    stand.context.processPendingChanges()
    let calls = listener.take()
    #expect(
      Array(calls.prefix(3)) == ["will 5", "section b delete 1 of 0", "section c insert 1 of 1"])
    #expect(
      Set(calls.dropFirst(3).dropLast()) == ["move b1 1.0 0.0", "move b2 1.1 1.0"]
        || calls.contains("move b1 1.0 0.1"))
    #expect(controller.sections?.map(\.name) == ["a", "c"])
    #expect(controller.sections?.map(\.numberOfObjects) == [4, 1])
  }

  @Test("rule 255: refreshing reports updates, unless there was a write elsewhere")
  func refreshing() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let controller = try stand.controller(delegate: listener)
    let held = try stand.find("a2")
    _ = held.value(forKey: "name")
    stand.context.refreshAllObjects()
    let calls = listener.take()
    #expect(calls.contains("update a2 0.1 0.1"))
    #expect(!calls.contains { $0.hasPrefix("insert") || $0.hasPrefix("delete") || $0.hasPrefix("section") })
    #expect(controller.fetchedObjects?.count == 5)
  }

  @Test("rule 256: after a reset nothing is reported, and there is nothing until the next fetch")
  func reset() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let controller = try stand.controller(delegate: listener)
    stand.context.reset()
    #expect(listener.isSilent)
    #expect(controller.fetchedObjects == nil)
    try controller.performFetch()
    _ = stand.item("a4", "a", 4)
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 5", "insert a4 - 0.3", "did 6"])
  }

  @Test(
    "rule 257: snapshots take precedence over differences, differences over calls, and only without sections"
  )
  func precedence() throws {
    let stand = try ResultsStand()
    let everything = Everything()
    let all = try stand.controller(delegate: everything)
    let two = Two()
    let flat = try stand.controller(section: nil, delegate: two)
    let three = Two()
    let divided = try stand.controller(delegate: three)
    _ = stand.item("a4", "a", 4)
    stand.context.processPendingChanges()
    #expect(everything.told == ["snapshot 6"])
    #expect(two.told == ["difference 1"])
    #expect(three.told == ["calls"])
    withExtendedLifetime([all, flat, divided]) {}
  }

  @Test(
    "rule 258: one section without a key path; titles are first letters, capitalised, or what the delegate says"
  )
  func titles() throws {
    let stand = try ResultsStand()
    let flat = try stand.controller("value > 100", section: nil, delegate: nil)
    #expect(flat.sections?.count == 1)
    #expect(flat.sections?.first?.numberOfObjects == 0)
    let controller = try stand.controller(delegate: nil)
    #expect(controller.sectionIndexTitles == ["A", "B"])
    #expect(controller.section(forSectionIndexTitle: "B", at: 1) == 1)
    let everything = Everything()
    controller.delegate = everything
    #expect(controller.sectionIndexTitles == ["<a>", "<b>"])
  }

  @Test("rule 260: an object that was new and unsaved when it was fetched is reported when it changes")
  func newAndThenChanged() throws {
    let stand = try ResultsStand()
    let new = stand.item("a0", "a", 0)
    let listener = Listener()
    let followed = try stand.controller(delegate: listener)
    defer { withExtendedLifetime(followed) {} }
    new.setValue("A", forKey: "name")
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 6", "update A 0.0 0.0", "did 6"])
  }

  @Test(
    "rule 264: the limit is kept: a new object pushes the last one out, a leaving one lets the next one in")
  func limits() throws {
    let stand = try ResultsStand()
    let listener = Listener()
    let controller = try stand.controller(section: nil, limit: 3, delegate: listener)
    #expect(controller.names == [["a1", "a2", "a3"]])
    let new = stand.item("a0", "a", 0)
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 3", "delete 0.2 -", "insert a0 - 0.0", "did 3"])
    _ = stand.item("z", "z", 0)
    stand.context.processPendingChanges()
    #expect(listener.isSilent)
    stand.context.delete(new)
    stand.context.processPendingChanges()
    #expect(listener.take() == ["will 3", "delete 0.0 -", "insert a3 - 0.2", "did 3"])
  }

  @Test("sections may be called by another name than the value")
  func sectionNames() throws {
    let stand = try ResultsStand()
    let request = FetchRequest<ManagedObject>(entityName: "Item", sortDescriptors: [FetchSort("name")])
    let controller = FetchedResultsController(
      fetchRequest: request, managedObjectContext: stand.context, sectionNameKeyPath: "name",
      sectionName: { String($0.prefix(1)) })
    try controller.performFetch()
    #expect(controller.sections?.map(\.name) == ["a", "b"])
  }

  @Test("a list in the order of an index is opened without reading a row; its objects are read in batches")
  func openingByIndex() throws {
    let stand = try ResultsStand()
    var request = FetchRequest<ManagedObject>(entityName: "Group", sortDescriptors: [FetchSort("name")])
    request.fetchBatchSize = 1
    let controller = FetchedResultsController(
      fetchRequest: request, managedObjectContext: stand.context, sectionNameKeyPath: "name")
    let before = stand.context.statistics
    try controller.performFetch()
    #expect(stand.context.statistics.rowsRead == before.rowsRead)
    #expect(stand.context.statistics.objectsMade == before.objectsMade)
    #expect(controller.sections?.map(\.name) == ["x", "y"])
    _ = controller.object(at: IndexPath(row: 0, section: 1))
    #expect(stand.context.statistics.objectsMade == before.objectsMade + 1)
  }

  @Test("a delegate that edits and fetches gets its own edits reported afterwards")
  func editingDelegate() throws {
    let stand = try ResultsStand()
    let delegate = Editing(stand)
    let controller = try stand.controller(delegate: delegate)
    _ = stand.item("a4", "a", 4)
    stand.context.processPendingChanges()
    #expect(delegate.counts == [6, 7])
    #expect(controller.fetchedObjects?.count == 7)
  }
}

private final class Everything: FetchedResultsSnapshotDelegate, FetchedResultsDifferenceDelegate,
  FetchedResultsChangeDelegate
{
  typealias Result = ManagedObject
  var told: [String] = []
  func controller(
    _ controller: FetchedResultsController<ManagedObject>,
    didChangeContentWith snapshot: FetchedResultsSnapshot
  ) { told.append("snapshot \(snapshot.numberOfItems)") }
  func controller(
    _ controller: FetchedResultsController<ManagedObject>,
    didChangeContentWith difference: CollectionDifference<ManagedObjectID>
  ) { told.append("difference \(difference.count)") }
  func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    told.append("calls")
  }
  func controller(
    _ controller: FetchedResultsController<ManagedObject>, sectionIndexTitleForSectionName name: String
  ) -> String? { "<\(name)>" }
}

private final class Two: FetchedResultsDifferenceDelegate, FetchedResultsChangeDelegate {
  typealias Result = ManagedObject
  var told: [String] = []
  func controller(
    _ controller: FetchedResultsController<ManagedObject>,
    didChangeContentWith difference: CollectionDifference<ManagedObjectID>
  ) { told.append("difference \(difference.count)") }
  func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    told.append("calls")
  }
}

private final class Editing: FetchedResultsChangeDelegate {
  typealias Result = ManagedObject
  let stand: ResultsStand
  var counts: [Int] = []
  init(_ stand: ResultsStand) { self.stand = stand }
  func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
    counts.append(controller.fetchedObjects?.count ?? -1)
    if counts.count == 1 {
      _ = stand.item("b9", "b", 9)
      _ = try? stand.find("b9")
    }
  }
}
