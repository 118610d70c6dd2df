import Foundation
import Testing

/// `Scripts/check-rules` on a small tree: two rules, one source, one test.
struct CheckRulesTests {
  let script = repository.appendingPathComponent("Scripts/check-rules").path

  private func makeTree() throws -> TemporaryFolder {
    let tree = try TemporaryFolder()
    try tree.write(
      """
      | rule | what holds | further than Core Data | tests |
      |---|---|---|---|
      | 7 | Birds have wings. | | `WingTests` |
      | 8 | Wings have feathers. | So have tails. | |
      | contexts 1 | Birds fly alone. | | |

      """, to: "Docs/Rules.md")
    try tree.write("/// A bird (rules 7, 8; contexts 1).\nstruct Bird {}\n", to: "Sources/Nest/Bird.swift")
    try tree.write("/// Two wings (rule 7).\nstruct WingTests {}\n", to: "Tests/NestTests/WingTests.swift")
    return tree
  }

  private func check(
    _ tree: TemporaryFolder, adding text: String = "", to path: String = "Sources/Nest/Egg.swift"
  )
    throws -> Command
  {
    if !text.isEmpty { try tree.write(text, to: path) }
    return try Command.run(script, [tree.url.path])
  }

  @Test func citedRulesThatAreInTheTablePass() throws {
    let tree = try makeTree()
    defer { tree.remove() }
    let result = try check(tree)
    #expect(result.exitCode == 0, "\(result.errors)")
    #expect(result.output.contains("3 rules, cited 4 times"))
  }

  @Test(
    "a number that is not in the table fails, however it is cited",
    arguments: [
      "/// An egg (rule 9).", "/// An egg (rules 7, 9).", "/// An egg (rules 7–9).",
      "/// An egg (rules 7 and 9).",
      "/// An egg, of which many things are known (rule\n/// 9).", "let name = \"egg\"  // Rule 9.",
      "/// An egg (contexts 9).",
    ])
  func unknownNumber(text: String) throws {
    let tree = try makeTree()
    defer { tree.remove() }
    let result = try check(tree, adding: text + "\n")
    #expect(result.exitCode == 1)
    #expect(result.errors.contains("Sources/Nest/Egg.swift:1:"))
    #expect(result.errors.contains(text.contains("contexts") ? "contexts 9 is not in" : "rule 9 is not in"))
  }

  @Test("a rule's number in a message fails, one in a comment or beside a web address does not")
  func messages() throws {
    let tree = try makeTree()
    defer { tree.remove() }
    #expect(try check(tree, adding: "let page = 1  // Rule 7, see https://example.org\n").exitCode == 0)
    let result = try check(tree, adding: "let message = \"no wings (rule 7)\"\n")
    #expect(result.exitCode == 1)
    #expect(result.errors.contains("Egg.swift:1: a message has the number of a rule"))
    #expect(try check(tree, adding: "let text = \"\"\"\n  rule 7: no wings\n  \"\"\"\n").exitCode == 1)
  }

  @Test("tests named in the table exist and cite their rule")
  func namedTests() throws {
    let tree = try makeTree()
    defer { tree.remove() }
    let moved = try check(
      tree, adding: "/// Two wings.\nstruct WingTests {}\n", to: "Tests/NestTests/WingTests.swift")
    #expect(moved.exitCode == 1)
    #expect(moved.errors.contains("rule 7 names WingTests, which does not cite it"))
    try FileManager.default.removeItem(at: tree.url.appendingPathComponent("Tests/NestTests/WingTests.swift"))
    try tree.write("struct OtherTests {}\n", to: "Tests/NestTests/OtherTests.swift")
    let gone = try check(tree)
    #expect(gone.exitCode == 1)
    #expect(gone.errors.contains("names WingTests, which is no file of the tests"))
  }

  @Test("a rule that is listed twice fails")
  func twice() throws {
    let tree = try makeTree()
    defer { tree.remove() }
    try tree.write(
      "| 7 | Birds. | | |\n| 7 | Bees. | | |\n| 8 | Wings. | | |\n| contexts 1 | Alone. | | |\n",
      to: "Docs/Rules.md")
    let result = try check(tree)
    #expect(result.exitCode == 1)
    #expect(result.errors.contains("rule 7 stands there twice"))
  }

  @Test("--where prints the places that cite a rule")
  func places() throws {
    let result = try Command.run(script, ["--where", "contexts 9"])
    #expect(result.exitCode == 0, "\(result.errors)")
    #expect(result.output.contains("LifetimeTests.swift:"))
    #expect(try Command.run(script, ["--where"]).exitCode != 0)
  }

  @Test("the rules of this repository are in order")
  func repositoryPasses() throws {
    let result = try Command.run(script)
    #expect(result.exitCode == 0, "\(result.errors)")
  }
}
