import Foundation
import StrataBrowse
import StrataCommand
import Testing
import TortureKit

/// What a server has answered.
struct Answer: CustomStringConvertible {
  let status: Int
  let headers: [String: String]
  let body: Data

  var text: String { String(decoding: body, as: UTF8.self) }
  var description: String { "\(status) \(headers) \(text.prefix(2_000))" }
  func object() throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: body) as? [String: Any], "\(self)")
  }

  /// Nil for bytes that begin no whole answer.
  init?(_ all: Data) {
    var bytes = all
    // What is announced is no answer yet.
    while bytes.starts(with: Data("HTTP/1.1 1".utf8)), let end = bytes.range(of: Data("\r\n\r\n".utf8)) {
      bytes = Data(bytes[end.upperBound...])
    }
    guard let end = bytes.range(of: Data("\r\n\r\n".utf8)) else { return nil }
    let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    let rest = bytes[end.upperBound...]
    guard let length = headers["content-length"].flatMap(Int.init), rest.count >= length else { return nil }
    self.status = status
    self.headers = headers
    body = Data(rest.prefix(length))
  }
}

/// Asks a server as no browser would: every byte is the test's.
struct Client {
  /// `http://127.0.0.1:PORT/SECRET/`.
  let address: String
  let port: UInt16
  let secret: String

  init(_ address: String) throws {
    self.address = address
    let url = try #require(URL(string: address))
    port = UInt16(try #require(url.port))
    secret = url.pathComponents[1]
  }

  /// Sends bytes on a connection of its own, says that there are no more, and reads until the other end closes.
  func raw(_ bytes: [UInt8]) throws -> Data {
    let socket = try connect()
    defer { close(socket) }
    try Self.write(bytes, to: socket)
    shutdown(socket, Int32(SHUT_WR))
    return Self.readAll(socket)
  }

  static func readAll(_ socket: Int32) -> Data {
    var result = Data()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(socket, &buffer, buffer.count)
      if count > 0 {
        result.append(contentsOf: buffer.prefix(count))
      } else if count == 0 || errno != EINTR {
        return result
      }
    }
  }

  static func write(_ bytes: [UInt8], to socket: Int32) throws {
    #if os(Linux)
      let flags = Int32(MSG_NOSIGNAL)
    #else
      let flags: Int32 = 0
    #endif
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, flags) }
      // Who refuses early does not read the rest.
      if count < 0 && (errno == EPIPE || errno == ECONNRESET) { return }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
      rest = rest.dropFirst(count)
    }
  }

  func connect() throws -> Int32 {
    #if os(Linux)
      let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    #else
      let kind = SOCK_STREAM
    #endif
    let socket = Foundation.socket(AF_INET, kind, 0)
    guard socket >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    #if !os(Linux)
      var isSilent: Int32 = 1
      setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &isSilent, socklen_t(MemoryLayout<Int32>.size))
      _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else {
      let error = errno
      close(socket)
      throw POSIXError(.init(rawValue: error) ?? .EIO)
    }
    return socket
  }

  /// One request; headers that are nil are left out.
  func ask(
    _ method: String = "GET", target: String, headers: [(String, String?)] = [], body: [UInt8]? = nil
  ) throws -> Answer {
    var lines = [("Host", Optional("127.0.0.1:\(port)")), ("Connection", "close")]
    if let body { lines.append(("Content-Length", String(body.count))) }
    for header in headers {
      lines.removeAll { $0.0 == header.0 }
      lines.append(header)
    }
    let head = lines.compactMap { name, value in value.map { "\(name): \($0)\r\n" } }.joined()
    let bytes = try raw(Array("\(method) \(target) HTTP/1.1\r\n\(head)\r\n".utf8) + (body ?? []))
    return try #require(
      Answer(bytes), "no whole answer: \(String(decoding: bytes.prefix(400), as: UTF8.self))")
  }

  private func target(_ name: String, _ query: [String: String]) throws -> String {
    let allowed = CharacterSet.alphanumerics
    let text = try query.map { key, value in
      "\(key)=\(try #require(value.addingPercentEncoding(withAllowedCharacters: allowed)))"
    }.joined(separator: "&")
    return "/\(secret)/api/\(name)?\(text)"
  }

  /// An answer of the page's.
  func get(_ name: String, _ query: [String: String] = [:]) throws -> Answer {
    try ask(target: try target(name, query))
  }

  /// The answer as JSON, when it is one without an error.
  func object(_ name: String, _ query: [String: String] = [:]) throws -> [String: Any] {
    let answer = try get(name, query)
    #expect(answer.status == 200, "\(answer)")
    return try answer.object()
  }

  /// Bytes for an attribute.
  func upload(
    _ id: String, _ name: String, _ bytes: Data, type: String? = "application/octet-stream",
    origin: String? = nil
  ) throws -> Answer {
    try ask(
      "POST", target: try target("upload", ["id": id, "name": name]),
      headers: [("Origin", origin ?? "http://127.0.0.1:\(port)"), ("Content-Type", type)],
      body: Array(bytes))
  }

  /// Posts `megabytes` of blanks in pieces, without saying how many there will be.
  func postInPieces(_ target: String, type: String, megabytes: Int) throws -> Answer? {
    let socket = try connect()
    defer { close(socket) }
    let head =
      "POST \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nOrigin: http://127.0.0.1:\(port)\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\n\r\n"
    try Self.write(Array(head.utf8), to: socket)
    let piece = Array("100000\r\n".utf8) + [UInt8](repeating: 32, count: 0x100000) + Array("\r\n".utf8)
    for _ in 0..<megabytes { try Self.write(piece, to: socket) }
    return Answer(Self.readAll(socket))
  }

  func post(_ name: String, _ body: [String: Any?] = [:], origin: String? = nil) throws -> Answer {
    let json = try JSONSerialization.data(withJSONObject: body.mapValues { $0 ?? NSNull() })
    return try ask(
      "POST", target: "/\(secret)/api/\(name)",
      headers: [("Origin", origin ?? "http://127.0.0.1:\(port)"), ("Content-Type", "application/json")],
      body: Array(json))
  }
}

/// A page about a library, which the program `strata-browse` serves as a process of its own until this is let go.
final class Page: @unchecked Sendable {
  // @unchecked Sendable: the process is started in the beginning, and ends with this.

  let library: Library
  let process: ChildProcess
  let client: Client

  /// - Parameter arguments: `--write`, for one.
  init(_ library: Library, _ arguments: String...) throws {
    self.library = library
    process = try ChildProcess(ChildProcess.program("strata-browse"), [library.path] + arguments)
    client = try Client(try #require(process.readLine()))
  }
}
