import Foundation
import StrataCore

/// The statements that write rows: one for many rows of an entity, with a column of values per parameter.
struct RowStatements {
  let mapping: StoreMapping
  /// From so many new rows of an entity on they are copied; nil for never, since not everybody may.
  var leastCopied: Int? = RowStatements.leastCopied
  /// Whether updates fail where a row is not of the version that they are based on.
  var comparesVersions = true
  /// So many rows, and so many bytes, go into one statement.
  static let mostRows = 10_000
  static let mostBytes = 32 << 20
  /// An entry of an index on the server takes no more than a third of a page.
  static let mostUniqueBytes = 2_600

  /// Columns of values that rows are added to.
  private struct Columns {
    var keys = SQLArray(.int8)
    var versions = SQLArray(.int4)
    var outside = SQLArray(.bytea)
    var values: [SQLArray] = []
    var codes: [Int: SQLArray] = [:]
    var byteCount = 0
  }

  // MARK: Inserts and updates

  /// Up to so many rows of an entity have a statement each: taking arrays apart costs the server more than some of these.
  static let fewRows = 4
  /// From so many new rows of an entity on they are copied.
  static let leastCopied = 500

  /// The statements that insert rows.
  /// - Throws: ``StorageError`` `.invalid` for a value that the server cannot store, `.tooLarge`; of rows that are copied when they are sent.
  func inserts(_ changes: [RowChange]) throws -> [SQLStatement] {
    var statements: [SQLStatement] = []
    for (entity, group) in Self.grouped(changes, by: \.entity) {
      let slots = storedSlots(entity)
      if let leastCopied, group.count >= leastCopied {
        statements.append(RowCopies(group, mapping: mapping, entity: entity, slots: slots).statement)
        continue
      }
      if group.count <= Self.fewRows {
        for change in group { statements.append(try insert(change, slots)) }
        continue
      }
      try chunks(group, entity, slots) { columns in
        statements.append(insert(columns, entity, slots))
      }
    }
    return statements
  }

  /// The statements that replace rows of the version that the change sets are based on. Each fails when a row is not there, or not of that version any more.
  /// - Parameter keepsVersion: Whether they are of the version already that they are written with: only derived values are put in.
  func updates(_ changes: [RowChange], keepsVersion: Bool = false) throws -> [SQLStatement] {
    struct Kind: Hashable {
      let entity: Int
      let slots: SlotBitmap
    }
    var statements: [SQLStatement] = []
    let groups = Self.grouped(changes) { Kind(entity: $0.entity, slots: $0.changedSlots) }
    for (kind, group) in groups {
      let slots = storedSlots(kind.entity).filter { kind.slots.contains($0) }
      if group.count <= Self.fewRows {
        for change in group { statements.append(try update(change, slots, keepsVersion: keepsVersion)) }
        continue
      }
      try chunks(group, kind.entity, slots) { columns in
        statements.append(update(columns, kind.entity, slots, keepsVersion: keepsVersion))
      }
    }
    return statements
  }

  private static func grouped<Key: Hashable>(_ changes: [RowChange], by key: (RowChange) -> Key) -> [(
    Key, [RowChange]
  )] {
    var order: [Key] = []
    var groups: [Key: [RowChange]] = [:]
    for change in changes {
      let key = key(change)
      if groups[key] == nil { order.append(key) }
      groups[key, default: []].append(change)
    }
    return order.map { ($0, groups[$0] ?? []) }
  }

  /// The slots of an entity that have columns.
  private func storedSlots(_ entity: Int) -> [Int] {
    let places = mapping.table(ofEntity: entity).places[entity] ?? []
    return places.indices.filter { places[$0] >= 0 }
  }

  private func emptyColumns(_ entity: Int, _ slots: [Int]) -> Columns {
    let table = mapping.table(ofEntity: entity)
    var columns = Columns()
    for (place, slot) in slots.enumerated() {
      guard let column = table.column(entity, slot) else { continue }
      columns.values.append(SQLArray(column.type))
      if column.codeColumn != nil { columns.codes[place] = SQLArray(.int2) }
    }
    return columns
  }

  private func chunks(_ changes: [RowChange], _ entity: Int, _ slots: [Int], _ body: (Columns) -> Void) throws
  {
    var columns = emptyColumns(entity, slots)
    for change in changes {
      try add(change, slots, to: &columns)
      if columns.keys.count >= Self.mostRows || columns.byteCount >= Self.mostBytes {
        body(columns)
        columns = emptyColumns(entity, slots)
      }
    }
    if columns.keys.count > 0 { body(columns) }
  }

  private func add(_ change: RowChange, _ slots: [Int], to columns: inout Columns) throws {
    let entity = mapping.schema.entities[change.entity]
    let table = mapping.table(ofEntity: change.entity)
    try Self.requireVersion(change, entity)
    columns.keys.append(change.primaryKey)
    columns.versions.append(Int32(bitPattern: change.row.version))
    if let outside = Self.outside(change, entity, storedSlots(change.entity)) {
      columns.outside.append(bytes: outside)
    } else {
      columns.outside.appendNull()
    }
    for (place, slot) in slots.enumerated() {
      guard let column = table.column(change.entity, slot) else { continue }
      switch change.row.content(slot, of: entity) {
      case .outside:
        let bytes = try Self.large(change, slot, column)
        columns.values[place].append(bytes: bytes)
        columns.byteCount += bytes.count
      case .value(.reference(let bits)):
        columns.values[place].append(StoreReference.primaryKey(bits))
        columns.codes[place]?.append(Int16(bitPattern: StoreReference.entityCode(bits)))
      case .value(let value):
        if case .null = value { columns.codes[place]?.appendNull() }
        try Self.requireStorable(value, column, change.primaryKey)
        guard columns.values[place].append(value) else { throw Self.isOfOtherType(column, change.primaryKey) }
        columns.byteCount += 64
      }
    }
  }

  // MARK: A row by itself

  /// Binds the values of a row's columns; by column, in the order of the slots, what stands for its value.
  private func bind(_ change: RowChange, _ slots: [Int], _ statement: inout SQLStatement) throws -> [(
    column: String, value: String
  )] {
    let entity = mapping.schema.entities[change.entity]
    let table = mapping.table(ofEntity: change.entity)
    try Self.requireVersion(change, entity)
    var values: [(column: String, value: String)] = []
    values.reserveCapacity(slots.count + 2)
    values.append(("version", statement.bind(Int32(bitPattern: change.row.version), as: .int4)))
    let outside = Self.outside(change, entity, storedSlots(change.entity))
    values.append((table.outside, outside.map { statement.bind(bytes: $0) } ?? statement.bindNull(.bytea)))
    for slot in slots {
      guard let column = table.column(change.entity, slot) else { continue }
      switch change.row.content(slot, of: entity) {
      case .outside:
        let bytes = try Self.large(change, slot, column)
        values.append((column.name, statement.bind(column.type.oid) { $0.append(contentsOf: bytes) }))
      case .value(let value):
        try Self.requireStorable(value, column, change.primaryKey)
        guard let words = statement.bind(value, as: column.type) else {
          throw Self.isOfOtherType(column, change.primaryKey)
        }
        values.append((column.name, words))
        guard let code = column.codeColumn else { continue }
        if case .reference(let bits) = value {
          let code16 = Int16(bitPattern: StoreReference.entityCode(bits))
          values.append((code, statement.bind(code16, as: .int2)))
        } else {
          values.append((code, statement.bindNull(.int2)))
        }
      }
    }
    return values
  }

  private func insert(_ change: RowChange, _ slots: [Int]) throws -> SQLStatement {
    var statement = SQLStatement()
    let key = statement.bind(change.primaryKey)
    var names = "INSERT INTO \(mapping.table(ofEntity: change.entity).name) (pk, entity"
    var values = ") VALUES (\(key), \(mapping.codes[change.entity])"
    for (column, value) in try bind(change, slots, &statement) {
      names += ", "
      names += column
      values += ", "
      values += value
    }
    statement += names
    statement += values
    statement += ")"
    statement += " RETURNING 1"
    statement.subject = subject(change.entity, change.primaryKey)
    return Self.guarded(statement, count: 1)
  }

  private func update(_ change: RowChange, _ slots: [Int], keepsVersion: Bool) throws -> SQLStatement {
    var statement = SQLStatement()
    let key = statement.bind(change.primaryKey)
    let values = try bind(change, slots, &statement)
    let settings = values.map { "\($0.column) = \($0.value)" }.joined(separator: ", ")
    statement +=
      "UPDATE \(mapping.table(ofEntity: change.entity).name) t SET \(settings) WHERE t.pk = \(key)\(isOfVersion(values[0].value, keepsVersion)) RETURNING 1"
    statement.subject = subject(change.entity, change.primaryKey)
    return Self.guarded(statement, count: 1)
  }

  /// The condition, behind others, by which a row is of the version that an update is based on.
  private func isOfVersion(_ written: String, _ keepsVersion: Bool) -> String {
    comparesVersions ? " AND t.version = \(written)\(keepsVersion ? "" : " - 1")" : ""
  }

  // MARK: What is asked of values

  /// - Throws: ``StorageError`` `.tooLarge` for a row that has had all versions there are.
  static func requireVersion(_ change: RowChange, _ entity: EntitySchema) throws {
    guard change.row.version < UInt32(Int32.max) else {
      throw StorageError(
        .tooLarge, operation: "commit", path: "",
        detail: "\(entity.name) p\(change.primaryKey) has been saved as often as a row can be.")
    }
  }

  /// The list of a row's large values; nil when it has none.
  static func outside(_ change: RowChange, _ entity: EntitySchema, _ slots: [Int]) -> [UInt8]? {
    guard change.row.hasExternalValues else { return nil }
    let outside = slots.compactMap { slot -> (slot: Int, value: OutsideValue)? in
      if case .outside(let value) = change.row.content(slot, of: entity) { return (slot, value) }
      return nil
    }
    return outside.isEmpty ? nil : OutsideList.encode(outside)
  }

  /// A large value, which comes beside the row.
  static func large(_ change: RowChange, _ slot: Int, _ column: ColumnMapping) throws -> Data {
    guard let value = change.externals.first(where: { $0.slot == slot }) else {
      throw StorageError(
        .invalid, operation: "commit", path: "",
        detail: "The large value of \(column.path) of p\(change.primaryKey) is not part of the save.")
    }
    if column.type == .text, value.bytes.contains(0) { throw holdsNUL(column, change.primaryKey) }
    if let most = column.maximumLength {
      // Code points: bytes of UTF-8 that continue none.
      let length = value.bytes.reduce(0) { $1 & 0xC0 == 0x80 ? $0 : $0 + 1 }
      try requireLength(length, most, column, change.primaryKey)
    }
    return value.bytes
  }

  static func requireStorable(_ value: AttributeValue, _ column: ColumnMapping, _ key: UInt64) throws {
    guard let text = text(value) else { return }
    if text.utf8.contains(0) { throw holdsNUL(column, key) }
    if let most = column.maximumLength { try requireLength(text.unicodeScalars.count, most, column, key) }
  }

  private static func requireLength(_ length: Int, _ most: Int, _ column: ColumnMapping, _ key: UInt64) throws
  {
    guard length > most else { return }
    throw StorageError(
      .invalid, operation: "commit", path: "",
      detail:
        "\(column.path) of p\(key) has \(length) characters, and its column holds \(most). Nothing was saved."
    )
  }

  static func isOfOtherType(_ column: ColumnMapping, _ key: UInt64) -> StorageError {
    StorageError(
      .invalid, operation: "commit", path: "",
      detail: "The value of \(column.path) of p\(key) is not of the attribute's type.")
  }

  private static func text(_ value: AttributeValue) -> String? {
    switch value {
    case .string(let text): text
    case .url(let url): url.absoluteString
    default: nil
    }
  }

  static func holdsNUL(_ column: ColumnMapping, _ key: UInt64) -> StorageError {
    StorageError(
      .invalid, operation: "commit", path: "",
      detail:
        "\(column.path) of p\(key) holds the character U+0000, which PostgreSQL does not store in texts. Nothing was saved."
    )
  }

  /// The columns of the slots, those of codes behind those of their references, with the names that the values have in the statement.
  private func names(_ entity: Int, _ slots: [Int], _ columns: Columns) -> [(
    column: String, value: String, array: SQLArray
  )] {
    let table = mapping.table(ofEntity: entity)
    var names: [(column: String, value: String, array: SQLArray)] = []
    for (place, slot) in slots.enumerated() {
      guard let column = table.column(entity, slot) else { continue }
      names.append((column.name, "c\(place)", columns.values[place]))
      if let code = column.codeColumn, let array = columns.codes[place] {
        names.append((code, "e\(place)", array))
      }
    }
    return names
  }

  private func insert(_ columns: Columns, _ entity: Int, _ slots: [Int]) -> SQLStatement {
    let names = names(entity, slots, columns)
    var statement = SQLStatement()
    let head = [columns.keys, columns.versions, columns.outside].map { statement.bind($0) }
    let rows = SQLStatement.rows(of: head + names.map { statement.bind($0.array) })
    let targets =
      (["pk", "entity", "version", mapping.table(ofEntity: entity).outside] + names.map(\.column)).joined(
        separator: ", ")
    let values = (["n.k", "\(mapping.codes[entity])", "n.v", "n.o"] + names.map { "n.\($0.value)" })
      .joined(separator: ", ")
    let aliases = (["k", "v", "o"] + names.map(\.value)).joined(separator: ", ")
    statement +=
      "INSERT INTO \(mapping.table(ofEntity: entity).name) (\(targets)) SELECT \(values) FROM \(rows) AS n(\(aliases)) RETURNING 1"
    statement.subject = subject(entity)
    return Self.guarded(statement, count: columns.keys.count)
  }

  private func update(_ columns: Columns, _ entity: Int, _ slots: [Int], keepsVersion: Bool) -> SQLStatement {
    let names = names(entity, slots, columns)
    var statement = SQLStatement()
    let head = [columns.keys, columns.versions, columns.outside].map { statement.bind($0) }
    let rows = SQLStatement.rows(of: head + names.map { statement.bind($0.array) })
    let assignments =
      (["version = n.v", "\(mapping.table(ofEntity: entity).outside) = n.o"]
      + names.map { "\($0.column) = n.\($0.value)" })
      .joined(separator: ", ")
    let aliases = (["k", "v", "o"] + names.map(\.value)).joined(separator: ", ")
    statement +=
      "UPDATE \(mapping.table(ofEntity: entity).name) t SET \(assignments) FROM \(rows) AS n(\(aliases)) WHERE t.pk = n.k\(isOfVersion("n.v", keepsVersion)) RETURNING 1"
    statement.subject = subject(entity)
    return Self.guarded(statement, count: columns.keys.count)
  }

  /// What a statement writes, for errors.
  private func subject(_ entity: Int, _ key: UInt64? = nil) -> SQLStatement.Subject {
    SQLStatement.Subject(entity: mapping.schema.entities[entity].name, key: key)
  }

  /// A writing statement, which returns a row for each that it writes, that fails, with a division by zero, unless it has written so many: a trigger may keep rows without
  /// a word, in any table.
  /// - Parameter unless: Makes a condition of the words for the number that was written and those for `count`, by which another number is right as well. The server looks at
  ///   it only where the number is another one; it sees tables as they were before the statement.
  static func guarded(
    _ words: SQLStatement, count: Int, unless: ((_ written: String, _ count: String) -> String)? = nil
  ) -> SQLStatement {
    var statement = words
    let written = "pg_catalog.count(*)"
    statement.prefix("WITH w AS (")
    let wanted = statement.bind(count)
    statement += ") SELECT 1 / (CASE WHEN \(written) = \(wanted) THEN 1"
    if let unless { statement += " WHEN " + unless(written, wanted) + " THEN 1" }
    statement += " ELSE 0 END) FROM w"
    return statement
  }

  /// How the server says that a guarded statement did not write what it should.
  static let guardState = "22012"

  // MARK: Deletes

  /// The statement that deletes rows that are there.
  func delete(_ keys: [UInt64], hierarchy: Int) -> SQLStatement {
    var words = SQLStatement("DELETE FROM \(mapping.tables[hierarchy].name) t WHERE ")
    words.add("t.pk", isAnyOf: keys)
    words += " RETURNING 1"
    words.subject = subject(mapping.schema.hierarchies[hierarchy].memberNumbers[0])
    return Self.guarded(words, count: keys.count)
  }

  // MARK: Uniqueness

  /// The statements that make room where rows take over values that must be unique from each other: the server looks at each row by itself.
  ///
  /// Only rows are cleared whose values another row of the save gets, and only columns that the same save rewrites in the same row: no other statement would bring the
  /// value back. A column of an optional attribute is preferred.
  /// - Parameter stored: The row as it is now, of an update; nil when that is not known.
  func clearings(_ updates: [RowChange], stored: (RowChange) -> RowSnapshot?) -> [SQLStatement] {
    var statements: [SQLStatement] = []
    let schema = mapping.schema
    for index in schema.indexes where index.isUnique {
      let owner = schema.entities[index.owner]
      let slots = index.parts.map(\.slot).filter {
        mapping.table(ofEntity: index.owner).column(index.owner, $0) != nil
      }
      let changes = updates.filter { update in
        owner.subtree.contains(update.entity) && slots.contains { update.changedSlots.contains($0) }
      }
      // One row exchanges nothing.
      guard changes.count > 1 else { continue }
      var takers: [[AttributeValue?]: Set<UInt64>] = [:]
      // To an index of somebody else's NULL may be a value as others.
      func values(_ row: RowSnapshot, _ change: RowChange) -> [AttributeValue?]? {
        Self.values(row, slots, schema.entities[change.entity], takesNulls: mapping.isAdopted)
      }
      for change in changes {
        guard let values = values(change.row, change) else { continue }
        takers[values, default: []].insert(change.primaryKey)
      }
      statements += clearings(
        of: index,
        changes.filter { change in
          guard let row = stored(change) else { return true }
          // A row with one null takes no part in the index.
          guard let old = values(row, change) else { return false }
          return takers[old]?.contains { $0 != change.primaryKey } == true
        })
    }
    return statements
  }

  /// The statements that clear rows for a uniqueness constraint.
  /// - Parameter rules: What tables of somebody else's ask; nil for the store's own.
  func clearings(of index: IndexSchema, _ changes: [RowChange], rules: ExchangeRules? = nil) -> [SQLStatement]
  {
    let owner = mapping.schema.entities[index.owner]
    let table = mapping.table(ofEntity: index.owner)
    let parts = index.parts.compactMap { part in
      table.column(index.owner, part.slot).map { (slot: part.slot, column: $0) }
    }
    // By place in `parts`.
    var keys = [[UInt64]](repeating: [], count: parts.count)
    for change in changes {
      let changed = parts.indices.filter { place in
        change.changedSlots.contains(parts[place].slot)
          && rules?.isRequired(parts[place].column, index.owner) != true
      }
      let optional = changed.first { owner.attributes[parts[$0].slot].isOptional }
      if let place = optional ?? changed.first { keys[place].append(change.primaryKey) }
    }
    return zip(parts, keys).compactMap { part, keys in
      if keys.isEmpty { return nil }
      var statement = SQLStatement("UPDATE \(table.name) t SET \(part.column.name) = NULL WHERE t.pk = ANY(")
      statement += statement.bind(keys: keys) + ")"
      return statement
    }
  }

  /// The values of a row as the server compares them, nil for one that lies outside of the row; nil when one of them is null, unless null is a value as others.
  static func values(_ row: RowSnapshot, _ slots: [Int], _ entity: EntitySchema, takesNulls: Bool = false)
    -> [AttributeValue?]?
  {
    var values: [AttributeValue?] = []
    for slot in slots {
      switch row.content(slot, of: entity) {
      case .outside: values.append(nil)
      case .value(.null), .value(.reference(0)):
        if !takesNulls { return nil }
        values.append(.null)
      // Both zeros are one value to the server.
      case .value(.double(let number)): values.append(.double(number + 0))
      case .value(.float(let number)): values.append(.float(number + 0))
      case .value(let value): values.append(value)
      }
    }
    return values
  }
}
