import Foundation

/// Reads a few of an owner's edges: the page of a list, the place of one member.
extension RowReader {
  func members(
    _ edges: EdgeSet, of owner: UInt64, behind place: PlacedMember?, limit: Int,
    _ transaction: borrowing ReadTransaction
  ) throws -> [PlacedMember] {
    guard limit > 0, let (keyspace, prefix) = prefix(edges, owner) else { return [] }
    return try transaction.withCursor(keyspace) { cursor in
      isOrdered(edges)
        ? try placedPage(prefix, behind: place, limit, &cursor)
        : try packedPage(prefix, behind: place?.member, limit, &cursor)
    }
  }

  private func placedPage(
    _ prefix: UInt64, behind place: PlacedMember?, _ limit: Int, _ cursor: inout Cursor
  ) throws -> [PlacedMember] {
    let start = prefix | EdgeKey.orderPrefix
    var members: [PlacedMember] = []
    var entry =
      if let place {
        try EdgeKey.withOrder(prefix, place.position, place.member) { try cursor.seek(atLeast: $0) }
      } else {
        try EdgeKey.withCount(start) { try cursor.seek(atLeast: $0) }
      }
    while members.count < limit, let found = entry, found.key.count >= 8,
      EdgeKey.word(found.key, 0) == start
    {
      guard found.key.count == EdgeKey.orderLength else { throw parts.damaged(membersOf: prefix) }
      let member = PlacedMember(position: EdgeKey.word(found.key, 1), member: EdgeKey.word(found.key, 2))
      // The one behind which the page begins may be gone.
      if member.position != place?.position || member.member != place?.member { members.append(member) }
      entry = try cursor.next()
    }
    return members
  }

  private func packedPage(
    _ prefix: UInt64, behind member: UInt64?, _ limit: Int, _ cursor: inout Cursor
  ) throws -> [PlacedMember] {
    var members: [PlacedMember] = []
    guard member != .max else { return [] }
    var first = member.map { $0 + 1 } ?? 0
    while members.count < limit, let place = try PackedPlace.find(first, prefix, &cursor) {
      guard var packed = place.members() else { throw parts.damaged(membersOf: prefix) }
      while members.count < limit, let found = packed.next() {
        if found >= first { members.append(PlacedMember(position: 0, member: found)) }
      }
      if packed.isDamaged { throw parts.damaged(membersOf: prefix) }
      if place.end == .max { break }
      first = place.end
    }
    return members
  }

  func position(
    _ edges: EdgeSet, of owner: UInt64, _ member: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> UInt64? {
    guard isOrdered(edges), let (keyspace, prefix) = prefix(edges, owner),
      let value = try EdgeKey.withEdge(prefix, member, { try transaction.get(keyspace, $0) })
    else { return nil }
    guard let position = EdgeKey.number(value) else { throw parts.damaged(membersOf: prefix) }
    return position
  }
}

extension LMDBReading {
  /// See ``StoreReading``. Throws ``StorageError``.
  public func members(
    _ edges: EdgeSet, of owner: UInt64, isOrdered: Bool, behind place: PlacedMember?, limit: Int
  ) throws -> [PlacedMember] {
    try source.read { try $0.members(edges, of: owner, behind: place, limit: limit, $1) }
  }

  /// See ``StoreReading``. Throws ``StorageError``.
  public func position(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> UInt64? {
    try source.read { try $0.position(edges, of: owner, member, $1) }
  }
}
