import CLMDBShim
import Foundation

/// An LMDB environment that was just opened on an inspected file, and is known to be that file, with a lock file that is known to be that file's.
struct OpenedEnvironment {
  /// LMDB's environment.
  let handle: OpaquePointer
  /// Which file LMDB uses for its locks; nil where it uses none: on a medium that cannot be written, and for a file that nobody may write.
  let lockIdentity: FileSystem.Identity?
  /// That file, opened once more; nil where there is none, or no descriptor to spare.
  let probe: LockFileProbe?
  /// Whether LMDB has the file open for writing.
  let canWrite: Bool

  /// The address space to try, from the largest: sanitizers, valgrind and containers limit it.
  static let mapLadder = [1 << 40, 1 << 36, 1 << 32, 1 << 28]

  /// A process has 128 TiB of addresses, and more than stores wants some: where many are open, further ones begin with less.
  static func mapLadder(openCount: Int) -> ArraySlice<Int> {
    openCount < 48 ? mapLadder[...] : mapLadder[1...]
  }

  /// Opens the file behind `identity`.
  ///
  /// - Parameters:
  ///   - inspection: how to look at the bytes before LMDB maps them.
  ///   - turn: announces to other processes that this one has the store open, before they can ask. The caller takes that back when opening fails.
  ///   - isNameDurable: whether this process has made the file, and flushed its folder.
  /// - Throws: `StorageError`; nothing is left open, and the file is as it was.
  init(
    _ file: StoreFile, _ identity: FileSystem.Identity, options: EnvironmentOptions,
    inspection: EnvironmentOptions.Inspection, turn: FileTurn, isNameDurable: Bool = false
  ) throws {
    if !options.isTemporary {
      // Before anybody takes its locks for those of a user of this store.
      try ForeignLockFile.removeOurs(file, identity, turn)
      // Before a recovery waits for whoever holds it.
      if try file.hasLog() { try ForeignLockFile.removeMarked(file, identity, turn) }
    }
    var settled = LogRecovery.Outcome(turn: nil, isLogAbsent: true)
    defer { settled.turn?.end() }
    /// Makes the file whole and looks at it: whether it can be written.
    func look() throws -> Bool {
      while true {
        settled.turn?.end()
        settled.turn = nil
        settled = try LogRecovery.settle(file, identity, options: options)
        let inspected = try OpenedEnvironment.inspect(
          file, identity, options: options, inspection: inspection, settled, turn)
        if let inspected { return inspected }
      }
    }
    var canWrite = try look()
    turn.announce()
    // From now on others see that the store is being opened, and recover nothing below it. One that began a log before, and died, may have left it to be recovered.
    while options.canHaveLog, try settled.isOutdated(file) {
      turn.withdraw()
      canWrite = try look()
      turn.announce()
    }
    (handle, lockIdentity, probe) = try Self.openByName(
      file, identity, options: options, canWrite: canWrite, turn: turn, isNameDurable: isNameDurable)
    self.canWrite = canWrite
    ReaderTable.check(handle)
  }

  /// Closes what was opened, in the order in which the locks last to the end.
  func close() {
    mdb_env_close(handle)
    probe?.close()
  }

  /// Opens the file with LMDB and a lock file that is the data file's own.
  private static func openByName(
    _ file: StoreFile, _ identity: FileSystem.Identity, options: EnvironmentOptions, canWrite: Bool,
    turn: FileTurn, isNameDurable: Bool
  ) throws -> (handle: OpaquePointer, lock: FileSystem.Identity?, probe: LockFileProbe?) {
    for _ in 0..<mostExchanges {
      let (handle, lock) = try openWithNamedLock(
        file, identity, options: options, canWrite: canWrite, isNameDurable: isNameDurable)
      // That of a temporary store is new, and loses its name at once.
      guard let lock, !options.isTemporary else { return (handle, lock, nil) }
      let probe = try? LockFileProbe(file, lock)
      let verdict = Result { try ForeignLockFile.judge(handle, probe, turn) }
      if case .success(.own) = verdict {
        if turn.hasAnnounced { probe?.mark() }
        return (handle, lock, probe)
      }
      mdb_env_close(handle)
      defer { probe?.close() }
      guard try verdict.get() == .foreign, canWrite, let probe else { throw ForeignLockFile.refusal(file) }
      try ForeignLockFile.remove(lock, probe, file, identity, turn)
    }
    throw ForeignLockFile.refusal(file)
  }

  /// How often the lock file may be another file's again.
  private static let mostExchanges = 10

  /// Opens the file with LMDB and the lock file that has the name, which is made when it is missing.
  ///
  /// - Returns: LMDB's environment, and which file it has its locks in; nil where it uses none.
  private static func openWithNamedLock(
    _ file: StoreFile, _ identity: FileSystem.Identity, options: EnvironmentOptions, canWrite: Bool,
    isNameDurable: Bool
  ) throws -> (handle: OpaquePointer, lock: FileSystem.Identity?) {
    try file.checkLockFile()
    let lockBefore =
      try file.lockIdentity()
      ?? (canWrite ? OpenedEnvironment.makeLockFile(file, readers: options.maxReaders) : nil)
    if let lockBefore, EnvironmentRegistry.current.usesLockFile(lockBefore) { throw lockReplaced(file) }
    if canWrite { try OpenedEnvironment.requireRoom(file) }
    let handle: OpaquePointer
    do {
      handle = try OpenedEnvironment.mapWithOwnNumber(file, options: options, canWrite: canWrite)
    } catch {
      // LMDB makes a lock file first of all: one that has gone was another's, who has exchanged the store (`SoleUse`).
      let lockNow = try file.lockIdentity()
      if lockNow == lockBefore ? canWrite && lockNow == nil && Self.isAboutLockFile(error) : lockBefore != nil
      {
        throw OpenedEnvironment.lockReplaced(file)
      }
      throw error
    }
    do {
      try OpenedEnvironment.verify(handle, file, identity)
      let lockNow = try file.lockIdentity()
      if lockBefore != nil ? lockNow != lockBefore : canWrite && lockNow == nil {
        throw OpenedEnvironment.lockReplaced(file)
      }
      if canWrite && !isNameDurable { try OpenedEnvironment.settleName(handle, file, options) }
      var flags: UInt32 = 0
      mdb_env_get_flags(handle, &flags)
      return (handle, flags & UInt32(MDB_NOLOCK) == 0 ? lockNow : nil)
    } catch {
      mdb_env_close(handle)
      throw error
    }
  }

  /// Flushes the folder of a store without commits: who has made it may have been killed before its name was durable, and commits would go with the name.
  static func settleName(
    _ handle: OpaquePointer, _ file: StoreFile, _ options: EnvironmentOptions
  ) throws {
    if options.isTemporary || options.isReadOnly || !options.flushesCommits { return }
    var information = MDB_envinfo()
    mdb_env_info(handle, &information)
    if information.me_last_txnid > 0 { return }
    do {
      try file.system.syncDirectory(file.directory)
    } catch let error as StorageError where error.kind == .permission {
      // Whoever may not read the folder cannot flush it, and may use its stores all the same.
    }
  }

  /// Makes an empty lock file, which LMDB prepares as it does one that it has made. So it is known from the beginning which one has the name: another process may
  /// have put the one that belongs to the store aside for a moment, while it exchanges the file.
  ///
  /// Its room is taken at once: LMDB maps it, and on a full medium the system would end the process by a signal when it is written.
  static func makeLockFile(_ file: StoreFile, readers: Int) throws -> FileSystem.Identity? {
    // This process has no locks on it, so closing it drops none.
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let descriptor = file.system.open(file.lockPath, flags, 0o600)
    // Another process was faster. What it has made is its own.
    if descriptor == -EEXIST { return try file.lockIdentity() }
    // LMDB says why it cannot be made.
    if descriptor < 0 { return nil }
    defer { _ = file.system.close(descriptor) }
    // As large as LMDB makes it: 64 bytes for each reader, and the head, which takes the place of two more.
    let code = file.system.reserve(descriptor, (max(readers, 1) + 2) * 64)
    // Who may use the store may use it: otherwise other users could not open the store from now on. Should it fail, the lock file is this user's.
    let data = file.system.open(file.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if data >= 0 {
      _ = file.system.copyPermissions(data, descriptor)
      _ = file.system.close(data)
    }
    // It keeps its name: others may have it open by now.
    if code != 0 { throw lockWithoutRoom(file, -code) }
    switch file.system.statusOfDescriptor(descriptor) {
    case .success(let status): return status.identity
    case .failure(let code): throw StorageError(code.number, "fstat", path: file.path)
    }
  }

  /// Looks whether a lock file that is there, and has no room yet, will get some.
  private static func requireRoom(_ file: StoreFile) throws {
    var status = stat()
    guard lstat(file.lockPath, &status) == 0, status.st_blocks == 0,
      let free = file.system.freeSpace(file.directory), free < lockPages
    else { return }
    throw lockWithoutRoom(file, ENOSPC)
  }

  /// What LMDB writes of a lock file in any case: the page of its head, and one of readers.
  private static let lockPages = 8_192

  private static func lockWithoutRoom(_ file: StoreFile, _ code: Int32) -> StorageError {
    StorageError(
      code, "fallocate", path: file.path,
      detail: "There is no room for the lock file beside the store, which every reader needs.")
  }

  /// Looks at the file through a descriptor of its own: whether it can be written. Nil when another process has made a log since it was looked for.
  ///
  /// Opening and closing the data file is harmless: LMDB holds its locks on the lock file alone.
  private static func inspect(
    _ file: StoreFile, _ identity: FileSystem.Identity, options: EnvironmentOptions,
    inspection: EnvironmentOptions.Inspection, _ settled: LogRecovery.Outcome, _ turn: FileTurn
  ) throws -> Bool? {
    // Non-blocking, so that a pipe that takes the name at the last moment cannot hang us.
    let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    var descriptor = file.system.open(file.path, O_RDWR | flags, 0)
    let refusal = -descriptor
    let canWrite = descriptor >= 0
    if [EACCES, EPERM, EROFS, ETXTBSY].contains(refusal) {
      descriptor = file.system.open(file.path, O_RDONLY | flags, 0)
    }
    if descriptor < 0 { throw StorageError(-descriptor, "open for reading", path: file.path) }
    defer { _ = file.system.close(descriptor) }
    if !canWrite && !options.isReadOnly {
      throw StorageError(
        refusal, "open", path: file.path, detail: "The store can only be opened read-only.")
    }
    try check(descriptor, file, identity)
    if !options.allowsNetworkFileSystem { try file.checkFileSystem(descriptor) }
    let isMarked = try settled.isLogAbsent && LogMark.read(file, descriptor) != nil
    // A log is there before its mark, and its mark is gone before it.
    if isMarked, try settled.isOutdated(file) { return nil }
    if isMarked, let mark = try LogMark.read(file, descriptor) {
      try inspectWithoutLog(file, descriptor)
      if canWrite { try forget(mark, file, identity, descriptor, settled, turn) }
    } else {
      try FileInspection(
        file: file, descriptor: descriptor, requiredKeyspace: options.requiredKeyspace
      ).run(inspection)
    }
    return canWrite
  }

  /// Removes the mark of a log that is missing, so that the loss is said once and not at each opening, unless a process that has the store open still uses a log without a
  /// name. Should it stay, the next opening says it again.
  private static func forget(
    _ mark: LogIdentity, _ file: StoreFile, _ identity: FileSystem.Identity, _ descriptor: Int32,
    _ settled: LogRecovery.Outcome, _ turn: FileTurn
  ) throws {
    // Who makes a log has this turn: the mark of a new one is not taken for the old.
    let hasTurn = turn.tryTake()
    defer { if hasTurn { turn.leave() } }
    // Where the system has no such locks, nobody has it.
    guard try hasTurn || FileTurn.isAnnounced(file, descriptor) == nil else { return }
    if try LogRecovery(file: file, identity: identity).isAlone(), try !settled.isOutdated(file),
      try LogMark.read(file, descriptor) == mark
    {
      _ = LogMark.remove(file, descriptor)
    }
  }

  /// The file was not closed, and its log is missing. After the death of a process the file is whole all the same; after a power cut, saves
  /// that only the log had are lost. Every page is looked at, and the loss is reported by a message.
  private static func inspectWithoutLog(_ file: StoreFile, _ descriptor: Int32) throws {
    do {
      try FileInspection(file: file, descriptor: descriptor).run(.full)
    } catch var error as StorageError {
      error.detail += " The store was not closed, and its log, which should lie beside it, is missing."
      throw error
    }
    Diagnostics.writeUnderLock(
      "the store \(file.path) was not closed, and its log is missing. Its pages are in order; after a power failure its last saves are lost.",
      .error)
  }

  /// Opens the file with LMDB, with no slots of this process's number in the table of readers, where another one may have left some (`ReaderTable`).
  private static func mapWithOwnNumber(
    _ file: StoreFile, options: EnvironmentOptions, canWrite: Bool
  ) throws -> OpaquePointer {
    for _ in 0..<mostNamesakes {
      let handle = try map(file, options: options, canWrite: canWrite)
      if !ReaderTable.hasOwnNumber(handle) { return handle }
      do {
        try ReaderTable.takeOwnNumber(handle, path: file.path)
      } catch {
        mdb_env_close(handle)
        throw error
      }
      // Frees the slots.
      mdb_env_close(handle)
    }
    // They come, read and die one after the other.
    throw ReaderTable.refusal(EAGAIN, path: file.path)
  }

  private static let mostNamesakes = 10

  /// Opens the file with LMDB, again and again while the lock file is not finished.
  ///
  /// Who comes first prepares the lock file for all others, who wait for that. Should the first be killed before it has finished, or only have locked the file
  /// (`SoleUse`), those who waited find nothing in it. It is prepared by the next one who finds nobody else there: so all of them let it go and come again.
  private static func map(
    _ file: StoreFile, options: EnvironmentOptions, canWrite: Bool
  ) throws -> OpaquePointer {
    let deadline = ContinuousClock.now.advanced(by: options.writerDeadline)
    while true {
      do {
        return try mapOnce(file, options: options, canWrite: canWrite)
      } catch {
        guard canWrite, isAboutLockFile(error), isLockUnfinished(file), .now < deadline else { throw error }
        usleep(.random(in: 200...5_000))
      }
    }
  }

  /// Whether nobody has ever prepared the lock file. This process has none of its locks on it.
  private static func isLockUnfinished(_ file: StoreFile) -> Bool {
    let descriptor = file.system.open(file.lockPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if descriptor < 0 { return false }
    defer { _ = file.system.close(descriptor) }
    // Its first four bytes, which are written last, say what kind of file it is.
    return withUnsafeTemporaryAllocation(byteCount: 4, alignment: 4) { bytes in
      let count = file.system.read(descriptor, bytes, 0)
      return count == 0 || count == 4 && bytes.allSatisfy { $0 == 0 }
    }
  }

  private static func mapOnce(
    _ file: StoreFile, options: EnvironmentOptions, canWrite: Bool
  ) throws -> OpaquePointer {
    var flags = UInt32(MDB_NOSUBDIR | MDB_NOTLS) | options.environmentFlags
    if !canWrite { flags |= UInt32(MDB_RDONLY) }
    let mayOmitLock = !canWrite && options.isReadOnly
    let isFixed = mayOmitLock && Self.isFixed(file)
    if isFixed { flags |= UInt32(MDB_NOLOCK) }
    let (handle, code) = tryOpening(file, options, flags)
    if let handle { return handle }
    guard mayOmitLock, !isFixed, [EACCES, EPERM].contains(code), !mayBeWritten(file.path) else {
      throw openFailure(code, file, mayOmitLock: mayOmitLock)
    }
    // This user may not use the lock file, and nobody is to write the store.
    try requireUnused(file)
    let (unlocked, failure) = tryOpening(file, options, flags | UInt32(MDB_NOLOCK))
    guard let unlocked else { throw openFailure(failure, file, mayOmitLock: true) }
    return unlocked
  }

  /// LMDB's environment, or nil and its code.
  private static func tryOpening(
    _ file: StoreFile, _ options: EnvironmentOptions, _ flags: UInt32
  ) -> (handle: OpaquePointer?, code: Int32) {
    let sizes =
      options.mapSize.map { [max($0, 1 << 16).roundedUp(to: 1 << 16)][...] }
      ?? mapLadder(openCount: EnvironmentRegistry.current.count)
    var code: Int32 = ENOMEM
    StandardDescriptors.hold()
    for size in sizes {
      var environment: OpaquePointer?
      code = mdb_env_create(&environment)
      guard code == 0, let environment else { break }
      mdb_env_set_mapsize(environment, size)
      mdb_env_set_maxreaders(environment, UInt32(clamping: options.maxReaders))
      mdb_env_set_maxdbs(environment, MDB_dbi(clamping: options.maxKeyspaces))
      // LMDB stops the process when it finds its own structures broken; at least say why.
      mdb_env_set_assert(environment, reportAssertion)
      code = FileMaking.run { mdb_env_open(environment, file.path, flags, 0o600) } ?? FileMaking.code
      if code == 0 { return (environment, 0) }
      mdb_env_close(environment)
      // Some tools that limit the address space (valgrind) say EINVAL where the kernel says ENOMEM.
      guard code == ENOMEM || code == EINVAL else { break }
    }
    return (nil, code)
  }

  /// Whether neither this process nor any other may write the store, its lock file or their folder, as their permissions are: then there is
  /// nobody to be locked out, and a lock file could not be made. Root may write everything, and is told by the first descriptor.
  private static func isFixed(_ file: StoreFile) -> Bool {
    if mayBeWritten(file.path) || mayBeWritten(file.directory) { return false }
    return access(file.lockPath, F_OK) != 0 || !mayBeWritten(file.lockPath)
  }

  /// Whether anybody may write what has that name, as its permissions are. Root may in any case.
  private static func mayBeWritten(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) != 0 || status.st_mode & 0o222 != 0
  }

  /// Refuses to read without a lock what another process has open: it may be root's, which may write what no permission allows. As far as this user may look.
  private static func requireUnused(_ file: StoreFile) throws {
    // This process has no locks on it, so closing it drops none.
    let descriptor = file.system.open(file.lockPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if descriptor < 0 { return }
    defer { _ = file.system.close(descriptor) }
    guard let process = try file.holderOfFirstByte(descriptor) else { return }
    let name = process > 0 ? " (\(process))" : ""
    throw StorageError(
      .busy, operation: "fcntl", path: file.path,
      detail: """
        Another process\(name) has the store open, which this user can only read without a lock. Close it there, \
        or give this user the permission to write the lock file beside the store (chmod a+rw \(file.lockPath)).
        """)
  }

  private static func verify(
    _ handle: OpaquePointer, _ file: StoreFile, _ identity: FileSystem.Identity
  ) throws {
    var descriptor: mdb_filehandle_t = -1
    mdb_env_get_fd(handle, &descriptor)
    // LMDB sets it for its other descriptors only.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    try check(descriptor, file, identity)
  }

  private static func check(
    _ descriptor: Int32, _ file: StoreFile, _ identity: FileSystem.Identity
  ) throws {
    switch file.system.statusOfDescriptor(descriptor) {
    case .failure(let code): throw StorageError(code.number, "fstat", path: file.path)
    case .success(let status) where status.identity == identity: return
    case .success:
      throw StorageError(
        .replaced, operation: "fstat", path: file.path,
        detail: "Another file took the store's name while it was being opened.")
    }
  }

  private static func isAboutLockFile(_ error: any Error) -> Bool {
    [EINVAL, MDB_INVALID, MDB_VERSION_MISMATCH].contains((error as? StorageError)?.code)
  }

  private static func lockReplaced(_ file: StoreFile) -> StorageError {
    StorageError(
      .replaced, operation: "lstat", path: file.path,
      detail: "The lock file beside the store was replaced or removed while it was being opened.")
  }

  /// - Parameter mayOmitLock: Whether the store is opened to be read, by somebody who may not write it.
  private static func openFailure(_ code: Int32, _ file: StoreFile, mayOmitLock: Bool) -> StorageError {
    switch code {
    case EACCES, EPERM, EROFS:
      let isThere = (try? file.lockIdentity()) != nil
      var detail =
        "LMDB needs to \(isThere ? "write the" : "create a") lock file beside the store, even for reading."
      if code != EROFS {
        detail += isThere ? " Give this user" : " Make an empty one, and give this user"
        detail += " the permission to write it (\(isThere ? "" : "touch and ")chmod a+rw \(file.lockPath))."
        if mayOmitLock {
          detail += " Or, if nobody is to write the store any more, take that permission from everybody"
          detail += " (chmod a-w \(file.path)): then it is read without a lock."
        }
      }
      return StorageError(code, "mdb_env_open", path: file.path, detail: detail)
    case MDB_INVALID, MDB_VERSION_MISMATCH:
      return StorageError(
        code, "mdb_env_open", path: file.path,
        detail:
          "The store itself was found in order; its lock file is in use by another LMDB version or damaged.")
    default:
      return StorageError(code, "mdb_env_open", path: file.path)
    }
  }
}

/// What LMDB calls before it stops the process, in the middle of a transaction: no code of the application may run.
private func reportAssertion(_ environment: OpaquePointer?, _ message: UnsafePointer<CChar>?) {
  let text = message.map { String(cString: $0) } ?? "no message"
  StandardError.write("Strata: LMDB found its store damaged and stops: \(text)\n")
}

extension Int {
  /// The next multiple of `step`, a power of two.
  func roundedUp(to step: Int) -> Int { (self + step - 1) & ~(step - 1) }
}
