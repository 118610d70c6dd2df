import Foundation
import Strata
import Testing

/// A child has edited a record above a change that was saved without writing its row: the child's edit is one of the row that the change was based on (rules 62, 155).
struct UnwrittenBaseTests {
  private let store: TemporaryStore
  private let root: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    root = store.context()
    root.make(Employee.self, "Ann")
    root.make(Project.self, "Bridge")
    try root.save()
  }

  /// What is saved of a record while its row stays as it is.
  enum Change: CaseIterable {
    case members, sameValue

    fileprivate func carryOut(in context: ManagedObjectContext) throws {
      let ann = try context.find(Employee.self, "Ann")
      switch self {
      case .members: ann.projects.insert(try context.find(Project.self, "Bridge"))
      case .sameValue: ann.level = ann.level
      }
      context.processPendingChanges()
    }
  }

  /// The root has written the row; another context has written it again; and all look at the newest one.
  private func write(then contexts: [ManagedObjectContext]) throws {
    try root.find(Employee.self, "Ann").level = 1
    try root.save()
    let other = store.context()
    try other.find(Employee.self, "Ann").level = 2
    try other.save()
    for context in [root] + contexts { context.refreshAllObjects() }
  }

  @Test(
    "rules 62, 155: a child's edit above it is no conflict with what the parent had looked at",
    arguments: Change.allCases, [false, true])
  func editedAbove(change: Change, isMadeByChild: Bool) throws {
    let child = ManagedObjectContext(.confinement, parent: root)
    let grandchild = ManagedObjectContext(.confinement, parent: child)
    try write(then: [child, grandchild])
    try change.carryOut(in: isMadeByChild ? child : root)
    if isMadeByChild { try child.save() }
    try grandchild.find(Employee.self, "Ann").name = "Anna"
    try root.save()
    try grandchild.save()
    try child.save()
    try root.save()
    #expect(try store.fresh { try $0.find(Employee.self, "Anna").level } == 2)
  }

  @Test(
    "rules 62, 155: so it is after a save that does not stop", arguments: Change.allCases, [false, true])
  @MainActor func editedAboveInFlight(change: Change, isMadeByChild: Bool) async throws {
    let main = ManagedObjectContext(.mainQueue, coordinator: store.coordinator)
    let child = ManagedObjectContext(.mainQueue, parent: main)
    try main.find(Employee.self, "Ann").level = 1
    try main.save()
    let other = store.context()
    try other.find(Employee.self, "Ann").level = 2
    try other.save()
    main.refreshAllObjects()
    try change.carryOut(in: isMadeByChild ? child : main)
    if isMadeByChild { try child.save() }
    try child.find(Employee.self, "Ann").name = "Anna"
    try await main.saveAsynchronously()
    try child.save()
    try main.save()
    #expect(try store.fresh { try $0.find(Employee.self, "Anna").level } == 2)
  }

  @Test(
    "rule 155: what another context writes after that is a conflict", arguments: Change.allCases)
  func writtenSince(change: Change) throws {
    let child = ManagedObjectContext(.confinement, parent: root)
    try write(then: [child])
    try change.carryOut(in: root)
    try child.find(Employee.self, "Ann").name = "Anna"
    try root.save()
    let other = store.context()
    try other.find(Employee.self, "Ann").level = 3
    try other.save()
    try child.save()
    #expect(throws: CoreDataError.self) { try root.save() }
  }
}
