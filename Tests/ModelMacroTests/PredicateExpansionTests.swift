import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import Testing

@testable import StrataModelMacros

/// What a predicate's closure becomes for Foundation's macro.
struct PredicateCase: CustomTestStringConvertible, Sendable {
  let body: String
  let expanded: String

  init(_ body: String, _ expanded: String) {
    self.body = body
    self.expanded = expanded
  }

  var testDescription: String { body }
}

@Suite("What #Predicate hides from Foundation's macro, and what it leaves")
struct PredicateExpansionTests {
  static let cases: [PredicateCase] = [
    PredicateCase("$0.a == .b", #"$0.a == #_PredicateConstant(".b")"#),
    PredicateCase(".b == $0.a", #"#_PredicateConstant(".b") == $0.a"#),
    PredicateCase("$0.a != Kind.b", #"$0.a != #_PredicateConstant("Kind.b")"#),
    PredicateCase("$0.a == Shop.Kind.b", #"$0.a == #_PredicateConstant("Shop.Kind.b")"#),
    PredicateCase("$0.a == .some(.b)", #"$0.a == #_PredicateConstant(".some(.b)")"#),
    PredicateCase(
      "$0.a == Kind(rawValue: \"b\")!", ##"$0.a == #_PredicateConstant(#"Kind(rawValue: "b")!"#)"##),
    PredicateCase("$0.a < .now", #"$0.a < #_PredicateConstant(".now")"#),
    PredicateCase("$0.a < Date()", #"$0.a < #_PredicateConstant("Date()")"#),
    PredicateCase("[.a, .b].contains($0.a)", #"#_PredicateConstants("[.a, .b]").contains($0.a)"#),
    PredicateCase("[Kind.a].contains($0.a)", #"#_PredicateConstants("[Kind.a]").contains($0.a)"#),
    PredicateCase("$0.a == [.b, .c]", #"$0.a == #_PredicateConstant("[.b, .c]")"#),
    PredicateCase("$0.a.contains(.b)", #"$0.a.contains(#_PredicateConstant(".b"))"#),
    PredicateCase("($0.a ?? .b) == .c", #"($0.a ?? #_PredicateConstant(".b")) == #_PredicateConstant(".c")"#),
    PredicateCase(
      "$0.a == ($0.b ? .c : .d)", #"$0.a == ($0.b ? #_PredicateConstant(".c") : #_PredicateConstant(".d"))"#),
    PredicateCase("$0.x.contains { $0.a == .b }", #"$0.x.contains { $0.a == #_PredicateConstant(".b") }"#),
    PredicateCase(
      "if let a = $0.a { a == .b } else { false }",
      #"if let a = $0.a { a == #_PredicateConstant(".b") } else { false }"#),
    // What is no constant, or none that has to be hidden, is as it was.
    PredicateCase("$0.a == b", #"$0.a == #_PredicateConstant("b")"#),
    PredicateCase("b != $0.a && c", #"#_PredicateConstant("b") != $0.a && c"#),
    PredicateCase("b == c && $0.a == .b", #"b == c && $0.a == #_PredicateConstant(".b")"#),
    PredicateCase("$0.a.contains(b) && $0.a < b", "$0.a.contains(b) && $0.a < b"),
    PredicateCase("$0.x.contains { y in y == $0.a }", "$0.x.contains { y in y == $0.a }"),
    PredicateCase("$0.a == b.c", "$0.a == b.c"),
    PredicateCase("$0.a == 1 && $0.b == \"x\" && $0.c == nil", "$0.a == 1 && $0.b == \"x\" && $0.c == nil"),
    PredicateCase("[1, 2].contains($0.a)", "[1, 2].contains($0.a)"),
    PredicateCase("$0.a?.b?.c == 1", "$0.a?.b?.c == 1"),
    PredicateCase("$0 is Kind", "$0 is Kind"),
    PredicateCase("$0.map(\\.a) == 1", "$0.map(\\.a) == 1"),
    // Names of the predicate's own cannot be taken out of it.
    PredicateCase("$0.a == .init($0.b)", "$0.a == .init($0.b)"),
    PredicateCase("$0.a == Kind($0.b)", "$0.a == Kind($0.b)"),
    PredicateCase("[.a, $0.b].contains($0.c)", #"[#_PredicateConstant(".a"), $0.b].contains($0.c)"#),
    PredicateCase(
      "if let a = $0.a { Kind(a) == $0.b } else { false }",
      "if let a = $0.a { Kind(a) == $0.b } else { false }"),
    PredicateCase("$0.x.contains { y in y == Kind.make(y) }", "$0.x.contains { y in y == Kind.make(y) }"),
    PredicateCase("$0.x.contains { (y: X) in y == .make(y) }", "$0.x.contains { (y: X) in y == .make(y) }"),
  ]

  @Test("The body of a predicate", arguments: cases)
  func bodies(_ one: PredicateCase) {
    for generic in ["", "<Book>"] {
      let expanded = Expanding.expand("let p = #Predicate\(generic) { \(one.body) }", isFolded: true)
      #expect(expanded == "let p = #_FoundationPredicate\(generic) { \(one.expanded) }")
    }
  }

  @Test("A closure in parentheses is left to Foundation's macro, which says what it wants")
  func parentheses() {
    #expect(
      Expanding.expand("let p = #Predicate<Book>({ $0.a == 1 })")
        == "let p = #_FoundationPredicate<Book>({ $0.a == 1 })")
  }

  @Test("A constant's text is its expression, whatever it holds")
  func constants() {
    for text in [".a", #"Kind(rawValue: "b")!"#, ##".a(#"x"#, "\n")"##, ".über"] {
      let literal = StringLiteralExprSyntax(content: text)
      for (type, expected) in [
        (PredicateConstantMacro.self as any Macro.Type, text),
        (PredicateConstantExpressionMacro.self, "PredicateExpressions.Constant(\(text))"),
      ] {
        let file = Parser.parse(source: "let a = #_PredicateConstant(\(literal))")
        let context = BasicMacroExpansionContext(
          sourceFiles: [file: .init(moduleName: "App", fullFilePath: "Model.swift")])
        let expanded = file.expand(
          macroSpecs: ["_PredicateConstant": MacroSpec(type: type)],
          contextGenerator: { _ in context }, indentationWidth: .spaces(2))
        #expect(expanded.description == "let a = \(expected)")
      }
    }
  }
}
