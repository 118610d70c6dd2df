import Foundation

/// Compares edges with the rows they follow from, and with the edges that lead back.
///
/// Takes one pass over the rows per to-one relationship, one over the edges, and memory for the keys of one relationship's
/// edges at a time besides that of all rows' references.
struct EdgeChecker {
  let reader: RowReader
  /// By hierarchy: references to all its rows, in order.
  let rows: [ContiguousArray<UInt64>]
  let problems: Problems
  private(set) var edgeCount = 0
  private(set) var danglingReferenceCount = 0
  private var parts: StoreParts { reader.parts }
  private var codes: RelationshipCodes { reader.catalogue.relationships }

  /// Owner and member of an edge, as two primary keys.
  private struct Pair: Hashable {
    let owner: UInt64
    let member: UInt64
    static func precedes(_ a: Pair, _ b: Pair) -> Bool { (a.owner, a.member) < (b.owner, b.member) }
    var swapped: Pair { Pair(owner: member, member: owner) }
  }

  /// What was found; one thread fills it.
  final class Problems {
    private(set) var list: [StoreCheck.Problem] = []
    private let room: Int

    init(room: Int) { self.room = room }

    func add(_ kind: StoreCheck.Problem.Kind, _ place: @autoclosure () -> String) {
      if list.count < room { list.append(StoreCheck.Problem(kind: kind, place: place())) }
    }
  }

  /// - Parameter room: How many problems are told at most.
  init(reader: RowReader, rows: [ContiguousArray<UInt64>], room: Int) {
    self.reader = reader
    self.rows = rows
    problems = Problems(room: room)
  }

  private func report(_ kind: StoreCheck.Problem.Kind, _ place: @autoclosure () -> String) {
    problems.add(kind, place())
  }

  mutating func run(_ transaction: borrowing ReadTransaction) throws {
    guard let keyspace = parts.edges else { return }
    try checkCodes(keyspace, transaction)
    for relationship in parts.schema.relationships where codes.codes[relationship.number] > 0 {
      if relationship.isEdgeStored {
        try checkStored(relationship, keyspace, transaction)
      } else if !relationship.isToMany, parts.rows[hierarchy(ofOwnerOf: relationship)] != nil {
        try checkReferences(relationship, keyspace, transaction)
      }
    }
  }

  private func hierarchy(ofOwnerOf relationship: RelationshipSchema) -> Int {
    parts.schema.entities[relationship.owner].hierarchyNumber
  }

  private func name(_ edges: EdgeSet) -> String {
    parts.schema.relationships[edges.relationship].qualifiedName + (edges.isHiddenInverse ? " backwards" : "")
  }

  // MARK: Every key by itself

  /// Finds keys of codes that were never given, and those that a relationship does not have. Leaps from code to code.
  private mutating func checkCodes(_ keyspace: Keyspace, _ transaction: borrowing ReadTransaction) throws {
    var known = Set<UInt16>()
    for relationship in parts.schema.relationships where codes.codes[relationship.number] > 0 {
      let code = codes.codes[relationship.number]
      if relationship.isToMany { known.insert(code) }
      if relationship.isToMany && relationship.isOrdered { known.insert(code | EdgeKey.order) }
      if relationship.hasHiddenInverse { known.insert(code | EdgeKey.hiddenInverse) }
    }
    // Relationships that the model no longer has: their edges are left alone.
    let foreign = Set(codes.codesByName.values).subtracting(codes.codes)
    try transaction.withCursor(keyspace) { cursor in
      var entry = try cursor.first()
      while let found = entry {
        guard found.key.count >= 8 else {
          report(.edgeStray, found.key.hexadecimal)
          entry = try cursor.next()
          continue
        }
        let code = EdgeKey.code(EdgeKey.word(found.key, 0))
        if known.contains(code) || foreign.contains(code & EdgeKey.largestCode) {
          if code == .max { return }
          entry = try EdgeKey.withCount(EdgeKey.prefix(code + 1, 0)) { try cursor.seek(atLeast: $0) }
        } else {
          report(.edgeStray, found.key.hexadecimal)
          entry = try cursor.next()
        }
      }
    }
  }

  /// Reads all edges of a set, in order; compares counts and order on the way.
  private mutating func readEdges(
    _ edges: EdgeSet, _ keyspace: Keyspace, _ transaction: borrowing ReadTransaction
  ) throws -> ContiguousArray<Edge> {
    let code = codes.code(edges)
    let isOrdered = !edges.isHiddenInverse && parts.schema.relationships[edges.relationship].isOrdered
    let name = name(edges)
    if !isOrdered { return try readPacked(code, name, keyspace, transaction) }
    var found: ContiguousArray<Edge> = []
    var order: ContiguousArray<EdgePlacement> = []
    var (owner, stored, counted): (UInt64, UInt64?, UInt64) = (0, nil, 0)
    func finishOwner() {
      if (stored ?? 0) != counted || stored == 0 {
        report(.edgeCountWrong, "\(name) p\(EdgeKey.owner(owner)): \(stored ?? 0) for \(counted)")
      }
    }
    try forEach(code, keyspace, transaction) { key, value in
      let prefix = EdgeKey.word(key, 0)
      if prefix != owner {
        finishOwner()
        (owner, stored, counted) = (prefix, nil, 0)
      }
      switch key.count {
      case EdgeKey.countLength:
        // A damaged number is as wrong as any other.
        stored = EdgeKey.number(value) ?? .max
      case EdgeKey.edgeLength:
        counted += 1
        let member = EdgeKey.word(key, 1)
        found.append(Edge(prefix: prefix, member: member))
        if let position = EdgeKey.number(value) {
          order.append(
            EdgePlacement(prefix: prefix, member: member, position: position, sequence: 0, kind: .add))
        } else {
          report(.edgeOrderWrong, "\(name) p\(EdgeKey.owner(prefix)) → p\(Reference.primaryKey(member))")
        }
      default: report(.edgeStray, "\(name) \(key.hexadecimal)")
      }
    }
    finishOwner()
    edgeCount += found.count
    try compareOrder(code, name, order, keyspace, transaction)
    return found
  }

  /// The same for a set without order; looks at the bounds of chunks.
  private mutating func readPacked(
    _ code: UInt16, _ name: String, _ keyspace: Keyspace, _ transaction: borrowing ReadTransaction
  ) throws -> ContiguousArray<Edge> {
    var found: ContiguousArray<Edge> = []
    var (owner, stored, counted, last): (UInt64, Int, Int, UInt64) = (0, 0, 0, 0)
    func finishOwner() {
      if stored != counted {
        report(.edgeCountWrong, "\(name) p\(EdgeKey.owner(owner)): \(stored) for \(counted)")
      }
    }
    try forEach(code, keyspace, transaction) { key, value in
      let prefix = EdgeKey.word(key, 0)
      if prefix != owner {
        finishOwner()
        (owner, stored, counted, last) = (prefix, 0, 0, 0)
      }
      guard let place = PackedPlace(Cursor.Entry(key: key, value: value)) else {
        return report(.edgeStray, "\(name) \(key.hexadecimal)")
      }
      let packed = place.bound == nil ? PackedMembers(head: value, count: &stored) : place.members()
      guard var packed else {
        return report(.edgeCountWrong, "\(name) p\(EdgeKey.owner(prefix)): \(value.hexadecimal)")
      }
      if let bound = place.bound, bound <= last {
        report(.edgeOrderWrong, "\(name) \(key.hexadecimal) begins below p\(Reference.primaryKey(last))")
      }
      let lowest = place.bound ?? 1
      while let member = packed.next() {
        if member < lowest || member <= last {
          report(.edgeOrderWrong, "\(name) p\(EdgeKey.owner(prefix)) → p\(Reference.primaryKey(member))")
        }
        last = max(last, member)
        counted += 1
        found.append(Edge(prefix: prefix, member: member))
      }
      if packed.isDamaged { report(.edgeStray, "\(name) \(key.hexadecimal): \(value.hexadecimal)") }
    }
    finishOwner()
    EdgeSort.sort(&found)
    edgeCount += found.count
    return found
  }

  private func compareOrder(
    _ code: UInt16, _ name: String, _ placed: ContiguousArray<EdgePlacement>, _ keyspace: Keyspace,
    _ transaction: borrowing ReadTransaction
  ) throws {
    let expected = placed.sorted {
      ($0.prefix, $0.position, $0.member) < ($1.prefix, $1.position, $1.member)
    }
    func isBefore(_ edge: EdgePlacement, _ key: UnsafeRawBufferPointer) -> Bool {
      (edge.prefix | EdgeKey.orderPrefix, edge.position, edge.member)
        < (EdgeKey.word(key, 0), EdgeKey.word(key, 1), EdgeKey.word(key, 2))
    }
    var place = 0
    func missing() {
      let edge = expected[place]
      report(
        .edgeOrderWrong,
        "\(name) p\(EdgeKey.owner(edge.prefix)) → p\(Reference.primaryKey(edge.member)) is not in order")
      place += 1
    }
    try forEach(code | EdgeKey.order, keyspace, transaction) { key, _ in
      guard key.count == EdgeKey.orderLength else {
        return report(.edgeStray, "\(name) \(key.hexadecimal)")
      }
      while place < expected.count, isBefore(expected[place], key) { missing() }
      if place < expected.count, expected[place].prefix | EdgeKey.orderPrefix == EdgeKey.word(key, 0),
        expected[place].position == EdgeKey.word(key, 1), expected[place].member == EdgeKey.word(key, 2)
      {
        place += 1
      } else {
        report(.edgeOrderWrong, "\(name) \(key.hexadecimal) is out of order")
      }
    }
    while place < expected.count { missing() }
  }

  private func forEach(
    _ code: UInt16, _ keyspace: Keyspace, _ transaction: borrowing ReadTransaction,
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    try transaction.withCursor(keyspace) { cursor in
      var entry = try EdgeKey.withCount(EdgeKey.prefix(code, 0)) { try cursor.seek(atLeast: $0) }
      while let found = entry, found.key.count < 8 || EdgeKey.code(EdgeKey.word(found.key, 0)) == code {
        // Short keys have been reported.
        if found.key.count >= 8 { try body(found.key, found.value) }
        entry = try cursor.next()
      }
    }
  }

  // MARK: Edges that follow from rows

  private mutating func checkReferences(
    _ relationship: RelationshipSchema, _ keyspace: Keyspace, _ transaction: borrowing ReadTransaction
  ) throws {
    var edges: ContiguousArray<Edge> = []
    var pairs: ContiguousArray<Pair> = []
    let set = RelationshipCodes.derivedEdges(of: relationship, parts.schema)
    let code = set.map { codes.code($0) } ?? 0
    try readReferences(relationship, transaction) { reference, member in
      if set != nil {
        edges.append(Edge(prefix: EdgeKey.prefix(code, Reference.primaryKey(reference)), member: member))
      } else {
        pairs.append(Pair(owner: Reference.primaryKey(member), member: Reference.primaryKey(reference)))
      }
    }
    if let set {
      EdgeSort.sort(&edges)
      compare(edges, try readEdges(set, keyspace, transaction), name(set))
    } else if let inverse = relationship.inverse, relationship.number <= inverse {
      // One-to-one: both refer, or neither.
      let other = parts.schema.relationships[inverse]
      var back: ContiguousArray<Pair> = []
      let all = rows
      try readReferences(other, isSecond: true, transaction) { reference, member in
        back.append(Pair(owner: Reference.primaryKey(reference), member: Reference.primaryKey(member)))
      }
      // A row that does not exist cannot refer.
      let here = { (key: UInt64, hierarchy: Int) in Self.find(key, all[hierarchy]) != nil }
      let sources = hierarchy(ofOwnerOf: relationship)
      let targets = relationship.destinationHierarchy
      comparePairs(
        pairs.filter { here($0.member, targets) }, back.filter { here($0.owner, sources) },
        missing: (.edgeMissing, other.qualifiedName), stray: (.edgeMissing, relationship.qualifiedName),
        isOwnInverse: relationship.number == inverse)
    }
  }

  /// Calls `body` with every reference and the row that has it; reports those that lead nowhere, once.
  private mutating func readReferences(
    _ relationship: RelationshipSchema, isSecond: Bool = false, _ transaction: borrowing ReadTransaction,
    _ body: (_ reference: UInt64, _ row: UInt64) -> Void
  ) throws {
    let hierarchy = hierarchy(ofOwnerOf: relationship)
    guard let keyspace = parts.rows[hierarchy] else { return }
    let mayDangle =
      relationship.inverse.map { parts.schema.relationships[$0].deleteRule == .noAction } ?? false
    let targets = rows[relationship.destinationHierarchy]
    var dangling = 0
    try transaction.withCursor(keyspace) { cursor in
      var entry = try cursor.first()
      while let found = entry {
        // Rows that cannot be read have been reported.
        if let key = PrimaryKeyBytes.whole(found.key),
          let row = try? reader.row(found.value, primaryKey: key),
          let slot = codes.referenceSlots[row.entity].first(where: { $0.relationship == relationship.number })
        {
          let reference = RowBytes.reference(row.base, slot.entry)
          if reference != 0 {
            let isThere = Self.find(Reference.primaryKey(reference), targets) == reference
            if !isThere && mayDangle {
              dangling += 1
            } else if !isSecond && (!isThere || !codes.allows(relationship.number, reference)) {
              report(
                .referenceDangling,
                "\(relationship.qualifiedName) p\(key) → p\(Reference.primaryKey(reference))")
            }
            body(reference, Reference.bits(key, entityCode: reader.catalogue.entityCodes[row.entity]))
          }
        }
        entry = try cursor.next()
      }
    }
    if !isSecond { danglingReferenceCount += dangling }
  }

  private static func find(_ key: UInt64, _ references: ContiguousArray<UInt64>) -> UInt64? {
    var finder = ReferenceFinder(references)
    return finder.find(key)
  }

  private func compare(
    _ expected: ContiguousArray<Edge>, _ stored: ContiguousArray<Edge>, _ name: String
  ) {
    var (left, right) = (0, 0)
    while left < expected.count || right < stored.count {
      let isMissing =
        right == stored.count
        || left < expected.count && EdgeSort.precedes(expected[left], stored[right])
      if !isMissing, left < expected.count, expected[left] == stored[right] {
        left += 1
        right += 1
        continue
      }
      let edge = isMissing ? expected[left] : stored[right]
      report(
        isMissing ? .edgeMissing : .edgeStray,
        "\(name) p\(EdgeKey.owner(edge.prefix)) → p\(Reference.primaryKey(edge.member))")
      if isMissing { left += 1 } else { right += 1 }
    }
  }

  // MARK: Members that only edges record

  private mutating func checkStored(
    _ relationship: RelationshipSchema, _ keyspace: Keyspace, _ transaction: borrowing ReadTransaction
  ) throws {
    let set = EdgeSet(relationship: relationship.number)
    let stored = try readEdges(set, keyspace, transaction)
    checkEnds(stored, set, owners: hierarchy(ofOwnerOf: relationship), relationship.destinationHierarchy)
    let twin = RelationshipCodes.twin(of: relationship)
    if let inverse = relationship.inverse, inverse < relationship.number { return }
    let pairs = Self.pairs(stored)
    if twin == set {
      return comparePairs(
        pairs, ContiguousArray(pairs.map(\.swapped)), missing: (.edgeMissing, name(set)),
        stray: (.edgeMissing, name(set)), isOwnInverse: true)
    }
    // With an inverse, its own turn comes: here it is only compared.
    let counted = edgeCount
    var back = Self.pairs(try readTwin(twin, keyspace, transaction))
    if !twin.isHiddenInverse { edgeCount = counted }
    for place in back.indices { back[place] = back[place].swapped }
    comparePairs(
      pairs, back, missing: (.edgeMissing, name(twin)),
      stray: (twin.isHiddenInverse ? .edgeStray : .edgeMissing, name(twin.isHiddenInverse ? twin : set)))
  }

  /// The edges that lead back; those of an inverse are looked at closely when it is their turn.
  private mutating func readTwin(
    _ twin: EdgeSet, _ keyspace: Keyspace, _ transaction: borrowing ReadTransaction
  ) throws -> ContiguousArray<Edge> {
    let relationship = parts.schema.relationships[twin.relationship]
    if twin.isHiddenInverse {
      let edges = try readEdges(twin, keyspace, transaction)
      checkEnds(
        edges, twin, owners: relationship.destinationHierarchy, hierarchy(ofOwnerOf: relationship))
      return edges
    }
    var edges: ContiguousArray<Edge> = []
    try forEach(codes.code(twin), keyspace, transaction) { key, value in
      let prefix = EdgeKey.word(key, 0)
      if !relationship.isOrdered {
        var packed = PackedPlace(Cursor.Entry(key: key, value: value))?.members()
        while let member = packed?.next() { edges.append(Edge(prefix: prefix, member: member)) }
      } else if key.count == EdgeKey.edgeLength {
        edges.append(Edge(prefix: prefix, member: EdgeKey.word(key, 1)))
      }
    }
    return edges
  }

  private static func pairs(_ edges: ContiguousArray<Edge>) -> ContiguousArray<Pair> {
    ContiguousArray(
      edges.lazy.map { Pair(owner: EdgeKey.owner($0.prefix), member: Reference.primaryKey($0.member)) })
  }

  private func checkEnds(
    _ edges: ContiguousArray<Edge>, _ set: EdgeSet, owners: Int, _ members: Int
  ) {
    var ownerFinder = ReferenceFinder(rows[owners])
    let members = rows[members]
    for edge in edges {
      let owner = EdgeKey.owner(edge.prefix)
      if ownerFinder.find(owner) == nil
        || Self.find(Reference.primaryKey(edge.member), members) != edge.member
      {
        report(.referenceDangling, "\(name(set)) p\(owner) → p\(Reference.primaryKey(edge.member))")
      }
    }
  }

  private func comparePairs(
    _ left: ContiguousArray<Pair>, _ right: ContiguousArray<Pair>,
    missing: (kind: StoreCheck.Problem.Kind, name: String),
    stray: (kind: StoreCheck.Problem.Kind, name: String), isOwnInverse: Bool = false
  ) {
    let left = left.sorted(by: Pair.precedes)
    let right = right.sorted(by: Pair.precedes)
    var (l, r) = (0, 0)
    while l < left.count || r < right.count {
      if l < left.count, r < right.count, left[l] == right[r] {
        l += 1
        r += 1
      } else if r == right.count || l < left.count && Pair.precedes(left[l], right[r]) {
        // What is missing is what leads back.
        report(missing.kind, "\(missing.name) p\(left[l].member) → p\(left[l].owner)")
        l += 1
      } else {
        // For a relationship that is its own inverse the same has been reported the other way round.
        if !isOwnInverse {
          let pair = stray.kind == .edgeStray ? right[r].swapped : right[r]
          report(stray.kind, "\(stray.name) p\(pair.owner) → p\(pair.member)")
        }
        r += 1
      }
    }
  }
}
