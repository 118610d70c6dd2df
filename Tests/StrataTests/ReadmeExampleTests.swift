import Foundation
import Testing

/// README's example is the source file `ReadmeExample.swift`, and it works.
struct ReadmeExampleTests {
  @Test @MainActor func exampleFindsTheBookItSaved() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let titles = try await titlesThatBeginWithMiddle(
      storedAt: folder.url.appendingPathComponent("Library.strata"))
    #expect(titles == ["Middlemarch"])
  }

  @Test func exampleInReadmeIsTheTestedSource() throws {
    let readme = try String(contentsOf: repository.appendingPathComponent("README.md"), encoding: .utf8)
    let source = try String(
      contentsOf: repository.appendingPathComponent("Tests/StrataTests/ReadmeExample.swift"), encoding: .utf8)
    #expect(readme.contains("```swift\n" + source + "```\n"))
  }
}
