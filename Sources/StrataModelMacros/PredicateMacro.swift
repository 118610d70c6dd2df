import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// `#Predicate` on a class of managed objects where a request takes a condition: Foundation's, which takes no enum cases. Each case is hidden from it in a
/// macro of its own.
///
///     #Predicate<Book> { $0.format == .paper }
///     ManagedPredicate(#_FoundationPredicate<Book> { $0.format == #_PredicateConstant(".paper") })
///
/// Foundation's macro hands on what it does not know as a constant, and the compiler finds the type of that on the other side of the operator.
struct ManagedPredicateMacro: ExpressionMacro {
  // As it was written.
  static var formatMode: FormatMode { .disabled }

  static func expansion(
    of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
  ) throws -> ExprSyntax { "ManagedPredicate(\(try PlainPredicateMacro.expansion(of: node, in: context)))" }
}

/// `#Predicate` on a class of managed objects elsewhere.
struct PlainPredicateMacro: ExpressionMacro {
  // As it was written.
  static var formatMode: FormatMode { .disabled }

  static func expansion(
    of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
  ) throws -> ExprSyntax {
    var call = MacroExpansionExprSyntax(
      macroName: node.macroName.with(\.tokenKind, .identifier("_FoundationPredicate")),
      genericArgumentClause: node.genericArgumentClause,
      leftParen: node.leftParen, arguments: node.arguments, rightParen: node.rightParen,
      trailingClosure: node.trailingClosure)
    // Without a trailing closure Foundation's macro says what is missing.
    if let closure = node.trailingClosure,
      let rewritten = ConstantRewriter(viewMode: .sourceAccurate).rewrite(closure).as(
        ClosureExprSyntax.self)
    {
      call.trailingClosure = rewritten
    }
    return ExprSyntax(call)
  }
}

/// `#_PredicateConstant(".paper")` where a value is wanted: the expression in the text.
struct PredicateConstantMacro: ExpressionMacro {
  // As it was written.
  static var formatMode: FormatMode { .disabled }

  static func expansion(
    of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
  ) throws -> ExprSyntax { "\(raw: try text(of: node))" }

  static func text(of node: some FreestandingMacroExpansionSyntax) throws -> String {
    guard let literal = node.arguments.first?.expression.as(StringLiteralExprSyntax.self),
      let text = literal.representedLiteralValue
    else {
      throw MacroExpansionErrorMessage("#\(node.macroName.text) is written by #Predicate, and by nobody else")
    }
    return text
  }
}

/// `#_PredicateConstant(".paper")` where a part of a predicate is wanted.
struct PredicateConstantExpressionMacro: ExpressionMacro {
  // As it was written.
  static var formatMode: FormatMode { .disabled }

  static func expansion(
    of node: some FreestandingMacroExpansionSyntax, in context: some MacroExpansionContext
  ) throws -> ExprSyntax {
    "PredicateExpressions.Constant(\(raw: try PredicateConstantMacro.text(of: node)))"
  }
}

/// Puts what names no variable of the predicate, and Foundation's macro would refuse, into texts.
private final class ConstantRewriter: SyntaxRewriter {
  /// The names that closures and `if let` have bound.
  private var bound: Set<String> = []

  override func visit(_ node: ClosureExprSyntax) -> ExprSyntax {
    let before = bound
    defer { bound = before }
    switch node.signature?.parameterClause {
    case .simpleInput(let names): bound.formUnion(names.map(\.name.text))
    case .parameterClause(let clause):
      bound.formUnion(clause.parameters.map { ($0.secondName ?? $0.firstName).text })
    case nil: break
    }
    return super.visit(node)
  }

  override func visit(_ node: IfExprSyntax) -> ExprSyntax {
    let before = bound
    defer { bound = before }
    for condition in node.conditions {
      guard case .optionalBinding(let binding) = condition.condition else { continue }
      if let name = binding.pattern.as(IdentifierPatternSyntax.self) { bound.insert(name.identifier.text) }
    }
    return super.visit(node)
  }

  /// A variable of the program that something else is compared with may hold an enum, too.
  override func visit(_ node: InfixOperatorExprSyntax) -> ExprSyntax {
    guard let symbol = node.operator.as(BinaryOperatorExprSyntax.self)?.operator.text,
      symbol == "==" || symbol == "!=",
      isName(node.leftOperand) != isName(node.rightOperand), namesVariable(node)
    else { return super.visit(node) }
    let isLeft = isName(node.leftOperand)
    var result = node
    result.leftOperand =
      isLeft ? Self.hidden(node.leftOperand, "_PredicateConstant") : visit(node.leftOperand)
    result.rightOperand =
      isLeft ? visit(node.rightOperand) : Self.hidden(node.rightOperand, "_PredicateConstant")
    return ExprSyntax(result)
  }

  private func isName(_ node: ExprSyntax) -> Bool {
    guard let name = node.as(DeclReferenceExprSyntax.self), name.argumentNames == nil else { return false }
    return !namesVariable(name)
  }

  override func visit(_ node: MemberAccessExprSyntax) -> ExprSyntax {
    constant(ExprSyntax(node)) ?? super.visit(node)
  }

  override func visit(_ node: FunctionCallExprSyntax) -> ExprSyntax {
    if let hidden = constant(ExprSyntax(node)) { return hidden }
    guard Self.beginsAtType(ExprSyntax(node)) else { return super.visit(node) }
    // It names a variable of the predicate: what is called stays, for Foundation's macro to refuse.
    var result = node
    result.arguments = visit(node.arguments)
    result.trailingClosure = node.trailingClosure.flatMap { visit($0).as(ClosureExprSyntax.self) }
    return ExprSyntax(result)
  }

  override func visit(_ node: ForceUnwrapExprSyntax) -> ExprSyntax {
    constant(ExprSyntax(node)) ?? super.visit(node)
  }

  override func visit(_ node: ArrayExprSyntax) -> ExprSyntax {
    guard node.elements.contains(where: { Self.beginsAtType($0.expression) }), !namesVariable(node) else {
      return super.visit(node)
    }
    // What is asked whether it contains something is a list; otherwise the other side says what it is.
    let isList = node.parent?.is(MemberAccessExprSyntax.self) == true
    return Self.hidden(ExprSyntax(node), isList ? "_PredicateConstants" : "_PredicateConstant")
  }

  // What is in these is no part of the predicate's own expression.
  override func visit(_ node: KeyPathExprSyntax) -> ExprSyntax { ExprSyntax(node) }
  override func visit(_ node: MacroExpansionExprSyntax) -> ExprSyntax { ExprSyntax(node) }

  private func constant(_ node: ExprSyntax) -> ExprSyntax? {
    guard Self.beginsAtType(node), !namesVariable(node) else { return nil }
    return Self.hidden(node, "_PredicateConstant")
  }

  private static func hidden(_ node: ExprSyntax, _ macro: String) -> ExprSyntax {
    let text = StringLiteralExprSyntax(content: node.trimmedDescription)
    let call: ExprSyntax = "#\(raw: macro)(\(text))"
    return call.with(\.leadingTrivia, node.leadingTrivia).with(\.trailingTrivia, node.trailingTrivia)
  }

  /// Whether a chain of members and calls begins with a dot, or at a type: `.paper`, `Format.paper`, `Date()`.
  private static func beginsAtType(_ node: ExprSyntax) -> Bool {
    if let access = node.as(MemberAccessExprSyntax.self) {
      guard let base = access.base else { return true }
      return beginsAtType(base)
    }
    if let call = node.as(FunctionCallExprSyntax.self) { return beginsAtType(call.calledExpression) }
    if let unwrapped = node.as(ForceUnwrapExprSyntax.self) { return beginsAtType(unwrapped.expression) }
    if let name = node.as(DeclReferenceExprSyntax.self) {
      return name.baseName.text.first?.isUppercase == true
    }
    return false
  }

  private func namesVariable(_ node: some SyntaxProtocol) -> Bool {
    node.tokens(viewMode: .sourceAccurate).contains { token in
      switch token.tokenKind {
      case .dollarIdentifier: true
      case .identifier(let name): bound.contains(name)
      default: false
      }
    }
  }
}
