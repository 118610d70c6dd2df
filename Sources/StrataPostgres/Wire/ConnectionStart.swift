import CLibPQ
import Foundation
import StrataCore

// How a connection begins: what libpq is told.

extension PostgresConnection {
  /// Begins to connect. Where only the environment or a service file names a server on a network, and nothing says how it proves who it is, this begins anew so
  /// that it must.
  static func startVerified(_ parameters: [String: String]) throws -> OpaquePointer {
    let handle = try start(parameters)
    if parameters["sslmode"] != nil { return handle }
    var (host, hostAddress, mode): (String?, String?, String?)
    let options = PQconninfo(handle)
    var next = options
    while let option = next?.pointee, let keyword = option.keyword {
      let value = option.val.map { String(cString: $0) }
      switch String(cString: keyword) {
      case "host": host = value
      case "hostaddr": hostAddress = value
      case "sslmode":
        // libpq's own default is nobody's word.
        let isDefault = value == option.compiled.map { String(cString: $0) }
        if !isDefault || getenv("PGSSLMODE") != nil { mode = value }
      default: break
      }
      next = next?.successor()
    }
    PQconninfoFree(options)
    guard mode == nil, ServerAddress.isOnNetwork(host: host, hostAddress: hostAddress) else { return handle }
    PQfinish(handle)
    return try start(parameters.merging(["sslmode": ServerAddress.verifying]) { $1 })
  }

  /// The options of sessions that the environment or the service file has; nil for none.
  /// - Throws: as ``startVerified(_:)``.
  static func optionsElsewhere(_ parameters: [String: String]) throws -> String? {
    let found: String?
    if parameters["service"] == nil, getenv("PGSERVICE") == nil {
      found = getenv("PGOPTIONS").map { String(cString: $0) }
    } else {
      // Only libpq knows what is in the file. It has read it when it begins to connect.
      let handle = try start(parameters)
      defer { PQfinish(handle) }
      found = option("options", of: handle)
    }
    return found.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// How long connecting to one address of one host may take by `connect_timeout`, of the address, the environment or a service file; nil for no limit. libpq itself looks
  /// at it only where it waits itself.
  static func connectLimit(of handle: OpaquePointer) -> Duration? {
    guard let seconds = option("connect_timeout", of: handle).flatMap({ Int32($0) }), seconds > 0 else {
      return nil
    }
    // As libpq: one second is not enough for it to count in.
    return .seconds(Int64(max(seconds, 2)))
  }

  /// The hosts that a connection is made to.
  static func hosts(of handle: OpaquePointer) -> ConnectHosts {
    ConnectHosts(
      host: option("host", of: handle), address: option("hostaddr", of: handle),
      port: option("port", of: handle))
  }

  /// Whom libpq is asking at the moment.
  static func asked(of handle: OpaquePointer) -> ConnectHosts.Asked {
    func text(_ value: UnsafeMutablePointer<CChar>?) -> String { value.map { String(cString: $0) } ?? "" }
    return ConnectHosts.Asked(
      host: text(PQhost(handle)), address: text(PQhostaddr(handle)), port: text(PQport(handle)))
  }

  /// Whether libpq may come back to hosts that it has asked, or asks them in another order than they are said in.
  static func mayComeBack(of handle: OpaquePointer) -> Bool {
    option("target_session_attrs", of: handle) == "prefer-standby"
      || option("load_balance_hosts", of: handle) == "random"
  }

  /// Whether it may be tried again to connect, after a moment, which this waits: the server had no connection to spare, and there is time left.
  static func mayTryAgain(after error: any Error, until deadline: ContinuousClock.Instant) -> Bool {
    let pause = Double.random(in: 0.02...0.1)
    guard (error as? StorageError)?.kind == .serverBusy,
      ContinuousClock.now + .milliseconds(Int(pause * 1_000)) < deadline
    else { return false }
    Thread.sleep(forTimeInterval: pause)
    return true
  }

  /// The value of a parameter that a connection is made with; nil for none.
  private static func option(_ name: String, of handle: OpaquePointer) -> String? {
    let options = PQconninfo(handle)
    defer { PQconninfoFree(options) }
    var next = options
    while let option = next?.pointee, let keyword = option.keyword {
      if String(cString: keyword) == name { return option.val.map { String(cString: $0) } }
      next = next?.successor()
    }
    return nil
  }

  private static func start(_ parameters: [String: String]) throws -> OpaquePointer {
    // The connection must not become what messages are written to.
    StandardDescriptors.hold()
    let entries = parameters.sorted { $0.key < $1.key }
    var keywords = entries.map { strdup($0.key) }
    var values = entries.map { strdup($0.value) }
    defer { (keywords + values).forEach { free($0) } }
    keywords.append(nil)
    values.append(nil)
    let handle = keywords.map { UnsafePointer<CChar>($0) }.withUnsafeBufferPointer { keywords in
      values.map { UnsafePointer<CChar>($0) }.withUnsafeBufferPointer { values in
        PQconnectStartParams(keywords.baseAddress, values.baseAddress, 0)
      }
    }
    guard let handle else {
      throw StorageError(
        .outOfMemory, operation: "connect", path: "", detail: "There is no memory for a connection.")
    }
    return handle
  }
}
