import Foundation
import StrataCore

/// Where a store is: a database on a server, and the namespace in it that holds the store's tables.
///
/// ```
///   postgres://role@host:5432/database?namespace=journal&sslmode=verify-full
///   postgres:///database?host=/var/run/postgresql&namespace=journal          a socket
/// ```
///
/// Everything behind the question mark but `namespace` is a parameter of libpq. What is missing comes from libpq's environment variables, its service file
/// and its defaults. The password is no part of the address: it comes from the password file, from `PGPASSWORD` or from a service file.
struct ServerAddress: Sendable, Hashable {
  /// The namespace (schema, in SQL's word) of the store's tables.
  let namespace: String
  /// Keywords of libpq with their values, in alphabetical order.
  let parameters: [String: String]
  /// The address as it was given, without anything secret: URLs with passwords are refused.
  let url: URL

  static let schemes: Set = ["postgres", "postgresql"]
  static let defaultNamespace = "strata"

  /// What may stand behind the question mark.
  private static let permitted: Set = [
    "host", "hostaddr", "port", "user", "dbname", "connect_timeout", "application_name", "sslmode",
    "sslrootcert",
    "sslcert", "sslkey", "sslcrl", "sslcrldir", "sslsni", "ssl_min_protocol_version",
    "ssl_max_protocol_version",
    "gssencmode", "krbsrvname", "gsslib", "service", "passfile", "channel_binding", "target_session_attrs",
    "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
    "load_balance_hosts",
    "requirepeer", "require_auth",
  ]

  /// - Throws: ``StorageError`` `.invalid` for a URL that is no address of a store.
  init(_ url: URL) throws {
    guard let components = URLComponents(url: url, resolvingAgainstBaseURL: true),
      let scheme = components.scheme?.lowercased(), Self.schemes.contains(scheme)
    else { throw Self.invalid("The address of a store on PostgreSQL begins with postgres://.") }
    if components.password != nil {
      throw Self.invalid(
        "The address of a store must not hold a password: put it into the password file ~/.pgpass, a service file or PGPASSWORD."
      )
    }
    var parameters: [String: String] = [:]
    if let host = components.host, !host.isEmpty {
      // Brackets belong to the URL, not to the address.
      parameters["host"] = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    }
    if let port = components.port { parameters["port"] = String(port) }
    if let user = components.user, !user.isEmpty { parameters["user"] = user }
    let database = components.path.drop { $0 == "/" }
    if database.contains("/") {
      throw Self.invalid(
        "The address of a store names one database; its namespace stands behind ?namespace=.")
    }
    if !database.isEmpty { parameters["dbname"] = String(database) }
    var namespace = Self.defaultNamespace
    for item in components.queryItems ?? [] {
      guard let value = item.value, !value.isEmpty else { continue }
      if item.name == "namespace" {
        namespace = value
      } else if Self.permitted.contains(item.name) {
        parameters[item.name] = value
      } else {
        throw Self.invalid(
          item.name == "password"
            ? "The address of a store must not hold a password: put it into the password file ~/.pgpass, a service file or PGPASSWORD."
            : "“\(item.name)” is no parameter of the address of a store.")
      }
    }
    try Identifier.check(namespace)
    if namespace.hasPrefix("pg_") || namespace == "information_schema" {
      throw Self.invalid("The namespace “\(namespace)” belongs to the database server.")
    }
    // Over a network the server must prove who it is, unless the address says otherwise. A server that the environment or a service file names is looked at by the
    // connection: only libpq knows which one that is.
    if parameters["sslmode"] == nil, parameters["service"] == nil,
      Self.isOnNetwork(host: parameters["host"], hostAddress: parameters["hostaddr"])
    {
      parameters["sslmode"] = Self.verifying
    }
    // What the address, the environment or a service file says comes before it.
    parameters["fallback_application_name"] = "strata"
    self.namespace = namespace
    self.parameters = parameters
    self.url = url
  }

  /// The value of `sslmode` with which a server proves who it is.
  static let verifying = "verify-full"

  /// Whether libpq may talk to a server over a network: an address is given, or a host that is not a socket.
  /// - Parameters:
  ///   - host: Hosts with commas between them. A socket's folder begins with a slash, an abstract socket with @; an empty host is libpq's default, a socket.
  ///   - hostAddress: Addresses with commas between them; an empty one leaves it to the host.
  static func isOnNetwork(host: String?, hostAddress: String?) -> Bool {
    let hosts = (host ?? "").split(separator: ",")
    let addresses = (hostAddress ?? "").split(separator: ",")
    return !addresses.isEmpty || hosts.contains { !$0.hasPrefix("/") && !$0.hasPrefix("@") }
  }

  /// Host and database, for messages.
  var words: String {
    "The server at \(parameters["host"] ?? parameters["hostaddr"] ?? parameters["service"] ?? "libpq's default address")"
  }

  private static func invalid(_ detail: String) -> StorageError {
    StorageError(.invalid, operation: "open store", path: "", detail: detail)
  }
}
