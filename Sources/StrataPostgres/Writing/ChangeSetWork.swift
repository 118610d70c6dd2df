import Foundation
import StrataCore

/// Which row of a store.
struct RowAddress: Hashable, Sendable {
  let hierarchy: Int
  let key: UInt64
}

/// One change set on its way into the tables, in a transaction that keeps all other writers out.
///
/// ```
///   read      the rows that it replaces, deletes or depends on           conflicts
///   ask       who refers to what, who has which values and positions     references, uniqueness
///   write     links, deletes, updates, inserts, positions
/// ```
///
/// What is asked goes out together: each step is one round trip, and a step with nothing to ask is none.
final class ChangeSetWork {
  typealias Ask = ([SQLStatement]) throws -> [SQLResult]

  let mapping: StoreMapping
  /// With what can be derived of rows by themselves, as soon as these are read.
  private(set) var set: ChangeSet
  let rows: RowStatements
  /// The rows that are there now, of those that the change set replaces, deletes or depends on.
  private(set) var stored: [RowAddress: FetchedRow] = [:]
  /// Places among the inserts and updates of the change set.
  private(set) var inserts: [RowAddress: Int] = [:]
  private(set) var updates: [RowAddress: Int] = [:]
  /// The rows that go and are there.
  private(set) var deletes: [RowAddress: FetchedRow] = [:]
  /// Whether rows under the keys of inserts are looked for: the server has refused one.
  private let looksForInserts: Bool
  /// Whether updated rows are not read: the statements that replace them fail when they are of another version.
  private let assumesVersions: Bool
  /// Whether updated rows are locked when they are read: nobody but triggers changes them until they are written, whatever their versions are then.
  private let locksRows: Bool

  var schema: Schema { mapping.schema }

  /// - Parameters:
  ///   - known: Rows as they are now, which need not be read again.
  ///   - leastCopied: From so many new rows of an entity on they are copied; nil for never.
  ///   - assumesVersions: Whether updated rows are not read, see ``mayAssumeVersions(_:_:)``.
  ///   - locksRows: Whether updated rows are locked when they are read. All of them are read, then.
  init(
    _ set: ChangeSet, _ mapping: StoreMapping, looksForInserts: Bool,
    known: [RowAddress: FetchedRow] = [:], leastCopied: Int? = RowStatements.leastCopied,
    assumesVersions: Bool = false, locksRows: Bool = false
  ) {
    self.set = set
    self.assumesVersions = assumesVersions
    self.locksRows = locksRows
    stored = known
    self.mapping = mapping
    self.looksForInserts = looksForInserts
    rows = RowStatements(mapping: mapping, leastCopied: leastCopied, comparesVersions: !locksRows)
  }

  /// Whether the rows that a change set replaces need not be read before: nothing depends on what is in them but whether they are of the version that it is based on,
  /// which the statements find out themselves. Who is in conflict is asked when one has failed.
  static func mayAssumeVersions(_ set: ChangeSet, _ mapping: StoreMapping) -> Bool {
    let schema = mapping.schema
    guard !set.updates.isEmpty, set.deletes.isEmpty, set.checks.isEmpty, set.edges.isEmpty,
      schema.derivedSources == nil
    else { return false }
    return set.updates.allSatisfy { update in
      let entity = schema.entities[update.entity]
      return update.row.version == update.baseVersion &+ 1
        && !entity.relationships.contains { update.changedSlots.contains($0.slot) }
        && !schema.indexes.contains { index in
          index.isUnique && schema.entities[index.owner].subtree.contains(update.entity)
            && index.parts.contains { update.changedSlots.contains($0.slot) }
        }
    }
  }

  /// What a change set becomes: statements, and rows that lose a relationship of which it says nothing.
  struct Outcome {
    var statements: [SQLStatement] = []
    var touched: [RowTouch] = []
    /// What is noted of it, but for rows of others with other derived values.
    let notes: ChangeNotes
    /// What the statements make of derived attributes; nil when that is nothing that is not known.
    let derivation: DerivedWriting?
    /// The rows with derived values of the change set's own that are known without asking.
    let derivedRows: [RowChange]

    /// What is derived from what the statements do: they are carried out then, if it has to be asked. What is left to be written is among the result.
    /// - Throws: as ``DerivedWriting/finish(_:)``; what `ask` throws.
    func derived(_ ask: Ask) throws -> DerivedWriting.Outcome {
      guard let derivation else {
        return DerivedWriting.Outcome(statements: statements, rows: derivedRows)
      }
      let answers = try ask(statements + derivation.statements)
      return try derivation.finish(Array(answers.suffix(derivation.statements.count)))
    }
  }

  /// Reads and checks, and returns what is to be written.
  ///
  /// - Parameters:
  ///   - preserved: By entity number, the slots whose values stay in the history when a row is deleted.
  ///   - number: Calls for the number of the commit, which no version of a row exceeds.
  /// - Throws: ``CommitConflict``, ``UniquenessViolation``, ``DanglingReferences``, ``StorageError``; what `ask` throws.
  func prepare(held: [Bool], preserved: [Int: [Int]], number: () throws -> UInt64, _ ask: Ask) throws
    -> Outcome
  {
    try collect(held)
    try readStored(ask)
    try checkConflicts(number)
    let derivedRows = try deriveOwn()
    // What cannot be written at all is found before anything is asked about it.
    var written = try rows.updates(set.updates) + rows.inserts(set.inserts)
    var links = LinkChanges(self)
    try links.collect()
    let uniqueness = try UniquenessQuestions(self, ask)
    let references = ReferenceQuestions(self, links)
    let placement = PlacementQuestions(self, links)
    var questions: [SQLStatement] = []
    let uniquenessPlace = questions.count
    questions += try uniqueness.statements()
    let referencePlace = questions.count
    questions += try references.statements()
    let placementPlace = questions.count
    questions += try placement.statements()
    let answers = questions.isEmpty ? [] : try ask(questions)
    let violations = try uniqueness.violations(Array(answers[uniquenessPlace..<referencePlace]))
    if !violations.isEmpty { throw UniquenessViolation(violations: violations) }
    let found = try references.read(Array(answers[referencePlace..<placementPlace]))
    let dangling = try references.dangling(found)
    if set.checksReferences, !dangling.isEmpty { throw DanglingReferences(references: dangling) }
    let positions = try placement.positions(Array(answers[placementPlace...]))
    var outcome = Outcome(
      notes: try ChangeNotes(self, links, found, preserved: preserved, ask),
      derivation: try DerivedWriting(self, links, found, known: derivedRows), derivedRows: derivedRows)
    outcome.touched = links.untoldTouches(found.lostLinks)
    outcome.statements += links.removals()
    outcome.statements += links.removalsWithRows()
    for (hierarchy, keys) in deletedKeys {
      outcome.statements.append(rows.delete(keys, hierarchy: hierarchy))
    }
    func now(_ change: RowChange) -> RowSnapshot? {
      stored[address(change.entity, change.primaryKey)]?.snapshot
    }
    var clearings = rows.clearings(set.updates, stored: now)
    if mapping.isAdopted, !clearings.isEmpty {
      let rules = try ExchangeRules(mapping, ask)
      clearings = []
      written = try rules.ordered(set.updates, stored: now).flatMap { step in
        switch step {
        case .write(let updates): try rows.updates(updates)
        case .empty(let index, let changes): rows.clearings(of: index, changes, rules: rules)
        }
      }
      written += try rows.inserts(set.inserts)
    }
    outcome.statements += clearings + written
    outcome.statements += links.additions(positions)
    outcome.statements += positions.rowStatements(mapping)
    return outcome
  }

  /// The keys of rows that go and are there, by hierarchy.
  var deletedKeys: [(hierarchy: Int, keys: [UInt64])] {
    Dictionary(grouping: deletes.keys, by: \.hierarchy).map { ($0.key, $0.value.map(\.key).sorted()) }
      .sorted { $0.hierarchy < $1.hierarchy }
  }

  func address(_ entity: Int, _ key: UInt64) -> RowAddress {
    RowAddress(hierarchy: schema.entities[entity].hierarchyNumber, key: key)
  }

  /// The row of an insert or update as it will be; nil for a row that the change set does not write.
  func changed(_ address: RowAddress) -> RowChange? {
    if let place = inserts[address] { return set.inserts[place] }
    if let place = updates[address] { return set.updates[place] }
    return nil
  }

  /// New rows have keys that rows have which are there.
  static func keyIsTaken(_ operation: String, _ keys: [UInt64]) -> StorageError {
    let keys = keys.prefix(5).map { "p\($0)" }.joined(separator: ", ")
    return StorageError(
      .refused, operation: operation, path: "",
      detail:
        "The table holds rows already under keys that the store has given to new ones (\(keys)): somebody has written them beside the store, or the sequence of keys is behind. Nothing was saved. Make the objects again; they get other keys."
    )
  }

  static func refusal(_ detail: String) -> StorageError {
    StorageError(.invalid, operation: "commit", path: "", detail: detail)
  }

  // MARK: Rows that are there

  private func collect(_ held: [Bool]) throws {
    func require(_ entity: Int) throws {
      if held[entity] { return }
      throw Self.refusal(
        "The store's configuration does not hold the entity \(schema.entities[entity].name).")
    }
    for (place, change) in set.inserts.enumerated() {
      try require(change.entity)
      inserts[address(change.entity, change.primaryKey)] = place
    }
    for (place, change) in set.updates.enumerated() {
      try require(change.entity)
      updates[address(change.entity, change.primaryKey)] = place
    }
    for deletion in set.deletes { try require(deletion.entity) }
  }

  private func readStored(_ ask: Ask) throws {
    var keys: [Int: Set<UInt64>] = [:]
    for address in updates.keys where stored[address] == nil && !assumesVersions {
      keys[address.hierarchy, default: []].insert(address.key)
    }
    for deletion in set.deletes {
      keys[schema.entities[deletion.entity].hierarchyNumber, default: []].insert(deletion.primaryKey)
    }
    for check in set.checks { keys[check.hierarchy, default: []].insert(check.primaryKey) }
    if looksForInserts {
      for address in inserts.keys { keys[address.hierarchy, default: []].insert(address.key) }
    }
    if !keys.isEmpty { try readStored(keys, ask) }
    for deletion in set.deletes {
      let address = address(deletion.entity, deletion.primaryKey)
      if let row = stored[address] { deletes[address] = row }
    }
  }

  private func readStored(_ keys: [Int: Set<UInt64>], _ ask: Ask) throws {
    var decodings: [RowDecoding] = []
    var statements: [SQLStatement] = []
    for (hierarchy, keys) in keys.sorted(by: { $0.key < $1.key }) {
      let table = mapping.tables[hierarchy]
      let decoding = RowDecoding(
        mapping, table, entities: schema.hierarchies[hierarchy].memberNumbers, alias: "t")
      var statement = SQLStatement("SELECT \(decoding.list) FROM \(table.name) t WHERE ")
      statement.add("t.pk", isAnyOf: keys.sorted())
      if locksRows, set.updates.contains(where: { schema.entities[$0.entity].hierarchyNumber == hierarchy }) {
        statement += " ORDER BY t.pk FOR NO KEY UPDATE"
      }
      statements.append(statement)
      decodings.append(decoding)
    }
    let results = try ask(statements)
    for (decoding, result) in zip(decodings, results) {
      for row in try decoding.rows(result) {
        stored[RowAddress(hierarchy: decoding.table.hierarchy, key: row.primaryKey)] = row
      }
    }
  }

  private func checkConflicts(_ number: () throws -> UInt64) throws {
    var conflicts: [RowConflict] = []
    // Rows that others have put into tables of theirs are of higher versions than the commit's number.
    var newest: UInt32 = 0
    func expect(_ address: RowAddress, _ version: UInt32) {
      let row = stored[address]
      if version == RowDeletion.anyVersion || row?.snapshot?.version == version { return }
      if let row, isBase(version, of: row) { return }
      newest = max(newest, version, row?.snapshot?.version ?? 0)
      conflicts.append(RowConflict(hierarchy: address.hierarchy, primaryKey: address.key, stored: row))
    }
    for change in set.updates where !assumesVersions {
      expect(address(change.entity, change.primaryKey), change.baseVersion)
    }
    for deletion in set.deletes {
      expect(address(deletion.entity, deletion.primaryKey), deletion.baseVersion)
    }
    for check in set.checks {
      expect(RowAddress(hierarchy: check.hierarchy, key: check.primaryKey), check.baseVersion)
    }
    if looksForInserts {
      for change in set.inserts {
        let address = address(change.entity, change.primaryKey)
        guard let row = stored[address] else { continue }
        // The first version is that of a new object: the row is a stranger's, and no merge policy may decide about it. A later one is that of an object which was deleted,
        // and is written again.
        // One of that very version may be the object's own, of a save whose outcome was unknown: a conflict, as for changed objects.
        if change.row.version <= 1, row.snapshot?.version != change.row.version {
          throw Self.keyIsTaken("commit", [change.primaryKey])
        }
        conflicts.append(RowConflict(hierarchy: address.hierarchy, primaryKey: address.key, stored: row))
      }
    }
    if conflicts.isEmpty { return }
    newest = max(newest, UInt32(truncatingIfNeeded: try number()))
    throw CommitConflict(conflicts: conflicts, newestVersion: newest)
  }

  /// Whether only derived values have changed in a row since that version.
  private func isBase(_ version: UInt32, of row: FetchedRow) -> Bool {
    let entity = schema.entities[row.entity]
    guard let snapshot = row.snapshot, let slot = entity.baselineSlot, version < snapshot.version,
      case .value(.integer(let baseline)) = snapshot.content(slot, of: entity)
    else { return false }
    return baseline <= Int64(version)
  }

  // MARK: Derived values

  /// Gives rows of entities with derived attributes what follows from themselves and the time, and new ones what they have before anything refers to them; the rows
  /// that have come out otherwise than they were sent.
  private func deriveOwn() throws -> [RowChange] {
    if schema.derivedSources == nil { return [] }
    let deriving = OwnDerivation(mapping, now: Date())
    var changed: [RowChange] = []
    for place in set.inserts.indices {
      guard let row = try deriving.insert(set.inserts[place]) else { continue }
      set.inserts[place] = row
      changed.append(row)
    }
    for place in set.updates.indices {
      let update = set.updates[place]
      let stored = stored[address(update.entity, update.primaryKey)]?.snapshot
      guard let row = try deriving.update(update, stored: stored) else { continue }
      set.updates[place] = row
      changed.append(row)
    }
    return changed
  }

  // MARK: References in rows

  /// A to-one relationship of a changed row that leads elsewhere than before.
  struct ReferenceChange {
    let relationship: RelationshipSchema
    let entity: Int
    let key: UInt64
    /// 0 for nothing.
    let old: UInt64
    let new: UInt64
  }

  /// All of them, inserts first.
  lazy var referenceChanges: [ReferenceChange] = {
    var changes: [ReferenceChange] = []
    for insert in set.inserts {
      let entity = schema.entities[insert.entity]
      for relationship in entity.relationships where !relationship.isToMany && !relationship.isTransient {
        let new = insert.row.reference(relationship.slot, of: entity)
        if new == 0 { continue }
        changes.append(
          ReferenceChange(
            relationship: relationship, entity: insert.entity, key: insert.primaryKey, old: 0, new: new))
      }
    }
    for update in set.updates {
      let entity = schema.entities[update.entity]
      let before = stored[address(update.entity, update.primaryKey)]?.snapshot
      for relationship in entity.relationships
      where !relationship.isToMany && !relationship.isTransient
        && update.changedSlots.contains(relationship.slot)
      {
        let old = before?.reference(relationship.slot, of: entity) ?? 0
        let new = update.row.reference(relationship.slot, of: entity)
        if old == new { continue }
        changes.append(
          ReferenceChange(
            relationship: relationship, entity: update.entity, key: update.primaryKey, old: old, new: new))
      }
    }
    return changes
  }()

  /// That a reference names an entity that its relationship leads to.
  func requireDestination(_ relationship: RelationshipSchema, _ reference: UInt64) throws {
    let code = StoreReference.entityCode(reference)
    guard StoreReference.primaryKey(reference) > 0, let entity = mapping.entity(ofCode: code),
      schema.entities[relationship.destination].subtree.contains(entity)
    else {
      throw Self.refusal(
        "A reference of \(relationship.qualifiedName) leads to entity code \(code), which is not one of its destination's."
      )
    }
  }
}
