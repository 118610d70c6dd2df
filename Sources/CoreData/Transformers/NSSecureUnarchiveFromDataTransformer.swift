import StrataCore

/// The ready-made transformer of transformable attributes.
///
/// As itself it keeps plain values (`PlainValueTransformer`). A subclass names the classes it keeps in `allowedTopLevelClasses`; those must conform to
/// `NSSecureCoding`, are archived with `NSKeyedArchiver`, and no other class is ever made because the bytes ask for it (rule 343).
///
/// As in Core Data `transformedValue(_:)` makes a value of bytes, and `reverseTransformedValue(_:)` bytes of a value: the other way round than other
/// transformers of attributes. Attributes know that, for every subclass.
///
/// The archive lies in a property list with the name of its class, which is looked at first: Foundation's unarchiver on Linux stops the process for
/// an unexpected class. An archive that was damaged on purpose can still do so; the transformer of plain values cannot.
open class NSSecureUnarchiveFromDataTransformer: ValueTransformer {
  /// The classes that may stand at the top of an archive. Default those of plain values.
  open class var allowedTopLevelClasses: [AnyClass] {
    [
      NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSDate.self, NSData.self,
      NSURL.self, NSUUID.self, NSNull.self,
    ]
  }

  /// The class of what bytes become.
  open override class func transformedValueClass() -> AnyClass { NSObject.self }

  /// The value that bytes stand for; nil when they are no allowed value.
  open override func transformedValue(_ value: Any?) -> Any? {
    guard let data = value as? Data else { return nil }
    if isPlain { return try? PlainValueTransformer().reverse(data) }
    guard let envelope = try? PropertyListDecoder().decode(Envelope.self, from: data),
      let allowed = Self.allowedTopLevelClasses.first(where: { Self.name(of: $0) == envelope.className })
    else { return nil }
    // What is in a collection may be of the other classes.
    let others = Self.allowedTopLevelClasses.filter { $0 != allowed && Self.name(of: $0) != nil }
    return try? NSKeyedUnarchiver.unarchivedObject(ofClasses: [allowed] + others, from: envelope.archive)
  }

  /// The bytes that stand for a value; nil for nil, and for a value that is not allowed.
  open override func reverseTransformedValue(_ value: Any?) -> Any? {
    guard let value = plain(value) else { return nil }
    if isPlain { return try? PlainValueTransformer().transform(value) }
    guard let object = value as? NSObject, let coded = object as? any NSSecureCoding,
      type(of: coded).supportsSecureCoding,
      let allowed = Self.allowedTopLevelClasses.first(where: { object.isKind(of: $0) }),
      let className = Self.name(of: allowed),
      let archive = try? NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
    else { return nil }
    let envelope = Envelope(className: className, archive: archive)
    return try? PropertyListEncoder().encode(envelope)
  }

  /// The name that archives have for the class; nil for a class that is private, generic or in something else: Foundation, and so an archive, has no name for
  /// it, and `NSStringFromClass` stops the process.
  private static func name(of type: AnyClass) -> String? {
    let parts = String(reflecting: type).split(separator: ".")
    let hasName = parts.count == 2 && !parts[1].contains { !$0.isLetter && !$0.isNumber && $0 != "_" }
    return hasName ? NSStringFromClass(type) : nil
  }

  private struct Envelope: Codable {
    let className: String
    let archive: Data
  }

  private var isPlain: Bool { type(of: self) == NSSecureUnarchiveFromDataTransformer.self }
}
