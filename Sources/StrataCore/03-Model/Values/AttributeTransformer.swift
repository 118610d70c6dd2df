import Foundation
import Synchronization

/// Turns values of a transformable attribute into the bytes a store keeps, and back.
///
/// Stands for Core Data's `ValueTransformer`, which Foundation has on Apple's systems only. Transformers are called
/// on the queue of the context whose object is read or set, several at a time, never inside a store's transaction.
///
/// Equal values should give equal bytes: a value that is set to what it was is then no change (rule 75).
public protocol AttributeTransformer: Sendable {
  /// The bytes that stand for `value`, which is not nil.
  /// - Throws: Whatever says why the value cannot be stored; the save of the object then fails with it.
  func transform(_ value: Any) throws -> Data

  /// The value that `data` stands for. The bytes come from a file: whatever they are, this must not trap.
  /// - Throws: Whatever says why the bytes are no such value.
  func reverse(_ data: Data) throws -> Any
}

/// The transformers of this process, by name. May be used from any thread.
///
/// Register a transformer before the store is added whose model names it: what it is then serves the store's objects
/// from there on (rule 342).
public enum AttributeTransformers {
  /// The name of the ready-made transformer, which also stands in for no name; see ``PlainValueTransformer``.
  public static let secureName = "NSSecureUnarchiveFromData"
  /// The names of the ready-made transformer: Core Data finds it by its class's name as well.
  static let secureNames: Set<String> = [secureName, "NSSecureUnarchiveFromDataTransformer"]
  /// Names under which Core Data decodes whatever class the bytes ask for: refused with the model (rule 343).
  static let insecureNames: Set<String> = [
    "NSKeyedUnarchiveFromData", "NSUnarchiveFromData", "NSKeyedUnarchiveFromDataTransformerName",
    "NSUnarchiveFromDataTransformerName",
  ]

  private static let known = Mutex<[String: any AttributeTransformer]>([:])

  /// Registers `transformer` under `name`, in place of one that had it; nil takes it away.
  ///
  /// Traps for ``secureName``, which stays what it is.
  public static func set(_ transformer: (any AttributeTransformer)?, forName name: String) {
    if secureNames.contains(name) { trap("the transformer “\(name)” is ready-made and cannot be replaced.") }
    known.withLock { $0[name] = transformer }
  }

  /// The transformer registered under `name`; the ready-made one for nil and for ``secureName``.
  public static func transformer(forName name: String?) -> (any AttributeTransformer)? {
    guard let name, !secureNames.contains(name) else { return PlainValueTransformer() }
    return known.withLock { $0[name] }
  }

  /// The names of all registered transformers, sorted.
  public static var names: [String] { known.withLock { $0.keys.sorted() } }
}

/// Keeps values of one type that is `Codable`, as JSON with sorted keys.
///
///     AttributeTransformers.set(CodableTransformer<Color>(), forName: "Color")
public struct CodableTransformer<Value: Codable & Sendable>: AttributeTransformer {
  /// A transformer for `Value`.
  public init() {}

  /// The JSON of `value`. A `Decimal` that is no number stands in it as `NaN`, which only JSON5 has.
  /// - Throws: an error that names both types when `value` is not a `Value`; an error for what is nested too deeply to be read again; `EncodingError`.
  public func transform(_ value: Any) throws -> Data {
    try CodableBytes.transform(value, of: Value.self)
  }

  /// The value in `data`.
  /// - Throws: `DecodingError` for bytes of another form; an error for JSON that is nested too deeply.
  public func reverse(_ data: Data) throws -> Any {
    try CodableBytes.reverse(data, of: Value.self)
  }
}

/// What ``CodableTransformer`` does, for every type that is `Codable`.
package enum CodableBytes {
  private static let writingKey = CodingUserInfoKey(rawValue: "Strata.CodableBytes")

  /// Whether an encoder makes the bytes of an attribute: those of equal values must stay equal from one version to the next.
  package static func isWriting(_ encoder: any Encoder) -> Bool {
    writingKey.map { encoder.userInfo[$0] != nil } ?? false
  }

  package static func transform<Value: Codable>(_ value: Any, of type: Value.Type) throws -> Data {
    guard let value = FoundationCollections.cast(value, as: Value.self) else {
      throw UnsuitableValue(value, wanted: "\(Value.self)")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    if let writingKey { encoder.userInfo[writingKey] = true }
    // Not in Apple's default form, which has no NaN.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    let data = try encoder.encode([value])
    // It could not be read again. In a short text there is no room for so many brackets.
    guard data.count <= BoundedJSON.limit || BoundedJSON.isBounded(data) else { throw BoundedJSON.TooDeep() }
    return data
  }

  package static func reverse<Value: Codable>(_ data: Data, of type: Value.Type) throws -> Any {
    guard BoundedJSON.isBounded(data) else { throw BoundedJSON.TooDeep() }
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    let values: [Value]
    do { values = try decoder.decode([Value].self, from: data) } catch {
      // Foundation writes NaN for a Decimal that is no number, and reads it as JSON5 alone.
      guard BoundedJSON.holdsNaN(data) else { throw error }
      decoder.allowsJSON5 = true
      values = try decoder.decode([Value].self, from: data)
    }
    guard values.count == 1 else { throw UnsuitableValue(values, wanted: "one \(Value.self)") }
    return values[0]
  }
}

/// The transformer of attributes that name none: strings, numbers, booleans, dates, data, UUIDs, URLs, `NSNull`, and arrays, sets and
/// dictionaries of those, at most 16 levels deep.
///
/// Where Core Data keeps a secure archive of allowed classes, this keeps JSON whose every value says what it is, so no
/// class is ever made because bytes ask for it. Whole numbers come back as `Int`, collections as `[Any]`, `Set<AnyHashable>`,
/// `[String: Any]`, and `[AnyHashable: Any]` when a key is no string; everything else as it was. Foundation's reference types count as their
/// values. Ordered and counted sets are refused.
public struct PlainValueTransformer: AttributeTransformer {
  /// The ready-made transformer.
  public init() {}

  /// The JSON of `value`, in which every value names its type.
  /// - Throws: an error that lists the types when `value` is none of them.
  public func transform(_ value: Any) throws -> Data {
    guard let document = UserInfoDocument(value: value, key: Self.key) else {
      throw UnsuitableValue(
        value,
        wanted:
          "string, number, boolean, date, data, UUID, URL or null, and no array, set or dictionary of those"
      )
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(document)
  }

  /// The plain value in `data`.
  /// - Throws: `DecodingError`, or an error that says so, for bytes that are no plain value.
  public func reverse(_ data: Data) throws -> Any {
    let document = try BoundedJSON.decode(UserInfoDocument.self, from: data)
    guard document.entries.count == 1, let value = document.userInfo[Self.key] else {
      throw UnsuitableValue(data, wanted: "plain value")
    }
    return value
  }

  private static let key = "value"
}

/// A transformer was given something it is not for.
struct UnsuitableValue: Error, CustomStringConvertible, LocalizedError {
  let description: String
  var errorDescription: String? { description }

  init(_ value: Any, wanted: String) { description = "A value of type \(type(of: value)) is no \(wanted)." }
}
