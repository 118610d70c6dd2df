import SwiftOperators
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@testable import StrataModelMacros

/// Expands macros as the compiler does, and reports what differs to Swift Testing.
enum Expanding {
  static let specs: [String: MacroSpec] = [
    "Managed": MacroSpec(type: ManagedMacro.self),
    "_ManagedProperty": MacroSpec(type: ManagedPropertyMacro.self),
    "Composite": MacroSpec(type: CompositeMacro.self, conformances: ["CompositeValue"]),
    "Predicate": MacroSpec(type: PlainPredicateMacro.self),
  ].merging(PropertyAttribute.allCases.map { ($0.rawValue, MacroSpec(type: PropertyMarkerMacro.self)) }) {
    $1
  }

  /// The source with all macros expanded.
  ///
  /// - Parameter isFolded: Whether operators have their operands, as in what the compiler hands to a macro.
  static func expand(_ source: String, isFolded: Bool = false) -> String {
    var file = Parser.parse(source: source)
    if isFolded, let folded = try? OperatorTable.standardOperators.foldAll(file).as(SourceFileSyntax.self) {
      file = folded
    }
    let context = BasicMacroExpansionContext(
      sourceFiles: [file: .init(moduleName: "App", fullFilePath: "Model.swift")])
    return file.expand(
      macroSpecs: specs,
      contextGenerator: {
        BasicMacroExpansionContext(sharingWith: context, lexicalContext: $0.allMacroLexicalContexts())
      },
      indentationWidth: .spaces(2)
    ).description
  }

  /// Expects an expansion to be this, with these diagnostics; and the source to be `fixed` after all fix-its.
  static func expect(
    _ source: String, _ expanded: String? = nil, diagnostics: [DiagnosticSpec] = [], fixed: String? = nil,
    by fixIts: [String]? = nil, sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) {
    assertMacroExpansion(
      source, expandedSource: expanded ?? expand(source), diagnostics: diagnostics, macroSpecs: specs,
      applyFixIts: fixIts,
      fixedSource: fixed,
      testModuleName: "App", testFileName: "Model.swift", indentationWidth: .spaces(2),
      failureHandler: { failure in
        Issue.record(Comment(rawValue: failure.message), sourceLocation: sourceLocation)
      })
  }

  /// The expansion of a class with these members, without blanks at the ends of lines.
  static func lines(ofClassWith members: String) -> [String] {
    expand("@Managed final class Book: ManagedObject {\n\(members)\n}").split(separator: "\n").map {
      $0.trimmingCharacters
    }
  }
}

extension Substring {
  var trimmingCharacters: String {
    var text = self
    while text.first == " " { text = text.dropFirst() }
    while text.last == " " { text = text.dropLast() }
    return String(text)
  }
}
