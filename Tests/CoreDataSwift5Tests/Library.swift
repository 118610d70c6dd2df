import CoreData
import Foundation

/// A novel of a library, with its model: code in the style of Swift 5, with global state and without a word about concurrency.
class Novel: NSManagedObject {
  class func fetchRequest() -> NSFetchRequest<Novel> { NSFetchRequest<Novel>(entityName: "Novel") }

  var title: String? {
    get { value(forKey: "title") as? String }
    set { setValue(newValue, forKey: "title") }
  }
  var pages: Int32 {
    get { (value(forKey: "pages") as? NSNumber)?.int32Value ?? 0 }
    set { setValue(newValue, forKey: "pages") }
  }
  var shelf: Bookcase? {
    get { value(forKey: "shelf") as? Bookcase }
    set { setValue(newValue, forKey: "shelf") }
  }

  override func awakeFromInsert() {
    super.awakeFromInsert()
    setPrimitiveValue(Date(), forKey: "added")
  }

  override func setNilValueForKey(_ key: String) {
    if key == "pages" { pages = 0 } else { super.setNilValueForKey(key) }
  }

  override func validateValue(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>, forKey key: String)
    throws
  {
    try super.validateValue(value, forKey: key)
    if key == "title", let title = value.pointee as? String { value.pointee = title.capitalized as NSString }
  }

  override func validateForInsert() throws {
    try super.validateForInsert()
    if title == "Forbidden" {
      throw NSError(domain: "Library", code: 1, userInfo: [NSLocalizedDescriptionKey: "Not in this library."])
    }
  }
}

class Bookcase: NSManagedObject {}

class Library {
  static let shared = Library()
  var saves = 0

  lazy var container: NSPersistentContainer = {
    let container = NSPersistentContainer(name: "Library", managedObjectModel: Library.model())
    let description = NSPersistentStoreDescription()
    description.type = NSInMemoryStoreType
    container.persistentStoreDescriptions = [description]
    container.loadPersistentStores { _, error in
      // As Xcode's template writes it: the test ends here when the store cannot be loaded.
      if let error = error as NSError? { fatalError("Unresolved error \(error), \(error.userInfo)") }
    }
    return container
  }()

  static func model() -> NSManagedObjectModel {
    let book = NSEntityDescription()
    book.name = "Novel"
    book.managedObjectClassName = NSStringFromClass(Novel.self)
    let shelf = NSEntityDescription()
    shelf.name = "Bookcase"
    shelf.managedObjectClassName = NSStringFromClass(Bookcase.self)

    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      return attribute
    }
    let title = attribute("title", .stringAttributeType)
    title.isOptional = false
    let toShelf = NSRelationshipDescription()
    toShelf.name = "shelf"
    toShelf.destinationEntity = shelf
    toShelf.maxCount = 1
    let toBooks = NSRelationshipDescription()
    toBooks.name = "books"
    toBooks.destinationEntity = book
    toBooks.deleteRule = .cascadeDeleteRule
    toShelf.inverseRelationship = toBooks
    toBooks.inverseRelationship = toShelf
    book.properties = [
      title, attribute("pages", .integer32AttributeType), attribute("added", .dateAttributeType), toShelf,
    ]
    shelf.properties = [attribute("room", .stringAttributeType), toBooks]
    let model = NSManagedObjectModel()
    model.entities = [book, shelf]
    return model
  }

  func saveContext(_ context: NSManagedObjectContext) {
    guard context.hasChanges else { return }
    do {
      try context.save()
      saves += 1
    } catch {
      // As Xcode's template writes it.
      let nserror = error as NSError
      fatalError("Unresolved error \(nserror), \(nserror.userInfo)")
    }
  }
}
