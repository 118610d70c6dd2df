import StrataCore

/// The transformers of this process, by name; each also serves attributes that name it.
enum ValueTransformerRegistry {
  private static let known = Mutex(Kept())

  private struct Kept: @unchecked Sendable {
    // @unchecked Sendable: transformers are called from several threads, as documented; the table is behind the lock.
    var transformers: [String: ValueTransformer] = [
      NSValueTransformerName.isNilTransformerName.rawValue: NilTransformer(isNil: true),
      NSValueTransformerName.isNotNilTransformerName.rawValue: NilTransformer(isNil: false),
      NSValueTransformerName.negateBooleanTransformerName.rawValue: NegationTransformer(),
      AttributeTransformers.secureName: NSSecureUnarchiveFromDataTransformer(),
    ]
  }

  static func transformer(named name: NSValueTransformerName) -> ValueTransformer? {
    // A registered object is handed out as it is.
    struct Found: @unchecked Sendable { let transformer: ValueTransformer? }
    return known.withLock { Found(transformer: $0.transformers[name.rawValue]) }.transformer
  }

  static func set(_ transformer: ValueTransformer?, named name: NSValueTransformerName) {
    struct Given: @unchecked Sendable { let transformer: ValueTransformer? }
    let given = Given(transformer: transformer)
    known.withLock { $0.transformers[name.rawValue] = given.transformer }
    AttributeTransformers.set(transformer.map { BridgedTransformer(transformer: $0) }, forName: name.rawValue)
  }

  static var names: [NSValueTransformerName] {
    known.withLock { $0.transformers.keys.sorted() }.map { NSValueTransformerName($0) }
  }
}

/// A value transformer as attributes use it: forwards to bytes, and back; a secure one backwards to bytes (rule 342).
private struct BridgedTransformer: AttributeTransformer, @unchecked Sendable {
  // @unchecked Sendable: see ValueTransformer; registering one states that it may be called from several threads.
  let transformer: ValueTransformer

  func transform(_ value: Any) throws -> Data {
    let isSecure = transformer is NSSecureUnarchiveFromDataTransformer
    switch isSecure ? transformer.reverseTransformedValue(value) : transformer.transformedValue(value) {
    case let data as Data: return data
    case let data as NSData: return data as Data
    case let other:
      if plain(other) == nil, let secure = transformer as? NSSecureUnarchiveFromDataTransformer {
        let allowed = type(of: secure).allowedTopLevelClasses.map { "\($0)" }.joined(separator: ", ")
        throw TransformationError(
          "\(type(of: transformer)) keeps \(allowed), and was given a \(type(of: value)) that it cannot keep")
      }
      throw TransformationError(
        "\(type(of: transformer)) made \(plain(other).map { "a \(type(of: $0))" } ?? "nothing") of a \(type(of: value)), not data"
      )
    }
  }

  func reverse(_ data: Data) throws -> Any {
    let isSecure = transformer is NSSecureUnarchiveFromDataTransformer
    let made = isSecure ? transformer.transformedValue(data) : transformer.reverseTransformedValue(data)
    guard let value = plain(made) else {
      throw TransformationError("\(type(of: transformer)) made nothing of \(data.count) bytes")
    }
    return value
  }
}

/// A transformer did not do what attributes need.
struct TransformationError: Error, CustomStringConvertible, LocalizedError {
  let description: String
  init(_ description: String) { self.description = description }
  var errorDescription: String? { description }
}

private final class NilTransformer: ValueTransformer {
  private let isNil: Bool
  init(isNil: Bool) { self.isNil = isNil }
  override class func transformedValueClass() -> AnyClass { NSNumber.self }
  override class func allowsReverseTransformation() -> Bool { false }
  override func transformedValue(_ value: Any?) -> Any? { (plain(value) == nil) == isNil }
}

private final class NegationTransformer: ValueTransformer {
  override class func transformedValueClass() -> AnyClass { NSNumber.self }
  override func transformedValue(_ value: Any?) -> Any? {
    guard case .boolean(let flag)? = AttributeValue(value, type: .boolean) else { return nil }
    return !flag
  }
}
