import MacroSupport
import SwiftSyntax
import SwiftSyntaxMacros

/// A class with `@Managed` as the macro understands it.
struct ManagedClass {
  let declaration: ClassDeclSyntax
  let properties: [ModelProperty]
  /// The names of the properties that the model leaves alone.
  let ignored: [String]
  let faults: [Fault]

  var name: String { declaration.name.text }
  var isFinal: Bool { declaration.modifiers.contains { $0.name.tokenKind == .keyword(.final) } }
  /// The superclass, when it is not `ManagedObject` itself.
  let superclass: String?

  /// What stands before the members: as visible as the class.
  var access: String { Access(declaration.modifiers).words }

  /// How visible what is written for a property may be: its type need not be more visible than itself.
  func access(of property: ModelProperty) -> Access {
    min(Access(declaration.modifiers), Access(property.declaration.modifiers))
  }

  /// Reads the class; nil when it is none, with the fault.
  init?(_ group: some DeclGroupSyntax, _ node: AttributeSyntax, _ faults: inout [Fault]) {
    if let fault = Self.refusal(of: group, node) {
      faults.append(fault)
      return nil
    }
    guard let declaration = group.as(ClassDeclSyntax.self),
      let parent = declaration.inheritanceClause?.inheritedTypes.first?.type
    else { return nil }
    self.declaration = declaration
    let parentName = Self.name(ofSuperclass: parent)
    let inherited = parentName == "ManagedObject" ? nil : parent.trimmedDescription
    superclass = inherited
    var found: [Fault] = []
    var properties: [ModelProperty] = []
    var ignored: [String] = []
    for member in declaration.memberBlock.members {
      if let conditional = member.decl.as(IfConfigDeclSyntax.self) {
        found += Self.conditionalProperties(in: conditional, &ignored)
      }
      guard let variable = member.decl.as(VariableDeclSyntax.self) else { continue }
      var reader = PropertyReader(variable)
      if let property = reader.property() { properties.append(property) }
      if reader.isIgnored {
        ignored += Self.names(of: variable)
      }
      found += reader.faults
    }
    // What a superclass has is not seen.
    let options = OptionCheck(names: superclass == nil ? Set(properties.map(\.key)) : nil)
    found += options.faults(in: [node] + properties.flatMap { $0.marks })
    found += properties.flatMap { Self.checkOwnType($0, declaration.name.text, inherited) }
    self.properties = properties
    self.ignored = ignored
    self.faults = found
    faults += found
  }

  /// Why the macro writes nothing for a class; nil where it does.
  static func refusal(of group: some DeclGroupSyntax, _ node: AttributeSyntax) -> Fault? {
    guard let declaration = group.as(ClassDeclSyntax.self) else {
      return noClass(group, node)
    }
    guard let parent = declaration.inheritanceClause?.inheritedTypes.first?.type else {
      var mended = declaration
      mended.name.trailingTrivia = []
      let space = declaration.genericParameterClause == nil ? declaration.name.trailingTrivia : .space
      mended.inheritanceClause = InheritanceClauseSyntax(
        colon: .colonToken(trailingTrivia: .space),
        inheritedTypes: [
          InheritedTypeSyntax(
            type: TypeSyntax(stringLiteral: "ManagedObject"), trailingTrivia: space.isEmpty ? .space : space)
        ])
      return Fault(
        declaration.name, "superclass", "a class with @Managed inherits from ManagedObject",
        [.replace(declaration, with: mended, "inherit from ‘ManagedObject’")])
    }
    if ["Slots", "Value"].contains(declaration.name.text) {
      let name = declaration.name.text
      return Fault(
        declaration.name, "name",
        "‘\(name)’ is what @Managed writes into the class: give the class another name, and keep the entity's with @Managed(.named(\"\(name)\"))"
      )
    }
    if let generic = declaration.genericParameterClause {
      return Fault(
        generic, "generic", "a class with @Managed is not generic: its entity has one set of properties")
    }
    if let actor = declaration.attributes.first(named: "MainActor") {
      var mended = declaration
      mended.attributes = declaration.attributes.removing(actor)
      mended.leadingTrivia = declaration.leadingTrivia
      return Fault(
        actor, "actor", "an object belongs to the queue of its context, not to an actor",
        [.replace(declaration, with: mended, "remove ‘@\(actor.name)’")])
    }
    return otherSuperclass(declaration, parent, name(ofSuperclass: parent))
  }

  private static func name(ofSuperclass parent: TypeSyntax) -> String {
    parent.as(MemberTypeSyntax.self)?.name.text ?? parent.trimmedDescription
  }

  private static func names(of variable: VariableDeclSyntax) -> [String] {
    variable.bindings.compactMap { $0.pattern.as(IdentifierPatternSyntax.self)?.identifier.text }
  }

  /// What is said of properties in `#if`: a macro does not see which of its conditions are true.
  private static func conditionalProperties(in conditional: IfConfigDeclSyntax, _ ignored: inout [String])
    -> [Fault]
  {
    var faults: [Fault] = []
    for clause in conditional.clauses {
      guard case .decls(let members) = clause.elements else { continue }
      for member in members {
        if let inner = member.decl.as(IfConfigDeclSyntax.self) {
          faults += conditionalProperties(in: inner, &ignored)
        }
        guard let variable = member.decl.as(VariableDeclSyntax.self) else { continue }
        var reader = PropertyReader(variable)
        let property = reader.property()
        if reader.isIgnored { ignored += names(of: variable) }
        faults += reader.faults.filter { $0.message.name == "conditionalMark" }
        guard let property else { continue }
        faults.append(
          Fault(
            property.place, "conditional",
            "properties of a model cannot stand in #if: a store has one set of them"))
      }
    }
    return faults
  }

  private static func noClass(_ group: some DeclGroupSyntax, _ node: AttributeSyntax) -> Fault {
    guard let structure = group.as(StructDeclSyntax.self) else {
      return Fault(group.introducer, "class", "@Managed is for classes that inherit from ManagedObject")
    }
    var inherited: [InheritedTypeSyntax] = [
      InheritedTypeSyntax(type: TypeSyntax(stringLiteral: "ManagedObject"))
    ]
    inherited += structure.inheritanceClause?.inheritedTypes.map { $0 } ?? []
    for place in inherited.indices.dropLast() {
      inherited[place].trailingComma = .commaToken(trailingTrivia: .space)
    }
    inherited[inherited.count - 1].trailingTrivia = []
    var name = structure.name
    name.trailingTrivia = []
    let mended = ClassDeclSyntax(
      attributes: structure.attributes,
      modifiers: structure.modifiers
        + [
          DeclModifierSyntax(
            name: .keyword(
              .final, leadingTrivia: structure.modifiers.isEmpty ? structure.structKeyword.leadingTrivia : [],
              trailingTrivia: .space))
        ],
      classKeyword: .keyword(.class, trailingTrivia: .space), name: name,
      inheritanceClause: InheritanceClauseSyntax(
        colon: .colonToken(trailingTrivia: .space), inheritedTypes: InheritedTypeListSyntax(inherited),
        trailingTrivia: .space),
      memberBlock: structure.memberBlock)
    return Fault(
      structure.structKeyword, "struct", "@Managed is for classes: an object of a graph has an identity",
      [.replace(structure, with: mended, "make it a ‘final class’")])
  }

  /// Protocols that often stand first, and superclasses of other libraries.
  private static let protocols: Set<String> = [
    "Codable", "Encodable", "Decodable", "Hashable", "Equatable", "Comparable", "Sendable", "Identifiable",
    "CustomStringConvertible", "CustomDebugStringConvertible", "Observable", "ObservableObject", "AnyObject",
    "PersistentModel",
  ]
  private static let foreignClasses: Set<String> = [
    "NSObject", "NSManagedObject", "Object", "EmbeddedObject",
  ]

  /// What is said of a class whose first inherited type is no class of managed objects.
  private static func otherSuperclass(
    _ declaration: ClassDeclSyntax, _ parent: TypeSyntax, _ name: String
  ) -> Fault? {
    guard var clause = declaration.inheritanceClause,
      protocols.contains(name) || foreignClasses.contains(name)
    else { return nil }
    var types = Array(clause.inheritedTypes)
    var first = types[0]
    first.type = TypeSyntax(stringLiteral: "ManagedObject").with(
      \.trailingTrivia, foreignClasses.contains(name) ? types[0].type.trailingTrivia : [])
    if foreignClasses.contains(name) {
      types[0] = first
    } else {
      first.trailingComma = .commaToken(trailingTrivia: .space)
      types.insert(first, at: 0)
    }
    clause.inheritedTypes = InheritedTypeListSyntax(types)
    return Fault(
      parent, "superclass", "a class with @Managed inherits from ManagedObject, which stands first",
      [
        .replace(
          declaration, with: declaration.with(\.inheritanceClause, clause), "inherit from ‘ManagedObject’")
      ])
  }

  /// A property that leads to objects of the class itself is seen to be a relationship; and one that is its own inverse would be a circle.
  private static func checkOwnType(_ property: ModelProperty, _ name: String, _ superclass: String?)
    -> [Fault]
  {
    let variable = property.declaration
    if superclass != nil, property.key == "inherited" {
      return [
        Fault(
          property.place, "taken",
          "‘inherited’ is the value of the superclass in the class's Value: choose another name")
      ]
    }
    let leads = property.type.arrayElement ?? property.type.setElement ?? property.type.wrapped
    switch property.kind {
    case .attribute where leads.trimmedDescription == name || leads.trimmedDescription == superclass:
      return [
        Fault(
          property.place, "unmarked",
          "a property that leads to objects is a relationship: write @Relationship",
          [.replace(variable, with: variable.adding(attribute: "Relationship"), "write ‘@Relationship’")])
      ]
    case .relationship(let inverse?) where inverse == property.key && leads.trimmedDescription == name:
      guard let mark = variable.attributes.first(named: "Relationship") else { return [] }
      return [
        Fault(
          mark, "symmetric",
          "a relationship that is its own inverse names none: write ‘@Relationship(.symmetric)’")
      ]
    default: return []
    }
  }
}

/// How visible a declaration is, from the least on.
enum Access: Comparable {
  case file, module, package, everywhere

  /// What the modifiers say; `private(set)` is about the setter only.
  init(_ modifiers: DeclModifierListSyntax) {
    self = .module
    for modifier in modifiers where modifier.detail == nil {
      switch modifier.name.tokenKind {
      case .keyword(.open), .keyword(.public): self = .everywhere
      case .keyword(.package): self = .package
      case .keyword(.fileprivate), .keyword(.private): self = .file
      default: continue
      }
    }
  }

  /// The modifier, with a blank.
  var words: String {
    switch self {
    case .file: "fileprivate "
    case .module: ""
    case .package: "package "
    case .everywhere: "public "
    }
  }
}
