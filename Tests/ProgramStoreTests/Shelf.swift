import CoreData

/// The model of the tests: authors, their books, tags of books, chapters in order, a hierarchy of notes.
enum Shelf {
  static func model() -> NSManagedObjectModel {
    let author = entity("Author")
    let book = entity("Book")
    let tag = entity("Tag")
    let chapter = entity("Chapter")
    let note = entity("Note")
    let review = entity("Review")
    note.subentities = [review]
    author.properties += [attribute("name", .stringAttributeType), attribute("born", .dateAttributeType)]
    book.properties += [
      attribute("title", .stringAttributeType), attribute("pages", .integer64AttributeType),
      attribute("price", .doubleAttributeType), attribute("isLent", .booleanAttributeType),
      attribute("isbn", .UUIDAttributeType), attribute("cover", .binaryDataAttributeType),
      attribute("cost", .decimalAttributeType), attribute("extra", .transformableAttributeType),
    ]
    tag.properties += [attribute("word", .stringAttributeType)]
    chapter.properties += [attribute("heading", .stringAttributeType)]
    note.properties += [attribute("text", .stringAttributeType)]
    review.properties += [attribute("stars", .integer16AttributeType)]
    relate(author, "books", many: true, .cascadeDeleteRule, book, "author", many: false, .nullifyDeleteRule)
    relate(book, "tags", many: true, .nullifyDeleteRule, tag, "books", many: true, .nullifyDeleteRule)
    relate(
      book, "chapters", many: true, .cascadeDeleteRule, chapter, "book", many: false, .nullifyDeleteRule,
      ordered: true)
    relate(note, "book", many: false, .nullifyDeleteRule, book, "notes", many: true, .denyDeleteRule)
    let model = NSManagedObjectModel()
    model.entities = [author, book, tag, chapter, note, review]
    return model
  }

  private static func entity(_ name: String) -> NSEntityDescription {
    let entity = NSEntityDescription()
    entity.name = name
    return entity
  }

  private static func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
    let attribute = NSAttributeDescription()
    attribute.name = name
    attribute.attributeType = type
    attribute.isOptional = true
    return attribute
  }

  private static func relate(
    _ owner: NSEntityDescription, _ name: String, many: Bool, _ rule: NSDeleteRule,
    _ other: NSEntityDescription, _ back: String, many backMany: Bool, _ backRule: NSDeleteRule,
    ordered: Bool = false
  ) {
    let there = NSRelationshipDescription()
    let here = NSRelationshipDescription()
    (there.name, here.name) = (name, back)
    (there.destinationEntity, here.destinationEntity) = (other, owner)
    (there.deleteRule, here.deleteRule) = (rule, backRule)
    (there.maxCount, here.maxCount) = (many ? 0 : 1, backMany ? 0 : 1)
    (there.isOptional, here.isOptional) = (true, true)
    there.isOrdered = ordered
    there.inverseRelationship = here
    here.inverseRelationship = there
    owner.properties.append(there)
    other.properties.append(here)
  }

  @discardableResult
  static func make(_ entity: String, _ values: [String: Any], in context: NSManagedObjectContext)
    -> NSManagedObject
  {
    let object = NSEntityDescription.insertNewObject(forEntityName: entity, into: context)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }

  static func request(
    _ entity: String, _ format: String? = nil, _ arguments: [Any] = [], by key: String? = nil
  )
    -> NSFetchRequest<NSManagedObject>
  {
    let request = NSFetchRequest<NSManagedObject>(entityName: entity)
    if let format { request.predicate = NSPredicate(format: format, argumentArray: arguments) }
    if let key { request.sortDescriptors = [NSSortDescriptor(key: key, ascending: true)] }
    return request
  }

  static func texts(_ objects: [NSManagedObject], _ key: String) -> [String] {
    objects.map { $0.value(forKey: key) as? String ?? "nil" }
  }
}

extension NSManagedObjectContext {
  /// A context of a queue of its own on `coordinator`.
  static func on(_ coordinator: NSPersistentStoreCoordinator) -> NSManagedObjectContext {
    let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    return context
  }
}

extension NSManagedObjectContext {
  /// Runs `body`, which may throw, on the context's queue and waits for it.
  func run<T>(_ body: () throws -> T) throws -> T { try performAndWait(body) }
}
