import MacroSupport
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@ModelActor`: an actor whose executor runs its code where its context is.
struct ModelActorMacro {}

extension ModelActorMacro: MemberMacro {
  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    guard let actor = declaration.as(ActorDeclSyntax.self) else {
      Fault(
        declaration.introducer, "modelActor", "‘@ModelActor’ is for actors", Self.fixIts(declaration)
      ).report(in: context)
      return []
    }
    let isPublic = actor.modifiers.contains { $0.name.tokenKind == .keyword(.public) }
    let access = isPublic ? "public " : ""
    var members: [DeclSyntax] = [
      "\(raw: access)nonisolated let modelExecutor: any SwiftData.ModelExecutor",
      "\(raw: access)nonisolated let modelContainer: SwiftData.ModelContainer",
    ]
    let known = Conditions(context).members(actor.memberBlock.members).flatMap(\.parts)
    if !known.contains(where: Self.takesContainer) {
      members.append(
        """
        \(raw: access)init(modelContainer: SwiftData.ModelContainer) {
          let modelContext = SwiftData.ModelContext(modelContainer)
          self.modelExecutor = SwiftData.DefaultSerialModelExecutor(modelContext: modelContext)
          self.modelContainer = modelContainer
        }
        """)
    }
    return members
  }

  /// Whether it is the initialiser that the macro writes otherwise.
  private static func takesContainer(_ declaration: DeclSyntax) -> Bool {
    guard let parameters = declaration.as(InitializerDeclSyntax.self)?.signature.parameterClause.parameters
    else { return false }
    return parameters.count == 1 && parameters.first?.firstName.text == "modelContainer"
  }

  private static func fixIts(_ declaration: some DeclGroupSyntax) -> [FixIt] {
    guard let type = declaration.as(ClassDeclSyntax.self) else { return [] }
    let keyword = type.classKeyword.with(\.tokenKind, .keyword(.actor))
    return [.replace(type.classKeyword, with: keyword, "make it an ‘actor’")]
  }
}

extension ModelActorMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    guard declaration.is(ActorDeclSyntax.self), !protocols.isEmpty else { return [] }
    let text: DeclSyntax = """
      extension \(type.trimmed): SwiftData.ModelActor {
      }
      """
    return text.as(ExtensionDeclSyntax.self).map { [$0] } ?? []
  }
}
