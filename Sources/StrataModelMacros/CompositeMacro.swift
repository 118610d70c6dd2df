import MacroSupport
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `@Composite`: a struct whose properties are the elements of a composite attribute.
struct CompositeMacro: ExtensionMacro {
  static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    guard let structure = declaration.as(StructDeclSyntax.self) else {
      Fault(
        declaration.introducer, "composite", "@Composite is for structs: a composite attribute is a value"
      ).report(in: context)
      return []
    }
    if let conditional = conditionalElement(in: structure.memberBlock.members) {
      Fault(
        conditional, "conditional",
        "elements of a composite attribute cannot stand in #if: a store has one set of them"
      ).report(in: context)
      return []
    }
    var elements: [(name: String, type: WrittenType)] = []
    for member in structure.memberBlock.members {
      guard let variable = member.decl.as(VariableDeclSyntax.self),
        !variable.modifiers.contains(where: { ["static", "lazy"].contains($0.name.text) })
      else { continue }
      for binding in variable.bindings where binding.accessorBlock == nil {
        guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else { continue }
        guard
          let written = binding.typeAnnotation?.type
            ?? binding.initializer.flatMap({ TypeInference.type(of: $0.value) })
        else {
          Fault(
            pattern, "type",
            "write the type of ‘\(pattern.identifier.text)’: a macro sees only how the value is spelled"
          ).report(in: context)
          return []
        }
        if variable.bindingSpecifier.tokenKind == .keyword(.let), binding.initializer != nil {
          Fault(
            variable.bindingSpecifier, "let",
            "an element with a constant value stores nothing: make it ‘static’"
          ).report(in: context)
          return []
        }
        if pattern.identifier.text == "elementValues" {
          Fault(
            pattern, "taken", "‘elementValues’ is what @Composite writes into the struct: choose another name"
          ).report(in: context)
          return []
        }
        elements.append((pattern.identifier.text, WrittenType(written)))
      }
    }
    if elements.isEmpty {
      Fault(structure.name, "empty", "a composite attribute has at least one element").report(in: context)
      return []
    }
    let access = structure.modifiers.contains { $0.name.tokenKind == .keyword(.public) } ? "public " : ""
    let descriptions = elements.map {
      "StrataModels.CompositeElement<\($0.type.text)>.description(\"\($0.name)\")"
    }
    // Names that no element has.
    let names = Set(elements.map(\.name))
    func free(_ name: String) -> String { names.contains(name) ? free("_" + name) : name }
    let (source, target) = (free("elements"), free("values"))
    let parameter = source == "elements" ? source : "elements \(source)"
    let readings = elements.map {
      "let \($0.name) = StrataModels.CompositeElement<\($0.type.text)>.value(\(source)[\"\($0.name)\"])"
    }
    let arguments = elements.map { "\($0.name): \($0.name)" }
    let writings = elements.map {
      "\(target)[\"\($0.name)\"] = StrataModels.CompositeElement<\($0.type.text)>.stored(\($0.name))"
    }
    let text: DeclSyntax = """
      nonisolated extension \(type.trimmed): StrataModels.CompositeValue {
        \(raw: access)static var elements: [StrataModels.AttributeDescription] {
          [\(raw: descriptions.joined(separator: ", "))]
        }
        \(raw: access)init?(\(raw: parameter): [String: Any]) {
          guard \(raw: readings.joined(separator: ", ")) else { return nil }
          self.init(\(raw: arguments.joined(separator: ", ")))
        }
        \(raw: access)var elementValues: [String: Any] {
          var \(raw: target): [String: Any] = [:]
          \(raw: writings.joined(separator: "\n    "))
          return \(raw: target)
        }
      }
      """
    return text.as(ExtensionDeclSyntax.self).map { [$0] } ?? []
  }
}
