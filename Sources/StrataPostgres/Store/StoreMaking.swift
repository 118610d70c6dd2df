import Foundation
import StrataCore

// What a store is looked at for when it is opened, and how it is made.

extension PostgresStore {
  /// Whoever says that tables are taken over must not get a store that has not.
  static func requireAdopted(_ mapping: StoreMapping, _ options: PostgresStoreOptions) throws {
    guard let wanted = options.adoptsTables else { return }
    if mapping.tables.allSatisfy({ $0.adopted?.namespace == wanted }) { return }
    throw StorageError(
      .invalid, operation: "open store", path: "",
      detail:
        "The store in the namespace “\(mapping.namespace)” has \(mapping.isAdopted ? "other tables than those of “\(wanted)”" : "tables of its own"): tables are taken over by a new store only."
    )
  }

  /// Makes a store, unless another process is quicker.
  static func create(
    _ mapping: StoreMapping, _ held: Set<String>, _ connection: PostgresConnection,
    _ options: PostgresStoreOptions
  ) throws -> Catalogue.Finding {
    connection.patience = PostgresConnection.writingPatience(options.timeout)
    try connection.run(SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED"))
    try connection.run([
      TableLocks.limit(options.timeout), AdvisoryLock.tables(of: mapping.namespace).waiting,
    ])
    if case .nothing = try Catalogue.find(mapping.namespace, on: connection) {
      var mapping = mapping
      if let namespace = options.adoptsTables {
        mapping = try TableAdoption(
          mapping: mapping, namespace: namespace, connection: connection, timeout: options.timeout
        ).run()
      }
      try Catalogue.create(mapping, heldEntities: held, on: connection)
    }
    let finding = try Catalogue.find(mapping.namespace, on: connection)
    try connection.run(SQLStatement("COMMIT"))
    return finding
  }

  static func requireSameModel(_ catalogue: Catalogue, _ schema: Schema, _ held: Set<String>) throws {
    let own = schema.model.entityVersionHashesByName.filter { held.contains($0.key) }
    if own != catalogue.versionHashes { throw otherModel(own, catalogue.versionHashes) }
  }

  /// What is thrown when a store is of another version of the model.
  static func otherModel(_ own: [String: Data], _ stored: [String: Data]) -> CoreDataError {
    let names = Set(own.keys).union(stored.keys).filter { own[$0] != stored[$0] }.sorted()
    return CoreDataError(
      .persistentStoreIncompatibleVersionHash,
      "The store was written with another version of the model; these entities differ: \(names.joined(separator: ", ")). The store was not changed."
    )
  }
}
