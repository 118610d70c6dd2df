import Foundation
import Strata

/// A store in a folder of its own and the stack above it; both go when the last test that holds it is done.
final class TemporaryStore: Sendable {
  let container: PersistentContainer
  /// The store's file.
  let url: URL
  private let folder: Folder

  /// Removes the folder when it is not used any more.
  private final class Folder: Sendable {
    let folder: TemporaryFolder
    init() throws { folder = try TemporaryFolder() }
    deinit { folder.remove() }
  }

  /// A new store with `model`, opened as `configure` says.
  convenience init(
    _ model: ManagedObjectModel = SurfModel.shared,
    configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws {
    try self.init(model, folder: try Folder(), fileName: "Journal.strata", configure: configure)
  }

  /// A new store whose commits pass `gate`.
  convenience init(behind gate: StoreGate, _ model: ManagedObjectModel = SurfModel.shared) throws {
    try self.init(model, folder: try Folder(), fileName: "Journal.strata", gate: gate) { _ in }
  }

  /// A new store whose reads fail when `faults` says so.
  convenience init(_ model: ManagedObjectModel = SurfModel.shared, failing faults: ReadFaults) throws {
    try self.init(model, folder: try Folder(), fileName: "Journal.strata", faults: faults) { _ in }
  }

  private init(
    _ model: ManagedObjectModel, folder: Folder, fileName: String, gate: StoreGate? = nil,
    faults: ReadFaults? = nil,
    configure: (inout PersistentStoreDescription) -> Void
  ) throws {
    self.folder = folder
    url = folder.folder.url.appendingPathComponent(fileName)
    container = PersistentContainer(name: "Journal", model: model)
    // On a busy machine a test may take longer than generations live by default.
    container.persistentStoreCoordinator.queryGenerationLimit = .seconds(86_400)
    var description = PersistentStoreDescription(url: url)
    configure(&description)
    if let gate {
      let engine = try LMDBStore(url: url, schema: try coordinator.managedObjectModel.schema())
      try coordinator.attach(GatedStore(engine, gate))
    } else if let faults {
      let engine = try LMDBStore(url: url, schema: try coordinator.managedObjectModel.schema())
      try coordinator.attach(FailingStore(engine, faults))
    } else {
      try coordinator.addPersistentStore(description)
    }
  }

  deinit { try? close() }

  var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }
  var folderURL: URL { folder.folder.url }
  /// The one store.
  var store: any StoreEngine { coordinator.engines[0] }
  /// The store's own UUID.
  var identifier: UUID { store.identifier }

  /// A new context; of the calling thread by default, so that tests can use several side by side.
  func context(_ type: ConcurrencyType = .confinement) -> ManagedObjectContext {
    ManagedObjectContext(type, coordinator: coordinator)
  }

  /// Saves an entry for each location; returns their IDs.
  @discardableResult
  func save(_ locations: String..., rating: Int16 = 3) throws -> [ManagedObjectID] {
    let context = context()
    let ids = locations.map { Entry.make($0, rating: rating, in: context).objectID }
    try context.save()
    return ids
  }

  /// All saved entries as “location rating”, in the order of their locations.
  func savedEntries() throws -> [String] {
    try context().entries().map { "\($0.location ?? "nil") \($0.rating)" }
  }

  /// Closes all stores.
  func close() throws {
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  /// Closes the store and opens the same file with a fresh stack.
  func reopened(
    _ model: ManagedObjectModel = SurfModel.make(),
    configure: (inout PersistentStoreDescription) -> Void = { _ in }
  ) throws -> TemporaryStore {
    try close()
    return try TemporaryStore(model, folder: folder, fileName: url.lastPathComponent, configure: configure)
  }

  /// A second, independent stack in the same folder; on another file unless `fileName` says the same one.
  func neighbour(_ fileName: String, _ model: ManagedObjectModel = SurfModel.shared) throws -> TemporaryStore
  {
    try TemporaryStore(model, folder: folder, fileName: fileName) { _ in }
  }
}

extension ManagedObjectContext {
  /// All entries, in the order of their locations.
  func entries(_ predicate: FetchPredicate? = nil) throws -> [Entry] {
    try fetch(
      FetchRequest<Entry>(
        entityName: "Entry", predicate: predicate, sortDescriptors: [FetchSort("location")]))
  }

  /// The entry at `location`, which must be the only one.
  func entry(_ location: String) throws -> Entry {
    let found = try entries(Attribute("location") == location)
    guard found.count == 1 else { throw NoSuchEntry(location: location, count: found.count) }
    return found[0]
  }

  struct NoSuchEntry: Error {
    let location: String
    let count: Int
  }

  /// How many entries there are.
  func entryCount() throws -> Int { try count(for: FetchRequest<Entry>(entityName: "Entry")) }

  /// The one object of entity Diary.
  func diary() throws -> Diary? { try fetch(FetchRequest<Diary>(entityName: "Diary")).first }
}
