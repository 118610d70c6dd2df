import CStrataSQLite
import Foundation
import StrataCore

/// Opens a store of others for reading so that not a byte of it changes and nothing is left beside it.
///
/// ```
///   -wal with bytes, -shm       in place, beside whoever has it open
///   -wal with bytes, no -shm    a copy of both: SQLite would leave a -shm
///   -shm, no -wal               a copy: SQLite would make a -wal
///   no -wal, journal mode WAL   in place and immutable, and looked at again afterwards; with a -shm beside whoever has it open
///   -journal with bytes         a copy of both, in which the journal is rolled back
///   otherwise                   in place
/// ```
///
/// Where SQLite cannot open it in place, since the folder or the files cannot be written, a copy is read. The write-ahead log is never passed over.
final class SourceFile {
  let database: SQLiteDatabase
  let path: String
  private let copy: TemporaryFolder?
  private let file: SourceDescriptors.File
  private var isClosed = false
  /// What the files were like, where nobody can be kept from writing them.
  private let marks: [FileMark]?

  /// - Throws: `AppleStoreError`.
  init(_ link: String) throws {
    try Self.requireSQLite(link)
    // SQLite finds the log of a file beside the file itself, and not beside a link that leads to it.
    let path = Self.resolved(link)
    self.path = path
    guard let file = SourceDescriptors.File(path) else { throw AppleStoreError.system(errno, path) }
    self.file = file
    SourceDescriptors.begin(file)
    var isOpen = false
    defer { if !isOpen { SourceDescriptors.end(file) } }
    for suffix in ["-wal", "-journal"] { try Self.requirePlain(path + suffix) }
    let log = FileMark(path + "-wal")
    let journal = FileMark(path + "-journal")
    let isShared = FileMark(path + "-shm") != nil
    let hasLog = (log?.length ?? 0) > 0
    let mode = try Self.journalMode(path, file)
    if (journal?.length ?? 0) > 0 || hasLog && !isShared || isShared && log == nil {
      (database, copy) = try Self.openCopy(path, file)
      marks = nil
    } else if mode == .log && !hasLog && !isShared {
      marks = FileMark.all(path)
      copy = nil
      database = try Self.open(Self.uri(path) + "?mode=ro&immutable=1", name: path)
    } else {
      marks = nil
      do {
        database = try Self.open(Self.uri(path) + "?mode=ro", name: path)
        copy = nil
      } catch let error as AppleStoreError where error.kind == .permission {
        (database, copy) = try Self.openCopy(path, file)
      }
    }
    isOpen = true
  }

  /// Throws when the file was written meanwhile by somebody who could not be kept from it.
  /// - Throws: `AppleStoreError` `.busy`.
  func requireUnchanged() throws {
    if let marks, marks != FileMark.all(path) { throw Self.changed(path) }
  }

  /// May be called more than once.
  func close() {
    if isClosed { return }
    isClosed = true
    database.close()
    copy?.remove()
    SourceDescriptors.end(file)
  }

  deinit { close() }

  private static func changed(_ path: String) -> AppleStoreError {
    AppleStoreError(.busy, "\(path) was written while it was read. Nothing was taken from it; try again.")
  }

  /// A link beside the file would lead somewhere else from a copy, and nothing but a file is a log.
  private static func requirePlain(_ path: String) throws {
    var status = stat()
    if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      throw AppleStoreError(.unsupported, "\(path) is no plain file, as a log of SQLite is.")
    }
  }

  /// A journal of a save over several databases ends with the name of a file that they share, which SQLite removes when it rolls back: in a file of
  /// unknown origin it could be any.
  private static func requireOwnJournal(_ copy: String, _ name: String) throws {
    guard let data = try? Data(contentsOf: URL(fileURLWithPath: copy), options: .mappedIfSafe),
      data.count >= 8
    else { return }
    let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
    if data.suffix(8).elementsEqual(magic) {
      throw AppleStoreError(
        .unsupported,
        "\(name) is of a save over several databases that was cut off. Let the app open the store once.")
    }
  }

  private static func resolved(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }

  private enum JournalMode { case rollback, log }

  private static func requireSQLite(_ path: String) throws {
    var status = stat()
    if stat(path, &status) != 0 { throw AppleStoreError.system(errno, path) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw AppleStoreError(.notAStore, "\(path) is no file.")
    }
  }

  /// From the file's header, which begins as every file of SQLite does.
  private static func journalMode(_ path: String, _ file: SourceDescriptors.File) throws -> JournalMode {
    let header = try reading(path, file) { handle in
      do { return try handle.read(upToCount: 100) ?? Data() } catch {
        throw AppleStoreError(.permission, "\(path) cannot be read: \(error.localizedDescription)")
      }
    }
    guard header.count == 100, header.starts(with: Array("SQLite format 3\0".utf8)) else {
      throw AppleStoreError(.notAStore, "\(path) is no file of SQLite.")
    }
    return header[header.startIndex + 19] == 2 ? .log : .rollback
  }

  /// Opens the database file itself for `body`.
  private static func reading<R>(
    _ path: String, _ file: SourceDescriptors.File, _ body: (FileHandle) throws -> R
  ) throws -> R {
    let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw AppleStoreError(.permission, "\(path) cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { SourceDescriptors.release(descriptor, of: file) }
    return try body(FileHandle(fileDescriptor: descriptor, closeOnDealloc: false))
  }

  /// Opens a file and reads its first page: only then it is known whether it can be read.
  private static func open(
    _ place: String, name: String, flags: Int32 = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
  ) throws -> SQLiteDatabase {
    let database = try SQLiteDatabase(place, flags: flags, name: name)
    // A copy may be changed, its own log above all.
    _ = strata_sqlite_set(database.handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    try database.distrust(isReadOnly: true)
    // One state for all that is read.
    try database.run("BEGIN")
    _ = try database.value("SELECT count(*) FROM sqlite_master")
    return database
  }

  private static func openCopy(_ path: String, _ file: SourceDescriptors.File) throws -> (
    SQLiteDatabase, TemporaryFolder
  ) {
    TemporaryFolder.removeLeftovers(
      beside: FileManager.default.temporaryDirectory.appendingPathComponent("store").path)
    let folder = try TemporaryFolder()
    let target = folder.path + "/store"
    try FileSizeLimit.withoutSignal { try copy(path, file, to: target) }
    try requireOwnJournal(target + "-journal", path + "-journal")
    // SQLite writes to the copy what the journal says.
    let database = try FileSizeLimit.withoutSignal {
      try open(target, name: path, flags: SQLITE_OPEN_READWRITE)
    }
    return (database, folder)
  }

  private static func copy(_ path: String, _ file: SourceDescriptors.File, to target: String) throws {
    for attempt in 1...3 {
      let before = FileMark.all(path)
      for suffix in ["-wal", "-journal", ""] {
        try? FileManager.default.removeItem(atPath: target + suffix)
        if FileMark(path + suffix) == nil { continue }
        do {
          if suffix.isEmpty {
            try reading(path, file) { try copy($0, to: target) }
          } else {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: target + suffix)
          }
        } catch let error as AppleStoreError {
          throw error
        } catch {
          let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
          let folder = URL(fileURLWithPath: target).deletingLastPathComponent().path
          throw AppleStoreError(
            isFull ? .output : .permission,
            "\(path)\(suffix) cannot be copied to \(folder): \(error.localizedDescription)")
        }
        chmod(target + suffix, 0o600)
      }
      if before == FileMark.all(path) { break }
      if attempt == 3 { throw changed(path) }
    }
  }

  private static func copy(_ source: FileHandle, to target: String) throws {
    try Data().write(to: URL(fileURLWithPath: target))
    let copy = try FileHandle(forWritingTo: URL(fileURLWithPath: target))
    defer { try? copy.close() }
    while let bytes = try source.read(upToCount: 1 << 20), !bytes.isEmpty {
      try copy.write(contentsOf: bytes)
    }
  }

  /// A path as SQLite's URIs write it.
  private static func uri(_ path: String) -> String {
    let plain = CharacterSet(charactersIn: "/-._~").union(.alphanumerics)
    let absolute = URL(fileURLWithPath: path).path
    // Every text can be written with percent signs.
    return "file:" + (absolute.addingPercentEncoding(withAllowedCharacters: plain) ?? absolute)
  }
}

/// What a file is like, as far as somebody who writes it would change that.
struct FileMark: Equatable {
  let length: Int64
  private let inode: UInt64
  private let seconds: Int
  private let nanoseconds: Int

  /// Nil when there is no such file.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    length = Int64(status.st_size)
    inode = UInt64(status.st_ino)
    #if canImport(Darwin)
      (seconds, nanoseconds) = (status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec)
    #else
      (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    #endif
  }

  /// Of a database and what belongs to it. An empty log and none are the same.
  static func all(_ path: String) -> [FileMark] {
    ["", "-wal", "-journal"].compactMap { FileMark(path + $0) }.filter { $0.length > 0 }
  }
}

/// A folder for copies, gone with the object.
final class TemporaryFolder {
  let path: String
  /// Locked as long as the folder is worked on, so that others see that it is in use.
  private let descriptor: Int32
  /// The folders of this process, which are to go with it; nil once it is about to end.
  private static let living = Mutex<Set<String>?>([])

  /// - Throws: `AppleStoreError`.
  init(beside destination: String? = nil) throws {
    let top =
      destination.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
      ?? FileManager.default.temporaryDirectory.path
    var pattern = Array("\(top == "/" ? "" : top)/.strata-apple-\(getpid())-XXXXXX".utf8CString)
    path = try Self.unlessEnding(top) { living in
      guard mkdtemp(&pattern) != nil else { throw AppleStoreError.system(errno, top) }
      let path = String(decoding: pattern.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      living.insert(path)
      return path
    }
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    // Without the lock there is still the number of the process.
    if descriptor >= 0 { _ = flock(descriptor, LOCK_EX | LOCK_NB) }
  }

  deinit {
    remove()
    if descriptor >= 0 { Self.closeFile(descriptor) }
  }

  // The name of the system's function, which a method of this class would hide.
  private static func closeFile(_ descriptor: Int32) { _ = Foundation.close(descriptor) }

  func remove() {
    guard Self.living.withLock({ $0?.contains(path) == true }) else { return }
    try? FileManager.default.removeItem(atPath: path)
    // Only now: a program that ends meanwhile removes the rest.
    Self.living.withLock { _ = $0?.remove(path) }
  }

  /// Carries out what gives what is finished its names: a program that ends does so before it or after it.
  static func publish(_ destination: String, _ body: () throws -> Void) throws {
    try unlessEnding(destination) { _ in try body() }
  }

  private static func unlessEnding<R>(_ path: String, _ body: (inout Set<String>) throws -> R) throws -> R {
    try living.withLock { living in
      guard var known = living else { throw AppleStoreError.system(ECANCELED, path) }
      defer { living = known }
      return try body(&known)
    }
  }

  /// Removes all folders of this process, which ends now. Other threads go on meanwhile, and may still make files in a folder until it is gone.
  static func removeAll() {
    let folders: Set<String> = living.withLock { living in
      defer { living = nil }
      return living ?? []
    }
    for path in folders {
      for _ in 0..<1_000 {
        try? FileManager.default.removeItem(atPath: path)
        if access(path, F_OK) != 0 { break }
        usleep(1_000)
      }
    }
  }

  /// Removes those beside a place whose processes have died.
  static func removeLeftovers(beside destination: String) {
    let folder = URL(fileURLWithPath: destination).deletingLastPathComponent().path
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      let parts = name.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 4, parts[0] == ".strata", parts[1] == "apple", let process = Int32(parts[2]),
        process > 0, process != getpid(), kill(process, 0) != 0, errno == ESRCH
      else { continue }
      let path = (folder == "/" ? "" : folder) + "/" + name
      let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      if descriptor < 0 { continue }
      defer { closeFile(descriptor) }
      // A process of another container has a number that means nothing here.
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { try? FileManager.default.removeItem(atPath: path) }
    }
  }
}
