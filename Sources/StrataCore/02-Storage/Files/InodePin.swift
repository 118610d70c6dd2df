import CLMDBShim
import Foundation
import Synchronization

/// Keeps the inode of a file that LMDB has closed and that may have no name any more, so that no new file gets its number: the registry knows
/// stores by it, and would take the new one for the old one.
///
/// On Linux only: elsewhere inodes are 64-bit numbers that are not used again. The descriptor is none that reads (`O_PATH`), so that closing it
/// leaves locks alone.
final class InodePin: Sendable {
  /// -1 for none.
  private let descriptor = Atomic<CInt>(-1)

  deinit { release() }

  /// The file of that environment. Nothing happens where the system does not help: then a number may be used again, as before.
  func hold(_ environment: OpaquePointer) {
    #if os(Linux) || os(Android)
      var file: CInt = -1
      guard mdb_env_get_fd(environment, &file) == 0, file >= 0 else { return }
      let path = open("/proc/self/fd/\(file)", 0o10_000_000 | O_CLOEXEC)
      if path < 0 { return }
      let old = descriptor.exchange(path, ordering: .acquiringAndReleasing)
      if old >= 0 { close(old) }
    #endif
  }

  /// The file is open again, or nobody knows it by its inode any more.
  func release() {
    let old = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
    if old >= 0 { close(old) }
  }
}
