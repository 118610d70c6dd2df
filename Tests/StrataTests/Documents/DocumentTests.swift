import Foundation
import Testing

/// Documents name things that exist.
struct DocumentTests {
  private func text(_ path: String) throws -> String {
    try String(contentsOf: repository.appendingPathComponent(path), encoding: .utf8)
  }

  private func sources(in folder: String) throws -> [String] {
    let url = repository.appendingPathComponent(folder)
    return try FileManager.default.subpathsOfDirectory(atPath: url.path).filter { $0.hasSuffix(".swift") }
      .map { folder + "/" + $0 }
  }

  @Test func theIndexLinksToEveryPage() throws {
    let index = try text("Docs/Index.md")
    let pages = try FileManager.default.contentsOfDirectory(
      atPath: repository.appendingPathComponent("Docs").path)
    for page in pages where page.hasSuffix(".md") && page != "Index.md" {
      #expect(index.contains("(\(page))"), "Docs/Index.md does not link to \(page)")
    }
    #expect(try text("README.md").contains("(Docs/Index.md)"))
  }

  @Test func theAPIPageNamesWhatIsDeclared() throws {
    let modules = ["StrataCore", "StrataModels", "StrataPostgres", "StrataTelemetry"]
    let code = try modules.flatMap { try sources(in: "Sources/" + $0) }.map(text).joined()
    let names = try text("Docs/API.md").split(separator: "\n").filter { $0.hasPrefix("| `") }
      .flatMap { $0.matches(of: /`([A-Za-z]+)[^`]*`/).map { String($0.1) } }
    #expect(names.count > 100)
    let declared = Set(
      code.matches(of: /(?:class|struct|enum|protocol|func|var|let|typealias) ([A-Za-z]+)/).map {
        String($0.1)
      })
    for name in names { #expect(declared.contains(name), "Docs/API.md names \(name)") }
  }

  @Test(
    "pages about the code name files that exist",
    arguments: ["Docs/AddingAFeature.md", "Docs/Architecture.md", "Docs/Glossary.md", "CONTRIBUTING.md"])
  func filesExist(page: String) throws {
    let files = try sources(in: "Sources") + sources(in: "Tests")
    let folders = Set(
      files.flatMap { file in
        file.indices.filter { file[$0] == "/" }.map { String(file[..<$0]) }
      })
    let words = try text(page)
    for name in words.matches(of: /`([A-Za-z0-9+\/-]+\.swift)`/).map({ String($0.1) }) {
      #expect(files.contains { $0.hasSuffix("/" + name) }, "\(page) names \(name)")
    }
    for name in words.matches(of: /`([A-Za-z]+Tests)`/).map({ String($0.1) }) where name != "StrataTests" {
      let exists = files.contains { $0.hasSuffix("/\(name).swift") } || folders.contains("Tests/" + name)
      #expect(exists, "\(page) names \(name)")
    }
    for name in words.matches(of: /`([01][0-9]-[A-Za-z\/]+)`/).map({ String($0.1) }) {
      #expect(folders.contains("Sources/StrataCore/" + name), "\(page) names \(name)")
    }
  }

  @Test func pagesAreNotMadeWithoutDocC() throws {
    var environment = ProcessInfo.processInfo.environment
    environment["DOCC"] = "/nowhere/docc"
    let script = repository.appendingPathComponent("Scripts/docs").path
    let result = try Command.run(script, environment: environment)
    #expect(result.exitCode == 1)
    #expect(result.errors.contains("this toolchain has no docc"))
  }
}
