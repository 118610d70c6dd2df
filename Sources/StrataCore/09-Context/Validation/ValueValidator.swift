import Foundation
import Synchronization

/// A class's own check of one property, for what no rule of the model can say. Core Data's `validate<Key>:error:`.
///
///     override class var valueValidators: [ValueValidator] {
///       [
///         ValueValidator("name") { (surfer: Surfer, name: inout String?) in
///           name = name?.trimmingCharacters(in: .whitespaces)
///         }
///       ]
///     }
///
/// Called by `validateValue(_:forKey:)` with a value that has passed what the model says, and so by every save of a new or
/// changed object, on the context's queue. It may replace the value: then the model's rules and the validators look at the new
/// one, until it stays as it is. Any error refuses the value and reaches the caller as it is.
public struct ValueValidator: Sendable {
  /// The name of the property.
  public let key: String
  let validate: @Sendable (ManagedObject, inout Any?) throws -> Void

  /// A validator of the property `key`.
  ///
  /// `Value` is the property's Swift type: any integer type for integers (a value that does not fit traps), the class at the
  /// other end of a to-one relationship, `Set` of it or, where ordered, `Array` of a to-many one; `Any` takes every value. An
  /// object of another class than `Object`, or a value of another type than `Value`, traps, naming both.
  public init<Object: ManagedObject, Value>(
    _ key: String, _ validate: @escaping @Sendable (Object, inout Value?) throws -> Void
  ) {
    self.key = key
    self.validate = { object, value in
      guard let typed = object as? Object else {
        trap("the validator of “\(key)” is for objects of class \(Object.self), and \(object) is none.")
      }
      var converted: Value?
      if let value {
        converted = Self.convert(value)
        if converted == nil {
          trap("the validator of \(Object.self).\(key) takes \(Value.self) and was given \(type(of: value)).")
        }
      }
      try validate(typed, &converted)
      value = converted.map { $0 }
    }
  }

  private static func convert<Value>(_ value: Any) -> Value? {
    if let value = value as? Value { return value }
    guard let integer = value as? Int64, let type = Value.self as? any BinaryInteger.Type else { return nil }
    return type.init(exactly: integer) as? Value
  }
}

/// The validators of one class, by property.
struct ClassValidators: Sendable {
  /// The properties in the order in which the class names them.
  let keys: [String]
  private let byKey: [String: [ValueValidator]]

  private init(_ validators: [ValueValidator]) {
    byKey = Dictionary(grouping: validators, by: \.key)
    var seen = Set<String>()
    keys = validators.map(\.key).filter { seen.insert($0).inserted }
  }

  subscript(_ key: String) -> [ValueValidator] { byKey[key] ?? [] }

  private static let known = Mutex<[ObjectIdentifier: ClassValidators]>([:])

  /// The validators of `type`, asked for once.
  static func of(_ type: ManagedObject.Type) -> ClassValidators {
    let key = ObjectIdentifier(type)
    if let known = known.withLock({ $0[key] }) { return known }
    // The class is asked outside the lock.
    let new = ClassValidators(type.valueValidators + (ClassKeys.of(type)?.validators ?? []))
    known.withLock { $0[key] = new }
    return new
  }
}

extension ManagedObject: ValueChecking {
  static var validatedKeys: [String] { valueValidators.map(\.key) }
  static var hasValidators: Bool { !ClassValidators.of(self).keys.isEmpty }
  static var checksEveryValue: Bool { !ValidationOverrides.of(self).isEmpty }
  static var announcesChanges: Bool { ChangeOverrides.contains(self) }
}
