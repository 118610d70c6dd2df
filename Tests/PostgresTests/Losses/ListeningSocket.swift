import Foundation

/// Accepts the connections of a listening socket, on a thread of its own.
///
/// That thread alone closes the socket. If another thread did, the number could be a new socket's before this one asks for the next connection,
/// and it would take the connections of that one.
enum ListeningSocket {
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
