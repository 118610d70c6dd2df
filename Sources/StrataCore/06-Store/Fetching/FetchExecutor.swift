import Foundation

/// Carries out a fetch plan inside one read transaction.
///
/// One cursor step per candidate; entity and residual predicate are decided on the stored bytes; only rows of
/// the result are copied, once. Lives inside the closure of the transaction.
final class FetchExecutor {
  let request: ResolvedFetchRequest
  let plan: FetchPlan
  let mode: FetchMode
  let reader: RowReader
  private let wanted: SlotBitmap
  private let codes: RowCodes
  private let residual: CompiledPredicate?
  private let filtersEntities: Bool
  private let verifiesChecksums: Bool
  /// Whether the residual predicate looks only at values of fixed width.
  private let isFixed: Bool
  /// The two parts of the residual predicate without counting references for each row: the plan keeps them. The fixed part looks
  /// at values of fixed width alone, when there is more, and dismisses most rows before anything else is looked at.
  private let uncounted: (residual: Unmanaged<CompiledPredicate>?, fixedPart: Unmanaged<CompiledPredicate>?)
  var parts: StoreParts { reader.parts }
  let view: StoredView
  /// Decides tests of other rows; keeps what it has found out of them.
  private let evaluation: Evaluation<StoredView>
  /// Counts what is looked at, for those who want to know.
  let counters: FetchCounters?
  /// Asks from time to time whether to go on; nil when it cannot be stopped.
  let ticker: FetchTicker?

  init(
    request: ResolvedFetchRequest, plan: FetchPlan, mode: FetchMode, view: StoredView,
    counters: FetchCounters? = nil
  ) {
    self.request = request
    self.plan = plan
    self.mode = mode
    self.view = view
    self.counters = counters
    ticker = request.monitor.map { FetchTicker($0) }
    if let monitor = request.monitor { view.watch(monitor) }
    reader = view.reader
    evaluation = Evaluation(view, entityName: request.entity.name)
    var wanted = SlotBitmap()
    for number in request.entityNumbers { wanted.insert(number) }
    self.wanted = wanted
    codes = reader.catalogue.codes
    residual = plan.residual
    filtersEntities = plan.filtersEntities
    verifiesChecksums = reader.parts.verifiesChecksums
    let layout = request.entity.layout
    var isFixed = plan.residual?.isLocal == true && !reader.parts.verifiesChecksums
    plan.residual?.slots.forEach { if layout.kind(of: $0).isVariable { isFixed = false } }
    self.isFixed = isFixed
    let fixedPart = isFixed || reader.parts.verifiesChecksums ? nil : plan.fixedPart
    uncounted = (residual.map(Unmanaged.passUnretained), fixedPart.map(Unmanaged.passUnretained))
    // A test of members may then be asked of all owners.
    if plan.access == .scan, request.limit == 0 { view.scannedHierarchies.insert(request.hierarchyNumber) }
  }

  func run(_ transaction: borrowing ReadTransaction) throws -> FetchedRows {
    if case .related(let related) = plan.access, mode == .count, needsNoRows,
      let count = try memberCount(related, transaction)
    {
      return FetchedRows(rows: [], count: windowed(count), plan: plan)
    }
    if plan.isTrial, let alternative = plan.alternative {
      if let found = try collectOnTrial(transaction) { return found }
      counters?.hasScannedInstead = true
      return try with(alternative.plan).run(transaction)
    }
    if let alternative = plan.alternative {
      let limit = try parts.rows[request.hierarchyNumber].map { try transaction.entryCount($0) / 6 } ?? 0
      guard let keys = try candidateKeys(plan.access, atMost: max(limit, 8), transaction) else {
        counters?.hasScannedInstead = true
        return try FetchExecutor(
          request: request, plan: alternative.plan, mode: mode, view: view, counters: counters
        ).run(transaction)
      }
      if needsNoRows, plan.isOrdered, !plan.access.namesIdentifiers { return found(keys) }
      return try with(plan.finding(keys)).run(transaction)
    }
    if plan.isCovering { return try collectFromEntries(transaction) }
    if let count = try countWithoutRows(transaction) {
      return FetchedRows(rows: [], count: windowed(count), plan: plan)
    }
    if plan.isOrdered { return try collectInOrder(transaction) }
    return try collectAndSort(transaction)
  }

  private func with(_ plan: FetchPlan) -> FetchExecutor {
    FetchExecutor(request: request, plan: plan, mode: mode, view: view, counters: counters)
  }

  private func windowed(_ count: Int) -> Int {
    let left = max(0, count - request.offset)
    return request.limit == 0 ? left : min(left, request.limit)
  }

  /// Whether candidates are known to match, and by their keys alone.
  private var needsNoRows: Bool {
    plan.residual == nil && !plan.filtersEntities && request.start == nil
      && (mode == .count || (mode == .identifiers && wanted.count == 1))
  }

  /// The number of matches where the number of entries tells it.
  private func countWithoutRows(_ transaction: borrowing ReadTransaction) throws -> Int? {
    guard let keyspace = parts.rows[request.hierarchyNumber] else { return 0 }
    switch plan.access {
    case .nothing: return 0
    case .scan where mode == .count && needsNoRows: return try transaction.entryCount(keyspace)
    // A fetch that is watched reports each entry.
    case .index(let number, let ranges, _) where mode == .count && needsNoRows && ticker == nil:
      guard let keyspace = view.reader.catalogue.indexes.keyspaces[number] else { return 0 }
      return try transaction.withCursor(keyspace) { cursor in
        try ranges.reduce(0) { try $0 + IndexWalk.count($1, &cursor) }
      }
    default: return nil
    }
  }
}

// MARK: In order

extension FetchExecutor {
  private func collectInOrder(_ transaction: borrowing ReadTransaction) throws -> FetchedRows {
    var rows: ContiguousArray<FetchedRow> = []
    var slab = RowSlabWriter()
    var skip = request.offset
    var count = 0
    let limit = request.limit == 0 ? Int.max : request.limit
    if needsNoRows {
      let entity = request.entityNumbers[0]
      try forEachKey(transaction) { key in
        if skip > 0 { skip -= 1; return true }
        count += 1
        if mode == .identifiers { rows.append(FetchedRow(primaryKey: key, entity: entity, snapshot: nil)) }
        return count < limit
      }
      return FetchedRows(rows: rows, count: count, plan: plan)
    }
    if mode == .rows, residual == nil, !filtersEntities, case .scan = plan.access,
      let keyspace = parts.rows[request.hierarchyNumber]
    {
      rows.reserveCapacity(windowed(try transaction.entryCount(keyspace)))
    }
    try forEachMatch(transaction) { key, row in
      if request.start != nil, try !isBehindStart(row, key) { return true }
      if skip > 0 { skip -= 1; return true }
      count += 1
      switch mode {
      case .count: break
      case .identifiers: rows.append(FetchedRow(primaryKey: key, entity: row.entity, snapshot: nil))
      case .rows:
        let snapshot = row.keeper ?? slab.append(copying: row.bytes)
        rows.append(FetchedRow(primaryKey: key, entity: row.entity, snapshot: snapshot))
      }
      return count < limit
    }
    return FetchedRows(rows: rows, count: count, plan: plan)
  }

  /// Calls `body` with every candidate that matches until it answers false.
  @inline(__always)
  func forEachMatch(
    _ transaction: borrowing ReadTransaction, _ body: (UInt64, StoredRow) throws -> Bool
  ) throws {
    guard let keyspace = parts.rows[request.hierarchyNumber] else { return }
    switch plan.access {
    case .nothing: return
    case .scan:
      try transaction.withCursor(keyspace) { cursor in
        try cursor.forEach(from: try firstEntry(&cursor)) { found in
          guard let key = PrimaryKeyBytes.whole(found.key) else {
            throw parts.damaged("A row has a malformed key.")
          }
          guard let row = try match(found.value, key, transaction) else { return true }
          return try body(key, row)
        }
      }
    case .identifiers(let keys):
      try transaction.forEachValue(of: keys, in: keyspace) { key, bytes in
        guard let bytes, let row = try match(bytes, key, transaction) else { return true }
        return try body(key, row)
      }
    case .related, .union:
      let keys = try candidateKeys(plan.access, atMost: .max, transaction) ?? []
      try with(plan.finding(keys)).forEachMatch(transaction, body)
    case .index where streamsIndex:
      try forEachKey(transaction) { key in
        guard let bytes = try transaction.get(keyspace, key) else {
          throw parts.damaged("An index names the row p\(key), which does not exist.")
        }
        guard let row = try match(bytes, key, transaction) else { return true }
        return try body(key, row)
      }
    case .index:
      // Neighbouring rows lie on the same page.
      var keys: [UInt64] = []
      try forEachKey(transaction) { key in
        keys.append(key)
        return true
      }
      keys.sort()
      try transaction.forEachValue(of: keys, in: keyspace) { key, bytes in
        guard let bytes else {
          throw parts.damaged("An index names the row p\(key), which does not exist.")
        }
        guard let row = try match(bytes, key, transaction) else { return true }
        return try body(key, row)
      }
    }
  }

  /// Where a scan begins.
  @inline(__always)
  private func firstEntry(_ cursor: inout Cursor) throws -> Cursor.Entry? {
    // Rows that come in order although they are sorted have equal values.
    guard let start = request.start, !request.keysDescend,
      request.sorts.isEmpty || plan.isOrdered && mode != .count
    else {
      return try cursor.first()
    }
    return try PrimaryKeyBytes.with(start.primaryKey) { try cursor.seek(atLeast: $0) }
  }

  /// Whether a row lies behind the start of the request, which there is.
  @inline(never)
  func isBehindStart(_ row: StoredRow, _ key: UInt64) throws -> Bool {
    guard let start = request.start else { return true }
    let node = StoredNode(row: row, primaryKey: key)
    return try request.isBehindStart(
      start,
      { place in
        let sort = request.sorts[place]
        if sort.steps.isEmpty { return try view.value(node, sort.slot) }
        let other = try view.follow(node, sort.steps.map { view.schema.relationships[$0] })
        return try other.map { try view.value($0, sort.slot) } ?? .null
      }, key)
  }

  /// Whether rows are read in the order of index entries: when that is the order wanted, or few will do.
  private var streamsIndex: Bool {
    plan.isOrdered && (request.limit > 0 || !request.sorts.isEmpty)
  }

  /// The row, if it belongs to the result.
  ///
  /// Most rows that do not belong to it are dismissed by their header or by their fixed values alone.
  @inline(__always)
  func match(
    _ bytes: UnsafeRawBufferPointer, _ key: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> StoredRow? {
    counters?.examined += 1
    if let ticker { try ticker.step() }
    guard let entry = codes.entry(bytes) else { return try matchSlowly(bytes, key, transaction) }
    let entity = Int(entry.pointee.entity)
    if !wanted.contains(entity) {
      if filtersEntities { return nil }
      throw reader.isAstray(key)
    }
    // The header says that there are bytes.
    let base = bytes.baseAddress.unsafelyUnwrapped
    if isFixed, let residual = uncounted.residual {
      // Values of fixed width lie before `fixedEnd`: nothing else is looked at, large values neither.
      let matches = residual._withUnsafeGuaranteedRef {
        $0.evaluate(row: base, table: entry.pointee.table, primaryKey: key, large: { _ in .null })
      }
      if !matches { return nil }
      if mode == .count { return StoredRow(base: base, count: bytes.count, entity: entity) }
    } else if let fixedPart = uncounted.fixedPart {
      let mayMatch = fixedPart._withUnsafeGuaranteedRef {
        $0.evaluate(row: base, table: entry.pointee.table, primaryKey: key, large: { _ in .null })
      }
      if !mayMatch { return nil }
    }
    if verifiesChecksums || !entry.pointee.isInBounds(bytes) {
      return try matchSlowly(bytes, key, transaction)
    }
    let row = StoredRow(base: base, count: bytes.count, entity: entity)
    guard !isFixed, let residual else { return row }
    guard residual.isLocal else { return try matchOthers(residual, row, key) ? row : nil }
    let matches = try residual.evaluate(
      row: base, table: entry.pointee.table, primaryKey: key,
      large: { try reader.value(row, $0, primaryKey: key, externals: [], transaction) },
      other: { try testText($0, residual, row, key) })
    return matches ? row : nil
  }

  /// A predicate on other rows.
  @inline(never)
  private func matchOthers(_ residual: CompiledPredicate, _ row: StoredRow, _ key: UInt64) throws -> Bool {
    try evaluation.matches(residual, StoredNode(row: row, primaryKey: key))
  }

  @inline(never)
  private func testText(
    _ instruction: CompiledPredicate.Instruction, _ residual: CompiledPredicate, _ row: StoredRow,
    _ key: UInt64
  ) throws -> Bool {
    try view.test(instruction, residual, StoredNode(row: row, primaryKey: key), evaluation)
  }

  /// The same for rows that are unknown, damaged, or of an older layout.
  @inline(never)
  private func matchSlowly(
    _ bytes: UnsafeRawBufferPointer, _ key: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> StoredRow? {
    guard wanted.contains(try reader.entity(of: bytes, primaryKey: key)) else {
      if filtersEntities { return nil }
      throw reader.isAstray(key)
    }
    let row = try reader.row(bytes, primaryKey: key)
    guard let residual else { return row }
    let matches = try matchOthers(residual, row, key)
    return withExtendedLifetime(row) { matches ? row : nil }
  }

  /// Calls `body` with the primary key of every candidate until it answers false.
  @inline(__always)
  func forEachKey(
    _ transaction: borrowing ReadTransaction, _ visit: (UInt64) throws -> Bool
  ) throws {
    @inline(__always) func body(_ key: UInt64) throws -> Bool {
      if let ticker { try ticker.step() }
      return try visit(key)
    }
    switch plan.access {
    case .nothing: return
    case .identifiers(let keys):
      guard let keyspace = parts.rows[request.hierarchyNumber] else { return }
      try transaction.forEachValue(of: keys, in: keyspace) { key, bytes in
        bytes == nil ? true : try body(key)
      }
    case .scan:
      guard let keyspace = parts.rows[request.hierarchyNumber] else { return }
      try transaction.withCursor(keyspace) { cursor in
        try cursor.forEach(from: try cursor.first()) { found in
          guard let key = PrimaryKeyBytes.whole(found.key) else {
            throw parts.damaged("A row has a malformed key.")
          }
          return try body(key)
        }
      }
    case .related, .union:
      let keys = try candidateKeys(plan.access, atMost: .max, transaction) ?? []
      try with(plan.finding(keys)).forEachKey(transaction, body)
    case .index(let number, let ranges, let isReversed):
      guard let keyspace = view.reader.catalogue.indexes.keyspaces[number] else { return }
      try transaction.withCursor(keyspace) { cursor in
        if isReversed {
          for range in ranges.reversed() where try !IndexWalk.backwards(range, &cursor, counters, body) {
            return
          }
        } else {
          for range in ranges where try !IndexWalk.forwards(range, &cursor, counters, body) { return }
        }
      }
    }
  }
}

// MARK: Sorting

extension FetchExecutor {
  private func collectAndSort(_ transaction: borrowing ReadTransaction) throws -> FetchedRows {
    var sorter = RowSorter(request, view: view)
    try forEachMatch(transaction) { key, row in
      if request.start != nil, try !isBehindStart(row, key) { return true }
      try sorter.add(row, key, transaction)
      return true
    }
    let order = try sorter.sorted(transaction)
    let window = order.dropFirst(request.offset).prefix(request.limit == 0 ? Int.max : request.limit)
    var rows: ContiguousArray<FetchedRow> = []
    rows.reserveCapacity(window.count)
    var slab = RowSlabWriter()
    for number in window.indices {
      // In their new order rows lie all over the store: each would wait for its own bytes, and for where these are.
      if mode == .rows {
        if number + 24 < window.endIndex { sorter.prefetchCandidate(window[number + 24]) }
        if number + 12 < window.endIndex { sorter.candidates[Int(window[number + 12])].row.prefetch() }
      }
      let (key, row) = sorter.candidates[Int(window[number])]
      let snapshot = mode == .rows ? row.keeper ?? slab.append(copying: row.bytes) : nil
      rows.append(FetchedRow(primaryKey: key, entity: row.entity, snapshot: snapshot))
    }
    return FetchedRows(rows: rows, count: rows.count, plan: plan)
  }
}
