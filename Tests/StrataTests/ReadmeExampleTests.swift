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

  @Test func everyFileThatADocumentLinksToExists() throws {
    let docs = repository.appendingPathComponent("Docs")
    let pages = try FileManager.default.subpathsOfDirectory(atPath: docs.path).filter { $0.hasSuffix(".md") }
    let top = ["README.md", "CONTRIBUTING.md"].map(repository.appendingPathComponent)
    for page in top + pages.map(docs.appendingPathComponent) {
      let text = try String(contentsOf: page, encoding: .utf8)
      for link in text.matches(of: /\]\(([^)#]+)(#[^)]*)?\)/).map(\.1) where !link.contains("://") {
        let target = page.deletingLastPathComponent().appendingPathComponent(String(link))
        #expect(FileManager.default.fileExists(atPath: target.path), "\(page.lastPathComponent): \(link)")
      }
    }
  }
}
