import Foundation
import StrataCore

/// How the server executes a statement, as its `EXPLAIN` tells it.
struct ServerPlan {
  /// A step of the plan, and those that it takes its rows from.
  private struct Node: Decodable {
    let type: String
    let relation: String?
    let index: String?
    let indexCondition: String?
    let recheck: String?
    let filter: String?
    let sortKey: [String]?
    let rows: Double
    let actualRows: Double?
    let loops: Double?
    let removed: Double?
    let removedByRecheck: Double?
    let steps: [Node]?

    enum CodingKeys: String, CodingKey {
      case type = "Node Type"
      case relation = "Relation Name"
      case index = "Index Name"
      case indexCondition = "Index Cond"
      case recheck = "Recheck Cond"
      case filter = "Filter"
      case sortKey = "Sort Key"
      case rows = "Plan Rows"
      case actualRows = "Actual Rows"
      case loops = "Actual Loops"
      case removed = "Rows Removed by Filter"
      case removedByRecheck = "Rows Removed by Index Recheck"
      case steps = "Plans"
    }

    var all: [Node] { [self] + (steps ?? []).flatMap(\.all) }

    func words(_ depth: Int) -> [String] {
      var line = String(repeating: "  ", count: depth) + type
      if let index { line += " by \(index)" }
      if let relation { line += " of \(relation)" }
      if let sortKey { line += " by \(sortKey.joined(separator: ", "))" }
      if let condition = indexCondition ?? recheck { line += " where \(condition)" }
      if let filter { line += ", looked at: \(filter)" }
      line += ", about \(ServerPlan.count(rows)) rows"
      return [line] + (steps ?? []).flatMap { $0.words(depth + 1) }
    }
  }

  private struct Answer: Decodable {
    let plan: Node
    let executionTime: Double?

    enum CodingKeys: String, CodingKey {
      case plan = "Plan"
      case executionTime = "Execution Time"
    }
  }

  private let answer: Answer

  /// The statement that asks for the plan of another one.
  static func question(_ statement: SQLStatement, isExecuting: Bool) -> SQLStatement {
    var question = statement
    question.prefix("EXPLAIN (\(isExecuting ? "ANALYZE, " : "")FORMAT JSON) ")
    return question
  }

  /// - Throws: ``StorageError`` `.damaged` for an answer that is none.
  init(_ result: SQLResult) throws {
    let text = try result.text(0, 0)
    guard let first = try? JSONDecoder().decode([Answer].self, from: Data(text.utf8)).first else {
      throw SQLResult.damaged
    }
    answer = first
  }

  /// A number of the server's, which estimates more than an integer holds without hesitation.
  private static func count(_ value: Double) -> Int {
    Int(exactly: value.rounded(.towardZero)) ?? (value > 0 ? .max : 0)
  }

  var words: [String] { answer.plan.words(0) }
  var estimatedRows: Int { Self.count(answer.plan.rows) }
  var isOrdered: Bool { !answer.plan.all.contains { $0.type.hasSuffix("Sort") } }
  var indexNames: [String] {
    var names: [String] = []
    for case let name? in answer.plan.all.map(\.index) where !names.contains(name) { names.append(name) }
    return names
  }
  var returnedRows: Int { Self.count(answer.plan.actualRows ?? 0) }
  var duration: Duration { .nanoseconds(Self.count((answer.executionTime ?? 0) * 1_000_000)) }

  /// How many rows of tables were looked at.
  var examinedRows: Int {
    let sum = answer.plan.all.filter { $0.relation != nil }.reduce(0.0) { sum, node in
      let each = (node.actualRows ?? 0) + (node.removed ?? 0) + (node.removedByRecheck ?? 0)
      return sum + (each * (node.loops ?? 0)).rounded(.towardZero)
    }
    return Self.count(sum)
  }

  /// Whether all rows of a table are gone through, and whether the index of its primary key alone decides.
  func reading(of relation: String, keyIndex: String) -> (isScan: Bool, isByKey: Bool, isCovering: Bool) {
    guard let node = answer.plan.all.first(where: { $0.relation == relation }) else {
      return (false, false, false)
    }
    let indexes = node.all.compactMap(\.index)
    // An index that is gone through for its order alone leads to all rows.
    let isLimited = node.all.contains { $0.indexCondition != nil || $0.recheck != nil }
    return (
      !isLimited,
      !indexes.isEmpty && indexes.allSatisfy { $0 == keyIndex } && node.indexCondition != nil,
      node.type == "Index Only Scan"
    )
  }
}

extension PostgresReading {
  func explain(_ request: ResolvedFetchRequest, mode: FetchMode, isExecuting: Bool) throws
    -> FetchExplanation.StorePart?
  {
    let question = EngineRequest(request, storeIdentifier: storeIdentifier)
    // What is sorted here comes as its candidates do.
    let isSortedHere = mode != .count && question.candidates != nil
    let asked = question.candidates.flatMap {
      isSortedHere ? EngineRequest($0, storeIdentifier: storeIdentifier) : nil
    }
    let plan = FetchStatement(asked ?? question, mode, mapping)
    if plan.isEmpty {
      return FetchExplanation.StorePart(
        storeIdentifier: storeIdentifier, access: .nothing, indexNames: [], rangeCount: 0, estimatedRows: 0,
        isOrdered: true, isCovering: true, plan: "nothing matches")
    }
    let isDecidedThere = plan.undecided.isEmpty && !isSortedHere && !question.hasStart
    let found = try ServerPlan(
      run(ServerPlan.question(plan.statement, isExecuting: isExecuting && isDecidedThere)))
    let table = mapping.tables[request.hierarchyNumber]
    let reading = found.reading(
      of: table.adopted?.name ?? table.plainName, keyIndex: try nameOfKeyIndex(of: table))
    var lines = [plan.words] + found.words
    if isSortedHere { lines.append("sorted here") }
    var execution: FetchExplanation.Execution?
    if isExecuting, isDecidedThere {
      execution = FetchExplanation.Execution(
        rowsExamined: found.examinedRows, entriesExamined: 0,
        rowsReturned: found.returnedRows, hasScannedInstead: false, duration: found.duration)
    } else if isExecuting {
      let start = ContinuousClock.now
      let rows = try fetch(request, mode: mode)
      execution = FetchExplanation.Execution(
        rowsExamined: rows.count, entriesExamined: 0, rowsReturned: rows.count, hasScannedInstead: false,
        duration: ContinuousClock.now - start)
    }
    return FetchExplanation.StorePart(
      storeIdentifier: storeIdentifier,
      access: reading.isScan ? .scan : reading.isByKey ? .identifiers : .index, indexNames: found.indexNames,
      rangeCount: found.indexNames.count, estimatedRows: found.estimatedRows,
      isOrdered: found.isOrdered && !isSortedHere, isCovering: reading.isCovering,
      plan: lines.joined(separator: "\n"), execution: execution)
  }

  /// What the server calls the index of a table's primary key: a table that gets another name keeps that of its index.
  private func nameOfKeyIndex(of table: TableMapping) throws -> String {
    var statement = SQLStatement(
      """
      SELECT c.relname::text FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
      WHERE i.indisprimary AND i.indrelid =
      """)
    statement += " " + statement.bind(table.adopted?.relation ?? table.name) + "::text::regclass"
    let answer = try run(statement)
    return answer.rowCount == 0 ? "" : try answer.text(0, 0)
  }

  // MARK: Everything

  func rows(hierarchy: Int, from key: UInt64, most count: Int) throws -> [FetchedRow] {
    let table = mapping.tables[hierarchy]
    let decoding = RowDecoding(
      mapping, table, entities: mapping.schema.hierarchies[hierarchy].memberNumbers, alias: "t")
    var statement = SQLStatement("SELECT \(decoding.list) FROM \(table.name) t WHERE t.pk >= ")
    statement += statement.bind(key) + " ORDER BY t.pk LIMIT " + statement.bind(count)
    return Array(try decoding.rows(run(statement)))
  }

  func facts() throws -> StoreFacts {
    let catalogue = try Catalogue.read(mapping.namespace, on: source)
    var counters: [String: UInt64] = [:]
    for hierarchy in mapping.schema.hierarchies {
      let answer = try run(
        SQLStatement("SELECT last_value, is_called FROM \(mapping.tables[hierarchy.number].sequence)"))
      let last = try answer.key(0, 0)
      // A value of the sequence is the first key of a block.
      let isCalled = answer[0, 1]?.bytes.first == 1
      counters[hierarchy.rootName] = isCalled ? last + UInt64(KeyBlocks.blockLength) : max(last, 1)
    }
    let metadata = catalogue.metadata.withoutStandardKeys
    return StoreFacts(
      identifier: catalogue.identifier, model: catalogue.model,
      entities: catalogue.versionHashes.keys.sorted(),
      counters: counters,
      metadata: metadata.values.isEmpty ? nil : Data(try Catalogue.text(metadata).utf8),
      lineage: catalogue.lineage, recordsHistory: catalogue.recordsHistory)
  }

  /// Tables with what belongs to them, and their indexes.
  func parts() throws -> [StoredPart] {
    var tables: [(words: String, name: String)] = mapping.tables.map {
      (
        "objects of \(mapping.schema.hierarchies[$0.hierarchy].rootName) and below",
        $0.adopted?.relation ?? $0.name
      )
    }
    for (number, join) in mapping.joins.enumerated() {
      guard let join, join.relationship == number else { continue }
      tables.append(("members of \(mapping.schema.relationships[number].qualifiedName)", join.name))
    }
    tables.append(("history, and what the last commits have changed", mapping.commitTable))
    let own = ["strata_store", "strata_entity", "strata_consumer", "strata_index"].map {
      mapping.qualified($0)
    }
    var parts: [StoredPart] = []
    func size(_ function: String, _ name: String) throws -> Int {
      var statement = SQLStatement("SELECT pg_catalog.\(function)(")
      statement += statement.bind(name) + "::text::regclass)"
      return Int(try run(statement).integer(0, 0))
    }
    for (words, name) in tables {
      parts.append(StoredPart(words: words, byteCount: try size("pg_table_size", name)))
      parts.append(StoredPart(words: "indexes: " + words, byteCount: try size("pg_indexes_size", name)))
    }
    let rest = try own.reduce(0) { try $0 + size("pg_total_relation_size", $1) }
    parts.append(StoredPart(words: "the store itself", byteCount: rest))
    return parts
  }
}
