import Foundation

/// Carries the rows of a pinned commit of one store into another, some thousands at a time.
///
/// ```
///   1  rows     values, large values, references of to-one relationships; in the order of primary keys
///   2  members  of relationships that are not in rows, and the order of those that have one
/// ```
///
/// Memory: what one step holds. Used by one thread.
struct RowMigration {
  let plan: MigrationPlan
  let rows: SourceRows
  let destination: LMDBStore
  let progress: BatchProgress
  /// By number of the source's entity: how many rows were taken over.
  private(set) var rowCounts: [Int]
  private var completed = 0
  private var lastReport = ContinuousClock.now
  private let stamps: [RowStamp]

  /// The most rows, bytes and members of one step.
  static let rowsPerStep = 4_000
  static let bytesPerStep = 16 << 20
  static let membersPerStep = 20_000

  init(_ rows: SourceRows, to destination: LMDBStore, progress: BatchProgress) {
    plan = rows.plan
    self.rows = rows
    self.destination = destination
    self.progress = progress
    rowCounts = [Int](repeating: 0, count: plan.source.entities.count)
    stamps = plan.destination.entities.map { destination.rowStamp(entity: $0.number) }
  }

  /// - Throws: `CoreDataError` 134111 for values that must be unique and are not, 134110 for what else does not fit the model;
  ///   `CancellationError`; `StorageError`.
  mutating func run() throws {
    for hierarchy in plan.source.hierarchies { try copyRows(of: hierarchy.number) }
    for hierarchy in plan.source.hierarchies
    where hierarchy.memberNumbers.contains(where: { plan.entities[$0]?.toMany.isEmpty == false }) {
      try copyMembers(of: hierarchy.number)
    }
  }

  private mutating func report(_ count: Int) throws {
    completed += count
    progress.complete(completed)
    if let report = progress.report, lastReport.duration(to: .now) > .milliseconds(100) {
      lastReport = .now
      report(progress)
    }
    try progress.stopIfCancelled()
  }

  // MARK: Rows

  private mutating func copyRows(of hierarchy: Int) throws {
    var next: UInt64? = 0
    while let key = next {
      var changes: [RowChange] = []
      var (rows, bytes) = (0, 0)
      var counts = [Int](repeating: 0, count: rowCounts.count)
      var writer = RowSlabWriter(expectedLength: RowSlab.chunkLength)
      next = try self.rows.walk(hierarchy, from: key) { row, key, reader, transaction in
        rows += 1
        if let entity = plan.entities[row.entity] {
          counts[row.entity] += 1
          let change = try change(row, key, entity, reader, &writer, transaction)
          bytes += Int(change.row.count) + change.externals.reduce(0) { $0 + $1.bytes.count }
          changes.append(change)
        }
        return rows < Self.rowsPerStep && bytes < Self.bytesPerStep
      }
      if !changes.isEmpty {
        var inserts = ChangeSet(inserts: changes)
        // What they refer to may still come.
        inserts.checksReferences = false
        inserts.keepsTimes = true
        try commit(inserts)
      }
      for (entity, count) in counts.enumerated() { rowCounts[entity] += count }
      try report(rows)
    }
  }

  private func change(
    _ row: StoredRow, _ key: UInt64, _ entity: MigrationPlan.Entity, _ reader: RowReader,
    _ writer: inout RowSlabWriter, _ transaction: borrowing ReadTransaction
  ) throws -> RowChange {
    let new = entity.destination
    if new.isAbstract {
      throw CoreDataError(.migration, "\(new.name) becomes abstract, and there are objects of it.")
    }
    let draft = RowDraft.make(new.layout)
    for (slot, value) in entity.values.enumerated() {
      let owner = entity.defaultsNeed[slot]
      let substitute: AttributeValue
      switch value {
      case .constant(let value): substitute = value
      case .slot(let old, let other):
        let value = try reader.value(row, old, primaryKey: key, externals: [], transaction)
        if value != .null {
          draft[slot] = value.widened(to: new.layout.kind(of: slot))
          continue
        }
        substitute = other
      }
      // Elements of a composite attribute that is nil get no default values.
      let isThere = owner.isEmpty || owner.contains { !RowBytes.isNil(row.base, $0) }
      draft[slot] = isThere ? substitute : .null
    }
    for relationship in entity.toOne {
      let members = try self.members(relationship, of: row, key, reader, transaction)
      if members.count > 1 {
        throw CoreDataError(
          .migration,
          "\(relationship.relationship.qualifiedName) becomes to-one, and the object p\(key) has \(members.count) members."
        )
      }
      draft[relationship.relationship.slot] = members.first.map { .reference($0) } ?? .null
    }
    let (snapshot, externals) = try RowEncoder.encode(
      layout: new.layout, stamp: stamps[new.number], primaryKey: key, version: row.version, base: nil,
      draft: draft,
      into: &writer)
    return RowChange(
      entity: new.number, primaryKey: key, baseVersion: 0, row: snapshot, externals: externals,
      changedSlots: SlotBitmap(allBelow: new.attributes.count))
  }

  // MARK: Members

  private mutating func copyMembers(of hierarchy: Int) throws {
    var next: UInt64? = 0
    while let key = next {
      var changes: [EdgeChange] = []
      var rows = 0
      next = try self.rows.walk(hierarchy, from: key) { row, key, reader, transaction in
        rows += 1
        for relationship in plan.entities[row.entity]?.toMany ?? [] {
          let members = try members(relationship, of: row, key, reader, transaction)
          for (place, member) in members.enumerated() {
            let position = EdgePosition.first + UInt64(place) * EdgePosition.gap
            changes.append(
              EdgeChange(
                relationship: relationship.relationship.number, owner: key, member: member,
                kind: .add(position: relationship.relationship.isOrdered ? position : nil)))
          }
        }
        return rows < Self.rowsPerStep && changes.count < Self.membersPerStep
      }
      for start in stride(from: 0, to: changes.count, by: Self.membersPerStep) {
        var step = ChangeSet(edges: Array(changes[start..<min(start + Self.membersPerStep, changes.count)]))
        step.keepsTimes = true
        try commit(step)
        try report(0)
      }
      try report(rows)
    }
  }

  /// The members of a relationship, as the destination refers to them, in order; without those that go.
  private func members(
    _ relationship: MigrationPlan.Relationship, of row: StoredRow, _ key: UInt64, _ reader: RowReader,
    _ transaction: borrowing ReadTransaction
  ) throws -> [UInt64] {
    try relationship.paths.flatMap { path in
      try rows.members(path, of: row, key, reader, transaction).compactMap { bits, entity in
        plan.entities[entity].map {
          Reference.bits(
            Reference.primaryKey(bits), entityCode: stamps[$0.destination.number].entityCode)
        }
      }
    }
  }

  // MARK: Writing

  private func commit(_ changes: ChangeSet) throws {
    do {
      try destination.commitAndWait(changes)
    } catch let violation as UniquenessViolation {
      let violation = violation.ofStoredRows
      throw CoreDataError(
        .migrationConstraintViolation, "Values that must be unique now are not: \(violation)",
        userInfo: [NSUnderlyingErrorKey: violation])
    }
  }
}
