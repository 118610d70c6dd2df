import Foundation

/// A socket on a port of this machine that takes connections, and what is done with them, on a thread of its own.
///
/// Where that thread accepts them, it alone closes the socket. If another thread did, the number could be a new socket's before this one asks for the next connection,
/// and it would take the connections of that one.
enum ListeningSocket {
  struct Failure: Error { let call: String }

  /// A socket whose connections nobody accepts yet: the system takes them, and whoever connects waits for an answer.
  /// - Parameter backlog: How many the system takes.
  static func open(backlog: Int32 = 64) throws -> (listener: Int32, port: UInt16) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard listener >= 0 else { throw Failure(call: "socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      // A socket's address of the kind of the internet is one of any kind.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, backlog) == 0
          && getsockname(listener, $0, &length) == 0
      }
    }
    guard isBound else {
      close(listener)
      throw Failure(call: "bind")
    }
    return (listener, UInt16(bigEndian: address.sin_port))
  }

  /// - Parameter take: Gets each client's descriptor, and closes it. Called by the thread that accepts.
  static func acceptAll(_ listener: Int32, _ take: @escaping @Sendable (_ client: Int32) -> Void) {
    Thread {
      while true {
        let client = accept(listener, nil, nil)
        if client >= 0 {
          take(client)
        } else if errno == EINVAL {
          // What `end` makes of it.
          close(listener)
          return
        }
      }
    }.start()
  }

  /// Has the thread accept no more connections and close the socket. Called once.
  static func end(_ listener: Int32) {
    shutdown(listener, Int32(SHUT_RDWR))
  }
}
