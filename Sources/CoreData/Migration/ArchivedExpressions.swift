import Foundation
import StrataCore

/// Reads expressions from the keyed archives in which Xcode keeps those of mapping models: the classes and keys are those of Apple's Foundation.
///
/// | class in the archive | type | what it is |
/// |---|---|---|
/// | `NSConstantValueExpression` | 0 | `NSConstantValue` |
/// | `NSSelfExpression` | 1 | the object itself |
/// | `NSVariableExpression` | 2 | `NSVariable` |
/// | `NSKeyPathExpression` | 3 | `NSArguments` of one `NSKeyPathSpecifierExpression`, of `NSOperand` |
/// | `NSFunctionExpression` | 3, 4 | `NSSelectorName` with `NSArguments`, of `NSOperand` or one of the predefined ones |
/// | `NSKeyPathSpecifierExpression` | 10 | `NSKeyPath` |
/// | `NSAggregateExpression` | 14 | `NSCollection` |
struct ArchivedExpressions {
  private let archive: KeyedArchive

  /// - Throws: `CoreDataError` 134110 for what is no archive, an archive of anything else, and a kind of expression that is not read.
  static func expression(from data: Data) throws -> NSExpression {
    guard let archive = KeyedArchive(data) else {
      throw CoreDataError(.migration, "an archived expression cannot be read: it is no keyed archive")
    }
    return try ArchivedExpressions(archive: archive).expression(archive.root, 0)
  }

  private static let names: Set<String> = [
    "NSExpression", "NSConstantValueExpression", "NSVariableExpression", "NSSelfExpression",
    "NSKeyPathExpression", "NSKeyPathSpecifierExpression", "NSFunctionExpression", "NSAggregateExpression",
    "NSSymbolicExpression",
  ]

  private func refused(_ words: String) -> CoreDataError {
    CoreDataError(.migration, "an archived expression is not read: \(words)")
  }

  private func expression(_ object: KeyedArchive.Coded, _ depth: Int) throws -> NSExpression {
    guard Self.names.contains(object.className) else { throw refused("it has a \(object.className)") }
    // An archive may contain itself.
    guard depth < 64 else { throw refused("it is nested too deeply") }
    guard let type = archive.integer("NSExpressionType", of: object) else { throw refused("it has no type") }
    switch type {
    case 0:
      do {
        return NSExpression(forConstantValue: try archive.value("NSConstantValue", of: object))
      } catch let unknown as KeyedArchive.UnknownValue {
        throw refused("its constant is \(unknown.description)")
      }
    case 1: return .expressionForEvaluatedObject()
    case 2:
      guard let variable = archive.text("NSVariable", of: object) else {
        throw refused("a variable has no name")
      }
      return NSExpression(forVariable: variable)
    case 3, 4: return try function(object, depth)
    case 10:
      guard let path = archive.text("NSKeyPath", of: object) else { throw refused("a key path is missing") }
      return NSExpression(forConstantValue: path)
    case 14:
      return NSExpression(forAggregate: try list("NSCollection", of: object, depth))
    default: throw refused("it is of type \(type)")
    }
  }

  private func list(_ key: String, of object: KeyedArchive.Coded, _ depth: Int) throws -> [NSExpression] {
    guard let elements = archive.codedList(key, of: object) else {
      throw refused("\(key) has something else than expressions")
    }
    return try elements.map { try expression($0, depth + 1) }
  }

  private func function(_ object: KeyedArchive.Coded, _ depth: Int) throws -> NSExpression {
    guard let selector = archive.text("NSSelectorName", of: object) else {
      throw refused("a function has no name")
    }
    let operand = archive.coded("NSOperand", of: object)
    let type = operand.flatMap { archive.integer("NSExpressionType", of: $0) }
    if let arguments = archive.codedList("NSArguments", of: object), arguments.count == 1,
      let path = archive.text("NSKeyPath", of: arguments[0])
    {
      guard let operand, type != 1 else { return NSExpression(forKeyPath: path) }
      return NSExpression(.keyPath(try expression(operand, depth + 1), path))
    }
    let arguments = try list("NSArguments", of: object, depth)
    // The predefined functions are those of a class, which no operand stands for here.
    guard let operand, let type, [2, 3, 4].contains(type) else {
      return NSExpression(forFunction: selector, arguments: arguments)
    }
    return NSExpression(
      forFunction: try expression(operand, depth + 1), selectorName: selector, arguments: arguments)
  }
}
