import Foundation
import StrataCore

/// Descriptors of stores that are being read.
///
/// Systems forget all locks of a process on a file when it closes one of its descriptors, whoever has opened that, and SQLite locks the store that it reads in place. So a descriptor is closed only when
/// nobody here reads the file any more.
enum SourceDescriptors {
  /// A file, whatever its names are.
  struct File: Hashable {
    private let device: UInt64
    private let inode: UInt64

    /// Nil when there is no such file.
    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      (device, inode) = (UInt64(truncatingIfNeeded: status.st_dev), UInt64(status.st_ino))
    }
  }

  private struct Use {
    var readers = 0
    var descriptors: [Int32] = []
  }

  private static let uses = Mutex<[File: Use]>([:])

  /// Somebody begins to read the file. The caller must call `end`, once all that it has opened of it is closed.
  static func begin(_ file: File) { uses.withLock { $0[file, default: Use()].readers += 1 } }

  static func end(_ file: File) {
    uses.withLock { uses in
      guard var use = uses[file] else { return }
      use.readers -= 1
      uses[file] = use.readers == 0 ? nil : use
      // Under the lock: nobody begins before they are closed.
      if use.readers == 0 { use.descriptors.forEach { close($0) } }
    }
  }

  /// Takes over a descriptor of a file that the caller reads: closes it, now or when nobody else reads the file.
  static func release(_ descriptor: Int32, of file: File) {
    uses.withLock { uses in
      if uses[file]?.readers ?? 0 > 1 {
        uses[file]?.descriptors.append(descriptor)
      } else {
        close(descriptor)
      }
    }
  }
}
