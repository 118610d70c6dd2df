import Foundation

/// The hosts that libpq asks for a connection, one after the other, and what is left of them when one of them keeps silent.
///
/// Where libpq does not wait itself it does not look at `connect_timeout`, and cannot be told to go on to the next host. So whoever waits begins anew, with the hosts that are
/// left.
struct ConnectHosts: Equatable {
  struct Host: Equatable {
    /// As it was said; empty for libpq's default, or where only an address was said.
    var name: String
    /// The address, where it was said.
    var address: String
    /// Empty for the default.
    var port: String
  }

  /// Whom libpq is asking, as it tells itself.
  struct Asked: Equatable {
    let host: String
    let address: String
    let port: String

    /// What libpq says where it waits itself.
    var silence: String {
      let words = address.isEmpty || address == host ? "" : " (\(address))"
      return "connection to server at \"\(host)\"\(words), port \(port) failed: timeout expired\n"
    }
  }

  private(set) var hosts: [Host]

  /// - Parameters:
  ///   - host: Hosts with commas between them; nil for libpq's default.
  ///   - address: Their addresses likewise; nil where none is said.
  ///   - port: Their ports, or one for all of them.
  init(host: String?, address: String?, port: String?) {
    func list(_ text: String?) -> [String] {
      text.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []
    }
    let (names, addresses, ports) = (list(host), list(address), list(port))
    hosts = (0..<max(names.count, addresses.count, 1)).map { place in
      let port = ports.count == 1 ? ports[0] : ports.indices.contains(place) ? ports[place] : ""
      return Host(
        name: names.indices.contains(place) ? names[place] : "",
        address: addresses.indices.contains(place) ? addresses[place] : "", port: port)
    }
  }

  /// Takes a host that has kept silent away, and those that were asked before it. False when nobody is left.
  /// - Parameters:
  ///   - earlier: Those that were asked before it.
  ///   - keepsOthers: Whether those that come before it may still be asked: libpq takes them in another order, or asks twice.
  ///   - addresses: All addresses of the name; one that has several is asked next at those that were not asked yet.
  mutating func drop(
    _ asked: Asked, after earlier: [Asked], keepsOthers: Bool,
    addresses: (Host) -> [String] = ConnectHosts.addresses
  ) -> Bool {
    func isAsked(_ host: Host) -> Bool {
      let name = host.name.isEmpty ? host.address : host.name
      return (name.isEmpty || name == asked.host) && (host.port.isEmpty || host.port == asked.port)
    }
    let place =
      hosts.firstIndex { isAsked($0) && $0.address == asked.address } ?? hosts.firstIndex(where: isAsked)
    guard let place else { return false }
    let host = hosts[place]
    var next: [Host] = []
    if host.address.isEmpty, !host.name.isEmpty, !host.name.hasPrefix("/"), !host.name.hasPrefix("@") {
      // The system may give them in another order each time.
      let known = (keepsOthers ? [] : earlier) + [asked]
      next = addresses(host).filter { address in
        !known.contains { $0.host == asked.host && $0.port == asked.port && $0.address == address }
      }.map { Host(name: host.name, address: $0, port: host.port) }
    }
    let before = keepsOthers ? Array(hosts[..<place]) : []
    hosts = next + hosts[(place + 1)...] + before
    return !hosts.isEmpty
  }

  /// The parameters of a connection with these hosts instead.
  func replacing(_ parameters: [String: String]) -> [String: String] {
    var result = parameters
    for (key, values) in [
      ("host", hosts.map(\.name)), ("hostaddr", hosts.map(\.address)), ("port", hosts.map(\.port)),
    ] {
      // Where nobody says anything the key stays away: libpq takes its default.
      result[key] = values.allSatisfy(\.isEmpty) ? nil : values.joined(separator: ",")
    }
    return result
  }

  /// The addresses of a name as the system gives them, in the order in which libpq asks them; empty when it gives none.
  static func addresses(_ host: Host) -> [String] {
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host.name, nil, nil, &found) == 0 else { return [] }
    defer { freeaddrinfo(found) }
    var addresses: [String] = []
    var next = found
    while let entry = next?.pointee {
      var bytes = [CChar](repeating: 0, count: 64)
      let length = socklen_t(bytes.count)
      if getnameinfo(entry.ai_addr, entry.ai_addrlen, &bytes, length, nil, 0, NI_NUMERICHOST) == 0 {
        let text = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // Each address comes once for every kind of socket.
        if !addresses.contains(text) { addresses.append(text) }
      }
      next = entry.ai_next
    }
    return addresses
  }
}
