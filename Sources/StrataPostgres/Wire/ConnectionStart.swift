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
