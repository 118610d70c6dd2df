import Foundation
import Strata
import Testing

/// Saves of pinned contexts that meet what others have committed since.
@Suite("Conflicts of pinned contexts")
struct PinnedConflictTests {
  let store: TemporaryStore
  let pinned: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    let writer = store.context()
    writer.make(Department.self, "Sales")
    writer.make(Employee.self, "Ann")
    writer.make(Employee.self, "Bob")
    writer.make(Key.self, "front")
    try writer.save()
    pinned = store.context()
    try pinned.setQueryGenerationFrom(.current)
  }

  static let policies: [MergePolicyType] = [
    .mergeByPropertyObjectTrump, .mergeByPropertyStoreTrump, .overwrite, .rollback,
  ]

  /// How the pinned context knows what others relate to what it deletes.
  enum Knowledge: CaseIterable, Sendable { case unknown, fault, read, edited }

  private func know<T: Named>(_ type: T.Type, _ name: String, _ knowledge: Knowledge) throws -> T? {
    if knowledge == .unknown { return nil }
    let object = try pinned.find(type, name)
    #expect(object.isFault)
    if knowledge != .fault { #expect(object.name == name) }
    if knowledge == .edited { object.setValue("Eve", forKey: "name") }
    return object
  }

  @Test(
    "rules 221, 293: the rule nullify takes hold of what another context has related meanwhile",
    arguments: policies, Knowledge.allCases)
  func nullify(policy: MergePolicyType, knowledge: Knowledge) throws {
    pinned.mergePolicy = MergePolicy(merge: policy)
    let sales = try pinned.find(Department.self, "Sales")
    let ann = try know(Employee.self, "Ann", knowledge)
    let other = store.context()
    try other.find(Employee.self, "Ann").department = try other.find(Department.self, "Sales")
    try other.save()
    pinned.delete(sales)
    try pinned.save()
    #expect(ann?.department == nil)
    #expect(try store.problems() == [])
    try store.fresh { (fresh: ManagedObjectContext) throws in
      #expect(try fresh.fetch(FetchRequest<Department>(entityName: "Department")).isEmpty)
      let names = try fresh.fetch(FetchRequest<Employee>(entityName: "Employee")).names
      // The other context has changed the reference alone.
      let isRenamed = knowledge == .edited && policy != .rollback
      #expect(names == (isRenamed ? ["Bob", "Eve"] : ["Ann", "Bob"]))
      #expect(
        try fresh.fetch(FetchRequest<Employee>(entityName: "Employee")).allSatisfy { $0.department == nil })
    }
  }

  @Test(
    "rules 221, 293: the rule cascade does, too", arguments: policies,
    [Knowledge.unknown, .fault, .read])
  func cascade(policy: MergePolicyType, knowledge: Knowledge) throws {
    pinned.mergePolicy = MergePolicy(merge: policy)
    let sales = try pinned.find(Department.self, "Sales")
    let front = try know(Key.self, "front", knowledge)
    let other = store.context()
    try other.find(Key.self, "front").department = try other.find(Department.self, "Sales")
    other.make(Key.self, "spare").department = try other.find(Department.self, "Sales")
    try other.save()
    pinned.delete(sales)
    pinned.processPendingChanges()
    try pinned.save()
    #expect(front?.managedObjectContext == nil)
    #expect(try store.problems() == [])
    #expect(try store.context().count(for: FetchRequest<Key>(entityName: "Key")) == 0)
  }

  @Test(
    "rules 221, 293: an object of a one-to-one relationship, both ends of which have changed",
    arguments: policies)
  func oneToOne(policy: MergePolicyType) throws {
    let writer = store.context()
    let first = writer.make(Desk.self, "first")
    try writer.find(Employee.self, "Ann").desk = first
    try writer.save()
    pinned.mergePolicy = MergePolicy(merge: policy)
    let desk = try pinned.find(Desk.self, "first")
    let bob = try pinned.find(Employee.self, "Bob")
    #expect(desk.employee?.name == "Ann" && bob.desk == nil)
    first.employee = try writer.find(Employee.self, "Bob")
    try writer.save()
    pinned.delete(desk)
    try pinned.save()
    if policy == .mergeByPropertyStoreTrump || policy == .rollback {
      // They yield to the store, and have given the deletion up.
      #expect(desk.employee === bob)
      pinned.delete(desk)
      try pinned.save()
    }
    #expect(try store.problems() == [])
    try store.fresh { (fresh: ManagedObjectContext) throws in
      #expect(try fresh.count(for: FetchRequest<Desk>(entityName: "Desk")) == 0)
      #expect(try fresh.find(Employee.self, "Bob").desk == nil)
    }
  }

  @Test("rules 60, 293: a conflict made by hand is settled with the newest row", arguments: [true, false])
  func madeByHand(isPinned: Bool) throws {
    if !isPinned { try pinned.setQueryGenerationFrom(nil) }
    let ann = try pinned.find(Employee.self, "Ann")
    #expect(ann.level == 0)
    let other = store.context()
    try other.find(Employee.self, "Ann").level = 7
    try other.save()
    ann.name = "Eve"
    let conflict = MergeConflict(
      source: ann, newVersion: 2, oldVersion: 1, cachedSnapshot: nil, persistedSnapshot: nil)
    try MergePolicy(merge: .mergeByPropertyStoreTrump).resolve(mergeConflicts: [conflict])
    #expect(ann.level == 7 && ann.name == "Eve")
    pinned.mergePolicy = .error
    try pinned.save()
  }

  @Test("rules 291, 293: a save that fails leaves the context where it was pinned")
  func staysPinned() throws {
    pinned.make(Employee.self, "Late").department = try pinned.find(Department.self, "Sales")
    let other = store.context()
    other.delete(try other.find(Department.self, "Sales"))
    try other.save()
    let error = #expect(throws: CoreDataError.self) { try pinned.save() }
    #expect(error?.code == .managedObjectReferentialIntegrity)
    pinned.rollback()
    #expect(try pinned.count(for: FetchRequest<Department>(entityName: "Department")) == 1)
    try pinned.setQueryGenerationFrom(nil)
    #expect(try pinned.count(for: FetchRequest<Department>(entityName: "Department")) == 0)
  }
}
