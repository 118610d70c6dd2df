import Foundation

/// A batch update: finds the rows in the store as it was before the batch, and writes them as they become.
///
/// ```
///   read transaction    the last commit: predicate and expressions see only this, whatever the batch has written by then
///   write transaction   the new rows
/// ```
///
/// While the writer is held no other commit happens: both transactions begin with the same rows.
struct BatchUpdating {
  let writing: BatchWriting
  private let update: BatchUpdate
  /// The slots that get values.
  private let slots: SlotBitmap
  /// What the rows themselves make of some slots.
  private let expressions: [(slot: Int, expression: BoundExpression)]
  /// `now()` in all of them.
  private let now = Date()
  /// One draft for each entity whose rows were met: it says what every row of the entity gets.
  private var drafts: [Int: RowDraft] = [:]
  /// The to-one relationships among the slots whose other end is a to-one relationship, too: rows at the other end change.
  private let partnerships: [RelationshipSchema]
  /// Whether elements of composite attributes are among the slots.
  private let setsElements: Bool

  private var schema: Schema { writing.parts.schema }

  init(_ update: BatchUpdate, _ writing: BatchWriting) {
    self.update = update
    self.writing = writing
    slots = update.assignments.reduce(into: SlotBitmap()) { $0.insert($1.slot) }
    partnerships = update.partnerships(writing.parts.schema)
    let binder = update.request.binder(storeIdentifier: writing.parts.identifier)
    expressions = update.assignments.compactMap { assignment in
      guard case .expression(let expression) = assignment.value else { return nil }
      return (assignment.slot, binder.bind(expression))
    }
    setsElements = update.assignments.contains {
      update.request.entity.attributes[$0.slot].composite != nil
    }
  }

  mutating func run(_ transaction: borrowing WriteTransaction) throws {
    writing.progress.begin(total: nil)
    let search = BatchSearch(update.request, writing)
    try writing.parts.environment.read { snapshot in
      let evaluation = Evaluation(
        StoredView(writing.reader, snapshot), now: now, entityName: update.request.entity.name)
      if let putting = BatchPutting(update, slots, writing) {
        return try putting.run(search, snapshot, transaction) { key, row in
          try values(for: row, key, evaluation, snapshot)
        }
      }
      try search.forEachRow(snapshot) { key, row in
        let draft = try values(for: row, key, evaluation, snapshot)
        try change(row, key, draft, transaction)
      }
    }
    if !writing.hasWritten { return try writing.flush(transaction, isAll: true) }
    try writing.flush(transaction)
    for index in schema.indexes where index.isUnique && index.slots.intersects(slots) {
      try BatchUniqueness(index, writing).check(transaction.read)
    }
  }

  /// What a row gets.
  private mutating func values(
    for row: StoredRow, _ key: UInt64, _ evaluation: Evaluation<StoredView>,
    _ snapshot: borrowing ReadTransaction
  ) throws -> RowDraft {
    let draft = draft(of: row.entity)
    for (slot, expression) in expressions {
      let value = try evaluation.evaluate(expression, for: StoredNode(row: row, primaryKey: key))
      draft[slot] = try fitted(value.single, slot, row, key, snapshot)
    }
    if setsElements { try requireElements(row, key, draft) }
    return draft
  }

  private func change(
    _ row: StoredRow, _ key: UInt64, _ draft: RowDraft, _ transaction: borrowing WriteTransaction
  ) throws {
    writing.noteUpdated(key, of: row.entity)
    if partnerships.isEmpty { return try writing.update(row, key, draft, slots, transaction) }
    for relationship in partnerships {
      try partner(row, key, relationship, draft[relationship.slot], transaction)
    }
    // Others may have changed the row since.
    let address = RowAddress(hierarchy: schema.entities[row.entity].hierarchyNumber, key: key)
    if writing.isWaiting(address) { try writing.flush(transaction) }
    guard let newest = try writing.row(address, transaction.read) else { return }
    try writing.update(newest, key, draft, slots, transaction)
  }

  /// What an expression has come to, as the slot holds it.
  private func fitted(
    _ value: AttributeValue, _ slot: Int, _ row: StoredRow, _ key: UInt64,
    _ snapshot: borrowing ReadTransaction
  ) throws -> AttributeValue {
    let entity = schema.entities[row.entity]
    let attribute = entity.attributes[slot]
    if value.isNull {
      // Elements of composite attributes depend on the whole.
      if attribute.isOptional || attribute.composite != nil { return .null }
      throw CoreDataError(
        .validationMissingMandatoryProperty,
        "\(entity.name).\(attribute.name) is a required value, and its expression gives none for p\(key).",
        userInfo: [CoreDataError.Key.validationKey: attribute.name])
    }
    if let relationship = entity.relationship(slot: slot), case .reference(let bits) = value {
      // Identifiers do not know the store's code of the entity.
      let address = RowAddress(
        hierarchy: relationship.destinationHierarchy, key: Reference.primaryKey(bits))
      if let target = try writing.row(address, snapshot) {
        let reference = Reference.bits(
          address.key, entityCode: writing.catalogue.entityCodes[target.entity])
        if writing.catalogue.relationships.allows(relationship.number, reference) {
          return .reference(reference)
        }
      }
    } else if let fitted = value.fitted(to: attribute.type, cutsNumbers: update.cutsNumbers) {
      return fitted
    }
    throw CoreDataError(
      .managedObjectValidation,
      "\(entity.name).\(attribute.name) of p\(key) cannot take \(value), which its expression gives.",
      userInfo: [CoreDataError.Key.validationKey: attribute.name])
  }

  /// Of a composite attribute only some elements may be given values: whether it is whole is seen row by row.
  private func requireElements(_ row: StoredRow, _ key: UInt64, _ draft: RowDraft) throws {
    let entity = schema.entities[row.entity]
    let missing = entity.missingCompositeValue { slot in
      slots.contains(slot) ? draft.isNil(slot) : RowBytes.isNil(row.base, slot)
    }
    guard let missing else { return }
    throw CoreDataError(
      .validationMissingMandatoryProperty,
      "\(entity.name).\(missing.name) is a required value, which p\(key) would not have.",
      userInfo: [CoreDataError.Key.validationKey: missing.name])
  }

  private mutating func draft(of entity: Int) -> RowDraft {
    if let draft = drafts[entity] { return draft }
    let draft = RowDraft.make(schema.entities[entity].layout)
    for assignment in update.assignments {
      if case .constant(let value) = assignment.value { draft[assignment.slot] = value }
    }
    drafts[entity] = draft
    return draft
  }

  /// The other end of a one-to-one relationship refers back, its old partner and the row's old one to nothing.
  private func partner(
    _ row: StoredRow, _ key: UInt64, _ relationship: RelationshipSchema, _ value: AttributeValue,
    _ transaction: borrowing WriteTransaction
  ) throws {
    var reference: UInt64 = 0
    if case .reference(let bits) = value { reference = bits }
    try BatchPartners(writing, relationship).tie(key, entity: row.entity, to: reference, transaction)
  }
}

/// Keeps one-to-one relationships one to one, while a batch sets one end.
struct BatchPartners {
  private let writing: BatchWriting
  private let relationship: RelationshipSchema
  private let inverse: RelationshipSchema

  /// `relationship` has a to-one inverse.
  init(_ writing: BatchWriting, _ relationship: RelationshipSchema) {
    self.writing = writing
    self.relationship = relationship
    // Only called for relationships whose inverse was looked at.
    inverse = writing.parts.schema.inverse(of: relationship) ?? relationship
  }

  /// Everything but the row itself: what it referred to is free, what it refers to now refers back, and to nothing else.
  func tie(
    _ key: UInt64, entity: Int, to reference: UInt64, _ transaction: borrowing WriteTransaction
  ) throws {
    let schema = writing.parts.schema
    let here = schema.entities[relationship.owner].hierarchyNumber
    let there = relationship.destinationHierarchy
    let target = Reference.primaryKey(reference)
    if reference != 0, target == key, here == there {
      throw CoreDataError(
        .managedObjectValidation,
        "\(relationship.qualifiedName) of p\(key) cannot lead to the row itself in a batch.",
        userInfo: [CoreDataError.Key.validationKey: relationship.name])
    }
    let old = try current(relationship, of: RowAddress(hierarchy: here, key: key), transaction)
    if old == target { return }
    if old != 0 { try clear(inverse, RowAddress(hierarchy: there, key: old), key, transaction) }
    if target == 0 { return }
    let other = RowAddress(hierarchy: there, key: target)
    let former = try current(inverse, of: other, transaction)
    if former == key { return }
    if former != 0 { try clear(relationship, RowAddress(hierarchy: here, key: former), target, transaction) }
    guard let row = try newest(other, transaction) else { return }
    let own = Reference.bits(key, entityCode: writing.catalogue.entityCodes[entity])
    try writing.setReference(inverse, of: row, target, to: own, transaction)
  }

  /// The row as it is with everything that waits.
  private func newest(_ address: RowAddress, _ transaction: borrowing WriteTransaction) throws -> StoredRow? {
    if writing.isWaiting(address) { try writing.flush(transaction) }
    return try writing.row(address, transaction.read)
  }

  /// The key that a row refers to; 0 for none.
  private func current(
    _ relationship: RelationshipSchema, of address: RowAddress, _ transaction: borrowing WriteTransaction
  ) throws -> UInt64 {
    guard let row = try newest(address, transaction) else { return 0 }
    let entry = writing.reader.layout(of: row).entry(of: relationship.slot)
    return withExtendedLifetime(row.keeper) { Reference.primaryKey(RowBytes.reference(row.base, entry)) }
  }

  private func clear(
    _ relationship: RelationshipSchema, _ address: RowAddress, _ target: UInt64,
    _ transaction: borrowing WriteTransaction
  ) throws {
    guard try current(relationship, of: address, transaction) == target,
      let row = try newest(address, transaction)
    else { return }
    try writing.setReference(relationship, of: row, address.key, to: 0, transaction)
  }
}

extension BatchUpdate {
  /// The to-one relationships that get a value and whose other end is a to-one relationship, too.
  func partnerships(_ schema: Schema) -> [RelationshipSchema] {
    assignments.compactMap { assignment in
      request.entity.relationship(slot: assignment.slot).flatMap {
        schema.inverse(of: $0)?.isToMany == false ? $0 : nil
      }
    }
  }
}
