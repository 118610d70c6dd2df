/// An optional of whatever type.
protocol OptionalValue {
  static var wrapped: Any.Type { get }
  var anyValue: Any? { get }
}

extension Optional: OptionalValue {
  static var wrapped: Any.Type { Wrapped.self }
  var anyValue: Any? { self }
}
