import StrataCore

/// Derived attributes that follow from what a change set does to other rows: who has how many members, what these come to, what the row at the other end says.
///
/// ```
///   which rows    owners of relationships that have other members · those that look, through a relationship, at a value that changes ·
///                 rows of the change set that look at another one
///   ask           behind the statements that write the change set, in the same round trip
///   write         what has come out otherwise, before the commit
/// ```
///
/// Commits of a store come one after the other, so what is asked then is what holds. Rows of others get a new version, and remember the one that saves may still be based
/// on (`EntitySchema.baselineSlot`): a row that changed in derived values alone causes no conflict.
struct DerivedWriting {
  /// What has come out.
  struct Outcome {
    /// What is to be written yet.
    var statements: [SQLStatement] = []
    /// The rows with derived values that were written, as they are then.
    var rows: [RowChange] = []
    /// Among them, those that the change set does not name.
    var others: [RowChange] = []
  }

  private let work: ChangeSetWork
  private let known: [RowAddress: RowChange]
  /// By hierarchy.
  private var keys: [Int: Set<UInt64>] = [:]
  /// By relationship, the keys of rows at its other end whose values change.
  private var watched: [Int: Set<UInt64>] = [:]
  private var questions: [DerivedQuestion] = []
  /// What is asked when the change set is written.
  private(set) var statements: [SQLStatement] = []
  private var schema: Schema { work.schema }

  /// Nil when nothing has to be asked.
  /// - Parameter known: The rows of the change set with what could be derived of themselves.
  /// - Throws: ``StorageError`` for relationships that are nowhere.
  init?(_ work: ChangeSetWork, _ links: LinkChanges, _ found: ReferenceQuestions.Found, known: [RowChange])
    throws
  {
    guard let sources = work.schema.derivedSources else { return nil }
    self.work = work
    self.known = Dictionary(
      known.map { (work.address($0.entity, $0.primaryKey), $0) }, uniquingKeysWith: { $1 })
    collectOwn()
    collectOwners(sources, links, found)
    collectWatched(sources)
    try ask()
    if questions.isEmpty { return nil }
  }

  // MARK: Which rows

  private mutating func add(_ relationship: RelationshipSchema, _ key: UInt64) {
    keys[schema.entities[relationship.owner].hierarchyNumber, default: []].insert(key)
  }

  private mutating func collectOwn() {
    func looksAcross(_ change: RowChange) -> Bool {
      let entity = schema.entities[change.entity]
      return entity.derived.contains { derived in
        guard case .across(let number, _) = derived.source else { return false }
        let slot = schema.relationships[number].slot
        return change.changedSlots.contains(slot)
          && (change.baseVersion > 0 || change.row.reference(slot, of: entity) != 0)
      }
    }
    for change in work.set.inserts where schema.entities[change.entity].baselineSlot != nil {
      // One that was there before may have members already.
      if change.row.version > 1 || looksAcross(change) {
        keys[schema.entities[change.entity].hierarchyNumber, default: []].insert(change.primaryKey)
      }
    }
    for change in work.set.updates where schema.entities[change.entity].baselineSlot != nil {
      // Where others have been quicker the sender does not know what they have made of the row.
      if change.row.version > change.baseVersion + 1 || looksAcross(change) {
        keys[schema.entities[change.entity].hierarchyNumber, default: []].insert(change.primaryKey)
      }
    }
  }

  private mutating func collectOwners(
    _ sources: DerivedSources, _ links: LinkChanges, _ found: ReferenceQuestions.Found
  ) {
    func counted(_ number: Int?) -> RelationshipSchema? {
      number.flatMap { sources.countsMembers[$0] ? schema.relationships[$0] : nil }
    }
    for change in work.referenceChanges {
      guard let owners = counted(change.relationship.inverse) else { continue }
      for reference in [change.old, change.new] where reference != 0 {
        add(owners, StoreReference.primaryKey(reference))
      }
    }
    for row in work.deletes.values {
      guard let snapshot = row.snapshot else { continue }
      let entity = schema.entities[row.entity]
      for relationship in entity.relationships where !relationship.isToMany && !relationship.isTransient {
        guard let owners = counted(relationship.inverse) else { continue }
        let reference = snapshot.reference(relationship.slot, of: entity)
        if reference != 0 { add(owners, StoreReference.primaryKey(reference)) }
      }
    }
    for link in links.order + found.lostLinks.map(\.link) {
      if let owners = counted(link.relationship) { add(owners, link.source) }
      if let owners = counted(schema.relationships[link.relationship].inverse) { add(owners, link.target) }
    }
    // The order tells in sums of numbers that are not exact.
    for move in links.moves {
      if let owners = counted(move.relationship.number) { add(owners, move.owner) }
    }
  }

  private mutating func collectWatched(_ sources: DerivedSources) {
    for change in work.set.updates {
      for watch in sources.watches[change.entity] where change.changedSlots.contains(watch.slot) {
        addWatchers(watch.relationship, change.primaryKey, change)
      }
    }
    // Others refer to a row that is new only when it was there before.
    for change in work.set.inserts where change.row.version > 1 {
      for watch in sources.watches[change.entity] {
        addWatchers(watch.relationship, change.primaryKey, change)
      }
    }
    for (address, row) in work.deletes {
      for watch in sources.watches[row.entity] { addWatchers(watch.relationship, address.key, nil) }
    }
  }

  /// The rows that have the row of that key in a relationship: the one that it refers to itself, otherwise the server finds them.
  private mutating func addWatchers(_ number: Int, _ key: UInt64, _ change: RowChange?) {
    let relationship = schema.relationships[number]
    if let inverse = relationship.inverse.map({ schema.relationships[$0] }), !inverse.isToMany {
      guard let change else { return }
      let reference = change.row.reference(inverse.slot, of: schema.entities[change.entity])
      if reference != 0 { add(relationship, StoreReference.primaryKey(reference)) }
    } else {
      watched[number, default: []].insert(key)
    }
  }

  // MARK: Asking

  private mutating func ask() throws {
    var hierarchies = Set(keys.keys)
    for number in watched.keys {
      hierarchies.insert(schema.entities[schema.relationships[number].owner].hierarchyNumber)
    }
    for hierarchy in hierarchies.sorted() {
      var statement = SQLStatement()
      var selections: [String] = []
      if let keys = keys[hierarchy] {
        selections.append("SELECT pg_catalog.unnest(\(statement.bind(keys: keys.sorted())))")
      }
      for (number, keys) in watched.sorted(by: { $0.key < $1.key }) {
        let relationship = schema.relationships[number]
        guard schema.entities[relationship.owner].hierarchyNumber == hierarchy else { continue }
        let list = statement.bind(keys: keys.sorted())
        if !relationship.isToMany {
          let (table, column) = try work.mapping.reference(relationship)
          selections.append("SELECT w.pk FROM \(table.name) w WHERE w.\(column.name) = ANY(\(list))")
        } else if case .links(let join, let owner, let member, _, _) = try work.mapping.members(
          EdgeSet(relationship: number))
        {
          selections.append("SELECT w.\(owner) FROM \(join.name) w WHERE w.\(member) = ANY(\(list))")
        }
      }
      if selections.isEmpty { continue }
      let question = try DerivedQuestion(work.mapping, hierarchy: hierarchy, includesOwn: false)
      statements.append(question.statement(selections, statement))
      questions.append(question)
    }
  }

  // MARK: Writing

  /// - Throws: `CoreDataError` 1610 for a count or sum that does not fit; ``StorageError``.
  func finish(_ answers: [SQLResult]) throws -> Outcome {
    let reviser = RowReviser(work.mapping)
    var outcome = Outcome()
    var rows = known
    var (own, others): ([RowChange], [RowChange]) = ([], [])
    for (question, answer) in zip(questions, answers) {
      let hierarchy = question.table.hierarchy
      func sent(_ row: FetchedRow) -> RowChange? {
        work.changed(RowAddress(hierarchy: hierarchy, key: row.primaryKey))
      }
      for difference in try question.differences(answer, rewrites: { sent($0) != nil }) {
        let row = difference.row
        guard let snapshot = row.snapshot else { continue }
        let entity = schema.entities[row.entity]
        if let sent = sent(row) {
          let written = try Self.own(difference, snapshot, entity, sent, reviser)
          rows[RowAddress(hierarchy: hierarchy, key: row.primaryKey)] = written.row
          if let change = written.change { own.append(change) }
        } else if let baseline = entity.baselineSlot, !difference.values.isEmpty {
          var values = difference.values
          if case .value(.null) = snapshot.content(baseline, of: entity) {
            values[baseline] = .integer(Int64(snapshot.version))
          }
          others.append(
            try Self.change(
              snapshot, entity, row.primaryKey, version: snapshot.version + 1, values, reviser))
        }
      }
    }
    outcome.statements =
      try work.rows.updates(own, keepsVersion: true) + work.rows.updates(others)
    outcome.others = others
    outcome.rows =
      rows.sorted { ($0.key.hierarchy, $0.key.key) < ($1.key.hierarchy, $1.key.key) }.map(\.value) + others
    return outcome
  }

  /// A row of the change set: what is written of it now, nil for nothing, and what has become of it.
  private static func own(
    _ difference: DerivedQuestion.Difference, _ snapshot: RowSnapshot, _ entity: EntitySchema,
    _ sent: RowChange, _ reviser: RowReviser
  ) throws -> (change: RowChange?, row: RowChange) {
    if difference.values.isEmpty {
      return (
        nil,
        RowChange(
          entity: sent.entity, primaryKey: sent.primaryKey, baseVersion: sent.baseVersion, row: snapshot,
          externals: sent.externals, changedSlots: sent.changedSlots)
      )
    }
    let change = try change(
      snapshot, entity, sent.primaryKey, version: snapshot.version, difference.values, reviser)
    var slots = sent.changedSlots
    slots.formUnion(change.changedSlots)
    let replaced = Set(difference.values.keys)
    return (
      change,
      RowChange(
        entity: sent.entity, primaryKey: sent.primaryKey, baseVersion: sent.baseVersion, row: change.row,
        externals: sent.externals.filter { !replaced.contains($0.slot) } + change.externals,
        changedSlots: slots)
    )
  }

  private static func change(
    _ snapshot: RowSnapshot, _ entity: EntitySchema, _ key: UInt64, version: UInt32,
    _ values: [Int: AttributeValue], _ reviser: RowReviser
  ) throws -> RowChange {
    let (row, externals) = try reviser.revised(
      snapshot, of: entity, primaryKey: key, version: version, values, externals: [])
    var slots = SlotBitmap()
    for slot in values.keys { slots.insert(slot) }
    return RowChange(
      entity: entity.number, primaryKey: key, baseVersion: snapshot.version, row: row, externals: externals,
      changedSlots: slots)
  }
}
