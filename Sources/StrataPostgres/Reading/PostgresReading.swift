import Foundation
import StrataCore

/// Reads a store through one connection: each method is one statement, which sees one state of the store, or runs in a transaction that does. Used by
/// one thread at a time.
final class PostgresReading: StoreReading, @unchecked Sendable {
  // @unchecked Sendable: whoever has the connection is the only one who uses it.

  let mapping: StoreMapping
  private let identifier: UUID
  var storeIdentifier: UUID { identifier }
  private let connection: PostgresConnection
  private let deadline: ContinuousClock.Instant?
  /// So many rows come at a time where the server cannot tell how many are wanted.
  static let rowsAtATime = 1_000

  init(
    _ mapping: StoreMapping, identifier: UUID, connection: PostgresConnection,
    deadline: ContinuousClock.Instant?
  ) {
    self.mapping = mapping
    self.identifier = identifier
    self.connection = connection
    self.deadline = deadline
  }

  /// The connection that it reads through.
  var source: PostgresConnection { connection }

  func run(_ statement: SQLStatement) throws -> SQLResult {
    try connection.run(statement, deadline: deadline)
  }

  // MARK: Fetching

  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    let question = EngineRequest(request, storeIdentifier: identifier)
    if mode != .count, let candidates = question.candidates {
      return try inOneState {
        let found = try fetch(candidates, mode: .rows)
        return try FetchInMemory(request, in: self, storeIdentifier: identifier).fetch(
          Array(found.rows), mode: mode, description: "\(found.plan) -- sorted here")
      }
    }
    let plan = FetchStatement(question, mode, mapping)
    if plan.isEmpty { return FetchedRows(rows: [], count: 0, description: "nothing matches") }
    if let filter = question.filter(places: plan.undecided, reading: self) {
      return try filtered(plan, filter, request, mode)
    }
    if let monitor = request.monitor, monitor.wasStopped { throw CancellationError() }
    let result = try connection.run(plan.statement, deadline: deadline)
    switch mode {
    case .count:
      let all = Int(try result.integer(0, 0)) - request.offset
      return FetchedRows(
        rows: [], count: max(0, request.limit > 0 ? min(all, request.limit) : all), description: plan.words)
    case .identifiers:
      var rows = ContiguousArray<FetchedRow>()
      rows.reserveCapacity(result.rowCount)
      for number in 0..<result.rowCount {
        rows.append(
          FetchedRow(
            primaryKey: try result.key(number, 0),
            entity: try mapping.entity(code: try result.integer(number, 1)),
            snapshot: nil))
      }
      return FetchedRows(rows: rows, count: rows.count, description: plan.words)
    case .rows:
      let rows = try plan.decoding.rows(result)
      return FetchedRows(rows: rows, count: rows.count, description: plan.words)
    }
  }

  /// Rows come through a cursor, in order, until the window is full.
  private func filtered(
    _ plan: FetchStatement, _ filter: RowFilter, _ request: ResolvedFetchRequest, _ mode: FetchMode
  ) throws -> FetchedRows {
    try inOneState {
      var declaration = plan.statement
      declaration.prefix("DECLARE strata_rows NO SCROLL CURSOR FOR ")
      try connection.run(declaration, deadline: deadline)
      var isOpen = true
      // Whoever pins the state goes on with it, whatever has ended this fetch. In a transaction that has failed there is nothing to close.
      defer {
        if isOpen, connection.isUsable {
          _ = try? connection.run(SQLStatement("CLOSE strata_rows"), deadline: deadline)
        }
      }
      var rows = ContiguousArray<FetchedRow>()
      var (seen, count) = (0, 0)
      let end = request.windowEnd
      var assembler = RowAssembler(expectedLength: 16_384)
      reading: while end.map({ seen < $0 }) ?? true {
        if let monitor = request.monitor, monitor.wasStopped { throw CancellationError() }
        let result = try connection.run(
          SQLStatement("FETCH FORWARD \(Self.rowsAtATime) FROM strata_rows"), deadline: deadline)
        for number in 0..<result.rowCount {
          let row = try plan.decoding.row(result, number, &assembler)
          guard try filter.matches(row) else { continue }
          seen += 1
          if seen <= request.offset { continue }
          count += 1
          if mode == .rows { rows.append(row) }
          if mode == .identifiers {
            rows.append(FetchedRow(primaryKey: row.primaryKey, entity: row.entity, snapshot: nil))
          }
          if let end, seen >= end { break reading }
        }
        if result.rowCount < Self.rowsAtATime { break }
      }
      isOpen = false
      try connection.run(SQLStatement("CLOSE strata_rows"), deadline: deadline)
      return FetchedRows(rows: rows, count: count, description: plan.words)
    }
  }

  /// Runs several statements that see one state of the store.
  func inOneState<R>(_ body: () throws -> R) throws -> R {
    // A snapshot's connection is in one already.
    guard connection.isIdle else { return try body() }
    try connection.run(SQLStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"), deadline: deadline)
    let result = try body()
    try connection.run(SQLStatement("COMMIT"), deadline: deadline)
    return result
  }

  // MARK: Rows

  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] {
    if primaryKeys.isEmpty { return [] }
    let table = mapping.tables[hierarchy]
    let decoding = RowDecoding(
      mapping, table, entities: mapping.schema.hierarchies[hierarchy].memberNumbers, alias: "t")
    var statement = SQLStatement()
    statement += "SELECT \(decoding.list) FROM \(table.name) t WHERE "
    statement.add("t.pk", isAnyOf: primaryKeys)
    let result = try connection.run(statement, deadline: deadline)
    var places: [UInt64: Int] = [:]
    places.reserveCapacity(result.rowCount)
    let found = try decoding.rows(result)
    for (place, row) in found.enumerated() { places[row.primaryKey] = place }
    return primaryKeys.map { key in places[key].map { found[$0] } }
  }

  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    try rows(hierarchy: hierarchy, primaryKeys: [primaryKey])[0]
  }

  func rows(_ lookup: UniqueLookup) throws -> [FetchedRow?] {
    var result = [FetchedRow?](repeating: nil, count: lookup.keys.count)
    let owner = mapping.schema.entities[lookup.index.owner]
    let table = mapping.table(ofEntity: owner.number)
    let columns = lookup.index.parts.compactMap { table.column(owner.number, $0.slot) }
    var arrays = columns.map { SQLArray($0.type) }
    // No row holds values that do not fit.
    var places: [Int] = []
    for (place, key) in lookup.keys.enumerated() {
      let isFit = zip(columns, key).allSatisfy { column, value in
        var bytes: [UInt8] = []
        return bytes.append(value, as: column.type) && !(column.type == .text && bytes.contains(0))
      }
      guard isFit else { continue }
      for (part, value) in key.enumerated() { _ = arrays[part].append(value) }
      places.append(place)
    }
    if places.isEmpty { return result }
    let decoding = RowDecoding(mapping, table, entities: owner.subtree, alias: "t")
    var statement = SQLStatement()
    let names = columns.indices.map { "c\($0)" }
    let rows = SQLStatement.rows(of: arrays.map { statement.bind($0) })
    let conditions = zip(columns, names).map { "t.\($0.name) = n.\($1)" }
    let codes = owner.subtree.map { String(mapping.codes[$0]) }.joined(separator: ", ")
    statement +=
      "SELECT \(decoding.list), n.place FROM \(rows) WITH ORDINALITY AS n(\(names.joined(separator: ", ")), place) "
      + "JOIN \(table.name) t ON \(conditions.joined(separator: " AND ")) AND t.entity IN (\(codes)) ORDER BY t.pk DESC"
    let found = try connection.run(statement, deadline: deadline)
    var assembler = RowAssembler(expectedLength: found.rowCount * 128)
    for number in 0..<found.rowCount {
      let place = Int(try found.integer(number, found.columnCount - 1)) - 1
      guard places.indices.contains(place) else { throw SQLResult.damaged }
      result[places[place]] = try decoding.row(found, number, &assembler)
    }
    return result
  }

  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    let table = mapping.table(ofEntity: entity)
    guard let column = table.column(entity, slot) else { return nil }
    var statement = SQLStatement()
    statement += "SELECT t.\(column.name), t.version, t.\(table.outside) FROM \(table.name) t WHERE t.pk = "
    statement += statement.bind(primaryKey)
    let result = try connection.run(statement, deadline: deadline)
    guard result.rowCount == 1, let value = result[0, 0] else { return nil }
    let known = result[0, 2].map { OutsideList.decode($0.bytes) }?[slot]
    // A value that no list names was written by somebody else: it belongs to the row as it is.
    let written = try known.map { Int64($0.version) } ?? result.integer(0, 1)
    return written == Int64(version) ? Data(value.bytes) : nil
  }

  // MARK: Members

  func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] { try members(edges, of: [owner])[0] }

  func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]] {
    var lists = [[UInt64]](repeating: [], count: owners.count)
    if owners.isEmpty { return lists }
    var statement = SQLStatement()
    switch try mapping.members(edges) {
    case .nowhere: return lists
    case .rows(let table, let column, let isOrdered):
      let order = isOrdered ? column.positionColumn.map { ", t.\($0)" } ?? "" : ""
      statement +=
        "SELECT t.\(column.name), t.pk, t.entity FROM \(table.name) t WHERE \(table.guardCondition) AND "
      statement.add("t.\(column.name)", isAnyOf: owners)
      statement += " ORDER BY t.\(column.name)\(order), t.pk"
    case .links(let join, let owner, let member, let position, let table):
      let order = position.map { ", l.\($0)" } ?? ""
      statement +=
        "SELECT l.\(owner), t.pk, t.entity FROM \(join.name) l JOIN \(table.name) t ON t.pk = l.\(member) WHERE \(table.guardCondition) AND "
      statement.add("l.\(owner)", isAnyOf: owners)
      statement += " ORDER BY l.\(owner)\(order), t.pk"
    }
    let result = try connection.run(statement, deadline: deadline)
    var places: [UInt64: [Int]] = [:]
    for (place, owner) in owners.enumerated() { places[owner, default: []].append(place) }
    for number in 0..<result.rowCount {
      let member = try reference(result, number, 1)
      for place in places[try result.key(number, 0)] ?? [] { lists[place].append(member) }
    }
    return lists
  }

  /// The reference that a key and the code behind it make.
  private func reference(_ result: SQLResult, _ row: Int, _ column: Int) throws -> UInt64 {
    guard let code = UInt16(exactly: try result.integer(row, column + 1)) else { throw SQLResult.damaged }
    return StoreReference.bits(try result.key(row, column), entityCode: code)
  }

  func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int {
    var statement = SQLStatement()
    switch try mapping.members(edges) {
    case .nowhere: return 0
    case .rows(let table, let column, _):
      statement +=
        "SELECT pg_catalog.count(*) FROM \(table.name) t WHERE \(table.guardCondition) AND t.\(column.name) = "
    case .links(let join, let ownerColumn, _, _, let table):
      statement +=
        "SELECT pg_catalog.count(*) FROM \(join.name) t WHERE \(table.guardCondition) AND t.\(ownerColumn) = "
    }
    statement += statement.bind(owner)
    return Int(try connection.run(statement, deadline: deadline).integer(0, 0))
  }

  func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool {
    let key = StoreReference.primaryKey(member)
    var statement = SQLStatement()
    switch try mapping.members(edges) {
    case .nowhere: return false
    case .rows(let table, let column, _):
      statement += "SELECT 1 FROM \(table.name) t WHERE \(table.guardCondition) AND t.\(column.name) = "
      statement += statement.bind(owner)
      statement += " AND t.pk = " + statement.bind(key)
    case .links(let join, let ownerColumn, let memberColumn, _, let table):
      statement += "SELECT 1 FROM \(join.name) t WHERE \(table.guardCondition) AND t.\(ownerColumn) = "
      statement += statement.bind(owner)
      statement += " AND t.\(memberColumn) = " + statement.bind(key)
    }
    return try connection.run(statement, deadline: deadline).rowCount > 0
  }

  func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember] {
    try placedMembers(edges, of: [owner])[0]
  }

  func placedMembers(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[PlacedMember]] {
    var lists = [[PlacedMember]](repeating: [], count: owners.count)
    if owners.isEmpty { return lists }
    var statement = SQLStatement()
    switch try mapping.members(edges) {
    case .rows(let table, let column, true):
      guard let position = column.positionColumn else { return lists }
      statement +=
        "SELECT t.\(column.name), t.pk, t.entity, t.\(position) FROM \(table.name) t WHERE \(table.guardCondition) AND "
      statement.add("t.\(column.name)", isAnyOf: owners)
      statement += " ORDER BY t.\(column.name), t.\(position), t.pk"
    case .links(let join, let ownerColumn, let memberColumn, let position?, let table):
      statement +=
        "SELECT l.\(ownerColumn), t.pk, t.entity, l.\(position) FROM \(join.name) l JOIN \(table.name) t ON t.pk = l.\(memberColumn) WHERE \(table.guardCondition) AND "
      statement.add("l.\(ownerColumn)", isAnyOf: owners)
      statement += " ORDER BY l.\(ownerColumn), l.\(position), t.pk"
    case .rows, .links, .nowhere: return lists
    }
    let result = try connection.run(statement, deadline: deadline)
    var places: [UInt64: [Int]] = [:]
    for (place, owner) in owners.enumerated() { places[owner, default: []].append(place) }
    for number in 0..<result.rowCount {
      guard let position = result[number, 3]?.integer(UInt64.self) else { throw SQLResult.damaged }
      let member = PlacedMember(position: position, member: try reference(result, number, 1))
      for place in places[try result.key(number, 0)] ?? [] { lists[place].append(member) }
    }
    return lists
  }
}
