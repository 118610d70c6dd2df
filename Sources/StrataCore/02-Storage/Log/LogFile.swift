import Foundation

/// Calls on a store's log file; errors name it.
enum LogFile {
  /// Opens the log for reading and writing.
  static func open(_ file: StoreFile) throws -> Int32 {
    let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let descriptor = file.system.open(file.logPath, flags, 0)
    if descriptor < 0 { throw StorageError(-descriptor, "open", path: file.logPath) }
    return descriptor
  }

  /// Makes a log that is not in force, of the first size, and flushes it and its name. A file that has the name already is not the store's log.
  ///
  /// - Parameter data: the data file. Who may use it may use the log: otherwise other users could neither save nor open the store from now on.
  static func make(_ file: StoreFile, data: Int32) throws -> Int32 {
    if case .success(let status) = file.system.status(file.logPath), status.kind == .regular {
      _ = file.system.unlink(file.logPath)
    }
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = file.system.open(file.logPath, flags, 0o600)
    if descriptor < 0 { throw StorageError(-descriptor, "open", path: file.logPath) }
    // Should it fail, the log is this user's.
    _ = file.system.copyPermissions(data, descriptor)
    do {
      try fill(descriptor, 0..<LogFormat.sizes[0], file)
      try file.system.syncDirectory(file.directory)
    } catch {
      _ = file.system.unlink(file.logPath)
      _ = file.system.close(descriptor)
      throw error
    }
    return descriptor
  }

  /// Writes zeros and flushes them, with the file's size: later writes there change bytes only.
  static func fill(_ descriptor: Int32, _ range: Range<Int>, _ file: StoreFile) throws {
    try [UInt8](repeating: 0, count: range.count).withUnsafeBytes {
      try file.system.writeAll(descriptor, $0, at: range.lowerBound, path: file.logPath)
    }
    let code = file.system.sync(descriptor)
    if code != 0 { throw StorageError(-code, "fsync", path: file.logPath) }
  }

  /// Reads bytes; fewer only where the file ends.
  static func read(_ descriptor: Int32, _ range: Range<Int>, _ file: StoreFile) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, done in
      // An array may get more than it has asked for.
      let all = UnsafeMutableRawBufferPointer(buffer)
      let wanted = UnsafeMutableRawBufferPointer(rebasing: all[..<range.count])
      done = try read(descriptor, into: wanted, at: range.lowerBound, file)
    }
  }

  /// Fills `buffer`. Returns how many bytes there were; fewer only where the file ends.
  static func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int, _ file: StoreFile
  ) throws -> Int {
    var done = 0
    while done < buffer.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let got = file.system.read(descriptor, rest, offset + done)
      if got < 0 { throw StorageError(Int32(-got), "pread", path: file.logPath) }
      if got == 0 { break }
      done += got
    }
    return done
  }

  /// Which file it is, whatever its name is.
  static func identity(_ descriptor: Int32, _ file: StoreFile) throws -> FileSystem.Identity {
    switch file.system.statusOfDescriptor(descriptor) {
    case .success(let status): return status.identity
    case .failure(let code): throw StorageError(code.number, "fstat", path: file.logPath)
    }
  }

  // MARK: Heads

  /// Puts the head that comes after `present` in force, and returns it. `present` must be durable in its place, or there must be none: the sector of its copy is
  /// overwritten, and counts once it is flushed.
  static func replace(
    _ descriptor: Int32, _ present: LogHead, by next: LogHead, _ file: StoreFile
  ) throws -> LogHead {
    var next = next
    next.number = present.number + 1
    try ensure(descriptor, next, file)
    return next
  }

  /// Writes a head where it belongs and flushes it, whatever is there.
  static func ensure(_ descriptor: Int32, _ head: LogHead, _ file: StoreFile) throws {
    try head.bytes.withUnsafeBytes {
      try file.system.writeAll(descriptor, $0, at: head.place, path: file.logPath)
    }
    let code = file.system.syncData(descriptor)
    if code != 0 { throw StorageError(-code, "fdatasync", path: file.logPath) }
  }

  /// Writes the copy of a head that is durable, and leaves it to the next flush. Returns what both heads are then, nothing when that is unknown.
  static func copy(_ descriptor: Int32, _ head: LogHead, _ file: StoreFile) -> [UInt8] {
    let bytes = head.bytes
    let isWhole = bytes.withUnsafeBytes {
      (try? file.system.writeAll(descriptor, $0, at: head.copyPlace, path: file.logPath)) != nil
    }
    return isWhole ? bytes + [UInt8](repeating: 0, count: LogFormat.headSpacing - bytes.count) + bytes : []
  }

  /// Removes the mark of the data file, and then the log, which is empty. The mark goes before the log: a mark without a log would speak of lost saves.
  ///
  /// Another mark is that of a log that another process has made since this one lost its name: it stays.
  static func retire(_ file: StoreFile, _ head: LogHead, log: Int32, data: Int32) {
    let mark = Result { try LogMark.read(file, data) }
    // One that was never in force has no number, and has no mark either.
    if head.number > 0, case .success(let mark?) = mark, mark != head.identity { return }
    if LogMark.remove(file, data) {
      remove(file, log)
    } else {
      // It stays, and says in both heads that it is empty.
      _ = file.system.syncData(log)
    }
  }

  /// Removes the log behind `descriptor`, if it still has its name.
  static func remove(_ file: StoreFile, _ descriptor: Int32) {
    guard case .success(let named) = file.system.status(file.logPath),
      case .success(let open) = file.system.statusOfDescriptor(descriptor), named.identity == open.identity
    else { return }
    _ = file.system.unlink(file.logPath)
  }
}

/// The turn of a process at a store's log: meanwhile no other process opens the store, or closes it as the last one. It is the system's lock on the log itself, so
/// a process that dies leaves it.
struct LogTurn {
  /// Which log it is, whatever has its name by now. Known to who has opened it by its name.
  private(set) var log: FileSystem.Identity?
  private let descriptor: Int32
  private let closes: FileSystem?

  /// Takes the turn on a descriptor that stays open.
  static func takeAtOnce(_ file: StoreFile, _ descriptor: Int32) throws -> LogTurn {
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw StorageError(errno, "flock", path: file.logPath)
    }
    return LogTurn(descriptor: descriptor, closes: nil)
  }

  /// Opens the log that has the name and waits for the turn at it; nil when it is gone, or was exchanged meanwhile.
  ///
  /// - Returns: the turn, with which the log is closed, the log, and why it cannot be written; 0 when it can.
  /// - Throws: ``StorageError`` `.busy`, `.permission`, `.io`.
  static func open(_ file: StoreFile, until deadline: ContinuousClock.Instant) throws -> (
    turn: LogTurn, log: Int32, refusal: Int32
  )? {
    let system = file.system
    let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    var log = system.open(file.logPath, O_RDWR | flags, 0)
    let refusal = max(-log, 0)
    if [EACCES, EPERM, EROFS].contains(refusal) { log = system.open(file.logPath, O_RDONLY | flags, 0) }
    if log == -ENOENT { return nil }
    if log < 0 { throw StorageError(-log, "open for reading", path: file.logPath) }
    var turn = try take(file, log, until: deadline)
    do {
      let identity = try LogFile.identity(log, file)
      guard try identity == file.namedLog() else {
        // The process that had the turn before has removed it.
        turn.end()
        return nil
      }
      turn.log = identity
    } catch {
      turn.end()
      throw error
    }
    return (turn, log, refusal)
  }

  /// Waits for the turn. The descriptor is closed with it, and at once when that fails.
  /// - Throws: ``StorageError`` `.busy`.
  private static func take(
    _ file: StoreFile, _ descriptor: Int32, until deadline: ContinuousClock.Instant
  ) throws -> LogTurn {
    var pause: UInt32 = 200
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let code = errno
      guard code == EWOULDBLOCK || code == EINTR, ContinuousClock.now < deadline else {
        _ = file.system.close(descriptor)
        if code != EWOULDBLOCK { throw StorageError(code, "flock", path: file.logPath) }
        throw StorageError(
          .busy, code: code, operation: "flock", path: file.path,
          detail: "Another process is opening the store, recovers it, or exchanges it.")
      }
      usleep(pause)
      pause = min(pause * 2, 20_000)
    }
    return LogTurn(descriptor: descriptor, closes: file.system)
  }

  /// Gives the turn back.
  func end() {
    _ = flock(descriptor, LOCK_UN)
    if let closes { _ = closes.close(descriptor) }
  }
}
