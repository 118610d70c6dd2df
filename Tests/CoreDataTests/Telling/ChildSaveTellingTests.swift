import CoreData
import Testing

/// What observers know by the time a child's save returns.
@Suite("A child's save inside of a block of its parent")
struct ChildSaveTellingTests {
  // Unchecked: contexts post on the thread that runs the test.
  private final class Heard: @unchecked Sendable { var lines: [String] = [] }

  @Test(
    "The child has saved and the parent has changed, and observers know it before the save returns",
    arguments: [
      NSManagedObjectContextConcurrencyType.privateQueueConcurrencyType, .confinementConcurrencyType,
    ])
  func told(type: NSManagedObjectContextConcurrencyType) throws {
    let coordinator = try Journal.makeCoordinator(at: nil)
    let parent = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    parent.persistentStoreCoordinator = coordinator
    let heard = Heard()
    let center = NotificationCenter.default
    var tokens: [any NSObjectProtocol] = []
    func listen(_ name: Notification.Name, _ context: NSManagedObjectContext, _ line: String) {
      tokens.append(
        center.addObserver(forName: name, object: context, queue: nil) {
          let objects = $0.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject> ?? []
          heard.lines.append("\(line) \(objects.count)")
        })
    }
    defer { for token in tokens { center.removeObserver(token) } }
    try parent.performAndWait {
      // One of confinement belongs to the thread that makes it.
      let child = NSManagedObjectContext(concurrencyType: type)
      child.parent = parent
      listen(.NSManagedObjectContextDidSave, child, "child saved")
      listen(.NSManagedObjectContextObjectsDidChange, parent, "parent changed")
      listen(.NSManagedObjectContextDidSave, parent, "parent saved")
      func save() throws {
        for title in ["a", "b"] { Entry(context: child).title = title }
        try child.save()
        #expect(heard.lines.sorted() == ["child saved 2", "parent changed 2"])
      }
      if type == .confinementConcurrencyType { try save() } else { try child.performAndWait { try save() } }
      #expect(parent.insertedObjects.count == 2)
      // The parent's own save has nothing more to say of the change.
      try parent.save()
      #expect(heard.lines.sorted() == ["child saved 2", "parent changed 2", "parent saved 2"])
    }
    #expect(try Journal.savedTitles(coordinator) == ["a", "b"])
  }
}
