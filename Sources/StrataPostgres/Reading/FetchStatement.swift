import StrataCore

/// A fetch as a statement, and what is left to decide of the rows it returns.
struct FetchStatement {
  let statement: SQLStatement
  let decoding: RowDecoding
  /// The conjuncts that the statement does not decide.
  let undecided: [Int]
  /// Whether nothing can match, so that the server need not be asked.
  let isEmpty: Bool

  /// What conditions may bind, so that limit and offset find room as well.
  private static let mostParameters = SQLStatement.mostParameters - 100

  /// The statement for a request in a mode. Rows that are left to a filter are asked for with their values, whatever the mode.
  /// - Parameter column: Makes another column of the name that the table has in the statement; nil for none. Called for identifiers alone, where the statement decides all.
  init(
    _ request: EngineRequest, _ mode: FetchMode, _ mapping: StoreMapping,
    with column: (_ table: String, _ statement: inout SQLStatement) -> String? = { _, _ in nil }
  ) {
    let resolved = request.request
    let table = mapping.tables[resolved.hierarchyNumber]
    var predicates = PredicateSQL(mapping)
    let alias = predicates.alias()
    var conditions: [String] = []
    var undecided: [Int] = []
    var isEmpty = false
    let members = mapping.schema.hierarchies[resolved.hierarchyNumber].memberNumbers
    if resolved.entityNumbers != members {
      let codes = resolved.entityNumbers.map { String(mapping.codes[$0]) }.joined(separator: ", ")
      conditions.append("\(alias).entity IN (\(codes))")
    }
    for (place, conjunct) in request.conjuncts.enumerated() {
      if case .none = conjunct { isEmpty = true }
      let before = predicates
      var condition = predicates.condition(conjunct, table, resolved.entity.number, alias)
      if predicates.statement.oids.count > Self.mostParameters {
        // More than the wire takes: rows are looked at here.
        (predicates, condition) = (before, nil)
      }
      if let condition, condition.text != "true" { conditions.append("(\(condition.text))") }
      if condition?.isExact != true { undecided.append(place) }
    }
    let isDecided = undecided.isEmpty && !request.hasStart
    var (joins, order) = ("", "")
    if mode != .count || !isDecided {
      for sort in request.sorts {
        Self.add(sort, table, resolved, mapping, &predicates, alias, &joins, &order)
      }
      order += request.keysDescend ? "\(alias).pk DESC" : "\(alias).pk"
    }
    if isDecided, mode == .count || mode == .identifiers { conditions.append(table.guardCondition) }
    decoding = RowDecoding(mapping, table, entities: resolved.entityNumbers, alias: alias)
    var statement = predicates.statement
    var words: String
    switch mode {
    case .count where isDecided: words = "SELECT pg_catalog.count(*)"
    case .identifiers where isDecided:
      words = "SELECT \(alias).pk, \(alias).entity"
      if let column = column(alias, &statement) { words += ", " + column }
    default: words = "SELECT \(decoding.list)"
    }
    words += " FROM \(table.name) \(alias)\(joins)"
    if !conditions.isEmpty { words += " WHERE " + conditions.joined(separator: " AND ") }
    if !order.isEmpty { words += " ORDER BY \(order)" }
    if isDecided, mode != .count {
      if resolved.limit > 0 { words += " LIMIT \(statement.bind(resolved.limit))" }
      if resolved.offset > 0 { words += " OFFSET \(statement.bind(resolved.offset))" }
    }
    statement += words
    self.statement = statement
    self.undecided = undecided
    self.isEmpty = isEmpty
  }

  /// Nil comes first when values ascend, as in Strata, and last when they descend.
  private static func add(
    _ sort: EngineSort, _ table: TableMapping, _ request: ResolvedFetchRequest, _ mapping: StoreMapping,
    _ predicates: inout PredicateSQL, _ alias: String, _ joins: inout String, _ order: inout String
  ) {
    var (alias, table, entity) = (alias, table, request.entity.number)
    for step in sort.steps {
      let relationship = mapping.schema.relationships[step]
      guard let column = table.column(entity, relationship.slot) else { return }
      let other = predicates.alias()
      let target = mapping.tables[relationship.destinationHierarchy]
      joins += " LEFT JOIN \(target.name) \(other) ON \(other).pk = \(alias).\(column.name)"
      (alias, table, entity) = (other, target, relationship.destination)
    }
    guard let column = table.column(entity, sort.slot) else { return }
    order +=
      "\(alias).\(column.name)\(column.order) \(sort.isAscending ? "ASC NULLS FIRST" : "DESC NULLS LAST"), "
  }

  /// The statement and what it leaves, for explanations.
  var words: String {
    undecided.isEmpty ? statement.text : statement.text + " -- \(undecided.count) conditions are decided here"
  }
}
