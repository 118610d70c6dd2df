import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// What sessions are like, how long making one may take, and that their end is noticed.
@Suite struct SessionTests {
  private func connection(_ parameters: [String: String] = [:]) throws -> PostgresConnection {
    try PostgresConnection(
      ServerAddress(TestServer.required().url("none", parameters)), password: nil,
      deadline: ContinuousClock.now + .seconds(30))
  }

  private func setting(_ name: String, _ connection: PostgresConnection) throws -> String {
    try #require(try connection.runText("SHOW \(name)")).text(0, 0)
  }

  /// The server compiles a large condition for minutes, in which nothing ends the statement.
  @Test func conditionsAreNotCompiled() throws {
    #expect(try setting("jit", connection()) == "off")
  }

  @Test func theNameOfAProgramIsTheAddresssOrStratas() throws {
    #expect(try setting("application_name", connection()) == "strata")
    #expect(try setting("application_name", connection(["application_name": "shop"])) == "shop")
    let url = try TestServer.required().url("none")
    // Not said of the connection, so that the environment and the service file are heard.
    #expect(try ServerAddress(url).parameters["application_name"] == nil)
  }

  /// Over a socket the last words of a server and the end of the connection are there together, and are told of once.
  @Test func theEndOfASessionIsReadWithItsLastWords() throws {
    let listening = try connection()
    try listening.run(SQLStatement("LISTEN nothing"))
    #expect(listening.notifications() == [])
    try connection().runText("SELECT pg_terminate_backend(\(listening.backend))")
    var descriptor = pollfd(fd: listening.socket, events: Int16(POLLIN), revents: 0)
    // The end is there when the socket says that nobody is at its other end.
    let end = ContinuousClock.now + .seconds(30)
    while Int32(descriptor.revents) & Int32(POLLHUP) == 0, ContinuousClock.now < end {
      _ = poll(&descriptor, 1, 10)
    }
    #expect(Int32(descriptor.revents) & Int32(POLLHUP) != 0)
    #expect(listening.notifications() == nil)
  }

  @Test func aSilentHostIsGivenUpAfterConnectTimeout() throws {
    let (listener, port) = try ListeningSocket.open(backlog: 8)
    defer { close(listener) }
    let url = try #require(
      URL(string: "postgres://tests@127.0.0.1:\(port)/postgres?sslmode=disable&connect_timeout=1"))
    var options = PostgresStoreOptions()
    options.timeout = .seconds(3_600)
    let error = #expect(throws: StorageError.self) { try PostgresStores.metadata(at: url, options: options) }
    #expect(error?.kind == .unreachable && error?.detail.contains("connect_timeout") == true)
  }

  /// The statement is prepared for the type that the column has had.
  @Test func aColumnOfAnotherTypeIsReadOnceMore() throws {
    let stand = try ServerStand(Library.make())
    let context = stand.context()
    try context.make("Subject", ["name": "first"])
    try context.save()
    #expect(try stand.context().texts("Subject", "name") == ["first"])
    try stand.sql(
      "ALTER TABLE \(stand.table("subject")) ALTER COLUMN name TYPE varchar(100) COLLATE \"C\"")
    #expect(try stand.context().texts("Subject", "name") == ["first"])
  }
}
