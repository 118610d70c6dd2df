import Foundation
import StrataCore

extension PersistentStoreDescription.StoreType {
  /// A store on a PostgreSQL server. The first use makes the type known to all coordinators of the process.
  public static let postgres: PersistentStoreDescription.StoreType = {
    StoreEngines.register(PostgresKind())
    return PersistentStoreDescription.StoreType(rawValue: PostgresStore.type)
  }()
}

/// Stores on PostgreSQL servers, as coordinators ask for them.
struct PostgresKind: StoreEngineKind {
  let storeType = PersistentStoreDescription.StoreType(rawValue: PostgresStore.type)
  var schemes: Set<String> { ServerAddress.schemes }

  /// The names of `engineOptions`.
  private static let connectionsOption = "maximumConnections"
  private static let listensOption = "listens"
  private static let pollOption = "pollInterval"
  private static let adoptionOption = "adoptsTables"

  /// A Boolean as a text has it, or a number of Core Data's options.
  private static func truth(_ text: String) -> Bool? {
    ["true": true, "1": true, "false": false, "0": false][text]
  }

  private func url(_ description: PersistentStoreDescription) throws -> URL {
    guard let url = description.url else {
      throw CoreDataError(.persistentStoreOpen, "A store on a PostgreSQL server needs a URL.")
    }
    return url
  }

  private func options(_ description: PersistentStoreDescription, _ timeout: Duration? = nil) throws
    -> PostgresStoreOptions
  {
    var options = PostgresStoreOptions()
    options.isReadOnly = description.isReadOnly
    options.ignoresModelVersion = description.ignoresModelVersion
    options.timeout = timeout ?? description.timeout
    options.recordsHistory = description.recordsHistory
    options.historyRetention = description.historyRetention
    for (name, value) in description.engineOptions {
      if name == Self.connectionsOption, let count = Int(value), count >= 2 {
        options.maximumConnections = count
      } else if name == Self.listensOption, let listens = Self.truth(value) {
        options.listens = listens
      } else if name == Self.pollOption, let seconds = Double(value), seconds >= 0.01, seconds <= 86_400 {
        options.pollInterval = .milliseconds(Int(seconds * 1_000))
      } else if name == Self.adoptionOption, !value.isEmpty {
        options.adoptsTables = value
      } else {
        throw StorageError(
          .invalid, operation: "open store", path: "",
          detail:
            "Stores on PostgreSQL have no option “\(name)” with the value “\(value)”: \(Self.connectionsOption) is a number from 2 on, \(Self.listensOption) is true or false, \(Self.pollOption) is a number of seconds from 0.01 on, \(Self.adoptionOption) is the namespace of tables that a new store takes over."
        )
      }
    }
    return options
  }

  /// Opens or makes the store.
  /// - Throws: ``StorageError``, ``CoreDataError`` as `addPostgresStore(at:configuration:options:)`.
  func open(
    _ description: PersistentStoreDescription, schema: Schema, patience: Patience,
    for coordinator: PersistentStoreCoordinator
  ) throws -> any StoreEngine {
    try PostgresStore(
      url: url(description), schema: schema, configurationName: description.configuration,
      options: options(description))
  }

  /// See `PostgresStores.metadata`.
  /// - Throws: as that does.
  func metadata(of description: PersistentStoreDescription) throws -> StoreMetadata {
    try PostgresStores.metadata(at: url(description), options: options(description))
  }

  /// See `PostgresStores.setMetadata`.
  /// - Throws: as that does.
  func setMetadata(_ metadata: StoreMetadata, of description: PersistentStoreDescription) throws {
    try PostgresStores.setMetadata(metadata, at: url(description), options: options(description))
  }

  /// See `PostgresStores.model`.
  /// - Throws: as that does.
  func model(of description: PersistentStoreDescription, withClasses: Bool) throws -> ManagedObjectModel {
    let model = try PostgresStores.model(at: url(description), options: options(description))
    if !withClasses { for entity in model.entities { entity.managedObjectClass = nil } }
    return model
  }

  /// See `PostgresMigration`.
  /// - Throws: ``StorageError``; `CoreDataError` 134190, 134130, 134110, 134111: the store is what it was then.
  func migrate(
    _ description: PersistentStoreDescription, to model: ManagedObjectModel, permission: MigrationPermission,
    patience: Patience
  ) throws {
    try PostgresStores.migrate(
      at: url(description), to: model, configuration: description.configuration, permission: permission,
      options: options(description))
  }

  /// By the namespace, for all processes.
  /// - Throws: ``StorageError`` `.serverBusy` while another one migrates the store; what `body` throws.
  func inTurn<R>(_ description: PersistentStoreDescription, _ patience: Patience, _ body: () throws -> R)
    throws
    -> R
  {
    try PostgresStores.inTurn(at: url(description), patience, options(description), body)
  }

  /// See `PostgresStores.destroy`.
  /// - Throws: as that does.
  func destroy(_ description: PersistentStoreDescription) throws {
    try PostgresStores.destroy(at: url(description), options: options(description))
  }

  /// Refuses: a server has its own means, such as `pg_dump`.
  /// - Throws: `CoreDataError` 134070.
  func replace(_ description: PersistentStoreDescription, with source: PersistentStoreDescription) throws {
    throw unsupported(
      "replaced by copies of others; dump and restore the namespace with pg_dump and pg_restore")
  }

  /// By server, database and namespace, however they are written.
  func isSameStore(_ url: URL, _ other: URL) -> Bool {
    guard let first = try? ServerAddress(url), let second = try? ServerAddress(other) else {
      return url.absoluteString == other.absoluteString
    }
    return first.namespace == second.namespace
      && ["host", "hostaddr", "port", "dbname", "service"].allSatisfy {
        first.parameters[$0] == second.parameters[$0]
      }
  }
}
