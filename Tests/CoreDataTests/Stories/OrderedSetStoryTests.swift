import CoreData
import Foundation
import Testing
import struct StrataCore.Mutex

@Suite("Ordered sets while others save")
struct OrderedSetStoryTests {
  /// List ──items──▶▶ Item, ordered, with Item.list.
  static func model() -> NSManagedObjectModel {
    let (list, item) = (NSEntityDescription(), NSEntityDescription())
    (list.name, item.name) = ("List", "Item")
    let (items, home) = (NSRelationshipDescription(), NSRelationshipDescription())
    (items.name, items.destinationEntity, items.maxCount, items.isOrdered) = ("items", item, 0, true)
    (home.name, home.destinationEntity, home.maxCount) = ("list", list, 1)
    (items.inverseRelationship, home.inverseRelationship) = (home, items)
    (list.properties, item.properties) = ([items], [home])
    let model = NSManagedObjectModel()
    model.entities = [list, item]
    return model
  }

  @Test("Members that a background context adds and deletes are counted as they are at some moment")
  @MainActor
  func counted() async throws {
    let container = NSPersistentContainer(name: "Lists", managedObjectModel: Self.model())
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("strata-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    container.persistentStoreDescriptions = [
      NSPersistentStoreDescription(url: folder.appendingPathComponent("Lists.sqlite"))
    ]
    container.loadPersistentStores { #expect($1 == nil) }
    let main = container.viewContext
    let list = NSEntityDescription.insertNewObject(forEntityName: "List", into: main)
    for _ in 0..<3 {
      NSEntityDescription.insertNewObject(forEntityName: "Item", into: main).setValue(list, forKey: "list")
    }
    try main.save()

    let id = list.objectID
    let background = container.newBackgroundContext()
    let isDone = Mutex(false)
    let writing = Task.detached {
      defer { isDone.withLock { $0 = true } }
      for round in 0..<150 {
        try await background.perform {
          let same = background.object(with: id)
          let items = same.mutableOrderedSetValue(forKey: "items")
          if round % 2 == 0, let last = items.lastObject as? NSManagedObject {
            background.delete(last)
          } else {
            items.add(NSEntityDescription.insertNewObject(forEntityName: "Item", into: background))
          }
          try background.save()
        }
      }
    }
    while !isDone.withLock({ $0 }) {
      main.refresh(list, mergeChanges: false)
      let items = list.mutableOrderedSetValue(forKey: "items")
      #expect((2...3).contains(items.count) && items.array.count == items.count)
      await Task.yield()
    }
    try await writing.value
    main.refresh(list, mergeChanges: false)
    #expect(list.mutableOrderedSetValue(forKey: "items").count == 3)
    for store in container.persistentStoreCoordinator.persistentStores {
      try container.persistentStoreCoordinator.remove(store)
    }
  }
}
