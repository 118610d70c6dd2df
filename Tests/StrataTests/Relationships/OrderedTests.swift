import Foundation
import Strata
import Testing

/// Ordered relationships keep order and uniqueness (rules 217, 218), with stable positions in the store.
struct OrderedTests {
  let store: TemporaryStore
  let context: ManagedObjectContext
  let project: Project

  init() throws {
    store = try TemporaryStore(TeamModel.make())
    context = store.context()
    project = context.make(Project.self, "Red")
  }

  private func milestone(_ name: String) -> Milestone { context.make(Milestone.self, name) }
  private func saved() throws -> [String] {
    try store.fresh { try $0.find(Project.self, "Red").milestones.namesInOrder }
  }

  @Test("rule 217: appended in order, kept in order by the store")
  func appending() throws {
    for name in ["c", "a", "b"] { project.milestones.append(milestone(name)) }
    #expect(project.milestones.namesInOrder == ["c", "a", "b"])
    try context.save()
    #expect(project.milestones.namesInOrder == ["c", "a", "b"])
    #expect(try saved() == ["c", "a", "b"])
    project.milestones.append(milestone("z"))
    milestone("y").project = project
    try context.save()
    #expect(try saved() == ["c", "a", "b", "z", "y"])
    #expect(try store.problems() == [])
  }

  @Test("rule 217: inserting, moving, replacing and removing at places")
  func places() throws {
    for name in ["a", "b", "c", "d"] { project.milestones.append(milestone(name)) }
    try context.save()
    project.milestones.insert(milestone("x"), at: 0)
    project.milestones.insert(milestone("y"), at: 3)
    #expect(project.milestones.namesInOrder == ["x", "a", "b", "y", "c", "d"])
    project.milestones.move(from: 5, to: 1)
    #expect(project.milestones.namesInOrder == ["x", "d", "a", "b", "y", "c"])
    project.milestones.remove(at: 0)
    project.milestones.replace(at: 1, with: milestone("z"))
    #expect(project.milestones.namesInOrder == ["d", "z", "b", "y", "c"])
    try context.save()
    #expect(try saved() == ["d", "z", "b", "y", "c"])
    #expect(try store.problems() == [])
  }

  @Test("positions do not run out: a thousand insertions at one place")
  func insertingAtOnePlace() throws {
    project.milestones.append(milestone("first"))
    project.milestones.append(milestone("last"))
    try context.save()
    var expected: [String] = []
    for number in 0..<1_000 {
      project.milestones.insert(milestone("\(number)"), at: 1)
      expected.insert("\(number)", at: 0)
      if number % 100 == 50 { try context.save() }
    }
    #expect(project.milestones.namesInOrder == ["first"] + expected + ["last"])
    try context.save()
    #expect(try saved() == ["first"] + expected + ["last"])
    #expect(try store.problems() == [])
  }

  @Test("rule 217: an object is in an ordered relationship once")
  func uniqueness() throws {
    let (a, b) = (milestone("a"), milestone("b"))
    project.milestones.append(a)
    project.milestones.append(b)
    project.milestones.append(a)
    #expect(project.milestones.namesInOrder == ["a", "b"])
    project.setValue([b, a, b], forKey: "milestones")
    #expect(project.milestones.namesInOrder == ["b", "a"])
  }

  @Test("rule 218: rollback brings the saved order back")
  func rollback() throws {
    for name in ["a", "b", "c"] { project.milestones.append(milestone(name)) }
    try context.save()
    project.milestones.move(from: 2, to: 0)
    project.milestones.remove(at: 1)
    context.rollback()
    #expect(project.milestones.namesInOrder == ["a", "b", "c"])
    #expect(!context.hasChanges)
  }

  @Test("ordered many-to-many: the order belongs to one side")
  func orderedManyToMany() throws {
    let people = ["Ann", "Bob", "Cid"].map { context.make(Employee.self, $0) }
    project.watchers.append(contentsOf: [people[2], people[0]])
    people[1].watched.insert(project)
    #expect(project.watchers.namesInOrder == ["Cid", "Ann", "Bob"])
    try context.save()
    let other = store.context()
    let found = try other.find(Project.self, "Red")
    #expect(found.watchers.namesInOrder == ["Cid", "Ann", "Bob"])
    found.watchers.move(from: 2, to: 0)
    try other.save()
    #expect(
      try store.fresh { try $0.find(Project.self, "Red").watchers.namesInOrder } == ["Bob", "Cid", "Ann"])
    #expect(try store.fresh { try $0.find(Employee.self, "Cid").watched.names } == ["Red"])
    #expect(try store.problems() == [])
  }

  @Test("two contexts append to one ordered relationship: both stay")
  func concurrentAppends() throws {
    project.milestones.append(milestone("a"))
    try context.save()
    let (left, right) = (store.context(), store.context())
    for (context, name) in [(left, "left"), (right, "right")] {
      try context.find(Project.self, "Red").milestones.append(context.make(Milestone.self, name))
    }
    try left.save()
    try right.save()
    #expect(try saved() == ["a", "left", "right"])
    #expect(try store.problems() == [])
  }

  /// How a member that has left comes back, at the end.
  enum Return: CaseIterable { case byOwner, byMember, byList, byChild, byOtherOwner }

  @Test(
    "rules 69, 217: a member that has left and comes back is the last one, also after a refresh that keeps edits",
    arguments: Return.allCases, [false, true])
  func comingBack(_ way: Return, isProcessed: Bool) throws {
    for name in ["a", "b", "c"] { project.milestones.append(milestone(name)) }
    let other = context.make(Project.self, "Blue")
    try context.save()
    let first = project.milestones[0]
    if way == .byOtherOwner { other.milestones.append(first) } else { first.project = nil }
    if isProcessed { context.processPendingChanges() }
    switch way {
    case .byOwner: project.milestones.append(first)
    case .byMember, .byOtherOwner: first.project = project
    case .byList: project.milestones.replaceAll(with: [project.milestones[0], project.milestones[1], first])
    case .byChild:
      let child = ManagedObjectContext(.confinement, parent: context)
      let same = try #require(child.object(with: first.objectID) as? Milestone)
      same.project = child.object(with: project.objectID) as? Project
      try child.save()
    }
    let order = ["b", "c", "a"]
    #expect(project.milestones.namesInOrder == order, "in memory")
    context.refreshAllObjects()
    #expect(project.milestones.namesInOrder == order, "refreshed")
    let reader = ManagedObjectContext(.confinement, parent: context)
    let read = try #require(reader.object(with: project.objectID) as? Project)
    #expect(read.milestones.namesInOrder == order, "in a child")
    try context.save()
    #expect(project.milestones.namesInOrder == order, "saved")
    context.refreshAllObjects()
    #expect(project.milestones.namesInOrder == order, "saved and refreshed")
    #expect(try saved() == order, "in the store")
    #expect(other.milestones.namesInOrder == [])
    #expect(try store.problems() == [])
  }

  @Test("inserting a member that is there already at the number of members moves it to the end")
  func insertingAtTheEnd() throws {
    let milestones = ["a", "b", "c"].map(milestone)
    for milestone in milestones { project.milestones.append(milestone) }
    project.milestones.insert(milestones[0], at: 3)
    #expect(project.milestones.namesInOrder == ["b", "c", "a"])
    project.milestones.insert(milestones[0], at: 3)
    #expect(project.milestones.namesInOrder == ["b", "c", "a"])
    project.milestones.insert(milestone("d"), at: 3)
    #expect(project.milestones.namesInOrder == ["b", "c", "a", "d"])
    try context.save()
    project.milestones.insert(milestones[1], at: 4)
    try context.save()
    #expect(try saved() == ["c", "a", "d", "b"])
  }

  @Test("rule 18: a member that has left and come back is in its old place when its edits are dropped")
  func comingBackIsTakenBack() throws {
    for name in ["a", "b", "c"] { project.milestones.append(milestone(name)) }
    try context.save()
    for takeBack: (Milestone) -> Void in [
      {
        context.refresh($0, mergeChanges: false); context.refresh(project, mergeChanges: false)
      },
      { _ in context.rollback() },
    ] {
      let first = project.milestones[0]
      first.project = nil
      context.processPendingChanges()
      first.project = project
      #expect(project.milestones.namesInOrder == ["b", "c", "a"])
      takeBack(first)
      #expect(project.milestones.namesInOrder == ["a", "b", "c"])
    }
  }
}
