import SwiftDiagnostics
import SwiftIfConfig
import SwiftSyntax
import SwiftSyntaxMacros

/// What a macro knows of the conditions of `#if`. The compiler tells it of those that it was called with, from Swift 6.3 on, and never which modules can be imported.
package struct Conditions {
  private let build: KnownBuild

  /// - Parameter modules: Modules that can be imported wherever the macro is used.
  package init(_ context: some MacroExpansionContext, importable modules: Set<String>) {
    build = KnownBuild(told: context.buildConfiguration, modules: modules)
  }

  /// Members of a type, those of branches that are compiled among the others, without those that are not.
  package func members(_ list: MemberBlockItemListSyntax) -> [Conditional<DeclSyntax>] {
    list.flatMap { item -> [Conditional<DeclSyntax>] in
      guard let conditional = item.decl.as(IfConfigDeclSyntax.self) else { return [.part(item.decl)] }
      switch branch(of: conditional) {
      case .none: return []
      case .one(let clause): return members(in: clause)
      case .unknown: return [.branches(conditional.clauses.map { ($0.head, members(in: $0)) })]
      }
    }
  }

  private func members(in clause: IfConfigClauseSyntax) -> [Conditional<DeclSyntax>] {
    if case .decls(let list) = clause.elements { return members(list) }
    return []
  }

  /// The attributes of a declaration, and what else they may be when one of these names stands in `#if`.
  package func attributes(_ list: AttributeListSyntax, named names: Set<String>)
    -> Conditional<[AttributeSyntax]>
  {
    attributes(Array(list), after: [], names)
  }

  private func attributes(
    _ elements: [AttributeListSyntax.Element], after read: [AttributeSyntax], _ names: Set<String>
  ) -> Conditional<[AttributeSyntax]> {
    var read = read
    for (place, element) in elements.enumerated() {
      switch element {
      case .attribute(let attribute): read.append(attribute)
      case .ifConfigDecl(let conditional):
        guard conditional.containsAttribute(named: names) else { continue }
        let rest = Array(elements[(place + 1)...])
        switch branch(of: conditional) {
        case .none: continue
        case .one(let clause): return attributes(clause.attributes + rest, after: read, names)
        case .unknown:
          var branches = conditional.clauses.map { clause in
            (clause.head, [attributes(clause.attributes + rest, after: read, names)])
          }
          if conditional.clauses.last?.condition != nil {
            branches.append(("#else", [attributes(rest, after: read, names)]))
          }
          return .branches(branches)
        }
      }
    }
    return .part(read)
  }

  // MARK: Which branch

  private enum Branch {
    case none
    case one(IfConfigClauseSyntax)
    case unknown
  }

  private func branch(of conditional: IfConfigDeclSyntax) -> Branch {
    guard conditional.clauses.allSatisfy({ $0.condition.map(build.canAnswer) ?? true }) else {
      return .unknown
    }
    let (clause, diagnostics) = conditional.activeClause(in: build)
    // A question without an answer counts as false, and is told as an error.
    if diagnostics.contains(where: { $0.diagMessage.severity == .error }) { return .unknown }
    return clause.map(Branch.one) ?? .none
  }
}

extension IfConfigClauseSyntax {
  /// The line that it begins with.
  fileprivate var head: String {
    condition.map { "\(poundKeyword.text) \($0.trimmedDescription)" } ?? poundKeyword.text
  }

  fileprivate var attributes: [AttributeListSyntax.Element] {
    if case .attributes(let list) = elements { return Array(list) }
    return []
  }
}

extension IfConfigDeclSyntax {
  /// Whether an attribute of one of these names stands in a branch.
  fileprivate func containsAttribute(named names: Set<String>) -> Bool {
    clauses.contains { clause in
      clause.attributes.contains { element in
        switch element {
        case .attribute(let attribute): names.contains(attribute.name)
        case .ifConfigDecl(let inner): inner.containsAttribute(named: names)
        }
      }
    }
  }
}

extension AttributeListSyntax {
  /// Whether there is an attribute of that name, be it in `#if`.
  package func contains(named name: String) -> Bool {
    contains { element in
      switch element {
      case .attribute(let attribute): attribute.name == name
      case .ifConfigDecl(let conditional): conditional.containsAttribute(named: [name])
      }
    }
  }

  /// The first `#if` that an attribute of one of these names stands in.
  package func firstConditional(named names: Set<String>) -> IfConfigDeclSyntax? {
    lazy.compactMap { element -> IfConfigDeclSyntax? in
      guard case .ifConfigDecl(let conditional) = element, conditional.containsAttribute(named: names) else {
        return nil
      }
      return conditional
    }.first
  }
}

/// The configuration that the compiler has told of, if it has, and modules that can be imported.
private struct KnownBuild: BuildConfiguration {
  let told: (any BuildConfiguration)?
  let modules: Set<String>

  /// Why a question has no answer.
  struct Unknown: Error {}

  /// Whether all that a condition asks is asked of this configuration in a way in which it can refuse.
  func canAnswer(_ condition: ExprSyntax) -> Bool {
    guard told == nil else { return true }
    let finder = VersionFinder(viewMode: .sourceAccurate)
    finder.walk(condition)
    return !finder.found
  }

  /// Finds questions that have an answer in every configuration.
  private final class VersionFinder: SyntaxVisitor {
    private static let functions: Set<String> = [
      "swift", "compiler", "_compiler_version", "_endian", "_pointerBitWidth", "_hasAtomicBitWidth",
    ]
    private(set) var found = false

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
      if Self.functions.contains(node.calledExpression.trimmedDescription) { found = true }
      return .visitChildren
    }
  }

  private func ask(_ question: (any BuildConfiguration) throws -> Bool) throws -> Bool {
    guard let told else { throw Unknown() }
    return try question(told)
  }

  func canImport(importPath: [(TokenSyntax, String)], version: CanImportVersion) throws -> Bool {
    if importPath.count == 1, let name = importPath.first?.1, modules.contains(name),
      case .unversioned = version
    {
      return true
    }
    return try ask { try $0.canImport(importPath: importPath, version: version) }
  }

  func isCustomConditionSet(name: String) throws -> Bool {
    try ask { try $0.isCustomConditionSet(name: name) }
  }
  func hasFeature(name: String) throws -> Bool { try ask { try $0.hasFeature(name: name) } }
  func hasAttribute(name: String) throws -> Bool { try ask { try $0.hasAttribute(name: name) } }
  func isActiveTargetOS(name: String) throws -> Bool { try ask { try $0.isActiveTargetOS(name: name) } }
  func isActiveTargetArchitecture(name: String) throws -> Bool {
    try ask { try $0.isActiveTargetArchitecture(name: name) }
  }
  func isActiveTargetEnvironment(name: String) throws -> Bool {
    try ask { try $0.isActiveTargetEnvironment(name: name) }
  }
  func isActiveTargetRuntime(name: String) throws -> Bool {
    try ask { try $0.isActiveTargetRuntime(name: name) }
  }
  func isActiveTargetPointerAuthentication(name: String) throws -> Bool {
    try ask { try $0.isActiveTargetPointerAuthentication(name: name) }
  }
  func isActiveTargetObjectFormat(name: String) throws -> Bool {
    try ask { try $0.isActiveTargetObjectFormat(name: name) }
  }

  // Asked only when there is one: see `canAnswer`.
  var targetPointerBitWidth: Int { told?.targetPointerBitWidth ?? 64 }
  var targetAtomicBitWidths: [Int] { told?.targetAtomicBitWidths ?? [] }
  var endianness: Endianness { told?.endianness ?? .little }
  var languageVersion: VersionTuple { told?.languageVersion ?? VersionTuple(6) }
  var compilerVersion: VersionTuple { told?.compilerVersion ?? VersionTuple(6) }
}
