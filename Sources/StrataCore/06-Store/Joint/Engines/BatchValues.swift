import Foundation

/// What a batch update gives to rows, for engines that keep them in another form. Used by one thread, for one state of a store: expressions see rows as `reading`
/// has them.
package final class BatchValues {
  private let update: BatchUpdate
  private let reading: any StoreReading
  private let schema: Schema
  private let codes: [UInt16]
  private let evaluation: Evaluation<ReadingView>
  private let expressions: [(slot: Int, expression: BoundExpression)]
  private let slots: SlotBitmap
  private let setsElements: Bool

  /// - Parameter codes: By entity number, the store's code of each entity.
  package init(
    _ update: BatchUpdate, in reading: any StoreReading, storeIdentifier: UUID, codes: [UInt16]
  ) {
    self.update = update
    self.reading = reading
    self.codes = codes
    let request = update.request
    schema = request.schema
    evaluation = Evaluation(
      ReadingView(reading, schema: request.schema, storeIdentifier: storeIdentifier),
      entityName: request.entity.name)
    let binder = request.binder(storeIdentifier: storeIdentifier)
    expressions = update.assignments.compactMap { assignment in
      guard case .expression(let expression) = assignment.value else { return nil }
      return (assignment.slot, binder.bind(expression))
    }
    slots = update.assignments.reduce(into: SlotBitmap()) { $0.insert($1.slot) }
    setsElements = update.assignments.contains { request.entity.attributes[$0.slot].composite != nil }
  }

  /// The values that a row gets, by slot.
  /// - Throws: `CoreDataError` for a value that its attribute cannot take; ``FetchError`` for what cannot be worked out; what reading throws.
  package func values(of row: FetchedRow) throws -> [(slot: Int, value: AttributeValue)] {
    guard let snapshot = row.snapshot else { return [] }
    let node = ReadingView.Node(row: snapshot, entity: row.entity, primaryKey: row.primaryKey)
    var result: [(slot: Int, value: AttributeValue)] = []
    for assignment in update.assignments {
      if case .constant(let value) = assignment.value { result.append((assignment.slot, value)) }
    }
    for (slot, expression) in expressions {
      let value = try evaluation.evaluate(expression, for: node).single
      result.append((slot, try fitted(value, slot, row)))
    }
    if setsElements { try requireElements(row, snapshot, result) }
    return result
  }

  /// What an expression has come to, as the slot holds it.
  private func fitted(_ value: AttributeValue, _ slot: Int, _ row: FetchedRow) throws -> AttributeValue {
    let entity = schema.entities[row.entity]
    let attribute = entity.attributes[slot]
    if value.isNull {
      // Elements of composite attributes depend on the whole.
      if attribute.isOptional || attribute.composite != nil { return .null }
      throw missing(
        attribute, entity, "is a required value, and its expression gives none for p\(row.primaryKey)")
    }
    if let relationship = entity.relationship(slot: slot), case .reference(let bits) = value {
      let target = try reading.row(
        hierarchy: relationship.destinationHierarchy, primaryKey: Reference.primaryKey(bits))
      // Identifiers do not know the store's code of the entity.
      if let target, schema.entities[relationship.destination].subtree.contains(target.entity) {
        return .reference(Reference.bits(target.primaryKey, entityCode: codes[target.entity]))
      }
    } else if let fitted = value.fitted(to: attribute.type, cutsNumbers: update.cutsNumbers) {
      return fitted
    }
    throw CoreDataError(
      .managedObjectValidation,
      "\(entity.name).\(attribute.name) of p\(row.primaryKey) cannot take \(value), which its expression gives.",
      userInfo: [CoreDataError.Key.validationKey: attribute.name])
  }

  /// Of a composite attribute only some elements may be given values: whether it is whole is seen row by row.
  private func requireElements(
    _ row: FetchedRow, _ snapshot: RowSnapshot, _ values: [(slot: Int, value: AttributeValue)]
  ) throws {
    let entity = schema.entities[row.entity]
    let given = Dictionary(values.map { ($0.slot, $0.value.isNull) }, uniquingKeysWith: { $1 })
    let lacking = entity.missingCompositeValue { slot in
      given[slot] ?? RowBytes.isNil(snapshot.base, slot)
    }
    if let lacking {
      throw missing(lacking, entity, "is a required value, which p\(row.primaryKey) would not have")
    }
  }

  private func missing(_ attribute: AttributeSchema, _ entity: EntitySchema, _ words: String) -> CoreDataError
  {
    CoreDataError(
      .validationMissingMandatoryProperty, "\(entity.name).\(attribute.name) \(words).",
      userInfo: [CoreDataError.Key.validationKey: attribute.name])
  }
}
