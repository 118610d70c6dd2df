import SwiftIfConfig
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@testable import SwiftDataMacros

/// Expands macros as the compiler does, and reports what differs to Swift Testing.
enum Expanding {
  /// - Parameter isSubmodel: Whether the superclass is a model: then the compiler misses no conformance.
  static func specs(isSubmodel: Bool = false) -> [String: MacroSpec] {
    let missing: [TypeSyntax] = isSubmodel ? [] : ["Observable", "PersistentModel", "Sendable"]
    return [
      "Model": MacroSpec(type: PersistentModelMacro.self, conformances: missing),
      "_PersistedProperty": MacroSpec(type: PersistedPropertyMacro.self),
      "_TransformablePersistedProperty": MacroSpec(type: TransformablePropertyMacro.self),
      "Attribute": MacroSpec(type: PropertyMarkerMacro.self),
      "Relationship": MacroSpec(type: PropertyMarkerMacro.self),
      "Transient": MacroSpec(type: PropertyMarkerMacro.self),
      "Unique": MacroSpec(type: ModelDeclarationMacro.self),
      "Index": MacroSpec(type: ModelDeclarationMacro.self),
      "ModelActor": MacroSpec(type: ModelActorMacro.self, conformances: ["ModelActor"]),
    ]
  }

  /// What the compiler tells macros of a debug build for Linux.
  static var debugBuild: StaticBuildConfiguration {
    StaticBuildConfiguration(
      customConditions: ["DEBUG"], targetOSs: ["Linux"], languageVersion: VersionTuple(6),
      compilerVersion: VersionTuple(6, 3))
  }

  /// The source with all macros expanded.
  /// - Parameter build: What the compiler tells; nil for one that tells nothing, as before Swift 6.3.
  static func expand(
    _ source: String, isSubmodel: Bool = false, build: StaticBuildConfiguration? = nil
  ) -> String {
    let file = Parser.parse(source: source)
    let context = BasicMacroExpansionContext(
      sourceFiles: [file: .init(moduleName: "App", fullFilePath: "Model.swift")], buildConfiguration: build)
    return file.expand(
      macroSpecs: specs(isSubmodel: isSubmodel),
      contextGenerator: {
        BasicMacroExpansionContext(sharingWith: context, lexicalContext: $0.allMacroLexicalContexts())
      },
      indentationWidth: .spaces(2)
    ).description
  }

  /// Expects an expansion to be this, with these diagnostics; and the source to be `fixed` after the fix-its.
  static func expect(
    _ source: String, _ expanded: String? = nil, isSubmodel: Bool = false, diagnostics: [DiagnosticSpec] = [],
    fixed: String? = nil, by fixIts: [String]? = nil, build: StaticBuildConfiguration? = nil,
    sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) {
    assertMacroExpansion(
      source, expandedSource: expanded ?? expand(source, isSubmodel: isSubmodel, build: build),
      diagnostics: diagnostics,
      macroSpecs: specs(isSubmodel: isSubmodel), applyFixIts: fixIts, fixedSource: fixed,
      testModuleName: "App", testFileName: "Model.swift", indentationWidth: .spaces(2),
      buildConfiguration: build,
      failureHandler: { failure in
        Issue.record(Comment(rawValue: failure.message), sourceLocation: sourceLocation)
      })
  }

  /// The lines of an expansion, without blanks at their ends.
  static func lines(
    _ source: String, isSubmodel: Bool = false, build: StaticBuildConfiguration? = nil
  ) -> [String] {
    expand(source, isSubmodel: isSubmodel, build: build).split(separator: "\n").map { line in
      String(line.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
  }
}
