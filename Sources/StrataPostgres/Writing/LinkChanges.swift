import StrataCore

/// One link of two rows in a table of links: by the number of the relationship whose owners are under `src`.
struct Link: Hashable {
  let relationship: Int
  let source: UInt64
  let target: UInt64
}

/// What a change set does to tables of links: what is told at one end only holds for both, and where both disagree the link goes.
struct LinkChanges {
  /// What is told of a link at each end; nil at an end that says nothing.
  struct Told {
    enum End {
      case removed
      case added(Placement.Kind)
    }
    var left: End?
    var right: End?
    /// The place of what is told last in the change set.
    var sequence = 0

    /// Where both ends disagree the link goes.
    var isRemoved: Bool {
      if case .removed? = left { return true }
      if case .removed? = right { return true }
      return false
    }

    /// What places the member among those of the row under `src`.
    var leftKind: Placement.Kind { Self.kind(left) }
    /// What places the other among those of the row under `dst`.
    var rightKind: Placement.Kind { Self.kind(right) }

    private static func kind(_ end: End?) -> Placement.Kind {
      if case .added(let kind)? = end { return kind }
      return .append
    }
  }

  /// A member of a relationship with a to-one inverse that gets another position.
  struct Move {
    let relationship: RelationshipSchema
    let owner: UInt64
    let member: UInt64
    let position: UInt64
    let sequence: Int
  }

  /// A link that goes with a row that is deleted.
  struct Lost {
    let link: Link
    /// Whether the row that goes is the one under `src`.
    let isSourceGone: Bool
    /// The entity of the row that stays.
    let entity: Int
  }

  private let work: ChangeSetWork
  private(set) var links: [Link: Told] = [:]
  /// In the order in which they are told.
  private(set) var order: [Link] = []
  private(set) var moves: [Move] = []
  /// What the change set adds, as it is told: both ends must be there.
  private(set) var toldAdditions: [(relationship: RelationshipSchema, owner: UInt64, member: UInt64)] = []
  private var toldRemovals: Set<Link> = []

  init(_ work: ChangeSetWork) { self.work = work }

  /// Takes up what the change set says.
  /// - Throws: ``StorageError`` `.invalid` for what cannot be said of relationships.
  mutating func collect() throws {
    for (sequence, edge) in work.set.edges.enumerated() {
      guard work.schema.relationships.indices.contains(edge.relationship) else {
        throw ChangeSetWork.refusal("The schema has no relationship \(edge.relationship).")
      }
      let relationship = work.schema.relationships[edge.relationship]
      if relationship.isTransient { continue }
      guard relationship.isToMany, edge.owner > 0, edge.owner < StoreReference.keyLimit else {
        throw ChangeSetWork.refusal(
          "A change set cannot change \(relationship.qualifiedName) of p\(edge.owner) as edges.")
      }
      if edge.kind != .remove { try work.requireDestination(relationship, edge.member) }
      let member = StoreReference.primaryKey(edge.member)
      guard relationship.isEdgeStored, let join = work.mapping.joins[relationship.number] else {
        // Who belongs to it is told by rows.
        if relationship.isOrdered, case .add(let position?) = edge.kind {
          moves.append(
            Move(
              relationship: relationship, owner: edge.owner, member: member, position: position,
              sequence: sequence))
        }
        continue
      }
      note(edge, member, relationship, join, sequence)
    }
  }

  private mutating func note(
    _ edge: EdgeChange, _ member: UInt64, _ relationship: RelationshipSchema, _ join: JoinMapping,
    _ sequence: Int
  ) {
    let isLeft = join.isSymmetric ? edge.owner <= member : join.relationship == relationship.number
    let link = Link(
      relationship: join.relationship, source: isLeft ? edge.owner : member,
      target: isLeft ? member : edge.owner)
    if links[link] == nil { order.append(link) }
    var told = links[link] ?? Told()
    told.sequence = sequence
    let old = isLeft ? told.left : told.right
    let new: Told.End
    switch (edge.kind, old) {
    case (.remove, _):
      new = .removed
      toldRemovals.insert(link)
    case (.add(let position), .added(let kind)?):
      new = .added(kind.followed(by: position.map { .add($0) } ?? .append))
    case (.add(let position), _): new = .added(position.map { .add($0) } ?? .append)
    }
    if isLeft { told.left = new } else { told.right = new }
    links[link] = told
    if edge.kind != .remove { toldAdditions.append((relationship, edge.owner, edge.member)) }
  }

  /// The links that there will be.
  var added: [(link: Link, told: Told)] {
    order.compactMap { link in
      guard let told = links[link], !told.isRemoved else { return nil }
      return (link, told)
    }
  }

  private func isSymmetric(_ link: Link) -> Bool {
    work.mapping.joins[link.relationship]?.isSymmetric ?? false
  }

  // MARK: Statements

  private struct Ends {
    var sources = SQLArray(.int8)
    var targets = SQLArray(.int8)
    var positions = SQLArray(.int8)
    var inversePositions = SQLArray(.int8)
  }

  /// The statements that take out the links that the change set says go.
  func removals() -> [SQLStatement] {
    var ends: [Int: Ends] = [:]
    for link in order where links[link]?.isRemoved == true {
      ends[link.relationship, default: Ends()].sources.append(link.source)
      ends[link.relationship, default: Ends()].targets.append(link.target)
      if isSymmetric(link), link.source != link.target {
        ends[link.relationship, default: Ends()].sources.append(link.target)
        ends[link.relationship, default: Ends()].targets.append(link.source)
      }
    }
    return ends.sorted { $0.key < $1.key }.compactMap { number, ends in
      guard let join = work.mapping.joins[number] else { return nil }
      var statement = SQLStatement()
      let rows = SQLStatement.rows(of: [ends.sources, ends.targets].map { statement.bind($0) })
      statement +=
        "DELETE FROM \(join.name) l USING \(rows) AS n(s, d) WHERE l.src = n.s AND l.dst = n.d RETURNING 1"
      statement.subject = subject(number)
      // Some may have gone already.
      return RowStatements.guarded(statement, count: ends.sources.count) { written, _ in
        "\(written) = (\(Self.count(rows, join)))"
      }
    }
  }

  /// What a statement about links of a relationship writes, for errors.
  private func subject(_ number: Int) -> SQLStatement.Subject {
    SQLStatement.Subject(entity: work.schema.entities[work.schema.relationships[number].owner].name)
  }

  /// The question how many of the links are there whose ends are two arrays' elements.
  private static func count(_ rows: String, _ join: JoinMapping) -> String {
    "SELECT pg_catalog.count(*) FROM \(rows) AS n(s, d) JOIN \(join.name) l ON l.src = n.s AND l.dst = n.d"
  }

  /// The tables of links that lead to rows of a hierarchy, with the column that does.
  private func joins(ofHierarchy hierarchy: Int) -> [(join: JoinMapping, column: String)] {
    var found: [(join: JoinMapping, column: String)] = []
    for (number, join) in work.mapping.joins.enumerated() {
      guard let join, join.relationship == number else { continue }
      let relationship = work.schema.relationships[number]
      if work.schema.entities[relationship.owner].hierarchyNumber == hierarchy { found.append((join, "src")) }
      if relationship.destinationHierarchy == hierarchy { found.append((join, "dst")) }
    }
    return found
  }

  /// The statements that take out the links of rows that go.
  func removalsWithRows() -> [SQLStatement] {
    work.deletedKeys.flatMap { hierarchy, keys in
      joins(ofHierarchy: hierarchy).map { join, column in
        var statement = SQLStatement("DELETE FROM \(join.name) l WHERE ")
        statement.add("l.\(column)", isAnyOf: keys)
        // A foreign key says at the commit what a trigger has kept; tables of somebody else's have no links.
        return statement
      }
    }
  }

  /// The questions which links go with rows: the link, and the entity of the row that stays.
  func lostLinkStatements() -> [(join: JoinMapping, isSourceGone: Bool, statement: SQLStatement)] {
    work.deletedKeys.flatMap { hierarchy, keys in
      joins(ofHierarchy: hierarchy).map { join, column in
        let relationship = work.schema.relationships[join.relationship]
        let isSourceGone = column == "src"
        let other =
          isSourceGone
          ? work.mapping.tables[relationship.destinationHierarchy]
          : work.mapping.table(ofEntity: relationship.owner)
        var statement = SQLStatement(
          "SELECT l.src, l.dst, t.entity FROM \(join.name) l JOIN \(other.name) t ON t.pk = l.\(isSourceGone ? "dst" : "src") WHERE l.\(column) = ANY("
        )
        statement += statement.bind(keys: keys) + ")"
        return (join, isSourceGone, statement)
      }
    }
  }

  /// Rows that lose a relationship because another row goes, where the change set does not name them.
  func untoldTouches(_ lost: [Lost]) -> [RowTouch] {
    var touches: Set<RowTouch> = []
    for lost in lost {
      let relationship = work.schema.relationships[lost.link.relationship]
      // A row whose links are hidden has nothing to lose.
      if lost.isSourceGone, relationship.inverse == nil { continue }
      let staying = lost.isSourceGone ? lost.link.target : lost.link.source
      if work.deletes[work.address(lost.entity, staying)] != nil { continue }
      var link = lost.link
      if isSymmetric(link), link.source > link.target {
        link = Link(relationship: link.relationship, source: link.target, target: link.source)
      }
      if toldRemovals.contains(link) { continue }
      touches.insert(RowTouch(entity: lost.entity, primaryKey: staying))
    }
    return touches.sorted { ($0.entity, $0.primaryKey) < ($1.entity, $1.primaryKey) }
  }

  /// The statements that put in the links that there will be.
  func additions(_ positions: PlacedPositions) -> [SQLStatement] {
    var ends: [Int: Ends] = [:]
    for (link, _) in added {
      let place = positions.links[link]
      ends[link.relationship, default: Ends()].sources.append(link.source)
      ends[link.relationship, default: Ends()].targets.append(link.target)
      ends[link.relationship, default: Ends()].positions.append(place?.position ?? 0)
      ends[link.relationship, default: Ends()].inversePositions.append(place?.inverse ?? 0)
      if isSymmetric(link), link.source != link.target {
        ends[link.relationship, default: Ends()].sources.append(link.target)
        ends[link.relationship, default: Ends()].targets.append(link.source)
        ends[link.relationship, default: Ends()].positions.append(place?.inverse ?? 0)
        ends[link.relationship, default: Ends()].inversePositions.append(0 as UInt64)
      }
    }
    return ends.sorted { $0.key < $1.key }.compactMap { number, ends in
      guard let join = work.mapping.joins[number] else { return nil }
      var statement = SQLStatement()
      var (columns, arrays) = (["src", "dst"], [ends.sources, ends.targets].map { statement.bind($0) })
      if join.hasPosition {
        columns.append("pos")
        arrays.append(statement.bind(ends.positions))
      }
      if join.hasInversePosition {
        columns.append("inverse_pos")
        arrays.append(statement.bind(ends.inversePositions))
      }
      let rows = SQLStatement.rows(of: arrays)
      let names = columns.joined(separator: ", ")
      let updates = columns.dropFirst(2).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
      let isPlain = updates.isEmpty
      statement +=
        "INSERT INTO \(join.name) (\(names)) SELECT \(columns.map { "n.\($0)" }.joined(separator: ", ")) FROM \(rows) AS n(\(names)) "
        + "ON CONFLICT (src, dst) DO \(isPlain ? "NOTHING" : "UPDATE SET \(updates)") RETURNING 1"
      statement.subject = subject(number)
      // Those that were there are not written again, unless they have positions.
      let pairs = SQLStatement.rows(of: Array(arrays.prefix(2)))
      return RowStatements.guarded(
        statement, count: ends.sources.count,
        unless: isPlain ? { "\($0) + (\(Self.count(pairs, join))) = \($1)" } : nil)
    }
  }
}
