import Foundation

/// Reads edges. All of it is empty in a store that does not keep them.
extension RowReader {
  /// Where the edges of an owner begin; nil when the store keeps none of the kind.
  @inline(__always)
  func prefix(_ edges: EdgeSet, _ owner: UInt64) -> (keyspace: Keyspace, prefix: UInt64)? {
    let code = catalogue.relationships.code(edges)
    guard let keyspace = parts.edges, code != 0, owner < PrimaryKeyAllocator.limit else { return nil }
    return (keyspace, EdgeKey.prefix(code, owner))
  }

  func isOrdered(_ edges: EdgeSet) -> Bool {
    !edges.isHiddenInverse && parts.schema.relationships[edges.relationship].isOrdered
  }

  func members(
    _ edges: EdgeSet, of owner: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> [UInt64] {
    guard let (keyspace, prefix) = prefix(edges, owner) else { return [] }
    return try transaction.withCursor(keyspace) { try members(prefix, isOrdered: isOrdered(edges), &$0) }
  }

  /// The members of each owner, looked up in ascending order.
  func members(
    _ edges: EdgeSet, of owners: [UInt64], _ transaction: borrowing ReadTransaction
  ) throws -> [[UInt64]] {
    var result = [[UInt64]](repeating: [], count: owners.count)
    guard let keyspace = prefix(edges, 0)?.keyspace else { return result }
    let isSorted = zip(owners, owners.dropFirst()).allSatisfy { $0 <= $1 }
    let places = isSorted ? Array(owners.indices) : owners.indices.sorted { owners[$0] < owners[$1] }
    let isOrdered = isOrdered(edges)
    try transaction.withCursor(keyspace) { cursor in
      for place in places {
        guard let (_, prefix) = prefix(edges, owners[place]) else { continue }
        result[place] = try members(prefix, isOrdered: isOrdered, &cursor)
      }
    }
    return result
  }

  private func members(_ prefix: UInt64, isOrdered: Bool, _ cursor: inout Cursor) throws -> [UInt64] {
    if !isOrdered { return try packedMembers(prefix, &cursor) }
    var members: [UInt64] = []
    let start = prefix | EdgeKey.orderPrefix
    var entry = try EdgeKey.withCount(start) { try cursor.seek(atLeast: $0) }
    while let found = entry, found.key.count >= 8, EdgeKey.word(found.key, 0) == start {
      guard found.key.count == EdgeKey.orderLength else {
        throw parts.damaged("The edge \(found.key.hexadecimal) has a key of another length.")
      }
      members.append(EdgeKey.word(found.key, 2))
      entry = try cursor.next()
    }
    return members
  }

  private func packedMembers(_ prefix: UInt64, _ cursor: inout Cursor) throws -> [UInt64] {
    guard let head = try EdgeKey.withCount(prefix, { try cursor.seek(exactly: $0) }) else { return [] }
    var (members, count): ([UInt64], Int) = ([], 0)
    guard var packed = PackedMembers(head: head.value, count: &count) else {
      throw parts.damaged(membersOf: prefix)
    }
    // A number that is damaged reserves no more than this.
    members.reserveCapacity(min(count, 65_536))
    while true {
      while let member = packed.next() { members.append(member) }
      if packed.isDamaged { throw parts.damaged(membersOf: prefix) }
      if members.count >= count { break }
      guard let chunk = try cursor.next(), chunk.key.count == EdgeKey.edgeLength,
        EdgeKey.word(chunk.key, 0) == prefix
      else { break }
      packed = PackedMembers(chunk: chunk.value)
    }
    if members.count != count { throw parts.damaged(membersOf: prefix) }
    return members
  }

  func memberCount(
    _ edges: EdgeSet, of owner: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> Int {
    guard let (keyspace, prefix) = prefix(edges, owner),
      let value = try EdgeKey.withCount(prefix, { try transaction.get(keyspace, $0) })
    else { return 0 }
    if isOrdered(edges) {
      if let count = EdgeKey.number(value).flatMap({ Int(exactly: $0) }) { return count }
    } else {
      var count = 0
      if PackedMembers(head: value, count: &count) != nil { return count }
    }
    throw parts.damaged("The number of members of p\(owner) is damaged.")
  }

  func hasMember(
    _ edges: EdgeSet, of owner: UInt64, _ member: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> Bool {
    guard let (keyspace, prefix) = prefix(edges, owner) else { return false }
    if isOrdered(edges) {
      return try EdgeKey.withEdge(prefix, member) { try transaction.get(keyspace, $0) } != nil
    }
    return try transaction.withCursor(keyspace) { cursor in
      guard let place = try PackedPlace.find(member, prefix, &cursor) else { return false }
      guard var packed = place.members() else { throw parts.damaged(membersOf: prefix) }
      let isThere = packed.contains(member)
      if packed.isDamaged { throw parts.damaged(membersOf: prefix) }
      return isThere
    }
  }

  func placedMembers(
    _ edges: EdgeSet, of owner: UInt64, _ transaction: borrowing ReadTransaction
  ) throws -> [PlacedMember] {
    guard isOrdered(edges), let (keyspace, prefix) = prefix(edges, owner) else { return [] }
    let start = prefix | EdgeKey.orderPrefix
    var members: [PlacedMember] = []
    try transaction.withCursor(keyspace) { cursor in
      var entry = try EdgeKey.withCount(start) { try cursor.seek(atLeast: $0) }
      while let found = entry, found.key.count >= 8, EdgeKey.word(found.key, 0) == start {
        guard found.key.count == EdgeKey.orderLength else {
          throw parts.damaged("The order of the members of p\(owner) is damaged.")
        }
        members.append(
          PlacedMember(position: EdgeKey.word(found.key, 1), member: EdgeKey.word(found.key, 2)))
        entry = try cursor.next()
      }
    }
    return members
  }
}

extension LMDBReading {
  /// See ``StoreReading``. Throws ``StorageError``.
  public func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] {
    try source.read { try $0.members(edges, of: owner, $1) }
  }

  /// See ``StoreReading``. Throws ``StorageError``.
  public func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]] {
    try source.read { try $0.members(edges, of: owners, $1) }
  }

  /// See ``StoreReading``. Throws ``StorageError``.
  public func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int {
    try source.read { try $0.memberCount(edges, of: owner, $1) }
  }

  /// See ``StoreReading``. Throws ``StorageError``.
  public func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool {
    try source.read { try $0.hasMember(edges, of: owner, member, $1) }
  }

  /// See ``StoreReading``. Throws ``StorageError``.
  public func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember] {
    try source.read { try $0.placedMembers(edges, of: owner, $1) }
  }
}
