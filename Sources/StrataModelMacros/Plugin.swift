import SwiftCompilerPlugin
import SwiftSyntaxMacros

@main
struct StrataModelPlugin: CompilerPlugin {
  let providingMacros: [any Macro.Type] = [
    ManagedMacro.self, ManagedPropertyMacro.self, PropertyMarkerMacro.self, CompositeMacro.self,
    ManagedPredicateMacro.self, PlainPredicateMacro.self, PredicateConstantMacro.self,
    PredicateConstantExpressionMacro.self,
  ]
}
