import Foundation
import Strata
import StrataCore

@testable import StrataPostgres

/// A store in a namespace of its own and the stack above it. The namespace is dropped with it.
final class ServerStand: Sendable {
  let coordinator: PersistentStoreCoordinator
  let store: PostgresStore
  let url: URL
  private let dropsNamespace: Bool

  /// A new store with `model`, or, with `url`, another stack on the store there.
  init(
    _ model: ManagedObjectModel, url: URL? = nil, options: PostgresStoreOptions = PostgresStoreOptions()
  ) throws {
    let server = try TestServer.required()
    dropsNamespace = url == nil
    self.url = try url ?? server.url(TestServer.freshNamespace())
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    store = try PostgresStore(url: self.url, schema: try model.schema(), options: options)
    try coordinator.attach(store)
  }

  deinit {
    for store in coordinator.persistentStores { try? coordinator.remove(store) }
    guard dropsNamespace else { return }
    _ = try? sql("DROP SCHEMA \(Identifier.quoted(store.mapping.namespace)) CASCADE")
  }

  func context(_ type: ConcurrencyType = .confinement) -> ManagedObjectContext {
    ManagedObjectContext(type, coordinator: coordinator)
  }

  /// Another stack, as another process has it, on the same store.
  func neighbour(_ model: ManagedObjectModel) throws -> ServerStand { try ServerStand(model, url: url) }

  /// Runs a statement beside the store, as `psql` would.
  @discardableResult
  func sql(_ text: String) throws -> SQLResult? {
    let connection = try PostgresConnection(
      ServerAddress(url), password: nil, deadline: ContinuousClock.now + .seconds(30))
    return try connection.runText(text)
  }

  /// The name of a table of the store's, with its namespace.
  func table(_ name: String) -> String { store.mapping.qualified(name) }
}

extension PostgresConnection {
  /// Begins a transaction that stays for as long as it takes: on a busy machine the test that waits goes on minutes later, and the server ends sessions that stay idle so long.
  func hold(_ statements: String = "") throws {
    try runText("SET idle_in_transaction_session_timeout = 0; BEGIN; \(statements)")
  }
}

/// The kind of error that `body` throws under a short timeout; under a longer one when the server had no time to answer, as on a busy machine.
/// Nil when it throws nothing, or another error.
func kindOfError(_ body: (Duration) throws -> Void) -> StorageError.Kind? {
  var kind: StorageError.Kind?
  for timeout in [Duration.milliseconds(500), .seconds(5), .seconds(50)] {
    do {
      try body(timeout)
      return nil
    } catch {
      kind = (error as? StorageError)?.kind
      if kind != .unreachable { return kind }
    }
  }
  return kind
}
