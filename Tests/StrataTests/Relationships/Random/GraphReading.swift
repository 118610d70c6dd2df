import Strata

extension ReferenceGraph {
  /// What a context shows, read through every relationship from the side that has the more to say; the other side must agree.
  ///
  /// - Parameter isSettled: whether references without inverse are looked at: before a save they may lead to deleted objects.
  init(_ context: ManagedObjectContext, isSettled: Bool, _ complaints: inout [String]) throws {
    func number(_ object: Named?) -> Int? { object?.name.flatMap { Int($0) } }
    func all<T: Named>(_ type: T.Type, _ entity: String) throws -> [(Int, T)] {
      try context.fetch(FetchRequest<T>(entityName: entity)).compactMap { object in
        if number(object) == nil { complaints.append("no name: \(object)") }
        return number(object).map { ($0, object) }
      }
    }
    func expect(_ holds: Bool, _ words: @autoclosure () -> String) {
      if !holds { complaints.append(words()) }
    }
    for (own, object) in try all(Employee.self, "Employee") {
      nodes[own] = object is Manager ? .manager : .employee
      department[own] = number(object.department)
      manager[own] = number(object.manager)
      desk[own] = number(object.desk)
      friends[own] = Set(object.friends.compactMap { number($0) })
      projects[own] = Set(object.projects.compactMap { number($0) })
      expect(object.friends.count == friends[own]?.count, "friends of \(own) miscounted")
      expect(object.projects.allSatisfy { $0.members.contains(object) }, "projects of \(own) do not know it")
      expect(object.reports.allSatisfy { $0.manager === object }, "reports of \(own) have another manager")
      expect(object.desk.map { $0.employee === object } ?? true, "the desk of \(own) is another's")
      expect(
        object.watched.allSatisfy { $0.watchers.contains(object) }, "projects \(own) watches do not know it")
    }
    for (own, object) in try all(Department.self, "Department") {
      nodes[own] = .department
      auditors[own] = Set(object.auditors.compactMap { number($0) })
      let employees = Set(object.employees.compactMap { number($0) })
      let expected = Set(department.filter { $0.value == own }.keys)
      expect(employees == expected, "employees of \(own): \(employees.sorted()), not \(expected.sorted())")
      expect(object.employees.count == expected.count, "employees of \(own) miscounted")
      expect(object.auditors.allSatisfy { $0.audits.contains(object) }, "auditors of \(own) do not know it")
      for key in object.keys { if let key = number(key) { keyring[key] = own } }
    }
    for (own, object) in try all(Key.self, "Key") {
      nodes[own] = .key
      expect(number(object.department) == keyring[own], "key \(own) hangs elsewhere")
    }
    for (own, object) in try all(Desk.self, "Desk") {
      nodes[own] = .desk
      expect(
        number(object.employee).map { desk[$0] == own } ?? true, "the employee of desk \(own) sits elsewhere")
    }
    for (own, object) in try all(Project.self, "Project") {
      nodes[own] = .project
      milestones[own] = object.milestones.compactMap { number($0) }
      watchers[own] = object.watchers.compactMap { number($0) }
      expect(object.milestones.allSatisfy { $0.project === object }, "milestones of \(own) are another's")
      let members = Set(object.members.compactMap { number($0) })
      let expected = Set(projects.filter { $0.value.contains(own) }.keys)
      expect(members == expected, "members of \(own): \(members.sorted()), not \(expected.sorted())")
      if isSettled {
        labels[own] = Set(object.labels.compactMap { number($0) })
        sponsor[own] = number(object.sponsor)
      }
    }
    for (own, _) in try all(Milestone.self, "Milestone") { nodes[own] = .milestone }
    for (own, _) in try all(Label.self, "Label") { nodes[own] = .label }
  }
}
