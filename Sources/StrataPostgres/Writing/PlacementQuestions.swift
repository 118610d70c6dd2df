import StrataCore

/// The positions that a change set gives to members of ordered relationships.
struct PlacedPositions {
  /// Of links: among the members of the row under `src`, and among those of the row under `dst`.
  var links: [Link: (position: UInt64, inverse: UInt64)] = [:]
  /// Of rows that refer to their owner, by the number of the to-one relationship.
  var rows: [Int: [(key: UInt64, position: UInt64)]] = [:]

  /// The statements that write positions into rows.
  func rowStatements(_ mapping: StoreMapping) -> [SQLStatement] {
    rows.sorted { $0.key < $1.key }.compactMap { number, places in
      guard let (table, column) = try? mapping.reference(mapping.schema.relationships[number]),
        let position = column.positionColumn, !places.isEmpty
      else { return nil }
      var (keys, positions) = (SQLArray(.int8), SQLArray(.int8))
      for place in places {
        keys.append(place.key)
        positions.append(place.position)
      }
      var statement = SQLStatement()
      let rows = SQLStatement.rows(of: [keys, positions].map { statement.bind($0) })
      statement +=
        "UPDATE \(table.name) t SET \(position) = n.p FROM \(rows) AS n(k, p) WHERE t.pk = n.k RETURNING 1"
      let owner = mapping.schema.entities[mapping.schema.relationships[number].owner]
      statement.subject = SQLStatement.Subject(entity: owner.name)
      return RowStatements.guarded(statement, count: places.count) { written, _ in
        "\(written) = (SELECT pg_catalog.count(DISTINCT t.pk) FROM \(rows) AS n(k, p) JOIN \(table.name) t ON t.pk = n.k)"
      }
    }
  }
}

/// Where members of ordered relationships stand now, and where they will.
struct PlacementQuestions {
  /// The members of one relationship of one owner.
  private struct OwnerKey: Hashable {
    /// The to-one relationship, or the one whose owners are under `src`.
    let relationship: Int
    let owner: UInt64
    /// Of links: whether it is the row under `dst` that has the members.
    var isInverse = false
  }

  private let work: ChangeSetWork
  /// By to-one relationship.
  private var rowEntries: [OwnerKey: [Placement.Entry]] = [:]
  private var linkEntries: [OwnerKey: [Placement.Entry]] = [:]
  private var added: [Link] = []
  /// The relationships that are asked about, in the order of the statements.
  private let rowRelationships: [Int]
  private let linkRelationships: [Int]

  init(_ work: ChangeSetWork, _ links: LinkChanges) {
    self.work = work
    var rows: [OwnerKey: [UInt64: Placement.Entry]] = [:]
    var sequence = 0
    // What follows from rows comes first.
    for change in work.referenceChanges where change.new != 0 {
      guard let inverse = change.relationship.inverse, work.schema.relationships[inverse].isOrdered else {
        continue
      }
      let owner = OwnerKey(
        relationship: change.relationship.number, owner: StoreReference.primaryKey(change.new))
      rows[owner, default: [:]][change.key] = Placement.Entry(
        member: change.key, kind: .append, sequence: sequence, old: nil)
      sequence += 1
    }
    for move in links.moves {
      guard let toOne = move.relationship.inverse else { continue }
      let owner = OwnerKey(relationship: toOne, owner: move.owner)
      if var entry = rows[owner]?[move.member] {
        // A member that the change set brings is there by now: it goes where it is told.
        if case .append = entry.kind {
          entry.kind = .add(move.position)
        } else {
          entry.kind = entry.kind.followed(by: .move(move.position))
        }
        rows[owner]?[move.member] = entry
      } else {
        rows[owner, default: [:]][move.member] = Placement.Entry(
          member: move.member, kind: .move(move.position), sequence: sequence, old: nil)
      }
      sequence += 1
    }
    for (owner, entries) in rows { rowEntries[owner] = entries.values.sorted { $0.member < $1.member } }
    for (link, told) in links.added {
      guard let join = work.mapping.joins[link.relationship], join.hasPosition || join.hasInversePosition
      else {
        continue
      }
      added.append(link)
      if join.hasPosition {
        let owner = OwnerKey(relationship: link.relationship, owner: link.source)
        linkEntries[owner, default: []].append(
          Placement.Entry(member: link.target, kind: told.leftKind, sequence: told.sequence, old: nil))
      }
      if join.isSymmetric ? join.hasPosition && link.source != link.target : join.hasInversePosition {
        let owner = OwnerKey(relationship: link.relationship, owner: link.target, isInverse: true)
        linkEntries[owner, default: []].append(
          Placement.Entry(member: link.source, kind: told.rightKind, sequence: told.sequence, old: nil))
      }
    }
    for owner in linkEntries.keys { linkEntries[owner]?.sort { $0.member < $1.member } }
    rowRelationships = Set(rowEntries.keys.map(\.relationship)).sorted()
    linkRelationships = Set(linkEntries.keys.map(\.relationship)).sorted()
  }

  /// For each to-one relationship where its rows stand, and the last position of each owner; for each table of links likewise, in both directions.
  func statements() throws -> [SQLStatement] {
    var statements: [SQLStatement] = []
    for number in rowRelationships {
      let (table, column) = try work.mapping.reference(work.schema.relationships[number])
      guard let position = column.positionColumn else { throw SQLResult.damaged }
      let owners = rowEntries.keys.filter { $0.relationship == number }
      let members = Set(owners.flatMap { rowEntries[$0]?.map(\.member) ?? [] }).sorted()
      var places = SQLStatement(
        "SELECT t.pk, t.\(column.name), t.\(position) FROM \(table.name) t WHERE ")
      places.add("t.pk", isAnyOf: members)
      places += " AND t.\(column.name) IS NOT NULL"
      statements.append(places)
      var last = SQLStatement(
        "SELECT t.\(column.name), pg_catalog.max(t.\(position)) FROM \(table.name) t WHERE ")
      last.add("t.\(column.name)", isAnyOf: owners.map(\.owner).sorted())
      last += " GROUP BY t.\(column.name)"
      statements.append(last)
    }
    for number in linkRelationships {
      guard let join = work.mapping.joins[number] else { throw SQLResult.damaged }
      var (sources, targets) = (SQLArray(.int8), SQLArray(.int8))
      for link in added where link.relationship == number {
        sources.append(link.source)
        targets.append(link.target)
        if join.isSymmetric {
          sources.append(link.target)
          targets.append(link.source)
        }
      }
      let position = join.hasPosition ? "l.pos" : "0::bigint"
      let inverse = join.hasInversePosition ? "l.inverse_pos" : "0::bigint"
      var places = SQLStatement()
      let rows = SQLStatement.rows(of: [sources, targets].map { places.bind($0) })
      places +=
        "SELECT l.src, l.dst, \(position), \(inverse) FROM \(rows) AS n(s, d) JOIN \(join.name) l ON l.src = n.s AND l.dst = n.d"
      statements.append(places)
      let owners = linkEntries.keys.filter { $0.relationship == number }
      for isInverse in [false, true] {
        // Of a symmetric relationship both ends are owners under `src`.
        let isTarget = isInverse && !join.isSymmetric
        let (column, place) = isTarget ? ("dst", inverse) : ("src", position)
        var last = SQLStatement(
          "SELECT l.\(column), pg_catalog.max(\(place)) FROM \(join.name) l WHERE ")
        last.add("l.\(column)", isAnyOf: owners.filter { $0.isInverse == isInverse }.map(\.owner).sorted())
        last += " GROUP BY l.\(column)"
        statements.append(last)
      }
    }
    return statements
  }

  private func lasts(_ answer: SQLResult) throws -> [UInt64: UInt64] {
    var lasts: [UInt64: UInt64] = [:]
    for number in 0..<answer.rowCount {
      if let last = answer[number, 1]?.integer(UInt64.self) { lasts[try answer.key(number, 0)] = last }
    }
    return lasts
  }

  /// The positions that come out.
  func positions(_ answers: [SQLResult]) throws -> PlacedPositions {
    var placed = PlacedPositions()
    var answers = answers[...]
    for number in rowRelationships {
      guard let places = answers.popFirst(), let last = try answers.popFirst().map(lasts) else {
        throw SQLResult.damaged
      }
      let hierarchy = work.schema.entities[work.schema.relationships[number].owner].hierarchyNumber
      // Members that leave their owner, or go, do not stand there any more.
      let leaving = Set(work.referenceChanges.lazy.filter { $0.relationship.number == number }.map(\.key))
      var stands: [UInt64: (owner: UInt64, position: UInt64)] = [:]
      for row in 0..<places.rowCount {
        let key = try places.key(row, 0)
        guard let position = places[row, 2]?.integer(UInt64.self) else { continue }
        if leaving.contains(key) || work.deletes[RowAddress(hierarchy: hierarchy, key: key)] != nil {
          continue
        }
        stands[key] = (try places.key(row, 1), position)
      }
      for (owner, entries) in rowEntries where owner.relationship == number {
        let entries = entries.map { entry in
          var entry = entry
          if let stand = stands[entry.member], stand.owner == owner.owner { entry.old = stand.position }
          return entry
        }
        for (member, position) in Placement.place(entries, last: last[owner.owner]) {
          placed.rows[number, default: []].append((member, position))
        }
      }
    }
    for number in linkRelationships {
      guard let places = answers.popFirst(), let last = try answers.popFirst().map(lasts),
        let lastInverse = try answers.popFirst().map(lasts), let join = work.mapping.joins[number]
      else { throw SQLResult.damaged }
      try place(join, places, last, lastInverse, &placed)
    }
    return placed
  }

  private func place(
    _ join: JoinMapping, _ places: SQLResult, _ last: [UInt64: UInt64], _ lastInverse: [UInt64: UInt64],
    _ placed: inout PlacedPositions
  ) throws {
    var stands: [Link: (position: UInt64, inverse: UInt64)] = [:]
    for row in 0..<places.rowCount {
      guard let position = places[row, 2]?.integer(UInt64.self),
        let inverse = places[row, 3]?.integer(UInt64.self)
      else { throw SQLResult.damaged }
      let link = Link(
        relationship: join.relationship, source: try places.key(row, 0), target: try places.key(row, 1))
      stands[link] = (position, inverse)
    }
    func flipped(_ link: Link) -> Link {
      Link(relationship: link.relationship, source: link.target, target: link.source)
    }
    for link in added where link.relationship == join.relationship {
      var stand = stands[link] ?? (0, 0)
      if join.isSymmetric { stand.inverse = stands[flipped(link)]?.position ?? 0 }
      placed.links[link] = stand
    }
    for (owner, entries) in linkEntries where owner.relationship == join.relationship {
      func link(_ member: UInt64) -> Link {
        let link = Link(relationship: join.relationship, source: owner.owner, target: member)
        return owner.isInverse ? flipped(link) : link
      }
      let entries = entries.map { entry in
        var entry = entry
        if join.isSymmetric {
          let directed = Link(relationship: join.relationship, source: owner.owner, target: entry.member)
          entry.old = stands[directed]?.position
        } else {
          entry.old = stands[link(entry.member)].map { owner.isInverse ? $0.inverse : $0.position }
        }
        return entry
      }
      for (member, position) in Placement.place(
        entries, last: (owner.isInverse ? lastInverse : last)[owner.owner])
      {
        if owner.isInverse {
          placed.links[link(member)]?.inverse = position
        } else {
          placed.links[link(member)]?.position = position
        }
      }
    }
  }
}
