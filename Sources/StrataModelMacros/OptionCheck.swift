import MacroSupport
import SwiftSyntax

/// Finds mistakes in the options of a class and of its properties that are plain from their spelling.
struct OptionCheck {
  /// The properties of the class; nil when a superclass may have others.
  let names: Set<String>?

  func faults(in attributes: [AttributeSyntax]) -> [Fault] {
    attributes.flatMap { attribute -> [Fault] in
      var faults: [Fault] = []
      for argument in attribute.argumentList ?? [] {
        if attribute.name == "Indexed", argument.label?.text == "where" {
          faults += check(condition: argument.expression)
        }
        guard let call = argument.expression.as(FunctionCallExprSyntax.self),
          let option = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text
        else { continue }
        switch option {
        case "unique", "index", "indexed": faults += check(index: call)
        case "userInfo": faults += check(userInfo: call)
        default: continue
        }
      }
      return faults
    }
  }

  // MARK: Names

  /// `.index("author", .descending("published"), where: Attribute("published") != nil)`
  private func check(index call: FunctionCallExprSyntax) -> [Fault] {
    call.arguments.flatMap { argument -> [Fault] in
      switch argument.label?.text {
      case nil: return check(element: argument.expression)
      case "where": return check(condition: argument.expression)
      default: return []
      }
    }
  }

  private func check(element: ExprSyntax) -> [Fault] {
    if let literal = element.as(StringLiteralExprSyntax.self) { return check(name: literal) }
    guard let call = element.as(FunctionCallExprSyntax.self),
      let direction = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text,
      direction == "ascending" || direction == "descending",
      let literal = call.arguments.first?.expression.as(StringLiteralExprSyntax.self)
    else { return [] }
    return check(name: literal)
  }

  private func check(name literal: StringLiteralExprSyntax) -> [Fault] {
    guard let names, let text = literal.representedLiteralValue,
      !names.contains(String(text.split(separator: ".").first ?? ""))
    else { return [] }
    return [
      Fault(
        literal, "name", "the class has no property ‘\(text)’",
        Self.nearest(to: text, names).map {
          [.replace(literal, with: ExprSyntax(stringLiteral: "\"\($0)\""), "write \"\($0)\"")]
        } ?? [])
    ]
  }

  /// A condition of an index: comparisons of `Attribute("…")`.
  private func check(condition: ExprSyntax) -> [Fault] {
    let reader = ConditionReader(viewMode: .sourceAccurate)
    reader.walk(condition)
    return reader.names.flatMap(check(name:))
      + reader.predicates.map {
        Fault(
          $0, "predicate",
          "an index keeps no #\($0.macroName.text): write the condition with Attribute, as in ‘Attribute(\"pages\") > 300’"
        )
      }
  }

  // MARK: User info

  /// Two equal keys in a dictionary's literal end the program when it is made.
  private func check(userInfo call: FunctionCallExprSyntax) -> [Fault] {
    guard let dictionary = call.arguments.first?.expression.as(DictionaryExprSyntax.self),
      case .elements(let elements) = dictionary.content
    else { return [] }
    var seen: Set<String> = []
    return elements.compactMap { element in
      guard let key = element.key.as(StringLiteralExprSyntax.self)?.representedLiteralValue,
        !seen.insert(key).inserted
      else { return nil }
      var fewer = elements.filter { $0.id != element.id }
      if let last = fewer.indices.last {
        fewer[last].trailingComma = nil
        fewer[last].trailingTrivia = []
      }
      return Fault(
        element.key, "twice", "the key ‘\(key)’ stands here twice",
        [
          .replace(
            dictionary, with: dictionary.with(\.content, .elements(fewer)), "remove the second ‘\(key)’")
        ])
    }
  }

  // MARK: Names that are nearly right

  /// The name that differs only a little.
  private static func nearest(to name: String, _ names: Set<String>) -> String? {
    names.sorted().first { $0.lowercased() == name.lowercased() }
      ?? names.sorted().first { abs($0.count - name.count) <= 1 && distance($0, name) <= 2 }
  }

  private static func distance(_ one: String, _ two: String) -> Int {
    let (one, two) = (Array(one), Array(two))
    var row = Array(0...two.count)
    for (line, left) in one.enumerated() {
      var previous = row[0]
      row[0] = line + 1
      for (column, right) in two.enumerated() {
        let next = left == right ? previous : min(previous, row[column], row[column + 1]) + 1
        previous = row[column + 1]
        row[column + 1] = next
      }
    }
    return row[two.count]
  }
}

/// Finds the names in `Attribute("…")`, and predicates that no index can keep.
private final class ConditionReader: SyntaxVisitor {
  private(set) var names: [StringLiteralExprSyntax] = []
  private(set) var predicates: [MacroExpansionExprSyntax] = []

  override func visit(_ call: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
    let called = call.calledExpression
    let name =
      called.as(DeclReferenceExprSyntax.self)?.baseName.text
      ?? called.as(MemberAccessExprSyntax.self)?.declName.baseName.text
    if name == "Attribute", let literal = call.arguments.first?.expression.as(StringLiteralExprSyntax.self) {
      names.append(literal)
    }
    return .visitChildren
  }

  override func visit(_ expansion: MacroExpansionExprSyntax) -> SyntaxVisitorContinueKind {
    predicates.append(expansion)
    return .skipChildren
  }
}
