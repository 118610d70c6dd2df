import Foundation

/// The turn of a process to take a store through several steps, between which it is open and closed again and its file may be exchanged: a lock on a file of its own
/// beside the store, `Name.strata-stages`, which goes with the turn.
///
/// The lock is the system's (`flock`): a process that dies leaves it, and its file, which the next one uses. Where the folder cannot be written or the file system
/// has no such locks, there are no turns.
enum StageTurn {
  private static let suffix = "-stages"
  private static let longestPause = Duration.milliseconds(50)

  /// Runs `body` when no other process has the turn at the store.
  ///
  /// - Parameter patience: How long to wait for that.
  /// - Throws: ``StorageError`` `.busy` when another process keeps it; `.aliased` when something else has the file's name; what `body` throws.
  static func take<R>(_ file: StoreFile, _ patience: Patience, _ body: () throws -> R) throws -> R {
    let taken = try patience.wait { try descriptor(file, until: $0) }
    guard let taken else { return try body() }
    defer {
      // Another one that has the name meanwhile is another process's.
      if isNamed(file, taken) { _ = file.system.unlink(file.path + suffix) }
      _ = file.system.close(taken)
    }
    return try body()
  }

  private static func isNamed(_ file: StoreFile, _ descriptor: Int32) -> Bool {
    guard case .success(let own) = file.system.statusOfDescriptor(descriptor),
      case .success(let named) = file.system.status(file.path + suffix)
    else { return false }
    return named.identity == own.identity
  }

  /// Of the locked file, which has the name; nil where there are no turns.
  private static func descriptor(_ file: StoreFile, until deadline: ContinuousClock.Instant) throws -> Int32?
  {
    let (system, path) = (file.system, file.path + suffix)
    var pause = Duration.milliseconds(1)
    while true {
      let descriptor = system.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
      if [-EACCES, -EPERM, -EROFS].contains(descriptor) { return nil }
      if descriptor < 0 { throw StorageError(-descriptor, "open", path: path) }
      guard case .success(let status) = system.statusOfDescriptor(descriptor), status.kind == .regular,
        status.size == 0
      else {
        _ = system.close(descriptor)
        throw StorageError(
          .aliased, operation: "open", path: path,
          detail:
            "There is something else under the name of the file that lets processes take turns in migrating the store."
        )
      }
      // Who may use the store waits for this process, and does not fail.
      file.givePermissions(to: path)
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
        // The one before has removed the file before it let it go.
        if isNamed(file, descriptor) { return descriptor }
      } else if errno != EWOULDBLOCK && errno != EINTR {
        _ = system.close(descriptor)
        return nil
      }
      _ = system.close(descriptor)
      guard .now < deadline else {
        throw StorageError(
          .busy, operation: "flock", path: file.path,
          detail:
            "Another process migrates the store in stages. Nothing was changed; try again when it has finished."
        )
      }
      usleep(UInt32(pause / .microseconds(1)))
      pause = min(pause * 2, longestPause)
    }
  }
}
