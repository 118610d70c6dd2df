import Foundation
import Testing

@testable import StrataCore

/// Members that were asked for, and change one by one afterwards.
struct MergedMembersTests {
  private static func relationship(isOrdered: Bool) throws -> RelationshipSchema {
    let item = EntityDescription("Item")
    let list = EntityDescription("List")
    let items = RelationshipDescription("items", to: item, maxCount: 0)
    let lists = RelationshipDescription("lists", to: list, maxCount: 0)
    items.isOrdered = isOrdered
    (items.inverseRelationship, lists.inverseRelationship) = (lists, items)
    (list.properties, item.properties) = ([items], [lists])
    let schema = try ManagedObjectModel(entities: [list, item]).schema()
    return try #require(schema.relationships.first { $0.name == "items" })
  }

  /// What the members are when they are made of everything that was done.
  private static func made(_ state: RelationState) -> ContiguousArray<PlacedMember> {
    RelationState.apply([state.flying, state.changes], to: state.base ?? [], state.relationship)
  }

  @Test(
    "Members that are kept up to date are those that all changes make of the base", arguments: [true, false])
  func sameAsMadeAgain(isOrdered: Bool) throws {
    let relationship = try Self.relationship(isOrdered: isOrdered)
    var numbers = SeededGenerator(seed: isOrdered ? 1 : 2)
    for _ in 0..<200 {
      let state = RelationState(relationship)
      let base = (1...20).map { number in
        PlacedMember(
          position: isOrdered ? EdgePosition.first + UInt64(number) * 100 : 0, member: UInt64(number))
      }
      state.setBase(ContiguousArray(base), epoch: 0)
      for step in 0..<60 {
        let member = UInt64.random(in: 1...30, using: &numbers)
        switch Int.random(in: 0..<6, using: &numbers) {
        case 0, 1: state.add(member)
        case 2, 3: state.remove(member)
        case 4 where isOrdered:
          state.place(member, at: EdgePosition.first + UInt64.random(in: 0..<3_000, using: &numbers))
        case 5 where step == 30: state.takeOff()
        default: state.forget(member)
        }
        let (now, again) = (state.members(), Self.made(state))
        if isOrdered {
          #expect(now == again)
        } else {
          #expect(now.count == again.count && Set(now.map(\.member)) == Set(again.map(\.member)))
        }
      }
    }
  }

  @Test("The last change of a member is found whenever somebody asks for it, however many came in between")
  func lastChanges() {
    var numbers = SeededGenerator(seed: 3)
    for round in 0..<40 {
      var changes = MemberChanges()
      var last: [UInt64: UInt64] = [:]
      let mostMembers: UInt64 = round % 2 == 0 ? 50 : 2_000
      for step in 0..<4_000 {
        let member = UInt64.random(in: 1...mostMembers, using: &numbers)
        switch Int.random(in: 0..<20, using: &numbers) {
        case 0 where round % 3 == 0:
          changes.forget(member)
          last[member] = nil
        case 1..<8:
          changes.remove(member)
          last[member] = MemberChanges.removed
        default:
          changes.add(member, position: UInt64(step))
          last[member] = UInt64(step)
        }
        if Int.random(in: 0...round * 10, using: &numbers) == 0 {
          #expect(changes.last(member)?.position == last[member])
        }
      }
      #expect(changes.isEmpty == last.isEmpty)
      let effective = changes.effective.map { ($0.member, $0.position) }
      #expect(Dictionary(uniqueKeysWithValues: effective) == last)
      for member in 1...mostMembers where changes.last(member)?.position != last[member] {
        Issue.record("the last change of \(member) in round \(round)")
      }
    }
  }

  @Test("A change of one member is told as a step, and the steps lead from one list to the next")
  func steps() throws {
    let state = RelationState(try Self.relationship(isOrdered: true))
    state.setBase([], epoch: 0)
    var shown = state.members().map(\.member)
    var number = state.moment().number
    for member in UInt64(1)...500 {
      // Places before all others, and behind.
      if member % 3 == 0 { state.place(member, at: EdgePosition.first - member) } else { state.add(member) }
      if member % 5 == 0 { state.remove(member - 1) }
      let now = state.moment()
      let steps = try #require(now.steps(since: number), "the members were made again")
      for step in steps {
        if let place = step.removed {
          let member = shown.remove(at: place)
          #expect(member == step.member)
        }
        if let place = step.inserted { shown.insert(step.member, at: place) }
      }
      number = now.number
      #expect(shown == state.members().map(\.member))
    }
    // What changes all of them at once is no step.
    state.placeAll(shown.reversed())
    #expect(state.moment().steps(since: number) == nil)
    #expect(state.members().map(\.member) == shown.reversed())
  }

  @Test("Two states of different relationships, or before and after, never have the same number")
  func numbers() throws {
    let relationship = try Self.relationship(isOrdered: true)
    let (one, other) = (RelationState(relationship), RelationState(relationship))
    for state in [one, other] { state.setBase([], epoch: 0) }
    let first = one.moment().number
    #expect(one.moment().number == first && other.moment().number != first)
    one.add(7)
    #expect(one.moment().number != first)
    let second = one.moment().number
    one.setBase([], epoch: 1)
    #expect(one.moment().number != second && one.moment().number != first)
  }

  @Test("Members that are placed again and again do not leave all their old places behind")
  func oldPlacesGo() {
    var changes = MemberChanges()
    for round in UInt64(1)...2_000 {
      for member in UInt64(1)...10 { changes.add(member, position: round * 100 + member) }
      // Somebody asks what was done last.
      let last = changes.last(3)?.position
      #expect(last == round * 100 + 3)
    }
    #expect(changes.entries.count < 2_000)
    #expect(changes.effective.map(\.member) == Array(1...10))
    #expect(changes.effective.allSatisfy { $0.position == 200_000 + $0.member })
  }
}
