import Foundation
import Testing

/// `Scripts/check-links` on a small tree: an index, one page about the code, one source.
struct CheckLinksTests {
  private func check(_ text: String, in page: String = "Docs/Nests.md") throws -> Command {
    let tree = try TemporaryFolder()
    defer { tree.remove() }
    try tree.write("# Index\n\n[Nests](Nests.md), [API](API.md#two-words)\n", to: "Docs/Index.md")
    try tree.write("# Nests\n", to: "Docs/Nests.md")
    try tree.write("# API\n\n## Two words\n\n`Bird` in `Nest/Bird.swift`\n", to: "Docs/API.md")
    try tree.write("struct Bird {}\n", to: "Sources/Nest/Bird.swift")
    try tree.write(text + "\n", to: page)
    return try Command.run(repository.appendingPathComponent("Scripts/check-links").path, [tree.url.path])
  }

  @Test(
    "links to pages, headings and web addresses pass, and so do names of files and folders that exist",
    arguments: [
      "[API](API.md), [words](API.md#two-words), [source](../Sources/Nest/Bird.swift)",
      "[elsewhere](https://example.org/nothing.md)", "`Nest/Bird.swift`, `Bird.swift`, `Sources/Nest`",
      "```\n[API](Nothing.md) `Nothing.swift`\n```", "`Egg` is a word of another page",
    ])
  func fine(text: String) throws {
    let result = try check("# Nests\n\n" + text)
    #expect(result.exitCode == 0, "\(result.errors)")
    #expect(result.output.contains("3 pages"))
  }

  @Test(
    "what a page points to and is not there fails, with its line",
    arguments: [
      ("[eggs](Eggs.md)", "leads to Docs/Eggs.md"),
      ("[words](API.md#three-words)", "leads to the heading three-words"),
      ("[here](#eggs)", "leads to the heading eggs"), ("`Nest/Egg.swift`", "names Nest/Egg.swift"),
      ("`Sources/Eggs`", "names Sources/Eggs"),
    ])
  func missing(text: String, message: String) throws {
    let result = try check("# Nests\n\n" + text)
    #expect(result.exitCode == 1)
    #expect(result.errors.contains("Docs/Nests.md:3: \(message)"))
  }

  @Test("a name that is no word of the sources fails in a page about the code")
  func unknownName() throws {
    let result = try check("# API\n\n## Two words\n\n`Egg`", in: "Docs/API.md")
    #expect(result.exitCode == 1)
    #expect(result.errors.contains("Docs/API.md:5: names Egg"))
  }

  @Test("a page that the index does not list fails")
  func unlisted() throws {
    let result = try check("# Eggs", in: "Docs/Eggs.md")
    #expect(result.exitCode == 1)
    #expect(result.errors.contains("does not list Docs/Eggs.md"))
  }

  @Test("a page that a source names must exist")
  func namedBySource() throws {
    let source = "Sources/Nest/Egg.swift"
    #expect(try check("/// See Docs/API.md.", in: source).exitCode == 0)
    let result = try check("/// See Docs/Eggs.md and Decisions/0099.", in: source)
    #expect(result.exitCode == 1)
    #expect(result.errors.contains("\(source):1: names Docs/Eggs.md"))
    #expect(result.errors.contains("\(source):1: names Decisions/0099"))
  }
}
