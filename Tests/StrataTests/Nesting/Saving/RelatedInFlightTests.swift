import Foundation
import Strata
import Testing
import TortureKit

/// Relationships of records that a save without stopping has under way (contexts 15).
@Suite(.serialized)
struct RelatedInFlightTests {
  let gate = StoreGate()
  let store: TemporaryStore
  let context: ManagedObjectContext
  let child: ManagedObjectContext

  init() throws {
    store = try TemporaryStore(behind: gate, TeamModel.make())
    let writer = store.context()
    let bob = writer.make(Employee.self, "bob")
    for name in ["sales", "ops", "hr"] { writer.make(Department.self, name) }
    bob.department = try writer.find(Department.self, "sales")
    writer.make(Project.self, "apollo")
    try writer.save()
    context = store.context(.privateQueue)
    child = ManagedObjectContext(.privateQueue, parent: context)
  }

  /// By department, whom a context has in it.
  private static func members(_ context: ManagedObjectContext) throws -> [String: [String]] {
    try context.performAndWait {
      var result: [String: [String]] = [:]
      for department in try context.fetch(FetchRequest<Department>(entityName: "Department")) {
        result[department.name ?? ""] = department.employees.names
      }
      return result
    }
  }

  /// Another context changes a record that `context` has changed, so that the next save is refused.
  private func makeConflict() throws {
    try context.performAndWait { try context.find(Project.self, "apollo").name = "mine" }
    let writer = store.context()
    try writer.find(Project.self, "apollo").name = "theirs"
    try writer.save()
  }

  /// In the context's queue.
  private func settleConflict() throws {
    context.refresh(try context.find(Project.self, "mine"), mergeChanges: true)
  }

  /// Has `context` save, and runs `body` while the store keeps it waiting.
  private func whileSaving(isRefused: Bool = false, _ body: () throws -> Void) async throws {
    gate.close()
    async let saving: Void = context.saveAsynchronously()
    await gate.isReached()
    try body()
    gate.open()
    do {
      try await saving
      #expect(!isRefused)
    } catch { #expect(isRefused && error is CoreDataError) }
  }

  @Test("an object of which only relationships are being saved is refreshed to what it is")
  func aRefreshWithoutADraft() async throws {
    let sales = try context.performAndWait {
      let sales = try context.find(Department.self, "sales")
      context.make(Employee.self, "new").department = sales
      return Smuggled(sales)
    }
    try await whileSaving {
      context.performAndWait {
        context.refresh(sales.value, mergeChanges: false)
        #expect(sales.value.name == "sales" && sales.value.employees.names == ["bob", "new"])
      }
    }
    try context.performAndWait {
      #expect(sales.value.name == "sales" && sales.value.employees.names == ["bob", "new"])
      sales.value.name = "sold"
      try context.save()
    }
    #expect(try store.fresh { try $0.find(Department.self, "sold").employees.names } == ["bob", "new"])
  }

  @Test("an object that is deleted above the save and refreshed is where the save has put it")
  func aDeletionAboveTheSaveIsTakenBack() async throws {
    let bob = try context.performAndWait {
      let bob = try context.find(Employee.self, "bob")
      bob.department = try context.find(Department.self, "ops")
      bob.projects.insert(try context.find(Project.self, "apollo"))
      return Smuggled(bob)
    }
    let expected: [String: [String]] = ["sales": [], "ops": ["bob"], "hr": []]
    try await whileSaving { () throws in
      context.performAndWait {
        context.delete(bob.value)
        context.processPendingChanges()
        context.refresh(bob.value, mergeChanges: false)
        #expect(bob.value.department?.name == "ops" && bob.value.projects.names == ["apollo"])
      }
      #expect(try Self.members(context) == expected)
    }
    try context.performAndWait { try context.save() }
    #expect(try Self.members(context) == expected)
    #expect(try Self.members(store.context()) == expected)
    #expect(try store.fresh { try $0.find(Project.self, "apollo").members.names } == ["bob"])
  }

  @Test(
    "a reference that is edited again above the save has one owner for children, and afterwards",
    arguments: [false, true], [false, true])
  func aReferenceIsEditedAgain(isRefused: Bool, isBack: Bool) async throws {
    if isRefused { try makeConflict() }
    try context.performAndWait {
      try context.find(Employee.self, "bob").department = try context.find(Department.self, "ops")
    }
    let expected = ["sales": isBack ? ["bob"] : [], "ops": [], "hr": isBack ? [] : ["bob"]]
    try await whileSaving(isRefused: isRefused) {
      try context.performAndWait {
        try context.find(Employee.self, "bob").department = try context.find(
          Department.self, isBack ? "sales" : "hr")
      }
      #expect(try Self.members(context) == expected)
      #expect(try Self.members(child) == expected)
    }
    #expect(try Self.members(context) == expected)
    #expect(try Self.members(child) == expected)
    let late = ManagedObjectContext(.privateQueue, parent: context)
    #expect(try Self.members(late) == expected)
    try context.performAndWait {
      if isRefused { try settleConflict() }
      try context.save()
    }
    #expect(try Self.members(store.context()) == expected)
  }

  @Test(
    "what a child changed of an owner that is a fault stays when the save fails", arguments: [false, true])
  func anOwnerThatIsAFault(isNew: Bool) async throws {
    try makeConflict()
    try child.performAndWait {
      if isNew {
        try child.find(Employee.self, "bob").department = child.make(Department.self, "new")
      } else {
        try child.find(Department.self, "sales").name = "new"
      }
      try child.save()
    }
    let (bob, owner) = try context.performAndWait {
      (Smuggled(try context.find(Employee.self, "bob")), Smuggled(try context.find(Department.self, "new")))
    }
    try await whileSaving(isRefused: true) {
      context.performAndWait {
        context.refreshAllObjects()
        bob.value.department = nil
      }
    }
    try context.performAndWait {
      #expect(!owner.value.isDeleted && owner.value.name == "new")
      #expect(owner.value.employees.names == [] && bob.value.department == nil)
      try settleConflict()
      try context.save()
    }
    #expect(try store.fresh { try $0.find(Department.self, "new").employees.names } == [])
  }

  @Test(
    "a reference that a child set and that is set back has its owner when the save fails",
    arguments: [false, true])
  func aReferenceIsSetBack(isRefused: Bool) async throws {
    if isRefused { try makeConflict() }
    try child.performAndWait {
      try child.find(Employee.self, "bob").department = try child.find(Department.self, "ops")
      try child.save()
    }
    let bob = try context.performAndWait { Smuggled(try context.find(Employee.self, "bob")) }
    try await whileSaving(isRefused: isRefused) {
      try context.performAndWait { bob.value.department = try context.find(Department.self, "sales") }
    }
    let expected = ["sales": ["bob"], "ops": [], "hr": []]
    #expect(try Self.members(context) == expected)
    #expect(try Self.members(child) == expected)
    try context.performAndWait {
      if isRefused { try settleConflict() }
      try context.save()
    }
    #expect(try Self.members(context) == expected)
    #expect(try Self.members(store.context()) == expected)
  }

  @Test(
    "the deletion of what a child had inserted has its effects when the save fails", arguments: [false, true])
  func aDeletionHasItsEffects(isTold: Bool) async throws {
    try makeConflict()
    try child.performAndWait {
      try child.find(Employee.self, "bob").department = child.make(Department.self, "new")
      try child.save()
    }
    let (bob, new) = try context.performAndWait {
      (Smuggled(try context.find(Employee.self, "bob")), Smuggled(try context.find(Department.self, "new")))
    }
    try await whileSaving(isRefused: true) {
      context.performAndWait {
        context.delete(new.value)
        if isTold { context.processPendingChanges() }
      }
    }
    try context.performAndWait {
      context.processPendingChanges()
      #expect(bob.value.department == nil)
      try settleConflict()
      try context.save()
    }
    #expect(try Self.members(store.context()) == ["sales": [], "ops": [], "hr": []])
  }

  @Test(
    "what a child related is related once, when the save that has it fails and when it does not",
    arguments: [false, true], [false, true])
  func aChildsRelations(isRefused: Bool, isEdited: Bool) async throws {
    if isRefused { try makeConflict() }
    try child.performAndWait {
      let bob = try child.find(Employee.self, "bob")
      bob.department = try child.find(Department.self, "ops")
      bob.friends.insert(child.make(Employee.self, "new"))
      child.make(Employee.self, "third").department = try child.find(Department.self, "ops")
      try child.save()
    }
    let objects = try context.performAndWait {
      Smuggled(try ["bob", "new", "third"].map { try context.find(Employee.self, $0) })
    }
    let expected = [
      "sales": [], "ops": isEdited ? ["bob"] : ["bob", "third"], "hr": isEdited ? ["third"] : [],
    ]
    let friends = isEdited ? ["bob", "third"] : ["bob"]
    func expectAll(_ context: ManagedObjectContext, _ comment: Comment) throws {
      #expect(try Self.members(context) == expected, comment)
      try context.performAndWait {
        let (new, bob) = (try context.find(Employee.self, "new"), try context.find(Employee.self, "bob"))
        #expect(new.friends.names == friends, comment)
        #expect(bob.friends.names == ["new"] && bob.level == (isEdited ? 7 : 0), comment)
      }
    }
    try await whileSaving(isRefused: isRefused) {
      try context.performAndWait {
        guard isEdited else { return }
        objects.value[0].level = 7
        objects.value[2].department = try context.find(Department.self, "hr")
        objects.value[1].friends.insert(objects.value[2])
      }
      try expectAll(context, "in flight")
      try expectAll(child, "in flight, for children")
    }
    try expectAll(context, "afterwards")
    try expectAll(child, "afterwards, for children")
    try context.performAndWait {
      if isRefused { try settleConflict() }
      try context.save()
      #expect(!context.hasChanges)
    }
    try expectAll(store.context(), "saved")
  }
}
