import Foundation
import Strata

/// Opens and closes the store of the log, and turns what can go wrong into sentences.
struct FlightStore: Sendable {
  let url: URL

  /// The file that comes from the exporting step.
  var exportURL: URL { url.deletingLastPathComponent().appendingPathComponent("flights.csv") }

  /// Opens the store, making it and its folder when they do not exist.
  @MainActor
  func open() async throws -> PersistentContainer {
    let folder = url.deletingLastPathComponent()
    do {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    } catch {
      throw FlightLogError(
        "The folder \(folder.path) for the store cannot be made: \(error.localizedDescription)")
    }
    let container = PersistentContainer(name: "FlightLog", model: FlightModel.make())
    container.persistentStoreDescriptions = [PersistentStoreDescription(url: url)]
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
    guard FileManager.default.fileExists(atPath: url.path) else { return }
    // Throws for a file that is no store, which is left alone.
    _ = try LMDBStore.metadata(at: url)
    try LMDBStore.destroy(at: url)
  }

  /// Closes the store and deletes it.
  func destroy(with container: PersistentContainer) throws {
    try close(container)
    try LMDBStore.destroy(at: url)
  }
}
