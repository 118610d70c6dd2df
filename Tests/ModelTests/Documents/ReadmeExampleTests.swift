import Foundation
import Testing
import TortureKit

/// README's example is the source file `ReadmeExample.swift`, and it works.
struct ReadmeExampleTests {
  @Test @MainActor func exampleFindsTheRecipeItSaved() async throws {
    let folder = try ScratchFolder()
    #expect(try await quickRecipes(storedAt: folder.url("kitchen.strata")) == ["Omelette"])
  }

  @Test func exampleInReadmeIsTheTestedSource() throws {
    let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let readme = try String(contentsOf: top.appendingPathComponent("README.md"), encoding: .utf8)
    let source = try String(
      contentsOf: top.appendingPathComponent("Tests/ModelTests/Documents/ReadmeExample.swift"),
      encoding: .utf8)
    #expect(readme.contains("```swift\n" + source + "```\n"))
  }
}
