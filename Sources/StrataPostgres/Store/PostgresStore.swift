import Foundation
import StrataCore
import struct Synchronization.Atomic

/// A store in a namespace of a database on a PostgreSQL server. May be used from any thread.
package final class PostgresStore: StoreEngine {
  /// The type of such stores.
  public static let type = "PostgreSQL"

  let mapping: StoreMapping
  let pool: ConnectionPool
  package let identifier: UUID
  package let url: URL?
  package let configurationName: String?
  package let isReadOnly: Bool
  private let options: PostgresStoreOptions
  private let metadataState: Mutex<StoreMetadata>
  private let keys: [KeyBlocks]
  /// By entity number: whether the store holds objects of it.
  private let held: [Bool]
  /// Names this object among all that write to the store.
  private let writer = Int64.random(in: .min ... .max)
  /// Held by the one thread that writes.
  private let writing = NSLock()
  private let queue = DispatchQueue(label: "strata.postgres.writer")
  private let isClosed = Atomic<Bool>(false)
  /// Commits since old notes were deleted.
  private let untrimmed = Atomic<Int>(0)

  package var storeType: String { Self.type }
  package var metadata: StoreMetadata { metadataState.withLock { $0 } }

  /// Opens the store at a URL, or makes it.
  ///
  /// - Throws: ``StorageError`` for an address that is none, a server that cannot be reached or refuses, a namespace that holds other tables, a model that
  ///   cannot be kept; `CoreDataError` 134100 naming the entities when the store was written with another version of the model: stores on PostgreSQL are not migrated yet, and
  ///   nothing is changed.
  package init(
    url: URL, schema: Schema, configurationName: String? = nil,
    options: PostgresStoreOptions = PostgresStoreOptions()
  ) throws {
    let address = try ServerAddress(url)
    pool = ConnectionPool(
      address, most: max(2, options.maximumConnections), patience: options.timeout, password: options.password
    )
    let heldEntities = try Self.heldEntities(schema, configurationName)
    let (catalogue, mapping) = try Self.open(pool, schema, heldEntities, options)
    self.mapping = mapping
    self.options = options
    self.url = url
    self.configurationName = configurationName
    isReadOnly = options.isReadOnly
    identifier = catalogue.identifier
    metadataState = Mutex(catalogue.fullMetadata)
    keys = schema.hierarchies.map { _ in KeyBlocks() }
    held = schema.entities.map { heldEntities.contains($0.name) }
  }

  private static func heldEntities(_ schema: Schema, _ configurationName: String?) throws -> Set<String> {
    guard let configurationName else { return Set(schema.entities.map(\.name)) }
    guard let entities = schema.model.entities(forConfigurationName: configurationName) else {
      throw CoreDataError(
        .persistentStoreOpen, "The model has no configuration named “\(configurationName)”.")
    }
    return Set(entities.compactMap(\.name))
  }

  // MARK: Opening

  private static func open(
    _ pool: ConnectionPool, _ schema: Schema, _ held: Set<String>, _ options: PostgresStoreOptions
  ) throws -> (Catalogue, StoreMapping) {
    let namespace = pool.address.namespace
    do {
      return try pool.withConnection { connection in
        var finding = try Catalogue.find(namespace, on: connection)
        if case .nothing = finding {
          guard options.createsStore, !options.isReadOnly else {
            throw StorageError(
              .missing, operation: "open store", path: "",
              detail: "There is no store in the namespace “\(namespace)” of the database.")
          }
          finding = try create(MappingBuilder.mapping(schema, namespace: namespace), held, connection)
        }
        switch finding {
        case .store(let catalogue):
          try requireSameModel(catalogue, schema, held)
          let mapping = try MappingBuilder.mapping(
            schema, namespace: namespace, codes: catalogue.codes, names: catalogue.names)
          return (catalogue, mapping)
        case .strangers, .nothing:
          throw StorageError(
            .notADatabase, operation: "open store", path: "",
            detail:
              "The namespace “\(namespace)” holds tables that are no store of this package: name another one with ?namespace=."
          )
        }
      }
    } catch let error as SQLError { throw error.storageError("open store", pool.address.words) }
  }

  /// Makes a store, unless another process is quicker.
  private static func create(_ mapping: StoreMapping, _ held: Set<String>, _ connection: PostgresConnection)
    throws
    -> Catalogue.Finding
  {
    try connection.run(SQLStatement("BEGIN"))
    var lock = SQLStatement("SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(")
    lock += lock.bind("strata " + mapping.namespace) + ", 0))"
    try connection.run(lock)
    if case .nothing = try Catalogue.find(mapping.namespace, on: connection) {
      try Catalogue.create(mapping, heldEntities: held, on: connection)
    }
    let finding = try Catalogue.find(mapping.namespace, on: connection)
    try connection.run(SQLStatement("COMMIT"))
    return finding
  }

  private static func requireSameModel(_ catalogue: Catalogue, _ schema: Schema, _ held: Set<String>) throws {
    let own = schema.model.entityVersionHashesByName.filter { held.contains($0.key) }
    if own != catalogue.versionHashes { throw otherModel(own, catalogue.versionHashes) }
  }

  /// What is thrown when a store is of another version of the model.
  static func otherModel(_ own: [String: Data], _ stored: [String: Data]) -> CoreDataError {
    let names = Set(own.keys).union(stored.keys).filter { own[$0] != stored[$0] }.sorted()
    return CoreDataError(
      .persistentStoreIncompatibleVersionHash,
      "The store was written with another version of the model; these entities differ: \(names.joined(separator: ", ")). Stores on PostgreSQL cannot be migrated yet; the store was not changed."
    )
  }

  package func close() {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    pool.close()
  }

  private func requireOpen() throws {
    if isClosed.load(ordering: .acquiring) {
      throw StorageError(.closed, operation: "use store", path: "", detail: "The store was closed.")
    }
  }

  /// How many round trips to the server the store has made.
  package var roundTrips: Int { pool.roundTrips }

  // MARK: Keys

  package func rowStamp(entity: Int) -> RowStamp {
    RowStamp(layoutNumber: 0, entityCode: mapping.codes[entity])
  }

  package func makePrimaryKey(hierarchy: Int) throws -> UInt64 {
    try requireOpen()
    return try keys[hierarchy].next { count in
      var statement = SQLStatement("SELECT pg_catalog.nextval(")
      statement += statement.bind(mapping.tables[hierarchy].sequence)
      statement += "::text::regclass) FROM pg_catalog.generate_series(1, " + statement.bind(count) + ")"
      return try read { _, connection in
        let result = try connection.run(statement, deadline: self.deadline())
        return try (0..<result.rowCount).map { try result.key($0, 0) }
      }
    }
  }

  private func deadline(_ duration: Duration? = nil) -> ContinuousClock.Instant {
    ContinuousClock.now + (duration ?? options.timeout)
  }

  // MARK: Reading

  /// Reads through a connection of the pool. Once more when the connection turns out to be dead: reading twice does no harm.
  private func read<R>(_ body: (PostgresReading, PostgresConnection) throws -> R) throws -> R {
    try requireOpen()
    do {
      do {
        return try readOnce(body)
      } catch let error as StorageError where error.kind == .unreachable {
        pool.dropIdle()
        return try readOnce(body)
      } catch let error as SQLError where error.kind == .unreachable {
        pool.dropIdle()
        return try readOnce(body)
      }
    } catch let error as SQLError { throw error.storageError("read store", pool.address.words) }
  }

  private func readOnce<R>(_ body: (PostgresReading, PostgresConnection) throws -> R) throws -> R {
    try pool.withConnection { connection in
      let reading = PostgresReading(
        mapping, identifier: identifier, connection: connection, deadline: deadline())
      return try body(reading, connection)
    }
  }

  package func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    try read { reading, _ in try reading.fetch(request, mode: mode) }
  }
  /// Rows and what they lead to come from one state of the store. Not tried again: the collector has some of them then.
  package func collect(into collector: DictionaryCollector) throws {
    try requireOpen()
    do {
      try readOnce { reading, _ in try reading.inOneState { try reading.collect(into: collector) } }
    } catch let error as SQLError { throw error.storageError("read store", pool.address.words) }
  }
  package func rows(hierarchy: Int, primaryKeys: [UInt64]) throws -> [FetchedRow?] {
    try read { reading, _ in try reading.rows(hierarchy: hierarchy, primaryKeys: primaryKeys) }
  }
  package func row(hierarchy: Int, primaryKey: UInt64) throws -> FetchedRow? {
    try read { reading, _ in try reading.row(hierarchy: hierarchy, primaryKey: primaryKey) }
  }
  package func rows(_ lookup: UniqueLookup) throws -> [FetchedRow?] {
    try read { reading, _ in try reading.rows(lookup) }
  }
  package func members(_ edges: EdgeSet, of owner: UInt64) throws -> [UInt64] {
    try read { reading, _ in try reading.members(edges, of: owner) }
  }
  package func members(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[UInt64]] {
    try read { reading, _ in try reading.members(edges, of: owners) }
  }
  package func memberCount(_ edges: EdgeSet, of owner: UInt64) throws -> Int {
    try read { reading, _ in try reading.memberCount(edges, of: owner) }
  }
  package func hasMember(_ edges: EdgeSet, of owner: UInt64, _ member: UInt64) throws -> Bool {
    try read { reading, _ in try reading.hasMember(edges, of: owner, member) }
  }
  package func placedMembers(_ edges: EdgeSet, of owner: UInt64) throws -> [PlacedMember] {
    try read { reading, _ in try reading.placedMembers(edges, of: owner) }
  }
  package func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    try read { reading, _ in
      try reading.externalValue(entity: entity, primaryKey: primaryKey, slot: slot, version: version)
    }
  }

  package func makeSnapshot() throws -> (any StoreSnapshot)? {
    try requireOpen()
    do {
      return try PostgresSnapshot(
        pool, mapping, identifier: identifier, share: max(1, options.maximumConnections / 3),
        timeout: options.timeout)
    } catch let error as SQLError { throw error.storageError("pin store", pool.address.words) }
  }

  // MARK: Writing

  package func commit(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    queue.async { self.commitHere(changeSets, deadline: deadline, completion: completion) }
  }

  package func commitHere(
    _ changeSets: [ChangeSet], deadline: Duration?,
    completion: @escaping @Sendable ([Result<CommitResult, any Error>]) -> Void
  ) {
    writing.lock()
    defer { writing.unlock() }
    do {
      completion(try write(changeSets, self.deadline(deadline)))
    } catch {
      completion(changeSets.map { _ in .failure(error) })
    }
  }

  private func write(_ sets: [ChangeSet], _ deadline: ContinuousClock.Instant) throws -> [CommitRun.Outcome] {
    try requireOpen()
    if isReadOnly {
      throw StorageError(
        .permission, operation: "commit", path: "", detail: "The store was opened to be read only.")
    }
    var pause = Duration.milliseconds(2)
    while true {
      do {
        return try attempt(sets, deadline)
      } catch let error as SQLError {
        guard error.isWorthAnotherTry || error.kind == .unreachable, ContinuousClock.now + pause < deadline
        else {
          throw error.storageError("commit", pool.address.words)
        }
      } catch is CommitRun.Disturbed {
        guard ContinuousClock.now + pause < deadline else {
          throw StorageError(
            .serverBusy, operation: "commit", path: "",
            detail: "Somebody changes rows of the store beside it, again and again, while they are saved.")
        }
      } catch let error as StorageError where error.kind == .unreachable {
        // Nothing was committed: `attempt` has made sure of it.
        guard ContinuousClock.now + pause < deadline else { throw error }
      }
      pool.dropIdle()
      // Others are in the way, or a server starts again: each attempt gives them more time, and no two the same.
      let jitter = Double.random(in: 0.5...1.5)
      Thread.sleep(
        forTimeInterval: (Double(pause.components.attoseconds) / 1e18 + Double(pause.components.seconds))
          * jitter)
      pause = min(pause * 2, .milliseconds(500))
    }
  }

  private func attempt(_ sets: [ChangeSet], _ deadline: ContinuousClock.Instant) throws -> [CommitRun.Outcome]
  {
    var lost: CommitRun?
    do {
      return try pool.withConnection { connection in
        let run = CommitRun(
          mapping, identifier: identifier, held: held, connection: connection, writer: writer,
          deadline: deadline)
        do {
          let outcomes = try run.run(sets)
          if outcomes.contains(where: { if case .success = $0 { true } else { false } }) {
            noteCommit(sets, outcomes)
          }
          trim(outcomes, connection)
          return outcomes
        } catch let error as StorageError where run.isCommitSent {
          lost = run
          throw error
        }
      }
    } catch {
      guard let lost else { throw error }
      return try outcome(of: lost, sets, deadline, error)
    }
  }

  /// Finds out whether a commit took place whose answer was lost.
  private func outcome(
    of run: CommitRun, _ sets: [ChangeSet], _ deadline: ContinuousClock.Instant, _ cause: any Error
  ) throws -> [CommitRun.Outcome] {
    // Whoever saves wants to know, even after the time that the save itself may take.
    let end = max(deadline, ContinuousClock.now + .seconds(5))
    var last: any Error = cause
    while ContinuousClock.now < end {
      do {
        let number = try pool.withConnection { try CommitRun.find(run.token, mapping, $0, end) }
        guard let number else {
          throw StorageError(
            .unreachable, operation: "commit", path: "",
            detail: "The connection was lost before the commit took place: nothing was saved.")
        }
        let outcomes = run.outcomesOfLostAnswer(sets, number: number)
        noteCommit(sets, outcomes)
        return outcomes
      } catch let error as StorageError where error.operation == "commit" {
        throw error
      } catch {
        last = error
        if isClosed.load(ordering: .acquiring) { break }
        Thread.sleep(forTimeInterval: 0.05)
      }
    }
    var unknown = StorageError(
      .outcomeUnknown, operation: "commit", path: "",
      detail:
        "The connection was lost while the save was being committed, and the server could not be asked whether it was: it may be there, whole, or not at all. (\(last))"
    )
    unknown.isOutcomeUnknown = true
    throw unknown
  }

  private func noteCommit(_ sets: [ChangeSet], _ outcomes: [CommitRun.Outcome]) {
    for (set, outcome) in zip(sets, outcomes) {
      guard case .success = outcome, let new = set.metadata else { continue }
      metadataState.withLock { metadata in
        let standard = metadata.values.filter {
          new.withoutStandardKeys.values[$0.key] == nil
            && metadata.withoutStandardKeys.values[$0.key] == nil
        }
        metadata = StoreMetadata(values: new.withoutStandardKeys.values.merging(standard) { $1 })
      }
    }
  }

  private func trim(_ outcomes: [CommitRun.Outcome], _ connection: PostgresConnection) {
    guard untrimmed.add(1, ordering: .relaxed).newValue % 512 == 0 else { return }
    for case .success(let result) in outcomes {
      // A commit is done whatever becomes of old notes.
      try? CommitRun.trim(mapping, connection, newest: result.commitNumber)
      return
    }
  }
}
