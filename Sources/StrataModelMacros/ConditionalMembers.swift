import MacroSupport
import SwiftSyntax

// What stands in `#if` is refused: a store has one set of properties, and no macro is told of all conditions. What it left out in silence would be missing in the store.

extension PropertyReader {
  /// What is said of an attribute in `#if` by which a property says what it is; nil where there is none.
  static func conditionalMark(of variable: VariableDeclSyntax) -> Fault? {
    let names = Set(PropertyAttribute.allCases.map(\.rawValue))
    return variable.attributes.firstConditional(named: names).map { conditional in
      Fault(
        conditional, "conditionalMark",
        "what is said of a property of a model cannot stand in #if: a store has one set of them")
    }
  }
}

extension CompositeMacro {
  /// The first stored property that stands in `#if`; nil when there is none.
  static func conditionalElement(in members: MemberBlockItemListSyntax) -> VariableDeclSyntax? {
    for member in members {
      guard let conditional = member.decl.as(IfConfigDeclSyntax.self) else { continue }
      for clause in conditional.clauses {
        guard case .decls(let list) = clause.elements else { continue }
        let stored = list.lazy.compactMap { $0.decl.as(VariableDeclSyntax.self) }.first { variable in
          !variable.modifiers.contains { ["static", "lazy"].contains($0.name.text) }
            && variable.bindings.contains { $0.accessorBlock == nil }
        }
        if let found = stored ?? conditionalElement(in: list) { return found }
      }
    }
    return nil
  }
}
