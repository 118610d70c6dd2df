import Foundation

/// Makes rows of values, for engines that keep them in another form.
///
/// Used by one thread; the rows it makes may be used by any.
package struct RowMaker: ~Copyable {
  private var writer = RowSlabWriter()

  package init() {}

  /// A row of the entity.
  ///
  /// - Parameters:
  ///   - version: Counts the saves of the record from 1.
  ///   - value: The value of each stored slot, of the slot's type: a reference for a to-one relationship, data for a transformable attribute.
  /// - Returns: The row, and the values that are too large for it: the engine must answer for them in `externalValue`.
  /// - Throws: what `value` throws; `CoreDataError` 134070 for a value of another type than the slot's, or one that is too long.
  package mutating func row(
    of entity: EntitySchema, stamp: RowStamp, primaryKey: UInt64, version: UInt32,
    value: (_ slot: Int) throws -> AttributeValue
  ) throws -> (row: RowSnapshot, externals: [ExternalValue]) {
    let draft = RowDraft.make(entity.layout)
    for attribute in entity.attributes where !attribute.isTransient && attribute.slot != entity.baselineSlot {
      draft[attribute.slot] = try value(attribute.slot)
    }
    do {
      let (row, externals) = try RowEncoder.encode(
        layout: entity.layout, stamp: stamp, primaryKey: primaryKey, version: version, base: nil,
        draft: draft, into: &writer)
      return (row, externals)
    } catch {
      throw CoreDataError(
        .persistentStoreOperation, "A record of \(entity.name) cannot be taken from the store: \(error)",
        userInfo: [NSUnderlyingErrorKey: error])
    }
  }
}

extension EntitySchema {
  /// The reference of a record of the entity, as rows and members have it.
  package static func reference(primaryKey: UInt64, stamp: RowStamp) -> UInt64 {
    Reference.bits(primaryKey, entityCode: stamp.entityCode)
  }
}

extension EntitySchema {
  /// What rows hold in `slot` for a value that key-value coding would give: data for that of a transformable attribute.
  ///
  /// - Throws: `CoreDataError` 1550 for a value that the attribute does not take; what a transformer throws.
  package func storedValue(_ value: Any?, slot: Int) throws -> AttributeValue {
    let attribute = attributes[slot]
    guard let value, !isNilValue(value) else { return .null }
    if attribute.type == .transformable {
      let description = entityDescription.slotDescriptions[slot].property as? AttributeDescription
      guard
        let transformer = AttributeTransformers.transformer(forName: description?.valueTransformerName)
      else { throw refusal(attribute, value, "its transformer is not registered") }
      return .data(try transformer.transform(value))
    }
    guard let stored = AttributeValue(value, type: attribute.type) else {
      throw refusal(attribute, value, "the attribute is of type \(attribute.type)")
    }
    return stored
  }

  private func refusal(_ attribute: AttributeSchema, _ value: Any, _ reason: String) -> CoreDataError {
    CoreDataError(
      .managedObjectValidation,
      "The store has \(Swift.type(of: value)) \(value) for \(name).\(attribute.name), which cannot be: \(reason).",
      userInfo: [CoreDataError.Key.validationKey: attribute.name])
  }
}
