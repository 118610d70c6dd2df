import StrataCore

/// Whether all references lead to rows after a change set, and both ends of one-to-one relationships to each other.
struct ReferenceQuestions {
  /// What the server has answered.
  struct Found {
    /// The codes of the entities of rows that are referred to and are there.
    var codes: [RowAddress: UInt16] = [:]
    /// Rows that refer to rows that go.
    var referrers: [(relationship: RelationshipSchema, source: UInt64, target: UInt64)] = []
    /// By one-to-one relationship and row: what the row refers to, 0 for nothing.
    var partners: [Int: [UInt64: UInt64]] = [:]
    var lostLinks: [LinkChanges.Lost] = []
  }

  /// Why a reference may not be.
  private enum Fault {
    /// The row it leads to is not there.
    case noTarget
    /// The row it leads to is deleted by a change set that does not know of the reference.
    case leftBehind
    /// The row it starts from is not there.
    case noSource
    /// The row it leads to does not refer back.
    case oneSided
  }

  /// A reference of a one-to-one relationship that the change set makes or takes away at one end only.
  private struct Partnership {
    let relationship: RelationshipSchema
    let inverse: RelationshipSchema
    let source: UInt64
    let target: UInt64
    let isNew: Bool
  }

  private let work: ChangeSetWork
  private let links: LinkChanges
  /// The rows whose being there must be looked up, by hierarchy.
  private let wanted: [(hierarchy: Int, keys: [UInt64])]
  private let partnerships: [Partnership]
  /// The to-one relationships that may lead to rows that go, with the keys of these.
  private let referrers: [(relationship: RelationshipSchema, keys: [UInt64])]

  init(_ work: ChangeSetWork, _ links: LinkChanges) {
    self.work = work
    self.links = links
    let schema = work.schema
    var keys: [Int: Set<UInt64>] = [:]
    func want(_ hierarchy: Int, _ key: UInt64) {
      let address = RowAddress(hierarchy: hierarchy, key: key)
      if work.inserts[address] != nil || work.stored[address] != nil { return }
      keys[hierarchy, default: []].insert(key)
    }
    for change in work.referenceChanges where change.new != 0 {
      want(change.relationship.destinationHierarchy, StoreReference.primaryKey(change.new))
    }
    for edge in links.toldAdditions {
      want(edge.relationship.destinationHierarchy, StoreReference.primaryKey(edge.member))
      want(schema.entities[edge.relationship.owner].hierarchyNumber, edge.owner)
    }
    wanted = keys.sorted { $0.key < $1.key }.map { ($0.key, $0.value.sorted()) }
    partnerships = Self.partnerships(work)
    var referrers: [(relationship: RelationshipSchema, keys: [UInt64])] = []
    for (hierarchy, keys) in work.deletedKeys {
      for relationship in schema.relationships
      where !relationship.isToMany && !relationship.isTransient
        && relationship.destinationHierarchy == hierarchy
      {
        // A rule may say that references are left behind (rule 212).
        if let inverse = relationship.inverse, schema.relationships[inverse].deleteRule == .noAction {
          continue
        }
        referrers.append((relationship, keys))
      }
    }
    self.referrers = referrers
  }

  private static func partnerships(_ work: ChangeSetWork) -> [Partnership] {
    struct Ends: Hashable {
      let relationship: Int
      let left: UInt64
      let right: UInt64
      let isNew: Bool
    }
    func ends(_ one: Partnership) -> Ends? {
      let (number, inverse) = (one.relationship.number, one.inverse.number)
      // A row that refers to itself is both ends.
      if number == inverse, one.source == one.target { return nil }
      let isLeft = number == inverse ? one.source < one.target : number < inverse
      return Ends(
        relationship: min(number, inverse), left: isLeft ? one.source : one.target,
        right: isLeft ? one.target : one.source, isNew: one.isNew)
    }
    var all: [Partnership] = []
    for change in work.referenceChanges {
      guard let number = change.relationship.inverse, !work.schema.relationships[number].isToMany else {
        continue
      }
      let inverse = work.schema.relationships[number]
      for (reference, isNew) in [(change.old, false), (change.new, true)] where reference != 0 {
        all.append(
          Partnership(
            relationship: change.relationship, inverse: inverse, source: change.key,
            target: StoreReference.primaryKey(reference), isNew: isNew))
      }
    }
    var told: [Ends: Int] = [:]
    for one in all { if let ends = ends(one) { told[ends, default: 0] += 1 } }
    return all.filter { one in ends(one).map { told[$0] == 1 } ?? false }
  }

  // MARK: Asking

  func statements() throws -> [SQLStatement] {
    var statements: [SQLStatement] = []
    for (hierarchy, keys) in wanted {
      var statement = SQLStatement(
        "SELECT t.pk, t.entity FROM \(work.mapping.tables[hierarchy].name) t WHERE ")
      statement.add("t.pk", isAnyOf: keys)
      statements.append(statement)
    }
    for (number, keys) in partnerKeys {
      let (table, column) = try work.mapping.reference(work.schema.relationships[number])
      var statement = SQLStatement("SELECT t.pk, t.\(column.name) FROM \(table.name) t WHERE ")
      statement.add("t.pk", isAnyOf: keys)
      statements.append(statement)
    }
    for (relationship, keys) in referrers {
      let (table, column) = try work.mapping.reference(relationship)
      var statement = SQLStatement(
        "SELECT t.pk, t.\(column.name) FROM \(table.name) t WHERE ")
      statement.add("t.\(column.name)", isAnyOf: keys)
      statements.append(statement)
    }
    return statements + links.lostLinkStatements().map(\.statement)
  }

  /// The rows at the other ends, by the relationship that leads back.
  private var partnerKeys: [(relationship: Int, keys: [UInt64])] {
    Dictionary(grouping: partnerships, by: \.inverse.number)
      .map { ($0.key, Set($0.value.map(\.target)).sorted()) }
      .sorted { $0.relationship < $1.relationship }
  }

  func read(_ answers: [SQLResult]) throws -> Found {
    var found = Found()
    // What has been read anyway.
    for (address, row) in work.stored { found.codes[address] = row.snapshot?.code }
    var answers = answers[...]
    func next() throws -> SQLResult {
      guard let answer = answers.popFirst() else { throw SQLResult.damaged }
      return answer
    }
    for (hierarchy, _) in wanted {
      let answer = try next()
      for row in 0..<answer.rowCount {
        guard let code = UInt16(exactly: try answer.integer(row, 1)) else { throw SQLResult.damaged }
        found.codes[RowAddress(hierarchy: hierarchy, key: try answer.key(row, 0))] = code
      }
    }
    for (number, _) in partnerKeys {
      let answer = try next()
      for row in 0..<answer.rowCount {
        let target = answer[row, 1] == nil ? 0 : try answer.key(row, 1)
        found.partners[number, default: [:]][try answer.key(row, 0)] = target
      }
    }
    for (relationship, _) in referrers {
      let answer = try next()
      for row in 0..<answer.rowCount {
        found.referrers.append((relationship, try answer.key(row, 0), try answer.key(row, 1)))
      }
    }
    for (join, isSourceGone, _) in links.lostLinkStatements() {
      let answer = try next()
      for row in 0..<answer.rowCount {
        found.lostLinks.append(
          LinkChanges.Lost(
            link: Link(
              relationship: join.relationship, source: try answer.key(row, 0), target: try answer.key(row, 1)),
            isSourceGone: isSourceGone, entity: try work.mapping.entity(code: try answer.integer(row, 2))))
      }
    }
    return found
  }

  // MARK: Deciding

  /// All references that may not be, each once.
  /// - Throws: ``StorageError`` `.invalid` for a reference that names another entity than its row has.
  func dangling(_ found: Found) throws -> [DanglingReferences.Reference] {
    var seen: Set<DanglingReferences.Reference> = []
    var result: [DanglingReferences.Reference] = []
    func report(
      _ relationship: RelationshipSchema, _ source: UInt64, _ target: UInt64,
      _ fault: Fault
    ) {
      let reference = DanglingReferences.Reference(
        relationship: relationship.number, source: source, target: target, isLeftBehind: fault == .leftBehind,
        isSourceMissing: fault == .noSource, isOneSided: fault == .oneSided)
      if seen.insert(reference).inserted { result.append(reference) }
    }
    for change in work.referenceChanges where change.new != 0 {
      try work.requireDestination(change.relationship, change.new)
      if try !isThere(change.relationship, change.new, found) {
        report(change.relationship, change.key, StoreReference.primaryKey(change.new), .noTarget)
      }
    }
    for (relationship, owner, member) in links.toldAdditions {
      let key = StoreReference.primaryKey(member)
      if try !isThere(relationship, member, found) { report(relationship, owner, key, .noTarget) }
      let hierarchy = work.schema.entities[relationship.owner].hierarchyNumber
      if code(RowAddress(hierarchy: hierarchy, key: owner), found) == nil {
        if let inverse = relationship.inverse {
          report(work.schema.relationships[inverse], key, owner, .noTarget)
        } else {
          report(relationship, owner, key, .noSource)
        }
      }
    }
    for one in partnerships {
      guard let refersBack = refersBack(one, found) else { continue }
      if one.isNew, !refersBack { report(one.relationship, one.source, one.target, .oneSided) }
      if !one.isNew, refersBack { report(one.inverse, one.target, one.source, .oneSided) }
    }
    for (relationship, source, target) in found.referrers where isSpared(relationship, source, target) {
      report(relationship, source, target, .leftBehind)
    }
    return result
  }

  /// The code of a row's entity as it will be; nil when there will be no such row.
  private func code(_ address: RowAddress, _ found: Found) -> UInt16? {
    if let place = work.inserts[address] { return work.mapping.codes[work.set.inserts[place].entity] }
    if work.deletes[address] != nil { return nil }
    return found.codes[address]
  }

  private func isThere(_ relationship: RelationshipSchema, _ reference: UInt64, _ found: Found) throws -> Bool
  {
    let key = StoreReference.primaryKey(reference)
    let address = RowAddress(hierarchy: relationship.destinationHierarchy, key: key)
    guard let code = code(address, found) else { return false }
    if code == StoreReference.entityCode(reference) { return true }
    throw ChangeSetWork.refusal(
      "A reference of \(relationship.qualifiedName) names the wrong entity of p\(key).")
  }

  /// Whether the partner refers back after the change set; nil when it is not there.
  private func refersBack(_ one: Partnership, _ found: Found) -> Bool? {
    let hierarchy = work.schema.entities[one.inverse.owner].hierarchyNumber
    let address = RowAddress(hierarchy: hierarchy, key: one.target)
    if work.deletes[address] != nil { return nil }
    if work.inserts[address] != nil { return false }
    if let place = work.updates[address] {
      let update = work.set.updates[place]
      let reference = update.row.reference(one.inverse.slot, of: work.schema.entities[update.entity])
      return StoreReference.primaryKey(reference) == one.source
    }
    return found.partners[one.inverse.number]?[one.target].map { $0 == one.source }
  }

  /// Whether the change set leaves a row and its reference as they are. An update may set the reference to what it was.
  private func isSpared(_ relationship: RelationshipSchema, _ source: UInt64, _ target: UInt64) -> Bool {
    let hierarchy = work.schema.entities[relationship.owner].hierarchyNumber
    let address = RowAddress(hierarchy: hierarchy, key: source)
    if work.deletes[address] != nil { return false }
    guard let place = work.updates[address] else { return true }
    let update = work.set.updates[place]
    let reference = update.row.reference(relationship.slot, of: work.schema.entities[update.entity])
    return StoreReference.primaryKey(reference) == target
  }
}
