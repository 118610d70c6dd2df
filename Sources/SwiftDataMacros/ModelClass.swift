import MacroSupport
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// A class with `@Model` as the macro understands it.
struct ModelClass {
  let declaration: ClassDeclSyntax
  let properties: [PersistedProperty]
  /// The arguments of each `#Unique` and `#Index`, with the name of the macro and its generic arguments.
  let keys: [(kind: String, type: String, arguments: String)]
  /// Whether the superclass is a model too.
  let isSubmodel: Bool

  var name: String { declaration.name.text }
  var isFinal: Bool { has(.final) }
  /// What stands before members that everybody sees who sees the class.
  var access: String { has(.public) || has(.open) ? "public " : has(.package) ? "package " : "" }
  /// What stands before members that submodels override.
  var overridableAccess: String { has(.open) ? "open " : access }
  var hasInitializer: Bool {
    declaration.memberBlock.members.contains { $0.decl.is(InitializerDeclSyntax.self) }
  }

  private func has(_ modifier: Keyword) -> Bool {
    declaration.modifiers.contains { $0.name.tokenKind == .keyword(modifier) }
  }

  /// Reads the class; nil when it cannot be a model. What is wrong is in `faults`.
  init?(
    _ group: some DeclGroupSyntax, _ node: AttributeSyntax, isSubmodel: Bool, _ faults: inout [Fault]
  ) {
    guard let declaration = group.as(ClassDeclSyntax.self) else {
      faults.append(Self.noClass(group))
      return nil
    }
    if let generic = declaration.genericParameterClause {
      faults.append(
        Fault(generic, "generic", "a model is not generic: its entity has one set of properties"))
      return nil
    }
    self.declaration = declaration
    self.isSubmodel = isSubmodel
    var found: [Fault] = []
    var properties: [PersistedProperty] = []
    var keys: [(kind: String, type: String, arguments: String)] = []
    for member in declaration.memberBlock.members {
      if let variable = member.decl.as(VariableDeclSyntax.self) {
        var reader = PropertyReader(variable)
        if case .persisted(let property) = reader.member() { properties.append(property) }
        found += reader.faults
      } else if let macro = member.decl.as(MacroExpansionDeclSyntax.self),
        ["Unique", "Index"].contains(macro.macroName.text)
      {
        keys.append(
          (
            macro.macroName.text,
            macro.genericArgumentClause?.trimmedDescription ?? "<\(declaration.name.text)>",
            macro.arguments.trimmedDescription
          ))
      }
    }
    self.properties = properties
    self.keys = keys
    faults += found
    if !hasInitializer, isSubmodel || properties.contains(where: { !$0.hasInitialValue }) {
      faults.append(missingInitializer())
    }
  }

  // MARK: What is wrong with the whole

  private static func noClass(_ group: some DeclGroupSyntax) -> Fault {
    let kind =
      switch group.kind {
      case .structDecl: "a struct"
      case .enumDecl: "an enum"
      case .actorDecl: "an actor"
      case .protocolDecl: "a protocol"
      default: "an extension"
      }
    let message = "‘@Model’ cannot be applied to \(kind): a model is a class, whose objects have an identity"
    guard let structure = group.as(StructDeclSyntax.self) else {
      return Fault(group.introducer, "class", message)
    }
    let lead = structure.modifiers.isEmpty ? structure.structKeyword.leadingTrivia : []
    let mended = ClassDeclSyntax(
      attributes: structure.attributes,
      modifiers: structure.modifiers
        + [DeclModifierSyntax(name: .keyword(.final, leadingTrivia: lead, trailingTrivia: .space))],
      classKeyword: .keyword(.class, trailingTrivia: .space), name: structure.name,
      genericParameterClause: structure.genericParameterClause,
      inheritanceClause: structure.inheritanceClause, memberBlock: structure.memberBlock)
    return Fault(
      structure.structKeyword, "class", message,
      [.replace(structure, with: mended, "make it a ‘final class’")])
  }

  private func missingInitializer() -> Fault {
    let message =
      isSubmodel
      ? "‘\(name)’ needs an initializer: a model does not inherit those of its superclass"
      : "‘\(name)’ needs an initializer: not all of its properties have an initial value"
    let missing = properties.filter { !$0.hasInitialValue }
    guard !isSubmodel, missing.allSatisfy({ $0.type != nil }) else {
      return Fault(declaration.name, "initializer", message)
    }
    let parameters = missing.map { "\($0.name): \($0.type?.text ?? "")" }.joined(separator: ", ")
    let assignments = missing.map { "self.\($0.name) = \($0.name)" }
    let indentation = declaration.leadingTrivia.lastLine.description
    let lines = ["init(\(parameters)) {"] + assignments.map { "  " + $0 } + ["}"]
    let text = lines.map { "\n\(indentation)  \($0)" }.joined()
    var mended = declaration
    mended.memberBlock.members.append(MemberBlockItemSyntax(decl: DeclSyntax(stringLiteral: text)))
    if !mended.memberBlock.rightBrace.leadingTrivia.description.contains("\n") {
      mended.memberBlock.rightBrace.leadingTrivia = .newline + declaration.leadingTrivia.lastLine
    }
    return Fault(
      declaration.name, "initializer", message, [.replace(declaration, with: mended, "add an initializer")])
  }
}
