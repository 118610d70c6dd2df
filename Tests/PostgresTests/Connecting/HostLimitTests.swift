import Foundation
import StrataCore
import Testing

@testable import StrataPostgres

/// How long each of several hosts may take for a connection.
@Suite struct HostLimitTests {
  /// A host that accepts connections and says nothing. Its port is closed with it.
  private final class SilentHost: Sendable {
    let port: UInt16
    private let listener: Int32

    init() throws { (listener, port) = try ListeningSocket.open(backlog: 8) }

    deinit { close(listener) }
  }

  private func connection(_ hosts: [String], _ ports: [String], _ parameters: [String: String] = [:]) throws
    -> PostgresConnection
  {
    let url = try TestServer.required().url(
      "none", host: hosts.joined(separator: ","),
      parameters.merging([
        "port": ports.joined(separator: ","), "sslmode": "disable", "connect_timeout": "1",
      ]) { $1 })
    return try PostgresConnection(
      ServerAddress(url), password: nil, deadline: ContinuousClock.now + .seconds(3_600))
  }

  /// libpq looks at `connect_timeout` only where it waits itself, and would stay with the first host.
  @Test(.timeLimit(.minutes(2)), arguments: ["any", "prefer-standby"])
  func theNextHostIsAskedWhenOneKeepsSilent(attributes: String) throws {
    let silent = try SilentHost()
    let folder = try TestServer.required().folder.path
    let connection = try connection(
      ["127.0.0.1", folder], ["\(silent.port)", "5432"], ["target_session_attrs": attributes])
    #expect(try #require(try connection.runText("SELECT 'here'")).text(0, 0) == "here")
    withExtendedLifetime(silent) {}
  }

  @Test(.timeLimit(.minutes(2))) func whenAllKeepSilentTheFirstOnesAreNamedToo() throws {
    let (first, second) = (try SilentHost(), try SilentHost())
    let error = #expect(throws: StorageError.self) {
      try connection(["127.0.0.1", "127.0.0.1"], ["\(first.port)", "\(second.port)"])
    }
    #expect(error?.kind == .unreachable && error?.detail.contains("connect_timeout") == true)
    #expect(error?.detail.contains("port \(first.port) failed: timeout expired") == true)
  }

  /// What a host says that comes behind a silent one decides.
  @Test(.timeLimit(.minutes(2))) func aRefusalBehindASilentHostIsTold() throws {
    let silent = try SilentHost()
    let refusing = try RefusingServer("FATAL", "28P01", "nein")
    let error = #expect(throws: StorageError.self) {
      try connection(["127.0.0.1", "127.0.0.1"], ["\(silent.port)", "\(refusing.port)"])
    }
    #expect(error?.kind == .refused && refusing.attempts == 1)
    #expect(error?.detail.contains("port \(silent.port) failed: timeout expired") == true)
  }

  @Test func whoIsLeftIsAskedNext() {
    let asked = ConnectHosts.Asked(host: "b", address: "10.0.0.2", port: "2")
    func left(
      _ hosts: ConnectHosts, _ keepsOthers: Bool, _ addresses: [String], after earlier: [String] = []
    ) -> [String] {
      var hosts = hosts
      let known = earlier.map { ConnectHosts.Asked(host: "b", address: $0, port: "2") }
      let isLeft = hosts.drop(asked, after: known, keepsOthers: keepsOthers) { _ in addresses }
      #expect(isLeft == !hosts.hosts.isEmpty)
      return hosts.hosts.map { "\($0.name)/\($0.address):\($0.port)" }
    }
    let hosts = ConnectHosts(host: "a,b,c", address: nil, port: "1,2,3")
    #expect(left(hosts, false, []) == ["c/:3"])
    #expect(left(hosts, true, []) == ["c/:3", "a/:1"])
    // A name with several addresses is asked at the next one first.
    #expect(
      left(hosts, false, ["10.0.0.1", "10.0.0.2", "10.0.0.3"], after: ["10.0.0.1"])
        == ["b/10.0.0.3:2", "c/:3"])
    // The system gives them in another order than before: nobody has asked those in front of the silent one.
    #expect(
      left(hosts, false, ["10.0.0.3", "10.0.0.1", "10.0.0.2"])
        == ["b/10.0.0.3:2", "b/10.0.0.1:2", "c/:3"])
    // Those that are no standby may be good enough in the end.
    let sole = ConnectHosts(host: "b", address: nil, port: "2")
    #expect(left(sole, true, ["10.0.0.1", "10.0.0.2"], after: ["10.0.0.1"]) == ["b/10.0.0.1:2"])
    #expect(left(sole, false, ["10.0.0.1", "10.0.0.2"], after: ["10.0.0.1"]) == [])
    // Addresses that were said are one each.
    let addressed = ConnectHosts(host: "b,b", address: "10.0.0.2,10.0.0.9", port: "2")
    #expect(left(addressed, false, ["10.0.0.2", "10.0.0.3"]) == ["b/10.0.0.9:2"])
    #expect(left(ConnectHosts(host: "b", address: nil, port: nil), false, []) == [])
    // The default port, and a host that only libpq knows.
    #expect(left(ConnectHosts(host: nil, address: nil, port: nil), false, []) == [])
    var parameters = ["host": "a,b,c", "port": "1,2,3", "hostaddr": "x", "user": "u"]
    parameters = ConnectHosts(host: "c", address: nil, port: "3").replacing(parameters)
    #expect(parameters == ["host": "c", "port": "3", "user": "u"])
  }
}
