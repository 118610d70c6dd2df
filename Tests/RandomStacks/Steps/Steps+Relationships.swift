import CoreData

extension GraphRun {
  func editRelationship(_ place: Place, _ graph: PlainGraph) throws {
    guard let number = dice.pick(graph.records.keys.sorted()),
      let end = dice.pick(graph.relationships(number))
    else { return }
    let candidates = graph.numbers(end.destination)
    if !end.isToMany {
      try setOwner(place, number, end, dice.chance(75) ? dice.pick(candidates) : nil)
    } else if end.isOrdered {
      try editOrder(place, graph, number, end, candidates)
    } else {
      try editSet(place, graph, number, end, candidates)
    }
    count("relate")
  }

  private func setOwner(_ place: Place, _ number: Int, _ end: RelationshipPlan, _ owner: Int?) throws {
    guard let planned = plan(place, { $0.setMembers(number, end, owner.map { [$0] } ?? []) }) else { return }
    note("\(place.name): #\(number).\(end.name) = \(owner.map { "#\($0)" } ?? "nil")")
    try object(number, place).setValue(try owner.map { try object($0, place) }, forKey: end.name)
    adopt(planned, place)
  }

  private func editSet(
    _ place: Place, _ graph: PlainGraph, _ number: Int, _ end: RelationshipPlan, _ candidates: [Int]
  ) throws {
    let members = graph.members(number, end.name)
    switch dice.roll(4) {
    case 0:
      guard let member = dice.pick(members), let planned = plan(place, { $0.unlink(number, end, member) })
      else { return }
      note("\(place.name): #\(number).\(end.name) − #\(member)")
      let gone = try object(member, place)
      try object(number, place).mutableSetValue(forKey: end.name).remove(gone)
      adopt(planned, place)
    case 1:
      let wanted = candidates.filter { _ in dice.chance(300 / max(candidates.count, 3)) }
      guard let planned = plan(place, { $0.setMembers(number, end, wanted) }) else { return }
      note("\(place.name): #\(number).\(end.name) = {\(label(wanted))}")
      let objects = try wanted.map { try object($0, place) }
      let owner = try object(number, place)
      if dice.chance(50) {
        owner.setValue(NSSet(array: objects), forKey: end.name)
      } else {
        owner.setValue(Set(objects), forKey: end.name)
      }
      adopt(planned, place)
    default:
      guard let member = dice.pick(candidates), let planned = plan(place, { $0.link(number, end, member) })
      else { return }
      note("\(place.name): #\(number).\(end.name) + #\(member)")
      let new = try object(member, place)
      try object(number, place).mutableSetValue(forKey: end.name).add(new)
      adopt(planned, place)
    }
  }

  private func editOrder(
    _ place: Place, _ graph: PlainGraph, _ number: Int, _ end: RelationshipPlan, _ candidates: [Int]
  ) throws {
    let members = graph.members(number, end.name)
    // The place of a deleted object in the order cannot be read.
    guard members == graph[number]?.ends[end.name] ?? [] else { return }
    var order = members
    var words = "?"
    var edit: (NSMutableOrderedSet) throws -> Void = { _ in }
    let place0 = members.isEmpty ? 0 : dice.roll(members.count)
    let new = candidates.filter { !members.contains($0) }
    switch dice.roll(6) {
    case 0 where !members.isEmpty:
      order.remove(at: place0)
      words = "remove at \(place0)"
      edit = { $0.removeObject(at: place0) }
    case 1 where !members.isEmpty:
      let target = dice.roll(members.count)
      order.remove(at: place0)
      order.insert(members[place0], at: target)
      words = "move \(place0) to \(target)"
      edit = { $0.moveObjects(at: IndexSet(integer: place0), to: target) }
    case 2 where !members.isEmpty && !new.isEmpty:
      guard let other = dice.pick(new) else { return }
      order[place0] = other
      words = "#\(other) at \(place0) instead"
      edit = { [self] in $0.replaceObject(at: place0, with: try object(other, place)) }
    case 3:
      order = candidates.filter { _ in dice.chance(300 / max(candidates.count, 3)) }.shuffled(using: &dice)
      words = "= [\(label(order))]"
      let wanted = order
      edit = { [self] _ in
        let all = try wanted.map { try object($0, place) }
        let owner = try object(number, place)
        if dice.chance(50) {
          owner.setValue(NSOrderedSet(array: all), forKey: end.name)
        } else {
          owner.setValue(all, forKey: end.name)
        }
      }
    case 4 where !new.isEmpty:
      guard let other = dice.pick(new) else { return }
      let target = dice.roll(members.count + 1)
      order.insert(other, at: target)
      words = "#\(other) at \(target)"
      edit = { [self] in $0.insert(try object(other, place), at: target) }
    default:
      guard let other = dice.pick(candidates) else { return }
      if !order.contains(other) { order.append(other) }
      words = "+ #\(other)"
      edit = { [self] in $0.add(try object(other, place)) }
    }
    guard let planned = plan(place, { $0.setMembers(number, end, order) }) else { return }
    note("\(place.name): #\(number).\(end.name) \(words)")
    try edit(try object(number, place).mutableOrderedSetValue(forKey: end.name))
    adopt(planned, place)
  }
}
