/// What the graph of `TeamModel` is, as plain tables: the model that random operations are compared with. A value: rolling back
/// is taking an earlier copy.
struct ReferenceGraph: Equatable {
  enum Kind: String, CaseIterable {
    case department = "Department"
    case employee = "Employee"
    case manager = "Manager"
    case key = "Key"
    case desk = "Desk"
    case project = "Project"
    case milestone = "Milestone"
    case label = "Label"

    var isEmployee: Bool { self == .employee || self == .manager }
  }

  /// What there is, by number.
  var nodes: [Int: Kind] = [:]
  /// Employee → department, employee → manager, key → department.
  var department: [Int: Int] = [:]
  var manager: [Int: Int] = [:]
  var keyring: [Int: Int] = [:]
  /// Employee → desk, one-to-one.
  var desk: [Int: Int] = [:]
  /// Both directions of each friendship.
  var friends: [Int: Set<Int>] = [:]
  /// Employee → projects.
  var projects: [Int: Set<Int>] = [:]
  /// Department → auditors.
  var auditors: [Int: Set<Int>] = [:]
  /// Project → milestones and project → watchers, in order.
  var milestones: [Int: [Int]] = [:]
  var watchers: [Int: [Int]] = [:]
  /// Project → labels and project → department, without inverse.
  var labels: [Int: Set<Int>] = [:]
  var sponsor: [Int: Int] = [:]

  func numbers(_ isWanted: (Kind) -> Bool) -> [Int] { nodes.filter { isWanted($0.value) }.keys.sorted() }

  /// The objects that deny deleting this and what is deleted with it.
  func denies(_ deleted: Set<Int>) -> Bool {
    deleted.contains { !(auditors[$0] ?? []).subtracting(deleted).isEmpty }
  }

  // MARK: Changing

  mutating func setDesk(_ employee: Int, _ new: Int?) {
    if let new { for (other, taken) in desk where taken == new { desk[other] = nil } }
    desk[employee] = new
  }

  mutating func befriend(_ a: Int, _ b: Int, _ isFriend: Bool) {
    for (one, other) in [(a, b), (b, a)] {
      if isFriend { friends[one, default: []].insert(other) } else { friends[one]?.remove(other) }
    }
  }

  mutating func setProject(_ milestone: Int, _ project: Int?, at place: Int? = nil) {
    let old = milestones.first { $0.value.contains(milestone) }?.key
    if old == project, place == nil { return }
    if let old { milestones[old]?.removeAll { $0 == milestone } }
    guard let project else { return }
    let count = milestones[project]?.count ?? 0
    milestones[project, default: []].insert(milestone, at: min(place ?? count, count))
  }

  mutating func watch(_ project: Int, _ employee: Int, at place: Int? = nil) {
    let isThere = watchers[project]?.contains(employee) ?? false
    if isThere, place == nil { return }
    watchers[project]?.removeAll { $0 == employee }
    let count = watchers[project]?.count ?? 0
    watchers[project, default: []].insert(employee, at: min(place ?? count, count))
  }

  /// Deletes with what the rules take along: keys of departments, milestones of projects.
  mutating func delete(_ number: Int) {
    guard let kind = nodes.removeValue(forKey: number) else { return }
    switch kind {
    case .department:
      for (key, owner) in keyring where owner == number { delete(key) }
      department = department.filter { $0.value != number }
      // A deny that stands is put back by the failed save.
      auditors[number] = nil
    case .employee, .manager:
      department[number] = nil
      manager[number] = nil
      manager = manager.filter { $0.value != number }
      desk[number] = nil
      for friend in friends[number] ?? [] { friends[friend]?.remove(number) }
      friends[number] = nil
      projects[number] = nil
      for owner in auditors.keys { auditors[owner]?.remove(number) }
      for project in watchers.keys { watchers[project]?.removeAll { $0 == number } }
    case .key: keyring[number] = nil
    case .desk: desk = desk.filter { $0.value != number }
    case .project:
      for milestone in milestones[number] ?? [] { delete(milestone) }
      milestones[number] = nil
      watchers[number] = nil
      labels[number] = nil
      sponsor[number] = nil
      for employee in projects.keys { projects[employee]?.remove(number) }
    case .milestone:
      for project in milestones.keys { milestones[project]?.removeAll { $0 == number } }
    case .label: break
    }
  }

  /// References without inverse to deleted records are cleared by the save.
  mutating func settle() {
    for project in labels.keys { labels[project] = labels[project]?.filter { nodes[$0] != nil } }
    sponsor = sponsor.filter { nodes[$0.value] != nil }
  }

  /// Without empty entries, so that two graphs are equal when they say the same.
  var normal: ReferenceGraph {
    var copy = self
    copy.friends = friends.filter { !$0.value.isEmpty }
    copy.projects = projects.filter { !$0.value.isEmpty }
    copy.auditors = auditors.filter { !$0.value.isEmpty }
    copy.labels = labels.filter { !$0.value.isEmpty }
    copy.milestones = milestones.filter { !$0.value.isEmpty }
    copy.watchers = watchers.filter { !$0.value.isEmpty }
    return copy
  }

  /// What differs, in words.
  func difference(from other: ReferenceGraph) -> String {
    func differ<V: Equatable>(_ name: String, _ a: [Int: V], _ b: [Int: V]) -> [String] {
      Set(a.keys).union(b.keys).sorted().filter { a[$0] != b[$0] }.prefix(5).map {
        "\(name)[\($0)]: \(a[$0].map { "\($0)" } ?? "–") should be \(b[$0].map { "\($0)" } ?? "–")"
      }
    }
    return
      (differ("nodes", nodes, other.nodes) + differ("department", department, other.department)
      + differ("manager", manager, other.manager) + differ("keyring", keyring, other.keyring)
      + differ("desk", desk, other.desk) + differ("friends", friends, other.friends)
      + differ("projects", projects, other.projects) + differ("auditors", auditors, other.auditors)
      + differ("milestones", milestones, other.milestones) + differ("watchers", watchers, other.watchers)
      + differ("labels", labels, other.labels) + differ("sponsor", sponsor, other.sponsor))
      .joined(separator: "; ")
  }
}
