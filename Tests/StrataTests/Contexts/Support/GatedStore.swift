import Foundation
import Strata
import struct StrataCore.Mutex

/// Holds commits up while it is closed, so that a test can look at a save that is under way; and lets a test do something in the
/// middle of a fetch, or behind a count of members.
final class StoreGate: Sendable {
  private struct State {
    var isClosed = false
    var waiting: [@Sendable () -> Void] = []
    var watching: [CheckedContinuation<Void, Never>] = []
    var afterFetch: (@Sendable () -> Void)?
    var afterCount: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  func close() { state.withLock { $0.isClosed = true } }

  func open() {
    let waiting = state.withLock { state in
      state.isClosed = false
      defer { state.waiting = [] }
      return state.waiting
    }
    for commit in waiting { commit() }
  }

  /// Opens from another thread in a moment, while the caller waits for something behind the gate.
  func openSoon() {
    DispatchQueue.global().asyncAfter(deadline: .now() + 0.05) { self.open() }
  }

  /// Returns when a commit waits at the closed gate.
  func isReached() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.waiting.isEmpty { state.watching.append(continuation) }
        return !state.waiting.isEmpty
      }
      if isThere { continuation.resume() }
    }
  }

  /// Runs `work` when the next fetch has read the store and its rows are not objects yet.
  func afterNextFetch(_ work: @escaping @Sendable () -> Void) { state.withLock { $0.afterFetch = work } }

  /// Runs `work` when members are next counted without being loaded.
  func afterNextCount(_ work: @escaping @Sendable () -> Void) { state.withLock { $0.afterCount = work } }

  fileprivate func hasCounted() {
    let work = state.withLock { state in
      defer { state.afterCount = nil }
      return state.afterCount
    }
    work?()
  }

  fileprivate func hasFetched() {
    let work = state.withLock { state in
      defer { state.afterFetch = nil }
      return state.afterFetch
    }
    work?()
  }

  /// Runs `commit`, now or when the gate opens.
  fileprivate func pass(_ commit: @escaping @Sendable () -> Void) {
    let (mustWait, watching) = state.withLock { state in
      guard state.isClosed else { return (false, [CheckedContinuation<Void, Never>]()) }
      state.waiting.append(commit)
      defer { state.watching = [] }
      return (true, state.watching)
    }
    if !mustWait { commit() }
    for continuation in watching { continuation.resume() }
  }
}

/// An engine below the coordinator that hands everything on, commits through a gate and notifies it of fetches.
final class GatedStore: StoreEngine {
  private let engine: LMDBStore
  private let gate: StoreGate

  init(_ engine: LMDBStore, _ gate: StoreGate) {
    self.engine = engine
    self.gate = gate
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
    let rows = try engine.fetch(request, mode: mode)
    gate.hasFetched()
    return rows
  }
  func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] {
    try engine.rows(hierarchy: hierarchy, primaryKeys: primaryKeys)
  }
  func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    try engine.row(hierarchy: hierarchy, primaryKey: primaryKey)
  }
  func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] {
    try engine.members(edges, of: owner)
  }
  func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]] {
    try engine.members(edges, of: owners)
  }
  func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int {
    let count = try engine.memberCount(edges, of: owner)
    gate.hasCounted()
    return count
  }
  func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool {
    try engine.hasMember(edges, of: owner, member)
  }
  func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember] {
    try engine.placedMembers(edges, of: owner)
  }
  func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    try engine.externalValue(entity: entity, primaryKey: primaryKey, slot: slot, version: version)
  }
  func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    gate.pass { [engine] in engine.commit(changeSets, deadline: deadline, completion: completion) }
  }
  func close() { engine.close() }
}
