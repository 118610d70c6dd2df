import SwiftSyntax

/// The type of an initial value, as far as its spelling tells: a macro sees no types.
enum TypeInference {
  static func type(of expression: ExprSyntax) -> TypeSyntax? {
    text(of: expression).map { TypeSyntax(stringLiteral: $0) }
  }

  private static func text(of expression: ExprSyntax) -> String? {
    switch expression.as(ExprSyntaxEnum.self) {
    case .stringLiteralExpr: return "String"
    case .integerLiteralExpr: return "Int"
    case .floatLiteralExpr: return "Double"
    case .booleanLiteralExpr: return "Bool"
    case .prefixOperatorExpr(let prefixed): return text(of: prefixed.expression)
    case .tupleExpr(let tuple):
      guard tuple.elements.count == 1, let only = tuple.elements.first, only.label == nil else { return nil }
      return text(of: only.expression)
    case .asExpr(let cast): return cast.type.trimmedDescription
    case .arrayExpr(let array):
      let types = Set(array.elements.map { text(of: $0.expression) })
      guard types.count == 1, let element = types.first ?? nil else { return nil }
      return "[\(element)]"
    case .memberAccessExpr(let access):
      // `Format.paper`, `Date.now`: a member of a type is taken to be of that type.
      return access.base.flatMap { typeName($0) }
    case .functionCallExpr(let call):
      if let name = typeName(call.calledExpression) { return name }
      if let access = call.calledExpression.as(MemberAccessExprSyntax.self) {
        return access.base.flatMap { typeName($0) }
      }
      if let array = call.calledExpression.as(ArrayExprSyntax.self), array.elements.count == 1,
        let element = array.elements.first, let name = typeName(element.expression)
      {
        return "[\(name)]"
      }
      return nil
    case .sequenceExpr(let sequence):
      // `5 as Int32`: not folded yet.
      let parts = Array(sequence.elements)
      if parts.count == 3, parts[1].is(UnresolvedAsExprSyntax.self),
        let type = parts[2].as(TypeExprSyntax.self)
      {
        return type.type.trimmedDescription
      }
      return nil
    default: return nil
    }
  }

  /// The name of a type, `Format` or `Shop.Format`: its last part begins with a capital letter.
  private static func typeName(_ expression: ExprSyntax) -> String? {
    if let reference = expression.as(DeclReferenceExprSyntax.self) {
      let name = reference.baseName.text
      return name.first?.isUppercase == true ? name : nil
    }
    if let generic = expression.as(GenericSpecializationExprSyntax.self), typeName(generic.expression) != nil
    {
      return generic.trimmedDescription
    }
    guard let access = expression.as(MemberAccessExprSyntax.self), let base = access.base,
      let outer = typeName(base),
      access.declName.baseName.text.first?.isUppercase == true
    else { return nil }
    return "\(outer).\(access.declName.baseName.text)"
  }
}
