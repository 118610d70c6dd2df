import SwiftSyntaxMacrosGenericTestSupport
import Testing

@Suite("What @Managed and @Composite make of #if")
struct ConditionalMarkTests {
  private static let mark =
    "what is said of a property of a model cannot stand in #if: a store has one set of them"

  @Test(
    "What is said of a property in #if is refused, not left out",
    arguments: ["@Unique", "@Attribute(.externalStorage)", "@Ignored", "@Relationship(.cascade)"])
  func mark(_ attribute: String) {
    Expanding.expect(
      "@Managed final class Book: ManagedObject {\n  #if canImport(StrataModels)\n  \(attribute)\n  #endif\n  var title: String\n}",
      diagnostics: [DiagnosticSpec(message: Self.mark, line: 2, column: 3)])
  }

  @Test("The same in a nested #if, and before a property that stands in #if itself")
  func nested() {
    Expanding.expect(
      "@Managed final class Book: ManagedObject {\n  #if A\n  #if B\n  @Unique\n  #endif\n  #endif\n  var title: String\n}",
      diagnostics: [DiagnosticSpec(message: Self.mark, line: 2, column: 3)])
    Expanding.expect(
      "@Managed final class Book: ManagedObject {\n  #if A\n  #if B\n  @Unique\n  #endif\n  var title: String\n  #endif\n}",
      diagnostics: [
        DiagnosticSpec(message: Self.mark, line: 3, column: 3),
        DiagnosticSpec(
          message: "properties of a model cannot stand in #if: a store has one set of them", line: 6,
          column: 7
        ),
      ])
  }

  @Test("Another attribute may stand in #if, and so may @Managed itself")
  func others() {
    Expanding.expect(
      "@Managed final class Book: ManagedObject {\n  #if A\n  @available(*, deprecated)\n  #endif\n  var title: String\n}"
    )
    Expanding.expect(
      "#if A\n@Managed\n#endif\nfinal class Book: ManagedObject {\n  @Unique var title: String\n}",
      "#if A\n@Managed\n#endif\nfinal class Book: ManagedObject {\n  var title: String\n}")
  }

  @Test("A stored property of a composite value in #if is refused, a computed one is not")
  func composite() {
    Expanding.expect(
      "@Composite struct Place {\n  var x = 1.0\n  #if A\n  #else\n  var y = 2.0\n  #endif\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "elements of a composite attribute cannot stand in #if: a store has one set of them",
          line: 5,
          column: 3)
      ])
    Expanding.expect("@Composite struct Place {\n  var x = 1.0\n  #if A\n  var y: Double { x }\n  #endif\n}")
  }
}
