/// Which members of to-many relationships earlier steps of an intake have written, so that one that comes again counts once, and does not move to another place.
///
/// ```
///   inverse to-one     a member has one owner: a bit for each key
///   other              the largest owner so far; up to that one the store is asked
/// ```
///
/// Dumps name owners in the order of their keys, so that the store is hardly asked. Of some relationships a dump tells each link from both ends, and the store does not
/// know which ends have been told: those of an entity with itself that are their own inverse, and those with an order at both ends, from the second end on. There a member counts
/// once in each step. Nor does it know who has placed a member of an ordered relationship once the other end has been told: then the last place counts.
struct ToldMembers {
  /// By the number of the relationship, bits of keys, 64 together.
  private var bits: [Int: [UInt64: UInt64]] = [:]
  private var largestOwner: [Int: UInt64] = [:]

  /// Takes in members that are being written.
  mutating func note(_ members: [WaitingMember], _ schema: Schema) {
    for member in members {
      let change = member.change
      if schema.relationships[change.relationship].isInverseToOne {
        let (word, bit) = Self.place(change)
        bits[change.relationship, default: [:]][word, default: 0] |= bit
      } else {
        largestOwner[change.relationship] = max(largestOwner[change.relationship] ?? 0, change.owner)
      }
    }
  }

  /// How an earlier step has a member.
  struct Found {
    /// Whether it is at another place of an ordered relationship.
    let isElsewhere: Bool
  }

  /// How an earlier step has the member; nil when none has. `reader` and `transaction` show what was written.
  /// - Throws: `StorageError`.
  func find(
    _ change: EdgeChange, _ reader: RowReader, _ transaction: borrowing ReadTransaction
  ) throws -> Found? {
    let relationship = reader.parts.schema.relationships[change.relationship]
    let edges = EdgeSet(relationship: change.relationship)
    if relationship.isInverseToOne {
      let (word, bit) = Self.place(change)
      if (bits[change.relationship]?[word] ?? 0) & bit == 0 { return nil }
      if !relationship.isOrdered { return Found(isElsewhere: false) }
    } else {
      guard let largest = largestOwner[change.relationship], change.owner <= largest else { return nil }
      // An order that follows from what was told of the other end is none yet.
      let isOtherEndTold = relationship.inverse.map { largestOwner[$0] != nil } ?? false
      if isOtherEndTold, relationship.isOrdered || relationship.inverse == relationship.number { return nil }
    }
    guard case .add(let position?) = change.kind else {
      let isThere = try reader.hasMember(edges, of: change.owner, change.member, transaction)
      return isThere ? Found(isElsewhere: false) : nil
    }
    let own = try reader.position(edges, of: change.owner, change.member, transaction)
    return own.map { Found(isElsewhere: $0 != position) }
  }

  private static func place(_ change: EdgeChange) -> (word: UInt64, bit: UInt64) {
    let key = Reference.primaryKey(change.member)
    return (key >> 6, 1 << (key & 63))
  }
}
