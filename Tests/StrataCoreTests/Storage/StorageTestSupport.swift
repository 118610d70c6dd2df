import Foundation
import SeededRandom
import Testing

@testable import StrataCore

/// A directory that is removed when the test ends.
final class ScratchDirectory: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("strata-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func callAsFunction(_ name: String) -> String { path + "/" + name }
}

/// Runs `body` on a fresh environment, and closes it.
func withEnvironment<R>(
  _ options: EnvironmentOptions = .scratch, _ body: (Environment) throws -> R
) throws -> R {
  let directory = try ScratchDirectory()
  let environment = try Environment.open(path: directory("Test.strata"), options: options)
  defer { environment.close() }
  return try withExtendedLifetime(directory) { try body(environment) }
}

extension EnvironmentOptions {
  /// Fast, for tests that do not look at durability.
  static var scratch: EnvironmentOptions {
    var options = EnvironmentOptions()
    options.durability = .none
    return options
  }
}

extension String {
  /// Runs `body` with the UTF-8 bytes.
  func bytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try Array(utf8).withUnsafeBytes(body)
  }
}

extension Environment {
  /// One keyspace that must be there.
  func keyspace(_ name: String) throws -> Keyspace { try #require(try keyspaces([name])[0]) }

  func put(_ keyspace: Keyspace, _ key: String, _ value: String) throws {
    try write { try $0.put(keyspace, key, value) }
  }

  func get(_ keyspace: Keyspace, _ key: String) throws -> String? {
    try read { try $0.get(keyspace, key) }
  }
}

extension ReadTransaction {
  func get(_ keyspace: Keyspace, _ key: String) throws -> String? {
    try key.bytes { try get(keyspace, $0) }.map { String(decoding: $0, as: UTF8.self) }
  }
}

extension WriteTransaction {
  func put(_ keyspace: Keyspace, _ key: String, _ value: String, append: Bool = false) throws {
    try key.bytes { key in try value.bytes { try put(keyspace, key, $0, append: append) } }
  }
}

typealias SeededGenerator = SeededRandom.SeededGenerator

/// A seed from the environment variable `STRATA_SEED`, or a fixed one, so that a change is judged by the same runs as the one
/// before it; printed either way. New seeds come from `STRATA_SEED=$RANDOM` and the long mode.
func testSeed(_ name: String = #function) -> UInt64 {
  let seed = ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap(UInt64.init) ?? 715_170_541
  print("\(name): STRATA_SEED=\(seed)")
  return seed
}

/// How often a test of random things goes round: the smaller number, or the larger one in the long mode, `STRATA_LONG_TESTS=1`.
func rounds(_ usual: Int, long: Int) -> Int {
  ProcessInfo.processInfo.environment["STRATA_LONG_TESTS"] == nil ? usual : long
}

/// The storage error that `body` throws.
func storageError(_ body: () throws -> Void) throws -> StorageError {
  try #require(throws: StorageError.self, performing: body)
}

/// The bytes of a file.
func fileBytes(_ path: String) throws -> [UInt8] {
  let descriptor = open(path, O_RDONLY)
  try #require(descriptor >= 0)
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var piece = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = read(descriptor, &piece, piece.count)
    try #require(count >= 0)
    if count == 0 { return bytes }
    bytes += piece[..<count]
  }
}
