import Foundation
import Strata
import Testing
import TortureKit

/// What another context has saved comes to a context whose own save is written, and whose objects have not taken that over yet (contexts 15).
@Suite(.serialized)
struct MergedInFlightTests {
  private let gate = StoreGate()
  private let store: TemporaryStore
  private let context: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(behind: gate, TeamModel.make())
    let writer = store.context()
    for name in ["sales", "ops", "hr"] { writer.make(Department.self, name) }
    for name in ["first", "second", "third"] { writer.make(Desk.self, name) }
    for name in ["apollo", "gemini", "vostok"] { writer.make(Project.self, name) }
    let bob = writer.make(Employee.self, "bob")
    let moon = writer.make(Milestone.self, "moon")
    try Self.Reference.allCases.forEach { try $0.set(0, in: writer) }
    try writer.save()
    withExtendedLifetime((bob, moon)) {}
    context = store.context(.privateQueue)
  }

  /// The kinds of to-one relationships, with three objects that each may lead to.
  enum Reference: CaseIterable, Sendable {
    /// Its inverse is to-many.
    case owner
    /// Its inverse is to-many and ordered.
    case orderedOwner
    case partner
    /// It has no inverse.
    case lone

    func set(_ number: Int, in context: ManagedObjectContext) throws {
      switch self {
      case .owner:
        try context.find(Employee.self, "bob").department = context.find(
          Department.self, ["sales", "ops", "hr"][number])
      case .orderedOwner:
        try context.find(Milestone.self, "moon").project = context.find(
          Project.self, ["apollo", "gemini", "vostok"][number])
      case .partner:
        try context.find(Employee.self, "bob").desk = context.find(
          Desk.self, ["first", "second", "third"][number])
      case .lone:
        try context.find(Project.self, "vostok").sponsor = context.find(
          Department.self, ["sales", "ops", "hr"][number])
      }
    }

    /// Where the reference leads, and what of the three leads back.
    func state(_ context: ManagedObjectContext) throws -> [String?] {
      switch self {
      case .owner:
        let back = try ["sales", "ops", "hr"].map { name -> String? in
          try context.find(Department.self, name).employees.names == ["bob"] ? name : nil
        }
        return [try context.find(Employee.self, "bob").department?.name] + back
      case .orderedOwner:
        let back = try ["apollo", "gemini", "vostok"].map { name -> String? in
          try context.find(Project.self, name).milestones.map(\.name) == ["moon"] ? name : nil
        }
        return [try context.find(Milestone.self, "moon").project?.name] + back
      case .partner:
        let back = try ["first", "second", "third"].map { name -> String? in
          try context.find(Desk.self, name).employee?.name == "bob" ? name : nil
        }
        return [try context.find(Employee.self, "bob").desk?.name] + back
      case .lone:
        return [try context.find(Project.self, "vostok").sponsor?.name]
      }
    }

    /// Edits something else of the object that has the reference.
    func editBeside(in context: ManagedObjectContext) throws {
      switch self {
      case .owner, .partner: try context.find(Employee.self, "bob").level = 2
      case .orderedOwner: try context.find(Milestone.self, "moon").name = "moon"
      case .lone: try context.find(Project.self, "vostok").name = "vostok"
      }
    }
  }

  /// Has another context save `changes`.
  private func saveElsewhere(_ changes: (ManagedObjectContext) throws -> Void) throws -> Notification {
    let other = store.context()
    let saved = NotificationBox(ManagedObjectContext.didSaveObjectsNotification, of: other)
    try changes(other)
    try other.save()
    return try #require(saved.first)
  }

  @Test(
    "a reference that was saved is no edit over the newer one that was merged", arguments: Reference.allCases,
    [false, true])
  func aNewerReference(reference: Reference, isEdited: Bool) async throws {
    try context.performAndWait { try reference.set(1, in: context) }
    let before = try store.fresh { try reference.state($0) }
    gate.close()
    async let saving: Void = context.saveAsynchronously()
    await gate.isReached()
    // Held, so that they show what they have.
    // Unsafe: used on the context's queue alone.
    nonisolated(unsafe) var held: [ManagedObject] = []
    try context.performAndWait {
      held = try context.fetch(FetchRequest<ManagedObject>(entityName: "Employee"))
      _ = try reference.state(context)
      if isEdited { try reference.editBeside(in: context) }
      gate.open()
      // Written, and not landed: this holds the context's queue.
      while try store.fresh({ try reference.state($0) }) == before { usleep(1_000) }
      context.mergeChanges(fromContextDidSave: try saveElsewhere { try reference.set(2, in: $0) })
    }
    try await saving
    let expected = try store.fresh { try reference.state($0) }
    try context.performAndWait {
      #expect(try reference.state(context) == expected)
      try reference.editBeside(in: context)
      try context.find(Department.self, "sales").name = "sold"
      try context.save()
      try context.find(Department.self, "sold").name = "sales"
      try context.save()
      #expect(try reference.state(context) == expected)
    }
    #expect(try store.fresh { try reference.state($0) } == expected)
    withExtendedLifetime(held) {}
  }

  @Test(
    "children see what was merged into objects whose save is refused afterwards", arguments: [false, true])
  func refusedAfterwards(isDeleted: Bool) async throws {
    let child = ManagedObjectContext(.privateQueue, parent: context)
    let late = try await context.perform {
      let bob = try context.find(Employee.self, "bob")
      if isDeleted { context.delete(bob) } else { bob.level = 4 }
      return Smuggled(bob)
    }
    let theirs = try saveElsewhere {
      try $0.find(Employee.self, "bob").department = $0.find(Department.self, "hr")
    }
    gate.close()
    async let saving: Void = context.saveAsynchronously()
    await gate.isReached()
    context.performAndWait { context.mergeChanges(fromContextDidSave: theirs) }
    gate.open()
    do {
      try await saving
      Issue.record("the save was not refused")
    } catch { #expect((error as? CoreDataError)?.code == .managedObjectMerge) }
    #expect(
      try child.performAndWait {
        try child.fetch(FetchRequest<Employee>(entityName: "Employee")).map {
          "\($0.level) \($0.department?.name ?? "-")"
        }
      } == (isDeleted ? [] : ["4 hr"]))
    try context.performAndWait {
      if !isDeleted { #expect(late.value.level == 4 && late.value.department?.name == "hr") }
      try context.save()
    }
    #expect(
      try store.fresh {
        try $0.fetch(FetchRequest<Employee>(entityName: "Employee")).map {
          "\($0.level) \($0.department?.name ?? "-")"
        }
      }
        == (isDeleted ? [] : ["4 hr"]))
  }
}
