import Foundation

// Code for Core Data writes `NSPredicate(format: "id == %@", id as CVarArg)`, since Apple's initialiser takes variable arguments. Here it takes
// any value, and needs nothing of the conformance but its being there.

/// So that `as CVarArg` compiles; a predicate takes the value itself.
extension UUID: @retroactive CVarArg {
  /// An object with the text: for functions that print with `%@`. It is not released, as it is unknown when it was printed.
  public var _cVarArgEncoding: [Int] { textArgument(uuidString) }
}

/// So that `as CVarArg` compiles; a predicate takes the value itself.
extension Date: @retroactive CVarArg {
  /// An object with the text: for functions that print with `%@`. It is not released, as it is unknown when it was printed.
  public var _cVarArgEncoding: [Int] { textArgument(description) }
}

/// So that `as CVarArg` compiles; a predicate takes the value itself.
extension URL: @retroactive CVarArg {
  /// An object with the text: for functions that print with `%@`. It is not released, as it is unknown when it was printed.
  public var _cVarArgEncoding: [Int] { textArgument(absoluteString) }
}

private func textArgument(_ text: String) -> [Int] {
  [Int(bitPattern: Unmanaged.passRetained(NSString(string: text)).toOpaque())]
}
