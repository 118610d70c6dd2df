import Foundation

/// A value of the program that can be an argument of a format string (`%@`), the value of a variable or a constant of a
/// `#Predicate`, beside those that are understood anyway: texts, numbers, `Bool`, `Date`, `Data`, `UUID`, `URL`, `Decimal`, their
/// Foundation classes, `NSNull` and nil, enumerations with such raw values, and arrays and sets of all of these.
public protocol PredicateArgument {
  /// What stands in the predicate for the value.
  var predicateExpression: FetchExpression { get }
}

extension FetchExpression: PredicateArgument {
  /// The expression itself.
  public var predicateExpression: FetchExpression { self }
}

extension ManagedObjectID: PredicateArgument {
  /// The object with this identifier (rule 107).
  public var predicateExpression: FetchExpression { .objects([self]) }
}

extension EntityDescription: PredicateArgument {
  /// The entity, to be compared with `entity` of an object, and with `changedEntity` of a change in a store's history.
  public var predicateExpression: FetchExpression { .entity(name ?? "") }
}

/// A value that cannot stand in a predicate.
public struct PredicateArgumentError: Error, Sendable, Hashable, CustomStringConvertible, LocalizedError {
  /// Why, in words.
  public let reason: String
  /// The variable the value was given for; nil of a value that belongs to none.
  public let variable: String?

  init(_ reason: String, variable: String? = nil) {
    self.reason = reason
    self.variable = variable
  }

  public var description: String {
    (variable.map { "The value of $\($0) cannot stand in a predicate: " }
      ?? "A value cannot stand in a predicate: ")
      + reason + "."
  }

  public var errorDescription: String? { description }
}

extension FetchExpression {
  /// A value of the program as a constant, a list or objects; see ``PredicateArgument``.
  ///
  /// A list whose elements are all objects becomes one `objects`, a list of one object a list of it; `[UInt8]` is a list of numbers, `Data` is a value.
  ///
  /// - Throws: ``PredicateArgumentError`` for a value of another type, a whole number beyond all decimals, a range, a list in a list.
  public init(argument: Any?) throws {
    self = try Self.argument(argument, isElement: false)
  }

  private static func argument(_ argument: Any?, isElement: Bool) throws -> FetchExpression {
    guard let argument, !isNilValue(argument) else { return .constant(.null) }
    if let argument = argument as? any PredicateArgument { return argument.predicateExpression }
    switch argument {
    case is String, is Substring, is Data, is NSString, is NSData: break
    case is NSDictionary, is [AnyHashable: Any]:
      throw PredicateArgumentError("a dictionary is neither a value of an attribute nor a list of such")
    case let elements as NSArray: return try list(Array(elements), isElement)
    case let elements as NSSet: return try list(elements.allObjects, isElement)
    case let elements as NSOrderedSet: return try list(elements.array, isElement)
    case let range as any RangeExpression:
      throw PredicateArgumentError("\(type(of: range)) is a range; write BETWEEN with two values")
    case let elements as any Sequence: return try list(elements, isElement)
    default: break
    }
    if let value = AttributeValue(argument, type: .undefined) { return .constant(value) }
    if let character = argument as? Character { return .constant(.string(String(character))) }
    if let raw = argument as? any RawRepresentable {
      return try Self.argument(raw.rawValue, isElement: isElement)
    }
    if argument is any BinaryInteger || argument is NSNumber {
      throw PredicateArgumentError("\(argument) has more digits than a decimal holds")
    }
    throw PredicateArgumentError("there is no attribute whose values are of type \(type(of: argument))")
  }

  private static func list(_ elements: some Sequence, _ isElement: Bool) throws -> FetchExpression {
    guard !isElement else { throw PredicateArgumentError("a list stands in a list") }
    return list(of: try elements.map { try argument($0, isElement: true) })
  }

  /// A list; of nothing but objects, these. One in a list stays in it: by itself it would be no list.
  package static func list(of elements: [FetchExpression]) -> FetchExpression {
    let objects = elements.compactMap { element -> [ManagedObjectID]? in
      if case .objects(let identifiers) = element { identifiers } else { nil }
    }
    guard !elements.isEmpty, objects.count == elements.count else { return .list(elements) }
    let identifiers = Array(objects.joined())
    return identifiers.count == 1 ? .list([.objects(identifiers)]) : .objects(identifiers)
  }
}
