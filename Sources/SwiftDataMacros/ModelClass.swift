import MacroSupport
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// A class with `@Model` as the macro understands it.
struct ModelClass {
  let declaration: ClassDeclSyntax
  /// The properties that there are in every build, in their order.
  let properties: [PersistedProperty]
  /// Those that stand in an `#if` of which no macro is told whether it is compiled.
  let conditionalProperties: [Conditional<PersistedProperty>]
  let keys: [Conditional<Key>]
  /// Whether the superclass is a model too.
  let isSubmodel: Bool
  /// Whether there is an initialiser, perhaps in such an `#if`.
  let hasInitializer: Bool

  /// The arguments of a `#Unique` or `#Index`, with the name of the macro and its generic arguments.
  struct Key {
    let kind: String
    let type: String
    let arguments: String
  }

  var name: String { declaration.name.text }
  var isFinal: Bool { has(.final) }
  /// What stands before members that everybody sees who sees the class.
  var access: String { has(.public) || has(.open) ? "public " : has(.package) ? "package " : "" }
  /// What stands before members that submodels override.
  var overridableAccess: String { has(.open) ? "open " : access }
  /// All properties, in the order in which the metadata has them.
  var all: [Conditional<PersistedProperty>] { properties.map { .part($0) } + conditionalProperties }
  /// Whether all properties have initial values, in every build.
  var hasInitialValues: Bool {
    all.allSatisfy { $0.parts.allSatisfy(\.hasInitialValue) }
  }

  private func has(_ modifier: Keyword) -> Bool {
    declaration.modifiers.contains { $0.name.tokenKind == .keyword(modifier) }
  }

  /// Reads the class; nil when it cannot be a model. What is wrong is in `faults`.
  init?(
    _ group: some DeclGroupSyntax, _ conditions: Conditions, isSubmodel: Bool, _ faults: inout [Fault]
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
    var conditionalProperties: [Conditional<PersistedProperty>] = []
    var keys: [Conditional<Key>] = []
    var hasInitializer = false
    for member in conditions.members(declaration.memberBlock.members) {
      if member.parts.contains(where: { $0.is(InitializerDeclSyntax.self) }) { hasInitializer = true }
      if let key = member.compactMap({ Key($0, of: declaration) }) { keys.append(key) }
      guard let certain = member.certain else {
        // What is wrong with those is told where the compiler has them expanded, which is in the branch that it compiles.
        let persisted = member.compactMap { PropertyReader.persisted($0, conditions) }
        if let persisted { conditionalProperties.append(persisted) }
        continue
      }
      guard let variable = certain.as(VariableDeclSyntax.self) else { continue }
      let (read, wrong) = PropertyReader.read(variable, conditions)
      if case .persisted(let property) = read { properties.append(property) }
      found += wrong
    }
    self.properties = properties
    self.conditionalProperties = conditionalProperties
    self.keys = keys
    self.hasInitializer = hasInitializer
    faults += found
    if !hasInitializer, isSubmodel || !hasInitialValues { faults.append(missingInitializer()) }
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
    guard !isSubmodel, conditionalProperties.isEmpty, missing.allSatisfy({ $0.type != nil }) else {
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

extension ModelClass.Key {
  /// What a member says of keys; nil for every other member.
  fileprivate init?(_ member: DeclSyntax, of owner: ClassDeclSyntax) {
    guard let macro = member.as(MacroExpansionDeclSyntax.self),
      ["Unique", "Index"].contains(macro.macroName.text)
    else { return nil }
    self.init(
      kind: macro.macroName.text,
      type: macro.genericArgumentClause?.trimmedDescription ?? "<\(owner.name.text)>",
      arguments: macro.arguments.trimmedDescription)
  }
}

extension Conditions {
  /// What is known of conditions where `@Model` is used: that file imports SwiftData, which brings the others with it.
  init(_ context: some MacroExpansionContext) {
    self.init(context, importable: ["SwiftData", "CoreData", "Foundation", "Observation", "Swift"])
  }
}
