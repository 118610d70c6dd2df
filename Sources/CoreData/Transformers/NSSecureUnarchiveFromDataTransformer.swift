import StrataCore

/// The ready-made transformer of transformable attributes.
///
/// As itself it keeps plain values (`PlainValueTransformer`). A subclass names the classes it keeps in `allowedTopLevelClasses`; those must conform to
/// `NSSecureCoding`, are archived with `NSKeyedArchiver`, and nothing else is ever made of the bytes (rule 343). Where Core Data's `transformedValue(_:)`
/// reads bytes, so does this one's `reverseTransformedValue(_:)`: attributes call that direction on every platform.
open class NSSecureUnarchiveFromDataTransformer: ValueTransformer {
  /// The classes that may stand at the top of an archive. Default those of plain values.
  open class var allowedTopLevelClasses: [AnyClass] {
    [
      NSArray.self, NSDictionary.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, NSURL.self,
      NSUUID.self, NSNull.self,
    ]
  }

  /// The bytes that stand for a value; nil for nil, and for a value that is none of the allowed ones.
  open override func transformedValue(_ value: Any?) -> Any? {
    guard let value = plain(value) else { return nil }
    if isPlain { return try? PlainValueTransformer().transform(value) }
    guard let object = value as? NSObject, Self.allowedTopLevelClasses.contains(where: { object.isKind(of: $0) })
    else { return nil }
    return try? NSKeyedArchiver.archivedData(withRootObject: value, requiringSecureCoding: true)
  }

  /// The value that bytes stand for; nil when they are no allowed value.
  open override func reverseTransformedValue(_ value: Any?) -> Any? {
    guard let data = value as? Data else { return nil }
    if isPlain { return try? PlainValueTransformer().reverse(data) }
    return try? NSKeyedUnarchiver.unarchivedObject(ofClasses: Self.allowedTopLevelClasses, from: data)
  }

  private var isPlain: Bool { type(of: self) == NSSecureUnarchiveFromDataTransformer.self }
}

