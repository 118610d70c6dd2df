import Foundation
import StrataCore

/// How a store on a PostgreSQL server is opened. A value that costs nothing to copy.
public struct PostgresStoreOptions: Sendable {
  /// Whether saves fail. Default false. A store that is only read needs no right to write, and is not made where there is none.
  public var isReadOnly = false
  /// Whether a store is made where there is none. Default true.
  public var createsStore = true
  /// How long opening, a save or a read waits for the server, for a connection and for others who write, before it fails. Default: 30 seconds.
  public var timeout: Duration = .seconds(30)
  /// The most connections to the server, at least two. Default 12. A third of them may be held by pinned query generations.
  public var maximumConnections = 12
  /// Whether every save and batch is recorded in the store's history. Default false; a store that records one goes on, whatever this says, until
  /// `PersistentStoreCoordinator.endHistory(of:)`.
  public var recordsHistory = false
  /// How long the history is kept. Saves of this process delete older entries from time to time.
  public var historyRetention = HistoryRetention()
  /// Whether the server is asked to tell of others' commits (`LISTEN`). Default true. A standby, or a pooler in between, does not: there, and without this, the
  /// store is looked at every `pollInterval`.
  public var listens = true
  /// How often the store is looked at for others' commits where the server does not tell of them. Default: one second.
  public var pollInterval: Duration = .seconds(1)
  /// The namespace of tables that somebody else has made and that a new store takes over, with all their rows, instead of making tables of its own; nil, the default,
  /// for none. See the page “Engines” of the documentation. Whoever opens the store later need not say it.
  public var adoptsTables: String?
  /// Asked for the password for each new connection, on the thread that needs it; nil, the default, for what libpq finds: the password file, `PGPASSWORD`, a
  /// service file. What it throws, opening, reading or saving throws.
  public var password: (@Sendable () throws -> String)?

  /// Whether a store of any version of the model is opened: by those who have the store's own model.
  var ignoresModelVersion = false
  /// So many rows of a batch update are written at once.
  var batchStep = 10_000
  /// From so many new rows of an entity on they are copied.
  package var leastCopied = RowStatements.leastCopied

  /// Everything as by default.
  public init() {}
}

extension PersistentStoreCoordinator {
  /// Opens a store on a PostgreSQL server and attaches it. Where there is none it is made, in one transaction.
  ///
  ///     let url = URL(string: "postgres://ada@db.example/journal?namespace=app")!
  ///     try coordinator.addPostgresStore(at: url)
  ///
  /// - Parameters:
  ///   - url: Server, database and namespace; see the page “Engines” of the documentation. It must hold no password.
  ///   - configuration: The model configuration whose entities the store holds; nil for all.
  ///   - options: How it is opened.
  /// - Throws: ``StorageError`` `.invalid` for a URL that is no address of a store, and for a model that such stores cannot keep, with all reasons; `.unreachable`, `.refused`, `.missing`,
  ///   `.serverBusy` when the server or the database is not to be had; `.outOfMemory` when the process has too few descriptors left; `.notADatabase` when the namespace holds other tables; `ModelError` for a wrong model;
  ///   `CoreDataError` 134100 naming the entities when the store was written with another version of the model: `PostgresStores.migrate` brings it to this one, and so does a
  ///   description with `migratesAutomatically`. Nothing is attached and nothing changed then.
  @discardableResult
  public func addPostgresStore(
    at url: URL, configuration: String? = nil, options: PostgresStoreOptions = PostgresStoreOptions()
  ) throws -> any PersistentStore {
    // Before anything is done on the server: contexts and followers have timers.
    try EventDescriptors.require(path: "")
    let store = try PostgresStore(
      url: url, schema: try managedObjectModel.schema(), configurationName: configuration, options: options)
    do {
      try attach(store)
    } catch {
      store.close()
      throw error
    }
    return store
  }
}

/// Looks at stores on PostgreSQL servers that no coordinator has open, and removes them. May be used from any thread; each call has a connection of its own.
public enum PostgresStores {
  /// The type of such stores, as `PersistentStore.storeType` tells it, and as descriptions of Core Data's name it. The first use makes it known, as ``register()`` does.
  public static let type: String = {
    register()
    return PostgresStore.type
  }()

  /// Makes the type known to all coordinators of the process, so that it can be named by its text, `PostgreSQL`, and by URLs that begin with `postgres://`. What uses
  /// ``type`` or `PersistentStoreDescription.StoreType.postgres` need not call it. A second call does nothing.
  public static func register() { _ = PersistentStoreDescription.StoreType.postgres }

  /// The metadata of the store at `url`, the standard keys included.
  /// - Throws: ``StorageError`` `.missing` when there is no store, and as `addPostgresStore(at:configuration:options:)`.
  public static func metadata(at url: URL, options: PostgresStoreOptions = PostgresStoreOptions()) throws
    -> StoreMetadata
  {
    try withCatalogue(url, options) { catalogue, _ in catalogue.fullMetadata }
  }

  /// Replaces the program's own metadata of the store at `url`; the standard keys stay.
  /// - Throws: as `metadata(at:options:)`; `CoreDataError` 134070 for another UUID than the store's; ``StorageError`` `.refused` without the right to write; `.serverBusy` when others write to the store longer than the timeout.
  public static func setMetadata(
    _ metadata: StoreMetadata, at url: URL, options: PostgresStoreOptions = PostgresStoreOptions()
  ) throws {
    let (namespace, identifier) = (try ServerAddress(url).namespace, try metadata.givenIdentifier())
    try withCatalogue(url, options) { catalogue, connection in
      if let identifier, identifier != catalogue.identifier {
        throw CoreDataError(.persistentStoreOperation, "A store on PostgreSQL keeps its UUID.")
      }
      var statement = SQLStatement(
        "UPDATE \(StoreMapping.qualified("strata_store", namespace)) SET metadata = ")
      statement += statement.bind(try Catalogue.text(metadata))
      connection.patience = PostgresConnection.writingPatience(options.timeout)
      try connection.run([
        SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED"), TableLocks.limit(options.timeout), statement,
        SQLStatement("COMMIT"),
      ])
    }
  }

  /// The model that the store at `url` was made with, changeable. Classes are found by name.
  /// - Throws: as `metadata(at:options:)`; `ModelError` when the stored model is damaged.
  public static func model(at url: URL, options: PostgresStoreOptions = PostgresStoreOptions()) throws
    -> ManagedObjectModel
  {
    try withCatalogue(url, options) { catalogue, _ in
      try ManagedObjectModel.decoded(fromStores: catalogue.model)
    }
  }

  /// Brings the store at `url` to another version of its model, as far as that can be inferred. Where it is of that version already, nothing happens.
  ///
  /// One transaction: until it ends nobody sees any of it, and a session that is killed leaves the store as it was. Saves of other programs wait, and fail with error
  /// 134100 afterwards; readers of the old model get the same error. The rows are written anew: it takes about as long as inserting them, and room for them twice.
  ///
  /// - Parameters:
  ///   - url: Where the store is.
  ///   - model: The version that it is to be of.
  ///   - configuration: The configuration that the store is opened with; nil for all entities.
  ///   - permission: What may be taken away.
  ///   - options: How it is opened.
  /// - Throws: as `metadata(at:options:)`; `CoreDataError` 134190 when it cannot be inferred, with the reasons; 134111 for values that must be unique and are not; 134110 for what else does
  ///   not fit; 134130 when something would be lost and the program does not know the store's model, 134110 when it does and the store was of the program's version before;
  ///   ``StorageError`` `.serverBusy` while somebody has pinned a generation of the store longer than the timeout, `.refused` without the right to make tables.
  public static func migrate(
    at url: URL, to model: ManagedObjectModel, configuration: String? = nil,
    permission: MigrationPermission = MigrationPermission(),
    options: PostgresStoreOptions = PostgresStoreOptions()
  ) throws {
    let schema = try model.schema()
    let held = try PostgresStore.heldEntities(schema, configuration)
    try withConnection(url, options) { address, connection in
      try PostgresMigration(
        connection: connection, namespace: address.namespace, schema: schema, held: held,
        permission: permission,
        timeout: options.timeout
      ).run()
    }
  }

  /// Runs `body`, which takes several connections of its own, when no other process has this turn at the store.
  /// - Throws: ``StorageError`` `.serverBusy` when another one keeps it longer than `patience`; what `body` throws.
  static func inTurn<R>(
    at url: URL, _ patience: Patience, _ options: PostgresStoreOptions, _ body: () throws -> R
  ) throws -> R {
    try withConnection(url, options) { address, connection in
      // The lock is the session's, so it ends with the connection.
      try patience.wait { deadline in
        while try !AdvisoryLock.stages(of: address.namespace).attempt(on: connection) {
          guard .now < deadline else {
            throw StorageError(
              .serverBusy, operation: "migrate", path: "",
              detail:
                "Another process migrates the store in stages. Nothing was changed; try again when it has finished."
            )
          }
          usleep(20_000)
        }
      }
      return try withExtendedLifetime(connection) { try body() }
    }
  }

  /// Deletes the store at `url`: all that it has made in its namespace, and the namespace when the store has made it, too. Where there is none, nothing happens.
  ///
  /// Tables of somebody else's that the store has taken over stay, with all rows, without what was added to them.
  ///
  /// Whoever has the store open gets ``StorageError`` of kind `damaged` or `replaced` from then on.
  /// - Throws: ``StorageError`` `.notADatabase` for a namespace that holds other tables, or more tables than the store's own; `.refused` without the right, and
  ///   when something of somebody else's depends on the store's tables, such as a view in another namespace, with its name; `.serverBusy` when somebody holds a
  ///   table longer than the timeout. Nothing is deleted then.
  public static func destroy(at url: URL, options: PostgresStoreOptions = PostgresStoreOptions()) throws {
    try withConnection(url, options) { address, connection in
      connection.patience = PostgresConnection.writingPatience(options.timeout)
      try connection.run(SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED"))
      try connection.run(TableLocks.limit(options.timeout))
      switch try Catalogue.find(address.namespace, on: connection) {
      case .nothing: break
      case .strangers: throw strangers(address.namespace)
      case .store(let catalogue):
        let others = try catalogue.strangers(in: address.namespace, on: connection)
        guard others.isEmpty else { throw strangers(address.namespace, others) }
        // As a save does: first the store's row, then tables.
        try connection.run(
          SQLStatement(
            "SELECT 1 FROM \(StoreMapping.qualified("strata_store", address.namespace)) FOR UPDATE"))
        // A migration may have been waited for.
        guard case .store(let newest) = try Catalogue.find(address.namespace, on: connection) else {
          throw SQLResult.damaged
        }
        try TableLocks(connection: connection, timeout: options.timeout).take(
          newest.tables(in: address.namespace, on: connection))
        // And so may somebody who has made a table.
        let late = try newest.strangers(in: address.namespace, on: connection)
        guard late.isEmpty else { throw strangers(address.namespace, late) }
        do {
          if try newest.adopted.isEmpty {
            // Asked before the table is gone that says it.
            let last = try newest.namespaceRemoval(of: address.namespace, on: connection)
            try connection.run(newest.removal(of: address.namespace, on: connection) + last)
          } else {
            try TableAdoption.giveBack(newest, of: address.namespace, on: connection)
          }
        } catch let error as SQLError where error.state == Catalogue.dependedOnState {
          _ = connection.reset()
          throw dependedOn(address.namespace, error)
        }
      }
      try connection.run(SQLStatement("COMMIT"))
    }
  }

  private static func strangers(_ namespace: String, _ names: [String] = []) -> StorageError {
    StorageError(
      .notADatabase, operation: "destroy store", path: "",
      detail:
        "The namespace “\(namespace)” holds tables that are not the store's\(names.isEmpty ? "" : " (\(names.prefix(5).joined(separator: ", ")))"); nothing was deleted."
    )
  }

  /// The server's detail names objects, and no values.
  private static func dependedOn(_ namespace: String, _ error: SQLError) -> StorageError {
    StorageError(
      .refused, operation: "destroy store", path: "",
      detail:
        "Something that is not the store's depends on the store in the namespace “\(namespace)”, and would be gone with it; nothing was deleted. Drop it before. The server says: \(error.message). \(error.detail.split(separator: "\n").prefix(5).joined(separator: "; ")). (SQLSTATE \(error.state))"
    )
  }

  private static func withConnection<R>(
    _ url: URL, _ options: PostgresStoreOptions, _ body: (ServerAddress, PostgresConnection) throws -> R
  ) throws -> R {
    let address = try ServerAddress(url)
    let connection = try connect(address, options)
    do {
      return try body(address, connection)
    } catch let error as SQLError { throw error.storageError("look at store", address.words) }
  }

  /// Waits while the server has no connection to spare.
  private static func connect(_ address: ServerAddress, _ options: PostgresStoreOptions) throws
    -> PostgresConnection
  {
    let deadline = ContinuousClock.now + options.timeout
    while true {
      do {
        return try PostgresConnection(
          address, password: options.password?(), deadline: deadline, patience: options.timeout)
      } catch {
        guard PostgresConnection.mayTryAgain(after: error, until: deadline) else { throw error }
      }
    }
  }

  private static func withCatalogue<R>(
    _ url: URL, _ options: PostgresStoreOptions, _ body: (Catalogue, PostgresConnection) throws -> R
  ) throws -> R {
    try withConnection(url, options) { address, connection in
      guard case .store(let catalogue) = try Catalogue.find(address.namespace, on: connection) else {
        throw StorageError(
          .missing, operation: "look at store", path: "",
          detail: "There is no store in the namespace “\(address.namespace)” of the database.")
      }
      return try body(catalogue, connection)
    }
  }
}
