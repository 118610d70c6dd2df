import CoreData

extension Journal {
  /// The entries the context sees, by title.
  static func entries(_ context: NSManagedObjectContext) throws -> [Entry] {
    let request = NSFetchRequest<Entry>(entityName: "Entry")
    request.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
    return try context.fetch(request)
  }

  static func entry(_ title: String, _ context: NSManagedObjectContext) throws -> Entry? {
    let request = NSFetchRequest<Entry>(entityName: "Entry")
    request.predicate = NSPredicate(format: "title == %@", title)
    request.fetchLimit = 1
    return try context.fetch(request).first
  }
}
