import StrataCore

/// The name a value transformer is registered under.
public struct NSValueTransformerName: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public init(_ rawValue: String) { self.rawValue = rawValue }
  public init(stringLiteral value: String) { self.rawValue = value }

  /// Whether a value is nil.
  public static let isNilTransformerName = NSValueTransformerName("NSIsNil")
  /// Whether a value is there.
  public static let isNotNilTransformerName = NSValueTransformerName("NSIsNotNil")
  /// The opposite of a boolean.
  public static let negateBooleanTransformerName = NSValueTransformerName("NSNegateBoolean")
  /// Plain values as bytes, of allowed classes only; see `NSSecureUnarchiveFromDataTransformer`.
  public static let secureUnarchiveFromDataTransformerName = NSValueTransformerName(
    AttributeTransformers.secureName)
  /// Any object as bytes. There is no such transformer: models that name it are refused (rule 343).
  public static let keyedUnarchiveFromDataTransformerName = NSValueTransformerName("NSKeyedUnarchiveFromData")
  /// Any object as bytes. There is no such transformer: models that name it are refused (rule 343).
  public static let unarchiveFromDataTransformerName = NSValueTransformerName("NSUnarchiveFromData")
}

/// Turns one value into another, and perhaps back. A subclass that is registered serves transformable attributes of its name (rule 342).
///
/// For an attribute Core Data calls `transformedValue(_:)` to make the bytes that a store keeps, and `reverseTransformedValue(_:)` to read them; both
/// on the queue of the object's context, several at a time. For an `NSSecureUnarchiveFromDataTransformer` it is the other way round.
open class ValueTransformer: NSObject {
  public override init() {}

  /// The transformer registered under `name`; nil when there is none.
  public static func registered(forName name: NSValueTransformerName) -> ValueTransformer? {
    ValueTransformerRegistry.transformer(named: name)
  }

  /// Registers `transformer` under `name`, in place of one that had it; nil takes it away. May be called from any thread, before the store
  /// is added whose model names it.
  open class func setValueTransformer(_ transformer: ValueTransformer?, forName name: NSValueTransformerName)
  {
    ValueTransformerRegistry.set(transformer, named: name)
  }

  /// The names of all registered transformers, sorted.
  open class func valueTransformerNames() -> [NSValueTransformerName] { ValueTransformerRegistry.names }

  /// The class of transformed values. Default `NSData`.
  open class func transformedValueClass() -> AnyClass { NSData.self }

  /// Whether values can be turned back. Default true.
  open class func allowsReverseTransformation() -> Bool { true }

  /// The transformed value. Default the value itself.
  open func transformedValue(_ value: Any?) -> Any? { value }

  /// The value that was transformed. The default transforms once more, as of transformers that are their own opposite.
  open func reverseTransformedValue(_ value: Any?) -> Any? {
    guard Self.allowsReverseTransformation() else {
      stop("\(Self.self) turns no values back: allowsReverseTransformation() is false.")
    }
    return transformedValue(value)
  }
}

/// What lets `ValueTransformer(forName:)` hand out the registered object; see `FormatReadable`.
public protocol RegisteredByName {}

extension ValueTransformer: RegisteredByName {}

extension RegisteredByName where Self: ValueTransformer {
  /// The transformer registered under `name`; nil when there is none, or one of another class.
  public init?(forName name: NSValueTransformerName) {
    guard let found = ValueTransformerRegistry.transformer(named: name) as? Self else { return nil }
    self = found
  }
}
