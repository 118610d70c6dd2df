import Foundation

/// Makes a store of rows that come from elsewhere, one after the other, with their keys: all of them or none.
///
/// ```
///   rows, links ─▶ steps of some thousands ─▶ a draft beside the store ─▶ checked, flushed ─▶ under the store's name
/// ```
///
/// A new store begins empty. An existing one is copied, and the copy takes its place when nobody has saved meanwhile; what comes gets keys behind those there are. While one step is written the next one is filled. Memory: two steps, where rows with links came from (`RowOrigins`), and which members there are (`ToldMembers`). Used by one thread.
package final class StoreIntake {
  /// Something that cannot be taken in, and which line it came from; 0 where that is unknown.
  package struct Refusal: Error, CustomStringConvertible {
    package let line: Int
    package let description: String
    /// The name of the file among several, as `source` was when the row was handed in.
    package var source: String?
    /// Whether it is about a link, without which everything else can be taken in.
    package var isLink = false

    package init(line: Int, _ description: String) {
      self.line = line
      self.description = description
    }
  }

  /// The model that rows are of.
  package let schema: Schema
  /// How many rows and members of relationships were handed in.
  package private(set) var (rowCount, memberCount) = (0, 0)
  /// How many of the members are there afterwards; what was handed in twice counts once, see `ToldMembers`.
  package var keptMemberCount: Int { memberCount - droppedMemberCount }
  /// Whether every member is looked after as what people have written: both ends must be there, and a member of a to-many relationship whose inverse is to-one gets that link, unless it has another one, which is refused. Without, such a member must have the link already.
  package var settlesMembers = false
  /// Whether members that would be refused by that are left out. Those that are not there are counted as lost links, the others are in `takeLeftOut`.
  package var leavesOutMembers = false
  /// The file that rows come from, when there are several.
  package var source: String?
  /// Hands over what the store has recorded before; called by `finish` when rows and members are in. For a new store whose facts record a history.
  package var history: ((HistoryIntake) throws -> Void)?
  /// Links that were left out because they lead to no object.
  package var lostLinkCount = 0
  private var droppedMemberCount = 0
  private var leftOut: [Refusal] = []
  private var leftOutCount = 0
  private let facts: StoreFacts?
  private let file: StoreFile
  private let draft: StoreDraft
  /// The store that is added to.
  private let original: LMDBStore?
  private let sourceMoment: StoreMoment
  private var store: LMDBStore
  private let configurationName: String?
  /// By hierarchy number, what is added to the keys that come.
  private let shifts: [UInt64]
  private var largestKeys: [UInt64]
  private let stamps: [RowStamp]
  private let allSlots: [SlotBitmap]

  private var slab = RowSlabWriter(expectedLength: RowSlab.chunkLength)
  private var (rows, lines): ([RowChange], [Int]) = ([], [])
  private var bytes = 0
  private var members: [WaitingMember] = []
  /// The members of the steps that have been written, where they are settled.
  private var told = ToldMembers()
  /// Where rows with links came from, by hierarchy.
  private var origins: [RowOrigins]
  private let hasLinks: [Bool]
  private let writing = IntakeWriting()

  private static let rowsPerStep = 2_000
  private static let bytesPerStep = 4 << 20
  private static let membersPerStep = 10_000

  /// Begins a new store at `destination`, where there must be none.
  /// - Throws: ``StorageError``, `.exists` above all; ``ModelError`` for a model that is none; ``Refusal`` for counters of keys that leave too few for new objects.
  package init(new destination: URL, facts: StoreFacts) throws {
    let model = try ModelCoding.decode(facts.model)
    schema = try model.schema()
    for hierarchy in schema.hierarchies {
      guard let next = facts.counters[hierarchy.rootName], next > PrimaryKeyAllocator.largestTaken + 1 else {
        continue
      }
      throw Refusal(
        line: 0,
        "The next key of \(hierarchy.rootName) is to be \(next), which would leave too few primary keys for new objects: it may be \(PrimaryKeyAllocator.largestTaken + 1) at most."
      )
    }
    file = try StoreFile(destination.path, .system)
    if try file.status() != nil { throw StorageError(EEXIST, "load", path: file.path) }
    StoreDraft.removeLeftovers(beside: file)
    configurationName = model.configuration(holding: Set(facts.entities))
    draft = StoreDraft(.new, beside: file)
    self.facts = facts
    (original, sourceMoment) = (nil, StoreMoment(commitNumber: 0, transactionID: 0))
    let opened = try Self.open(draft, schema, configurationName, creates: true)
    store = opened
    draft.hold()
    shifts = schema.hierarchies.map { _ in 0 }
    largestKeys = shifts
    origins = shifts.map { _ in RowOrigins() }
    hasLinks = Self.hasLinks(schema)
    stamps = schema.entities.map { opened.rowStamp(entity: $0.number) }
    allSlots = schema.entities.map { SlotBitmap(allBelow: $0.attributes.count) }
  }

  /// Begins to add to the store at `destination`, which nobody may use meanwhile.
  /// - Throws: ``StorageError``, `.busy` when somebody does.
  package init(into destination: URL) throws {
    file = try StoreFile(destination.path, .system)
    var options = LMDBStoreOptions()
    options.opensAsItIs = true
    let (source, carried) = try LMDBStore.openAsCarried(at: destination, withClasses: true, options: options)
    let (model, schema) = (carried.model, source.parts.schema)
    original = source
    self.schema = schema
    facts = nil
    do {
      try source.requireSoleUse()
      sourceMoment = try source.moment()
      draft = try source.parts.environment.writeCopy(beside: file, compacting: false)
      configurationName = model.configuration(holding: Set(source.metadata.versionHashes.keys))
      let opened = try Self.open(draft, schema, configurationName)
      store = opened
      let parts = opened.parts
      shifts = try parts.environment.read { transaction in
        try schema.hierarchies.map { hierarchy in
          let last = try parts.lastKey(hierarchy.number, transaction) ?? 0
          return max(try parts.counter(hierarchy.number, transaction), last + 1) - 1
        }
      }
      stamps = schema.entities.map { opened.rowStamp(entity: $0.number) }
    } catch {
      source.close()
      throw error
    }
    largestKeys = shifts
    origins = shifts.map { _ in RowOrigins() }
    hasLinks = Self.hasLinks(schema)
    allSlots = schema.entities.map { SlotBitmap(allBelow: $0.attributes.count) }
  }

  private static func hasLinks(_ schema: Schema) -> [Bool] {
    schema.entities.map { $0.relationships.contains { !$0.isToMany && !$0.isTransient } }
  }

  deinit {
    writing.wait()
    store.close()
    original?.close()
    draft.remove()
  }

  /// It need not survive anything before it is flushed as a whole. One that has gone, since the program is being ended, is not made again.
  private static func open(
    _ draft: StoreDraft, _ schema: Schema, _ configurationName: String?,
    _ durability: Durability = .none, recordsHistory: Bool = false, creates: Bool = false
  ) throws -> LMDBStore {
    var options = LMDBStoreOptions()
    options.createsIfMissing = creates
    options.durability = durability
    options.keepsLog = false
    options.recordsHistory = recordsHistory
    // What is loaded makes nothing too old.
    options.historyRetention = .forever
    return try LMDBStore(
      url: draft.url, schema: schema, configurationName: configurationName, options: options)
  }

  // MARK: Rows

  /// What stands for another object in the values of a row; nil for a key that no object can have.
  package func reference(to object: ObjectAddress) -> AttributeValue? {
    let shift = shifts[schema.entities[object.entity].hierarchyNumber]
    let (key, isBeyond) = object.key.addingReportingOverflow(shift)
    if isBeyond || object.key == 0 || key > PrimaryKeyAllocator.largestTaken { return nil }
    return .reference(Reference.bits(key, entityCode: stamps[object.entity].entityCode))
  }

  /// Adds a row. `values` are by slot; those of to-many relationships and transient ones do not count.
  /// - Throws: ``Refusal`` for what does not fit, perhaps about an earlier line; ``StorageError``.
  package func add(_ object: ObjectAddress, values: [AttributeValue], line: Int) throws {
    let entity = schema.entities[object.entity]
    if entity.isAbstract { throw Refusal(line: line, "\(entity.name) is abstract and has no objects.") }
    // Members are checked when they are written; what a new row refers to may still come.
    if !members.isEmpty { try flush() }
    let key = try shifted(object, line)
    let draft = RowDraft.make(entity.layout)
    for slot in values.indices where !values[slot].isNull { draft[slot] = values[slot] }
    do {
      let (row, externals) = try RowEncoder.encode(
        layout: entity.layout, stamp: stamps[object.entity], primaryKey: key, version: 1, base: nil,
        draft: draft, into: &slab)
      rows.append(
        RowChange(
          entity: object.entity, primaryKey: key, baseVersion: 0, row: row, externals: externals,
          changedSlots: allSlots[object.entity]))
      bytes += Int(row.count) + externals.reduce(0) { $0 + $1.bytes.count }
    } catch {
      throw Refusal(line: line, "\(entity.name)/p\(object.key) cannot take the values: \(error)")
    }
    lines.append(line)
    if line > 0, hasLinks[object.entity] {
      origins[entity.hierarchyNumber].note(key, line: line, source: source)
    }
    rowCount += 1
    if rows.count >= Self.rowsPerStep || bytes >= Self.bytesPerStep { try flush() }
  }

  private func shifted(_ object: ObjectAddress, _ line: Int) throws -> UInt64 {
    let hierarchy = schema.entities[object.entity].hierarchyNumber
    let (key, isBeyond) = object.key.addingReportingOverflow(shifts[hierarchy])
    guard object.key > 0, object.key < PrimaryKeyAllocator.limit else {
      throw Refusal(line: line, "p\(object.key) is no key of an object.")
    }
    let largest = PrimaryKeyAllocator.largestTaken
    guard !isBeyond, key <= largest else {
      let entity = schema.entities[object.entity].name
      throw Refusal(
        line: line,
        shifts[hierarchy] < largest
          ? "\(entity)/p\(object.key) would leave too few primary keys for new objects: the largest that is taken is p\(largest - shifts[hierarchy])."
          : "The store has no primary keys left for \(entity)/p\(object.key): it has used those up to \(shifts[hierarchy]), and keys up to \(largest) can be given to what is loaded."
      )
    }
    largestKeys[hierarchy] = max(largestKeys[hierarchy], key)
    return key
  }

  /// A key of the hierarchy that no row has had, for a row that comes without one.
  package func nextKey(of entity: Int) -> UInt64 {
    let hierarchy = schema.entities[entity].hierarchyNumber
    return largestKeys[hierarchy] - shifts[hierarchy] + 1
  }

  /// Places a member of a to-many relationship; `place` counts from 0 and matters for ordered ones.
  /// - Throws: as `add`.
  package func addMember(
    _ member: ObjectAddress, to relationship: RelationshipSchema, of owner: ObjectAddress, place: Int,
    line: Int
  ) throws {
    if !rows.isEmpty { try flush() }
    guard place >= 0, place < 1 << 28 else {
      throw Refusal(line: line, "The place \(place) is none of a member.")
    }
    guard case .reference(let reference)? = reference(to: member) else {
      memberCount += 1
      return try leaveOut(
        Refusal(line: line, "\(name(member)) cannot be a member: no object has such a key."))
    }
    let position = EdgePosition.first + UInt64(place) * EdgePosition.gap
    let change = EdgeChange(
      relationship: relationship.number, owner: try shifted(owner, line), member: reference,
      kind: .add(position: relationship.isOrdered ? position : nil))
    members.append(WaitingMember(line: line, owner: owner, member: member, change: change))
    memberCount += 1
    if members.count >= Self.membersPerStep { try flush() }
  }

  /// Sees to it that an owner is there of whose members nothing is said. With `settlesMembers`, as for those of whose members something is.
  /// - Throws: ``Refusal``, perhaps about an earlier line; ``StorageError``.
  package func requireOwner(_ owner: ObjectAddress, of relationship: RelationshipSchema, line: Int) throws {
    if !settlesMembers { return }
    try settleSteps()
    let (key, hierarchy) = (try shifted(owner, line), schema.entities[owner.entity].hierarchyNumber)
    let isThere = try store.read { reader, transaction in
      try reader.row(key, of: hierarchy, transaction)?.entity == owner.entity
    }
    if isThere { return }
    var refusal = Refusal(
      line: line,
      "\(name(owner)) cannot have \(relationship.name): there is no object \(name(owner)) in an earlier line."
    )
    refusal.isLink = true
    throw refusal
  }

  /// The first hundred members that were left out because their own rows or other places contradict them, and how many there were; each is told once.
  package func takeLeftOut() -> (first: [Refusal], count: Int) {
    defer { (leftOut, leftOutCount) = ([], 0) }
    return (leftOut, leftOutCount)
  }

  /// Writes what waits, so that whatever is wrong with it is told.
  /// - Throws: ``Refusal``; ``StorageError``.
  package func settleSteps() throws {
    try flush()
    try writing.finish()
  }

  private func flush() throws {
    if rows.isEmpty && members.isEmpty { return }
    try writing.finish()
    let updates = try settlesMembers && !members.isEmpty ? settleMembers() : []
    let edges = members.map(\.change)
    var changes = ChangeSet(inserts: rows, updates: updates, edges: edges)
    // What they refer to may still come.
    changes.checksReferences = !edges.isEmpty
    changes.keepsTimes = true
    let step = IntakeWriting.Step(
      lines: lines, edgeLines: members.map(\.line), keys: rows.map { ($0.entity, $0.primaryKey) },
      edges: edges, schema: schema, shifts: shifts)
    (rows, lines, bytes, members) = ([], [], 0, [])
    slab = RowSlabWriter(expectedLength: RowSlab.chunkLength)
    writing.begin(step, changes, store)
  }

  /// Refuses, or leaves out, members that cannot be there; the rows that get a link because they are members.
  private func settleMembers() throws -> [RowChange] {
    let settling = try MemberSettling(members, after: told, in: store)
    var kept: [WaitingMember] = []
    kept.reserveCapacity(members.count)
    for (member, verdict) in zip(members, settling.verdicts) {
      switch verdict {
      case .kept: kept.append(member)
      case .repeated: droppedMemberCount += 1
      case .displaced:
        try leaveOut(refusal(of: member, "it is in it already, at another place"))
      case .missing(let end):
        guard leavesOutMembers else { throw refusal(of: member, missing: end) }
        lostLinkCount += 1
        droppedMemberCount += 1
      case .contradicted(let reference):
        try leaveOut(refusal(of: member, contradictedBy: reference))
      }
    }
    members = kept
    told.note(kept, schema)
    return settling.updates
  }

  private func leaveOut(_ refusal: Refusal) throws {
    guard leavesOutMembers else { throw refusal }
    if leftOut.count < 100 { leftOut.append(refusal) }
    leftOutCount += 1
    droppedMemberCount += 1
  }

  private func refusal(of member: WaitingMember, missing end: ObjectAddress) -> Refusal {
    refusal(of: member, "there is no object \(name(end)) in an earlier line")
  }

  private func refusal(of member: WaitingMember, contradictedBy reference: UInt64) -> Refusal {
    let inverse = schema.relationships[member.change.relationship].inverse
    return refusal(
      of: member, "its \(inverse.map { schema.relationships[$0].name } ?? "link") is \(name(reference))")
  }

  private func refusal(of member: WaitingMember, _ reason: String) -> Refusal {
    let relationship = schema.relationships[member.change.relationship].name
    var refusal = Refusal(
      line: member.line,
      "\(name(member.member)) cannot be in \(relationship) of \(name(member.owner)): \(reason).")
    refusal.isLink = true
    return refusal
  }

  private func name(_ object: ObjectAddress) -> String {
    "\(schema.entities[object.entity].name)/p\(object.key)"
  }

  /// Makes references nil that lead nowhere.
  private func mendLinks() throws {
    let references = SalvageReferences(store: store)
    let rows = try references.rows()
    for hierarchy in schema.hierarchies {
      var key: UInt64 = 0
      while let repairs = try references.repairs(hierarchy.number, from: key, rows) {
        lostLinkCount += repairs.reduce(0) { $0 + $1.slots.count }
        try store.commitAndWait(ChangeSet(updates: try repairs.compactMap { try references.change($0) }))
        key = (repairs.last?.row.primaryKey ?? key) + 1
      }
    }
  }

  // MARK: The end

  /// Checks and flushes the store, and gives it its name.
  /// - Throws: ``Refusal`` when links lead nowhere; ``StorageError``, `.busy` when there was a
  ///   save to the store meanwhile. Nothing has changed then.
  /// - Parameter mendsLinks: Whether to-one relationships that lead to no object become nil.
  /// - Returns: What the check of the store has found, and how many links were left out.
  package func finish(mendsLinks: Bool = false) throws -> (check: StoreCheck, lostLinkCount: Int) {
    try settleSteps()
    if mendsLinks { try mendLinks() }
    // The keys that were reserved along the way are given back before the counters are set.
    store.close()
    store = try Self.open(draft, schema, configurationName)
    if let facts { try keepAddedIndexes(facts) }
    // Opened again, it builds the indexes that it has gained.
    store.close()
    store = try Self.open(
      draft, schema, configurationName, .relaxed, recordsHistory: facts?.recordsHistory ?? false)
    let past = try history.map { hand in
      let intake = try HistoryIntake(store)
      try hand(intake)
      try intake.finish()
      for (hierarchy, key) in intake.largestKeys.enumerated() {
        largestKeys[hierarchy] = max(largestKeys[hierarchy], key)
      }
      return intake.bounds
    }
    try settle(past ?? nil)
    let check = try store.check()
    if !check.isSound {
      // A store that cannot even be read so far is damaged, which the check says.
      throw (try? LostLink.first(in: store)).map { refusal(of: $0) } ?? Self.refusal(check)
    }
    store.close()
    try draft.flush()
    if let original {
      try draft.takePlace(of: original, at: file, ifStillAt: sourceMoment)
      original.close()
    } else {
      try draft.publish()
    }
    return (check, lostLinkCount)
  }

  private func keepAddedIndexes(_ facts: StoreFacts) throws {
    // A store may name one whose attributes the model no longer has: nothing can be built of it.
    let indexes = try facts.addedIndexes.map { try JSONDecoder().decode(AddedIndex.self, from: $0) }
      .filter { (try? $0.compiled(number: 0, schema)) != nil }
    if indexes.isEmpty { return }
    let marks = try indexes.map { index -> (key: String, value: Data) in
      ("added/" + index.qualifiedName, try JSONEncoder.sorted.encode(index))
    }
    let meta = store.parts.meta
    try store.parts.environment.write { transaction in
      for mark in marks { try meta.put(mark.key, mark.value, transaction) }
      try StoreCatalogue.raiseGeneration(meta, transaction)
    }
  }

  /// Sets the counters behind all keys, and what else the facts say. `past`: which transactions of the history were taken over.
  private func settle(_ past: (purged: UInt64, newest: UInt64)?) throws {
    let (parts, largest, facts) = (store.parts, largestKeys, facts)
    let given = schema.hierarchies.map { facts?.counters[$0.rootName] ?? 1 }
    var lineage = StoreLineage()
    if let facts, !facts.lineage.isEmpty {
      lineage = try StoreLineage(encoded: try JSONEncoder.sorted.encode(facts.lineage))
    }
    let ancestors = lineage
    try parts.environment.write { transaction in
      for (hierarchy, largest) in largest.enumerated() where parts.rows[hierarchy] != nil {
        let current = try parts.counter(hierarchy, transaction.read)
        let wanted = max(largest + 1, given[hierarchy])
        // A new store has reserved nothing for others.
        if facts != nil || wanted > current { try parts.setCounter(hierarchy, wanted, transaction) }
      }
      guard let facts else { return }
      if let metadata = facts.metadata { try parts.meta.put("metadata", metadata, transaction) }
      try parts.meta.put(ancestors, transaction)
      let own = CommitStamp(try parts.meta.bytes("stamp", transaction.read))?.commitNumber ?? 0
      let stamp = CommitStamp(
        identifier: facts.identifier, commitNumber: max(own + 1, past?.newest ?? 0))
      try parts.meta.put("identity", withUnsafeBytes(of: facts.identifier.uuid) { Array($0) }, transaction)
      try parts.meta.put("stamp", stamp.bytes + [UInt8](repeating: 0, count: 8), transaction)
      // What it says is told by numbers of commits of another store.
      if let journal = parts.journal { try transaction.clear(journal.keyspace) }
      if facts.recordsHistory {
        try HistoryMark.begin(
          in: parts.meta, behind: past?.purged ?? stamp.commitNumber, transaction)
      }
    }
  }

  /// What to say of a link that leads nowhere.
  private func refusal(of link: LostLink) -> Refusal {
    let entity = schema.entities[link.entity]
    let target = name(link.reference)
    let reason =
      switch link.reason {
      case .missing: "which is not in the file"
      case .otherEntity(let found): "and the object of that key is \(name(found))"
      case .oneSided(let back): "whose \(back) does not lead back"
      }
    let origin = origins[entity.hierarchyNumber].origin(of: link.key)
    let more = link.otherCount > 0 ? " There are \(link.otherCount) more such links." : ""
    var refusal = Refusal(
      line: origin?.line ?? 0,
      "\(name(entity, link.key)).\(link.relationship) leads to \(target), \(reason).\(more)")
    refusal.source = origin?.source
    refusal.isLink = true
    return refusal
  }

  private func name(_ reference: UInt64) -> String {
    let code = Reference.entityCode(reference)
    guard let entity = stamps.firstIndex(where: { $0.entityCode == code }) else { return "an unknown entity" }
    return name(schema.entities[entity], Reference.primaryKey(reference))
  }

  /// As the file says it; objects of the store that is added to are told by their own keys.
  private func name(_ entity: EntitySchema, _ key: UInt64) -> String {
    let shift = shifts[entity.hierarchyNumber]
    return key > shift ? "\(entity.name)/p\(key - shift)" : "\(entity.name)/p\(key) of the store"
  }

  private static func refusal(_ check: StoreCheck) -> Refusal {
    let list = check.problems.prefix(3).map(\.description).joined(separator: "; ")
    let more = check.problems.count > 3 ? " and \(check.problems.count - 3) more" : ""
    return Refusal(line: 0, "The objects do not fit together: \(list)\(more).")
  }
}

/// The step of an intake that is being written while the next one is filled.
private final class IntakeWriting: @unchecked Sendable {
  // @unchecked Sendable: `answer` is written by the store's thread before the signal and read after it.

  /// What tells the line of a row or a member that was refused.
  struct Step {
    let lines: [Int]
    let edgeLines: [Int]
    let keys: [(entity: Int, key: UInt64)]
    let edges: [EdgeChange]
    let schema: Schema
    let shifts: [UInt64]
  }

  private let done = DispatchSemaphore(value: 0)
  private var answer: Result<CommitResult, any Error>?
  private var step: Step?

  func begin(_ step: Step, _ changes: ChangeSet, _ store: LMDBStore) {
    self.step = step
    store.commit([changes], deadline: nil) { results in
      self.answer = results.first
      self.done.signal()
    }
  }

  /// Waits for the step that is being written, if there is one.
  func wait() {
    if step == nil { return }
    done.wait()
    step = nil
  }

  /// - Throws: `StoreIntake.Refusal` with the line concerned; `StorageError`.
  func finish() throws {
    guard let step else { return }
    wait()
    do { _ = try answer?.get() } catch { throw step.explained(error) }
  }
}

extension IntakeWriting.Step {
  /// The refusal of a line, where the error is about one.
  func explained(_ error: any Error) -> any Error {
    switch error {
    case let error as UniquenessViolation:
      guard let first = error.violations.first else { return error }
      let names = first.constraint.joined(separator: ", ")
      return StoreIntake.Refusal(
        line: line(first.entity, first.primaryKey),
        "\(name(first.entity, first.primaryKey)) has the same \(names) as \(name(first.entity, first.otherPrimaryKey)), and must not."
      )
    case let error as CommitConflict:
      guard let first = error.conflicts.first,
        let place = keys.firstIndex(where: {
          $0.key == first.primaryKey && schema.entities[$0.entity].hierarchyNumber == first.hierarchy
        })
      else { return error }
      return StoreIntake.Refusal(
        line: lines[place],
        "There is an object \(name(keys[place].entity, first.primaryKey)) already, in an earlier line.")
    case let error as DanglingReferences:
      guard let first = error.references.first else { return error }
      let relationship = schema.relationships[first.relationship]
      let place = edges.firstIndex {
        $0.relationship == first.relationship && $0.owner == first.source
          || $0.owner == first.source || $0.owner == first.target
      }
      return StoreIntake.Refusal(
        line: place.map { edgeLines[$0] } ?? edgeLines.first ?? 0,
        "\(relationship.qualifiedName) leads to or from an object that is in no earlier line.")
    case let error as StorageError where error.kind == .invalid && !keys.isEmpty:
      var seen: Set<[UInt64]> = []
      for (place, key) in keys.enumerated()
      where !seen.insert([UInt64(schema.entities[key.entity].hierarchyNumber), key.key]).inserted {
        return StoreIntake.Refusal(
          line: lines[place],
          "There is an object \(name(key.entity, key.key)) already, in an earlier line.")
      }
      return error
    default: return error
    }
  }

  private func name(_ entity: Int, _ key: UInt64) -> String {
    let shift = shifts[schema.entities[entity].hierarchyNumber]
    return key > shift
      ? "\(schema.entities[entity].name)/p\(key - shift)"
      : "\(schema.entities[entity].name)/p\(key) of the store"
  }

  private func line(_ entity: Int, _ key: UInt64) -> Int {
    keys.firstIndex { $0.entity == entity && $0.key == key }.map { lines[$0] } ?? lines.last ?? 0
  }
}
