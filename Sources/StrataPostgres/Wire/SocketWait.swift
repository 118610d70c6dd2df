import Foundation

/// How waiting for a socket has ended.
enum SocketWait {
  /// It can be read or written, or has something to tell.
  case ready
  /// The deadline has passed.
  case late
  /// The system cannot wait for it.
  case failed

  /// Waits until `socket` can be read or written, as asked. Interrupted calls go on.
  ///
  /// - Parameter deadline: Nil waits without end.
  static func wait(
    for socket: Int32, reading: Bool, writing: Bool, until deadline: ContinuousClock.Instant?
  ) -> SocketWait {
    var events: Int16 = 0
    if reading { events |= Int16(POLLIN) }
    if writing { events |= Int16(POLLOUT) }
    while true {
      var descriptor = pollfd(fd: socket, events: events, revents: 0)
      var milliseconds: Int32 = -1
      if let deadline {
        let left = deadline - ContinuousClock.now
        if left <= .zero { return .late }
        milliseconds = (left + .milliseconds(1)).milliseconds
      }
      let count = poll(&descriptor, 1, milliseconds)
      if count > 0 { return .ready }
      if count < 0, errno != EINTR { return .failed }
    }
  }
}
