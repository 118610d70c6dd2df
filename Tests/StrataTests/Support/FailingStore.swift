import Foundation
import Strata
import struct StrataCore.Mutex

/// What a `FailingStore` cannot read at the moment.
final class ReadFaults: Sendable {
  enum Kind: Hashable, CaseIterable, Sendable { case rows, members, values, fetches }

  private struct State {
    var kinds: Set<Kind> = []
    var keys: Set<UInt64>?
    var count = 0
  }

  private let state = Mutex(State())

  /// From now on reads of these kinds fail; with `ids` only those of rows with these keys, and of what belongs to them.
  func fail(_ kinds: Kind..., of ids: [ManagedObjectID]? = nil) {
    state.withLock {
      $0.kinds = Set(kinds.isEmpty ? Kind.allCases : kinds)
      $0.keys = ids.map { Set($0.map(\.key)) }
    }
  }

  /// Everything can be read again.
  func mend() { state.withLock { $0.kinds = [] } }

  /// How many reads have failed.
  var count: Int { state.withLock { $0.count } }

  fileprivate func check(_ kind: Kind, _ keys: [UInt64] = []) throws {
    let fails = state.withLock { state in
      guard state.kinds.contains(kind), state.keys.map({ !$0.isDisjoint(with: keys) }) ?? true else {
        return false
      }
      state.count += 1
      return true
    }
    if fails { throw Self.error }
  }

  /// What failing reads throw.
  static let error = StorageError(
    .io, code: EIO, operation: "test", path: "", detail: "The medium could not be read.")
}

extension ManagedObjectID {
  /// The primary key, as the URI has it.
  fileprivate var key: UInt64 { UInt64(uriRepresentation().lastPathComponent.dropFirst()) ?? 0 }
}

/// An engine below the coordinator that hands everything on, but for reads that are to fail.
final class FailingStore: StoreEngine {
  private let engine: LMDBStore
  private let faults: ReadFaults

  init(_ engine: LMDBStore, _ faults: ReadFaults) {
    self.engine = engine
    self.faults = faults
  }

  var identifier: UUID { engine.identifier }
  var url: URL? { engine.url }
  var storeType: String { engine.storeType }
  var configurationName: String? { engine.configurationName }
  var isReadOnly: Bool { engine.isReadOnly }
  var metadata: StoreMetadata { engine.metadata }
  func makePrimaryKey(hierarchy: Int) throws -> UInt64 { try engine.makePrimaryKey(hierarchy: hierarchy) }
  func rowStamp(entity: Int) -> RowStamp { engine.rowStamp(entity: entity) }
  func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    try faults.check(.fetches)
    return try engine.fetch(request, mode: mode)
  }
  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] {
    try faults.check(.rows, primaryKeys)
    return try engine.rows(hierarchy: hierarchy, primaryKeys: primaryKeys)
  }
  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    try faults.check(.rows, [primaryKey])
    return try engine.row(hierarchy: hierarchy, primaryKey: primaryKey)
  }
  func rows(_ lookup: UniqueLookup) throws -> [FetchedRow?] {
    try faults.check(.fetches)
    return try engine.rows(lookup)
  }
  func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] {
    try faults.check(.members, [owner])
    return try engine.members(edges, of: owner)
  }
  func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]] {
    try faults.check(.members, owners)
    return try engine.members(edges, of: owners)
  }
  func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int {
    try faults.check(.members, [owner])
    return try engine.memberCount(edges, of: owner)
  }
  func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool {
    try faults.check(.members, [owner])
    return try engine.hasMember(edges, of: owner, member)
  }
  func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember] {
    try faults.check(.members, [owner])
    return try engine.placedMembers(edges, of: owner)
  }
  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    try faults.check(.values, [primaryKey])
    return try engine.externalValue(entity: entity, primaryKey: primaryKey, slot: slot, version: version)
  }
  func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    engine.commit(changeSets, deadline: deadline, completion: completion)
  }
  func execute(
    _ batch: StoreBatch, deadline: Duration?,
    completion: @escaping @Sendable (Result<BatchOutcome, any Error>) -> Void
  ) {
    engine.execute(batch, deadline: deadline, completion: completion)
  }
  func close() { engine.close() }
}
