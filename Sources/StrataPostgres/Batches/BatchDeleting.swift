import Foundation
import StrataCore

/// A batch delete: which rows go, whether they may, who loses a reference to them, and then the rows. The rules are those of a context (rules 212, 213).
///
/// ```
///   find      the rows that match
///   cascade   what their delete rules take along, until nothing more comes: a statement for each relationship and step
///   deny      does one of them still refer to an object that stays?
///   nullify   references to them, in rows that stay
///   delete    the rows, and links with them
/// ```
///
/// Where nothing refers to rows of the hierarchy and they refer to nothing, all of it is one statement.
struct BatchDeleting {
  private let writing: BatchWriting
  private var mapping: StoreMapping { writing.mapping }
  private var schema: Schema { writing.schema }
  /// The rows that go, by hierarchy, and their entities.
  private var going: [[UInt64: Int]]

  init(_ writing: BatchWriting) {
    self.writing = writing
    going = Array(repeating: [:], count: writing.schema.hierarchies.count)
  }

  /// - Throws: as ``BatchWriting/write(_:known:going:)``; `CoreDataError` when a rule forbids it.
  mutating func run(_ deletion: BatchDeletion) throws {
    writing.progress.begin(total: nil)
    if case .matching(let request) = deletion, try runAsOneStatement(request) { return }
    try cascade(from: try find(deletion))
    try deny()
    writing.progress.begin(total: going.reduce(0) { $0 + $1.count })
    try nullify()
    try delete()
  }

  // MARK: One statement

  private func isAlone(_ hierarchy: Int) -> Bool {
    schema.hierarchies[hierarchy].memberNumbers.allSatisfy { number in
      let entity = schema.entities[number]
      return (writing.preserved[number] ?? []).isEmpty && entity.relationships.allSatisfy(\.isTransient)
        && !schema.relationships.contains { !$0.isTransient && $0.destinationHierarchy == hierarchy }
    }
  }

  private func runAsOneStatement(_ request: ResolvedFetchRequest) throws -> Bool {
    guard isAlone(request.hierarchyNumber) else { return false }
    let question = EngineRequest(request, storeIdentifier: writing.identifier)
    if question.candidates != nil { return false }
    let plan = FetchStatement(question, .identifiers, mapping)
    if plan.isEmpty { return true }
    guard plan.undecided.isEmpty, !question.hasStart else { return false }
    var statement = plan.statement
    statement.subject = SQLStatement.Subject(entity: request.entity.name)
    statement.prefix("WITH f AS (")
    statement +=
      "), d AS (DELETE FROM \(mapping.tables[request.hierarchyNumber].name) d USING f WHERE d.pk = f.pk RETURNING d.pk) SELECT f.pk, f.entity, d.pk IS NOT NULL FROM f LEFT JOIN d ON d.pk = f.pk ORDER BY f.pk"
    try writing.progress.stopIfCancelled()
    let result = try writing.ask([statement])[0]
    var keys: [Int: [UInt64]] = [:]
    for row in 0..<result.rowCount {
      guard result[row, 2]?.bytes.first == 1 else { throw writing.keptRow() }
      keys[try mapping.entity(code: try result.integer(row, 1)), default: []].append(try result.key(row, 0))
    }
    for (entity, keys) in keys.sorted(by: { $0.key < $1.key }) {
      for key in keys { writing.outcome.deleted.append(key, of: entity) }
      writing.note(NotedChange(.deleted, schema.entities[entity].name, keys: keys))
    }
    writing.progress.complete(writing.outcome.deleted.count)
    return true
  }

  // MARK: Which rows

  private struct Found {
    let hierarchy: Int
    let key: UInt64
    let entity: Int
  }

  private func find(_ deletion: BatchDeletion) throws -> [Found] {
    switch deletion {
    case .matching(let request):
      return try writing.reading.fetch(request, mode: .identifiers).rows.map {
        Found(hierarchy: request.hierarchyNumber, key: $0.primaryKey, entity: $0.entity)
      }
    case .rows(let hierarchy, let keys): return try existing(hierarchy, Set(keys))
    }
  }

  /// Those of the rows that are there.
  private func existing(_ hierarchy: Int, _ keys: Set<UInt64>) throws -> [Found] {
    if keys.isEmpty { return [] }
    var statement = SQLStatement(
      "SELECT t.pk, t.entity FROM \(mapping.tables[hierarchy].name) t WHERE t.pk = ANY(")
    statement += statement.bind(keys: keys.sorted()) + ")"
    let result = try writing.ask([statement])[0]
    return try (0..<result.rowCount).map {
      Found(
        hierarchy: hierarchy, key: try result.key($0, 0),
        entity: try mapping.entity(code: try result.integer($0, 1)))
    }
  }

  private mutating func cascade(from found: [Found]) throws {
    var frontier = found
    while !frontier.isEmpty {
      try writing.progress.stopIfCancelled()
      var fresh: [Found] = []
      for row in frontier where going[row.hierarchy].updateValue(row.entity, forKey: row.key) == nil {
        fresh.append(row)
      }
      frontier = []
      for (relationship, keys) in related(fresh, .cascade) {
        frontier += try others(relationship, keys).filter { going[$0.hierarchy][$0.key] == nil }
      }
    }
  }

  /// The relationships of rows that have a rule, with the keys of the rows.
  private func related(_ rows: [Found], _ rule: DeleteRule) -> [(RelationshipSchema, [UInt64])] {
    var keys: [Int: [UInt64]] = [:]
    for row in rows {
      for relationship in schema.entities[row.entity].relationships
      where relationship.deleteRule == rule && !relationship.isTransient {
        keys[relationship.number, default: []].append(row.key)
      }
    }
    return keys.sorted { $0.key < $1.key }.map { (schema.relationships[$0.key], $0.value.sorted()) }
  }

  /// What rows are related to: rows that are there, some perhaps more than once.
  private func others(_ relationship: RelationshipSchema, _ keys: [UInt64]) throws -> [Found] {
    let hierarchy = relationship.destinationHierarchy
    if relationship.isToMany {
      let lists = try writing.reading.members(EdgeSet(relationship: relationship.number), of: keys)
      return try lists.flatMap(\.self).map {
        Found(
          hierarchy: hierarchy, key: StoreReference.primaryKey($0),
          entity: try mapping.entity(code: Int64(StoreReference.entityCode($0))))
      }
    }
    let (table, column) = try mapping.reference(relationship)
    // The rule to do nothing at the other end may have left a reference to nothing (rule 212).
    var statement = SQLStatement(
      "SELECT t.pk, t.entity FROM \(mapping.tables[hierarchy].name) t JOIN \(table.name) o ON t.pk = o.\(column.name) WHERE o.pk = ANY("
    )
    statement += statement.bind(keys: keys) + ")"
    let result = try writing.ask([statement])[0]
    return try (0..<result.rowCount).map {
      Found(
        hierarchy: hierarchy, key: try result.key($0, 0),
        entity: try mapping.entity(code: try result.integer($0, 1)))
    }
  }

  // MARK: Whether they may go

  private var all: [Found] {
    going.enumerated().flatMap { hierarchy, rows in
      rows.map { Found(hierarchy: hierarchy, key: $0.key, entity: $0.value) }
    }
  }

  private func deny() throws {
    let all = all
    for (relationship, keys) in related(all, .deny) {
      guard
        let staying = try others(relationship, keys).first(where: { going[$0.hierarchy][$0.key] == nil })
      else { continue }
      let owner = schema.entities[relationship.owner]
      throw CoreDataError(
        .validationRelationshipDeniedDelete,
        "Objects of \(owner.name) cannot be deleted: “\(relationship.name)” of one of them still has p\(staying.key), and the delete rule is deny. Nothing was deleted.",
        userInfo: [CoreDataError.Key.validationKey: relationship.name])
    }
  }

  // MARK: Who stays and refers to them

  /// The to-one relationships through which rows that stay may refer to rows that go, and must stop to.
  private func referring(_ hierarchy: Int) -> [RelationshipSchema] {
    schema.relationships.filter { relationship in
      guard !relationship.isToMany, !relationship.isTransient, relationship.destinationHierarchy == hierarchy
      else { return false }
      return relationship.inverse.map { schema.relationships[$0].deleteRule != .noAction } ?? true
    }
  }

  private func nullify() throws {
    var losses: [RowAddress: [Int]] = [:]
    for hierarchy in going.indices where !going[hierarchy].isEmpty {
      for relationship in referring(hierarchy) {
        let owners = schema.entities[relationship.owner].hierarchyNumber
        let (table, column) = try mapping.reference(relationship)
        var statement = SQLStatement("SELECT t.pk FROM \(table.name) t WHERE t.\(column.name) = ANY(")
        statement += statement.bind(keys: going[hierarchy].keys.sorted()) + ")"
        let result = try writing.ask([statement])[0]
        for row in 0..<result.rowCount {
          let key = try result.key(row, 0)
          if going[owners][key] != nil { continue }
          if !relationship.isOptional {
            throw CoreDataError(
              .validationMissingMandatoryProperty,
              "\(relationship.qualifiedName) of p\(key) would lose its object, and is a required value.",
              userInfo: [CoreDataError.Key.validationKey: relationship.name])
          }
          losses[RowAddress(hierarchy: owners, key: key), default: []].append(relationship.slot)
        }
      }
    }
    let addresses = addresses
    for (hierarchy, losses) in Dictionary(grouping: losses, by: \.key.hierarchy).sorted(by: {
      $0.key < $1.key
    }) {
      try clear(hierarchy, losses.map { ($0.key.key, $0.value) }.sorted { $0.0 < $1.0 }, going: addresses)
    }
  }

  private func clear(
    _ hierarchy: Int, _ losses: [(key: UInt64, slots: [Int])], going addresses: Set<RowAddress>
  ) throws {
    var rest = losses[...]
    while !rest.isEmpty {
      let part = rest.prefix(writing.step)
      rest = rest.dropFirst(writing.step)
      var set = ChangeSet()
      // Both ends change, one with the other.
      set.checksReferences = false
      var known: [RowAddress: FetchedRow] = [:]
      let rows = try writing.reading.rows(hierarchy: hierarchy, primaryKeys: part.map(\.key))
      for (loss, row) in zip(part, rows) {
        guard let row, let change = try writing.changed(row, loss.slots.map { ($0, .null) }) else { continue }
        set.updates.append(change)
        known[RowAddress(hierarchy: hierarchy, key: row.primaryKey)] = row
        writing.outcome.touched.append(row.primaryKey, of: row.entity)
      }
      try writing.write(set, known: known, going: addresses)
    }
  }

  private var addresses: Set<RowAddress> {
    Set(
      going.enumerated().flatMap { hierarchy, rows in
        rows.keys.map { RowAddress(hierarchy: hierarchy, key: $0) }
      })
  }

  // MARK: The rows

  private func delete() throws {
    var set = ChangeSet()
    set.checksReferences = false
    for row in all.sorted(by: { ($0.entity, $0.key) < ($1.entity, $1.key) }) {
      set.deletes.append(
        RowDeletion(entity: row.entity, primaryKey: row.key, baseVersion: RowDeletion.anyVersion))
      writing.outcome.deleted.append(row.key, of: row.entity)
    }
    if !set.deletes.isEmpty { try writing.write(set, going: addresses) }
  }
}
