import Foundation

/// A batch delete: which rows go, whether they may, who loses his reference to them, and only then the rows themselves.
///
/// ```
///   find      the rows that match
///   cascade   what their delete rules take along, until nothing more comes
///   deny      does one of them still refer to an object that stays?           then nothing is deleted
///   nullify   references to them, in rows that stay
///   delete    the rows; edges, index entries, large values go along
/// ```
///
/// The rules are those of a context (rules 212, 213), and so is what they take together: a relationship with the rule deny does
/// not keep an object whose members go in the same batch. Eight bytes of memory for each row that goes.
struct BatchDeleting {
  let writing: BatchWriting
  /// The rows that go, by hierarchy.
  private var rows: [ReferenceSet]

  private var schema: Schema { writing.parts.schema }
  private var catalogue: StoreCatalogue { writing.catalogue }

  init(_ writing: BatchWriting) {
    self.writing = writing
    rows = Array(repeating: ReferenceSet(), count: writing.parts.schema.hierarchies.count)
  }

  mutating func run(_ deletion: BatchDeletion, _ transaction: borrowing WriteTransaction) throws {
    try find(deletion, transaction.read)
    try cascade(transaction.read)
    try deny(transaction.read)
    // In order, so that both share them.
    for hierarchy in rows.indices { _ = rows[hierarchy].all() }
    writing.going = rows
    writing.progress.begin(total: rows.reduce(0) { $0 + $1.count })
    try nullify(transaction)
    try noteRelated(transaction.read)
    try delete(transaction)
  }

  // MARK: Which rows

  private mutating func find(_ deletion: BatchDeletion, _ transaction: borrowing ReadTransaction) throws {
    var found: ContiguousArray<UInt64> = []
    switch deletion {
    case .matching(let request):
      try BatchSearch(request, writing).forEach(transaction) { key, entity in
        found.append(Reference.bits(key, entityCode: catalogue.entityCodes[entity]))
      }
      rows[request.hierarchyNumber].begin(with: found)
    case .rows(let hierarchy, let keys):
      for key in Set(keys).sorted() {
        try writing.look()
        guard let row = try writing.row(RowAddress(hierarchy: hierarchy, key: key), transaction) else {
          continue
        }
        found.append(Reference.bits(key, entityCode: catalogue.entityCodes[row.entity]))
      }
      rows[hierarchy].begin(with: found)
    }
  }

  private mutating func cascade(_ transaction: borrowing ReadTransaction) throws {
    guard schema.relationships.contains(where: { $0.deleteRule == .cascade && !$0.isTransient }) else {
      return
    }
    var frontier = rows.indices.map { rows[$0].all() }
    while frontier.contains(where: { !$0.isEmpty }) {
      var next = [ContiguousArray<UInt64>](repeating: [], count: rows.count)
      for (hierarchy, references) in frontier.enumerated() {
        for reference in references {
          try writing.look()
          for relationship in try entity(reference).relationships
          where relationship.deleteRule == .cascade && !relationship.isTransient {
            let destination = relationship.destinationHierarchy
            for member in try others(relationship, reference, hierarchy, transaction)
            where rows[destination].insert(member) {
              next[destination].append(member)
            }
          }
        }
      }
      frontier = next
    }
  }

  private func entity(_ reference: UInt64) throws -> EntitySchema {
    guard let number = catalogue.entity(code: Reference.entityCode(reference)) else {
      throw UnknownCode(
        detail: "A reference is of an unknown entity, code \(Reference.entityCode(reference)).")
    }
    return schema.entities[number]
  }

  /// What a row is related to: references to rows that exist.
  private func others(
    _ relationship: RelationshipSchema, _ reference: UInt64, _ hierarchy: Int,
    _ transaction: borrowing ReadTransaction
  ) throws -> [UInt64] {
    let key = Reference.primaryKey(reference)
    if relationship.isToMany {
      return try writing.reader.members(
        EdgeSet(relationship: relationship.number), of: key, transaction)
    }
    guard let row = try writing.row(RowAddress(hierarchy: hierarchy, key: key), transaction) else {
      return []
    }
    let layout = writing.reader.layout(of: row)
    let other = withExtendedLifetime(row.keeper) {
      RowBytes.reference(row.base, layout.entry(of: relationship.slot))
    }
    let address = RowAddress(
      hierarchy: relationship.destinationHierarchy, key: Reference.primaryKey(other))
    // The rule `noAction` at the other end may have left a reference to nothing (rule 212).
    guard other != 0, let target = try writing.row(address, transaction) else { return [] }
    return [Reference.bits(address.key, entityCode: catalogue.entityCodes[target.entity])]
  }

  // MARK: Whether they may go

  private mutating func deny(_ transaction: borrowing ReadTransaction) throws {
    guard schema.relationships.contains(where: { $0.deleteRule == .deny && !$0.isTransient }) else { return }
    for hierarchy in rows.indices where !rows[hierarchy].isEmpty {
      for reference in rows[hierarchy].all() {
        try writing.look()
        let entity = try entity(reference)
        for relationship in entity.relationships
        where relationship.deleteRule == .deny && !relationship.isTransient {
          let others = try others(relationship, reference, hierarchy, transaction)
          let staying = others.first { !rows[relationship.destinationHierarchy].contains($0) }
          guard let staying else { continue }
          throw CoreDataError(
            .validationRelationshipDeniedDelete,
            "\(entity.name)/p\(Reference.primaryKey(reference)) cannot be deleted: its “\(relationship.name)” still has "
              + "p\(Reference.primaryKey(staying)), and the delete rule is deny. Nothing was deleted.",
            userInfo: [CoreDataError.Key.validationKey: relationship.name])
        }
      }
    }
  }

  // MARK: Who stays and refers to them

  private mutating func nullify(_ transaction: borrowing WriteTransaction) throws {
    for hierarchy in rows.indices where !rows[hierarchy].isEmpty {
      let members = schema.hierarchies[hierarchy].memberNumbers
      // Most entities are referred to only by edges.
      let isReferredTo = members.contains { number in
        let entity = schema.entities[number]
        return entity.relationships.contains { leadsBack($0) != nil }
          || entity.inbound.contains { $0.hasHiddenInverse && !$0.isToMany }
      }
      if !isReferredTo { continue }
      for reference in rows[hierarchy].all() {
        try writing.look()
        try nullify(reference, hierarchy, transaction)
      }
    }
    try writing.flush(transaction)
  }

  /// The to-one relationship through which members refer back and must stop to.
  private func leadsBack(_ relationship: RelationshipSchema) -> RelationshipSchema? {
    if relationship.isTransient || relationship.deleteRule == .noAction { return nil }
    // Of these all are deleted.
    if relationship.deleteRule == .cascade { return nil }
    guard let inverse = schema.inverse(of: relationship), !inverse.isToMany else { return nil }
    return inverse
  }

  private func nullify(_ reference: UInt64, _ hierarchy: Int, _ transaction: borrowing WriteTransaction)
    throws
  {
    let entity = try entity(reference)
    let key = Reference.primaryKey(reference)
    for relationship in entity.relationships {
      guard let inverse = leadsBack(relationship) else { continue }
      for other in try others(relationship, reference, hierarchy, transaction.read) {
        try clear(inverse, of: other, key, transaction)
      }
    }
    for relationship in entity.inbound where relationship.hasHiddenInverse && !relationship.isToMany {
      let edges = EdgeSet(relationship: relationship.number, isHiddenInverse: true)
      for other in try writing.reader.members(edges, of: key, transaction.read) {
        try clear(relationship, of: other, key, transaction)
      }
    }
  }

  // MARK: Who stays and has a member less

  /// Rows that stay and lose a member of which nothing but edges tells: their own bytes do not change.
  private mutating func noteRelated(_ transaction: borrowing ReadTransaction) throws {
    for hierarchy in rows.indices where !rows[hierarchy].isEmpty {
      let edges = schema.hierarchies[hierarchy].memberNumbers.map { edgesThatLead(to: schema.entities[$0]) }
      if edges.allSatisfy(\.isEmpty) { continue }
      for reference in rows[hierarchy].all() {
        try writing.look()
        let key = Reference.primaryKey(reference)
        for (edges, owners) in edgesThatLead(to: try entity(reference)) {
          for other in try writing.reader.members(edges, of: key, transaction)
          where !rows[owners].contains(other) {
            try writing.noteRelated(Reference.primaryKey(other), of: entity(other).number)
          }
        }
      }
    }
    writing.settleRelated()
  }

  /// What leads from a row to those that have it as a member, and their hierarchies.
  private func edgesThatLead(to entity: EntitySchema) -> [(edges: EdgeSet, hierarchy: Int)] {
    entity.relationships.filter { $0.isEdgeStored && $0.inverse != nil }.map {
      (EdgeSet(relationship: $0.number), $0.destinationHierarchy)
    }
      + entity.inbound.filter { $0.hasHiddenInverse && $0.isToMany }.map {
        (
          EdgeSet(relationship: $0.number, isHiddenInverse: true),
          schema.entities[$0.owner].hierarchyNumber
        )
      }
  }

  /// `other` refers no more to the row of that key, unless it goes as well.
  private func clear(
    _ relationship: RelationshipSchema, of other: UInt64, _ key: UInt64,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let hierarchy = schema.entities[relationship.owner].hierarchyNumber
    if rows[hierarchy].contains(other) { return }
    let address = RowAddress(hierarchy: hierarchy, key: Reference.primaryKey(other))
    if writing.isWaiting(address) { try writing.flush(transaction) }
    guard let row = try writing.row(address, transaction.read) else { return }
    let entry = writing.reader.layout(of: row).entry(of: relationship.slot)
    let reference = withExtendedLifetime(row.keeper) { RowBytes.reference(row.base, entry) }
    if Reference.primaryKey(reference) != key || reference == 0 { return }
    try writing.setReference(relationship, of: row, address.key, to: 0, transaction)
  }

  // MARK: The rows

  private mutating func delete(_ transaction: borrowing WriteTransaction) throws {
    for hierarchy in rows.indices where !rows[hierarchy].isEmpty {
      var rest = rows[hierarchy].all()[...]
      while !rest.isEmpty {
        try writing.delete(rest.prefix(writing.step), transaction)
        rest = rest.dropFirst(writing.step)
      }
    }
  }
}
