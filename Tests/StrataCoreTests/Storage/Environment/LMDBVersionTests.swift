import Foundation
import Testing

@testable import StrataCore

/// liblmdb 1.0 has another file format in both directions: it is refused by name before a file is touched.
@Suite struct LMDBVersionTests {
  private func version(_ text: String) -> LMDBVersion {
    let parts = text.split(separator: ".").compactMap { Int($0) }
    return LMDBVersion(major: parts[0], minor: parts[1], patch: parts[2])
  }

  @Test(arguments: [("0.9.24", "0.9.24"), ("0.9.24", "0.9.33"), ("0.9.33", "0.9.11")])
  func patchesMayDiffer(headers: String, library: String) throws {
    try LMDBVersion.require(headers: version(headers), library: version(library), path: "A")
  }

  @Test(arguments: [("0.9.24", "1.0.0"), ("1.0.0", "0.9.24"), ("1.0.0", "1.0.0"), ("0.9.24", "0.10.1")])
  func everythingElseIsRefusedAndBothAreNamed(headers: String, library: String) throws {
    let error = try storageError {
      try LMDBVersion.require(headers: version(headers), library: version(library), path: "A")
    }
    #expect(error.kind == .unsupportedLibrary)
    #expect(error.detail.contains("headers of liblmdb \(headers)"))
    #expect(error.detail.contains("runs with liblmdb \(library)"))
    #expect(error.detail.contains("Install liblmdb 0.9"))
  }

  @Test func theOneThatIsHereIsSupported() throws {
    try LMDBVersion.require(path: "A")
    #expect(LMDBVersion.headers.major == 0 && LMDBVersion.headers.minor == 9)
    #expect(LMDBVersion.library.description.hasPrefix("0.9."))
  }

  @Test func whateverIsDoneWithAFileIsRefusedBeforeItIsTouched() throws {
    let directory = try ScratchDirectory()
    func url(_ name: String) -> URL { URL(fileURLWithPath: directory(name)) }
    let model = ManagedObjectModel(entities: [
      EntityDescription("Spot", properties: [AttributeDescription("name", .string)])
    ])
    let newer = ManagedObjectModel(entities: [
      EntityDescription(
        "Spot", properties: [AttributeDescription("name", .string), AttributeDescription("note", .string)])
    ])
    for name in ["A.strata", "B.strata"] {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
      let store = try coordinator.addPersistentStore(PersistentStoreDescription(url: url(name)))
      try coordinator.remove(store)
    }
    func listing() throws -> [String: Data] {
      let folder = url("A.strata").deletingLastPathComponent()
      return Dictionary(
        uniqueKeysWithValues: try FileManager.default.contentsOfDirectory(atPath: folder.path).map {
          ($0, try Data(contentsOf: folder.appendingPathComponent($0)))
        })
    }
    let before = try listing()
    let (here, other, missing) = (url("A.strata"), url("B.strata"), url("C.strata"))
    func open(_ url: URL, _ model: ManagedObjectModel, readOnly: Bool = false) throws {
      var description = PersistentStoreDescription(url: url)
      description.isReadOnly = readOnly
      try PersistentStoreCoordinator(managedObjectModel: model).addPersistentStore(description)
    }
    let actions: [(String, () throws -> Void)] = [
      ("open", { try open(here, model) }),
      ("open read-only", { try open(here, model, readOnly: true) }),
      ("make", { try open(missing, model) }),
      ("migrate by opening", { try open(here, newer) }),
      ("migrate", { try LMDBStore.migrate(at: here, to: newer) }),
      ("metadata", { _ = try LMDBStore.metadata(at: here) }),
      ("set metadata", { try LMDBStore.setMetadata(StoreMetadata(values: ["a": .string("b")]), at: here) }),
      ("model", { _ = try LMDBStore.model(at: here) }),
      ("replace", { try LMDBStore.replace(at: here, with: other) }),
      ("copy", { try LMDBStore.replace(at: missing, with: other) }),
      ("empty", { try LMDBStore.empty(at: here) }),
      ("destroy", { try LMDBStore.destroy(at: here) }),
      ("salvage", { _ = try LMDBStore.salvage(from: here, to: missing) }),
    ]
    for (name, action) in actions {
      let error = LMDBVersion.$standIn.withValue(version("1.0.0")) {
        #expect(throws: StorageError.self, "\(name)") { try action() }
      }
      #expect(error?.kind == .unsupportedLibrary, "\(name)")
      #expect(try listing() == before, "\(name)")
    }
    for (name, action) in actions where name == "open" { #expect(throws: Never.self) { try action() } }
  }
}
