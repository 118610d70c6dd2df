import Foundation
import Strata
import Testing

/// Fetches that read their rows in batches, in contexts of every depth (rules 82, 163; contexts 4).
struct FetchedBatchesTests {
  let store: TemporaryStore
  let names = (100..<200).map { "entry \($0)" }

  init() throws {
    store = try TemporaryStore()
    let context = store.context()
    for name in names { Entry.make(name, in: context) }
    try context.save()
  }

  private func request(_ size: Int) -> FetchRequest<Entry> {
    var request = FetchRequest<Entry>(entityName: "Entry", sortDescriptors: [FetchSort("location")])
    request.fetchBatchSize = size
    return request
  }

  /// A context with that many others below it.
  private func context(depth: Int) -> ManagedObjectContext {
    (0..<depth).reduce(store.context()) { parent, _ in ManagedObjectContext(.confinement, parent: parent) }
  }

  @Test("rules 82, 163: IDs first, then one request for each batch that is read", arguments: [0, 1, 2])
  func batches(depth: Int) throws {
    let context = context(depth: depth)
    let before = context.statistics
    let entries = try context.fetchInBatches(request(10))
    #expect(entries.count == 100)
    #expect(context.registeredObjects.isEmpty, "IDs only")
    #expect(context.statistics.fetches == before.fetches + 1)
    #expect(entries[42].location == "entry 142")
    #expect(context.statistics.fetches == before.fetches + 2)
    #expect(context.registeredObjects.count == 10)
    for place in 40..<50 { #expect(entries[place].location == names[place]) }
    #expect(context.statistics.fetches == before.fetches + 2, "the batch is at hand")
    #expect(entries.map(\.location) == names)
    #expect(
      context.statistics.fetches == before.fetches + 12,
      "nine more batches, and the first one looked at again")
    #expect(context.registeredObjects.count == 20, "two batches are kept")
    #expect(entries.objectIDs.count == 100)
    #expect(entries.last?.location == "entry 199")
  }

  @Test("rule 163: unsaved changes of every level take part, in their places")
  func unsavedChanges() throws {
    let parent = store.context()
    let child = ManagedObjectContext(.confinement, parent: parent)
    Entry.make("entry 100b", in: parent)
    parent.delete(try parent.entry("entry 101"))
    Entry.make("entry 102b", in: child)
    try child.entry("entry 103").location = "entry 199b"
    let expected =
      ["entry 100", "entry 100b", "entry 102", "entry 102b"] + names.dropFirst(4) + ["entry 199b"]
    let entries = try child.fetchInBatches(request(7))
    #expect(entries.map(\.location) == expected)
    #expect(entries.objectIDs.filter(\.isTemporaryID).count == 2)
    #expect(
      try child.fetch(request(7)).map(\.location) == expected, "an array has all of its objects at hand")
    // What matches and its order are settled; values are not.
    entries[0].location = "zzz"
    #expect(entries[0].location == "zzz")
    #expect(entries.count == expected.count)
  }

  @Test("an object that is deleted later keeps its place and is an inaccessible fault (rule 48)")
  func deletedLater() throws {
    let context = store.context()
    let entries = try context.fetchInBatches(request(10))
    let other = store.context()
    other.delete(try other.entry("entry 155"))
    try other.save()
    #expect(entries[54].location == "entry 154")
    #expect(entries[55].location == nil)
    #expect(entries[56].location == "entry 156")
  }

  @Test("returnsObjectsAsFaults = false holds in children (contexts 4)", arguments: [false, true])
  func faults(returnsObjectsAsFaults: Bool) throws {
    let child = context(depth: 1)
    var request = request(10)
    request.returnsObjectsAsFaults = returnsObjectsAsFaults
    let entries = try child.fetchInBatches(request)
    #expect(entries[0].isFault == returnsObjectsAsFaults)
    #expect(entries[9].isFault == returnsObjectsAsFaults)
  }

  @Test("window, predicate and wrong names as with fetch(_:)")
  func requestParts() throws {
    let context = store.context()
    var wanted = request(3)
    wanted.fetchOffset = 95
    wanted.fetchLimit = 4
    #expect(try context.fetchInBatches(wanted).map(\.location) == Array(names[95..<99]))
    wanted.predicate = Attribute("location") == "nowhere"
    #expect(try context.fetchInBatches(wanted).isEmpty)
    wanted.relationshipKeyPathsForPrefetching = ["nothing"]
    #expect(throws: FetchError.self) { try context.fetchInBatches(wanted) }
    var all = request(0)
    all.fetchLimit = 30
    let before = context.statistics.fetches
    #expect(try context.fetchInBatches(all).map(\.location) == Array(names[..<30]))
    #expect(context.statistics.fetches == before + 2, "0: all at once")
  }

  @Test("rule 70: what a request prefetches is loaded and kept batch by batch", arguments: [0, 1])
  func prefetching(depth: Int) throws {
    let store = try TemporaryStore(TeamModel.make())
    let writer = store.context()
    for number in 0..<20 {
      writer.make(Employee.self, "e\(number + 10)").department = writer.make(
        Department.self, "d\(number + 10)")
    }
    try writer.save()
    let context = (0..<depth).reduce(store.context()) { parent, _ in
      ManagedObjectContext(.confinement, parent: parent)
    }
    var request = FetchRequest<Employee>(entityName: "Employee", sortDescriptors: [FetchSort("name")])
    request.fetchBatchSize = 5
    request.relationshipKeyPathsForPrefetching = ["department"]
    let employees = try context.fetchInBatches(request)
    _ = employees[7]
    let before = context.statistics.fetches
    #expect(employees[5..<10].map { $0.department?.name } == ["d15", "d16", "d17", "d18", "d19"])
    #expect(context.statistics.fetches == before)
    #expect(context.registeredObjects.count == 10)
  }
}
