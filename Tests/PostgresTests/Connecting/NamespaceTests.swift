import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Who makes the namespace of a store, and who may drop it.
@Suite struct NamespaceTests {
  private func sql(_ text: String) throws -> SQLResult? {
    let connection = try PostgresConnection(
      ServerAddress(TestServer.required().url("none")), password: nil,
      deadline: ContinuousClock.now + .seconds(30))
    return try connection.runText(text)
  }

  private func isThere(_ namespace: String) throws -> Bool {
    let result = try sql("SELECT 1 FROM pg_namespace WHERE nspname = '\(namespace)'")
    return try #require(result).rowCount == 1
  }

  @Test func oneThatTheStoreHasMadeGoesWithIt() throws {
    let namespace = TestServer.freshNamespace()
    let url = try TestServer.required().url(namespace)
    try PostgresStore(url: url, schema: try Library.make().schema()).close()
    try PostgresStores.destroy(at: url)
    #expect(try !isThere(namespace))
  }

  /// Its owner may make nothing in the database but what is in it.
  @Test func oneThatWasMadeForTheStoreTakesNoRightAndStays() throws {
    let namespace = TestServer.freshNamespace()
    let role = "tenant_" + UUID().uuidString.prefix(8).lowercased()
    _ = try sql("CREATE ROLE \(role) LOGIN; CREATE SCHEMA \(namespace) AUTHORIZATION \(role)")
    defer { _ = try? sql("DROP SCHEMA IF EXISTS \(namespace) CASCADE; DROP ROLE \(role)") }
    let own = try TestServer.required().url(namespace)
    var components = try #require(URLComponents(url: own, resolvingAgainstBaseURL: false))
    components.queryItems = components.queryItems?.map {
      $0.name == "user" ? URLQueryItem(name: "user", value: role) : $0
    }
    let url = try #require(components.url)
    try PostgresStore(url: url, schema: try Library.make().schema()).close()
    try PostgresStores.destroy(at: url)
    #expect(try isThere(namespace))
    // And it can be used again.
    try PostgresStore(url: url, schema: try Library.make().schema()).close()
    try PostgresStores.destroy(at: url)
  }

  /// A store that an earlier version has made has no note of it.
  @Test func withoutANoteTheOwnersGoes() throws {
    let namespace = TestServer.freshNamespace()
    let url = try TestServer.required().url(namespace)
    try PostgresStore(url: url, schema: try Library.make().schema()).close()
    _ = try sql("ALTER TABLE \(namespace).strata_store DROP COLUMN made_namespace")
    try PostgresStore(url: url, schema: try Library.make().schema()).close()
    try PostgresStores.destroy(at: url)
    #expect(try !isThere(namespace))
  }

  @Test func thePublicOneStaysWhateverTheNoteSays() throws {
    let database = TestServer.freshNamespace()
    _ = try sql("CREATE DATABASE \(database) ENCODING 'UTF8' TEMPLATE template0")
    defer { _ = try? sql("DROP DATABASE IF EXISTS \(database)") }
    let own = try TestServer.required().url("public")
    var components = try #require(URLComponents(url: own, resolvingAgainstBaseURL: false))
    components.path = "/" + database
    let url = try #require(components.url)
    func run(_ text: String) throws -> SQLResult? {
      let connection = try PostgresConnection(
        ServerAddress(url), password: nil, deadline: ContinuousClock.now + .seconds(30))
      return try connection.runText(text)
    }
    try PostgresStore(url: url, schema: try Library.make().schema()).close()
    _ = try run("UPDATE public.strata_store SET made_namespace = true")
    try PostgresStores.destroy(at: url)
    let left = try run(
      "SELECT (SELECT count(*)::text FROM pg_class WHERE relnamespace = n.oid) FROM pg_namespace n WHERE nspname = 'public'"
    )
    #expect(try #require(left).text(0, 0) == "0")
  }
}
