import Foundation
import Testing

@testable import StrataCore

/// LMDB files of other programs, and other users: looking at a file leaves alone what lies beside it.
struct ForeignFileTests {
  private let directory: ScratchDirectory
  private var url: URL { URL(fileURLWithPath: directory("Other.mdb")) }

  init() throws { directory = try ScratchDirectory() }

  /// As a program with LMDB makes it: 126 readers, and one tree of its own or entries beside the trees.
  private func makeForeign() throws {
    var options = EnvironmentOptions()
    options.maxReaders = 126
    let environment = try Environment.open(path: url.path, options: options)
    let things = try environment.keyspace("things")
    try environment.put(things, "a", "b")
    environment.close()
  }

  private func names() throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: directory.path))
  }

  /// All ways that lead to a store.
  static let ways: [(name: String, use: @Sendable (URL) throws -> Void)] = [
    ("open", { _ = try LMDBStore(url: $0, schema: try ManagedObjectModel(entities: []).schema()) }),
    (
      "read",
      {
        var options = LMDBStoreOptions()
        options.isReadOnly = true
        _ = try LMDBStore(url: $0, schema: try ManagedObjectModel(entities: []).schema(), options: options)
      }
    ), ("metadata", { _ = try LMDBStore.metadata(at: $0) }), ("model", { _ = try LMDBStore.model(at: $0) }),
    ("set metadata", { try LMDBStore.setMetadata(StoreMetadata(), at: $0) }),
  ]

  @Test(arguments: 0..<5, [true, false])
  func nothingIsMadeOrChangedBesideIt(way: Int, hasLock: Bool) throws {
    try makeForeign()
    let lock = url.path + "-lock"
    if !hasLock { unlink(lock) }
    let (before, data) = (try names(), try fileBytes(url.path))
    let locked = hasLock ? try fileBytes(lock) : []
    let error = try storageError { try Self.ways[way].use(url) }
    #expect(error.kind == .notADatabase && error.detail.contains("no store of this package"), "\(error)")
    #expect(try names() == before, "\(Self.ways[way].name)")
    #expect(try fileBytes(url.path) == data)
    if hasLock { #expect(try fileBytes(lock) == locked) }
  }

  /// Somebody else looks at it first, such as root.
  @Test(arguments: [0o600, 0o640, 0o660, 0o666] as [mode_t])
  func theLockFileHasThePermissionsOfTheStore(mode: mode_t) throws {
    try makeForeign()
    unlink(url.path + "-lock")
    try #require(chmod(url.path, mode) == 0)
    // Only root may give a file away.
    if getuid() == 0 { try #require(chown(url.path, 4_711, 4_712) == 0) }
    var options = EnvironmentOptions()
    options.isReadOnly = true
    let environment = try Environment.open(path: url.path, options: options)
    defer { environment.close() }
    var (data, lock) = (stat(), stat())
    try #require(stat(url.path, &data) == 0 && stat(url.path + "-lock", &lock) == 0)
    #expect(lock.st_mode & 0o777 == mode)
    #expect(lock.st_uid == data.st_uid && lock.st_gid == data.st_gid)
  }
}
