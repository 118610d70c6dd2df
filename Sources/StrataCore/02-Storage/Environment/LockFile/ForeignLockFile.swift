import CLMDBShim
import Foundation

/// A lock file that has the store's name and belongs to another data file.
///
/// ```
///   mv backup.strata Shop.strata     beside it lies the lock file of the old file, which some process still has open
///   rm Shop.strata, and a new store  the same
/// ```
///
/// While anybody holds the lock file, LMDB joins whoever that is, and believes its number of the last commit (`LastCommit`). So whoever opens the store looks whether the lock file is
/// that of the data file. Otherwise it is removed, and a new one made: those who have the old file open go on to read that, with the old lock file, and their writes are
/// refused, since the names lead elsewhere (`Environment.write`).
///
/// | who holds it | what tells |
/// |---|---|
/// | a store of this package | it has announced itself at its data file (`FileTurn`) before it marked the lock file (`LockFileProbe`): the mark without an announcement at this file is another's |
/// | an earlier version, a program that knows LMDB only | the number of the last commit |
///
/// A lock file must never go while a process has the data file open with it: others would use the pages again that it reads. So none is removed while any process has
/// announced itself at the data file, or that cannot be known: then opening is refused.
enum ForeignLockFile {
  /// What a lock file is that others may hold as well.
  enum Verdict {
    /// That of the data file, or one that does no harm as long as its number stays that of the last commit: from then on every transaction is refused.
    case own
    case foreign
    /// Another file's, or that of a program that knows LMDB only and has not finished a commit for long.
    case unclear
  }

  /// Whether the lock file with which LMDB has just opened the data file is that of the data file. Waits for no writer.
  ///
  /// - Throws: ``StorageError`` when the system does not say who has the data file open.
  static func judge(_ environment: OpaquePointer, _ probe: LockFileProbe?, _ turn: FileTurn) throws -> Verdict
  {
    if let probe, try isMarkedForAnother(probe, turn) { return .foreign }
    var doubts = 0
    while true {
      guard let lead = LastCommit.lead(environment), lead != 0 else { return .own }
      // Whoever has it open looked at the lock file, too, and may be in the middle of a commit.
      if lead == 1, try turn.isAnnouncedByOthers() != false { return .own }
      doubts += 1
      if lead != 1, doubts >= LastCommit.mostDoubts { return .foreign }
      if doubts >= mostDoubts { return .unclear }
      usleep(lead == 1 ? pause : LastCommit.pause)
    }
  }
  private static let mostDoubts = 40
  /// Microseconds. The last step of a commit takes as long as a flush of one page.
  private static let pause: UInt32 = 2_500

  /// Whether a store of this package has the lock file for another data file.
  private static func isMarkedForAnother(_ probe: LockFileProbe, _ turn: FileTurn) throws -> Bool {
    // Whoever was just closing has taken back both by now.
    try probe.isMarkedByOthers && turn.isAnnouncedByOthers() == false && probe.isMarkedByOthers
  }

  /// Removes the lock file of the name where a store of this package has it for another data file, before LMDB sees it. A recovery would wait for that store to be closed.
  ///
  /// No environment of this process has the lock file.
  /// - Throws: as `remove`.
  static func removeMarked(_ file: StoreFile, _ identity: FileSystem.Identity, _ turn: FileTurn) throws {
    guard let lock = try file.lockIdentity(), let probe = try? LockFileProbe(file, lock) else { return }
    defer { probe.close() }
    if try isMarkedForAnother(probe, turn) { try remove(lock, probe, file, identity, turn) }
  }

  /// Removes the lock file of the name where an environment of this process has it for another data file. Two environments of a process on one lock file would break LMDB's locks.
  ///
  /// The caller has reserved the data file in the registry.
  /// - Throws: ``StorageError`` `.replaced` when the data file is open in another process, with that lock file, or the folder cannot be written.
  static func removeOurs(_ file: StoreFile, _ identity: FileSystem.Identity, _ turn: FileTurn) throws {
    guard let lock = try file.lockIdentity(),
      let owner = EnvironmentRegistry.current.environment(usingLockFile: lock)
    else { return }
    try owner.withProbe { try remove(lock, $0, file, identity, turn) }
  }

  /// Removes the lock file behind `probe` from beside a data file that is not its own: the next who opens the store makes a new one.
  ///
  /// - Throws: ``StorageError`` `.replaced` when the data file is open in another process, or being opened, or the folder cannot be written.
  static func remove(
    _ lock: FileSystem.Identity, _ probe: LockFileProbe, _ file: StoreFile, _ identity: FileSystem.Identity,
    _ turn: FileTurn
  ) throws {
    // Another process may see the same. The lock file that it makes has the name then, and must keep it.
    guard probe.tryRemoving() else { throw refusal(file) }
    defer { probe.endRemoving() }
    guard try file.lockIdentity() == lock, try file.status()?.identity == identity else { return }
    guard try turn.isAnnouncedByOthers() == false else { throw refusal(file) }
    let code = file.system.unlink(file.lockPath)
    if code != 0 && code != -ENOENT { throw refusal(file, code: -code) }
  }

  /// The error for a store that must not be opened with the lock file that it has.
  static func refusal(_ file: StoreFile, code: Int32 = 0) -> StorageError {
    StorageError(
      .replaced, code: code, operation: "mdb_env_open", path: file.path,
      detail: """
        The lock file beside the store is not its own, and cannot be exchanged now: the store's file has taken the \
        place of another one that a process has open, or other bytes were written into it. Nothing was changed. \
        Close the store in all processes, and open it again.
        """)
  }
}
