import CoreData

/// What objects of a context did, in order; a context keeps it in its `userInfo`.
final class HookLog {
  var lines: [String] = []
}

/// Somebody who works. Writes its hooks into its context's log, and does in them what the context's `userInfo` asks for.
class Employee: NSManagedObject {
  var name: String? {
    get { value(forKey: "name") as? String }
    set { setValue(newValue, forKey: "name") }
  }
  var age: Int {
    get { value(forKey: "age") as? Int ?? -1 }
    set { setValue(newValue, forKey: "age") }
  }
  var department: Department? {
    get { value(forKey: "department") as? Department }
    set { setValue(newValue, forKey: "department") }
  }
  var manager: Employee? {
    get { value(forKey: "manager") as? Employee }
    set { setValue(newValue, forKey: "manager") }
  }

  private func log(_ line: String) {
    (managedObjectContext?.userInfo["log"] as? HookLog)?.lines.append(line)
  }
  private func does(_ deed: String) -> Bool { managedObjectContext?.userInfo[deed] as? Bool == true }

  override func awakeFromInsert() {
    super.awakeFromInsert()
    log("insert")
  }
  override func awakeFromFetch() {
    super.awakeFromFetch()
    log("fetch")
    if does("awakes") { setPrimitiveValue("awake", forKey: "nick") }
  }
  override func prepareForDeletion() {
    super.prepareForDeletion()
    log("prepare \(name ?? "nil")")
    if does("hands over") {
      for chore in mutableSetValue(forKey: "chores").allObjects {
        (chore as? NSManagedObject)?.setValue(manager, forKey: "owner")
      }
    }
  }
  override func willTurnIntoFault() {
    super.willTurnIntoFault()
    log("will fault")
  }
  override func didTurnIntoFault() {
    log("did fault")
    super.didTurnIntoFault()
  }
  override func willSave() {
    super.willSave()
    log("will save\(isDeleted ? " deleted" : "")")
    if does("stamps"), !isDeleted, value(forKey: "notes") as? String != "saved" {
      setValue("saved", forKey: "notes")
    }
  }
  override func didSave() {
    super.didSave()
    log("did save\(isDeleted ? " deleted" : "")")
  }
  override func validateForDelete() throws {
    try super.validateForDelete()
    if does("stays") {
      throw NSError(domain: "Company", code: 7, userInfo: [NSLocalizedDescriptionKey: "no"])
    }
  }
}

final class Manager: Employee {}

class Department: NSManagedObject {
  var name: String? {
    get { value(forKey: "name") as? String }
    set { setValue(newValue, forKey: "name") }
  }
  var staff: Set<Employee> {
    get { value(forKey: "staff") as? Set<Employee> ?? [] }
    set { setValue(newValue, forKey: "staff") }
  }
}

/// A store in memory with a model of people at work.
///
///     Department ──staff (deny)──▶▶ Employee, with Employee.department; ──projects (ordered)──▶▶ Project
///     Employee ──chores (cascade)──▶▶ Chore; ──desk (cascade)──▶ Desk; ◀◀──friends──▶▶ itself; ──manager──▶ Employee
///     Employee ◀◀──members, projects──▶▶ Project; Manager is an Employee
struct CompanyStand {
  let coordinator: NSPersistentStoreCoordinator

  init(_ change: (NSManagedObjectModel) throws -> Void = { _ in }) throws {
    let model = Self.model()
    try change(model)
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
  }

  static func attribute(
    _ name: String, _ type: NSAttributeType, optional: Bool = true, default value: Any? = nil,
    transient: Bool = false
  ) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    attribute.isOptional = optional
    attribute.isTransient = transient
    attribute.defaultValue = value
    return attribute
  }

  static func relate(
    _ one: NSEntityDescription, _ name: String, _ most: Int, _ other: NSEntityDescription, _ back: String,
    _ backMost: Int, rule: NSDeleteRule = .nullifyDeleteRule, ordered: Bool = false
  ) {
    let (there, here) = (NSRelationshipDescription(), NSRelationshipDescription())
    (there.name, here.name) = (name, back)
    (there.destinationEntity, here.destinationEntity) = (other, one)
    (there.maxCount, here.maxCount) = (most, backMost)
    (there.inverseRelationship, here.inverseRelationship) = (here, there)
    (there.deleteRule, there.isOrdered) = (rule, ordered)
    one.properties.append(there)
    other.properties.append(here)
  }

  static func model() -> NSManagedObjectModel {
    func entity(_ name: String, _ type: NSManagedObject.Type = NSManagedObject.self) -> NSEntityDescription {
      let entity = NSEntityDescription()
      entity.name = name
      entity.managedObjectClass = type
      return entity
    }
    let employee = entity("Employee", Employee.self)
    let manager = entity("Manager", Manager.self)
    let department = entity("Department", Department.self)
    let (project, chore, desk) = (entity("Project"), entity("Chore"), entity("Desk"))
    employee.properties = [
      attribute("name", .stringAttributeType), attribute("age", .integer16AttributeType, default: 18),
      attribute("born", .dateAttributeType), attribute("salary", .decimalAttributeType),
      attribute("score", .doubleAttributeType), attribute("badge", .UUIDAttributeType),
      attribute("isActive", .booleanAttributeType, default: true), attribute("notes", .stringAttributeType),
      attribute("nick", .stringAttributeType, transient: true),
    ]
    manager.properties = [attribute("title", .stringAttributeType)]
    department.properties = [attribute("name", .stringAttributeType)]
    project.properties = [attribute("name", .stringAttributeType)]
    let (title, rank) = (
      attribute("title", .stringAttributeType, optional: false), attribute("rank", .integer32AttributeType)
    )
    title.setValidationPredicates(
      [NSPredicate(format: "length >= 2"), NSPredicate(format: "length <= 10")],
      withValidationWarnings: nil)
    rank.setValidationPredicates(
      [NSPredicate(format: "SELF >= 0"), NSPredicate(format: "SELF <= 10")],
      withValidationWarnings: ["too small", "too large"])
    chore.properties = [title, rank]
    desk.properties = [attribute("code", .stringAttributeType), attribute("floor", .integer16AttributeType)]
    desk.uniquenessConstraints = [["code", "floor"]]
    relate(department, "staff", 0, employee, "department", 1, rule: .denyDeleteRule)
    relate(department, "projects", 0, project, "department", 1, ordered: true)
    relate(employee, "chores", 0, chore, "owner", 1, rule: .cascadeDeleteRule)
    relate(employee, "desk", 1, desk, "owner", 1, rule: .cascadeDeleteRule)
    relate(employee, "projects", 0, project, "members", 0)
    relate(employee, "reports", 0, employee, "manager", 1)
    let friends = NSRelationshipDescription()
    friends.name = "friends"
    friends.destinationEntity = employee
    friends.inverseRelationship = friends
    employee.properties.append(friends)
    employee.subentities = [manager]
    let model = NSManagedObjectModel()
    model.entities = [employee, manager, department, project, chore, desk]
    return model
  }

  func context(
    _ type: NSManagedObjectContextConcurrencyType = .confinementConcurrencyType,
    below parent: NSManagedObjectContext? = nil
  ) -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: type)
    if let parent { context.parent = parent } else { context.persistentStoreCoordinator = coordinator }
    return context
  }

  /// A context with saved people: Anna 30 and Bert 40 of Sales, Cleo 50 (a manager, of Research), Dora 60 of none. Cleo manages Anna and
  /// Bert. Anna has the chores "mail" 1 and "tea" 5, Bert "phone" 7.
  func stocked() throws -> NSManagedObjectContext {
    let context = context()
    let (sales, research) = (Department(context: context), Department(context: context))
    (sales.name, research.name) = ("Sales", "Research")
    func person(_ person: Employee, _ name: String, _ age: Int, _ department: Department?) -> Employee {
      (person.name, person.age, person.department) = (name, age, department)
      person.setValue(Date(timeIntervalSinceReferenceDate: Double(age) * 1000), forKey: "born")
      person.setValue(NSDecimalNumber(string: "\(age)00.05"), forKey: "salary")
      person.setValue(age < 50, forKey: "isActive")
      return person
    }
    let anna = person(Employee(context: context), "Anna", 30, sales)
    let bert = person(Employee(context: context), "Bert", 40, sales)
    let cleo = person(Manager(context: context), "Cleo", 50, research)
    _ = person(Employee(context: context), "Dora", 60, nil)
    (anna.manager, bert.manager) = (cleo, cleo)
    for (title, rank, owner) in [("mail", 1, anna), ("tea", 5, anna), ("phone", 7, bert)] {
      Self.chore(title, rank, owner, context)
    }
    try context.save()
    return context
  }

  @discardableResult
  static func chore(_ title: String, _ rank: Int, _ owner: Employee?, _ context: NSManagedObjectContext)
    -> NSManagedObject
  {
    let chore = Self.make("Chore", context)
    chore.setValue(title, forKey: "title")
    chore.setValue(rank, forKey: "rank")
    chore.setValue(owner, forKey: "owner")
    return chore
  }

  static func make(_ entity: String, _ context: NSManagedObjectContext) -> NSManagedObject {
    NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
  }
}

extension NSManagedObjectContext {
  /// The person of this name.
  func employee(_ name: String) throws -> Employee {
    try all("Employee", NSPredicate(format: "name == %@", name)).compactMap { $0 as? Employee }[0]
  }

  /// The department of this name.
  func department(_ name: String) throws -> Department {
    try all("Department", NSPredicate(format: "name == %@", name)).compactMap { $0 as? Department }[0]
  }

  func all(_ entity: String, _ predicate: NSPredicate? = nil) throws -> [NSManagedObject] {
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    request.predicate = predicate
    return try fetch(request)
  }

  /// The values of one key of what a fetch finds, sorted.
  func texts(_ entity: String, _ key: String, _ predicate: NSPredicate? = nil) throws -> [String] {
    try all(entity, predicate).map { $0.value(forKey: key) as? String ?? "nil" }.sorted()
  }
}

/// Runs a block and returns the notifications of one name that its context posts meanwhile.
func notes(
  _ name: NSNotification.Name, of context: NSManagedObjectContext, while body: () throws -> Void
) rethrows -> [[AnyHashable: Any]] {
  // Unchecked: contexts post on the thread that runs the body.
  final class Heard: @unchecked Sendable { var infos: [[AnyHashable: Any]] = [] }
  let heard = Heard()
  let observer = NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) {
    heard.infos.append($0.userInfo ?? [:])
  }
  defer { NotificationCenter.default.removeObserver(observer) }
  try body()
  return heard.infos
}

/// The names of the objects under a key of a notification.
func told(_ info: [AnyHashable: Any]?, _ key: String) -> Set<String> {
  let objects = info?[key] as? Set<NSManagedObject> ?? []
  return Set(
    objects.map { $0.value(forKey: $0.entity.name == "Chore" ? "title" : "name") as? String ?? "nil" })
}
