import Foundation
import NSManagedGenerator
import Testing

/// What a model says goes into code that is compiled: only names and types may.
@Suite("Types named in models")
struct ModelTypeTests {
  /// The generated classes; what is thrown names the file as “contents”.
  private func generate(_ attribute: String, entity: String = #"representedClassName="Bird""#) throws
    -> String
  {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("types-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let model = folder.appendingPathComponent("M.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: true)
    let text = """
      <model>
        <entity name="Bird" \(entity) codeGenerationType="class">
          <attribute name="hue" attributeType="Transformable" customClassName="\(attribute)"/>
        </entity>
      </model>
      """
    try Data(text.utf8).write(to: model.appendingPathComponent("contents"))
    let output = folder.appendingPathComponent("model.swift")
    do {
      _ = try GeneratorOrder(arguments: [
        "--module", "M", "--output", folder.appendingPathComponent("out.swift").path, "--model", model.path,
        output.path,
      ]).carryOut()
    } catch {
      throw Message(text: "\(error)".replacingOccurrences(of: model.path + "/", with: ""))
    }
    return try String(contentsOf: output, encoding: .utf8)
  }

  private struct Message: Error { let text: String }

  @Test(
    "Names, dotted names, generic types, arrays and dictionaries are taken",
    arguments: [
      "NSColor", "Paint.Hue", "Set&lt;Int&gt;", "[String: [Int]]", "[Paint.Hue]",
      "Map&lt;Int, [Set&lt;A&gt;]&gt;",
    ])
  func taken(_ type: String) throws {
    let swift = type.replacingOccurrences(of: "&lt;", with: "<").replacingOccurrences(of: "&gt;", with: ">")
    #expect(try generate(type).contains("public var hue: \(swift)? {"))
  }

  @Test(
    "Anything else is refused with file and line",
    arguments: [
      "Int { 0 }; func f() ", "Int&#10;}", "A; B", "A // B", "A /* B", "`A`", "&quot;A&quot;", "Int, b: Int",
      "A = 1", "A@B",
      "[A", "A]", "Set&lt;A", "A.", ".A", "A..B", "A B", "A?", "(A)", "1A", "[A:B:C]", "#if A", "A\\\\B",
      "$A",
      String(repeating: "[", count: 5000),
    ])
  func refused(_ type: String) throws {
    let error = #expect(throws: Message.self) { try generate(type) }
    #expect(error?.text.hasPrefix("contents:3: error: “") == true, "\(error?.text ?? "")")
  }

  @Test(
    "So is the name of a class",
    arguments: ["Bird {}; class B", "A.B.C", "Bird: Any", "Bird&#10;", "A-B", "`A`"])
  func className(_ name: String) throws {
    let error = #expect(throws: Message.self) {
      try generate("NSColor", entity: "representedClassName=\"\(name)\"")
    }
    #expect(error?.text.hasPrefix("contents:2: error: entity Bird: “") == true, "\(error?.text ?? "")")
  }
}
