import CLMDBShim
import Foundation

/// The file calls of the operating system that Storage makes itself, so that tests can make each one fail.
///
/// Each returns what the system call returns, with a failure as the negative errno. What LMDB calls goes
/// through libc instead, where tests interpose.
struct FileSystem: Sendable {
  /// Opens `path`: descriptor or negative errno.
  var open: @Sendable (_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32
  /// Closes a descriptor: 0 or negative errno.
  var close: @Sendable (_ descriptor: Int32) -> Int32
  /// Takes room on the medium for a file from its beginning. 0 also where the file system cannot.
  var reserve: @Sendable (_ descriptor: Int32, _ size: Int) -> Int32
  /// Reads at an offset: count (0 at the end) or negative errno.
  var read: @Sendable (_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ offset: Int) -> Int
  /// Writes at an offset: count or negative errno.
  var write: @Sendable (_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer, _ offset: Int) -> Int
  /// Makes a file shorter: 0 or negative errno.
  var truncate: @Sendable (_ descriptor: Int32, _ size: Int) -> Int32
  /// Flushes a file or a directory to the medium: 0 or negative errno.
  var sync: @Sendable (_ descriptor: Int32) -> Int32
  /// Flushes a file's bytes, and what is needed to find them again: 0 or negative errno.
  var syncData: @Sendable (_ descriptor: Int32) -> Int32
  /// Has LMDB flush the data file of an environment to the medium, whatever its options: 0 or LMDB's code.
  var syncStore: @Sendable (_ environment: OpaquePointer) -> Int32
  /// Renames over what is there: 0 or negative errno.
  var rename: @Sendable (_ from: String, _ to: String) -> Int32
  /// Renames unless something is there (-EEXIST); -ENOSYS or -EINVAL when that cannot be done in one step.
  var renameExclusively: @Sendable (_ from: String, _ to: String) -> Int32
  /// Exchanges two names in one step; -ENOSYS or -EINVAL when that cannot be done.
  var exchange: @Sendable (_ first: String, _ second: String) -> Int32
  /// Removes a name: 0 or negative errno.
  var unlink: @Sendable (_ path: String) -> Int32
  /// What lies at `path`, a symbolic link itself included.
  var status: @Sendable (_ path: String) -> Result<Status, Code>
  /// What a descriptor stands for.
  var statusOfDescriptor: @Sendable (_ descriptor: Int32) -> Result<Status, Code>
  /// Sets the time of the last change: 0 or negative errno.
  var setModified: @Sendable (_ descriptor: Int32, _ moment: Moment) -> Int32
  /// Gives a file that this process has made the owner, the group, and the permissions of another one, as far as it may: 0 or negative errno. Where it may not set
  /// the group, the group gets no permission.
  var copyPermissions: @Sendable (_ source: Int32, _ target: Int32) -> Int32
  /// Locks the first byte for this process alone, without waiting: 0, or -EAGAIN or -EACCES when another process has locked it.
  var lockFirstByte: @Sendable (_ descriptor: Int32) -> Int32
  /// The number of another process that has locked the first byte, for itself or with others; nil when there is none. A failure does not mean that there is none.
  var holderOfFirstByte: @Sendable (_ descriptor: Int32) -> Result<Int32?, Code>
  /// The number of another process that has locked a byte for itself or with others: 0 or less when it has none here, as a process of another container; nil
  /// when no process has.
  var holderOfByte: @Sendable (_ descriptor: Int32, _ place: Int64) -> Result<Int32?, Code>
  /// Where this process's number means something; nil when that is unknown. See `ProcessSpace`.
  var processSpace: @Sendable () -> UInt64?
  /// Locks a byte for this open file alone: 0 or negative errno. It need not lie within the file. -EAGAIN or -EACCES when another open file
  /// has it locked, unless the call waits for that.
  var lockByte: @Sendable (_ descriptor: Int32, _ place: Int64, _ waits: Bool) -> Int32
  /// Locks a byte for this open file and others that share it, without waiting: 0 or negative errno.
  var shareByte: @Sendable (_ descriptor: Int32, _ place: Int64) -> Int32
  /// Gives a locked byte back: 0 or negative errno.
  var unlockByte: @Sendable (_ descriptor: Int32, _ place: Int64) -> Int32
  /// Whether another open file has the byte locked.
  var isByteLocked: @Sendable (_ descriptor: Int32, _ place: Int64) -> Bool
  /// Whether another open file has locked any of the bytes, for itself or with others; EINVAL where the system has no such locks.
  var isAnyByteLocked: @Sendable (_ descriptor: Int32, _ places: ClosedRange<Int64>) -> Result<Bool, Code>
  /// The network or device kind of the file system below a descriptor; nil for a local one.
  var remoteKind: @Sendable (_ descriptor: Int32) -> String?
  /// Bytes an ordinary user may still write below `path`; nil when it is unknown.
  var freeSpace: @Sendable (_ path: String) -> Int?
  /// `path` without symbolic links: the path or the errno.
  var resolve: @Sendable (_ path: String) -> Result<String, Code>

  /// An errno as an error value.
  struct Code: Error, Hashable, Sendable {
    var number: Int32
  }

  /// Which file it is, whatever it is called.
  struct Identity: Hashable, Sendable {
    var device: UInt64
    var inode: UInt64
  }

  /// A time as files have it: since 1970.
  struct Moment: Hashable, Sendable {
    var seconds: Int64
    var nanoseconds: Int64

    static var now: Moment {
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      return Moment(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }
  }

  /// What `stat` says, as far as Storage cares.
  struct Status: Hashable, Sendable {
    enum Kind: String, Sendable {
      case regular = "file"
      case directory
      case symbolicLink = "symbolic link"
      case pipe = "named pipe"
      case socket
      case device
      case other = "special file"
    }
    var identity: Identity
    var kind: Kind
    var linkCount: Int
    var size: Int
    var modified: Moment
  }

  /// The real thing.
  static let system = FileSystem(
    open: { path, flags, mode in
      StandardDescriptors.hold()
      if flags & O_CREAT == 0 { return retrying { Foundation.open(path, flags, mode) } }
      return FileMaking.run { retrying { Foundation.open(path, flags, mode) } } ?? -FileMaking.code
    },
    close: { Foundation.close($0) == 0 ? 0 : -errno },
    reserve: { descriptor, size in
      while true {
        let code = strata_reserve(descriptor, size)
        if code == EINTR { continue }
        return [EOPNOTSUPP, ENOSYS, EINVAL].contains(code) ? 0 : -code
      }
    },
    read: { descriptor, buffer, offset in
      retrying { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    },
    write: { descriptor, buffer, offset in
      retrying { pwrite(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
    },
    truncate: { descriptor, size in retrying { ftruncate(descriptor, off_t(size)) } },
    sync: { descriptor in
      #if canImport(Darwin)
        // fsync on Apple's systems leaves the data in the drive's cache.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
      #endif
      return retrying { fsync(descriptor) }
    },
    syncData: { descriptor in
      #if canImport(Darwin)
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
        return retrying { fsync(descriptor) }
      #else
        return retrying { fdatasync(descriptor) }
      #endif
    },
    syncStore: { mdb_env_sync($0, 1) },
    rename: { Foundation.rename($0, $1) == 0 ? 0 : -errno },
    renameExclusively: { -strata_rename_exclusive($0, $1) },
    exchange: { -strata_rename_exchange($0, $1) },
    unlink: { Foundation.unlink($0) == 0 ? 0 : -errno },
    status: { path in
      var status = stat()
      // A path that is handed over as it is would be copied.
      let code = path.withCString { lstat($0, &status) }
      return code == 0 ? .success(Status(status)) : .failure(Code(number: errno))
    },
    statusOfDescriptor: { descriptor in
      var status = stat()
      return fstat(descriptor, &status) == 0 ? .success(Status(status)) : .failure(Code(number: errno))
    },
    setModified: { descriptor, moment in
      let time = timespec(tv_sec: Int(moment.seconds), tv_nsec: Int(moment.nanoseconds))
      return futimens(descriptor, [time, time]) == 0 ? 0 : -errno
    },
    copyPermissions: { source, target in
      var (wanted, own) = (stat(), stat())
      guard fstat(source, &wanted) == 0, fstat(target, &own) == 0 else { return -errno }
      var mode = wanted.st_mode & 0o666
      let isSame = wanted.st_uid == own.st_uid && wanted.st_gid == own.st_gid
      // Only root may give a file to another user.
      if !isSame, fchown(target, wanted.st_uid, wanted.st_gid) != 0,
        fchown(target, .max, wanted.st_gid) != 0
      {
        mode &= ~0o060
      }
      return fchmod(target, mode) == 0 ? 0 : -errno
    },
    lockFirstByte: { descriptor in
      var range = firstByte
      return retrying { fcntl(descriptor, F_SETLK, &range) }
    },
    holderOfFirstByte: { descriptor in
      var range = firstByte
      if fcntl(descriptor, F_GETLK, &range) != 0 { return .failure(Code(number: errno)) }
      return .success(range.l_type == Int16(F_UNLCK) ? nil : range.l_pid)
    },
    holderOfByte: { descriptor, place in
      var range = byte(place, F_WRLCK)
      if fcntl(descriptor, F_GETLK, &range) != 0 { return .failure(Code(number: errno)) }
      return .success(range.l_type == Int16(F_UNLCK) ? nil : range.l_pid)
    },
    processSpace: { ProcessSpace.current() },
    lockByte: { descriptor, place, waits in
      var range = byte(place, F_WRLCK)
      return retrying {
        fcntl(descriptor, waits ? OpenFileLock.setAndWait : OpenFileLock.set, &range)
      }
    },
    shareByte: { descriptor, place in
      var range = byte(place, F_RDLCK)
      return retrying { fcntl(descriptor, OpenFileLock.set, &range) }
    },
    unlockByte: { descriptor, place in
      var range = byte(place, F_UNLCK)
      return retrying { fcntl(descriptor, OpenFileLock.set, &range) }
    },
    isByteLocked: { descriptor, place in
      var range = byte(place, F_WRLCK)
      return fcntl(descriptor, OpenFileLock.get, &range) == 0 && range.l_type != Int16(F_UNLCK)
    },
    isAnyByteLocked: { descriptor, places in
      var range = byte(places.lowerBound, F_WRLCK)
      range.l_len = off_t(places.upperBound - places.lowerBound + 1)
      if fcntl(descriptor, OpenFileLock.get, &range) != 0 { return .failure(Code(number: errno)) }
      return .success(range.l_type != Int16(F_UNLCK))
    },
    remoteKind: { RemoteFileSystem.kind(descriptor: $0) },
    freeSpace: { path in
      var status = statvfs()
      guard statvfs(path, &status) == 0 else { return nil }
      let (bytes, overflow) = Int(status.f_bavail).multipliedReportingOverflow(by: Int(status.f_frsize))
      return overflow ? .max : bytes
    },
    resolve: { path in
      guard let resolved = realpath(path, nil) else { return .failure(Code(number: errno)) }
      defer { free(resolved) }
      return .success(String(cString: resolved))
    })

  /// A lock for writing on the byte that LMDB locks, too.
  private static var firstByte: flock { byte(0, F_WRLCK) }

  private static func byte(_ place: Int64, _ type: Int32) -> flock {
    var range = flock()
    range.l_type = Int16(type)
    range.l_whence = Int16(SEEK_SET)
    range.l_start = off_t(place)
    range.l_len = 1
    return range
  }

  /// Commands for locks of an open file, which glibc's header hides from Swift.
  private enum OpenFileLock {
    #if canImport(Darwin)
      static let (set, setAndWait, get): (Int32, Int32, Int32) = (90, 91, 92)
    #else
      static let (set, setAndWait, get): (Int32, Int32, Int32) = (37, 38, 36)
    #endif
  }

  private static func retrying<Count: FixedWidthInteger & SignedInteger>(_ call: () -> Count) -> Count {
    while true {
      let result = call()
      if result >= 0 { return result }
      let code = errno
      if code != EINTR { return -Count(code) }
    }
  }
}

extension FileSystem.Status {
  /// Takes over what the system says.
  init(_ status: stat) {
    identity = FileSystem.Identity(
      device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .directory
      case S_IFLNK: .symbolicLink
      case S_IFIFO: .pipe
      case S_IFSOCK: .socket
      case S_IFBLK, S_IFCHR: .device
      default: .other
      }
    linkCount = Int(status.st_nlink)
    size = Int(status.st_size)
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    modified = FileSystem.Moment(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
  }
}

extension FileSystem {
  /// Flushes the directory `path`, so that names made or removed in it survive a power failure.
  func syncDirectory(_ path: String) throws {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    if descriptor < 0 { throw StorageError(-descriptor, "open", path: path) }
    defer { _ = close(descriptor) }
    let code = sync(descriptor)
    // Some file systems have nothing to flush for a directory and say EINVAL.
    if code != 0 && code != -EINVAL { throw StorageError(-code, "fsync", path: path) }
  }

  /// Writes all of `bytes` from `offset` on.
  func writeAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int, path: String) throws {
    var done = 0
    while done < bytes.count {
      let count = write(descriptor, UnsafeRawBufferPointer(rebasing: bytes[done...]), offset + done)
      if count < 0 { throw StorageError(Int32(-count), "pwrite", path: path) }
      if count == 0 { throw StorageError(EIO, "pwrite", path: path) }
      done += count
    }
  }
}
