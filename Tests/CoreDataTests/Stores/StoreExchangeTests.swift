import CoreData
import Foundation
import Testing

/// rule 329: `replacePersistentStore` puts a copy of one store in the place of another.
@Suite("Stores that are replaced")
struct StoreExchangeTests {
  private let folder: URL

  init() throws {
    folder = try Journal.makeFolder()
    for name in ["a", "b"] {
      let coordinator = try Journal.makeCoordinator(at: url(name))
      let context = NSManagedObjectContext(.confinementConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      Entry(context: context).title = "of " + name
      try context.save()
      try coordinator.remove(coordinator.persistentStores[0])
    }
  }

  private func url(_ name: String) -> URL { folder.appendingPathComponent(name + ".sqlite") }

  @Test("What is no store takes no store's place", arguments: ["destroyed", "cut off", "text", "missing"])
  func noStore(kind: String) throws {
    let coordinator = NSPersistentStoreCoordinator()
    switch kind {
    case "destroyed": try coordinator.destroyPersistentStore(at: url("b"), type: .sqlite)
    case "cut off": try Data().write(to: url("b"))
    case "text": try Data("no store at all".utf8).write(to: url("b"))
    default: try FileManager.default.removeItem(at: url("b"))
    }
    let error = #expect(throws: CocoaError.self) {
      try coordinator.replacePersistentStore(at: url("a"), withPersistentStoreFrom: url("b"), type: .sqlite)
    }
    let expected: CocoaError.Code = kind == "missing" ? .fileReadNoSuchFile : .fileReadCorruptFile
    #expect(error?.code == expected, "\(error as Any)")
    #expect(try Journal.savedTitles(Journal.makeCoordinator(at: url("a"))) == ["of a"])
  }

  @Test("A coordinator without a model replaces stores")
  func withoutModel() throws {
    let coordinator = NSPersistentStoreCoordinator()
    #expect(coordinator.managedObjectModel.entities.isEmpty && coordinator.persistentStores.isEmpty)
    try coordinator.replacePersistentStore(at: url("a"), withPersistentStoreFrom: url("b"), type: .sqlite)
    #expect(try Journal.savedTitles(Journal.makeCoordinator(at: url("a"))) == ["of b"])
  }

  @Test("An attached store is detached when it is replaced; added again it is the copy")
  func attached() throws {
    let coordinator = try Journal.makeCoordinator(at: url("a"))
    let store = coordinator.persistentStores[0]
    try coordinator.replacePersistentStore(
      at: url("a"), destinationOptions: store.options, withPersistentStoreFrom: url("b"),
      sourceOptions: nil, type: .sqlite)
    #expect(coordinator.persistentStores.isEmpty)
    try coordinator.addPersistentStore(type: .sqlite, at: url("a"), options: store.options)
    #expect(try Journal.savedTitles(coordinator) == ["of b"])
  }

  @Test("An attached store stays attached when nothing can take its place")
  func staysAttached() throws {
    let coordinator = try Journal.makeCoordinator(at: url("a"))
    let store = coordinator.persistentStores[0]
    try NSPersistentStoreCoordinator().destroyPersistentStore(at: url("b"), type: .sqlite)
    for source in [url("b"), url("missing"), url("a")] {
      #expect(throws: CocoaError.self) {
        try coordinator.replacePersistentStore(at: url("a"), withPersistentStoreFrom: source, type: .sqlite)
      }
      #expect(coordinator.persistentStores == [store])
    }
    #expect(try Journal.savedTitles(coordinator) == ["of a"])
  }

  @Test("A store that another coordinator has attached, too, is not replaced")
  func attachedElsewhere() throws {
    let coordinator = try Journal.makeCoordinator(at: url("a"))
    let other = try Journal.makeCoordinator(at: url("a"))
    let error = #expect(throws: CocoaError.self) {
      try coordinator.replacePersistentStore(at: url("a"), withPersistentStoreFrom: url("b"), type: .sqlite)
    }
    #expect(error?.errorCode == 134_070)
    #expect(coordinator.persistentStores.count == 1 && other.persistentStores.count == 1)
    #expect(try Journal.savedTitles(other) == ["of a"])
  }
}
