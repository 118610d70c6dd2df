import Foundation
import StrataCore

/// Answers whoever wants to connect with an error, as a server does that has no session for him. On a port of this machine.
///
/// Unsafe parts: file descriptors. A client's is closed by the thread that accepted it, the listening one as ``ListeningSocket`` says.
final class RefusingServer: Sendable {
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
    (listener, port) = try ListeningSocket.open()
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
