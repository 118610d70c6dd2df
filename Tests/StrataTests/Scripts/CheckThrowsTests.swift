import Foundation
import Testing

/// `Scripts/check-throws` on one file.
struct CheckThrowsTests {
  private func check(_ source: String) throws -> Command {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    try folder.write(source, to: "Nest.swift")
    return try Command.run(repository.appendingPathComponent("Scripts/check-throws").path, [folder.url.path])
  }

  @Test(
    "a public function that throws and does not say so fails, with its line",
    arguments: [
      "/// Lays.\npublic func lay() throws -> Egg { Egg() }\n",
      "\npublic init(from decoder: any Decoder) throws {}\n",
      "/// Lays.\n@discardableResult\nopen func lay(\n  _ count: Int\n) async throws -> [Egg] {\n  []\n}\n",
    ])
  func silent(source: String) throws {
    let result = try check(source)
    #expect(result.exitCode == 1)
    #expect(
      result.errors.contains("Nest.swift:\(source.contains("open") ? 3 : 2) does not say what it throws"))
  }

  @Test(
    "one that says so passes, and so do those that do not throw or are not public",
    arguments: [
      "/// Lays.\n/// - Throws: `Broken`.\n@discardableResult\npublic func lay() throws -> Egg { Egg() }\n",
      "/// Runs it.\npublic func run(_ body: () throws -> Void) rethrows {}\n",
      "func lay() throws -> Egg { Egg() }\n", "private func open() throws {}\n",
      "/// How it is laid.\npublic func onLaying(_ body: @escaping () throws -> Void) {\n}\n",
    ])
  func fine(source: String) throws {
    let result = try check(source)
    #expect(result.exitCode == 0, "\(result.errors)")
  }
}
