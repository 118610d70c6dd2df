import StrataCore

extension NSAttributeDescription {
  /// The type of an attribute's values, by the names that Swift code has for it.
  public struct AttributeType: RawRepresentable, Hashable, Sendable {
    /// The same by the older names, which have Core Data's numbers.
    public var rawValue: NSAttributeType
    /// The type of that older name.
    public init(rawValue: NSAttributeType) { self.rawValue = rawValue }

    public static var undefined: Self { Self(rawValue: .undefinedAttributeType) }
    public static var integer16: Self { Self(rawValue: .integer16AttributeType) }
    public static var integer32: Self { Self(rawValue: .integer32AttributeType) }
    public static var integer64: Self { Self(rawValue: .integer64AttributeType) }
    public static var decimal: Self { Self(rawValue: .decimalAttributeType) }
    public static var double: Self { Self(rawValue: .doubleAttributeType) }
    public static var float: Self { Self(rawValue: .floatAttributeType) }
    public static var string: Self { Self(rawValue: .stringAttributeType) }
    public static var boolean: Self { Self(rawValue: .booleanAttributeType) }
    public static var date: Self { Self(rawValue: .dateAttributeType) }
    public static var binaryData: Self { Self(rawValue: .binaryDataAttributeType) }
    public static var uuid: Self { Self(rawValue: .UUIDAttributeType) }
    public static var uri: Self { Self(rawValue: .URIAttributeType) }
    public static var transformable: Self { Self(rawValue: .transformableAttributeType) }
    public static var objectID: Self { Self(rawValue: .objectIDAttributeType) }
    public static var composite: Self { Self(rawValue: .compositeAttributeType) }
  }

  /// The type of the values; the same as `attributeType`.
  public var type: AttributeType {
    get { AttributeType(rawValue: attributeType) }
    set { attributeType = newValue.rawValue }
  }

  /// What a new object starts with: a number as an `NSNumber`, however it was given. Must fit `attributeType`, which is checked when the model is taken into
  /// use. Of a transformable attribute a value that its transformer takes.
  public var defaultValue: Any? {
    get { FoundationNumbers.handedOut(optional: self.StrataCore::defaultValue) }
    set { self.StrataCore::defaultValue = newValue }
  }
}
