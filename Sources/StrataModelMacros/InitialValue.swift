import MacroSupport
import SwiftSyntax

/// What an initial value is, as far as its spelling tells: the same for all objects, or made for each.
enum InitialValue {
  /// A literal, a case, a value made of such: evaluated once, with the model.
  case constant
  /// What a function answers: evaluated once with the model, for objects of earlier versions, and for each new object.
  case called
  /// `UUID()`, `Date.now`, something random: evaluated for each new object.
  case changing

  init(_ expression: ExprSyntax, type: WrittenType) {
    let visitor = CallVisitor(isClock: ["Date", "UUID"].contains(type.name))
    visitor.walk(expression)
    self = visitor.isChanging ? .changing : visitor.isCalled ? .called : .constant
  }

  private final class CallVisitor: SyntaxVisitor {
    var isChanging = false
    var isCalled = false
    /// Whether `.init()` and `.now` are those of a date or of a UUID.
    private let isClock: Bool

    init(isClock: Bool) {
      self.isClock = isClock
      super.init(viewMode: .sourceAccurate)
    }

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
      let called = node.calledExpression.trimmedDescription
      let type = called.hasSuffix(".init") ? String(called.dropLast(5)) : called
      let name = type.split(separator: ".").last.map(String.init) ?? ""
      let label = node.arguments.first?.label?.text
      if ["Date", "UUID"].contains(name) || type.isEmpty && isClock {
        if node.arguments.isEmpty || label == "timeIntervalSinceNow" { isChanging = true }
      }
      if name.first?.isLowercase == true || name.first == "_" { isCalled = true }
      return .visitChildren
    }

    override func visit(_ node: MemberAccessExprSyntax) -> SyntaxVisitorContinueKind {
      switch node.declName.baseName.text {
      case "now" where node.base != nil || isClock: isChanging = true
      case "random", "randomElement", "shuffled": isChanging = true
      default: break
      }
      return .visitChildren
    }
  }
}
