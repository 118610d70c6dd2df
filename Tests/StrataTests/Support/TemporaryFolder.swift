import Foundation

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
  ///
  /// A file to be run is put in its place by a program of its own: a child that another test starts meanwhile would inherit our open
  /// descriptor, and as long as it has that, the file cannot be run ("text file busy").
  @discardableResult
  func write(_ text: String, to name: String, isExecutable: Bool = false) throws -> URL {
    let file = url.appendingPathComponent(name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    guard isExecutable else {
      try Data(text.utf8).write(to: file)
      return file
    }
    let draft = file.appendingPathExtension("draft")
    try Data(text.utf8).write(to: draft)
    let copy = try Process.run(
      URL(fileURLWithPath: "/bin/sh"),
      arguments: ["-c", "cp \"$1\" \"$2\" && chmod 755 \"$2\" && rm \"$1\"", "sh", draft.path, file.path])
    copy.waitUntilExit()
    guard copy.terminationStatus == 0 else { throw CocoaError(.fileWriteUnknown) }
    return file
  }
}

/// The root of this repository, found from where this source file stands.
let repository = URL(fileURLWithPath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent()
  .deletingLastPathComponent().deletingLastPathComponent()
