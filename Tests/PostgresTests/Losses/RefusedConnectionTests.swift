import Foundation
import StrataCore
import Testing

@testable import StrataPostgres

/// What a server says that gives no session, in whatever language.
@Suite struct RefusedConnectionTests {
  private func error(_ servers: [RefusingServer], timeout: Duration) throws -> StorageError? {
    var components = URLComponents()
    components.scheme = "postgres"
    components.path = "/postgres"
    components.host = ""
    let hosts = servers.map { _ in "127.0.0.1" }.joined(separator: ",")
    components.queryItems = [
      URLQueryItem(name: "host", value: hosts),
      URLQueryItem(name: "port", value: servers.map { String($0.port) }.joined(separator: ",")),
      URLQueryItem(name: "user", value: "tests"), URLQueryItem(name: "sslmode", value: "disable"),
      URLQueryItem(name: "gssencmode", value: "disable"),
    ]
    var options = PostgresStoreOptions()
    options.timeout = timeout
    let url = try #require(components.url)
    return #expect(throws: StorageError.self) { try PostgresStores.metadata(at: url, options: options) }
  }

  @Test(arguments: [
    ("致命错误", "28P01", "用户 \"tests\" 的 Password 认证失败", StorageError.Kind.refused),
    ("FATAL", "28000", "le rôle « tests » n'existe pas", .refused),
    ("FATAL", "3D000", "la base de données « postgres » n'existe pas", .missing),
    ("FATAL", "42501", "Recht auf Datenbank fehlt", .refused),
    ("FATAL", "57P03", "das Datenbanksystem startet", .unreachable),
  ])
  func itsCodeSaysWhatItIs(_ severity: String, _ state: String, _ words: String, _ kind: StorageError.Kind)
    throws
  {
    let server = try RefusingServer(severity, state, words)
    let error = try error([server], timeout: .seconds(600))
    #expect(error?.kind == kind)
    let detail = error?.detail ?? ""
    #expect(detail.contains(words) && detail.contains("SQLSTATE \(state)") && !detail.contains("LOCATION"))
    #expect(!detail.contains(":  \(state)"))
    // Only a server that is busy is asked again.
    #expect(server.attempts == 1)
  }

  @Test func aBusyServerIsToldAsBusyAtTheTimeout() throws {
    let words = "tut mir leid, schon zu viele Verbindungen"
    let server = try RefusingServer("SCHWERWIEGEND", "53300", words)
    let error = try error([server], timeout: .seconds(5))
    // An attempt that the timeout cuts off has no words.
    #expect(error?.kind == .serverBusy && server.attempts > 0)
  }

  /// One of several hosts starts, and the next one does not know the password: asked again and again, it would lock the role.
  @Test func severalHostsOfWhichOneRefusesAreNotAskedAgain() throws {
    let starting = try RefusingServer("FATAL", "57P03", "noch nicht")
    let refusing = try RefusingServer("FATAL", "28P01", "nein")
    let busy = try RefusingServer("FATAL", "53300", "zu viele")
    #expect(try error([starting, refusing, busy], timeout: .seconds(600))?.kind == .refused)
    #expect(starting.attempts == 1 && refusing.attempts == 1)
    // Busy servers are asked again, until one has another answer.
    let closing = try RefusingServer("FATAL", "28P01", "nein", first: ["53300", "53300"])
    #expect(try error([starting, closing], timeout: .seconds(600))?.kind == .refused)
    #expect(closing.attempts == 3)
    withExtendedLifetime(busy) {}
  }

  @Test func whatAHostSaysIsTakenApart() {
    let failure = ConnectFailure(
      "connection to server at \"a\" (10.0.0.1), port 5432 failed: FATAL:  53300: sorry\nLOCATION:  InitProcess, proc.c:353\nconnection to server at \"b\", port 5432 failed: Connection refused\n\tIs the server running?\n",
      needsPassword: false)
    #expect(failure.states == ["53300"])
    #expect(
      failure.words
        == "connection to server at \"a\" (10.0.0.1), port 5432 failed: FATAL:  sorry connection to server at \"b\", port 5432 failed: Connection refused Is the server running? (SQLSTATE 53300)."
    )
    #expect(failure.kind == .serverBusy)
    // Asked with encryption, then without: what it said last counts.
    let twice = ConnectFailure(
      "connection to server at \"a\", port 5432 failed: FATAL:  28000: no entry for encryption\nconnection to server at \"a\", port 5432 failed: FATAL:  53300: sorry\n",
      needsPassword: false)
    #expect(twice.states == ["53300"] && twice.kind == .serverBusy)
    #expect(ConnectFailure("", needsPassword: false).kind == .unreachable)
    #expect(ConnectFailure("x", needsPassword: true).kind == .refused)
    #expect(ConnectFailure("a:  B: c:  12345", needsPassword: false).states == [])
  }
}
