import Foundation
import Testing
import TortureKit

/// `Scripts/check-blocks` on pages of their own, with the modules of this build.
@Suite("Code of the documents")
struct CheckBlocksTests {
  private static let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  private func check(_ text: String) throws -> (code: Int32, output: String) {
    let folder = try ScratchFolder()
    let page = folder.url("Nests.md")
    try text.write(to: page, atomically: true, encoding: .utf8)
    let output = folder.url("output")
    _ = FileManager.default.createFile(atPath: output.path, contents: nil)
    let handle = try FileHandle(forWritingTo: output)
    let process = Process()
    process.executableURL = Self.top.appendingPathComponent("Scripts/check-blocks")
    let build = try #require(Bundle.main.executableURL).resolvingSymlinksInPath().deletingLastPathComponent()
    process.arguments = ["--build", build.path, page.path]
    process.standardOutput = handle
    process.standardError = handle
    try process.run()
    process.waitUntilExit()
    return (process.terminationStatus, try String(contentsOf: output, encoding: .utf8))
  }

  private static let bird = """
    ```swift
    import StrataModels

    @Managed final class Bird: ManagedObject {
      var name = ""
    }
    ```

    """

  @Test("Declarations, statements, parts of a manifest and what is left out pass")
  func fine() throws {
    let result = try check(
      """
      # Nests

      \(Self.bird)
      <!-- swift: (context: ManagedObjectContext) -->
      ```swift
      let birds = try context.fetch(Bird.self)     // [Bird]
      for bird in birds { … }
      ```

      <!-- swift: another library -->
      ```swift
      realm.objects(Bird.self)
      ```

      ```swift
      .package(url: "<this repository>", from: "1.0.0")
      .product(name: "Strata", package: "strata")
      ```

      ```
      no Swift
      ```

      """)
    #expect(result.code == 0, "\(result.output)")
    #expect(result.output.contains("3 blocks compile"), "\(result.output)")
  }

  @Test(
    "What does not compile fails, with page and line",
    arguments: [
      ("```swift\nlet a: Int = \"\"\n```\n", "Nests.md:2"),
      ("```swift\nstruct A: Nothing {}\n```\n", "Nests.md:2"),
      ("```swift\n.product(nam: \"Strata\")\n```\n", "Nests.md:2"),
      ("<!-- swift: (a: Int) -->\n\n```swift\nb()\n```\n", "Nests.md:4"),
      ("<!-- swift: (a: Int) -->\nText.\n```swift\nprint(a)\n```\n", "right before it"),
      ("```swift\nlet a = 1\n", "no end"), ("# Nothing\n", "found no code"),
    ])
  func wrong(_ page: String, _ words: String) throws {
    let result = try check(page)
    #expect(result.code == 1)
    #expect(result.output.contains(words), "\(result.output)")
  }
}
