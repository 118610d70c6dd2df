import SwiftDiagnostics
import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// Wrong source, what is said of it and where, and the source after the first fix-it.
struct WrongCase: CustomTestStringConvertible, Sendable {
  let member: String
  let column: Int
  let message: String
  let fixIts: [String]
  let fixed: String?
  var isWarning = false

  init(
    _ member: String, _ column: Int, _ message: String, _ fixIts: [String] = [], _ fixed: String? = nil,
    isWarning: Bool = false
  ) {
    self.member = member
    self.column = column
    self.message = message
    self.fixIts = fixIts
    self.fixed = fixed
    self.isWarning = isWarning
  }

  var testDescription: String { member }

  /// What is expected of the member in the second line.
  var expected: DiagnosticSpec {
    DiagnosticSpec(
      message: message, line: 2, column: column, severity: isWarning ? .warning : .error,
      fixIts: fixIts.map { FixItSpec(message: $0) })
  }
}

@Suite("What @Model refuses, at the right place, and how it is mended")
struct DiagnosticTests {
  private static let transient = "keep it out of the schema with ‘@Transient’"

  static let members: [WrongCase] = [
    WrongCase(
      "let a: Int", 3, "a property of a model can be set: write ‘var’", ["write ‘var’"], "var a: Int",
      isWarning: true),
    WrongCase(
      "lazy var a = 1", 3, "a property of a model is read from its row, not made when it is first asked for",
      ["remove ‘lazy’", transient], "var a = 1"),
    WrongCase(
      "weak var a: Trip?", 3, "a property of a model cannot be weak: a relationship keeps no object alive",
      ["remove ‘weak’", transient], "var a: Trip?"),
    WrongCase(
      "unowned var a: Trip", 3,
      "a property of a model cannot be unowned: a relationship keeps no object alive",
      ["remove ‘unowned’", transient], "var a: Trip"),
    WrongCase(
      "var a = 1 { didSet {} }", 15,
      "a property of a model has no didSet, which would never run: write a computed property that sets this one",
      ["remove the observers", transient], "var a = 1"),
    WrongCase(
      "var a: Int { willSet {} }", 16,
      "a property of a model has no willSet, which would never run: write a computed property that sets this one",
      ["remove the observers", transient], "var a: Int"),
    WrongCase(
      "@Transient var a: Int", 18,
      "‘a’ is @Transient and needs an initial value: objects that are fetched start with it",
      ["make it optional"], "@Transient var a: Int?"),
    WrongCase(
      "@Transient @Attribute(.unique) var a = 1", 14,
      "a property that is @Transient is no part of the schema: it cannot be @Attribute",
      ["remove ‘@Attribute’"], "@Transient var a = 1"),
    WrongCase(
      "@Attribute(.unique) var a: Int { 1 }", 3,
      "a computed property is not stored: @Attribute says nothing of it",
      ["remove ‘@Attribute’"], "var a: Int { 1 }", isWarning: true),
    WrongCase(
      "@Relationship var a: Trip? { nil }", 3,
      "a computed property is not stored: @Relationship says nothing of it", ["remove ‘@Relationship’"],
      "var a: Trip? { nil }", isWarning: true),
    WrongCase(
      "@Relationship(.unique, deleteRule: .cascade) var a: [Stay] = []", 17,
      "several objects may lead to the same ones: ‘.unique’ says nothing of a to-many relationship",
      ["remove ‘.unique’"], "@Relationship(deleteRule: .cascade) var a: [Stay] = []", isWarning: true),
    WrongCase(
      "@Relationship(.unique) var a: [Stay]?", 17,
      "several objects may lead to the same ones: ‘.unique’ says nothing of a to-many relationship",
      ["remove ‘.unique’"], "@Relationship var a: [Stay]?", isWarning: true),
    WrongCase(
      "@Relationship @Attribute(.unique) var a: Stay?", 17, "@Attribute says nothing of a relationship",
      ["remove ‘@Attribute’"], "@Relationship var a: Stay?", isWarning: true),
    WrongCase("var a: (Int, Int)", 10, "a tuple cannot be stored: make it a struct that is Codable"),
    WrongCase(
      "var a: () -> Void", 10, "a function cannot be stored", [transient], "@Transient var a: () -> Void"),
    WrongCase("var (a, b) = (1, 2)", 7, "a property of a model has a name, not a pattern"),
    WrongCase(
      "var modelContext: Int", 7, "‘modelContext’ is a property of every model: choose another name"),
    WrongCase(
      "var schemaMetadata: Int", 7,
      "‘schemaMetadata’ is what @Model writes into the class: choose another name"),
    WrongCase("@Attribute func a() {}", 3, "@Attribute is for properties"),
  ]

  @Test("S13–S15, U6: members", arguments: members)
  func member(_ wrong: WrongCase) {
    let source = "@Model class Trip {\n  \(wrong.member)\n  init() {}\n}"
    Expanding.expect(
      source, diagnostics: [wrong.expected],
      fixed: wrong.fixed.map { "@Model class Trip {\n  \($0)\n  init() {}\n}" },
      by: wrong.fixIts.first.map { [$0] })
  }

  @Test("S13: several properties in one declaration are taken apart")
  func several() {
    Expanding.expect(
      "@Model class Trip {\n  private var a = 1, b = 2\n  init() {}\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "a property of a model is declared on a line of its own", line: 2, column: 15,
          fixIts: [FixItSpec(message: "declare each property for itself")])
      ],
      fixed: "@Model class Trip {\n  private var a = 1\n  private var b = 2\n  init() {}\n}",
      by: ["declare each property for itself"])
  }

  @Test(
    "S1, S14: what is no class",
    arguments: [
      ("struct", "a struct"), ("enum", "an enum"), ("actor", "an actor"), ("extension", "an extension"),
    ])
  func noClass(_ keyword: String, _ kind: String) {
    let fixIts = keyword == "struct" ? [FixItSpec(message: "make it a ‘final class’")] : []
    Expanding.expect(
      "@Model \(keyword) Trip {}",
      diagnostics: [
        DiagnosticSpec(
          message:
            "‘@Model’ cannot be applied to \(kind): a model is a class, whose objects have an identity",
          line: 1, column: 8, fixIts: fixIts)
      ],
      fixed: keyword == "struct" ? "@Model final class Trip {}" : nil,
      by: keyword == "struct" ? ["make it a ‘final class’"] : nil)
  }

  @Test("S14: a class without an initialiser whose properties have no initial values gets one")
  func initializer() {
    Expanding.expect(
      "@Model class Trip {\n  var name: String\n  var stays: [Stay] = []\n  var note: String?\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "‘Trip’ needs an initializer: not all of its properties have an initial value", line: 1,
          column: 14, fixIts: [FixItSpec(message: "add an initializer")])
      ],
      fixed: """
        @Model class Trip {
          var name: String
          var stays: [Stay] = []
          var note: String?
          init(name: String) {
            self.name = name
          }
        }
        """,
      by: ["add an initializer"])
  }

  @Test("S20: a submodel needs an initialiser of its own")
  func submodelInitializer() {
    Expanding.expect(
      "@Model class Flight: Trip {\n  var fare = 0\n}", isSubmodel: true,
      diagnostics: [
        DiagnosticSpec(
          message: "‘Flight’ needs an initializer: a model does not inherit those of its superclass", line: 1,
          column: 14)
      ])
  }

  @Test("A model is not generic")
  func generic() {
    Expanding.expect(
      "@Model class Box<T> {\n  init() {}\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "a model is not generic: its entity has one set of properties", line: 1, column: 17)
      ])
  }

  @Test("#Unique stands in a model, @ModelActor before an actor")
  func places() {
    Expanding.expect(
      "class Trip {\n  #Unique<Trip>([\\.name])\n}",
      diagnostics: [DiagnosticSpec(message: "#Unique stands in a class with @Model", line: 2, column: 3)])
    Expanding.expect(
      "@ModelActor class Keeper {}",
      diagnostics: [
        DiagnosticSpec(
          message: "‘@ModelActor’ is for actors", line: 1, column: 13,
          fixIts: [FixItSpec(message: "make it an ‘actor’")])
      ],
      fixed: "@ModelActor actor Keeper {}", by: ["make it an ‘actor’"])
  }
}
