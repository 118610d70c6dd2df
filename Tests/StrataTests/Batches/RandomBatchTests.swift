import Foundation
@_spi(Testing) import Strata
import Testing
import TortureKit

/// Random batches among saves of contexts, against a plain model: values, relationships and the whole file after each.
struct RandomBatchTests {
  @Test("rules 208–213, 269–273: batches do what a plain model does", arguments: 0..<8)
  func againstAPlainModel(round: Int) throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("RandomBatchTests seed \(seed)")
    var run = try BatchRun(seed: seed)
    do {
      for _ in 0..<60 { try run.step() }
    } catch {
      Issue.record("seed \(seed): \(error)\n\(run.story.suffix(20).joined(separator: "\n"))")
    }
  }
}

/// What is stored, as plain values: people refer by number.
struct PlainTeam: Equatable {
  struct Person: Equatable {
    var level: Int64 = 0
    var department: String?
    var manager: String?
    var desk: String?
    var friends: Set<String> = []
    var audits: Set<String> = []
  }
  /// By name.
  var people: [String: Person] = [:]
  /// The keys of each department.
  var departments: [String: Set<String>] = [:]
  /// The person who sits there.
  var desks: [String: String?] = [:]
  /// Projects and their sponsors.
  var projects: [String: String?] = [:]

  /// Gives a person a seat, as one-to-one relationships require.
  mutating func seat(_ person: String, at desk: String?) {
    if let old = people[person]?.desk { desks[old] = .some(nil) }
    if let desk {
      if let former = desks[desk] ?? nil { people[former]?.desk = nil }
      desks[desk] = .some(person)
    }
    people[person]?.desk = desk
  }

  mutating func delete(people names: Set<String>) {
    for name in names {
      if let desk = people[name]?.desk { desks[desk] = .some(nil) }
      people[name] = nil
    }
    for name in people.keys {
      people[name]?.friends.subtract(names)
      if let manager = people[name]?.manager, names.contains(manager) { people[name]?.manager = nil }
    }
  }

  /// False when the rule deny forbids it.
  mutating func delete(departments names: Set<String>) -> Bool {
    if people.values.contains(where: { !$0.audits.isDisjoint(with: names) }) { return false }
    for name in names { departments[name] = nil }
    for name in people.keys {
      if let department = people[name]?.department, names.contains(department) {
        people[name]?.department = nil
      }
    }
    for name in projects.keys {
      if let sponsor = projects[name] ?? nil, names.contains(sponsor) { projects[name] = .some(nil) }
    }
    return true
  }
}

/// One random run.
struct BatchRun {
  let store: TemporaryStore
  let context: ManagedObjectContext
  var plain = PlainTeam()
  var random: SeededGenerator
  var story: [String] = []
  private var number = 0

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    store = try TemporaryStore(TeamModel.make())
    context = store.context()
  }

  mutating func step() throws {
    switch random.below(10) {
    case 0, 1: try insertPeople()
    case 2: try insertOthers()
    case 3: try save()
    case 4: try updateLevels()
    case 5: try updateDepartment()
    case 6: try updateManager()
    case 7: try seat()
    case 8: try deletePeople()
    default: try deleteDepartments()
    }
    try check()
  }

  private mutating func name(_ kind: String) -> String {
    number += 1
    return "\(kind)\(number)"
  }

  private func id<T: Named>(_ type: T.Type, _ name: String) throws -> ManagedObjectID {
    try store.fresh { try $0.find(type, name).objectID }
  }

  // MARK: Inserts

  private mutating func insertPeople() throws {
    var objects: [[String: Any]] = []
    for _ in 0..<random.below(12) {
      let name = name("person")
      var person = PlainTeam.Person(level: Int64(random.below(10)))
      var values: [String: Any] = ["name": name, "level": person.level]
      if random.chance(60), let department = random.pickAny(plain.departments.keys.sorted()) {
        person.department = department
        values["department"] = try id(Department.self, department)
      }
      if random.chance(40),
        let manager = random.pickAny(
          plain.people.keys.sorted().filter { name in
            !objects.contains { $0["name"] as? String == name }
          })
      {
        person.manager = manager
        values["manager"] = try id(Employee.self, manager)
      }
      plain.people[name] = person
      if random.chance(30), let desk = random.pickAny(plain.desks.keys.sorted()) {
        values["desk"] = try id(Desk.self, desk)
        plain.seat(name, at: desk)
      }
      objects.append(values)
    }
    story.append("insert \(objects)")
    let entity = random.chance(80) ? "Employee" : "Manager"
    var request = BatchInsertRequest(entityName: entity, objects: objects)
    if random.chance(40) {
      var rest = objects[...]
      request = BatchInsertRequest(entityName: entity) { (values: inout [String: Any]) in
        values = rest.popFirst() ?? [:]
        return values.isEmpty
      }
    }
    request.step = 1 + random.below(6)
    let count = try context.execute(request).count
    #expect(count == objects.count)
  }

  private mutating func insertOthers() throws {
    for (entity, kind) in [("Department", "department"), ("Desk", "desk"), ("Project", "project")] {
      let names = (0..<random.below(3)).map { _ in name(kind) }
      var objects: [[String: Any]] = []
      for name in names {
        var values: [String: Any] = ["name": name]
        switch entity {
        case "Department": plain.departments[name] = []
        case "Desk": plain.desks[name] = .some(nil)
        default:
          let sponsor = random.pickAny(plain.departments.keys.sorted())
          plain.projects[name] = .some(sponsor)
          if let sponsor { values["sponsor"] = try id(Department.self, sponsor) }
        }
        objects.append(values)
      }
      try context.execute(BatchInsertRequest(entityName: entity, objects: objects))
      story.append("insert \(names)")
    }
    if let department = random.pickAny(plain.departments.keys.sorted()) {
      let key = name("key")
      plain.departments[department]?.insert(key)
      let id = try id(Department.self, department)
      try context.execute(
        BatchInsertRequest(entityName: "Key", objects: [["name": key, "department": id]]))
    }
  }

  /// What batches do not do: many-to-many relationships.
  private mutating func save() throws {
    let people = plain.people.keys.sorted()
    guard let one = random.pickAny(people), let other = random.pickAny(people) else { return }
    let saving = random.chance(50) ? context : store.context()
    let (first, second) = (try saving.find(Employee.self, one), try saving.find(Employee.self, other))
    if one != other {
      first.friends.insert(second)
      plain.people[one]?.friends.insert(other)
      plain.people[other]?.friends.insert(one)
    }
    if random.chance(20), let department = random.pickAny(plain.departments.keys.sorted()) {
      first.audits.insert(try saving.find(Department.self, department))
      plain.people[one]?.audits.insert(department)
    }
    first.level = Int64(random.below(10))
    plain.people[one]?.level = first.level
    story.append("save \(one) \(other)")
    try saving.save()
    if saving !== context { context.refreshAllObjects() }
  }

  // MARK: Updates

  private mutating func predicate() -> (FetchPredicate, (PlainTeam.Person) -> Bool) {
    let level = Int64(random.below(10))
    return random.chance(50)
      ? (Attribute("level") <= level, { $0.level <= level })
      : (Attribute("level") == level, { $0.level == level })
  }

  private mutating func update(_ values: [String: any Sendable], _ predicate: FetchPredicate, _ count: Int)
    throws
  {
    var request = BatchUpdateRequest(entityName: "Employee", predicate: predicate, propertiesToUpdate: values)
    request.step = 1 + random.below(6)
    request.mergesIntoContext = random.chance(80)
    request.resultType = .objectIDs
    story.append("update \(values) where \(predicate)")
    let result = try context.execute(request)
    #expect(result.count == count)
    if !request.mergesIntoContext { context.refreshAllObjects() }
  }

  private mutating func updateLevels() throws {
    let (predicate, matches) = predicate()
    let level = Int64(random.below(10))
    var count = 0
    for (name, person) in plain.people where matches(person) {
      plain.people[name]?.level = level
      count += 1
    }
    try update(["level": level], predicate, count)
  }

  private mutating func updateDepartment() throws {
    let (predicate, matches) = predicate()
    let department = random.pickAny(plain.departments.keys.sorted())
    var count = 0
    for (name, person) in plain.people where matches(person) {
      plain.people[name]?.department = department
      count += 1
    }
    let identifier = try department.map { try id(Department.self, $0) }
    try update(["department": identifier.map { $0 as any Sendable } ?? AttributeValue.null], predicate, count)
  }

  private mutating func updateManager() throws {
    let (predicate, matches) = predicate()
    guard let manager = random.pickAny(plain.people.keys.sorted()) else { return }
    var count = 0
    for (name, person) in plain.people where matches(person) {
      plain.people[name]?.manager = manager
      count += 1
    }
    try update(["manager": try id(Employee.self, manager)], predicate, count)
  }

  private mutating func seat() throws {
    guard let person = random.pickAny(plain.people.keys.sorted()) else { return }
    let desk = random.chance(80) ? random.pickAny(plain.desks.keys.sorted()) : nil
    if random.chance(50), let desk {
      // From the other end.
      plain.seat(person, at: desk)
      let id = try id(Employee.self, person)
      story.append("seat \(person) at \(desk), by the desk")
      try context.execute(
        BatchUpdateRequest(
          entityName: "Desk", predicate: Attribute("name") == desk, propertiesToUpdate: ["employee": id]))
      return
    }
    plain.seat(person, at: desk)
    let identifier = try desk.map { try id(Desk.self, $0) }
    try update(
      ["desk": identifier.map { $0 as any Sendable } ?? AttributeValue.null], Attribute("name") == person, 1)
  }

  // MARK: Deletes

  private mutating func deletePeople() throws {
    let level = Int64(random.below(10))
    let gone = Set(plain.people.filter { $0.value.level == level }.keys)
    var request = BatchDeleteRequest(
      fetchRequest: FetchRequest<ManagedObject>(
        entityName: "Employee", predicate: Attribute("level") == level))
    if random.chance(40) {
      // IDs of one entity: managers stay.
      let ids = try store.fresh { (context) throws in
        try context.fetch(
          FetchRequest<ManagedObject>(entityName: "Employee", predicate: Attribute("level") == level)
        )
        .filter { !($0 is Manager) }.map { ($0.objectID, $0["name"] as? String ?? "") }
      }
      request = BatchDeleteRequest(objectIDs: ids.map(\.0))
      plain.delete(people: Set(ids.map(\.1)))
    } else {
      plain.delete(people: gone)
    }
    request.step = 1 + random.below(6)
    story.append("delete people of level \(level)")
    try context.execute(request)
  }

  private mutating func deleteDepartments() throws {
    let all = plain.departments.keys.sorted()
    guard !all.isEmpty, random.chance(50) else { return }
    let names = Set((0..<2).map { _ in random.pick(all) })
    var request = BatchDeleteRequest(
      fetchRequest: FetchRequest<ManagedObject>(
        entityName: "Department", predicate: Attribute("name").isIn(names.sorted())))
    request.step = 1 + random.below(6)
    let keys = names.reduce(0) { $0 + (plain.departments[$1]?.count ?? 0) }
    story.append("delete \(names)")
    if plain.delete(departments: names) {
      let count = try context.execute(request).count
      #expect(count == names.count + keys)
    } else {
      let error = #expect(throws: CoreDataError.self) { try context.execute(request) }
      #expect(error?.code == .validationRelationshipDeniedDelete)
    }
  }

  // MARK: Checking

  private func check() throws {
    let problems = try store.problems()
    if !problems.isEmpty { throw Difference(text: "StoreCheck: \(problems)") }
    for (place, reader) in [("store", store.context()), ("context", context)] {
      let found = try read(reader)
      if found != plain { throw Difference(text: "\(place): \(found)\nexpected \(plain)") }
    }
  }

  private struct Difference: Error { let text: String }

  private func read(_ context: ManagedObjectContext) throws -> PlainTeam {
    var team = PlainTeam()
    for employee in try context.fetch(FetchRequest<Employee>(entityName: "Employee")) {
      team.people[employee.name ?? ""] = PlainTeam.Person(
        level: employee.level, department: employee.department?.name, manager: employee.manager?.name,
        desk: employee.desk?.name, friends: Set(employee.friends.names), audits: Set(employee.audits.names))
    }
    for department in try context.fetch(FetchRequest<Department>(entityName: "Department")) {
      let name = department.name ?? ""
      team.departments[name] = Set(department.keys.names)
      let members = team.people.filter { $0.value.department == name }.keys.sorted()
      if department.employees.names != members {
        throw Difference(text: "\(name) has \(department.employees.names), not \(members)")
      }
    }
    for desk in try context.fetch(FetchRequest<Desk>(entityName: "Desk")) {
      team.desks[desk.name ?? ""] = .some(desk.employee?.name)
    }
    for project in try context.fetch(FetchRequest<Project>(entityName: "Project")) {
      team.projects[project.name ?? ""] = .some(project.sponsor?.name)
    }
    return team
  }
}
