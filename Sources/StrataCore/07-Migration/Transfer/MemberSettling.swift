import Foundation

/// A member of a to-many relationship that waits to be written.
struct WaitingMember {
  let line: Int
  /// Both ends as they were handed in.
  let owner: ObjectAddress
  let member: ObjectAddress
  /// The same with the keys that they get.
  let change: EdgeChange
}

/// Looks after members before they are written, when all rows handed in so far are: both ends must be there, and who belongs to an owner by its own row, because the inverse is
/// to-one, gets that reference unless it has it.
///
/// ```
///   members ─▶ both ends looked up, by ascending key ─▶ kept · repeated · displaced · missing · contradicted
///                                                         └─▶ rows that get a reference
/// ```
struct MemberSettling {
  /// What became of a member.
  enum Verdict {
    case kept
    /// It stands in the same step already, or in an earlier one: in an ordered relationship at the same place.
    case repeated
    /// It stands in the ordered relationship already, at another place.
    case displaced
    /// Of its ends this one is not there.
    case missing(ObjectAddress)
    /// Its own row leads to another owner: a reference.
    case contradicted(by: UInt64)
  }

  /// One verdict for each member.
  private(set) var verdicts: [Verdict] = []
  /// The rows that get references.
  private(set) var updates: [RowChange] = []

  private let schema: Schema
  private let members: [WaitingMember]

  private struct Identity: Hashable {
    let relationship: Int
    let owner: UInt64
    let member: UInt64
  }

  /// Of a row at an end of a member.
  private struct End {
    let entity: Int
    /// Those of to-one relationships that say who is a member.
    var references: [(relationship: Int, bits: UInt64)]
  }

  /// - Parameter earlier: What earlier steps have written, all of which is in the store.
  init(_ members: [WaitingMember], after earlier: ToldMembers, in store: LMDBStore) throws {
    self.members = members
    schema = store.parts.schema
    // `earlier` is not kept, or it would be copied when it grows.
    let settled = try store.read { reader, transaction -> ([Verdict], [RowChange]) in
      let ends = try lookUp(reader, transaction)
      let (judged, links) = judge(ends, reader.catalogue.entityCodes)
      var verdicts = judged
      for (place, member) in members.enumerated() {
        guard case .kept = verdicts[place],
          let told = try earlier.find(member.change, reader, transaction)
        else { continue }
        verdicts[place] = told.isElsewhere ? .displaced : .repeated
      }
      return (verdicts, try rows(with: links, store, reader, transaction))
    }
    (verdicts, updates) = settled
  }

  private func owner(_ member: WaitingMember) -> RowAddress {
    RowAddress(hierarchy: schema.entities[member.owner.entity].hierarchyNumber, key: member.change.owner)
  }

  private func target(_ member: WaitingMember) -> RowAddress {
    RowAddress(
      hierarchy: schema.entities[member.member.entity].hierarchyNumber,
      key: Reference.primaryKey(member.change.member))
  }

  /// The rows at both ends.
  private func lookUp(
    _ reader: RowReader, _ transaction: borrowing ReadTransaction
  ) throws -> [RowAddress: End] {
    let inverses = Set(
      members.lazy.map { schema.relationships[$0.change.relationship] }.filter { !$0.isEdgeStored }
        .compactMap(\.inverse))
    var wanted = Set<RowAddress>(minimumCapacity: members.count * 2)
    for member in members {
      wanted.insert(owner(member))
      wanted.insert(target(member))
    }
    var ends = [RowAddress: End](minimumCapacity: wanted.count)
    for (hierarchy, addresses) in Dictionary(grouping: wanted, by: \.hierarchy) {
      guard let keyspace = reader.parts.rows[hierarchy] else { continue }
      try transaction.withCursor(keyspace) { cursor in
        for address in addresses.sorted(by: { $0.key < $1.key }) {
          guard let found = try PrimaryKeyBytes.with(address.key, { try cursor.seek(exactly: $0) }) else {
            continue
          }
          let row = try reader.row(found.value, primaryKey: address.key)
          ends[address] = End(
            entity: row.entity,
            references: reader.catalogue.relationships.referenceSlots[row.entity].compactMap {
              inverses.contains($0.relationship)
                ? (relationship: $0.relationship, bits: RowBytes.reference(row.base, $0.entry)) : nil
            })
        }
      }
    }
    return ends
  }

  /// What becomes of each, and by row and slot the references that rows get.
  private func judge(_ ends: [RowAddress: End], _ codes: [UInt16]) -> (
    verdicts: [Verdict], links: [RowAddress: [Int: UInt64]]
  ) {
    var ends = ends
    var links: [RowAddress: [Int: UInt64]] = [:]
    var seen = [Identity: EdgeChange.Kind](minimumCapacity: members.count)
    let verdicts = members.map { member -> Verdict in
      if ends[owner(member)]?.entity != member.owner.entity { return .missing(member.owner) }
      let address = target(member)
      guard var end = ends[address], end.entity == member.member.entity else {
        return .missing(member.member)
      }
      let relationship = schema.relationships[member.change.relationship]
      if !relationship.isEdgeStored, let inverse = relationship.inverse,
        let place = end.references.firstIndex(where: { $0.relationship == inverse })
      {
        let reference = Reference.bits(member.change.owner, entityCode: codes[member.owner.entity])
        let own = end.references[place].bits
        if own == 0 {
          end.references[place].bits = reference
          ends[address] = end
          links[address, default: [:]][schema.relationships[inverse].slot] = reference
        } else if own != reference {
          return .contradicted(by: own)
        }
      }
      let identity = Identity(
        relationship: member.change.relationship, owner: member.change.owner, member: member.change.member)
      guard let first = seen[identity] else {
        seen[identity] = member.change.kind
        return .kept
      }
      return first == member.change.kind ? .repeated : .displaced
    }
    return (verdicts, links)
  }

  /// The rows with the references, of the same versions.
  private func rows(
    with links: [RowAddress: [Int: UInt64]], _ store: LMDBStore, _ reader: RowReader,
    _ transaction: borrowing ReadTransaction
  ) throws -> [RowChange] {
    var slab = RowSlabWriter()
    var updates: [RowChange] = []
    for (address, references) in links {
      guard let row = try reader.row(address.key, of: address.hierarchy, transaction),
        let snapshot = reader.fetchedRow(row, primaryKey: address.key).snapshot
      else { continue }
      let layout = schema.entities[row.entity].layout
      let draft = RowDraft.make(layout)
      for (slot, reference) in references { draft[slot] = .reference(reference) }
      let (changed, externals) = try RowEncoder.encode(
        layout: layout, stamp: store.rowStamp(entity: row.entity), primaryKey: address.key,
        version: snapshot.version, base: snapshot, draft: draft, into: &slab)
      updates.append(
        RowChange(
          entity: row.entity, primaryKey: address.key, baseVersion: snapshot.version, row: changed,
          externals: externals, changedSlots: draft.changed))
    }
    return updates
  }
}
