import Foundation

// MARK: Ends that the change set refers to

extension EdgeCollection {
  /// Looks up each distinct end of new edges and references; hidden edges are added on the way.
  mutating func checkEnds(_ transaction: borrowing ReadTransaction) throws {
    var twins = EdgeChanges()
    try checkOwners(changes.additions, &twins.additions, transaction)
    try checkOwners(changes.placements.filter { $0.kind != .move }, &twins.additions, transaction)
    try addTwins(of: changes.removals, &twins.removals, transaction)
    changes.additions += twins.additions
    changes.removals += twins.removals
    EdgeSort.sort(&targets)
    try checkTargets(transaction)
  }

  /// The owners of edges. For an edge that follows from a row, the owner is what the row refers to.
  private mutating func checkOwners<E: EdgeEntry>(
    _ edges: ContiguousArray<E>, _ twins: inout ContiguousArray<Edge>,
    _ transaction: borrowing ReadTransaction
  ) throws {
    var start = 0
    while start < edges.count {
      let code = EdgeKey.code(edges[start].prefix)
      guard let relationship = relationship(code) else { return }
      let isHidden = code & EdgeKey.hiddenInverse != 0
      let hierarchy =
        isHidden
        ? relationship.destinationHierarchy : parts.schema.entities[relationship.owner].hierarchyNumber
      var rows = RowFinder(self, hierarchy)
      start = try rows.withCursor(writer, transaction) { rows, cursor in
        var place = start
        while place < edges.count, EdgeKey.code(edges[place].prefix) == code {
          let prefix = edges[place].prefix
          let found = try rows.find(EdgeKey.owner(prefix), &cursor)
          while place < edges.count, edges[place].prefix == prefix {
            collect(edges[place].member, prefix, relationship, owner: found, &twins)
            place += 1
          }
        }
        return place
      }
    }
  }

  /// What follows from one new edge whose owner has been looked up.
  @inline(__always)
  private mutating func collect(
    _ member: UInt64, _ prefix: UInt64, _ relationship: RelationshipSchema, owner: UInt64?,
    _ twins: inout ContiguousArray<Edge>
  ) {
    let key = EdgeKey.owner(prefix)
    if relationship.isEdgeStored {
      targets.append(
        Edge(
          prefix: EdgeKey.prefix(codes.codes[relationship.number], Reference.primaryKey(member)),
          member: Reference.bits(key, entityCode: Reference.entityCode(member))))
      if let owner, relationship.hasHiddenInverse {
        twins.append(
          Edge(
            prefix: EdgeKey.prefix(
              EdgeKey.code(prefix) | EdgeKey.hiddenInverse, Reference.primaryKey(member)), member: owner))
      }
    }
    if owner == nil { reportMissing(owner: key, relationship, member: Reference.primaryKey(member)) }
  }

  /// Told from the side of the reference that would lead nowhere.
  private mutating func reportMissing(owner: UInt64, _ relationship: RelationshipSchema, member: UInt64) {
    if !relationship.isToMany {
      // A hidden edge: the member refers to the owner.
      report(relationship.number, source: member, target: owner)
    } else if let inverse = relationship.inverse {
      report(inverse, source: member, target: owner)
    } else {
      dangling.append(
        DanglingReferences.Reference(
          relationship: relationship.number, source: owner, target: member, isLeftBehind: false,
          isSourceMissing: true))
    }
  }

  mutating func report(
    _ relationship: Int, source: UInt64, target: UInt64, isLeftBehind: Bool = false, isOneSided: Bool = false
  ) {
    dangling.append(
      DanglingReferences.Reference(
        relationship: relationship, source: source, target: target, isLeftBehind: isLeftBehind,
        isOneSided: isOneSided))
  }

  /// Hidden edges go with the edges they belong to. Where the owner is gone, they went with it.
  private mutating func addTwins(
    of edges: ContiguousArray<Edge>, _ twins: inout ContiguousArray<Edge>,
    _ transaction: borrowing ReadTransaction
  ) throws {
    var place = 0
    while place < edges.count {
      let code = EdgeKey.code(edges[place].prefix)
      let relationship = relationship(code)
      guard let relationship, relationship.isEdgeStored, relationship.hasHiddenInverse,
        code & EdgeKey.hiddenInverse == 0
      else {
        while place < edges.count, EdgeKey.code(edges[place].prefix) == code { place += 1 }
        continue
      }
      var rows = RowFinder(self, parts.schema.entities[relationship.owner].hierarchyNumber, seesDeletes: true)
      place = try rows.withCursor(writer, transaction) { rows, cursor in
        var place = place
        while place < edges.count, EdgeKey.code(edges[place].prefix) == code {
          let prefix = edges[place].prefix
          let owner = try rows.find(EdgeKey.owner(prefix), &cursor)
          while place < edges.count, edges[place].prefix == prefix {
            if let owner {
              twins.append(
                Edge(
                  prefix: EdgeKey.prefix(
                    code | EdgeKey.hiddenInverse, Reference.primaryKey(edges[place].member)), member: owner))
            }
            place += 1
          }
        }
        return place
      }
    }
  }

  /// Members of edge-stored relationships, and partners of one-to-one ones.
  private mutating func checkTargets(_ transaction: borrowing ReadTransaction) throws {
    let targets = targets
    var start = 0
    while start < targets.count {
      let code = EdgeKey.code(targets[start].prefix)
      guard let relationship = relationship(code) else { return }
      var rows = RowFinder(self, relationship.destinationHierarchy)
      start = try rows.withCursor(writer, transaction) { rows, cursor in
        var place = start
        while place < targets.count, EdgeKey.code(targets[place].prefix) == code {
          let prefix = targets[place].prefix
          let found = try rows.find(EdgeKey.owner(prefix), &cursor)
          while place < targets.count, targets[place].prefix == prefix {
            let (source, entityCode) = (
              Reference.primaryKey(targets[place].member), Reference.entityCode(targets[place].member)
            )
            if let found {
              if Reference.entityCode(found) != entityCode {
                refuse(
                  "A reference of \(relationship.qualifiedName) names the wrong entity of p\(EdgeKey.owner(prefix))."
                )
              }
            } else {
              report(relationship.number, source: source, target: EdgeKey.owner(prefix))
            }
            place += 1
          }
        }
        return place
      }
    }
  }

  func relationship(_ code: UInt16) -> RelationshipSchema? {
    codes.relationship(code: code).map { parts.schema.relationships[$0] }
  }
}

/// Finds the rows of one hierarchy as they will be after the change set, by ascending keys.
struct RowFinder {
  private let hierarchy: Int
  private var inserts: ReferenceFinder
  private var deletes: ReferenceFinder

  /// - Parameter seesDeletes: Whether rows that go are still seen.
  init(_ collection: EdgeCollection, _ hierarchy: Int, seesDeletes: Bool = false) {
    self.hierarchy = hierarchy
    inserts = ReferenceFinder(collection.changed.inserts[hierarchy])
    deletes = ReferenceFinder(seesDeletes ? [] : collection.changed.deletes[hierarchy])
  }

  mutating func withCursor<R>(
    _ writer: ChangeSetWriter, _ transaction: borrowing ReadTransaction,
    _ body: (inout RowFinder, inout Cursor) throws -> R
  ) throws -> R {
    try transaction.withCursor(try writer.rows(hierarchy)) { try body(&self, &$0) }
  }

  /// The reference to the row; nil when there will be none.
  mutating func find(_ key: UInt64, _ cursor: inout Cursor) throws -> UInt64? {
    if let reference = inserts.find(key) { return reference }
    if deletes.find(key) != nil { return nil }
    guard let entry = try PrimaryKeyBytes.with(key, { try cursor.seek(exactly: $0) }),
      entry.value.count >= RowFormat.headerLength, let base = entry.value.baseAddress
    else { return nil }
    return Reference.bits(key, entityCode: RowBytes.entityCode(base))
  }
}

// MARK: Rows that go

extension EdgeCollection {
  /// Who refers to the rows that go, and what goes along with them.
  mutating func followDeletes(_ keyspace: Keyspace, _ transaction: borrowing ReadTransaction) throws {
    if writer.deleted.isEmpty { return }
    for (hierarchy, deletes) in changed.deletes.enumerated() where !deletes.isEmpty {
      for owned in codes.ownedEdges[hierarchy] {
        if case .deserters = owned.kind { continue }
        try transaction.withCursor(keyspace) { try follow(owned, deletes, &$0) }
      }
    }
    try findPartners(transaction)
  }

  /// Joins the rows that go with the owners of edges, both ascending: owners that stay and rows without edges are leapt over.
  private mutating func follow(
    _ owned: RelationshipCodes.OwnedEdges, _ deletes: ContiguousArray<UInt64>, _ cursor: inout Cursor
  ) throws {
    var finder = ReferenceFinder(deletes)
    var referrers: Referrers?
    if case .referrers(let toOne) = owned.kind { referrers = Referrers(self, toOne) }
    let isOrdered = codes.isOrdered(code: owned.code)
    let start = EdgeKey.prefix(owned.code, Reference.primaryKey(deletes[0]))
    var entry = try EdgeKey.withCount(start) { try cursor.seek(atLeast: $0) }
    while let found = entry, found.key.count >= 8 {
      let prefix = EdgeKey.word(found.key, 0)
      guard EdgeKey.code(prefix) == owned.code else { return }
      if let row = finder.find(EdgeKey.owner(prefix)) {
        if !isOrdered {
          guard var packed = PackedPlace(found)?.members() else { throw parts.damaged(membersOf: prefix) }
          while let member = packed.next() { follow(owned.kind, row, member, prefix, &referrers) }
          if packed.isDamaged { throw parts.damaged(membersOf: prefix) }
        } else if found.key.count == EdgeKey.edgeLength {
          follow(owned.kind, row, EdgeKey.word(found.key, 1), prefix, &referrers)
        }
        entry = try cursor.next()
      } else {
        guard finder.place < deletes.count else { return }
        let next = EdgeKey.prefix(owned.code, Reference.primaryKey(deletes[finder.place]))
        entry = try EdgeKey.withCount(next) { try cursor.seek(atLeast: $0) }
      }
    }
  }

  @inline(__always)
  private mutating func follow(
    _ kind: RelationshipCodes.OwnedEdges.Kind, _ row: UInt64, _ member: UInt64, _ prefix: UInt64,
    _ referrers: inout Referrers?
  ) {
    let key = Reference.primaryKey(member)
    switch kind {
    case .deserters: break
    case .referrers(let toOne):
      if referrers?.spares(key, of: Reference.primaryKey(row)) == true {
        report(toOne, source: key, target: Reference.primaryKey(row), isLeftBehind: true)
      }
    case .stored(let number):
      let other = RelationshipCodes.twin(of: parts.schema.relationships[number])
      if !other.isHiddenInverse {
        abandoned.append(Abandonment(relationship: other.relationship, member: member, gone: row))
      }
      let twin = codes.code(other)
      changes.removals.append(Edge(prefix: prefix, member: member))
      changes.removals.append(Edge(prefix: EdgeKey.prefix(twin, key), member: row))
    case .hidden(let number):
      abandoned.append(Abandonment(relationship: number, member: member, gone: row))
      changes.removals.append(Edge(prefix: prefix, member: member))
      changes.removals.append(Edge(prefix: EdgeKey.prefix(codes.codes[number], key), member: row))
    }
  }

  /// The partners of deleted rows in one-to-one relationships.
  private mutating func findPartners(_ transaction: borrowing ReadTransaction) throws {
    let relationships = parts.schema.relationships
    var referrers: [Int: Referrers] = [:]
    for (key, row) in writer.deleted {
      for slot in codes.referenceSlots[row.entity] where slot.edgePrefix == 0 {
        let relationship = relationships[slot.relationship]
        let reference = RowBytes.reference(row.base, slot.entry)
        guard reference != 0, relationship.deleteRule != .noAction, let inverse = relationship.inverse else {
          continue
        }
        let partner = Reference.primaryKey(reference)
        if !referrers[inverse, default: Referrers(self, inverse)].spares(partner, of: key) { continue }
        let hierarchy = relationship.destinationHierarchy
        guard let stored = try writer.reader.row(partner, of: hierarchy, transaction) else { continue }
        let back = codes.referenceSlots[stored.entity].first { $0.relationship == inverse }
        if let back, Reference.primaryKey(RowBytes.reference(stored.base, back.entry)) == key {
          report(inverse, source: partner, target: key, isLeftBehind: true)
        }
      }
    }
  }
}

/// Whether rows that refer to deleted ones go on doing so.
private struct Referrers {
  private let relationship: Int
  private let codes: RelationshipCodes
  private let updatePlaces: ContiguousArray<Int>
  private let changeSet: ChangeSet
  private var deletes: ReferenceFinder
  private var updates: ReferenceFinder

  init(_ collection: EdgeCollection, _ toOne: Int) {
    relationship = toOne
    codes = collection.codes
    let owner = collection.parts.schema.relationships[toOne].owner
    let hierarchy = collection.parts.schema.entities[owner].hierarchyNumber
    changeSet = collection.writer.changeSet
    updatePlaces = collection.changed.updatePlaces[hierarchy]
    deletes = ReferenceFinder(collection.changed.deletes[hierarchy])
    updates = ReferenceFinder(collection.changed.updates[hierarchy])
  }

  /// Whether the change set leaves the row and its reference, which leads to `target` now, as they are. An update may set the
  /// reference to what it was.
  @inline(__always)
  mutating func spares(_ key: UInt64, of target: UInt64) -> Bool {
    if deletes.find(key) != nil { return false }
    guard updates.find(key) != nil else { return true }
    let update = changeSet.updates[updatePlaces[updates.place]]
    guard let slot = codes.referenceSlots[update.entity].first(where: { $0.relationship == relationship })
    else { return true }
    return Reference.primaryKey(RowBytes.reference(update.row.base, slot.entry)) == target
  }
}
