import Foundation

// A link of two records is told at both of its ends. One end's part may be missing: a merge policy has given up what was done to that
// record, or a parent has dropped a child's change of it. Half a link must never reach the file.

extension EdgeCollection {
  /// What the change set says of edges, with what is missing at the other ends.
  ///
  /// Usually nothing is: the fingerprints of both ends cancel each other out, and no table is made.
  func edgesToldFromBothEnds(_ transaction: borrowing ReadTransaction) throws -> [EdgeChange] {
    let edges = writer.changeSet.edges
    var sum: UInt64 = 0
    for edge in edges {
      guard let end = LinkEnd(edge, parts.schema.relationships) else { continue }
      // Ends cancel each other out. What one end says twice must not: hence a difference, and no exclusive or.
      let fingerprint = end.link.fingerprint(edge.isRemoval)
      sum = end.isLeft ? sum &+ fingerprint : sum &- fingerprint
    }
    return sum == 0 ? edges : edges + (try missingEnds(edges, transaction))
  }

  private func missingEnds(
    _ edges: [EdgeChange], _ transaction: borrowing ReadTransaction
  ) throws -> [EdgeChange] {
    let relationships = parts.schema.relationships
    var told: [Link: ToldEnds] = [:]
    for edge in edges {
      guard let end = LinkEnd(edge, relationships) else { continue }
      told[end.link, default: ToldEnds()].note(edge, isLeft: end.isLeft)
    }
    var missing: [EdgeChange] = []
    // In the order in which they were told: the same change set always gives the same edges.
    for edge in edges {
      guard let end = LinkEnd(edge, relationships), let ends = told.removeValue(forKey: end.link),
        let known = ends.left ?? ends.right, let change = ends.change,
        let inverse = relationships[known.relationship].inverse
      else { continue }
      if change.isRemoval,
        let other = [ends.left, ends.right].first(where: { $0?.isRemoval == false }) ?? nil
      {
        missing.append(
          EdgeChange(
            relationship: other.relationship, owner: other.owner, member: other.member, kind: .remove))
      } else if ends.left == nil || ends.right == nil,
        let owner = try reference(to: known.owner, relationships[known.relationship].owner, transaction),
        try reference(
          to: Reference.primaryKey(known.member), relationships[inverse].owner, transaction) != nil
      {
        missing.append(
          EdgeChange(
            relationship: inverse, owner: Reference.primaryKey(known.member), member: owner,
            kind: change.isRemoval ? .remove : .add(position: nil)))
      }
    }
    return missing
  }

  /// The reference to a row as it will be after the change set; nil when there will be none.
  private func reference(
    to key: UInt64, _ entity: Int, _ transaction: borrowing ReadTransaction
  ) throws -> UInt64? {
    let hierarchy = parts.schema.entities[entity].hierarchyNumber
    guard parts.rows[hierarchy] != nil else { return nil }
    var rows = RowFinder(self, hierarchy)
    return try rows.withCursor(writer, transaction) { try $0.find(key, &$1) }
  }
}

extension EdgeChange {
  fileprivate var isRemoval: Bool { kind == .remove }
}

/// Two records that a relationship with an inverse links, whichever end is told.
struct Link: Hashable {
  /// The smaller number of both directions.
  let relationship: Int
  let left: UInt64
  let right: UInt64

  /// The link of `owner` and `member` by a relationship, told from `owner`.
  init(_ relationship: Int, inverse: Int, _ owner: UInt64, _ member: UInt64) {
    let isLeft = relationship == inverse ? owner < member : relationship < inverse
    self.relationship = min(relationship, inverse)
    left = isLeft ? owner : member
    right = isLeft ? member : owner
  }

  /// The same for both ends, different for what is done.
  func fingerprint(_ isRemoval: Bool) -> UInt64 {
    var mixed: UInt64 = 0x9E37_79B9_7F4A_7C15
    for part in [UInt64(bitPattern: Int64(relationship)) << 1 | (isRemoval ? 1 : 0), left, right] {
      mixed = (mixed ^ part) &* 0xBF58_476D_1CE4_E5B9
      mixed ^= mixed >> 29
      mixed = mixed &* 0x94D0_49BB_1331_11EB
      mixed ^= mixed >> 32
    }
    return mixed
  }
}

/// One end of a link.
private struct LinkEnd {
  let link: Link
  let isLeft: Bool

  /// Nil for edges that have no other end, or none that is told, and for an object linked with itself.
  @inline(__always)
  init?(_ edge: EdgeChange, _ relationships: [RelationshipSchema]) {
    guard relationships.indices.contains(edge.relationship) else { return nil }
    let relationship = relationships[edge.relationship]
    guard relationship.isEdgeStored, let inverse = relationship.inverse else { return nil }
    let member = Reference.primaryKey(edge.member)
    if inverse == edge.relationship {
      if member == edge.owner { return nil }
      isLeft = edge.owner < member
    } else {
      isLeft = edge.relationship < inverse
    }
    link = Link(edge.relationship, inverse: inverse, edge.owner, member)
  }
}

/// What is told last at each end.
private struct ToldEnds {
  var left: EdgeChange?
  var right: EdgeChange?

  mutating func note(_ edge: EdgeChange, isLeft: Bool) {
    if isLeft { left = edge } else { right = edge }
  }

  /// What happens to the link: a removal at one end is a removal.
  var change: EdgeChange? {
    if let left, left.isRemoval { return left }
    if let right, right.isRemoval { return right }
    return left ?? right
  }
}
