import SwiftSyntax

/// A type as it is written, taken apart.
package struct WrittenType {
  /// Without the question mark.
  package let wrapped: TypeSyntax
  package let isOptional: Bool
  package let isImplicitlyUnwrapped: Bool
  /// Whether it is written `Optional<…>`.
  package let isSpelledOut: Bool
  /// What an array holds.
  package let arrayElement: TypeSyntax?
  /// What a set holds.
  package let setElement: TypeSyntax?

  package init(_ type: TypeSyntax) {
    var type = type.trimmed
    var isOptional = false
    var isImplicitlyUnwrapped = false
    var isSpelledOut = false
    if let optional = type.as(OptionalTypeSyntax.self) {
      isOptional = true
      type = optional.wrappedType.trimmed
    } else if let optional = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      isOptional = true
      isImplicitlyUnwrapped = true
      type = optional.wrappedType.trimmed
    } else if let argument = Self.argument(of: type, "Optional") {
      isOptional = true
      isSpelledOut = true
      type = argument
    }
    if let tuple = type.as(TupleTypeSyntax.self), tuple.elements.count == 1, let only = tuple.elements.first {
      type = only.type.trimmed
    }
    wrapped = type
    self.isOptional = isOptional
    self.isImplicitlyUnwrapped = isImplicitlyUnwrapped
    self.isSpelledOut = isSpelledOut
    arrayElement = type.as(ArrayTypeSyntax.self)?.element.trimmed ?? Self.argument(of: type, "Array")
    setElement = Self.argument(of: type, "Set")
  }

  /// The name of the type without what it is nested in and without arguments.
  package var name: String? {
    if let identifier = wrapped.as(IdentifierTypeSyntax.self) { return identifier.name.text }
    return wrapped.as(MemberTypeSyntax.self)?.name.text
  }

  /// The type as slots are declared with it.
  package var text: String {
    if !isOptional { return wrapped.trimmedDescription }
    return needsParentheses ? "(\(wrapped.trimmedDescription))?" : "\(wrapped.trimmedDescription)?"
  }

  /// Whether a question mark behind the type would belong to its last part only: `any Helper`, `@Sendable () -> Int`, `A & B`.
  private var needsParentheses: Bool {
    wrapped.is(SomeOrAnyTypeSyntax.self) || wrapped.is(FunctionTypeSyntax.self)
      || wrapped.is(AttributedTypeSyntax.self) || wrapped.is(CompositionTypeSyntax.self)
  }

  private static func argument(of type: TypeSyntax, _ name: String) -> TypeSyntax? {
    let arguments: GenericArgumentClauseSyntax?
    if let identifier = type.as(IdentifierTypeSyntax.self), identifier.name.text == name {
      arguments = identifier.genericArgumentClause
    } else if let member = type.as(MemberTypeSyntax.self), member.name.text == name {
      arguments = member.genericArgumentClause
    } else {
      return nil
    }
    guard let arguments, arguments.arguments.count == 1,
      case .type(let argument)? = arguments.arguments.first?.argument
    else { return nil }
    return argument.trimmed
  }
}
