import Foundation
import StrataCore

// Code for Core Data writes `NSPredicate(format: "id == %@", id as CVarArg)`, since Apple's initialiser takes variable arguments. Here it takes
// any value, and needs nothing of the conformance but its being there.

/// So that `as CVarArg` compiles; a predicate takes the value itself.
extension UUID: @retroactive CVarArg {
  /// An object with the text, which functions print for `%@`, and which a list of arguments knows the value of. It is not released, as it is
  /// unknown when it was used.
  public var _cVarArgEncoding: [Int] { TextArguments.encoding(uuidString, self) }
}

/// So that `as CVarArg` compiles; a predicate takes the value itself.
extension Date: @retroactive CVarArg {
  /// An object with the text, which functions print for `%@`, and which a list of arguments knows the value of. It is not released, as it is
  /// unknown when it was used.
  public var _cVarArgEncoding: [Int] { TextArguments.encoding(description, self) }
}

/// So that `as CVarArg` compiles; a predicate takes the value itself.
extension URL: @retroactive CVarArg {
  /// An object with the text, which functions print for `%@`, and which a list of arguments knows the value of. It is not released, as it is
  /// unknown when it was used.
  public var _cVarArgEncoding: [Int] { TextArguments.encoding(absoluteString, self) }
}

/// So that `as CVarArg` compiles; a predicate takes the value itself.
extension Data: @retroactive CVarArg {
  /// An object with the text, which functions print for `%@`, and which a list of arguments knows the value of. It is not released, as it is
  /// unknown when it was used.
  public var _cVarArgEncoding: [Int] { TextArguments.encoding(description, self) }
}

/// So that `as CVarArg` compiles; a predicate takes the value itself.
extension Decimal: @retroactive CVarArg {
  /// An object with the text, which functions print for `%@`, and which a list of arguments knows the value of. It is not released, as it is
  /// unknown when it was used.
  public var _cVarArgEncoding: [Int] { TextArguments.encoding(description, self) }
}

// Lists are none: every `[any CVarArg]` would then go where a single argument is wanted, unseen.

/// The texts that stand for values in lists of arguments. Foundation prints no other objects than its own texts there.
enum TextArguments {
  /// By the address of the text, which is never freed, so that no other object has it.
  private static let values = Mutex<[UInt: any Sendable]>([:])

  static func encoding(_ text: String, _ value: any Sendable) -> [Int] {
    let address = UInt(bitPattern: Unmanaged.passRetained(NSString(string: text)).toOpaque())
    values.withLock { $0[address] = value }
    return [Int(bitPattern: address)]
  }

  /// What the text at an address stands for; nil for any other object.
  static func value(at address: UInt) -> (any Sendable)? { values.withLock { $0[address] } }
}
