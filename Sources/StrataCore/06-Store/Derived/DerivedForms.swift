import Foundation

// What derived values are made of, the same for all engines.

/// The sum of an attribute of many objects, exact where the numbers are.
package struct DerivedSum {
  private let type: AttributeType
  private var whole = Int128(0)
  private var exact = Decimal(0)
  private var approximate = 0.0

  /// - Parameter type: That of the attribute.
  package init(_ type: AttributeType) { self.type = type }

  /// Adds a value; those that are nil count as 0. The order tells in sums of numbers that are not exact.
  package mutating func add(_ value: AttributeValue) {
    switch value {
    case .integer(let value): whole += Int128(value)
    case .decimal(let value): exact += value
    case .double(let value): approximate += value
    case .float(let value): approximate += Double(value)
    default: return
    }
  }

  /// Adds what some whole numbers come to.
  package mutating func add(whole number: Int128) { whole += number }

  /// Nil for whole numbers that come to more than an attribute has room for.
  package var value: AttributeValue? {
    switch type {
    case .decimal: .decimal(exact)
    case .double, .float: .double(approximate)
    default: Int64(exactly: whole).map { .integer($0) }
    }
  }
}

extension DerivedSchema {
  /// A copied value in the form that the attribute has it in.
  package func formed(_ value: AttributeValue) -> AttributeValue {
    guard let form, case .string(let text) = value else { return value }
    switch form {
    case .uppercase: return .string(text.uppercased())
    case .lowercase: return .string(text.lowercased())
    case .canonical:
      return .string(
        text.folding(
          options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive],
          locale: Locale(identifier: "en_US_POSIX")))
    }
  }

  /// A count or sum as the attribute of an entity keeps it.
  /// - Throws: `CoreDataError` 1610 for one that does not fit.
  package func fitted(_ value: AttributeValue, of entity: EntitySchema, primaryKey: UInt64) throws
    -> AttributeValue
  {
    guard let fitted = value.converted(to: entity.attributes[slot].type) else {
      throw tooLarge(entity, primaryKey)
    }
    return fitted
  }

  /// - Throws: `CoreDataError` 1610 for a sum that does not fit.
  package func sum(_ sum: DerivedSum, of entity: EntitySchema, primaryKey: UInt64) throws -> AttributeValue {
    guard let value = sum.value else { throw tooLarge(entity, primaryKey) }
    return try fitted(value, of: entity, primaryKey: primaryKey)
  }

  private func tooLarge(_ entity: EntitySchema, _ primaryKey: UInt64) -> CoreDataError {
    let name = entity.attributes[slot].name
    return CoreDataError(
      .validationNumberTooLarge,
      "\(entity.name).\(name) of p\(primaryKey) would be too large for its type.",
      userInfo: [CoreDataError.Key.validationKey: name])
  }
}
