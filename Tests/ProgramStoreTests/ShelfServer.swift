import CoreData
import struct StrataCore.Mutex

/// What a store over the network talks to: resources by name, records by identifier, each with a version. May fail when told to.
final class ShelfServer: @unchecked Sendable {
  // @unchecked Sendable: everything is behind the lock.

  struct Record {
    var values: [String: Any]
    var version: UInt64 = 1
  }

  struct Refused: Error, Equatable { let reason: String }
  /// The record was changed since the version that the client knows.
  struct Outdated: Error { let identifiers: [String] }

  private let lock = NSRecursiveLock()
  private var resources: [String: [String: Record]] = [:]
  private var requests: [String] = []
  private var failures: [String: String] = [:]
  private var lastNumber = 0
  private(set) var metadata: [String: Any] = [:]

  /// What was asked since the last time.
  func takeLog() -> [String] {
    lock.withLock {
      defer { requests = [] }
      return requests
    }
  }

  /// Lets requests that begin with `prefix` fail until `recover()`.
  func fail(_ prefix: String, _ reason: String) { lock.withLock { failures[prefix] = reason } }
  func recover() { lock.withLock { failures = [:] } }

  private func begin(_ request: String) throws {
    requests.append(request)
    for (prefix, reason) in failures where request.hasPrefix(prefix) { throw Refused(reason: reason) }
  }

  /// Puts a record there behind the clients' backs.
  func plant(_ resource: String, _ identifier: String, _ values: [String: Any]) {
    lock.withLock {
      var record = resources[resource]?[identifier] ?? Record(values: [:], version: 0)
      record.values.merge(values) { $1 }
      record.version += 1
      resources[resource, default: [:]][identifier] = record
    }
  }

  func remove(_ resource: String, _ identifier: String) {
    lock.withLock { _ = resources[resource]?.removeValue(forKey: identifier) }
  }

  /// Without being noted.
  func peek(_ resource: String, _ identifier: String) -> Record? {
    lock.withLock { resources[resource]?[identifier] }
  }
  func count(_ resource: String) -> Int { lock.withLock { resources[resource]?.count ?? 0 } }

  func list(_ resource: String) throws -> [String] {
    try lock.withLock {
      try begin("LIST \(resource)")
      return (resources[resource] ?? [:]).keys.sorted()
    }
  }

  func get(_ resource: String, _ identifier: String) throws -> Record? {
    try lock.withLock {
      try begin("GET \(resource)/\(identifier)")
      return resources[resource]?[identifier]
    }
  }

  func makeIdentifier(_ resource: String) throws -> String {
    try lock.withLock {
      try begin("NEW \(resource)")
      lastNumber += 1
      return "\(resource.lowercased())-\(lastNumber)"
    }
  }

  enum Change {
    case put(resource: String, identifier: String, values: [String: Any], known: UInt64?)
    case delete(resource: String, identifier: String)
    case metadata([String: Any])
  }

  /// All or nothing.
  func apply(_ changes: [Change]) throws {
    try lock.withLock {
      try begin("APPLY \(changes.count)")
      let outdated = changes.compactMap { change -> String? in
        guard case .put(let resource, let identifier, _, let known?) = change,
          let stored = resources[resource]?[identifier], stored.version != known
        else { return nil }
        return identifier
      }
      if !outdated.isEmpty { throw Outdated(identifiers: outdated) }
      for change in changes {
        switch change {
        case .put(let resource, let identifier, let values, _): plant(resource, identifier, values)
        case .delete(let resource, let identifier): remove(resource, identifier)
        case .metadata(let new): metadata = new
        }
      }
    }
  }

  // MARK: By URL

  private static let running = Mutex<[String: ShelfServer]>([:])

  /// A new server, and the URL of it.
  static func start() -> (server: ShelfServer, url: URL) {
    let server = ShelfServer()
    let host = UUID().uuidString.lowercased()
    running.withLock { $0[host] = server }
    guard let url = URL(string: "shelf://\(host)/api") else { fatalError("a URL of letters and digits") }
    return (server, url)
  }

  static func at(_ url: URL) -> ShelfServer? {
    running.withLock { $0[url.host?.lowercased() ?? ""] }
  }
}
