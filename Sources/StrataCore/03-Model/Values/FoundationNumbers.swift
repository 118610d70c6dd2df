import Foundation

/// Numbers as code written for Core Data gets them.
///
/// That code casts: `value as? Int`. A Swift `Int64` in an `Any` is an `Int64` and nothing else, where an `NSNumber` can be cast to every number that holds it.
package enum FoundationNumbers {
  /// A number or a truth value of Swift's as an `NSNumber`, a `Decimal` as an `NSDecimalNumber`; anything else, Foundation's own included, as it is.
  ///
  /// A `CGFloat` stays one, as do numbers of more than 64 bits: on Linux an `NSNumber` cannot be cast to them.
  package static func handedOut(_ value: Any) -> Any {
    (value as? any NumberOfSwift)?.foundationNumber ?? value
  }

  /// The same of an optional.
  package static func handedOut(optional value: Any?) -> Any? { value.map { handedOut($0) } }
}

extension AttributeValue {
  /// As ``anyValue``, with numbers as ``FoundationNumbers`` hands them out.
  @inline(__always)
  var foundationValue: Any? {
    switch self {
    case .integer(let number): NSNumber(value: number)
    case .double(let number): NSNumber(value: number)
    case .float(let number): NSNumber(value: number)
    case .boolean(let flag): NSNumber(value: flag)
    case .decimal(let number): NSDecimalNumber(decimal: number)
    default: anyValue
    }
  }
}

/// Swift's numbers that Foundation's can be cast to.
private protocol NumberOfSwift {
  var foundationNumber: NSNumber { get }
}

extension Int: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension Int8: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension Int16: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension Int32: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension Int64: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension UInt: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension UInt8: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension UInt16: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension UInt32: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension UInt64: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension Double: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension Float: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension Bool: NumberOfSwift { fileprivate var foundationNumber: NSNumber { NSNumber(value: self) } }
extension Decimal: NumberOfSwift {
  fileprivate var foundationNumber: NSNumber { NSDecimalNumber(decimal: self) }
}
