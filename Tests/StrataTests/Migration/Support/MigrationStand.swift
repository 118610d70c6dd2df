import Foundation
import Strata
import Testing

/// A store in a folder of its own that is opened with one version of a model after the other.
final class MigrationStand {
  let folder: TemporaryFolder
  let url: URL
  private(set) var coordinator: PersistentStoreCoordinator?

  init() throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("Shop.strata")
  }

  deinit {
    try? close()
    folder.remove()
  }

  /// Opens the store and returns a context on it. What was open is closed first.
  @discardableResult
  func open(
    _ model: ManagedObjectModel, _ configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> ManagedObjectContext {
    try close()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    var description = PersistentStoreDescription(url: url)
    configure(&description)
    try coordinator.addPersistentStore(description)
    self.coordinator = coordinator
    return ManagedObjectContext(.privateQueue, coordinator: coordinator)
  }

  /// Migrates the store with these mappings, from the first model to itself, to a new one.
  func migrate(_ mappings: [EntityMapping], to new: URL) throws {
    try close()
    let manager = MigrationManager(
      sourceModel: LightweightMigrationTests.first(), destinationModel: LightweightMigrationTests.first())
    try manager.migrateStore(
      from: PersistentStoreDescription(url: url), with: MappingModel(entityMappings: mappings),
      to: PersistentStoreDescription(url: new))
  }

  func close() throws {
    guard let coordinator else { return }
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    self.coordinator = nil
  }

  /// What is wrong with the store, if anything.
  func problems() throws -> [String] {
    guard let store = coordinator?.persistentStores.first as? LMDBStore else { return ["no store"] }
    return try store.check().problems.map(\.description)
  }

  /// The objects in a value of a relationship.
  static func objects(_ value: Any?) -> [ManagedObject] {
    (value as? ManagedObject).map { [$0] } ?? value as? [ManagedObject]
      ?? Array(value as? Set<ManagedObject> ?? [])
  }

  /// The names of the files in the folder.
  func files() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
  }
}

extension ManagedObjectContext {
  /// A new object with values.
  @discardableResult
  func newObject(_ entity: String, _ values: [String: Any] = [:]) -> ManagedObject {
    let description = persistentStoreCoordinator!.managedObjectModel.entitiesByName[entity]!
    let object = ManagedObject(entity: description, insertInto: self)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }

  /// The objects of an entity by name.
  func objectsByName(_ entity: String, by key: String = "name") throws -> [String: ManagedObject] {
    let request = FetchRequest<ManagedObject>(entityName: entity)
    return Dictionary(
      uniqueKeysWithValues: try fetch(request).map { ($0.value(forKey: key) as? String ?? "", $0) })
  }
}

extension ManagedObject {
  func textValue(_ key: String) -> String? { value(forKey: key) as? String }

  /// The names of the members of a relationship, in order when it has one, else sorted.
  func memberNames(_ key: String, of name: String = "name") -> [String] {
    switch value(forKey: key) {
    case let members as [ManagedObject]: members.map { $0.textValue(name) ?? "" }
    case let members as Set<ManagedObject>: members.map { $0.textValue(name) ?? "" }.sorted()
    case let member as ManagedObject: [member.textValue(name) ?? ""]
    default: []
    }
  }
}

/// Two relationships that are inverses of each other.
func relateInMigration(
  _ first: RelationshipDescription, of entity: EntityDescription, _ second: RelationshipDescription,
  of other: EntityDescription
) {
  first.destinationEntity = other
  second.destinationEntity = entity
  first.inverseRelationship = second
  second.inverseRelationship = first
  entity.properties.append(first)
  other.properties.append(second)
}

extension PropertyDescription {
  /// The same property with a renaming identifier.
  func renamed(from identifier: String) -> Self {
    renamingIdentifier = identifier
    return self
  }
}
