/// An optional of whatever type.
protocol OptionalValue {
  static var wrapped: Any.Type { get }
  var anyValue: Any? { get }
}

extension Optional: OptionalValue {
  static var wrapped: Any.Type { Wrapped.self }
  var anyValue: Any? { self }
}

/// The type beneath all optionals.
func unwrappedType(_ type: Any.Type) -> Any.Type {
  var type = type
  while let optional = type as? any OptionalValue.Type { type = optional.wrapped }
  return type
}
