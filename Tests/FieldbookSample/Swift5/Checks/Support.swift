import SwiftData
import Testing

/// A folder that goes with the test.
final class Folder {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent(
    "fieldbook-\(UUID().uuidString)", isDirectory: true)

  init() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func file(_ name: String) -> URL { url.appendingPathComponent(name) }
}

/// A context with the small sample data, saved.
func makeSampleContext() throws -> ModelContext {
  let context = ModelContext(try AppStore.inMemory())
  context.autosaveEnabled = false
  SampleData.insertSmall(into: context)
  try context.save()
  return context
}
