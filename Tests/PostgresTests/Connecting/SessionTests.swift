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

  /// A host that accepts a connection and then says nothing. `Int32`, since that is what the system's calls take.
  private static func silent() throws -> (listener: Int32, port: UInt16) {
    struct Failure: Error {}
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      // A socket's address of the kind of the internet is one of any kind.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard listener >= 0, isBound else { throw Failure() }
    return (listener, UInt16(bigEndian: address.sin_port))
  }

  @Test func aSilentHostIsGivenUpAfterConnectTimeout() throws {
    let (listener, port) = try Self.silent()
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
