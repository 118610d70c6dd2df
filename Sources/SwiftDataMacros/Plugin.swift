import SwiftCompilerPlugin
import SwiftSyntaxMacros

@main
struct SwiftDataPlugin: CompilerPlugin {
  let providingMacros: [any Macro.Type] = [
    PersistentModelMacro.self, PersistedPropertyMacro.self, TransformablePropertyMacro.self,
    PropertyMarkerMacro.self, ModelDeclarationMacro.self, ModelActorMacro.self,
  ]
}
