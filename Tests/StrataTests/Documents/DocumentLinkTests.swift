import Foundation
import Testing

/// What the documents link to is there.
struct DocumentLinkTests {
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
