import Foundation
import Strata

/// Random operations on the graph of `TeamModel`, on a context and on a plain model alike.
final class GraphOperations {
  private(set) var store: TemporaryStore
  private(set) var root: ManagedObjectContext
  /// The context operations go to: the root, or a child above it for a while.
  private(set) var context: ManagedObjectContext
  private var parents: [(context: ManagedObjectContext, graph: ReferenceGraph)] = []
  private(set) var graph = ReferenceGraph()
  private var saved = ReferenceGraph()
  private var nextNumber = 1
  var dice: Dice
  private(set) var log: [String] = []
  private(set) var saves = 0
  private(set) var undoneCount = 0
  /// Of the root context; nil when there is nothing to undo.
  private var undoManager: Strata.UndoManager?
  /// What the graph was before each group that can be undone, and after each that can be redone.
  private var undoable: [ReferenceGraph] = []
  private var redoable: [ReferenceGraph] = []

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// - Parameter canUndo: whether the root context has an undo manager.
  init(seed: UInt64, canUndo: Bool) throws {
    store = try TemporaryStore(TeamModel.make())
    root = store.context()
    context = root
    dice = Dice(seed: seed)
    if canUndo { undoManager = Strata.UndoManager() }
    root.undoManager = undoManager
  }

  func run(_ count: Int) throws {
    for step in 0..<count {
      do {
        if let undoManager, parents.isEmpty, dice.roll(8) == 0 {
          try takeBack(undoManager)
        } else {
          try remembering { try perform() }
        }
        if step % 16 == 15 { try compare() }
      } catch {
        throw Failure(description: "step \(step): \(error)\n" + log.suffix(40).joined(separator: "\n"))
      }
    }
    while !parents.isEmpty { try leaveChild(saving: true) }
    try save()
  }

  private func note(_ words: String) { log.append(words) }

  // MARK: Undo and redo

  /// What `change` does to the root context can be undone: remembers the graph there was before.
  private func remembering(_ change: () throws -> Void) throws {
    guard let undoManager else { return try change() }
    if parents.isEmpty { root.processPendingChanges() }
    let (before, count) = (parents.first?.graph ?? graph, undoManager.undoCount)
    try change()
    guard root.undoManager === undoManager else { return }
    root.processPendingChanges()
    let now = undoManager.undoCount
    if now < count {
      // A rollback forgets everything.
      undoable = []
      redoable = []
      return
    }
    if now != count + 1, now > count { note("\(now - count) groups") }
    if now > count {
      undoable += Array(repeating: before, count: now - count)
      redoable = []
    } else if parents.isEmpty, (parents.first?.graph ?? graph).normal != before.normal {
      throw Failure(description: "the change cannot be undone")
    }
  }

  private func takeBack(_ undoManager: Strata.UndoManager) throws {
    root.processPendingChanges()
    if dice.roll(3) > 0, let before = undoable.popLast() {
      note("undo")
      redoable.append(graph)
      root.undo()
      graph = before
    } else if let after = redoable.popLast() {
      note("redo")
      undoable.append(graph)
      root.redo()
      graph = after
    } else {
      return
    }
    undoneCount += 1
    guard undoManager.undoCount == undoable.count, undoManager.redoCount == redoable.count else {
      throw Failure(
        description:
          "\(undoManager.undoCount) to undo, \(undoManager.redoCount) to redo, not \(undoable.count) and "
          + "\(redoable.count)")
    }
    try compare()
  }

  private func pick(_ isWanted: (ReferenceGraph.Kind) -> Bool) -> Int? {
    graph.numbers(isWanted).randomElement(using: &dice)
  }

  private func object<T: Named>(_ number: Int, _ type: T.Type = T.self) throws -> T {
    let kind = graph.nodes[number] ?? .label
    let found = try context.fetch(
      FetchRequest<T>(entityName: kind.rawValue, predicate: Attribute("name") == String(number)))
    guard found.count == 1 else {
      throw Failure(description: "\(kind) \(number) is there \(found.count) times")
    }
    return found[0]
  }

  // MARK: One step

  private func perform() throws {
    switch dice.roll(100) {
    case ..<18: insert()
    case ..<26: try setDepartment()
    case ..<31: try setManager()
    case ..<36: try setDesk()
    case ..<42: try befriend()
    case ..<49: try joinProject()
    case ..<57: try arrangeMilestones()
    case ..<63: try arrangeWatchers()
    case ..<67: try setOneWay()
    case ..<70: try setAuditors()
    case ..<74: try setKey()
    case ..<80: try delete()
    case ..<84:
      context.processPendingChanges()
      note("process")
    case ..<90: try parents.isEmpty ? save() : leaveChild(saving: true)
    case ..<92: rollback()
    case ..<96: enterChild()
    case ..<98: if !parents.isEmpty { try leaveChild(saving: false) }
    default: if parents.isEmpty { try reopen() }
    }
  }

  private func insert() {
    guard let kind = ReferenceGraph.Kind.allCases.randomElement(using: &dice) else { return }
    let number = nextNumber
    nextNumber += 1
    let name = String(number)
    switch kind {
    case .department: context.make(Department.self, name)
    case .employee: context.make(Employee.self, name)
    case .manager: context.make(Manager.self, name)
    case .key: context.make(Key.self, name)
    case .desk: context.make(Desk.self, name)
    case .project: context.make(Project.self, name)
    case .milestone: context.make(Milestone.self, name)
    case .label: context.make(Label.self, name)
    }
    graph.nodes[number] = kind
    note("insert \(kind) \(number)")
  }

  private func setDepartment() throws {
    guard let employee = pick(\.isEmployee) else { return }
    let department =
      (dice.roll(2) == 0)
      ? pick { $0 == .department } : (dice.roll(2) == 0) ? pick { $0 == .department } : nil
    let object = try object(employee, Employee.self)
    if let department, (dice.roll(2) == 0) {
      try self.object(department, Department.self).employees.insert(object)
    } else {
      object.department = try department.map { try self.object($0) }
    }
    graph.department[employee] = department
    note("department of \(employee) = \(department.map(String.init) ?? "nil")")
  }

  private func setManager() throws {
    guard let employee = pick(\.isEmployee), let boss = pick(\.isEmployee) else { return }
    let object = try object(employee, Employee.self)
    if graph.manager[employee] != nil, (dice.roll(2) == 0) {
      object.manager?.reports.remove(object)
      graph.manager[employee] = nil
      note("manager of \(employee) = nil")
      return
    }
    object.manager = try self.object(boss, Employee.self)
    graph.manager[employee] = boss
    note("manager of \(employee) = \(boss)")
  }

  private func setDesk() throws {
    guard let employee = pick(\.isEmployee) else { return }
    let desk = dice.roll(4) > 0 ? pick { $0 == .desk } : nil
    if let desk, (dice.roll(2) == 0) {
      try object(desk, Desk.self).employee = try object(employee, Employee.self)
    } else {
      try object(employee, Employee.self).desk = try desk.map { try object($0) }
    }
    graph.setDesk(employee, desk)
    note("desk of \(employee) = \(desk.map(String.init) ?? "nil")")
  }

  private func befriend() throws {
    guard let one = pick(\.isEmployee), let other = pick(\.isEmployee) else { return }
    let isFriend = dice.roll(3) > 0
    let (left, right) = (try object(one, Employee.self), try object(other, Employee.self))
    if isFriend { left.friends.insert(right) } else { left.friends.remove(right) }
    graph.befriend(one, other, isFriend)
    note("friends \(one) \(other) \(isFriend)")
  }

  private func joinProject() throws {
    guard let employee = pick(\.isEmployee), let project = pick({ $0 == .project }) else { return }
    let (person, work) = (try object(employee, Employee.self), try object(project, Project.self))
    switch dice.roll(4) {
    case 0:
      person.projects.remove(work)
      graph.projects[employee]?.remove(project)
      note("\(employee) leaves \(project)")
    case 1:
      let members = Set(graph.numbers(\.isEmployee).filter { _ in dice.roll(3) == 0 })
      work.setValue(Set<ManagedObject>(try members.map { try object($0, Employee.self) }), forKey: "members")
      for employee in graph.numbers(\.isEmployee) {
        if members.contains(employee) {
          graph.projects[employee, default: []].insert(project)
        } else {
          graph.projects[employee]?.remove(project)
        }
      }
      note("members of \(project) = \(members.sorted())")
    default:
      if (dice.roll(2) == 0) { person.projects.insert(work) } else { work.members.insert(person) }
      graph.projects[employee, default: []].insert(project)
      note("\(employee) joins \(project)")
    }
  }

  private func arrangeMilestones() throws {
    guard let project = pick({ $0 == .project }), let milestone = pick({ $0 == .milestone }) else { return }
    let (work, stone) = (try object(project, Project.self), try object(milestone, Milestone.self))
    let others = (graph.milestones[project] ?? []).filter { $0 != milestone }.count
    switch dice.roll(5) {
    case 0:
      stone.project = nil
      graph.setProject(milestone, nil)
      note("milestone \(milestone) out")
    case 1:
      let place = dice.roll(others + 1)
      work.milestones.insert(stone, at: place)
      graph.setProject(milestone, project, at: place)
      note("milestone \(milestone) at \(place) of \(project)")
    case 2:
      var order = graph.milestones[project] ?? []
      order.shuffle(using: &dice)
      work.setValue(try order.map { try object($0, Milestone.self) }, forKey: "milestones")
      graph.milestones[project] = order
      note("milestones of \(project) = \(order)")
    default:
      if (dice.roll(2) == 0) { work.milestones.append(stone) } else { stone.project = work }
      graph.setProject(milestone, project)
      note("milestone \(milestone) appended to \(project)")
    }
  }

  private func arrangeWatchers() throws {
    guard let project = pick({ $0 == .project }), let employee = pick(\.isEmployee) else { return }
    let (work, person) = (try object(project, Project.self), try object(employee, Employee.self))
    let others = (graph.watchers[project] ?? []).filter { $0 != employee }.count
    switch dice.roll(4) {
    case 0:
      work.watchers.remove(person)
      graph.watchers[project]?.removeAll { $0 == employee }
      note("\(employee) stops watching \(project)")
    case 1:
      let place = dice.roll(others + 1)
      work.watchers.insert(person, at: place)
      graph.watch(project, employee, at: place)
      note("\(employee) watches \(project) at \(place)")
    default:
      if (dice.roll(2) == 0) { work.watchers.append(person) } else { person.watched.insert(work) }
      graph.watch(project, employee)
      note("\(employee) watches \(project)")
    }
  }

  private func setOneWay() throws {
    // What leads one way is cleared by the save of a deletion, which undo does not bring back.
    guard undoManager == nil, let project = pick({ $0 == .project }) else { return }
    let work = try object(project, Project.self)
    if let label = pick({ $0 == .label }), (dice.roll(2) == 0) {
      let object = try object(label, Label.self)
      if graph.labels[project]?.contains(label) == true {
        work.labels.remove(object)
        graph.labels[project]?.remove(label)
      } else {
        work.labels.insert(object)
        graph.labels[project, default: []].insert(label)
      }
      note("label \(label) of \(project) turned")
    } else {
      let department = pick { $0 == .department }
      work.sponsor = try department.map { try object($0) }
      graph.sponsor[project] = department
      note("sponsor of \(project) = \(department.map(String.init) ?? "nil")")
    }
  }

  private func setAuditors() throws {
    guard let department = pick({ $0 == .department }), let employee = pick(\.isEmployee) else { return }
    let (office, person) = (try object(department, Department.self), try object(employee, Employee.self))
    if (dice.roll(2) == 0) {
      office.auditors.insert(person)
      graph.auditors[department, default: []].insert(employee)
    } else {
      person.audits.remove(office)
      graph.auditors[department]?.remove(employee)
    }
    note("auditors of \(department): \(graph.auditors[department] ?? [])")
  }

  private func setKey() throws {
    guard let key = pick({ $0 == .key }) else { return }
    let department = pick { $0 == .department }
    try object(key, Key.self).department = try department.map { try object($0) }
    graph.keyring[key] = department
    note("key \(key) to \(department.map(String.init) ?? "nil")")
  }

  private func delete() throws {
    guard let number = pick({ _ in true }) else { return }
    // A denied deletion is a test of its own.
    if graph.auditors[number]?.isEmpty == false { return }
    context.delete(try object(number, Named.self))
    context.processPendingChanges()
    graph.delete(number)
    note("delete \(number)")
  }

  // MARK: Saving, taking back, nesting

  private func save() throws {
    note("save")
    try context.save()
    graph.settle()
    saved = graph
    saves += 1
    let own = Result { try compare(isSettled: true) }
    try store.fresh { context in
      var complaints: [String] = []
      if case .failure(let error) = own { complaints.append("the context: \(error)") }
      let found = try ReferenceGraph(context, isSettled: true, &complaints).normal
      if found != graph.normal { complaints.append(found.difference(from: graph.normal)) }
      if !complaints.isEmpty {
        throw Failure(description: "the store: " + complaints.joined(separator: "; "))
      }
    }
    let problems = try store.problems()
    if !problems.isEmpty { throw Failure(description: "check: \(problems.prefix(5))") }
  }

  private func rollback() {
    note("rollback")
    context.rollback()
    graph = parents.last?.graph ?? saved
    if parents.isEmpty {
      undoable = []
      redoable = []
    }
  }

  private func enterChild() {
    guard parents.count < 2 else { return }
    note("enter child")
    context.processPendingChanges()
    parents.append((context, graph))
    context = ManagedObjectContext(.confinement, parent: context)
  }

  private func leaveChild(saving: Bool) throws {
    guard let parent = parents.popLast() else { return }
    note(saving ? "child saves" : "child goes")
    if saving {
      try context.save()
      try compare()
      note("the child has saved")
    } else {
      graph = parent.graph
    }
    context = parent.context
    try compare()
  }

  private func reopen() throws {
    try save()
    note("reopen")
    store = try store.reopened(TeamModel.make())
    root = store.context()
    context = root
    undoable = []
    redoable = []
    if undoManager != nil { undoManager = Strata.UndoManager() }
    root.undoManager = undoManager
  }

  // MARK: Comparing

  private func compare(isSettled: Bool = false) throws {
    var complaints: [String] = []
    let found = try ReferenceGraph(context, isSettled: isSettled, &complaints).normal
    var expected = graph.normal
    if !isSettled {
      expected.labels = [:]
      expected.sponsor = [:]
    }
    if found != expected { complaints.append(found.difference(from: expected)) }
    if !complaints.isEmpty { throw Failure(description: complaints.joined(separator: "; ")) }
  }
}
