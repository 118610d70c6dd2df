import Foundation
import SwiftData
import struct StrataCore.Mutex

// Stores on a server that only pretends to be one: with snapshots of the program's own, a history, deletion by condition, and errors when they are asked for.

/// What a server keeps of a guest.
struct GuestRecord: DataStoreSnapshot {
  var persistentIdentifier: PersistentIdentifier
  var name: String

  init(_ identifier: PersistentIdentifier, _ name: String) {
    persistentIdentifier = identifier
    self.name = name
  }

  init(
    from backingData: any BackingData, relatedBackingDatas: inout [PersistentIdentifier: any BackingData]
  ) {
    guard let guest = backingData as? any BackingData<Visitor>, let id = guest.persistentModelID else {
      fatalError("the server keeps visitors only")
    }
    self.init(id, guest.getValue(forKey: \.name))
  }

  func copy(
    persistentIdentifier: PersistentIdentifier,
    remappedIdentifiers: [PersistentIdentifier: PersistentIdentifier]?
  ) -> GuestRecord { GuestRecord(persistentIdentifier, name) }

  /// - Throws: for a visitor called “unreadable”.
  func encode(to encoder: any Encoder) throws {
    if name == "unreadable" { throw ServerFailure(reason: "unreadable") }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(persistentIdentifier, forKey: .persistentIdentifier)
    try container.encode(name, forKey: .name)
  }

  private enum CodingKeys: CodingKey { case persistentIdentifier, name }
}

@Model
final class Visitor {
  var name: String
  init(_ name: String) { self.name = name }
}

struct ServerToken: HistoryToken {
  let number: Int
  var tokenValue: Int? { number }
  var id: Int { number }
  static func < (lhs: Self, rhs: Self) -> Bool { lhs.number < rhs.number }
}

struct ServerTransaction: HistoryTransaction {
  let timestamp: Date
  let changes: [HistoryChange]
  let token: ServerToken
  let transactionIdentifier: Int
  let storeIdentifier: String
  let author: String?
  var id: Int { transactionIdentifier }
  static func == (lhs: Self, rhs: Self) -> Bool { lhs.id == rhs.id }
  func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

struct ServerFailure: Error, Equatable { let reason: String }

/// What the server is, apart from the store that asks it.
final class Server: Sendable {
  struct State {
    var visitors: [Int: String] = [:]
    var lastKey = 0
    var failure: ServerFailure?
    var normalizes = false
    var forgetsIdentifiers = false
    var givesOneIdentifier = false
    var calls: [String] = []
    var authors: [String?] = []
    var contexts: Set<UUID> = []
  }
  let state = Mutex(State())
  let name = "server-\(UUID().uuidString)"
  var calls: [String] { state.withLock { $0.calls } }
  var visitors: [String] { state.withLock { $0.visitors.values.sorted() } }
  func clearCalls() { state.withLock { $0.calls = [] } }
}

struct ServerConfiguration: DataStoreConfiguration {
  typealias Store = ServerStore
  var name = "server"
  var schema: Schema?
  let server: Server
  static func == (lhs: Self, rhs: Self) -> Bool { lhs.server === rhs.server }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(server)) }
  func validate() throws { if name.isEmpty { throw ServerFailure(reason: "no name") } }
}

final class ServerStore: DataStoreBatching, HistoryProviding {
  typealias Configuration = ServerConfiguration
  typealias Snapshot = GuestRecord
  typealias HistoryType = ServerTransaction

  let configuration: ServerConfiguration
  let schema: Schema
  private let server: Server
  var identifier: String { server.name }

  init(_ configuration: ServerConfiguration, migrationPlan: (any SchemaMigrationPlan.Type)?) throws {
    self.configuration = configuration
    schema = configuration.schema ?? Schema()
    server = configuration.server
    if let failure = server.state.withLock({ $0.failure }) { throw failure }
  }

  private func enter<R>(_ call: String, _ body: (inout Server.State) throws -> R) throws -> R {
    try server.state.withLock { state in
      state.calls.append(call)
      if let failure = state.failure { throw failure }
      return try body(&state)
    }
  }

  private func identifier(_ key: Int) throws -> PersistentIdentifier {
    try PersistentIdentifier.identifier(for: identifier, entityName: "Visitor", primaryKey: key)
  }

  private func key(_ identifier: PersistentIdentifier, _ state: Server.State) throws -> Int? {
    try state.visitors.keys.first { try self.identifier($0) == identifier }
  }

  func initializeState(for editingState: EditingState) {
    server.state.withLock { _ = $0.contexts.insert(editingState.id) }
  }
  func invalidateState(for editingState: EditingState) {
    server.state.withLock { _ = $0.contexts.remove(editingState.id) }
  }

  /// The server knows one predicate and one order: it evaluates conditions on its own records, and sorts by name.
  func fetch<T>(_ request: DataStoreFetchRequest<T>) throws -> DataStoreFetchResult<T, GuestRecord>
  where T: PersistentModel {
    try enter("fetch") { state in
      if request.descriptor.predicate != nil { throw DataStoreError.preferInMemoryFilter }
      var found = try state.visitors.map { GuestRecord(try identifier($0.key), $0.value) }
      if let sort = request.descriptor.sortBy.first {
        found.sort { $0.name < $1.name }
        if sort.order == .reverse { found.reverse() }
      }
      if let limit = request.descriptor.fetchLimit { found = Array(found.prefix(limit)) }
      return DataStoreFetchResult(descriptor: request.descriptor, fetchedSnapshots: found)
    }
  }

  func fetchCount<T>(_ request: DataStoreFetchRequest<T>) throws -> Int where T: PersistentModel {
    try enter("count") { state in
      if request.descriptor.predicate != nil { throw DataStoreError.preferInMemoryFilter }
      return state.visitors.count
    }
  }

  func cachedSnapshots(for persistentIdentifiers: [PersistentIdentifier], editingState: EditingState) throws
    -> [PersistentIdentifier: GuestRecord]
  {
    try enter("cached") { state in
      var found: [PersistentIdentifier: GuestRecord] = [:]
      for id in persistentIdentifiers {
        if let key = try key(id, state), let name = state.visitors[key] { found[id] = GuestRecord(id, name) }
      }
      return found
    }
  }

  func save(_ request: DataStoreSaveChangesRequest<GuestRecord>) throws
    -> DataStoreSaveChangesResult<GuestRecord>
  {
    try enter("save") { state in
      state.authors.append(request.editingState.author)
      var remapped: [PersistentIdentifier: PersistentIdentifier] = [:]
      var other: [PersistentIdentifier: GuestRecord] = [:]
      func stored(_ name: String, _ id: PersistentIdentifier) -> String {
        guard state.normalizes else { return name }
        other[id] = GuestRecord(id, name.uppercased())
        return name.uppercased()
      }
      for record in request.inserted {
        state.lastKey += 1
        let id = try identifier(state.givesOneIdentifier ? 1 : state.lastKey)
        if !state.forgetsIdentifiers { remapped[record.persistentIdentifier] = id }
        state.visitors[state.lastKey] = stored(record.name, id)
      }
      for record in request.updated {
        guard let key = try key(record.persistentIdentifier, state) else {
          throw ServerFailure(reason: "nobody there")
        }
        state.visitors[key] = stored(record.name, record.persistentIdentifier)
      }
      for record in request.deleted {
        if let key = try key(record.persistentIdentifier, state) { state.visitors[key] = nil }
      }
      return DataStoreSaveChangesResult(
        for: identifier, remappedIdentifiers: remapped, snapshotsToReregister: other)
    }
  }

  func delete<T>(_ request: DataStoreBatchDeleteRequest<T>) throws where T: PersistentModel {
    try enter("delete") { state in
      guard request.predicate == nil else { throw DataStoreError.invalidPredicate }
      state.visitors = [:]
    }
  }

  func erase() throws { try enter("erase") { $0.visitors = [:] } }

  func fetchHistory(_ descriptor: HistoryDescriptor<ServerTransaction>) throws -> [ServerTransaction] {
    try enter("history") { state in
      let all = state.authors.enumerated().map { number, author in
        ServerTransaction(
          timestamp: Date(timeIntervalSinceReferenceDate: Double(number)), changes: [],
          token: ServerToken(number: number + 1), transactionIdentifier: number + 1,
          storeIdentifier: identifier,
          author: author)
      }
      return try all.filter { try descriptor.predicate?.evaluate($0) ?? true }
    }
  }

  func deleteHistory(_ descriptor: HistoryDescriptor<ServerTransaction>) throws {
    try enter("delete history") { $0.authors = [] }
  }
}
