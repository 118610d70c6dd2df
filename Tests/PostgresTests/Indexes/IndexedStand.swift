import Foundation
import Strata
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

/// A library on a server in which indexes come and go.
final class IndexedStand: Sendable {
  let stand: ServerStand
  var store: PostgresStore { stand.store }

  init(books count: Int = 40, of other: IndexedStand? = nil) throws {
    stand = try ServerStand(Library.make(), url: other?.stand.url)
    guard other == nil, count > 0 else { return }
    let context = stand.context()
    for number in 0..<count {
      try context.make("Book", ["title": "title \(number)", "code": "\(number)", "pages": number % 17])
    }
    try context.save()
  }

  func add(
    _ name: String, _ attributes: String..., progress: (@Sendable (IndexProgress) -> Void)? = nil
  ) async throws {
    try await stand.coordinator.addIndex(
      FetchIndexDescription(name: name, attributes: attributes), toEntityNamed: "Book", in: store,
      progress: progress)
  }

  func remove(_ name: String) async throws {
    try await stand.coordinator.removeIndex(named: name, ofEntityNamed: "Book", in: store)
  }

  /// Added indexes, and whether each is complete.
  var added: [String] {
    get throws {
      try stand.coordinator.indexes(in: store).filter(\.isAdded).map {
        "\($0.name) \($0.isComplete ? "complete" : "growing")"
      }
    }
  }

  /// The names of all indexes of the books' table on the server, and whether each is valid; what the store itself has made begins with `book_`.
  func onServer() throws -> [String: Bool] {
    let result = try #require(
      try stand.sql(
        "SELECT c.relname::text, i.indisvalid::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = '\(stand.table("book"))'::regclass"
      ))
    var found: [String: Bool] = [:]
    for row in 0..<result.rowCount { found[try result.text(row, 0)] = try result.text(row, 1) == "true" }
    return found
  }

  /// Those of the books' table that were added.
  func relations() throws -> [String: Bool] { try onServer().filter { $0.key.hasPrefix("book_by_") } }

  /// A session beside the store.
  func session() throws -> PostgresConnection {
    try PostgresConnection(
      ServerAddress(stand.url), password: nil, deadline: ContinuousClock.now + .seconds(30))
  }

  /// A transaction that has changed a book, and that whoever builds an index of the table waits for.
  func obstacle() throws -> PostgresConnection {
    let session = try session()
    try session.hold("UPDATE \(stand.table("book")) SET pages = 1 WHERE code = '1'")
    return session
  }

  /// The server's numbers of the sessions that build an index of the books.
  func builders() throws -> [Int64] {
    let result = try #require(
      try stand.sql(
        "SELECT p.pid::text FROM pg_stat_progress_create_index p WHERE p.relid = '\(stand.table("book"))'::regclass"
      ))
    return try (0..<result.rowCount).compactMap { Int64(try result.text($0, 0)) }
  }

  /// Waits until something is so. Counts how often it has looked, not the time: tasks wait for their turn beside other tests.
  func wait(_ isSo: () throws -> Bool, _ location: SourceLocation = #_sourceLocation) async throws {
    for _ in 0..<12_000 {
      if try isSo() { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("It does not become so.", sourceLocation: location)
  }

  func explain(_ predicate: FetchPredicate) throws -> [String] {
    let request = FetchRequest<ManagedObject>(entityName: "Book", predicate: predicate)
    return try stand.context().explain(request).stores[0].indexNames
  }
}
