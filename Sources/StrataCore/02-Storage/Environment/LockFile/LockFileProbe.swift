import Foundation

/// The lock file of an environment that LMDB has open, opened once more: to ask who else has it, and to tell others that a store of this package has it.
///
/// Closing it would drop all locks that LMDB has on the file in this process: it is closed when LMDB has closed its own. A child made by `fork` closes its copy at once.
struct LockFileProbe {
  let descriptor: Int32
  private let system: FileSystem
  private let place: Int?

  /// Nil where another file has its name by now.
  ///
  /// - Throws: ``StorageError`` when it cannot be opened.
  init?(_ file: StoreFile, _ lock: FileSystem.Identity) throws {
    system = file.system
    let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    var opened = system.open(file.lockPath, O_RDWR | flags, 0)
    if [EACCES, EPERM, EROFS].contains(-opened) {
      opened = system.open(file.lockPath, O_RDONLY | flags, 0)
    }
    if opened < 0 { throw StorageError(-opened, "open for reading", path: file.path) }
    if case .success(let status) = system.statusOfDescriptor(opened), status.identity != lock {
      _ = system.close(opened)
      return nil
    }
    descriptor = opened
    place = InheritedDescriptors.note(opened)
  }

  /// Tells others that whoever has the lock file has announced itself at its data file. To be taken back before the announcement.
  func mark() { if place != nil { _ = system.shareByte(descriptor, Self.announced) } }

  func unmark() { _ = system.unlockByte(descriptor, Self.announced) }

  /// Whether another process has said so.
  var isMarkedByOthers: Bool { system.isByteLocked(descriptor, Self.announced) }

  /// Takes the right to remove the lock file's name, which one process at a time has. False when that cannot be had at once.
  func tryRemoving() -> Bool { system.lockByte(descriptor, Self.removing, false) == 0 }

  func endRemoving() { _ = system.unlockByte(descriptor, Self.removing) }

  /// After LMDB has closed its own.
  func close() {
    if let place { InheritedDescriptors.forget(place) }
    _ = system.close(descriptor)
  }

  /// Bytes far beyond those that LMDB locks.
  private static let removing: Int64 = 0x7FFF_FFFF_FFFF_FF00
  private static let announced: Int64 = removing + 1
}
