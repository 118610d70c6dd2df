import Foundation
import Strata
import Testing

/// Few changes of a relationship are undone by looking them up, where its members are not loaded.
struct UndoLookUpTests {
  /// The members as they are to be after each step, in order.
  private static let expected = ["ac", "acx", "acb", "acx", "ac", "acx", "ac", "abc"]

  private enum Kind: String, CaseIterable {
    case members, watchers, milestones
  }

  private static func names(_ kind: Kind, of project: Project) -> String {
    switch kind {
    case .members: project.members.names.sorted().joined()
    case .watchers: project.watchers.namesInOrder.joined()
    case .milestones: project.milestones.namesInOrder.joined()
    }
  }

  @Test("rule 235: a few changes of members are undone and done again without loading the others")
  func withoutLoading() throws {
    for kind in Kind.allCases {
      for isLoaded in [false, true] {
        for count in 1...Self.expected.count { try Self.run(kind, isLoaded, steps: count) }
      }
    }
  }

  private static func run(_ kind: Kind, _ isLoaded: Bool, steps count: Int) throws {
    let store = try TemporaryStore(TeamModel.make())
    try store.fresh { context in
      let project = context.make(Project.self, "Red")
      for name in ["a", "b", "c", "x"] {
        if kind == .milestones {
          let milestone = context.make(Milestone.self, name)
          if name != "x" { project.milestones.append(milestone) }
        } else {
          let employee = context.make(Employee.self, name)
          if name == "x" { continue }
          if kind == .members { project.members.insert(employee) } else { project.watchers.append(employee) }
        }
      }
      try context.save()
    }
    let context = store.context()
    context.undoManager = UndoManager()
    let project = try context.find(Project.self, "Red")
    func change(_ name: String, adds: Bool) throws {
      if kind == .milestones {
        let milestone = try context.find(Milestone.self, name)
        if adds { project.milestones.append(milestone) } else { project.milestones.remove(milestone) }
      } else {
        let employee = try context.find(Employee.self, name)
        switch (kind, adds) {
        case (.members, true): project.members.insert(employee)
        case (.members, false): project.members.remove(employee)
        case (_, true): project.watchers.append(employee)
        case (_, false): project.watchers.remove(employee)
        }
      }
    }
    let steps: [() throws -> Void] = [
      { try change("b", adds: false) }, { try change("x", adds: true) },
      {
        try change("x", adds: false)
        try change("b", adds: true)
      },
      { context.undo() }, { context.undo() }, { context.redo() }, { context.undo() }, { context.undo() },
    ]
    if isLoaded { _ = names(kind, of: project) }
    let loaded = context.statistics.relationshipFaultsFired
    for step in steps.prefix(count) {
      try step()
      context.processPendingChanges()
    }
    let place: Comment = "\(kind) \(isLoaded) \(count)"
    if !isLoaded { #expect(context.statistics.relationshipFaultsFired == loaded, place) }
    let wanted = kind == .members ? String(expected[count - 1].sorted()) : expected[count - 1]
    #expect(context.hasChanges == (count < steps.count), place)
    #expect(names(kind, of: project) == wanted, place)
    try context.save()
    #expect(try store.fresh { names(kind, of: try $0.find(Project.self, "Red")) } == wanted, place)
    #expect(try store.problems() == [], place)
  }
}
