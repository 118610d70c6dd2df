import CLMDBShim
import Foundation
import Synchronization
import Testing

@testable import StrataCore

/// What the operating system may answer.
@Suite struct FailureTests {
  // MARK: Sentences

  @Test func everyCodeOfLMDBHasItsSentence() {
    for code in MDB_KEYEXIST...MDB_BAD_DBI {
      let (kind, sentence) = StorageError.explanation(of: code)
      #expect(sentence != StorageError.explanation(of: 12345).1, "\(code)")
      #expect(StorageError.name(of: code).hasPrefix("MDB_"), "\(code)")
      #expect(kind != .other || code == MDB_TLS_FULL, "\(code)")
    }
    for code in [
      ENOENT, EACCES, EPERM, EROFS, ENOSPC, EDQUOT, EFBIG, ENOMEM, EMFILE, EIO, EINTR, EINVAL, ELOOP,
    ] {
      #expect(StorageError.explanation(of: code).0 != .other, "\(code)")
    }
  }

  @Test func aDescriptionNamesFileCallAndCode() {
    let error = StorageError(MDB_MAP_FULL, "mdb_put", path: "/tmp/A.strata")
    #expect(error.description.contains("/tmp/A.strata"))
    #expect(error.description.contains("mdb_put: MDB_MAP_FULL"))
    #expect((error as any Error).localizedDescription == error.description)
  }

  // MARK: Creating

  /// A crash or failure while a store is made leaves no half store and no litter.
  @Test(arguments: [ENOSPC, EIO, EDQUOT]) func aStoreIsMadeWholeOrNotAtAll(code: Int32) throws {
    let directory = try ScratchDirectory()
    for step in 0..<4 {
      var options = EnvironmentOptions()
      switch step {
      case 0: options.fileSystem.write = { _, _, _ in -Int(code) }
      case 1: options.fileSystem.sync = { _ in -code }
      case 2: options.fileSystem.renameExclusively = { _, _ in -code }
      default:
        options.fileSystem.open = { path, flags, mode in
          flags & O_CREAT != 0 ? -code : FileSystem.system.open(path, flags, mode)
        }
      }
      let error = try storageError { _ = try Environment.open(path: directory("A"), options: options) }
      #expect(error.code == code)
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
    }
  }

  /// LMDB maps the lock file: without room the system would end the process.
  @Test func aLockFileWithoutRoomIsToldInTime() throws {
    let directory = try ScratchDirectory()
    try Environment.open(path: directory("A"), options: EnvironmentOptions()).close()
    try? FileManager.default.removeItem(atPath: directory("A-lock"))
    var options = EnvironmentOptions()
    options.fileSystem.reserve = { _, _ in -ENOSPC }
    let error = try storageError { _ = try Environment.open(path: directory("A"), options: options) }
    #expect(error.kind == .diskFull && error.description.contains("lock file"))
    // One that was left without room, empty or as long as LMDB makes it.
    var again = EnvironmentOptions()
    again.fileSystem.freeSpace = { _ in 4_096 }
    let first = try storageError { _ = try Environment.open(path: directory("A"), options: again) }
    #expect(first.kind == .diskFull)
    #expect(truncate(directory("A-lock"), 65_664) == 0)
    options = EnvironmentOptions()
    options.fileSystem.freeSpace = { _ in 4_096 }
    let second = try storageError { _ = try Environment.open(path: directory("A"), options: options) }
    #expect(second.kind == .diskFull)
    // Where the file system takes no room, and where there is some.
    try? FileManager.default.removeItem(atPath: directory("A-lock"))
    options.fileSystem.reserve = { _, _ in 0 }
    options.fileSystem.freeSpace = { _ in nil }
    try Environment.open(path: directory("A"), options: options).close()
    try Environment.open(path: directory("A"), options: EnvironmentOptions()).close()
  }

  /// The user knows nothing of the name a store has while it is made.
  @Test(arguments: [EACCES, EPERM, EROFS, ENOSPC]) func aStoreThatCannotBeMadeIsNamed(code: Int32) throws {
    let directory = try ScratchDirectory()
    var options = EnvironmentOptions()
    options.fileSystem.open = { path, flags, mode in
      flags & O_CREAT != 0 ? -code : FileSystem.system.open(path, flags, mode)
    }
    let error = try storageError { _ = try Environment.open(path: directory("A"), options: options) }
    #expect(error.path == directory("A") && !error.description.contains(".strata-new"))
    #expect(error.description.contains("The store cannot be created"))
    if code == EACCES || code == EPERM {
      #expect(error.description.contains("Permission to write it is missing."))
    }
    try Environment.open(path: directory("A"), options: .scratch).close()
    options.fileSystem.open = { _, _, _ in -code }
    let refusal = try storageError { _ = try Environment.open(path: directory("A"), options: options) }
    if code == EACCES || code == EPERM {
      #expect(refusal.description.contains("Permission to read it is missing."))
    }
  }

  @Test func shortWritesAreContinued() throws {
    let directory = try ScratchDirectory()
    var options = EnvironmentOptions()
    options.fileSystem.write = { descriptor, bytes, offset in
      FileSystem.system.write(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(1000)), offset)
    }
    try Environment.open(path: directory("A"), options: options).close()
    try inspect(directory("A"))
  }

  /// Both the file and its directory are flushed before the store can be used.
  @Test func aNewStoreIsFlushedWithItsDirectory() throws {
    let directory = try ScratchDirectory()
    let calls = Mutex<[String]>([])
    var options = EnvironmentOptions()
    options.fileSystem.sync = { descriptor in
      let kind = (try? FileSystem.system.statusOfDescriptor(descriptor).get())?.kind
      calls.withLock { $0.append(kind?.rawValue ?? "?") }
      return FileSystem.system.sync(descriptor)
    }
    try Environment.open(path: directory("A"), options: options).close()
    #expect(calls.withLock { $0 } == ["file", "directory"])
  }

  @Test func withoutExclusiveRenameTheFileIsMadeInPlace() throws {
    let directory = try ScratchDirectory()
    var options = EnvironmentOptions.scratch
    options.fileSystem.renameExclusively = { _, _ in -EINVAL }
    try Environment.open(path: directory("A"), options: options).close()
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    #expect(names == ["A", "A-lock"])
  }

  /// Two processes make the same store: the one that comes second opens what the first has made.
  @Test func losingTheRaceToCreateMeansOpening() throws {
    let directory = try ScratchDirectory()
    var options = EnvironmentOptions.scratch
    options.fileSystem.renameExclusively = { from, to in
      _ = FileManager.default.createFile(atPath: to, contents: Data(MetaPage.emptyStore(pageSize: 8192)))
      return FileSystem.system.renameExclusively(from, to)
    }
    let environment = try Environment.open(path: directory("A"), options: options)
    #expect(try environment.statistics().pageSize == 8192)
    environment.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    #expect(names == ["A", "A-lock"])
  }

  @Test func aTemporaryStoreNeverTakesAnExistingFile() throws {
    let directory = try ScratchDirectory()
    try Environment.open(path: directory("A"), options: .scratch).close()
    var options = EnvironmentOptions.scratch
    options.isTemporary = true
    #expect(
      try storageError { _ = try Environment.open(path: directory("A"), options: options) }.kind == .exists)
    try inspect(directory("A"))
  }

  /// A backup whose name may not last does not count, and does not prevent the next.
  @Test func aBackupWhoseFolderCannotBeFlushedIsRemoved() throws {
    let directory = try ScratchDirectory()
    let fails = Mutex(false)
    var options = EnvironmentOptions()
    options.fileSystem.sync = { descriptor in
      let kind = (try? FileSystem.system.statusOfDescriptor(descriptor).get())?.kind
      if kind == .directory, fails.withLock({ $0 }) { return -EIO }
      return FileSystem.system.sync(descriptor)
    }
    let environment = try Environment.open(path: directory("A"), options: options)
    defer { environment.close() }
    fails.withLock { $0 = true }
    let error = try storageError { try environment.copy(to: directory("B"), compacting: false) }
    #expect(error.kind == .io)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    #expect(names == ["A", "A-lock"])
    fails.withLock { $0 = false }
    try environment.copy(to: directory("B"), compacting: false)
    try inspect(directory("B"))
  }

  // MARK: Network file systems and read-only media

  @Test func networkFileSystemsAreRefusedUnlessAllowed() throws {
    let directory = try ScratchDirectory()
    var options = EnvironmentOptions.scratch
    options.fileSystem.remoteKind = { _ in "NFS" }
    let error = try storageError { _ = try Environment.open(path: directory("A"), options: options) }
    #expect(error.kind == .networkFileSystem)
    #expect(error.detail.contains("NFS"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
    options.allowsNetworkFileSystem = true
    try Environment.open(path: directory("A"), options: options).close()
    options.allowsNetworkFileSystem = false
    let again = try storageError { _ = try Environment.open(path: directory("A"), options: options) }
    #expect(again.kind == .networkFileSystem)
  }

  #if os(Linux)
    @Test func onlyBlockDevicesAreLocalFUSE() {
      let mounts = """
        36 35 98:0 / /mnt/a rw,noatime master:1 - fuse.sshfs me@there rw
        37 35 98:1 / /mnt/b rw,noatime - fuseblk /dev/sdb1 rw
        """
      #expect(RemoteFileSystem.fuseKind(major: 98, minor: 0, mounts: mounts) == "fuse.sshfs")
      #expect(RemoteFileSystem.fuseKind(major: 98, minor: 1, mounts: mounts) == nil)
      #expect(RemoteFileSystem.fuseKind(major: 9, minor: 9, mounts: mounts) == "FUSE")
    }
  #endif

  @Test func aFileThatCannotBeWrittenOpensReadOnly() throws {
    let directory = try ScratchDirectory()
    let first = try Environment.open(path: directory("A"), options: .scratch)
    try first.put(first.keyspace("rows"), "a", "1")
    first.close()
    for (code, kind) in [(EROFS, StorageError.Kind.readOnlyMedia), (EACCES, .permission)] {
      var options = EnvironmentOptions.scratch
      options.fileSystem.open = { path, flags, mode in
        flags & O_RDWR != 0 ? -code : FileSystem.system.open(path, flags, mode)
      }
      #expect(
        try storageError { _ = try Environment.open(path: directory("A"), options: options) }.kind == kind)
      options.isReadOnly = true
      let environment = try Environment.open(path: directory("A"), options: options)
      let rows = try environment.keyspace("rows")
      #expect(try environment.get(rows, "a") == "1")
      #expect(try storageError { try environment.put(rows, "a", "2") }.kind == .permission)
      environment.close()
    }
  }

  // MARK: Full disks, failed anchors

  @Test func aFileAtItsSizeLimitIsAFullDisk() async throws {
    await #expect(processExitsWith: .success) {
      try withEnvironment { environment in
        let rows = try environment.keyspace("rows")
        try environment.put(rows, "a", "1")
        let size = try environment.statistics().fileSize
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        let before = limit.rlim_cur
        limit.rlim_cur = rlim_t(size + 20_000)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        // One that starts below the limit and one that starts above it: a short write and a refused one.
        for count in [100_000, 100_000] {
          let error = try storageError {
            try environment.put(rows, "b", String(repeating: "x", count: count))
          }
          #expect(error.kind == .diskFull, "\(error)")
          #expect(!error.isOutcomeUnknown)
        }
        #expect(try environment.get(rows, "a") == "1")
        limit.rlim_cur = before
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        try environment.put(rows, "b", String(repeating: "x", count: 100_000))
        #expect(try environment.get(rows, "b")?.count == 100_000)
      }
    }
  }

  /// When the store cannot be opened again after a failed anchor, every use says why, and the next one tries.
  @Test func reopeningIsTriedUntilItWorks() throws {
    let directory = try ScratchDirectory()
    let environment = try Environment.open(path: directory("A"))
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    try environment.put(rows, "a", "1")
    try failNextAnchor(of: environment)
    // The file vanishes between the check before the write and the reopening.
    let error = try storageError {
      try environment.write { transaction in
        try transaction.put(rows, "a", "2")
        #expect(rename(directory("A"), directory("B")) == 0)
      }
    }
    #expect(error.isOutcomeUnknown)
    for _ in 0..<2 {
      #expect(try storageError { _ = try environment.get(rows, "a") }.kind == .missing)
      #expect(try storageError { try environment.put(rows, "a", "3") }.kind == .missing)
    }
    #expect(rename(directory("B"), directory("A")) == 0)
    #expect(try environment.get(rows, "a") == "1")
    try environment.put(rows, "a", "4")
    #expect(try environment.get(rows, "a") == "4")
  }

  @Test func aTemporaryStoreCannotBeOpenedAgain() throws {
    let directory = try ScratchDirectory()
    var options = EnvironmentOptions()
    options.isTemporary = true
    let environment = try Environment.open(path: directory("A"), options: options)
    defer { environment.close() }
    let rows = try environment.keyspace("rows")
    try failNextAnchor(of: environment)
    #expect(throws: StorageError.self) { try environment.put(rows, "a", "1") }
    #expect(try storageError { _ = try environment.get(rows, "a") }.kind == .io)
    // As long as it is held, no new file gets the number of its inode: it would be taken for this store.
    for number in 0..<200 {
      let other = try Environment.open(path: directory("B\(number)"), options: .scratch)
      #expect(other.identity != environment.identity)
      other.close()
    }
  }

  // MARK: Inspection while others write

  /// A walk that fails because of a commit meanwhile is repeated; otherwise the failure counts.
  @Test(arguments: [true, false]) func aMovingFileIsInspectedAgain(isMoving: Bool) throws {
    let directory = try ScratchDirectory()
    let path = directory("A")
    try Data(StoreShape.sample()).write(to: URL(fileURLWithPath: path))
    let noise = Mutex(3)
    var system = FileSystem.system
    system.read = { descriptor, buffer, offset in
      let count = FileSystem.system.read(descriptor, buffer, offset)
      noise.withLock { left in
        if offset >= 8192, left > 0 {
          // A page that another process is using again.
          left -= 1
          buffer.copyBytes(from: repeatElement(0xAA, count: count))
        } else if offset < 8192, isMoving {
          // And the anchor that says so: the map has grown, by one more with every read.
          buffer[33] &+= UInt8(truncatingIfNeeded: 4 - left)
        }
      }
      return count
    }
    let descriptor = system.open(path, O_RDONLY, 0)
    defer { _ = system.close(descriptor) }
    let inspection = FileInspection(file: try StoreFile(path, system), descriptor: descriptor)
    if isMoving {
      try inspection.run(.full)
    } else {
      #expect(try storageError { try inspection.run(.full) }.kind == .damaged)
    }
  }

  @Test func aReadErrorIsReported() throws {
    let directory = try ScratchDirectory()
    try Environment.open(path: directory("A"), options: .scratch).close()
    var options = EnvironmentOptions.scratch
    options.fileSystem.read = { _, _, _ in -Int(EIO) }
    #expect(try storageError { _ = try Environment.open(path: directory("A"), options: options) }.kind == .io)
  }
}

/// Makes LMDB's next write of an anchor fail as a broken disk would: through its own descriptor.
func failNextAnchor(of environment: Environment) throws {
  let names = [environment.path, environment.path + " (deleted)"]
  let anchor = try #require(names.flatMap(openDescriptors).first { fcntl($0, F_GETFL) & O_DSYNC != 0 })
  let full = open("/dev/full", O_WRONLY)
  try #require(dup2(full, anchor) >= 0)
  close(full)
}
