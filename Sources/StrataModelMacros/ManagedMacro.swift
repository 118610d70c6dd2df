import MacroSupport
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Managed`: makes accessors of a class's properties, and writes its slots, its entity and its value.
struct ManagedMacro: MemberMacro, MemberAttributeMacro {
  static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    var faults: [Fault] = []
    let found = ManagedClass(declaration, node, &faults)
    for fault in faults { fault.report(in: context) }
    guard let found else { return [] }
    var members = [slots(of: found), entity(of: found, node, context)]
    if !found.ignored.isEmpty {
      let names = found.ignored.map { "\"\($0)\"" }.joined(separator: ", ")
      members.append(
        "\(raw: found.access)nonisolated override class var ignoredProperties: [String] { super.ignoredProperties + [\(raw: names)] }"
      )
    }
    members += initialValues(of: found)
    members += ValueWriter(found).members()
    return members
  }

  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
  ) throws -> [AttributeSyntax] {
    // Accessors of a class that is refused would only be told to lack the slots.
    guard let variable = member.as(VariableDeclSyntax.self),
      ManagedClass.refusal(of: declaration, node) == nil
    else { return [] }
    var reader = PropertyReader(variable)
    return reader.property() == nil ? [] : ["@_ManagedProperty"]
  }

  // MARK: Members

  private static func slots(of found: ManagedClass) -> DeclSyntax {
    let lines = found.properties.map {
      "\(found.access(of: $0).words)static let \($0.name) = StrataModels.Slot<\(found.name), \($0.slotType)>(\"\($0.key)\")"
    }
    return """
      \(raw: found.access)nonisolated enum Slots {
        \(raw: lines.joined(separator: "\n  "))
      }
      """
  }

  /// What sets the initial values that each object has for itself.
  private static func initialValues(of found: ManagedClass) -> [DeclSyntax] {
    let lines = found.properties.compactMap { property -> String? in
      guard case .attribute = property.kind, let value = property.defaultValue,
        let kind = property.initialValue, kind != .constant
      else { return nil }
      return "  self.\(property.name) = \(value.trimmedDescription)"
    }
    if lines.isEmpty { return [] }
    let access = Access(found.declaration.modifiers) >= .everywhere ? "public " : found.access
    return [
      """
      \(raw: access)nonisolated override func _setInitialValues() {
        super._setInitialValues()
      \(raw: lines.joined(separator: "\n"))
      }
      """
    ]
  }

  private static func entity(
    of found: ManagedClass, _ node: AttributeSyntax, _ context: some MacroExpansionContext
  ) -> DeclSyntax {
    let properties = found.properties.map { "    " + declaration(of: $0) }
    var arguments = node.argumentList?.map { $0.with(\.trailingComma, nil).trimmedDescription } ?? []
    if let place = context.location(
      of: found.declaration.name, at: .afterLeadingTrivia, filePathMode: .fileID)
    {
      arguments += ["file: \(place.file.trimmedDescription)", "line: \(place.line.trimmedDescription)"]
    }
    let end = arguments.isEmpty ? "" : ", " + arguments.joined(separator: ", ")
    return """
      \(raw: found.access)nonisolated override class var entityDeclaration: StrataModels.EntityDeclaration? {
        StrataModels.EntityDeclaration(\(raw: found.name).self, [
      \(raw: properties.joined(separator: ",\n"))
        ]\(raw: end))
      }
      """
  }

  /// What makes the property's declaration of its slot.
  private static func declaration(of property: ModelProperty) -> String {
    let slot = "Slots.\(property.name)"
    // A value that changes is none for objects that are there already.
    let constant = property.initialValue == .changing ? nil : property.defaultValue
    let value = constant.map { ["default: \($0.trimmedDescription)"] } ?? []
    switch property.kind {
    case .attribute: return "\(slot).attribute(\((value + property.options).joined(separator: ", ")))"
    case .transient: return "\(slot).transient(\(value.joined()))"
    case .derived(let expression):
      return "\(slot).derived(\(([expression] + property.options).joined(separator: ", ")))"
    case .fetched(let request): return "\(slot).fetched(\(request))"
    case .relationship(let inverse):
      let end = inverse.map { ["inverse: \"\($0)\""] } ?? []
      return "\(slot).relationship(\((property.options + end).joined(separator: ", ")))"
    }
  }
}

/// `@_ManagedProperty`, which `@Managed` puts before each property: its getter and setter.
struct ManagedPropertyMacro: AccessorMacro {
  static func expansion(
    of node: AttributeSyntax, providingAccessorsOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [AccessorDeclSyntax] {
    guard let variable = declaration.as(VariableDeclSyntax.self) else { return [] }
    var reader = PropertyReader(variable)
    guard let property = reader.property() else { return [] }
    let slot = "Slots.\(property.name)"
    switch property.kind {
    case .attribute, .relationship:
      return ["get { self.read(\(raw: slot)) }", "set { self.write(newValue, \(raw: slot)) }"]
    case .transient:
      return [
        "get { self.readTransient(\(raw: slot)) }", "set { self.writeTransient(newValue, \(raw: slot)) }",
      ]
    case .derived: return ["get { self.read(\(raw: slot)) }"]
    case .fetched: return ["get { self.readFetched(\(raw: slot)) }"]
    }
  }
}

/// `@Unique` and the others, which say something to `@Managed` and write nothing.
struct PropertyMarkerMacro: PeerMacro {
  static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    guard let variable = declaration.as(VariableDeclSyntax.self) else {
      Fault(node, "property", "@\(node.name) is for properties").report(in: context)
      return []
    }
    let isManaged = context.lexicalContext.first.map { scope in
      scope.as(ClassDeclSyntax.self)?.attributes.contains(named: "Managed") == true
        || scope.asProtocol((any DeclGroupSyntax).self) != nil && scope.as(ClassDeclSyntax.self) == nil
          && scope.asProtocol((any DeclGroupSyntax).self)?.attributes.contains(named: "Managed") == true
    }
    if isManaged != true {
      Fault(
        node, "unmanaged", "@\(node.name) is for properties of a class with @Managed",
        [.replace(variable, with: variable.removing(attribute: node.name), "remove ‘@\(node.name)’")]
      ).report(in: context)
    }
    return []
  }
}
