import Foundation
import StrataCore

/// A batch update. Constants of a fixed length are one statement; everything else is worked out here, on rows as they were before the batch.
struct BatchUpdating {
  private let writing: BatchWriting
  private let update: BatchUpdate
  private let slots: SlotBitmap
  private var mapping: StoreMapping { writing.mapping }
  private var schema: Schema { writing.schema }

  init(_ update: BatchUpdate, _ writing: BatchWriting) {
    self.update = update
    self.writing = writing
    slots = update.assignments.reduce(into: SlotBitmap()) { $0.insert($1.slot) }
  }

  /// - Throws: as ``BatchWriting/write(_:known:going:)``; `CoreDataError` for values that do not fit, and 134091 for one-to-one relationships.
  func run() throws {
    writing.progress.begin(total: nil)
    for assignment in update.assignments {
      guard let relationship = update.request.entity.relationship(slot: assignment.slot),
        let inverse = relationship.inverse, !schema.relationships[inverse].isToMany
      else { continue }
      throw CoreDataError(
        .persistentStoreUnsupportedRequestType,
        "Stores on PostgreSQL carry out no batch updates of one-to-one relationships, such as \(relationship.qualifiedName); change the objects in a context and save it."
      )
    }
    if try runAsOneStatement() { return }
    let rows = try writing.reading.fetch(update.request, mode: .rows).rows
    let values = BatchValues(
      update, in: writing.reading, storeIdentifier: writing.identifier, codes: mapping.codes)
    var changes: [RowChange] = []
    var known: [RowAddress: FetchedRow] = [:]
    for row in rows {
      if let change = try writing.changed(row, try values.values(of: row)) {
        changes.append(change)
        known[RowAddress(hierarchy: schema.entities[row.entity].hierarchyNumber, key: row.primaryKey)] = row
      }
      writing.outcome.updated.append(row.primaryKey, of: row.entity)
    }
    // Values that must be unique may be moved along, or swapped: then all rows are looked at together.
    let isUnique = schema.indexes.contains { index in
      index.isUnique && index.parts.contains { slots.contains($0.slot) }
        && schema.entities[index.owner].hierarchyNumber == update.request.hierarchyNumber
    }
    try writing.lock(changes)
    let step = isUnique ? max(changes.count, 1) : writing.step
    var isFirst = true
    var rest = changes[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(step))
      var rows: [RowAddress: FetchedRow] = [:]
      // What was derived from an earlier part may have given a row another version: then it is read again.
      for change in part where isFirst || schema.derivedSources == nil {
        let address = RowAddress(
          hierarchy: schema.entities[change.entity].hierarchyNumber, key: change.primaryKey)
        rows[address] = known[address]
      }
      try writing.write(ChangeSet(updates: part), known: rows, areLocked: true)
      rest = rest.dropFirst(step)
      isFirst = false
    }
  }

  // MARK: One statement

  /// Whether it could be done so.
  private func runAsOneStatement() throws -> Bool {
    guard let columns = constants() else { return false }
    let question = EngineRequest(update.request, storeIdentifier: writing.identifier)
    if question.candidates != nil { return false }
    var settings: [String] = []
    let plan = FetchStatement(question, .identifiers, mapping) { table, statement in
      var differences: [String] = []
      for (column, value) in columns {
        guard let words = statement.bind(value, as: column.type) else { return nil }
        settings.append("\(column.name) = \(words)")
        // Both zeros are equal, and are not the same.
        let send: String? =
          switch column.type {
          case .float8: "pg_catalog.float8send"
          case .float4: "pg_catalog.float4send"
          default: nil
          }
        differences.append(
          "\(send ?? "")(\(table).\(column.name)) IS DISTINCT FROM \(send ?? "")(\(words))")
      }
      return "(\(differences.joined(separator: " OR "))) AS differs"
    }
    if plan.isEmpty { return true }
    guard plan.undecided.isEmpty, !question.hasStart, settings.count == columns.count else { return false }
    var statement = plan.statement
    statement.subject = SQLStatement.Subject(entity: update.request.entity.name)
    statement.prefix("WITH f AS (")
    let table = mapping.tables[update.request.hierarchyNumber]
    statement +=
      "), u AS (UPDATE \(table.name) d SET version = d.version + 1, \(settings.joined(separator: ", ")) FROM f WHERE d.pk = f.pk AND f.differs RETURNING d.pk) "
      + "SELECT f.pk, f.entity, f.differs, u.pk IS NOT NULL FROM f LEFT JOIN u ON u.pk = f.pk ORDER BY f.pk"
    try writing.progress.stopIfCancelled()
    let result = try writing.ask([statement])[0]
    try note(result)
    return true
  }

  /// - Throws: ``BatchWriting/keptRow()`` where a row has other values than it should, and was not changed.
  private func note(_ result: SQLResult) throws {
    var changed: [Int: [UInt64]] = [:]
    for row in 0..<result.rowCount {
      let (key, entity) = (try result.key(row, 0), try mapping.entity(code: try result.integer(row, 1)))
      writing.outcome.updated.append(key, of: entity)
      guard result[row, 2]?.bytes.first == 1 else { continue }
      guard result[row, 3]?.bytes.first == 1 else { throw writing.keptRow() }
      changed[entity, default: []].append(key)
    }
    for (entity, keys) in changed.sorted(by: { $0.key < $1.key }) {
      writing.outcome.changedSlots[entity, default: SlotBitmap()].formUnion(slots)
      var names: [String] = []
      slots.forEach { names.append(schema.entities[entity].attributes[$0].name) }
      writing.note(NotedChange(.updated, schema.entities[entity].name, keys: keys, properties: names))
    }
    writing.progress.complete(writing.outcome.updated.count)
  }

  /// Whether something is derived from the rows, or from the values that they get.
  private func isDerivedFrom() -> Bool {
    guard let sources = schema.derivedSources else { return false }
    return update.request.entityNumbers.contains { number in
      schema.entities[number].baselineSlot != nil
        || sources.watches[number].contains { slots.contains($0.slot) }
    }
  }

  /// The columns and what goes into them; nil when something of a row has to be looked at. Long values have an entry elsewhere in the row, references change
  /// what belongs to others, values that must be unique are compared, and elements depend on the whole.
  private func constants() -> [(column: ColumnMapping, value: AttributeValue)]? {
    let entity = update.request.entity
    let table = mapping.tables[update.request.hierarchyNumber]
    if update.assignments.isEmpty || isDerivedFrom() { return nil }
    var result: [(column: ColumnMapping, value: AttributeValue)] = []
    for assignment in update.assignments {
      guard let value = assignment.constant,
        let column = table.column(entity.number, assignment.slot), column.relationship == nil,
        ![.text, .bytea].contains(column.type), entity.attributes[assignment.slot].composite == nil
      else { return nil }
      let isUnique = schema.indexes.contains { index in
        index.isUnique && schema.entities[index.owner].hierarchyNumber == entity.hierarchyNumber
          && index.parts.contains { $0.slot == assignment.slot }
      }
      if isUnique { return nil }
      result.append((column, value))
    }
    return result
  }
}
