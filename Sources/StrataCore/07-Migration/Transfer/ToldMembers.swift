/// Which members of to-many relationships earlier steps of an intake have written, so that one that comes again counts once.
///
/// ```
///   inverse to-one     a member has one owner: a bit for each key
///   other              the largest owner so far; up to that one the store is asked
/// ```
///
/// Dumps name owners in the order of their keys, so that the store is hardly asked. Of some relationships a dump tells each link from both ends, and the store does not
/// know which ends have been told: those of an entity with itself that are their own inverse, and those with an order at both ends. There a member counts once in each step.
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

  /// Whether an earlier step has the member. `reader` and `transaction` show what was written.
  /// - Throws: `StorageError`.
  func has(
    _ change: EdgeChange, _ reader: RowReader, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    let relationship = reader.parts.schema.relationships[change.relationship]
    if relationship.isInverseToOne {
      let (word, bit) = Self.place(change)
      return (bits[change.relationship]?[word] ?? 0) & bit != 0
    }
    guard let largest = largestOwner[change.relationship], change.owner <= largest,
      !Self.isToldFromBothEnds(relationship, reader.parts.schema)
    else { return false }
    return try reader.hasMember(
      EdgeSet(relationship: change.relationship), of: change.owner, change.member, transaction)
  }

  private static func isToldFromBothEnds(_ relationship: RelationshipSchema, _ schema: Schema) -> Bool {
    guard let inverse = relationship.inverse else { return false }
    return inverse == relationship.number || relationship.isOrdered && schema.relationships[inverse].isOrdered
  }

  private static func place(_ change: EdgeChange) -> (word: UInt64, bit: UInt64) {
    let key = Reference.primaryKey(change.member)
    return (key >> 6, 1 << (key & 63))
  }
}
