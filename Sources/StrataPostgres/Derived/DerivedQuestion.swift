import Foundation
import StrataCore

/// Rows of one table, with what their derived attributes follow from: one statement.
///
/// The server counts, adds up whole numbers and finds the values at the other ends of relationships. Numbers that are not exact are added up here, in the order in
/// which the other engines do, and texts get their forms here.
struct DerivedQuestion {
  private struct Answer {
    let place: Int
    /// Of the values that come; nil for a count.
    let kind: SlotKind?
  }

  /// A row, and the derived values of it that are not those that it has.
  struct Difference {
    let row: FetchedRow
    let values: [Int: AttributeValue]
  }

  let table: TableMapping
  /// Whether texts or data come whole, whatever their length.
  var asksTexts: Bool {
    !wholes.isEmpty || answers.values.contains { [.string, .url, .data].contains($0.kind) }
  }
  private let mapping: StoreMapping
  private let decoding: RowDecoding
  private let list: String
  private var answers: [DerivedSchema.Source: Answer] = [:]
  /// By column of the table, where its value stands that is not cut.
  private var wholes: [Int: Int] = [:]

  /// - Parameter includesOwn: Whether attributes are looked at that follow from others of the same row.
  /// - Throws: ``StorageError`` for relationships that are nowhere.
  init(_ mapping: StoreMapping, hierarchy: Int, includesOwn: Bool) throws {
    self.mapping = mapping
    table = mapping.tables[hierarchy]
    let members = mapping.schema.hierarchies[hierarchy].memberNumbers
    decoding = RowDecoding(mapping, table, entities: members, alias: "t")
    var list = decoding.list
    var next = decoding.columnCount
    for entity in members.map({ mapping.schema.entities[$0] }) {
      for derived in entity.derived {
        var isAsked = answers[derived.source] != nil
        if !isAsked,
          let (words, kind) = try Self.words(derived.source, entity, table, mapping, includesOwn: includesOwn)
        {
          list += ", \(words)"
          answers[derived.source] = Answer(place: next, kind: kind)
          next += 1
          isAsked = true
        }
        guard isAsked, let place = table.places[entity.number]?[derived.slot], place >= 0,
          wholes[place] == nil, [.text, .bytea].contains(table.columns[place].type)
        else { continue }
        list += ", t.\(table.columns[place].name)"
        wholes[place] = next
        next += 1
      }
    }
    self.list = list
  }

  /// What the value of a source is asked with, and of what kind it is; nil for what is not asked.
  private static func words(
    _ source: DerivedSchema.Source, _ entity: EntitySchema, _ table: TableMapping, _ mapping: StoreMapping,
    includesOwn: Bool
  ) throws -> (words: String, kind: SlotKind?)? {
    switch source {
    case .now: return nil
    case .own(let slot):
      guard includesOwn, let column = table.column(entity.number, slot) else { return nil }
      return ("t.\(column.name)", column.kind)
    case .across(let number, let slot):
      let relationship = mapping.schema.relationships[number]
      let target = mapping.tables[relationship.destinationHierarchy]
      let (_, reference) = try mapping.reference(relationship)
      guard let column = target.column(relationship.destination, slot) else { return nil }
      return (
        "(SELECT n.\(column.name) FROM \(target.name) n WHERE n.pk = t.\(reference.name))", column.kind
      )
    case .count(let number):
      switch try mapping.members(EdgeSet(relationship: number)) {
      case .rows(let members, let column, _):
        return ("(SELECT pg_catalog.count(*) FROM \(members.name) m WHERE m.\(column.name) = t.pk)", nil)
      case .links(let join, let owner, _, _, _):
        return ("(SELECT pg_catalog.count(*) FROM \(join.name) l WHERE l.\(owner) = t.pk)", nil)
      case .nowhere: return nil
      }
    case .sum(let number, let slot):
      let relationship = mapping.schema.relationships[number]
      let target = mapping.tables[relationship.destinationHierarchy]
      guard let added = target.column(relationship.destination, slot) else { return nil }
      let (rows, order): (String, String)
      switch try mapping.members(EdgeSet(relationship: number)) {
      case .rows(_, let column, let isOrdered):
        rows = "\(target.name) m WHERE m.\(column.name) = t.pk"
        order = (isOrdered ? column.positionColumn.map { "m.\($0), " } ?? "" : "") + "m.pk"
      case .links(let join, let owner, let member, let position, _):
        rows = "\(join.name) l JOIN \(target.name) m ON m.pk = l.\(member) WHERE l.\(owner) = t.pk"
        order = (position.map { "l.\($0), " } ?? "") + "m.pk"
      case .nowhere: return nil
      }
      let isExact = [.int2, .int4, .int8].contains(added.type)
      let aggregate =
        isExact
        ? "pg_catalog.sum(m.\(added.name))::numeric"
        : "pg_catalog.array_agg(m.\(added.name) ORDER BY \(order))"
      return ("(SELECT \(aggregate) FROM \(rows))", added.kind)
    }
  }

  // MARK: Asking

  /// The question about the rows whose keys `selections` give, each a statement of one column.
  func statement(_ selections: [String], _ statement: SQLStatement) -> SQLStatement {
    var statement = statement
    statement +=
      "SELECT \(list) FROM \(table.name) t WHERE t.pk IN (\(selections.joined(separator: " UNION "))) ORDER BY t.pk"
    return statement
  }

  /// The question about the next rows of the table.
  func statement(after key: UInt64, limit: Int) -> SQLStatement {
    var statement = SQLStatement()
    let last = statement.bind(key)
    statement +=
      "SELECT \(list) FROM \(table.name) t WHERE t.pk > \(last) ORDER BY t.pk LIMIT \(statement.bind(limit))"
    return statement
  }

  // MARK: Reading

  /// The rows of an answer with derived attributes, and what is different.
  ///
  /// - Parameter rewrites: Whether large values of a row count as different, whatever they are: where the list of large values may be of another state of the row.
  /// - Throws: `CoreDataError` 1610 for a count or sum that does not fit; ``StorageError`` `.damaged`.
  func differences(_ result: SQLResult, rewrites: (FetchedRow) -> Bool) throws -> [Difference] {
    var assembler = RowAssembler(expectedLength: result.rowCount * 128)
    var differences: [Difference] = []
    for number in 0..<result.rowCount {
      let row = try decoding.row(result, number, &assembler)
      let entity = mapping.schema.entities[row.entity]
      guard entity.baselineSlot != nil, let snapshot = row.snapshot else { continue }
      var values: [Int: AttributeValue] = [:]
      for derived in entity.derived {
        guard let value = try value(of: derived, entity, row.primaryKey, result, number) else { continue }
        switch snapshot.content(derived.slot, of: entity) {
        case .value(let old):
          if old != value { values[derived.slot] = value }
        case .outside:
          let whole = table.places[entity.number].flatMap { wholes[$0[derived.slot]] }
          let bytes = whole.flatMap { result[number, $0] }.map { Data($0.bytes) }
          if rewrites(row) || bytes == nil || bytes != RowReviser.bytes(value) {
            values[derived.slot] = value
          }
        }
      }
      differences.append(Difference(row: row, values: values))
    }
    return differences
  }

  /// Nil for what was not asked.
  private func value(
    of derived: DerivedSchema, _ entity: EntitySchema, _ key: UInt64, _ result: SQLResult, _ row: Int
  ) throws -> AttributeValue? {
    guard let answer = answers[derived.source] else { return nil }
    let found = result[row, answer.place]
    guard let kind = answer.kind else {
      return try derived.fitted(.integer(try result.integer(row, answer.place)), of: entity, primaryKey: key)
    }
    guard case .sum(let relationship, let slot) = derived.source else {
      guard let found else { return .null }
      guard let value = found.attribute(kind) else { throw SQLResult.damaged }
      return derived.formed(value)
    }
    let destination = mapping.schema.relationships[relationship].destination
    var sum = DerivedSum(mapping.schema.entities[destination].attributes[slot].type)
    guard let found else { return try derived.sum(sum, of: entity, primaryKey: key) }
    switch kind {
    case .int16, .int32, .int64:
      guard case .decimal(let number)? = found.attribute(.decimal), let whole = Int128("\(number)") else {
        throw SQLResult.damaged
      }
      sum.add(whole: whole)
    default:
      guard let elements = found.elements else { throw SQLResult.damaged }
      for element in elements {
        guard let element else { continue }
        guard let value = element.attribute(kind) else { throw SQLResult.damaged }
        sum.add(value)
      }
    }
    return try derived.sum(sum, of: entity, primaryKey: key)
  }
}

extension SQLValue {
  /// The elements of an array of one dimension; nil for what is none.
  var elements: [SQLValue?]? {
    func word(_ place: Int) -> Int? {
      place + 4 <= bytes.count
        ? Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: Int32.self))) : nil
    }
    guard let dimensions = word(0) else { return nil }
    if dimensions == 0 { return [] }
    guard dimensions == 1, let count = word(12), count >= 0 else { return nil }
    var elements: [SQLValue?] = []
    var place = 20
    for _ in 0..<count {
      guard let length = word(place) else { return nil }
      place += 4
      if length < 0 {
        elements.append(nil)
        continue
      }
      guard place + length <= bytes.count else { return nil }
      elements.append(SQLValue(bytes: UnsafeRawBufferPointer(rebasing: bytes[place..<place + length])))
      place += length
    }
    return elements
  }
}
