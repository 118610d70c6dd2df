import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// Writes that raise no commit number, while a store is written anew: they must not be lost with the old file.
struct UncountedWriteTests {
  private let store: LoggedStore
  private let url: URL

  init() throws {
    store = try LoggedStore(name: "Spots.strata")
    url = URL(fileURLWithPath: store.path)
    let store = try LMDBStore(url: url, schema: Self.model("name", "note").schema())
    store.close()
  }

  private static func model(_ names: String...) -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription("Spot", properties: names.map { AttributeDescription($0, .string) })
    ])
  }

  private var note: MetadataValue? {
    get throws { try LMDBStore.metadata(at: url).values["note"] }
  }

  @Test func metadataThatAnotherProcessSetsDuringAMigrationIsMigrated() async throws {
    let (path, filled, set) = (store.path, store.directory("filled"), store.directory("set"))
    let done = store.directory("done")
    MigrationHooks.set(
      { place in
        guard place == .filled, !FileManager.default.fileExists(atPath: filled) else { return }
        do {
          try announce(filled)
          try waitFor(set)
        } catch { Issue.record(error) }
      }, for: path)
    defer { MigrationHooks.set(nil, for: path) }
    let url = url
    let outcome = Mutex<Result<Void, any Error>?>(nil)
    let thread = Thread {
      let result = Result {
        try LMDBStore.migrate(
          at: url, to: Self.model("name"), permission: MigrationPermission(permittedLosses: ["Spot.note"]))
      }
      outcome.withLock { $0 = result }
      do { try announce(done) } catch { Issue.record(error) }
    }
    thread.start()
    await #expect(processExitsWith: .success) {
      [path = path as String, filled = filled as String, set = set as String] in
      try waitFor(filled)
      try LMDBStore.setMetadata(
        StoreMetadata(values: ["note": .string("kept")]), at: URL(fileURLWithPath: path))
      try announce(set)
    }
    try waitFor(done)
    try #require(outcome.withLock { $0 }).get()
    #expect(try note == .string("kept"))
    #expect(try LMDBStore.model(at: url).entities[0].attributesByName["note"] == nil)
  }

  /// Metadata, reserved keys, and indexes: whatever is written counts.
  @Test func aCopyTakesNoStoresPlaceThatWasWrittenMeanwhile() throws {
    let store = try LMDBStore(url: url, schema: Self.model("name", "note").schema())
    defer { store.close() }
    let file = try StoreFile(url.path, .system)
    let moment = try store.moment()
    let draft = try store.parts.environment.writeCopy(beside: file, compacting: true)
    let meta = store.parts.meta
    try store.parts.environment.write { transaction in
      try meta.put(
        "metadata", StoreMetadata(values: ["note": .string("kept")]).encoded(path: ""), transaction)
    }
    #expect(try store.moment().commitNumber == moment.commitNumber)
    #expect(
      try storageError { try draft.takePlace(of: store, at: file, ifStillAt: moment) }.kind == .busy)
    draft.remove()
    #expect(try note == .string("kept"))
    // Without a write it does, also behind a checkpoint, which is none.
    let later = try store.moment()
    let second = try store.parts.environment.writeCopy(beside: file, compacting: true)
    try store.flush()
    try second.takePlace(of: store, at: file, ifStillAt: later)
    #expect(try file.status()?.identity != store.parts.environment.identity)
  }
}
