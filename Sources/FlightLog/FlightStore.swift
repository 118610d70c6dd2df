import Foundation
import Strata

/// Opens and closes the store of the log, and turns what can go wrong into sentences.
struct FlightStore: Sendable {
  let url: URL

  /// The store at a URL: of a file, or on a server.
  init(url: URL) {
    self.url = url
    exportFolder =
      url.isFileURL ? url.deletingLastPathComponent() : URL(fileURLWithPath: "FlightLog", isDirectory: true)
  }

  /// The store in the file of that path, or at the address on a server.
  /// - Throws: a `FlightLogError` for what is neither.
  init(place: String) throws {
    guard place.contains("://") else {
      self.init(url: URL(fileURLWithPath: place))
      return
    }
    guard let url = URL(string: place) else { throw FlightLogError("\(place) is no address of a store.") }
    self.init(url: url)
  }

  /// What the store is called: its path or address.
  var words: String { url.isFileURL ? url.path : url.absoluteString }

  /// Where the exporting step writes: by default the store's folder, of a store on a server the folder FlightLog.
  var exportFolder: URL

  /// The file that comes from the exporting step.
  var exportURL: URL { exportFolder.appendingPathComponent("flights.csv") }

  /// Another store beside this one: in the same folder, or in another namespace of the same database.
  func sibling(_ name: String) -> FlightStore {
    if url.isFileURL {
      return FlightStore(url: url.deletingLastPathComponent().appendingPathComponent("\(name).strata"))
    }
    guard var components = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return self }
    var items = components.queryItems ?? []
    let namespace = items.first { $0.name == "namespace" }?.value ?? "strata"
    items.removeAll { $0.name == "namespace" }
    items.append(URLQueryItem(name: "namespace", value: "\(namespace)_\(name)"))
    components.queryItems = items
    return FlightStore(url: components.url ?? url)
  }

  private var description: PersistentStoreDescription {
    url.isFileURL
      ? PersistentStoreDescription(url: url)
      // Known to programs that are linked with StrataPostgres; to others an error says so.
      : PersistentStoreDescription(
        type: PersistentStoreDescription.StoreType(rawValue: "PostgreSQL"), url: url)
  }

  /// Opens the store, making it and its folder when they do not exist.
  @MainActor
  func open() async throws -> PersistentContainer {
    let folder = exportFolder
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw FlightLogError(
        "The folder \(folder.path) for the store cannot be made: \(error.localizedDescription)")
    }
    let container = PersistentContainer(name: "FlightLog", model: FlightModel.make())
    container.persistentStoreDescriptions = [description]
    try await container.loadPersistentStores()
    container.viewContext.name = "main"
    container.viewContext.automaticallyMergesChangesFromParent = true
    return container
  }

  func close(_ container: PersistentContainer) throws {
    let coordinator = container.persistentStoreCoordinator
    for store in coordinator.persistentStores { try coordinator.remove(store) }
  }

  /// Deletes the store without loading it, whatever model it was made with. There need not be one.
  func destroy() throws {
    guard url.isFileURL else {
      return try PersistentStoreCoordinator(managedObjectModel: FlightModel.make()).destroyPersistentStore(
        at: url, type: description.type)
    }
    guard FileManager.default.fileExists(atPath: url.path) else { return }
    do {
      _ = try LMDBStore.metadata(at: url)
    } catch let error as StorageError where error.kind == .notADatabase {
      // Whoever began to make it may have been killed: opened for writing it becomes a store. What is none is refused, and left alone.
      let coordinator = PersistentStoreCoordinator(managedObjectModel: FlightModel.make())
      try coordinator.remove(try coordinator.addPersistentStore(description))
    }
    try LMDBStore.destroy(at: url)
  }

  /// Closes the store and deletes it.
  func destroy(with container: PersistentContainer) throws {
    try close(container)
    try destroy()
  }
}
