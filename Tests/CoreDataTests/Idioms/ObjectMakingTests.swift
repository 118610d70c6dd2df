import CoreData
import Testing

/// A class with an initialiser of its own, made of the inherited ones.
private final class Postmark: NSManagedObject {
  private var touched = 0
  var name: String? {
    get { value(forKey: "name") as? String }
    set { setValue(newValue, forKey: "name") }
  }

  convenience init(named name: String, context: NSManagedObjectContext) {
    self.init(context: context)
    self.name = name
  }

  override func awakeFromInsert() {
    super.awakeFromInsert()
    touched += 1
    setValue("awake \(touched)", forKey: "name")
  }
}

/// A class that says by itself which entity it is of.
private class Note: NSManagedObject {
  nonisolated(unsafe) static var own: NSEntityDescription?
  override class func entity() -> NSEntityDescription { own ?? super.entity() }
}

/// A class without anything of its own.
private class Scrap: NSManagedObject {}

extension NSManagedObject {
  fileprivate static func create(in context: NSManagedObjectContext) -> Self { Self(context: context) }
  fileprivate class func make(_ entity: NSEntityDescription, _ context: NSManagedObjectContext?) -> Self {
    self.init(entity: entity, insertInto: context)
  }
}

private protocol Storable: NSManagedObject {}
extension Storable {
  static func insert(into context: NSManagedObjectContext) -> Self { self.init(context: context) }
}
extension Postmark: Storable {}

private struct Repository<Object: NSManagedObject> {
  let context: NSManagedObjectContext
  func make() -> Object { Object(context: context) }
  func make(_ entity: NSEntityDescription) -> Object { Object(entity: entity, insertInto: context) }
}

@Suite("Objects made by a class that is known at run time")
struct ObjectMakingTests {
  private func context(_ type: NSManagedObject.Type) throws -> (NSManagedObjectContext, NSEntityDescription) {
    let entity = NSEntityDescription()
    entity.name = "Thing"
    entity.managedObjectClass = type
    let name = NSAttributeDescription()
    name.name = "name"
    name.attributeType = .stringAttributeType
    entity.properties = [name]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    let context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return (context, entity)
  }

  @Test(
    "T(context:), Self(context:) and self.init(entity:insertInto:) make, insert and wake an object of the class"
  )
  func generic() throws {
    let (context, entity) = try context(Postmark.self)
    let repository = Repository<Postmark>(context: context)
    let made: [Postmark] = [
      repository.make(), repository.make(entity), Postmark.create(in: context),
      Postmark.make(entity, context),
      Postmark.insert(into: context), Postmark(context: context),
      Postmark(entity: entity, insertInto: context),
    ]
    for object in made {
      #expect(object.isInserted && object.name == "awake 1" && object.managedObjectContext === context)
    }
    #expect(context.insertedObjects.count == made.count)
    #expect(Postmark(named: "seven", context: context).name == "seven")
    try context.save()
    #expect(try context.count(for: NSFetchRequest<Postmark>(entityName: "Thing")) == made.count + 1)
    #expect(Set(made.map(\.objectID)).count == made.count)
  }

  @Test(
    "An object made in no context by a metatype is inserted later; a plain class gives one of the entity's class"
  )
  func otherForms() throws {
    let (context, entity) = try context(Postmark.self)
    let loose = Postmark.make(entity, nil)
    #expect(loose.managedObjectContext == nil && loose.name == nil)
    loose.name = "loose"
    context.insert(loose)
    #expect(loose.isInserted)
    let (plain, description) = try self.context(Scrap.self)
    let repository = Repository<NSManagedObject>(context: plain)
    #expect(repository.make(description) is Scrap)
  }

  @Test("A class may override entity()")
  func entityOfAClass() throws {
    let (context, entity) = try context(Note.self)
    #expect(Note.entity() === entity)
    Note.own = NSEntityDescription()
    defer { Note.own = nil }
    let dynamic: NSManagedObject.Type = Note.self
    #expect(dynamic.entity() === Note.own && dynamic.entity() !== entity)
    withExtendedLifetime(context) {}
  }
}
