import Foundation
import StrataCore

// Code for Core Data writes `NSPredicate(format: "id == %@", id as CVarArg)`, since Apple's initialiser takes variable arguments. Here it takes
// any value, and needs nothing of the conformance but its being there.

// `_CVarArgObject` is the standard library's, for systems without Objective-C: what makes a list holds the object as long as the list.

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension UUID: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension Date: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension URL: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self, text: absoluteString)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self, text: absoluteString) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension Data: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension Decimal: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

// Foundation on Linux knows `NSString` only, and prints no other object for `%@`. Not all of `NSObject`: `NSString` would conform twice.

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSValue: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSDate: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSUUID: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSURL: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSData: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSNull: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSArray: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSSet: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSOrderedSet: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSDictionary: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSPredicate: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSExpression: CVarArg, _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSManagedObject: CVarArg, _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSManagedObjectID: CVarArg, _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSManagedObjectIDReference: CVarArg, _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

/// So that `as CVarArg` compiles, and functions with variable arguments take it; a predicate takes the value itself.
extension NSEntityDescription: CVarArg, _CVarArgObject {
  /// As the object below, which is not released, since it is unknown when it was used. Whoever makes a list asks for the object.
  public var _cVarArgEncoding: [Int] { ListedText.encoding(ListedText(self)) }
  /// A text, which functions print for `%@`, and which knows the value.
  public var _cVarArgObject: any CVarArg { ListedText(self) }
}

// Swift's lists are none: every `[any CVarArg]` would then go where a single argument is wanted, unseen.
