import Foundation
import StrataCore

/// Reads expressions from the keyed archives in which Xcode keeps those of mapping models: the classes and keys are those of Apple's Foundation.
///
/// | class in the archive | what it is |
/// |---|---|
/// | `NSConstantValueExpression` | `NSConstantValue` |
/// | `NSVariableExpression` | `NSVariable` |
/// | `NSSelfExpression` | the object itself |
/// | `NSKeyPathExpression` | `NSArguments` of one `NSKeyPathSpecifierExpression`, of `NSOperand` |
/// | `NSFunctionExpression` | `NSSelectorName` with `NSArguments`, of `NSOperand` or one of the predefined ones |
/// | `NSAggregateExpression` | `NSCollection` |
enum ArchivedExpressions {
  /// - Throws: `CoreDataError` 134110 for an archive of anything else, or of a kind of expression that is not read.
  static func expression(from data: Data) throws -> NSExpression {
    let reader: NSKeyedUnarchiver
    do { reader = try NSKeyedUnarchiver(forReadingFrom: data) } catch {
      throw CoreDataError(.migration, "an archived expression cannot be read: \(error)")
    }
    defer { reader.finishDecoding() }
    for name in names { reader.setClass(ArchivedExpression.self, forClassName: name) }
    // Any other class in the archive is refused.
    reader.requiresSecureCoding = true
    guard
      let archived = reader.decodeObject(of: ArchivedExpression.self, forKey: NSKeyedArchiveRootObjectKey)
    else {
      throw CoreDataError(
        .migration, "an archived expression cannot be read\(reader.error.map { ": \($0)" } ?? "")")
    }
    return try archived.expression()
  }

  static let names = [
    "NSExpression", "NSConstantValueExpression", "NSVariableExpression", "NSSelfExpression",
    "NSKeyPathExpression", "NSKeyPathSpecifierExpression", "NSFunctionExpression", "NSAggregateExpression",
    "NSSymbolicExpression",
  ]
}

/// An expression as it lies in an archive, whatever its kind.
final class ArchivedExpression: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }

  // As Foundation numbers the types of expressions; 10 is what a key path is written as.
  private let type: Int
  private let operand: ArchivedExpression?
  private let selector: String?
  private let arguments: [ArchivedExpression]
  private let variable: String?
  private let keyPath: String?
  private let constant: Any?
  private let collection: [ArchivedExpression]

  init?(coder: NSCoder) {
    func list(_ key: String) -> [ArchivedExpression] {
      coder.decodeObject(of: [NSArray.self, ArchivedExpression.self], forKey: key) as? [ArchivedExpression]
        ?? []
    }
    func text(_ key: String) -> String? { coder.decodeObject(of: NSString.self, forKey: key) as String? }
    type = coder.decodeInteger(forKey: "NSExpressionType")
    operand = coder.decodeObject(of: ArchivedExpression.self, forKey: "NSOperand")
    selector = text("NSSelectorName")
    arguments = list("NSArguments")
    variable = text("NSVariable")
    keyPath = text("NSKeyPath")
    collection = list("NSCollection")
    constant = coder.decodeObject(
      of: [
        NSString.self, NSNumber.self, NSDate.self, NSData.self, NSArray.self, NSNull.self,
        NSDecimalNumber.self,
        NSUUID.self, NSURL.self,
      ], forKey: "NSConstantValue")
  }

  func encode(with coder: NSCoder) { stop("Archives of expressions are read only.") }

  /// - Throws: `CoreDataError` 134110 for a kind that is not read.
  func expression() throws -> NSExpression {
    switch type {
    case 0: return NSExpression(forConstantValue: constant)
    case 1: return .expressionForEvaluatedObject()
    case 2:
      guard let variable else { throw unknown() }
      return NSExpression(forVariable: variable)
    case 3, 4:
      guard let selector else { throw unknown() }
      if let path = arguments.first?.keyPath, arguments.count == 1 {
        guard let operand, operand.type != 1 else { return NSExpression(forKeyPath: path) }
        return NSExpression(.keyPath(try operand.expression(), path))
      }
      let read = try arguments.map { try $0.expression() }
      // The predefined functions are those of a class, which no operand stands for here.
      guard let operand, [2, 3, 4].contains(operand.type) else {
        return NSExpression(forFunction: selector, arguments: read)
      }
      return NSExpression(forFunction: try operand.expression(), selectorName: selector, arguments: read)
    case 10:
      guard let keyPath else { throw unknown() }
      return NSExpression(forConstantValue: keyPath)
    case 14: return NSExpression(forAggregate: try collection.map { try $0.expression() })
    default: throw unknown()
    }
  }

  private func unknown() -> CoreDataError {
    CoreDataError(.migration, "an archived expression of type \(type) is not read")
  }
}
