import Foundation
import Strata

/// The model the relationship tests live in.
///
///     Department ──employees──▶▶ Employee     nullify and nullify; a department with `isLocked` members may not be deleted
///     Department ──keys──▶▶ Key               cascade
///     Department ──auditors──▶▶ Employee      deny, without order, many-to-many with Employee.audits
///     Employee ──manager──▶ Employee          self, with `reports`
///     Employee ──desk──▶ Desk                 one-to-one
///     Employee ──friends──▶▶ Employee         many-to-many, its own inverse
///     Employee ──projects──▶▶ Project         many-to-many
///     Project ──milestones──▶▶ Milestone      ordered, cascade
///     Project ──watchers──▶▶ Employee         ordered, many-to-many with Employee.watched
///     Project ──sponsor──▶ Department         without inverse
///     Project ──labels──▶▶ Label              to-many without inverse
///     Employee ──guests──▶▶ Employee          transient, with `host`
///     Manager : Employee                      a subentity
enum TeamModel {
  static func make(_ change: ([String: EntityDescription]) -> Void = { _ in }) -> ManagedObjectModel {
    let department = EntityDescription(
      "Department", managedObjectClass: Department.self, properties: [AttributeDescription("name", .string)])
    let manager = EntityDescription("Manager", managedObjectClass: Manager.self)
    let employee = EntityDescription(
      "Employee", managedObjectClass: Employee.self,
      properties: [AttributeDescription("name", .string), AttributeDescription("level", .integer64)],
      subentities: [manager])
    let key = named("Key", Key.self)
    let desk = named("Desk", Desk.self)
    let project = named("Project", Project.self)
    let milestone = named("Milestone", Milestone.self)
    let label = named("Label", Label.self)
    join(department, "employees", 0, employee, "department", 1)
    join(department, "keys", 0, key, "department", 1, rule: .cascade)
    join(department, "auditors", 0, employee, "audits", 0, rule: .deny)
    join(employee, "reports", 0, employee, "manager", 1)
    join(employee, "desk", 1, desk, "employee", 1)
    join(employee, "projects", 0, project, "members", 0)
    join(project, "milestones", 0, milestone, "project", 1, rule: .cascade, isOrdered: true)
    join(project, "watchers", 0, employee, "watched", 0, isOrdered: true)
    join(employee, "guests", 0, employee, "host", 1, isTransient: true)
    let friends = RelationshipDescription("friends", to: employee, maxCount: 0)
    friends.inverseRelationship = friends
    employee.properties.append(friends)
    project.properties.append(RelationshipDescription("sponsor", to: department, maxCount: 1))
    project.properties.append(RelationshipDescription("labels", to: label, maxCount: 0))
    let entities = [department, employee, manager, key, desk, project, milestone, label]
    change(Dictionary(uniqueKeysWithValues: entities.map { ($0.name ?? "", $0) }))
    return ManagedObjectModel(entities: entities)
  }

  private static func named(_ name: String, _ type: AnyClass) -> EntityDescription {
    EntityDescription(name, managedObjectClass: type, properties: [AttributeDescription("name", .string)])
  }

  /// A relationship from `left` to `right`, with `rule`, and its inverse.
  private static func join(
    _ left: EntityDescription, _ name: String, _ maxCount: Int, _ right: EntityDescription,
    _ inverseName: String, _ inverseMaxCount: Int, rule: DeleteRule = .nullify, isOrdered: Bool = false,
    isTransient: Bool = false
  ) {
    let relationship = RelationshipDescription(
      name, to: right, maxCount: maxCount, isOrdered: isOrdered, deleteRule: rule)
    let inverse = RelationshipDescription(inverseName, to: left, maxCount: inverseMaxCount)
    relationship.inverseRelationship = inverse
    inverse.inverseRelationship = relationship
    relationship.isTransient = isTransient
    inverse.isTransient = isTransient
    left.properties.append(relationship)
    right.properties.append(inverse)
  }
}

/// Something with a name.
class Named: ManagedObject {
  override class var declaredSlots: [String]? { [] }

  required convenience init(_ name: String, in context: ManagedObjectContext) {
    self.init(context: context)
    self.name = name
  }

  var name: String? {
    get { value(forKey: "name") as? String }
    set { setValue(newValue, forKey: "name") }
  }

  func slot(_ name: String) -> Int {
    // Attributes come first, then relationships, each in the order of the model.
    let inherited = entity.superentity?.properties ?? []
    let own = entity.properties.filter { property in !inherited.contains { $0 === property } }
    let order = [inherited, own].flatMap { properties in
      properties.filter { $0 is AttributeDescription } + properties.filter { $0 is RelationshipDescription }
    }
    return order.firstIndex { $0.name == name } ?? -1
  }
}

final class Department: Named {
  var employees: RelatedObjects<Employee> { related(slot: slot("employees")) }
  var keys: RelatedObjects<Key> { related(slot: slot("keys")) }
  var auditors: RelatedObjects<Employee> { related(slot: slot("auditors")) }
}

class Employee: Named {
  var level: Int64 {
    get { readInt64(slot: slot("level")) }
    set { write(newValue, slot: slot("level")) }
  }
  var department: Department? {
    get { readObject(slot: slot("department")) }
    set { write(newValue, slot: slot("department")) }
  }
  var manager: Employee? {
    get { readObject(slot: slot("manager")) }
    set { write(newValue, slot: slot("manager")) }
  }
  var desk: Desk? {
    get { readObject(slot: slot("desk")) }
    set { write(newValue, slot: slot("desk")) }
  }
  var host: Employee? {
    get { readObject(slot: slot("host")) }
    set { write(newValue, slot: slot("host")) }
  }
  var reports: RelatedObjects<Employee> { related(slot: slot("reports")) }
  var projects: RelatedObjects<Project> { related(slot: slot("projects")) }
  var friends: RelatedObjects<Employee> { related(slot: slot("friends")) }
  var audits: RelatedObjects<Department> { related(slot: slot("audits")) }
  var watched: RelatedObjects<Project> { related(slot: slot("watched")) }
  var guests: RelatedObjects<Employee> { related(slot: slot("guests")) }
}

final class Manager: Employee {}
final class Key: Named {
  var department: Department? {
    get { readObject(slot: slot("department")) }
    set { write(newValue, slot: slot("department")) }
  }
}
final class Desk: Named {
  var employee: Employee? {
    get { readObject(slot: slot("employee")) }
    set { write(newValue, slot: slot("employee")) }
  }
}
final class Milestone: Named {
  var project: Project? {
    get { readObject(slot: slot("project")) }
    set { write(newValue, slot: slot("project")) }
  }
}
final class Label: Named {}
final class Project: Named {
  var members: RelatedObjects<Employee> { related(slot: slot("members")) }
  var milestones: OrderedRelatedObjects<Milestone> { orderedRelated(slot: slot("milestones")) }
  var watchers: OrderedRelatedObjects<Employee> { orderedRelated(slot: slot("watchers")) }
  var labels: RelatedObjects<Label> { related(slot: slot("labels")) }
  var sponsor: Department? {
    get { readObject(slot: slot("sponsor")) }
    set { write(newValue, slot: slot("sponsor")) }
  }
}

extension ManagedObjectContext {
  /// A new object with that name.
  @discardableResult
  func make<T: Named>(_ type: T.Type, _ name: String) -> T {
    T(name, in: self)
  }

  /// The one object of that class with that name.
  func find<T: Named>(_ type: T.Type, _ name: String) throws -> T {
    let entity = String(describing: type)
    let found = try fetch(FetchRequest<T>(entityName: entity, predicate: Attribute("name") == name))
    guard found.count == 1 else { throw NoSuchObject(entity: entity, name: name, count: found.count) }
    return found[0]
  }

  struct NoSuchObject: Error {
    let entity: String
    let name: String
    let count: Int
  }
}

extension Sequence where Element: Named {
  /// The names, sorted.
  var names: [String] { compactMap(\.name).sorted() }
  /// The names, in order.
  var namesInOrder: [String] { compactMap(\.name) }
}

extension TemporaryStore {
  /// What `body` finds in a new context, which lives as long.
  func fresh<R>(_ body: (ManagedObjectContext) throws -> R) rethrows -> R {
    let context = context()
    return try withExtendedLifetime(context) { try body(context) }
  }

  /// What a check of the file finds wrong.
  func problems() throws -> [String] {
    try (store as? LMDBStore)?.check().problems.map(\.description) ?? ["no LMDB store"]
  }
}
