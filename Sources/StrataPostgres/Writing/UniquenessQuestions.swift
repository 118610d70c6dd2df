import Foundation
import StrataCore

/// Which rows would share the values of a uniqueness constraint after a change set.
///
/// Rows that the change set itself takes away, or gives other values, do not count: values can be swapped. Rows with a nil among the values are never
/// checked.
struct UniquenessQuestions {
  private struct Question {
    let index: IndexSchema
    let table: TableMapping
    let columns: [ColumnMapping]
    /// The rows that get values, by ascending key.
    let rows: [(key: UInt64, entity: Int, values: [AttributeValue])]
    /// Stored rows that do not count.
    let excluded: [UInt64]
  }

  private let work: ChangeSetWork
  private let questions: [Question]

  /// Which large value of which row.
  private struct LargePart: Hashable {
    let hierarchy: Int
    let column: String
    let key: UInt64
  }

  /// Asks for the large values among those of a constraint that a change set leaves as they are: they are in the tables only.
  /// - Throws: what `ask` throws.
  init(_ work: ChangeSetWork, _ ask: ChangeSetWork.Ask) throws {
    self.work = work
    let schema = work.schema
    let unchanged = try Self.unchangedParts(work, ask)
    var questions: [Question] = []
    for index in schema.indexes where index.isUnique {
      let owner = schema.entities[index.owner]
      func concerns(_ change: RowChange) -> Bool { owner.subtree.contains(change.entity) }
      func changes(_ update: RowChange) -> Bool {
        concerns(update) && index.parts.contains { update.changedSlots.contains($0.slot) }
      }
      var rows: [(key: UInt64, entity: Int, values: [AttributeValue])] = []
      var excluded: [UInt64] = []
      for change in work.set.inserts where concerns(change) {
        if let values = Self.values(of: change, index, schema) {
          rows.append((change.primaryKey, change.entity, values))
        }
      }
      let table = work.mapping.table(ofEntity: owner.number)
      for change in work.set.updates where changes(change) {
        excluded.append(change.primaryKey)
        let values = Self.values(of: change, index, schema) { slot in
          table.column(owner.number, slot).flatMap {
            unchanged[LargePart(hierarchy: table.hierarchy, column: $0.name, key: change.primaryKey)]
          }
        }
        if let values {
          rows.append((change.primaryKey, change.entity, values))
        }
      }
      if rows.isEmpty { continue }
      for (address, row) in work.deletes
      where address.hierarchy == owner.hierarchyNumber && owner.subtree.contains(row.entity) {
        excluded.append(address.key)
      }
      rows.sort { $0.key < $1.key }
      questions.append(
        Question(
          index: index, table: table, columns: index.parts.compactMap { table.column(owner.number, $0.slot) },
          rows: rows, excluded: excluded))
    }
    self.questions = questions
  }

  /// The large values of constraints that updates leave as they are while they change other values of the same constraint.
  private static func unchangedParts(_ work: ChangeSetWork, _ ask: ChangeSetWork.Ask) throws
    -> [LargePart: AttributeValue]
  {
    struct Place: Hashable {
      let hierarchy: Int
      let column: String
      let isData: Bool
    }
    guard work.set.updates.contains(where: { $0.row.hasExternalValues }) else { return [:] }
    let schema = work.schema
    var wanted: [Place: Set<UInt64>] = [:]
    for index in schema.indexes where index.isUnique {
      let owner = schema.entities[index.owner]
      let table = work.mapping.table(ofEntity: owner.number)
      for update in work.set.updates where owner.subtree.contains(update.entity) {
        guard update.row.hasExternalValues,
          index.parts.contains(where: { update.changedSlots.contains($0.slot) })
        else { continue }
        for part in index.parts {
          guard case .outside = update.row.content(part.slot, of: schema.entities[update.entity]),
            !update.externals.contains(where: { $0.slot == part.slot }),
            let column = table.column(owner.number, part.slot)
          else { continue }
          let place = Place(hierarchy: table.hierarchy, column: column.name, isData: part.kind == .data)
          wanted[place, default: []].insert(update.primaryKey)
        }
      }
    }
    if wanted.isEmpty { return [:] }
    let places = Array(wanted.keys)
    let results = try ask(
      places.map { place in
        let table = work.mapping.tables[place.hierarchy]
        var statement = SQLStatement("SELECT t.pk, t.\(place.column) FROM \(table.name) t WHERE ")
        statement.add("t.pk", isAnyOf: (wanted[place] ?? []).sorted())
        return statement
      })
    var found: [LargePart: AttributeValue] = [:]
    for (place, result) in zip(places, results) {
      for row in 0..<result.rowCount {
        guard let value = result[row, 1] else { continue }
        let part = LargePart(
          hierarchy: place.hierarchy, column: place.column, key: try result.key(row, 0))
        found[part] = place.isData ? .data(Data(value.bytes)) : .string(value.text)
      }
    }
    return found
  }

  /// The values of a row; nil when one of them is.
  /// - Parameter unchanged: The value of a slot that lies outside of the row and does not come with the change.
  static func values(
    of change: RowChange, _ index: IndexSchema, _ schema: Schema,
    unchanged: (Int) -> AttributeValue? = { _ in nil }
  ) -> [AttributeValue]? {
    let entity = schema.entities[change.entity]
    var values: [AttributeValue] = []
    for part in index.parts {
      switch change.row.content(part.slot, of: entity) {
      case .value(.null): return nil
      case .value(let value): values.append(value)
      case .outside:
        guard let value = change.externals.first(where: { $0.slot == part.slot }) else {
          guard let value = unchanged(part.slot) else { return nil }
          values.append(value)
          continue
        }
        switch part.kind {
        case .data: values.append(.data(value.bytes))
        default: values.append(.string(String(decoding: value.bytes, as: UTF8.self)))
        }
      }
    }
    return values
  }

  /// One for each constraint that the change set touches.
  /// - Throws: ``StorageError`` `.tooLarge` for values that are too long for an index.
  func statements() throws -> [SQLStatement] {
    try questions.map { question in
      var arrays = question.columns.map { SQLArray($0.type) }
      for row in question.rows {
        var length = 0
        for (part, value) in row.values.enumerated() {
          switch value {
          case .string(let text): length += text.utf8.count
          case .url(let url): length += url.absoluteString.utf8.count
          case .data(let data): length += data.count
          default: break
          }
          if case .string(let text) = value, question.columns[part].kind == .url {
            arrays[part].append(bytes: text.utf8)
          } else if !arrays[part].append(value) {
            throw ChangeSetWork.refusal(
              "A value of \(question.columns[part].path) is not of the attribute's type.")
          }
        }
        if length > RowStatements.mostUniqueBytes {
          throw StorageError(
            .tooLarge, operation: "commit", path: "",
            detail:
              "The values of \(question.columns.map(\.path).joined(separator: ", ")) of p\(row.key) must be unique and take \(length) bytes; PostgreSQL keeps up to \(RowStatements.mostUniqueBytes) in an index."
          )
        }
      }
      let names = question.columns.indices.map { "c\($0)" }
      var statement = SQLStatement()
      let rows = SQLStatement.rows(of: arrays.map { statement.bind($0) })
      let conditions = zip(question.columns, names).map { "t.\($0.name) = n.\($1)" }.joined(
        separator: " AND ")
      let codes = work.schema.entities[question.index.owner].subtree.map { String(work.mapping.codes[$0]) }
      statement +=
        "SELECT n.place, t.pk FROM \(rows) WITH ORDINALITY AS n(\(names.joined(separator: ", ")), place) "
        + "JOIN \(question.table.name) t ON \(conditions) AND t.entity IN (\(codes.joined(separator: ", "))) "
        + "WHERE t.pk <> ALL(\(statement.bind(keys: question.excluded))) ORDER BY n.place, t.pk"
      return statement
    }
  }

  /// All pairs, by constraint: rows of the change set first.
  func violations(_ answers: [SQLResult]) throws -> [ConstraintViolation] {
    var violations: [ConstraintViolation] = []
    for (question, answer) in zip(questions, answers) {
      let owner = work.schema.entities[question.index.owner]
      func add(_ row: (key: UInt64, entity: Int, values: [AttributeValue]), _ other: UInt64, isInStore: Bool)
      {
        violations.append(
          ConstraintViolation(
            entity: row.entity, index: question.index.number, entityName: owner.name,
            constraint: question.index.parts.map { owner.attributes[$0.slot].name }, primaryKey: row.key,
            otherPrimaryKey: other, isInStore: isInStore))
      }
      var owners: [[AttributeValue]: UInt64] = [:]
      for row in question.rows {
        if let other = owners[row.values] {
          add(row, other, isInStore: false)
        } else {
          owners[row.values] = row.key
        }
      }
      var last = -1
      for number in 0..<answer.rowCount {
        let place = Int(try answer.integer(number, 0)) - 1
        guard question.rows.indices.contains(place) else { throw SQLResult.damaged }
        // One pair for each row, whatever else is wrong in the table.
        if place == last { continue }
        last = place
        let other = try answer.key(number, 1)
        if other != question.rows[place].key { add(question.rows[place], other, isInStore: true) }
      }
    }
    return violations
  }
}
