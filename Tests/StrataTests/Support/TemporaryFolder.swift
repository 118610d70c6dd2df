import Foundation
import TortureKit

/// A folder of one test's own. The test removes it.
struct TemporaryFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("strata-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  func remove() {
    try? FileManager.default.removeItem(at: url)
  }

  /// Writes a file, makes its folders, and returns its place.
  @discardableResult
  func write(_ text: String, to name: String, isExecutable: Bool = false) throws -> URL {
    let file = url.appendingPathComponent(name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    guard isExecutable else {
      try Data(text.utf8).write(to: file)
      return file
    }
    try ChildProcess.write(program: text, to: file.path)
    return file
  }
}

/// The root of this repository, found from where this source file stands.
let repository = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent()
