import Foundation

extension PredicateExpressions {
  /// A value of the program in a `#Predicate`, of whatever type: Foundation's own wants constants to be `Codable`, which an enum that is stored as its raw value
  /// need not be. Written by the `#Predicate` of StrataModels.
  public struct Constant<Output: Sendable>: StandardPredicateExpression {
    /// The value.
    public let value: Output

    public init(_ value: Output) { self.value = value }

    /// The value.
    public func evaluate(_ bindings: PredicateBindings) -> Output { value }

    /// - Throws: `EncodingError` for a value that is not `Encodable`; what encoding it throws.
    public func encode(to encoder: any Encoder) throws {
      guard let value = value as? any Encodable else {
        throw EncodingError.invalidValue(
          value,
          EncodingError.Context(
            codingPath: encoder.codingPath, debugDescription: "\(Output.self) is not Encodable"))
      }
      try value.encode(to: encoder)
    }

    /// - Throws: `DecodingError` for a type that is not `Decodable`; what decoding it throws.
    public init(from decoder: any Decoder) throws {
      guard let type = Output.self as? any Decodable.Type, let value = try type.init(from: decoder) as? Output
      else {
        throw DecodingError.typeMismatch(
          Output.self,
          DecodingError.Context(
            codingPath: decoder.codingPath, debugDescription: "\(Output.self) is not Decodable"))
      }
      self.value = value
    }
  }
}

extension PredicateExpressions.Constant: LowerableExpression {
  func lowered(_ lowering: PredicateLowering) -> LoweredPart { .constant(value) }
}
