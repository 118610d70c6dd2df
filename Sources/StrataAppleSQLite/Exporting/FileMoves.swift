import CLMDBShim
import Foundation

/// Names of files that are ready.
enum FileMoves {
  /// Gives a file or folder a name that nobody has, for good.
  /// - Throws: `AppleStoreError`, `.exists` above all.
  static func rename(_ from: String, to destination: String) throws {
    var code = strata_rename_exclusive(from, destination)
    if code == ENOSYS || code == EINVAL || code == ENOTSUP {
      var status = stat()
      code = lstat(destination, &status) == 0 ? EEXIST : Foundation.rename(from, destination) == 0 ? 0 : errno
    }
    if code != 0 { throw AppleStoreError.system(code, destination) }
    do { try syncFolder(of: destination) } catch {
      // It is unknown whether the name will last, and another attempt must not find it taken.
      try? FileManager.default.removeItem(atPath: destination)
      throw error
    }
  }

  /// Writes out the names in a folder.
  static func syncFolder(of path: String) throws {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { throw AppleStoreError.system(errno, folder) }
    defer { close(descriptor) }
    // Some file systems have nothing to do there and say so.
    if fsync(descriptor) != 0, errno != EINVAL { throw AppleStoreError.system(errno, folder) }
  }

  /// Writes out a file.
  static func sync(_ path: String) throws {
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    if descriptor < 0 { throw AppleStoreError.system(errno, path) }
    defer { close(descriptor) }
    if fsync(descriptor) != 0 { throw AppleStoreError.system(errno, path) }
  }
}
