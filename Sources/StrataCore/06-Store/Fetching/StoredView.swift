import Foundation

/// A stored row with its key, as an evaluation looks at it.
struct StoredNode {
  let row: StoredRow
  let primaryKey: UInt64
}

/// The rows of a store in one read transaction, as objects that refer to each other.
///
/// Lives inside the closure of the transaction and must not leave it. Rows that were looked at last are found again without a
/// look-up in the store.
final class StoredView: ObjectView {
  typealias Node = StoredNode

  let reader: RowReader
  let storeIdentifier: UUID
  var schema: Schema { reader.parts.schema }
  /// LMDB's transaction, which outlives the view.
  private let handle: OpaquePointer
  private let codes: RowCodes
  /// By the lowest bits of the primary key; empty until a relationship is followed.
  private var recent: ContiguousArray<(hierarchy: Int, node: StoredNode)?> = []
  /// The hierarchies all of whose rows are being looked at.
  var scannedHierarchies: Set<Int> = []
  /// Who watches the fetch that looks at the view, and may stop it.
  private(set) var monitor: FetchMonitor?
  private var semiJoins: ContiguousArray<(test: ObjectIdentifier, join: SemiJoin)> = []
  private var joinsByMeaning: [SemiJoin.Meaning: SemiJoin] = [:]
  private static var recentMask: UInt64 { 255 }

  init(_ reader: RowReader, _ transaction: borrowing ReadTransaction) {
    self.reader = reader
    storeIdentifier = reader.parts.identifier
    handle = transaction.handle
    codes = reader.catalogue.codes
  }

  /// Has a monitor asked about the passes over rows that evaluating a predicate takes.
  func watch(_ monitor: FetchMonitor) { self.monitor = monitor }

  /// Calls `body` with the transaction.
  @inline(__always)
  func withTransaction<R>(_ body: (borrowing ReadTransaction) throws -> R) rethrows -> R {
    // The view lives inside the closure that was given the transaction.
    try body(ReadTransaction(handle: handle))
  }

  func reference(_ node: StoredNode) -> UInt64 {
    Reference.bits(node.primaryKey, entityCode: RowBytes.entityCode(node.row.base))
  }

  func entityName(_ node: StoredNode) -> String { schema.entities[node.row.entity].name }

  func value(_ node: StoredNode, _ slot: Int) throws -> AttributeValue {
    if let value = RowBytes.value(node.row.base, slot, reader.layout(of: node.row)) { return value }
    return try withTransaction {
      try reader.value(node.row, slot, primaryKey: node.primaryKey, externals: [], $0)
    }
  }

  /// What a to-one relationship of a row refers to, 0 for nothing.
  @inline(__always)
  func reference(_ node: StoredNode, _ relationship: RelationshipSchema) -> UInt64 {
    RowBytes.reference(node.row.base, reader.layout(of: node.row).entry(of: relationship.slot))
  }

  func node(_ reference: UInt64, hierarchy: Int) throws -> StoredNode? {
    let key = Reference.primaryKey(reference)
    let place = Int(truncatingIfNeeded: key & Self.recentMask)
    if recent.isEmpty { recent = ContiguousArray(repeating: nil, count: Int(Self.recentMask) + 1) }
    if let known = recent[place], known.hierarchy == hierarchy, known.node.primaryKey == key {
      return known.node
    }
    guard let found = try read(key, hierarchy) else { return nil }
    recent[place] = (hierarchy, found)
    return found
  }

  private func read(_ key: UInt64, _ hierarchy: Int) throws -> StoredNode? {
    guard hierarchy >= 0, hierarchy < reader.parts.rows.count, let keyspace = reader.parts.rows[hierarchy]
    else { return nil }
    guard let bytes = try withTransaction({ try $0.get(keyspace, key) }) else { return nil }
    return StoredNode(row: try row(bytes, key, hierarchy), primaryKey: key)
  }

  /// The row that bytes among those of a hierarchy are.
  func row(_ bytes: UnsafeRawBufferPointer, _ key: UInt64, _ hierarchy: Int) throws -> StoredRow {
    if !reader.parts.verifiesChecksums, let entry = codes.entry(bytes), entry.pointee.hierarchy == hierarchy,
      entry.pointee.isInBounds(bytes), let base = bytes.baseAddress
    {
      return StoredRow(base: base, count: bytes.count, entity: Int(entry.pointee.entity))
    }
    return try reader.row(bytes, primaryKey: key, of: hierarchy)
  }

  func members(_ node: StoredNode, _ relationship: RelationshipSchema) throws -> [UInt64] {
    try withTransaction {
      try reader.members(EdgeSet(relationship: relationship.number), of: node.primaryKey, $0)
    }
  }

  func memberCount(_ node: StoredNode, _ relationship: RelationshipSchema) throws -> Int {
    try withTransaction {
      try reader.memberCount(EdgeSet(relationship: relationship.number), of: node.primaryKey, $0)
    }
  }

  /// The object at the end of to-one relationships; nil where one of them leads nowhere.
  func follow(_ node: StoredNode, _ steps: [RelationshipSchema]) throws -> StoredNode? {
    var node = node
    for step in steps {
      let bits = reference(node, step)
      guard bits != 0, let next = try self.node(bits, hierarchy: step.destinationHierarchy) else {
        return nil
      }
      node = next
    }
    return node
  }

  // MARK: Programs

  @inline(__always)
  func matches(_ program: CompiledPredicate, _ node: StoredNode, _ evaluation: Evaluation<StoredView>) throws
    -> Bool
  {
    try program.evaluate(
      row: node.row.base, table: reader.layout(of: node.row).table, primaryKey: node.primaryKey,
      large: { try value(node, $0) },
      other: { try test($0, program, node, evaluation) })
  }

  /// The tests that need more than to compare a value of the row.
  func test(
    _ instruction: CompiledPredicate.Instruction, _ program: CompiledPredicate, _ node: StoredNode,
    _ evaluation: Evaluation<StoredView>
  ) throws -> Bool {
    let operand = Int(instruction.firstOperand)
    switch instruction.kind {
    case .text:
      let slot = Int(instruction.slot)
      if RowBytes.isNil(node.row.base, slot) { return false }
      let entry = reader.layout(of: node.row).entry(of: slot)
      if RowBytes.isExternal(node.row.base, entry) {
        return try program.texts[operand].matches(value(node, slot))
      }
      return try program.texts[operand].matcher.matches(RowBytes.variable(node.row.base, entry))
    case .related:
      let test = program.related[operand]
      if test.relationship.isToMany { return try evaluation.matches(test, node) }
      let bits = reference(node, test.relationship)
      return bits == 0 ? false : try evaluation.matches(test, bits)
    case .comparison: return try evaluation.isTrue(program.comparisons[operand])
    case .slot, .identifier, .reference, .arithmetic: return false
    }
  }

  func matchingCount(
    _ test: RelatedTest, _ node: StoredNode, atMost: Int, _ evaluation: Evaluation<StoredView>
  ) throws -> Int? {
    guard test.isIndependent, test.relationship.inverse != nil, test.relationship.isInverseToOne else {
      return nil
    }
    return try semiJoin(test).count(node.primaryKey, atMost: atMost, self, evaluation)
  }

  private func semiJoin(_ test: RelatedTest) throws -> SemiJoin {
    let key = ObjectIdentifier(test)
    for entry in semiJoins where entry.test == key { return entry.join }
    // A join compiles its test again for its pass over all members, and so do the joins within it: equal tests share one.
    let meaning = SemiJoin.Meaning(relationship: test.relationship.number, predicate: test.program.source)
    let join = try joinsByMeaning[meaning] ?? SemiJoin(test, self)
    joinsByMeaning[meaning] = join
    semiJoins.append((key, join))
    return join
  }
}

extension StoredView {
  /// How many rows a hierarchy has; 0 when that cannot be told.
  func rowCount(_ hierarchy: Int) -> Int {
    guard let keyspace = reader.parts.rows[hierarchy] else { return 0 }
    return withTransaction { (try? $0.entryCount(keyspace)) ?? 0 }
  }

  /// How the rows of a request are found.
  func plan(_ request: ResolvedFetchRequest, mode: FetchMode = .rows) throws -> FetchPlan {
    let indexes = reader.catalogue.indexes
    return FetchPlanner.plan(
      request, mode: mode, storeIdentifier: reader.parts.identifier,
      isUsable: { indexes.isUsable($0.number) }, rowCount: { self.rowCount($0) },
      addedIndexes: { indexes.addedByEntity[$0] }, entityCodes: reader.catalogue.entityCodes)
  }
}
