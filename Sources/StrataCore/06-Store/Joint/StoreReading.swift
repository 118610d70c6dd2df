import Foundation

/// What can be read of a store: of its newest commit, or of the one a snapshot shows.
///
/// All methods may be called from any thread and concurrently.
package protocol StoreReading: Sendable {
  /// The rows that match, in order, windowed.
  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows

  /// Hands every row that matches the collector's request to it, in order where the request has one. There is a default.
  func collect(into collector: DictionaryCollector) throws

  /// How a request is executed here; with `isExecuting` it is executed, and the explanation has its cost. Nil when it is unknown: the
  /// default.
  func explain(_ request: ResolvedFetchRequest, mode: FetchMode, isExecuting: Bool) throws
    -> FetchExplanation.StorePart?

  /// The rows with the given keys, nil for those that do not exist, all from one state of the store.
  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?]

  /// The row with the given key, or nil.
  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow?

  /// Calls `take` with the entity and the values of the row with the given key. False when there is no such row. The default asks ``row(hierarchy:primaryKey:)``.
  func readRow(hierarchy: Int, primaryKey: UInt64, _ take: (_ entity: Int, _ row: RowSnapshot) -> Void) throws
    -> Bool

  /// The rows that have the values of a uniqueness constraint, nil for values that no row has, all from one state of the store. One
  /// ordered pass over the index. The default asks key by key.
  func rows(_ lookup: UniqueLookup) throws -> [FetchedRow?]

  /// The members of a to-many relationship of one owner: references, by primary key, or in order when it has one. Empty for
  /// an owner that does not exist, but for members that still refer to it because the rule is `noAction`. One range scan.
  func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64]

  /// The same for many owners, all from one state of the store.
  func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]]

  /// Up to `limit` members that stand behind `place`, from the first when it is nil: by primary key with position 0, or in order with
  /// their positions when the relationship is ordered. A look-up, and a scan of what is returned. The default reads all of them.
  func members(
    _ edges: EdgeSet, of owner: UInt64, isOrdered: Bool, behind place: PlacedMember?, limit: Int
  ) throws -> [PlacedMember]

  /// The position of `member` (a reference) in an ordered relationship; nil when it is none of the members. One look-up. The default reads
  /// all of them.
  func position(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> UInt64?

  /// How many members there are. One look-up.
  func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int

  /// Whether `member` (a reference) is one of them. One look-up.
  func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool

  /// The members of an ordered relationship with their positions, in order.
  func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember]

  /// The same for many owners. The default asks owner by owner; an engine that is far away answers from one state of the store.
  func placedMembers(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[PlacedMember]]

  /// The bytes of a large value whose row holds a reference of this version; nil when it was replaced since.
  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data?
}

extension StoreReading {
  package func readRow(
    hierarchy: Int, primaryKey: UInt64, _ take: (_ entity: Int, _ row: RowSnapshot) -> Void
  ) throws -> Bool {
    guard let row = try row(hierarchy: hierarchy, primaryKey: primaryKey), let snapshot = row.snapshot else {
      return false
    }
    take(row.entity, snapshot)
    return true
  }

  package func placedMembers(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[PlacedMember]] {
    try owners.map { try placedMembers(edges, of: $0) }
  }

  package func members(
    _ edges: EdgeSet, of owner: UInt64, isOrdered: Bool, behind place: PlacedMember?, limit: Int
  ) throws -> [PlacedMember] {
    let all =
      isOrdered
      ? try placedMembers(edges, of: owner)
      : try members(edges, of: owner).map { PlacedMember(position: 0, member: $0) }
    guard let place else { return Array(all.prefix(limit)) }
    let start = all.firstIndex { ($0.position, $0.member) > (place.position, place.member) } ?? all.endIndex
    return Array(all[start...].prefix(limit))
  }

  package func position(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> UInt64? {
    try placedMembers(edges, of: owner).first { $0.member == member }?.position
  }
}

/// What is read of a store that answers for one owner at a time: what else is asked of members follows from that.
package protocol OwnerwiseReading: StoreReading {}

extension OwnerwiseReading {
  package func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]] {
    try owners.map { try members(edges, of: $0) }
  }

  package func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int {
    try members(edges, of: owner).count
  }

  package func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool {
    try members(edges, of: owner).contains(member)
  }

  package func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember] {
    try members(edges, of: owner).enumerated().map { place, member in
      PlacedMember(position: EdgePosition.first + UInt64(place) * EdgePosition.gap, member: member)
    }
  }
}

/// One commit of a store, readable until it is released.
///
/// While it lives the store cannot use again the space of what has been replaced since: its file grows (rule 296).
package protocol StoreSnapshot: AnyObject, StoreReading {
  /// How long it has been held.
  var age: Duration { get }
  /// Releases the commit; later reads throw `StorageError` of kind `closed`. Calling it again does nothing.
  func release()
}
