import Foundation
import NIOHTTP1

/// Who may ask, and what.
///
/// Three things are looked at before anything else of a request. The secret in its path: nobody but who was told the address has it. The host that
/// it is sent to: a page of somebody else whose name leads to this computer sends that name. Its origin: a page of somebody else in the same browser
/// says so.
struct Gate: Sendable {
  /// A request that may be answered.
  enum Passed: Sendable, Equatable {
    /// The page, or what belongs to it.
    case file(String)
    case answer(name: String, query: [String: String], isPost: Bool)
  }

  /// How a request is turned away.
  struct Refusal: Error, Equatable {
    let status: HTTPResponseStatus
    var allow: String?
    /// Why, for who knows the secret.
    var sentence: String?
  }

  /// A longer target is none of the page's.
  static let longestTarget = 16_384

  private let secret: [UInt8]
  private let hosts: Set<String>
  private let origins: Set<String>
  private let names: Set<String>
  private let changing: Set<String>
  private let takingBytes: Set<String>

  /// - Parameters:
  ///   - names: The answers that there are.
  ///   - changing: Those of them that change something.
  ///   - takingBytes: Those of these that are sent bytes as they are, not JSON.
  init(
    secret: String, port: Int, names: Set<String>, changing: Set<String>, takingBytes: Set<String>
  ) {
    self.secret = Array(secret.utf8)
    let own = ["127.0.0.1", "localhost"]
    // Browsers leave out the port that is HTTP's own.
    hosts = Set(own.map { "\($0):\(port)" } + (port == 80 ? own : []))
    origins = Set(hosts.map { "http://\($0)" })
    (self.names, self.changing, self.takingBytes) = (names, changing, takingBytes)
  }

  /// 192 bits that nobody can guess, as letters and digits.
  static func makeSecret() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<3).map { _ in
      let text = String(generator.next() as UInt64, radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }.joined()
  }

  /// Lets a request in.
  /// - Throws: ``Refusal``. Without the secret it is 404 or 403, whatever else is wrong.
  func pass(_ head: HTTPRequestHead) throws(Refusal) -> Passed {
    let target = head.uri.utf8
    guard target.count <= Self.longestTarget, target.first == UInt8(ascii: "/") else {
      throw Refusal(status: .notFound)
    }
    let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = parts[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    guard path.count >= 2, isSecret(path[0]) else { throw Refusal(status: .notFound) }
    try checkSender(head)

    if path.count == 2, PageFile.isKnown(String(path[1])) {
      guard head.method == .GET else { throw Refusal(status: .methodNotAllowed, allow: "GET") }
      return .file(String(path[1]))
    }
    guard path.count == 3, path[1] == "api", names.contains(String(path[2])) else {
      throw Refusal(status: .notFound)
    }
    let name = String(path[2])
    let changes = changing.contains(name)
    guard head.method == (changes ? .POST : .GET) else {
      throw Refusal(status: .methodNotAllowed, allow: changes ? "POST" : "GET")
    }
    if changes {
      // Browsers send it with every POST.
      guard head.headers["origin"].count == 1 else { throw Refusal(status: .forbidden) }
      // Neither can be sent by a form of another page.
      let type = takingBytes.contains(name) ? "application/octet-stream" : "application/json"
      guard head.headers["content-type"] == [type] else {
        throw Refusal(status: .unsupportedMediaType)
      }
    }
    guard let query = Self.query(parts.count > 1 ? parts[1] : "") else { throw Refusal(status: .badRequest) }
    return .answer(name: name, query: query, isPost: changes)
  }

  private func checkSender(_ head: HTTPRequestHead) throws(Refusal) {
    let host = head.headers["host"]
    guard host.count == 1, hosts.contains(host[0].lowercased()) else { throw Refusal(status: .forbidden) }
    for origin in head.headers["origin"] where !origins.contains(origin.lowercased()) {
      throw Refusal(status: .forbidden)
    }
    // Newer browsers say of every request where it comes from. “none” is the user, who has typed the address.
    for site in head.headers["sec-fetch-site"] where site != "same-origin" && site != "none" {
      throw Refusal(status: .forbidden)
    }
  }

  /// Takes the same time however much of the secret is right.
  private func isSecret(_ text: Substring) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count == secret.count else { return false }
    var difference: UInt8 = 0
    for place in secret.indices { difference |= bytes[place] ^ secret[place] }
    return difference == 0
  }

  /// The names and values of a query; nil for what is no text.
  private static func query(_ text: Substring) -> [String: String]? {
    var result: [String: String] = [:]
    for part in text.split(separator: "&") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let key = pair[0].removingPercentEncoding,
        let value = (pair.count > 1 ? pair[1] : "").removingPercentEncoding,
        result.updateValue(value, forKey: key) == nil
      else { return nil }
    }
    return result
  }
}
