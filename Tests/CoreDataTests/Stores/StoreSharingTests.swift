import CoreData
import Foundation
import Testing

/// Stores that one process opens more than once: each coordinator of Core Data has a connection of its own.
@Suite("Stores that are open more than once")
struct StoreSharingTests {
  private let folder: URL
  private var url: URL { folder.appendingPathComponent("a.sqlite") }

  init() throws { folder = try Journal.makeFolder() }

  private func emptyCoordinator() -> NSPersistentStoreCoordinator {
    NSPersistentStoreCoordinator(managedObjectModel: Journal.makeModel())
  }

  private func readOnly() throws -> NSPersistentStoreCoordinator {
    let coordinator = emptyCoordinator()
    try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [NSReadOnlyPersistentStoreOption: true])
    return coordinator
  }

  private func save(_ title: String, _ coordinator: NSPersistentStoreCoordinator) throws {
    let context = NSManagedObjectContext(.confinementConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    Entry(context: context).title = title
    try context.save()
  }

  @Test("A store that is open for writing is opened read-only beside, and the other way round")
  func readOnlyBesideAWriter() throws {
    let writer = try Journal.makeCoordinator(at: url)
    try save("a", writer)
    let reader = try readOnly()
    #expect(reader.persistentStores[0].isReadOnly)
    try save("b", writer)
    #expect(try Journal.savedTitles(reader) == ["a", "b"])
    #expect(throws: (any Error).self) { try save("c", reader) }
    try writer.remove(writer.persistentStores[0])
    #expect(try Journal.savedTitles(reader) == ["a", "b"])
    let later = try Journal.makeCoordinator(at: url)
    try save("d", later)
    #expect(try Journal.savedTitles(reader) == ["a", "b", "d"])
  }

  @Test("A backup by a second coordinator, with the options and the configuration's name of the store in use")
  func backup() throws {
    let source = try Journal.makeCoordinator(at: url)
    try save("a", source)
    let store = source.persistentStores[0]
    let second = emptyCoordinator()
    var options = store.options ?? [:]
    options[NSReadOnlyPersistentStoreOption] = true
    let between = try second.addPersistentStore(
      ofType: store.type, configurationName: store.configurationName, at: store.url, options: options)
    let copy = try second.migratePersistentStore(
      between, to: folder.appendingPathComponent("b.sqlite"), options: options, withType: NSSQLiteStoreType)
    #expect(copy.isReadOnly)
    #expect(try Journal.savedTitles(second) == ["a"])
    try save("b", source)
    #expect(try Journal.savedTitles(second) == ["a"])
  }

  @Test("The name that a store of all entities gives as its configuration's means all entities")
  func defaultConfiguration() throws {
    let first = try Journal.makeCoordinator(at: url)
    try save("a", first)
    let name = first.persistentStores[0].configurationName
    let model = Journal.makeModel()
    #expect(model.entities(forConfigurationName: name)?.count == model.entities.count)
    #expect(model.entities(forConfigurationName: "none") == nil)
    let metadata = first.metadata(for: first.persistentStores[0])
    #expect(model.isConfiguration(withName: name, compatibleWithStoreMetadata: metadata))
    let container = NSPersistentContainer(name: "Journal", managedObjectModel: model)
    let description = NSPersistentStoreDescription(url: url)
    description.configuration = name
    container.persistentStoreDescriptions = [description]
    container.loadPersistentStores { _, error in #expect(error == nil) }
    #expect(try Journal.savedTitles(container.persistentStoreCoordinator) == ["a"])
    #expect(container.persistentStoreCoordinator.persistentStores.first?.configurationName == name)
  }

  @Test("A copy that has been given a UUID of its own is added beside its original")
  func copyWithItsOwnUUID() throws {
    let first = try Journal.makeCoordinator(at: url)
    try save("a", first)
    let store = first.persistentStores[0]
    let copy = folder.appendingPathComponent("b.sqlite")
    try first.replacePersistentStore(at: copy, withPersistentStoreFrom: url, type: .sqlite)
    #expect(throws: CocoaError.self) {
      try first.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: copy)
    }
    let identifier = UUID().uuidString
    try NSPersistentStoreCoordinator.setMetadata(
      [NSStoreUUIDKey: identifier, "colour": "red"], forPersistentStoreOfType: NSSQLiteStoreType, at: copy)
    let added = try first.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: copy)
    #expect(added.identifier == identifier && added.metadata["colour"] as? String == "red")
    #expect(try Journal.savedTitles(first) == ["a", "a"])
    // A store that is open keeps its own.
    #expect(throws: CocoaError.self) {
      try NSPersistentStoreCoordinator.setMetadata(
        [NSStoreUUIDKey: UUID().uuidString], forPersistentStoreOfType: NSSQLiteStoreType, at: url)
    }
    let own = store.identifier
    first.setMetadata([NSStoreUUIDKey: UUID().uuidString, "colour": "blue"], for: store)
    try save("b", first)
    #expect(store.identifier == own && first.metadata(for: store)[NSStoreUUIDKey] as? String == own)
    #expect(first.metadata(for: store)["colour"] as? String == "blue")
  }

  @Test("A store in memory keeps its URL; one with a name below /dev/null is shared")
  func inMemory() throws {
    let coordinator = emptyCoordinator()
    let given = folder.appendingPathComponent("memory")
    let store = try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: given)
    #expect(store.url == given && coordinator.url(for: store) == given)
    #expect(coordinator.persistentStore(for: given) === store)
    let none = try coordinator.addPersistentStore(
      ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
    #expect(none.url == nil && coordinator.persistentStore(for: url) == nil)

    let shared = URL(fileURLWithPath: "/dev/null").appendingPathComponent("shared-\(UUID().uuidString)")
    let (one, other) = (try Journal.makeCoordinator(at: shared), try Journal.makeCoordinator(at: shared))
    try save("a", one)
    #expect(try Journal.savedTitles(other) == ["a"])
    #expect(one.persistentStores[0].url == shared && one.persistentStores[0].type == NSSQLiteStoreType)
    #expect(one.persistentStore(for: shared) === one.persistentStores[0])
    for coordinator in [one, other] { try coordinator.remove(coordinator.persistentStores[0]) }
    #expect(try Journal.savedTitles(Journal.makeCoordinator(at: shared)) == [])
  }

  @Test("Uniqueness constraints over many attributes with long names")
  func longNames() throws {
    let attributes = (0..<12).map { number in
      let attribute = NSAttributeDescription()
      attribute.name = "anAttributeWhoseNameIsLongAsNamesInProgramsAre\(number)"
      attribute.attributeType = .stringAttributeType
      return attribute
    }
    let entity = NSEntityDescription()
    entity.name = "Entity"
    entity.properties = attributes
    entity.uniquenessConstraints = [attributes.map(\.name)]
    let model = NSManagedObjectModel()
    model.entities = [entity]
    for isThere in [false, true] {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      let store = try coordinator.addPersistentStore(
        ofType: NSSQLiteStoreType, configurationName: nil, at: url)
      let context = NSManagedObjectContext(.confinementConcurrencyType)
      context.persistentStoreCoordinator = coordinator
      let request = NSFetchRequest<NSManagedObject>(entityName: "Entity")
      #expect(try context.count(for: request) == (isThere ? 1 : 0))
      let object = NSEntityDescription.insertNewObject(forEntityName: "Entity", into: context)
      for attribute in attributes { object.setValue("x", forKey: attribute.name) }
      if isThere {
        #expect(throws: (any Error).self) { try context.save() }
      } else {
        try context.save()
      }
      try coordinator.remove(store)
    }
  }
}
