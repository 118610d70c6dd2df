import Foundation

/// Whether the process that started this one is still there.
enum Parentage {
  /// Ends this process at once when the other end of its standard output is closed, as when the process that started it was killed.
  /// Does nothing when standard output is no socket: then `ChildProcess` has not started it.
  static func endWithParent() {
    var status = stat()
    guard fstat(STDOUT_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
    Thread.detachNewThread {
      var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
      while poll(&output, 1, -1) >= 0 || errno == EINTR {
        if Int32(output.revents) & (POLLHUP | POLLERR | POLLNVAL) != 0 { _exit(1) }
      }
    }
  }
}
