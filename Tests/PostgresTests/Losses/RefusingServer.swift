import Foundation
import StrataCore

/// Answers whoever wants to connect with an error, as a server does that has no session for him. On a port of this machine.
///
/// Unsafe parts: file descriptors. A client's is closed by the thread that accepted it, the listening one as ``ListeningSocket`` says.
final class RefusingServer: Sendable {
  struct Failure: Error { let call: String }

  let port: UInt16
  private let listener: Int32
  private let count = Mutex(0)

  /// How many wanted to connect.
  var attempts: Int { count.withLock { $0 } }

  /// - Parameters:
  ///   - severity: The word in the server's language.
  ///   - state: The SQLSTATE.
  ///   - first: What it answers those instead who come first, one after the other.
  init(_ severity: String, _ state: String, _ message: String, first: [String] = []) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard listener >= 0 else { throw Failure(call: "socket") }
    self.listener = listener
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 64) == 0
          && getsockname(listener, $0, &length) == 0
      }
    }
    guard isBound else { throw Failure(call: "bind") }
    port = UInt16(bigEndian: address.sin_port)
    let answers = (first + [state]).map { state in
      var fields: [UInt8] = []
      for (code, text) in [("S", severity), ("V", "FATAL"), ("C", state), ("M", message)] {
        fields += Array(code.utf8) + Array(text.utf8) + [0]
      }
      fields.append(0)
      let size = UInt32(fields.count + 4)
      return [UInt8(ascii: "E")] + withUnsafeBytes(of: size.bigEndian) { Array($0) } + fields
    }
    ListeningSocket.acceptAll(listener) { [weak self] client in
      defer { close(client) }
      guard let self else { return }
      let place = count.withLock { count in
        defer { count += 1 }
        return count
      }
      var request = [UInt8](repeating: 0, count: 4_096)
      _ = recv(client, &request, request.count, 0)
      let answer = answers[min(place, answers.count - 1)]
      _ = send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
    }
  }

  deinit { ListeningSocket.end(listener) }
}
