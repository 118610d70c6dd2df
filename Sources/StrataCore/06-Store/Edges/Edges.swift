/// The edges of one relationship in one direction: from an owner to its members.
package struct EdgeSet: Sendable, Hashable {
  /// The relationship's number in the schema.
  package let relationship: Int
  /// Whether these are the edges that lead back from the destinations of a relationship without an inverse.
  package let isHiddenInverse: Bool

  package init(relationship: Int, isHiddenInverse: Bool = false) {
    self.relationship = relationship
    self.isHiddenInverse = isHiddenInverse
  }
}

/// A member of an ordered relationship and where it stands.
package struct PlacedMember: Sendable, Hashable {
  /// Members stand in ascending order of positions, those at the same position in order of their references.
  package let position: UInt64
  /// The member, see `Reference`.
  package let member: UInt64

  package init(position: UInt64, member: UInt64) {
    self.position = position
    self.member = member
  }
}

/// How positions of ordered relationships are given out.
package enum EdgePosition {
  /// The position of the first member of an empty relationship.
  package static let first: UInt64 = 1 << 62
  /// How far behind the last member one stands that is appended: room for many to come in between.
  package static let gap: UInt64 = 1 << 32
  /// From here on positions are provisional: they say in which order members are appended. The store gives such members
  /// positions of its own, behind the last one.
  package static let firstProvisional: UInt64 = 1 << 63
}

/// What happens to one edge.
///
/// Of relationships whose members follow from rows (those with a to-one inverse) only the placement of ordered members is
/// told; whatever else is said of them has no effect. Of the others both directions are told where there is an inverse; where
/// one is missing it follows, and where they disagree the edge goes. Hidden edges follow by themselves. Of two changes of one edge
/// the last counts. Nothing can be said of to-one relationships.
package struct EdgeChange: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// The member belongs to the relationship. A position places it among ordered ones; without one it comes last, or stays
    /// where it is.
    case add(position: UInt64?)
    case remove
  }

  /// The relationship's number in the schema.
  package let relationship: Int
  /// The primary key of the object that has the relationship.
  package let owner: UInt64
  /// The member, see `Reference`.
  package let member: UInt64
  package let kind: Kind

  package init(relationship: Int, owner: UInt64, member: UInt64, kind: Kind) {
    self.relationship = relationship
    self.owner = owner
    self.member = member
    self.kind = kind
  }
}

/// A change set would leave references to rows that do not exist, or one-to-one references at one end only: nothing of it was
/// written (rule 221).
package struct DanglingReferences: Error, Sendable, CustomStringConvertible {
  /// One reference that would lead nowhere.
  package struct Reference: Sendable, Hashable {
    /// The relationship's number in the schema; for a to-many that of the direction given.
    package let relationship: Int
    /// The primary key of the object that refers, or is to be referred from, in the hierarchy of the relationship's owner.
    package let source: UInt64
    /// The primary key of the row that is not there, in the hierarchy of the destination.
    package let target: UInt64
    /// Whether the change set deletes the row and does not know of the reference; otherwise the change set makes the
    /// reference, and the row has been deleted by another context.
    package let isLeftBehind: Bool
    /// Whether it is the source that is not there: the owner of a to-many relationship without an inverse. Everything else
    /// is told from the other side.
    package let isSourceMissing: Bool
    /// Whether both rows are there, but the target would not refer back: the relationship is one-to-one, and only one end was
    /// changed.
    package let isOneSided: Bool

    package init(
      relationship: Int, source: UInt64, target: UInt64, isLeftBehind: Bool, isSourceMissing: Bool = false,
      isOneSided: Bool = false
    ) {
      self.relationship = relationship
      self.source = source
      self.target = target
      self.isLeftBehind = isLeftBehind
      self.isSourceMissing = isSourceMissing
      self.isOneSided = isOneSided
    }
  }

  package let references: [Reference]

  package init(references: [Reference]) { self.references = references }

  package var description: String {
    "\(references.count) reference\(references.count == 1 ? "" : "s") would lead to objects that do not exist or do not refer back."
  }
}
