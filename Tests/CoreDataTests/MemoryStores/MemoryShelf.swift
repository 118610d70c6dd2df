import CoreData
import Testing

/// Notes with tags, in one store.
///
///     Shelf ──notes──▶▶ Note (ordered), with Note.shelf
struct MemoryShelf {
  let coordinator: NSPersistentStoreCoordinator
  let context: NSManagedObjectContext

  /// Three notes in one shelf: `Hello` with 42 views and three tags, `Bye` with 3 and two, `Zed` with 10 and none.
  init(_ type: String = NSInMemoryStoreType, at url: URL? = nil) throws {
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.model())
    try coordinator.addPersistentStore(ofType: type, configurationName: nil, at: url, options: nil)
    context = NSManagedObjectContext(concurrencyType: .confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    let shelf = NSEntityDescription.insertNewObject(forEntityName: "Shelf", into: context)
    for (text, views, tags) in [
      ("Hello", 42, ["greeting", "casual", "x"]), ("Bye", 3, ["casual", "greeting"]), ("Zed", 10, []),
    ] {
      Self.note(text, views, tags, in: context).setValue(shelf, forKey: "shelf")
    }
    try context.save()
  }

  @discardableResult
  static func note(_ text: String, _ views: Int, _ tags: [String], in context: NSManagedObjectContext)
    -> NSManagedObject
  {
    let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
    note.setValuesForKeys(["text": text, "views": views, "tags": tags, "place": ["name": text, "floor": 1]])
    return note
  }

  static func request(_ predicate: NSPredicate?, _ sorts: [NSSortDescriptor] = [byText]) -> NSFetchRequest<
    NSManagedObject
  > {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
    request.predicate = predicate
    request.sortDescriptors = sorts
    return request
  }

  /// The texts of what is found.
  func texts(_ predicate: NSPredicate?, _ sorts: [NSSortDescriptor] = [byText]) throws -> [String] {
    try Self.texts(context.fetch(Self.request(predicate, sorts)))
  }

  static func texts(_ notes: [NSManagedObject]) -> [String] {
    notes.map { $0.value(forKey: "text") as? String ?? "nil" }
  }

  static var byText: NSSortDescriptor { NSSortDescriptor(key: "text", ascending: true) }

  /// Short texts first.
  static var byLength: NSSortDescriptor {
    NSSortDescriptor(key: "text", ascending: true) { first, second in
      let (left, right) = ((first as? String ?? "").count, (second as? String ?? "").count)
      return left < right ? .orderedAscending : left > right ? .orderedDescending : .orderedSame
    }
  }

  /// What has more than so many views, as a block.
  static func viewed(_ least: Int) -> NSPredicate {
    NSPredicate { object, _ in
      ((object as? NSManagedObject)?.value(forKey: "views") as? Int ?? 0) > least
    }
  }

  private static func model() -> NSManagedObjectModel {
    let (note, shelf) = (NSEntityDescription(), NSEntityDescription())
    (note.name, shelf.name) = ("Note", "Shelf")
    let (notes, owner) = (NSRelationshipDescription(), NSRelationshipDescription())
    (notes.name, notes.destinationEntity, notes.maxCount) = ("notes", note, 0)
    notes.isOrdered = true
    (owner.name, owner.destinationEntity, owner.maxCount) = ("shelf", shelf, 1)
    (notes.inverseRelationship, owner.inverseRelationship) = (owner, notes)
    note.properties = [
      attribute("text", .stringAttributeType), attribute("views", .integer64AttributeType),
      attribute("tags", .transformableAttributeType), attribute("place", .transformableAttributeType), owner,
    ]
    let passing = attribute("passing", .stringAttributeType)
    passing.isTransient = true
    note.properties.append(passing)
    shelf.properties = [notes]
    let model = NSManagedObjectModel()
    model.entities = [note, shelf]
    return model
  }

  private static func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    if type == .transformableAttributeType {
      attribute.valueTransformerName = NSValueTransformerName.secureUnarchiveFromDataTransformerName.rawValue
    }
    return attribute
  }
}
