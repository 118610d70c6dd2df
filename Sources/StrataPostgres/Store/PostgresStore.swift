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
  /// By hierarchy: the primary keys that are reserved.
  let keys: [KeyBlocks]
  /// New objects for which the server has given no keys.
  let unkeyed = UnkeyedObjects(giver: "The server", path: "")
  /// By entity number: whether the store holds objects of it.
  let held: [Bool]
  /// Names this object among all that write to the store.
  let writer = Int64.random(in: 1 ... .max)
  /// Whether many new rows are copied: the server may not let this role.
  let copiesRows = Atomic<Bool>(true)
  /// Held by the one thread that writes.
  private let writing = NSLock()
  private let queue = DispatchQueue(label: "strata.postgres.writer")
  private let isClosed = Atomic<Bool>(false)
  /// What is noted of commits, and how long it is kept.
  let keeping: HistoryKeeping
  /// What others commit is read through it.
  let following: FollowingConnection
  /// What the last saves have learnt of the history.
  let recent: Mutex<RecentCommits>
  package let firstCommitNumber: UInt64

  /// Whether the server is asked to tell of commits.
  var listens: Bool { options.listens }
  /// How often the store is looked at where it is not told of commits.
  var pollInterval: Duration { options.pollInterval }

  package var storeType: String { Self.type }
  package var isFar: Bool { true }
  package var metadata: StoreMetadata { metadataState.withLock { $0 } }

  /// Opens the store at a URL, or makes it.
  ///
  /// - Throws: ``StorageError`` for an address that is none, a server that cannot be reached or refuses, a namespace that holds other tables, a model that
  ///   cannot be kept; `CoreDataError` 134100 naming the entities when the store was written with another version of the model; nothing is changed.
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
    keys = mapping.tables.map { $0.adopted == nil ? KeyBlocks() : .single() }
    // Rows are not copied into views.
    if mapping.isAdopted { copiesRows.store(false, ordering: .relaxed) }
    held = schema.entities.map { heldEntities.contains($0.name) }
    keeping = HistoryKeeping(schema, options.historyRetention) { Date() }
    recent = Mutex(RecentCommits(isRecording: catalogue.recordsHistory))
    firstCommitNumber = catalogue.commitNumber
    let pool = pool
    following = FollowingConnection(
      channel: FollowingConnection.channel(catalogue.identifier), ownPayload: String(writer),
      timeout: options.timeout, retryInterval: min(options.pollInterval, .seconds(1))
    ) { try pool.makeSeparate() }
    mapping.added.set(catalogue.indexes, mapping)
    if options.recordsHistory, !catalogue.recordsHistory, !isReadOnly { try beginHistory() }
    // What another program has left unfinished.
    if catalogue.indexes.hasAny, !isReadOnly { settleIndexes() }
  }

  private func beginHistory() throws {
    let statement = HistoryTable(mapping: mapping, identifier: identifier).begin()
    try read { _, connection in _ = try connection.run(statement, deadline: self.deadline()) }
    recent.withLock { $0.isRecording = true }
  }

  static func heldEntities(_ schema: Schema, _ configurationName: String?) throws -> Set<String> {
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
          let mapping = try MappingBuilder.mapping(schema, namespace: namespace)
          finding = try create(mapping, held, connection, options)
        }
        switch finding {
        case .store(let catalogue):
          if !options.ignoresModelVersion { try requireSameModel(catalogue, schema, held) }
          var mapping = try MappingBuilder.mapping(
            schema, namespace: namespace, codes: catalogue.codes, names: catalogue.names,
            generation: catalogue.generation, requiresGivenNames: !options.ignoresModelVersion)
          try requireAdopted(mapping, options)
          if mapping.isAdopted { try ViewedColumns(mapping, on: connection).requireKnownNames() }
          if mapping.isAdopted, !options.isReadOnly {
            try TableAdoption.renew(mapping, on: connection, options.timeout)
          }
          if mapping.isAdopted {
            mapping = try AdoptedSurroundings(mapping, on: connection).applied(to: mapping)
          }
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

  package func close() {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    following.close()
    pool.close()
  }

  /// Whether it was closed.
  var hasEnded: Bool { isClosed.load(ordering: .acquiring) }

  func requireOpen() throws {
    if isClosed.load(ordering: .acquiring) {
      throw StorageError(.closed, operation: "use store", path: "", detail: "The store was closed.")
    }
  }

  /// How many round trips to the server the store has made.
  package var roundTrips: Int { pool.roundTrips }

  /// What an error means when another process has migrated the store since it was opened: ``CoreDataError`` 134100 with what differs. Asks the server only after
  /// an error that may come from that.
  package func explained(_ error: any Error) -> any Error {
    switch error {
    case let error as StorageError where error.kind == .replaced || error.kind == .damaged: break
    default: return error
    }
    let namespace = mapping.namespace
    let found = try? pool.withConnection { connection -> Catalogue? in
      if case .store(let catalogue) = try Catalogue.find(namespace, on: connection) { return catalogue }
      return nil
    }
    guard let catalogue = found ?? nil, catalogue.identifier == identifier,
      catalogue.generation != mapping.generation
    else { return error }
    let own = metadata.versionHashes
    let names = Set(own.keys).union(catalogue.versionHashes.keys).filter {
      own[$0] != catalogue.versionHashes[$0]
    }.sorted()
    return CoreDataError(
      .persistentStoreIncompatibleVersionHash,
      "Another process has migrated the store to another version of its model since it was opened here; these entities differ: \(names.joined(separator: ", ")). Nothing was saved. Remove the store and add it again with the new model.",
      userInfo: ["NSStoreIncompatibleEntities": names, NSUnderlyingErrorKey: error])
  }

  // MARK: Reading

  package func rowStamp(entity: Int) -> RowStamp {
    RowStamp(layoutNumber: 0, entityCode: mapping.codes[entity])
  }

  func deadline(_ duration: Duration? = nil) -> ContinuousClock.Instant {
    ContinuousClock.now + (duration ?? options.timeout)
  }

  /// So often the server may end a read in favour of others, such as one that has taken tables in another order.
  private static let mostDisturbedReads = 3

  /// Reads through a connection of the pool. Once more when the connection turns out to be dead, and some times when others were in the way: reading twice does no
  /// harm.
  func read<R>(isCounted: Bool = true, _ body: (PostgresReading, PostgresConnection) throws -> R) throws -> R
  {
    try survivingLoss("read store", mostDisturbances: Self.mostDisturbedReads) {
      try readOnce(isCounted, body)
    }
  }

  private func readOnce<R>(
    _ isCounted: Bool = true, _ body: (PostgresReading, PostgresConnection) throws -> R
  ) throws -> R {
    try pool.withConnection(isCounted: isCounted) { connection in
      let reading = PostgresReading(
        mapping, identifier: identifier, connection: connection, deadline: deadline())
      return try body(reading, connection)
    }
  }

  package func fetch(_ request: ResolvedFetchRequest, mode: FetchMode) throws -> FetchedRows {
    try read { reading, _ in try reading.fetch(request, mode: mode) }
  }
  /// Rows and what they lead to come from one state of the store. Once more when the connection turns out to be dead before there is one: the collector may have some of
  /// the rows later.
  package func collect(into collector: DictionaryCollector) throws {
    var hasBegun = false
    try survivingLoss("read store", unless: { hasBegun }) {
      try readOnce { reading, _ in
        try reading.inOneState {
          hasBegun = true
          try reading.collect(into: collector)
        }
      }
    }
  }

  /// Runs `body`, once more when the connection turns out to be dead, and again when others were in the way.
  private func survivingLoss<R>(
    _ operation: String, mostDisturbances: Int = 0, unless isTooLate: () -> Bool = { false },
    _ body: () throws -> R
  ) throws -> R {
    try requireOpen()
    var (isSecond, disturbances) = (false, 0)
    while true {
      do {
        return try body()
      } catch let error as StorageError where error.kind == .unreachable && !isSecond && !isTooLate() {
        isSecond = true
        pool.dropIdle()
      } catch let error as SQLError where error.kind == .unreachable && !isSecond && !isTooLate() {
        isSecond = true
        pool.dropIdle()
      } catch let error as SQLError
        where error.state == CommitRun.unsupportedState && !isSecond && !isTooLate()
      {
        // A statement was prepared for a column that somebody has given another type since: other connections prepare it anew.
        isSecond = true
        pool.dropIdle()
      } catch let error as SQLError where error.isWorthAnotherTry && disturbances < mostDisturbances {
        disturbances += 1
      } catch let error as SQLError {
        throw explained(error.storageError(operation, pool.address.words))
      }
    }
  }

  package func explain(_ request: ResolvedFetchRequest, mode: FetchMode, isExecuting: Bool) throws
    -> FetchExplanation.StorePart?
  {
    try read { reading, _ in try reading.explain(request, mode: mode, isExecuting: isExecuting) }
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
  package func placedMembers(_ edges: EdgeSet, of owners: [UInt64]) throws -> [[PlacedMember]] {
    try read { reading, _ in try reading.placedMembers(edges, of: owners) }
  }
  package func externalValue(entity: Int, primaryKey: UInt64, slot: Int, version: UInt32) throws -> Data? {
    try read { reading, _ in
      try reading.externalValue(entity: entity, primaryKey: primaryKey, slot: slot, version: version)
    }
  }

  package func makeSnapshot() throws -> (any StoreSnapshot)? {
    try survivingLoss("pin store") {
      try PostgresSnapshot(
        pool, mapping, identifier: identifier, share: max(1, options.maximumConnections / 3),
        timeout: options.timeout)
    }
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
      completion(
        try unkeyed.refusing(changeSets, mapping.schema) { try write($0, self.deadline(deadline)) })
    } catch {
      completion(changeSets.map { _ in .failure(error) })
    }
  }

  func writeBatch(
    _ batch: StoreBatch, _ deadline: Duration?,
    _ completion: @escaping @Sendable (Result<BatchOutcome, any Error>) -> Void
  ) {
    queue.async {
      self.writing.lock()
      defer { self.writing.unlock() }
      completion(Result { try self.write(batch, self.deadline(deadline)) })
    }
  }

  private func write(_ batch: StoreBatch, _ deadline: ContinuousClock.Instant) throws -> BatchOutcome {
    do {
      return try retrying(deadline) { disturbances in
        try attempt(deadline, disturbances) { run in
          let outcome = try run.run(batch)
          if !run.marks.isEmpty { noteCommit([outcome.commitNumber], run) }
          return outcome
        } settled: { run, number in
          noteCommit([number], run)
          let none = BatchChanges(entityCount: mapping.schema.entities.count)
          return BatchOutcome(commitNumber: number, changes: run.batchChanges ?? none)
        }
      }
    } catch let error as SQLError {
      throw error.storageError("batch", pool.address.words)
    } catch let refusal as Refusal {
      throw refusal.error
    } catch let conflict as CommitConflict {
      // No object of a batch's is based on a row: its keys are new.
      throw ChangeSetWork.keyIsTaken("batch", conflict.conflicts.map(\.primaryKey))
    }
  }

  /// The server has refused a statement of a transaction for good; nothing of it was written.
  private struct Refusal: Error {
    let error: StorageError
  }

  /// Writes sets together; each alone when the server refuses something and it is not known of which: constraints may be looked at by the commit only.
  private func write(_ sets: [ChangeSet], _ deadline: ContinuousClock.Instant) throws -> [CommitRun.Outcome] {
    do {
      return try writeTogether(sets, deadline)
    } catch let refusal as Refusal {
      if sets.count == 1 { return [.failure(refusal.error)] }
      return sets.map { set in
        do {
          return try writeTogether([set], deadline)[0]
        } catch let refusal as Refusal {
          return .failure(refusal.error)
        } catch { return .failure(error) }
      }
    }
  }

  private func writeTogether(_ sets: [ChangeSet], _ deadline: ContinuousClock.Instant) throws
    -> [CommitRun.Outcome]
  {
    try retrying(deadline) { disturbances in
      try attempt(deadline, disturbances) { run in
        let outcomes = try run.run(sets)
        if !run.marks.isEmpty { noteCommit(sets, outcomes, run) }
        return outcomes
      } settled: { run, number in
        let outcomes = run.outcomesOfLostAnswer(sets, number: number)
        noteCommit(sets, outcomes, run)
        return outcomes
      }
    }
  }

  /// Makes attempts until one ends well, or as nothing but time can mend.
  /// - Parameter attempt: Is told how many attempts somebody has disturbed who writes beside Strata.
  private func retrying<R>(_ deadline: ContinuousClock.Instant, _ attempt: (Int) throws -> R) throws -> R {
    try requireOpen()
    if isReadOnly {
      throw StorageError(
        .permission, operation: "commit", path: "", detail: "The store was opened to be read only.")
    }
    var pause = Duration.milliseconds(2)
    var disturbances = 0
    var isUnsupported = false
    while true {
      do {
        return try attempt(disturbances)
      } catch let error as SQLError
        where error.state == CommitRun.lostReferenceState && disturbances < CommitRun.mostDisturbances
      {
        // Somebody has taken a row away between the check and the commit: the next attempt finds it missing.
        guard ContinuousClock.now + pause < deadline else {
          throw error.storageError("commit", pool.address.words)
        }
        disturbances += 1
      } catch let error as SQLError
        where error.state == CommitRun.unsupportedState && error.isOfCopy
        && copiesRows.load(ordering: .relaxed)
      {
        // Row security, which COPY does not know: statements do.
        copiesRows.store(false, ordering: .relaxed)
      } catch let error as SQLError where error.state == CommitRun.unsupportedState && !isUnsupported {
        // Perhaps a statement that was prepared for a column which has another type by now: other connections prepare it anew.
        isUnsupported = true
      } catch let error as SQLError where error.isRefusal && !error.isWorthAnotherTry {
        throw Refusal(error: error.storageError("commit", pool.address.words))
      } catch let error as SQLError {
        guard error.isWorthAnotherTry || error.kind == .unreachable, ContinuousClock.now + pause < deadline
        else {
          throw error.storageError("commit", pool.address.words)
        }
      } catch is CommitRun.Disturbed {
        disturbances += 1
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
      Thread.sleep(forTimeInterval: pause.seconds * jitter)
      pause = min(pause * 2, .milliseconds(500))
    }
  }

  /// Runs `body` in one transaction; when the answer to its commit was lost, `settled` says what a commit of that number has done.
  private func attempt<R>(
    _ deadline: ContinuousClock.Instant, _ disturbances: Int, _ body: (CommitRun) throws -> R,
    settled: (CommitRun, UInt64) -> R
  ) throws -> R {
    var lost: CommitRun?
    do {
      return try pool.withConnection(until: deadline) { connection in
        let run = CommitRun(
          mapping, identifier: identifier, held: held, connection: connection, writer: writer,
          keeping: keeping, deadline: deadline, disturbances: disturbances,
          settings: CommitRun.Settings(
            leastCopied: copiesRows.load(ordering: .relaxed) ? options.leastCopied : nil,
            batchStep: options.batchStep))
        do {
          let result = try body(run)
          trim(run, connection)
          return result
        } catch let error as StorageError where run.isCommitSent {
          lost = run
          throw error
        }
      }
    } catch {
      guard let lost else { throw error }
      return settled(lost, try outcome(of: lost, deadline, error))
    }
  }

  /// Finds out whether a commit took place whose answer was lost; its number.
  private func outcome(of run: CommitRun, _ deadline: ContinuousClock.Instant, _ cause: any Error) throws
    -> UInt64
  {
    // Whoever saves wants to know, even after the time that the save itself may take.
    let end = max(deadline, ContinuousClock.now + .seconds(5))
    var last: any Error = cause
    while ContinuousClock.now < end {
      do {
        let number = try pool.withConnection(until: end) { try CommitRun.find(run.token, mapping, $0, end) }
        guard let number else {
          throw StorageError(
            .unreachable, operation: "commit", path: "",
            detail: "The connection was lost before the commit took place: nothing was saved.")
        }
        return number
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

  private func noteCommit(_ sets: [ChangeSet], _ outcomes: [CommitRun.Outcome], _ run: CommitRun) {
    recent.withLock {
      $0.note(outcomes.compactMap { try? $0.get().commitNumber }, run.marks, run.isRecording)
    }
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

  private func noteCommit(_ numbers: [UInt64], _ run: CommitRun) {
    recent.withLock { $0.note(numbers, run.marks, run.isRecording) }
  }

  /// A commit is done whatever becomes of old notes.
  private func trim(_ run: CommitRun, _ connection: PostgresConnection) {
    guard let number = run.committedNumber else { return }
    trimHistory(connection)
    // Whoever passes a multiple of 512: programs that end after a few saves, too.
    let last = number + UInt64(max(run.marks.count, 1)) - 1
    guard last / 512 != (max(number, 1) - 1) / 512 else { return }
    try? CommitRun.trim(mapping, connection, newest: number, deadline())
  }
}
