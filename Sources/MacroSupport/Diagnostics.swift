import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// What a macro says, and how it is mended.
package struct ModelMessage: DiagnosticMessage {
  package let message: String
  /// Stable: tests and tools may know it.
  package let name: String
  package var severity = DiagnosticSeverity.error
  package var diagnosticID: MessageID { MessageID(domain: "Strata", id: name) }
}

package struct ModelFixIt: FixItMessage {
  package let message: String
  package var fixItID: MessageID { MessageID(domain: "Strata", id: message) }
}

/// One thing that is wrong, where, and what to do.
package struct Fault {
  package let node: Syntax
  package var message: ModelMessage
  package var fixIts: [FixIt] = []

  package init(_ node: some SyntaxProtocol, _ name: String, _ message: String, _ fixIts: [FixIt] = []) {
    self.node = Syntax(node)
    self.message = ModelMessage(message: message, name: name)
    self.fixIts = fixIts
  }

  /// Whether it says the same of the same place.
  package func isSame(as other: Fault) -> Bool {
    node.id == other.node.id && message.name == other.message.name
  }

  package func report(in context: some MacroExpansionContext) {
    context.diagnose(Diagnostic(node: node, message: message, fixIts: fixIts))
  }
}

extension FixIt {
  /// Puts `new` in the place of `old`.
  package static func replace(_ old: some SyntaxProtocol, with new: some SyntaxProtocol, _ message: String)
    -> FixIt
  {
    FixIt(
      message: ModelFixIt(message: message), changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))])
  }
}

extension VariableDeclSyntax {
  /// The declaration with `attribute` before it.
  package func adding(attribute: String) -> VariableDeclSyntax {
    var result = self
    let trivia = leadingTrivia
    result.leadingTrivia = []
    let added = AttributeSyntax(stringLiteral: "@\(attribute)").with(\.trailingTrivia, .space)
    result.attributes.insert(.attribute(added), at: result.attributes.startIndex)
    result.leadingTrivia = trivia
    return result
  }

  /// The declaration without the attribute of that name.
  package func removing(attribute name: String) -> VariableDeclSyntax {
    var result = self
    let trivia = leadingTrivia
    result.attributes = attributes.filter { element in
      if case .attribute(let attribute) = element { return attribute.name != name }
      return true
    }
    result.leadingTrivia = trivia
    return result
  }

  /// The declaration without a modifier.
  package func removing(modifier: TokenSyntax) -> VariableDeclSyntax {
    var result = self
    let trivia = leadingTrivia
    result.modifiers = modifiers.filter { $0.name.tokenKind != modifier.tokenKind }
    result.leadingTrivia = trivia
    return result
  }
}

extension AttributeSyntax {
  /// The attribute's name, without a module.
  package var name: String {
    let text = attributeName.trimmedDescription
    return text.split(separator: ".").last.map(String.init) ?? text
  }

  /// The arguments between the parentheses.
  package var argumentList: LabeledExprListSyntax? {
    if case .argumentList(let list) = arguments { return list }
    return nil
  }
}

extension AttributeListSyntax {
  /// All attributes of that name.
  package func all(named name: String) -> [AttributeSyntax] {
    compactMap { element in
      if case .attribute(let attribute) = element, attribute.name == name { return attribute }
      return nil
    }
  }

  package func first(named name: String) -> AttributeSyntax? { all(named: name).first }
}
