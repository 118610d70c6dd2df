import Foundation

/// The derived values of one row, from the rows and edges of a transaction.
struct DerivedValues {
  let reader: RowReader
  let row: StoredRow
  let primaryKey: UInt64
  /// The moment of the save that writes the row; nil when it is not being saved.
  let now: Date?

  private var schema: Schema { reader.parts.schema }
  private var attributes: [AttributeSchema] { schema.entities[row.entity].attributes }

  /// The value of a derived attribute; nil when it stays what it is.
  /// - Throws: `CoreDataError` 1610 for a sum that does not fit.
  func value(of derived: DerivedSchema, _ transaction: borrowing ReadTransaction) throws -> AttributeValue? {
    switch derived.source {
    case .now: return now.map { .date($0) }
    case .count(let relationship):
      let count = try reader.memberCount(
        EdgeSet(relationship: relationship), of: primaryKey, transaction)
      return try fitting(.integer(Int64(count)), derived)
    case .sum(let relationship, let slot):
      return try fitting(try sum(slot, of: relationship, derived, transaction), derived)
    case .own(let slot):
      let value = try reader.value(
        row, slot, primaryKey: primaryKey, externals: [], transaction)
      return Self.formed(value, derived.form)
    case .across(let relationship, let slot):
      return Self.formed(try value(slot, across: relationship, transaction), derived.form)
    }
  }

  private func value(_ slot: Int, across number: Int, _ transaction: borrowing ReadTransaction) throws
    -> AttributeValue
  {
    let relationship = schema.relationships[number]
    let layout = schema.entities[row.entity].layout
    guard case .reference(let bits)? = RowBytes.value(row.base, relationship.slot, layout) else {
      return .null
    }
    return try value(slot, ofRow: Reference.primaryKey(bits), relationship, transaction)
  }

  /// A value of a row at the end of a relationship; nil-valued when the row is gone.
  private func value(
    _ slot: Int, ofRow key: UInt64, _ relationship: RelationshipSchema,
    _ transaction: borrowing ReadTransaction
  ) throws -> AttributeValue {
    guard let row = try reader.row(key, of: relationship.destinationHierarchy, transaction) else {
      return .null
    }
    return try reader.value(row, slot, primaryKey: key, externals: [], transaction)
  }

  /// Adds up exactly where the numbers are exact.
  private func sum(
    _ slot: Int, of number: Int, _ derived: DerivedSchema, _ transaction: borrowing ReadTransaction
  ) throws -> AttributeValue {
    let relationship = schema.relationships[number]
    let type = schema.entities[relationship.destination].attributes[slot].type
    let members = try reader.members(EdgeSet(relationship: number), of: primaryKey, transaction)
    var (whole, exact, approximate) = (Int128(0), Decimal(0), 0.0)
    for member in members {
      switch try value(slot, ofRow: Reference.primaryKey(member), relationship, transaction) {
      case .integer(let value): whole += Int128(value)
      case .decimal(let value): exact += value
      case .double(let value): approximate += value
      case .float(let value): approximate += Double(value)
      default: continue
      }
    }
    switch type {
    case .decimal: return .decimal(exact)
    case .double, .float: return .double(approximate)
    default:
      guard let sum = Int64(exactly: whole) else { throw tooLarge(derived) }
      return .integer(sum)
    }
  }

  private func fitting(_ value: AttributeValue, _ derived: DerivedSchema) throws -> AttributeValue {
    guard let fitted = value.converted(to: attributes[derived.slot].type) else { throw tooLarge(derived) }
    return fitted
  }

  private func tooLarge(_ derived: DerivedSchema) -> CoreDataError {
    let entity = schema.entities[row.entity]
    let name = attributes[derived.slot].name
    return CoreDataError(
      .validationNumberTooLarge,
      "\(entity.name).\(name) of p\(primaryKey) would be too large for its type.",
      userInfo: [CoreDataError.Key.validationKey: name])
  }

  private static func formed(_ value: AttributeValue, _ form: Derivation.Form?) -> AttributeValue {
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
}
