import Foundation
import Strata
import Testing

/// Children read what contexts below have not saved, over the store (rules 159–164; contexts 4–6).
struct ReadingThroughTests {
  let store: TemporaryStore
  let parent: ManagedObjectContext
  let child: ManagedObjectContext

  init() throws {
    store = try TemporaryStore()
    parent = store.context()
    child = ManagedObjectContext(.confinement, parent: parent)
  }

  @Test("rule 159: a fetch sees the parent's unsaved changes and the child's own")
  func fetchSeesUnsavedChanges() throws {
    try store.save("Bells", "Winki", "Gunna")
    try parent.entry("Bells").rating = 5
    parent.delete(try parent.entry("Winki"))
    Entry.make("Jan Juc", rating: 4, in: parent)
    #expect(
      try child.entries().map { "\($0.location ?? "") \($0.rating)" } == ["Bells 5", "Gunna 3", "Jan Juc 4"])
    Entry.make("Anglesea", in: child)
    child.delete(try child.entry("Gunna"))
    try child.entry("Jan Juc").rating = 1
    #expect(
      try child.entries().map { "\($0.location ?? "") \($0.rating)" } == [
        "Anglesea 3", "Bells 5", "Jan Juc 1",
      ])
    #expect(try child.entryCount() == 3)
    #expect(try parent.entries().map(\.location) == ["Bells", "Gunna", "Jan Juc"])
  }

  @Test("rule 159: predicates, order and window go over all layers; so do counts and IDs")
  func predicatesOrderAndWindow() throws {
    try store.save("a", "c", "e", rating: 3)
    let middle = child
    let top = ManagedObjectContext(.confinement, parent: middle)
    Entry.make("b", rating: 5, in: parent)
    Entry.make("d", rating: 5, in: middle)
    Entry.make("f", rating: 5, in: top)
    try parent.entry("c").rating = 5
    try middle.entry("a").rating = 5
    try top.entry("b").rating = 1
    var request = FetchRequest<Entry>(
      entityName: "Entry", predicate: Attribute("rating") == 5, sortDescriptors: [FetchSort("location")])
    #expect(try top.fetch(request).map(\.location) == ["a", "c", "d", "f"])
    #expect(try top.count(for: request) == 4)
    request.fetchOffset = 1
    request.fetchLimit = 2
    #expect(try top.fetch(request).map(\.location) == ["c", "d"])
    var ids = FetchRequest<ManagedObjectID>(
      entityName: "Entry", predicate: Attribute("rating") == 5,
      sortDescriptors: [FetchSort("location", ascending: false)])
    #expect(try top.fetch(ids).map { (top.object(with: $0) as? Entry)?.location } == ["f", "d", "c", "a"])
    #expect(try top.fetch(ids).map(\.isTemporaryID) == [true, true, false, false])
    ids.includesPendingChanges = false
    #expect(try top.fetch(ids).count == 4, "what contexts below have not saved counts as stored (rule 87)")
  }

  @Test(
    "rule 159: large values that only a context below has are compared by, also in records of which something else has changed since",
    arguments: ["nothing", "members", "level"], [false, true])
  func largeUnsavedValues(changed: String, isLoaded: Bool) throws {
    let store = try TemporaryStore(TeamModel.make())
    let parent = store.context()
    let middle = ManagedObjectContext(.confinement, parent: parent)
    let top = ManagedObjectContext(.confinement, parent: middle)
    let rest = String(repeating: "x", count: 20_000)
    let names = ["a", "b", "c"]
    let ids = ["c", "a", "b"].map { parent.make(Employee.self, $0 + rest).objectID }
    parent.processPendingChanges()
    for id in ids {
      let employee = try #require(try middle.existingObject(with: id) as? Employee)
      if isLoaded { #expect(employee.name?.count == 20_001) }
      if changed == "members" { employee.projects.insert(middle.make(Project.self, "Red")) }
      if changed == "level" { employee.level = 2 }
    }
    middle.processPendingChanges()
    middle.refreshAllObjects()
    for context in [middle, top, ManagedObjectContext(.confinement, parent: top)] {
      for isAscending in [true, false] {
        let found = try context.fetch(
          FetchRequest<Employee>(
            entityName: "Employee", sortDescriptors: [FetchSort("name", ascending: isAscending)]))
        let initials = found.map { String($0.name?.prefix(1) ?? "?") }
        #expect(initials == (isAscending ? names : names.reversed()))
      }
      for name in names {
        #expect(try context.find(Employee.self, name + rest).name?.first?.description == name)
      }
    }
    try middle.save()
    try parent.save()
    #expect(try store.fresh { try $0.find(Employee.self, "b" + rest).level } == (changed == "level" ? 2 : 0))
    #expect(try store.problems() == [])
  }

  @Test("rule 160: a fault takes the values the parent has, saved or not, inserted or edited")
  func faultsTakeUnsavedValues() throws {
    let id = try store.save("Bells")[0]
    try parent.entry("Bells").rating = 5
    let new = Entry.make("Winki", rating: 4, in: parent)
    #expect((child.object(with: id) as? Entry)?.rating == 5)
    #expect((child.object(with: new.objectID) as? Entry)?.rating == 4)
    let existing = try #require(try child.existingObject(with: new.objectID) as? Entry)
    #expect(!existing.isFault && !existing.isInserted && !child.hasChanges)
    #expect(existing.objectID.isTemporaryID)
    parent.delete(new)
    let other = ManagedObjectContext(.confinement, parent: parent)
    #expect(throws: CoreDataError.self) { try other.existingObject(with: new.objectID) }
  }

  @Test("rule 161 (better): what a child fetches does not appear in the parent")
  func nothingIsRegisteredInTheParent() throws {
    try store.save("Bells", "Winki")
    let mine = try child.entries()
    for entry in mine { _ = entry.rating }
    #expect(parent.registeredObjects.isEmpty)
    #expect(parent.statistics.fetches == 0 && parent.statistics.objectsMade == 0)
  }

  @Test("rule 164 (better): returnsObjectsAsFaults = false is honoured at any depth")
  func realizedObjects() throws {
    try store.save("Bells", "Winki")
    Entry.make("Gunna", in: parent)
    let deep = ManagedObjectContext(.confinement, parent: ManagedObjectContext(.confinement, parent: child))
    var request = FetchRequest<Entry>(entityName: "Entry")
    request.returnsObjectsAsFaults = false
    let found = try deep.fetch(request)
    #expect(found.count == 3 && found.allSatisfy { !$0.isFault })
    #expect(deep.statistics.faultsFired == 0)
  }

  @Test("contexts 6a: other children see what one has saved at once")
  func siblingsSeeItAtOnce() throws {
    let other = ManagedObjectContext(.privateQueue, parent: parent)
    Entry.make("Bells", in: child)
    try child.save()
    #expect(try other.performAndWait { try other.entries().map(\.location) } == ["Bells"])
  }

  @Test("rule 40: one object per record, however it was reached")
  func oneObjectPerRecord() throws {
    let new = Entry.make("Bells", in: parent)
    let first = child.object(with: new.objectID)
    #expect(try child.entry("Bells") === first)
    #expect(try child.existingObject(with: new.objectID) === first)
    try parent.save()
    #expect(try child.entry("Bells") === first)
  }

  @Test("rule 93: subentities are found through the layers, or not, as the request says")
  func subentities() throws {
    let beach = Beach(context: parent)
    beach.name = "Bells"
    let hidden = HiddenBeach(context: child)
    hidden.name = "Secret"
    var request = FetchRequest<Spot>(entityName: "Beach", sortDescriptors: [FetchSort("name")])
    #expect(try child.fetch(request).map(\.name) == ["Bells", "Secret"])
    request.includesSubentities = false
    #expect(try child.fetch(request).map(\.name) == ["Bells"])
    try child.save()
    #expect(try ManagedObjectContext(.confinement, parent: parent).count(for: request) == 1)
  }

  @Test("rule 167: the parent's save reaches a child that merges automatically, and no other")
  func automaticMerging() throws {
    try store.save("Bells")
    let listening = ManagedObjectContext(.privateQueue, parent: parent)
    listening.automaticallyMergesChangesFromParent = true
    let seen = try child.entry("Bells")
    #expect(seen.rating == 3)
    try listening.performAndWait {
      listening.retainsRegisteredObjects = true
      let seen = try listening.entry("Bells")
      #expect(seen.rating == 3)
    }
    try parent.entry("Bells").rating = 5
    parent.processPendingChanges()
    listening.performAndWait { #expect((try? listening.entry("Bells"))?.rating == 3) }
    try parent.save()
    let rating = try listening.performAndWait { try listening.entry("Bells").rating }
    #expect(rating == 5)
    #expect(seen.rating == 3)
  }

  @Test("rule 172: a child merges what its parent, or a sibling, has saved")
  func mergingByNotification() throws {
    try store.save("Bells")
    let sibling = ManagedObjectContext(.confinement, parent: parent)
    let seen = try child.entry("Bells")
    #expect(seen.rating == 3)
    let caught = Log<Notification>()
    let tokens = [sibling, parent].map {
      NotificationCenter.default.addObserver(forName: .didSave, object: $0, queue: nil) { caught.add($0) }
    }
    defer { tokens.forEach(NotificationCenter.default.removeObserver) }
    try sibling.entry("Bells").rating = 4
    try sibling.save()
    child.mergeChanges(fromContextDidSave: try #require(caught.list.last))
    #expect(seen.rating == 4 && !seen.hasChanges)
    try parent.entry("Bells").rating = 5
    try parent.save()
    child.mergeChanges(fromContextDidSave: try #require(caught.list.last))
    #expect(seen.rating == 5 && !child.hasChanges)
    parent.delete(try parent.entry("Bells"))
    try parent.save()
    child.mergeChanges(fromContextDidSave: try #require(caught.list.last))
    #expect(seen.isDeleted)
  }
}
