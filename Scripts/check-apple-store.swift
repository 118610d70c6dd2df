// Tries a store on a Mac with Apple's own framework: opens a copy of it, reads every object and every relationship, saves, and reads again.
// Usage: swift Scripts/check-apple-store.swift App.momd New.sqlite
// Ends with exit code 0 and a count for each entity, or with 1 and what went wrong. The store itself is not touched.
import CoreData
import Foundation

func stop(_ message: String) -> Never {
  FileHandle.standardError.write(Data("check-apple-store: \(message)\n".utf8))
  exit(1)
}

let words = CommandLine.arguments.dropFirst()
guard words.count == 2, let modelPath = words.first, let storePath = words.last else {
  stop("name the compiled model (App.momd) and the store (New.sqlite)")
}

/// A copy, with the folder of large values: opening a store with Core Data writes to it.
func copyStore(_ path: String) throws -> URL {
  let files = FileManager.default
  let store = URL(fileURLWithPath: path)
  let folder = files.temporaryDirectory.appendingPathComponent("check-apple-store-\(UUID().uuidString)")
  try files.createDirectory(at: folder, withIntermediateDirectories: true)
  let stem = store.deletingPathExtension().lastPathComponent
  for name in [store.lastPathComponent, store.lastPathComponent + "-wal", ".\(stem)_SUPPORT"] {
    let file = store.deletingLastPathComponent().appendingPathComponent(name)
    if files.fileExists(atPath: file.path) {
      try files.copyItem(at: file, to: folder.appendingPathComponent(name))
    }
  }
  return folder.appendingPathComponent(store.lastPathComponent)
}

/// Opens the store without migrating it, and reads all there is: how many objects there are of each entity, and how many members of relationships.
func read(_ url: URL, _ model: NSManagedObjectModel, saves: Bool) throws -> [String: Int] {
  let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
  let options = [
    NSMigratePersistentStoresAutomaticallyOption: false, NSInferMappingModelAutomaticallyOption: false,
  ]
  let store = try coordinator.addPersistentStore(
    ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
  let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
  context.persistentStoreCoordinator = coordinator
  var counts: [String: Int] = [:]
  try context.performAndWait {
    for entity in model.entities where !entity.isAbstract {
      guard let name = entity.name else { continue }
      let request = NSFetchRequest<NSManagedObject>(entityName: name)
      request.includesSubentities = false
      let objects = try context.fetch(request)
      counts[name] = objects.count
      for object in objects {
        for key in entity.attributesByName.keys { _ = object.value(forKey: key) }
        for key in entity.relationshipsByName.keys {
          let value = object.value(forKey: key)
          counts["\(name).\(key)", default: 0] +=
            (value as? NSOrderedSet)?.count ?? (value as? NSSet)?.count ?? (value == nil ? 0 : 1)
        }
      }
      // A save writes a row, its counter and, where there is one, the history.
      if saves, let object = objects.first,
        let key = entity.attributesByName.first(where: { !$0.value.isTransient })?.key
      {
        object.setValue(object.value(forKey: key), forKey: key)
      }
    }
    if saves { try context.save() }
  }
  try coordinator.remove(store)
  return counts
}

do {
  guard let model = NSManagedObjectModel(contentsOf: URL(fileURLWithPath: modelPath)) else {
    stop("\(modelPath) is no compiled model")
  }
  let copy = try copyStore(storePath)
  defer { try? FileManager.default.removeItem(at: copy.deletingLastPathComponent()) }
  let before = try read(copy, model, saves: true)
  let after = try read(copy, model, saves: false)
  for (name, count) in before.sorted(by: { $0.key < $1.key }) {
    print("\(name): \(count)\(after[name] == count ? "" : ", and \(after[name] ?? 0) after a save")")
  }
  if before != after { stop("a save has changed what is in the store") }
} catch {
  stop("\(error)")
}
