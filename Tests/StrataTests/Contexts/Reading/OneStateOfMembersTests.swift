import Foundation
import Strata
import Testing

/// An ordered view is a collection whose `count` looks into the index, and whose members are loaded by what asks for one. Other contexts save in between.
@Suite("Ordered views while others save")
struct OneStateOfMembersTests {
  let gate = StoreGate()
  let store: TemporaryStore
  let context: ManagedObjectContext
  let boat: Project

  init() throws {
    store = try TemporaryStore(behind: gate, TeamModel.make())
    let writer = store.context()
    let project = writer.make(Project.self, "Boat")
    for name in ["keel", "hull", "mast"] { project.milestones.append(writer.make(Milestone.self, name)) }
    try writer.save()
    context = store.context()
    boat = try context.find(Project.self, "Boat")
  }

  /// From now on another context deletes the last milestone as soon as the members have been counted.
  private func deleteBehindTheCount() {
    gate.afterNextCount { [store] in
      do {
        let other = store.context()
        other.delete(try other.find(Milestone.self, "mast"))
        try other.save()
      } catch { Issue.record(error) }
    }
  }

  enum Way: CaseIterable, Sendable { case array, map, last, loop, reversed, suffix, indices, popLast }

  private func names(_ way: Way) -> [String] {
    let milestones = boat.milestones
    switch way {
    case .array: return Array(milestones).namesInOrder
    case .map: return milestones.map { $0.name ?? "" }
    case .last: return [milestones.last?.name ?? ""]
    case .loop:
      var names: [String] = []
      for milestone in milestones { names.append(milestone.name ?? "") }
      return names
    case .reversed: return milestones.reversed().map { $0.name ?? "" }
    case .suffix: return milestones.suffix(2).map { $0.name ?? "" }
    case .indices: return milestones.indices.map { milestones[$0].name ?? "" }
    case .popLast: return [milestones.popLast()?.name ?? ""]
    }
  }

  @Test("What collections do goes by one state of the members", arguments: Way.allCases)
  func algorithms(way: Way) throws {
    deleteBehindTheCount()
    let all = ["keel", "hull", "mast"]
    let expected: [String] =
      switch way {
      case .array, .map, .loop, .indices: all
      case .last, .popLast: ["mast"]
      case .reversed: all.reversed()
      case .suffix: ["hull", "mast"]
      }
    #expect(names(way) == expected)
  }

  @Test("count and isEmpty only look into the index; endIndex and subscripts go together")
  func count() throws {
    deleteBehindTheCount()
    #expect(boat.milestones.count == 3, "and then one is deleted")
    #expect(context.statistics.relationshipFaultsFired == 0)
    #expect(!boat.milestones.isEmpty)
    #expect(context.statistics.relationshipFaultsFired == 0)
    #expect(boat.milestones.endIndex == 2 && boat.milestones.count == 2)
    #expect(boat.milestones[1].name == "hull")
    #expect(context.statistics.relationshipFaultsFired == 1)
  }

  @Test("A loop goes through the members that there were when it began")
  func editedInALoop() {
    var names: [String?] = []
    for milestone in boat.milestones {
      names.append(milestone.name)
      boat.milestones.removeAll()
    }
    #expect(names == ["keel", "hull", "mast"])
    #expect(boat.milestones.isEmpty)
  }
}
