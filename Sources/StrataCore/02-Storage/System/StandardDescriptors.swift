import Foundation

/// The descriptors 0, 1 and 2, to which programs write their messages, whatever is open there.
///
/// The system gives a file the lowest number that is free. In a process that runs with these three closed, as some daemons do, a store would get them, and the next
/// message would be written over its pages.
package enum StandardDescriptors {
  /// Opens the null device as those of the three that are closed, for good: children are to have them, too. Call it before every opening of a file or socket whose
  /// contents matter: a program may close them at any time.
  package static func hold() {
    for descriptor: CInt in 0...2 where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
      var opened = open("/dev/null", O_RDWR)
      // There may be no such device where the root directory is another one.
      if opened < 0 { opened = open("/", O_RDONLY) }
      // Another thread was faster.
      if opened > 2 { close(opened) }
    }
  }
}
