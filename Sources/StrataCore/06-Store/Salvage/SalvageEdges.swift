import Foundation

/// What the edges of a damaged store still say, for the relationships that nothing else records, and of order.
struct SalvageEdges {
  /// An edge, in the direction in which it was found.
  private struct Found: Hashable {
    let owner: UInt64
    let member: UInt64
    let position: UInt64?
  }

  private let schema: Schema
  /// By code in the damaged store: the relationship's number.
  private let numbers: [UInt16: Int]
  private var found: [EdgeSet: [Found]] = [:]
  /// Edges from loose pages, of which there may be many copies.
  private var loose: [EdgeSet: Set<Found>] = [:]
  /// How many edges were left out because a row at one of their ends is not back.
  private(set) var lostCount = 0

  init(schema: Schema, codes: SalvageCodes) {
    self.schema = schema
    var numbers: [UInt16: Int] = [:]
    for relationship in schema.relationships {
      if let code = codes.relationshipCodes[relationship.storedName] {
        numbers[code] = relationship.number
      }
    }
    self.numbers = numbers
  }

  /// Takes over an entry; false when it is none of the keyspace "edges".
  mutating func add(_ entry: DamagedPage.Entry) -> Bool {
    guard let edges = edges(in: entry) else { return false }
    for (set, edge) in edges { found[set, default: []].append(edge) }
    return true
  }

  /// Takes over the edges of an entry of a loose page, each once; how many are new.
  mutating func addLoose(_ entry: DamagedPage.Entry) -> Int {
    var count = 0
    for (set, edge) in edges(in: entry) ?? [] where loose[set, default: []].insert(edge).inserted {
      found[set, default: []].append(edge)
      count += 1
    }
    return count
  }

  /// What an entry says of relationships that nothing else records, and of order; nil when it is none of the keyspace.
  private func edges(in entry: DamagedPage.Entry) -> [(EdgeSet, Found)]? {
    let (key, value) = (entry.key, entry.value)
    guard [EdgeKey.countLength, EdgeKey.edgeLength, EdgeKey.orderLength].contains(key.count),
      entry.overflowPage == nil
    else { return nil }
    let words = key.withUnsafeBytes { key in (0..<key.count / 8).map { EdgeKey.word(key, $0) } }
    let code = EdgeKey.code(words[0])
    // Counts and order are rebuilt; so are edges of relationships that the model no longer has, by leaving them out.
    guard code & EdgeKey.order == 0, let number = numbers[code & EdgeKey.largestCode] else {
      return value.count <= PackedEdges.mostBytes ? [] : nil
    }
    let relationship = schema.relationships[number]
    let edges = EdgeSet(relationship: number, isHiddenInverse: code & EdgeKey.hiddenInverse != 0)
    let owner = EdgeKey.owner(words[0])
    if relationship.isOrdered && !edges.isHiddenInverse {
      guard value.count == 8, key.count <= EdgeKey.edgeLength else { return nil }
      if key.count == EdgeKey.countLength { return [] }
      let position = value.withUnsafeBytes { EdgeKey.number($0) }
      return [(edges, Found(owner: owner, member: Reference.primaryKey(words[1]), position: position))]
    }
    guard key.count <= EdgeKey.edgeLength else { return nil }
    return value.withUnsafeBytes { value in
      var count = 0
      var packed =
        words.count == 1 ? PackedMembers(head: value, count: &count) : PackedMembers(chunk: value)
      var found: [(EdgeSet, Found)] = []
      while let member = packed?.next() {
        // What follows from rows comes back with them.
        guard relationship.isEdgeStored else { continue }
        found.append((edges, Found(owner: owner, member: Reference.primaryKey(member), position: nil)))
      }
      return packed?.isDamaged == false ? found : nil
    }
  }

  /// The changes that bring the edges back between rows that are there.
  ///
  /// - Parameter rows: By hierarchy: references to all rows of the new store.
  mutating func changes(_ rows: [ContiguousArray<UInt64>]) -> [EdgeChange] {
    var changes: [EdgeChange] = []
    for relationship in schema.relationships where !relationship.isTransient && relationship.isToMany {
      let set = EdgeSet(relationship: relationship.number)
      var edges = found[set] ?? []
      if relationship.isEdgeStored {
        // What only the other direction still tells comes last.
        let known = Set(edges.map { [$0.owner, $0.member] })
        edges += (found[RelationshipCodes.twin(of: relationship)] ?? []).lazy
          .filter { !known.contains([$0.member, $0.owner]) }
          .map { Found(owner: $0.member, member: $0.owner, position: nil) }
      } else if !relationship.isOrdered {
        continue
      }
      var owners = ReferenceFinder(rows[schema.entities[relationship.owner].hierarchyNumber])
      var members = ReferenceFinder(rows[relationship.destinationHierarchy])
      for edge in edges {
        guard owners.find(edge.owner) != nil, let member = members.find(edge.member) else {
          // Both directions are one loss.
          let isCounted = relationship.inverse.map { $0 >= relationship.number } ?? true
          if relationship.isEdgeStored && isCounted { lostCount += 1 }
          continue
        }
        changes.append(
          EdgeChange(
            relationship: relationship.number, owner: edge.owner, member: member,
            kind: .add(position: edge.position)))
      }
    }
    (found, loose) = ([:], [:])
    return changes
  }
}

/// Looks after references when all rows that can be saved are in the new store.
struct SalvageReferences {
  let store: LMDBStore
  private var parts: StoreParts { store.parts }

  /// By hierarchy: references to all rows, in order.
  func rows() throws -> [ContiguousArray<UInt64>] {
    try store.read { reader, transaction in
      try parts.rows.map { keyspace in
        var rows: ContiguousArray<UInt64> = []
        guard let keyspace else { return rows }
        try transaction.forEach(in: keyspace) { found in
          let key = PrimaryKeyBytes.last(of: found.key)
          let entity = try reader.entity(of: found.value, primaryKey: key)
          rows.append(Reference.bits(key, entityCode: reader.catalogue.entityCodes[entity]))
        }
        return rows
      }
    }
  }

  /// A row with the slots whose references lead nowhere.
  struct Repair {
    let row: FetchedRow
    let slots: [Int]
  }

  /// The rows of a hierarchy from `key` on that refer to rows that are not there, some thousands at most; nil behind the last.
  func repairs(_ hierarchy: Int, from key: UInt64, _ rows: [ContiguousArray<UInt64>]) throws -> [Repair]? {
    guard let keyspace = parts.rows[hierarchy] else { return nil }
    var repairs: [Repair] = []
    try store.read { reader, transaction in
      repairs = []
      try transaction.withCursor(keyspace) { cursor in
        var entry = try PrimaryKeyBytes.with(key) { try cursor.seek(atLeast: $0) }
        while let found = entry, repairs.count < 4_000 {
          let key = PrimaryKeyBytes.last(of: found.key)
          let row = try reader.row(found.value, primaryKey: key)
          let slots = try reader.catalogue.relationships.referenceSlots[row.entity].filter {
            try !isSound($0, row, key, rows, reader, transaction)
          }
          if !slots.isEmpty {
            repairs.append(
              Repair(row: reader.fetchedRow(row, primaryKey: key), slots: slots.map(\.slot)))
          }
          entry = try cursor.next()
        }
      }
    }
    return repairs.isEmpty ? nil : repairs
  }

  private func isSound(
    _ slot: RelationshipCodes.ReferenceSlot, _ row: StoredRow, _ key: UInt64,
    _ rows: [ContiguousArray<UInt64>], _ reader: RowReader, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    let reference = RowBytes.reference(row.base, slot.entry)
    if reference == 0 { return true }
    let relationship = parts.schema.relationships[slot.relationship]
    let inverse = relationship.inverse.map { parts.schema.relationships[$0] }
    var finder = ReferenceFinder(rows[relationship.destinationHierarchy])
    let target = Reference.primaryKey(reference)
    guard let found = finder.find(target) else {
      // It is unknown whether the row was deleted or lost: with this rule it may be absent.
      return inverse?.deleteRule == .noAction
    }
    if found != reference { return false }
    guard let inverse, !inverse.isToMany else { return true }
    // One-to-one: the partner must refer back.
    let keyspace = parts.rows[relationship.destinationHierarchy]
    guard let keyspace, let bytes = try transaction.get(keyspace, target)
    else {
      return false
    }
    let partner = try reader.row(bytes, primaryKey: target)
    let back = reader.catalogue.relationships.referenceSlots[partner.entity].first {
      $0.relationship == inverse.number
    }
    return back.map { Reference.primaryKey(RowBytes.reference(partner.base, $0.entry)) == key } ?? false
  }

  /// The row without the references, of the same version.
  func change(_ repair: Repair) throws -> RowChange? {
    guard let snapshot = repair.row.snapshot else { return nil }
    let entity = parts.schema.entities[repair.row.entity]
    let draft = RowDraft.make(entity.layout)
    for slot in repair.slots { draft[slot] = .null }
    var writer = RowSlabWriter()
    let (row, externals) = try RowEncoder.encode(
      layout: entity.layout, stamp: store.rowStamp(entity: entity.number), primaryKey: repair.row.primaryKey,
      version: snapshot.version, base: snapshot, draft: draft, into: &writer)
    return RowChange(
      entity: entity.number, primaryKey: repair.row.primaryKey, baseVersion: snapshot.version, row: row,
      externals: externals, changedSlots: draft.changed)
  }
}
