import CLMDBShim
import Foundation

/// A failure below the store: of LMDB, of the operating system, of a file that is not what it should be, or of a database server.
///
/// The raw code is kept; `description` says in one sentence what happened, and names the file.
public struct StorageError: Error, Sendable, CustomStringConvertible, LocalizedError {
  /// What happened, as far as a program can act on it.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// There is no file of that name.
    case missing
    /// There is a file of that name already.
    case exists
    /// The file is something else: text, another database, a directory.
    case notADatabase
    /// The file is a store whose bytes contradict themselves. `page` says where.
    case damaged
    /// The file is a store whose end is missing.
    case truncated
    /// The file is a store of another page size, byte order or LMDB version.
    case unsupportedFormat
    /// The program runs with a liblmdb that keeps files of another format, or was built for another one than it runs with.
    case unsupportedLibrary
    /// Another process kept the store locked until the deadline, has open what is to be replaced or removed, or has the number of this one, in another container.
    case busy
    /// The disk, the quota or the size limit of the process is used up.
    case diskFull
    /// The address space for the file is used up and cannot grow.
    case mapFull
    /// Every reader slot is taken by a living reader.
    case readersFull
    /// The medium failed.
    case io
    /// The process may not do that with the file.
    case permission
    /// The medium cannot be written.
    case readOnlyMedia
    /// The file lies on a network file system, where LMDB cannot work.
    case networkFileSystem
    /// The file has a second name (hard link) or the name is a symbolic link.
    case aliased
    /// Another file has taken the name, or the name is gone, since the store was opened; or the lock file beside it is another file's.
    case replaced
    /// The store was opened before a `fork` by the parent process.
    case forked
    /// The store was closed.
    case closed
    /// The process has no memory, address space or threads left.
    case outOfMemory
    /// A value or a transaction is larger than LMDB can hold.
    case tooLarge
    /// An argument or a combination of options makes no sense.
    case invalid
    /// The server that keeps the store cannot be reached, or the connection to it was lost.
    case unreachable
    /// The server refuses the login, or the role may not do that.
    case refused
    /// The connection was lost while a commit was on its way, and the server could not be asked whether it took place.
    case outcomeUnknown
    /// The server has no connection, memory or time left for this, or others kept it from it until the deadline.
    case serverBusy
    /// Anything else; `code` tells.
    case other
  }

  /// What happened, as far as a program can act on it.
  public var kind: Kind
  /// LMDB's return code (below zero) or the errno (above); 0 when neither was involved.
  public var code: Int32
  /// The call that failed, such as `mdb_txn_commit`.
  public var operation: String
  /// The data file.
  public var path: String
  /// The page at which damage was found.
  public var page: UInt64?
  /// What happened, as a sentence.
  public var detail: String
  /// Whether a commit failed so late that it may have happened all the same. The commit stamp tells.
  public var isOutcomeUnknown = false

  /// An error with its sentence.
  public init(
    _ kind: Kind, code: Int32 = 0, operation: String, path: String, page: UInt64? = nil, detail: String
  ) {
    self.kind = kind
    self.code = code
    self.operation = operation
    self.path = path
    self.page = page
    self.detail = detail
  }

  /// What happened, where, and LMDB's or the system's own word for it.
  public var description: String {
    var text = detail
    if !path.isEmpty { text += " File: \(path)." }
    if code != 0 { text += " (\(operation): \(StorageError.name(of: code)))" }
    return text
  }

  /// The same as `description`.
  public var errorDescription: String? { description }
}

extension StorageError {
  /// The error for a code that LMDB or the system returned.
  init(_ code: Int32, _ operation: String, path: String, detail: String = "") {
    let (kind, sentence) = StorageError.explanation(of: code, reading: Self.readingCalls.contains(operation))
    self.init(
      kind, code: code, operation: operation, path: path,
      detail: detail.isEmpty ? sentence : "\(sentence) \(detail)")
  }

  /// The error for a code that LMDB returned for `transaction`, which knows the file.
  init(_ code: Int32, _ operation: String, transaction: OpaquePointer?) {
    var path: UnsafePointer<CChar>?
    if let transaction, let environment = mdb_txn_env(transaction) { mdb_env_get_path(environment, &path) }
    self.init(code, operation, path: path.map { String(cString: $0) } ?? "")
  }

  /// The name of a code as the headers spell it, or the system's words for an errno.
  static func name(of code: Int32) -> String {
    if let name = lmdbNames[code] { return name }
    // Never nil: mdb_strerror answers for every number.
    return "\(String(cString: mdb_strerror(code))), code \(code)"
  }

  private static let lmdbNames: [Int32: String] = [
    MDB_KEYEXIST: "MDB_KEYEXIST", MDB_NOTFOUND: "MDB_NOTFOUND", MDB_PAGE_NOTFOUND: "MDB_PAGE_NOTFOUND",
    MDB_CORRUPTED: "MDB_CORRUPTED", MDB_PANIC: "MDB_PANIC", MDB_VERSION_MISMATCH: "MDB_VERSION_MISMATCH",
    MDB_INVALID: "MDB_INVALID", MDB_MAP_FULL: "MDB_MAP_FULL", MDB_DBS_FULL: "MDB_DBS_FULL",
    MDB_READERS_FULL: "MDB_READERS_FULL", MDB_TLS_FULL: "MDB_TLS_FULL", MDB_TXN_FULL: "MDB_TXN_FULL",
    MDB_CURSOR_FULL: "MDB_CURSOR_FULL", MDB_PAGE_FULL: "MDB_PAGE_FULL", MDB_MAP_RESIZED: "MDB_MAP_RESIZED",
    MDB_INCOMPATIBLE: "MDB_INCOMPATIBLE", MDB_BAD_RSLOT: "MDB_BAD_RSLOT", MDB_BAD_TXN: "MDB_BAD_TXN",
    MDB_BAD_VALSIZE: "MDB_BAD_VALSIZE", MDB_BAD_DBI: "MDB_BAD_DBI",
  ]

  /// The calls that need no permission to write.
  private static let readingCalls: Set = [
    "realpath", "lstat", "fstat", "fstatfs", "pread", "open for reading",
  ]

  /// What each code means for a program that keeps data in the file. `reading` tells which permission is missing.
  static func explanation(of code: Int32, reading: Bool = false) -> (Kind, String) {
    switch code {
    case MDB_KEYEXIST: (.invalid, "A key was written out of order, or exists already.")
    case MDB_NOTFOUND: (.missing, "There is no entry of that key.")
    case MDB_PAGE_NOTFOUND: (.damaged, "The store refers to a page that it does not have.")
    case MDB_CORRUPTED: (.damaged, "The store has a page of the wrong kind.")
    case MDB_PANIC: (.io, "Writing the store's anchor failed; it must be opened again.")
    case MDB_VERSION_MISMATCH:
      (.unsupportedFormat, "The store, or its lock file, was made by another version of LMDB.")
    case MDB_INVALID: (.notADatabase, "The file, or its lock file, is not an LMDB store.")
    case MDB_MAP_FULL: (.mapFull, "The address space reserved for the store is used up.")
    case MDB_DBS_FULL: (.invalid, "More keyspaces were asked for than the environment was opened with.")
    case MDB_READERS_FULL: (.readersFull, "Every reader slot of the store is taken.")
    case MDB_TLS_FULL: (.other, "The system has no thread-specific keys left.")
    case MDB_TXN_FULL: (.tooLarge, "The transaction changes more pages than LMDB can track; save in parts.")
    case MDB_CURSOR_FULL: (.damaged, "The store's tree is deeper than LMDB can walk.")
    case MDB_PAGE_FULL: (.damaged, "A page of the store has less room than it says.")
    case MDB_MAP_RESIZED: (.mapFull, "Another process made the store larger than the space reserved here.")
    case MDB_INCOMPATIBLE: (.unsupportedFormat, "A keyspace of the store is of another kind than expected.")
    case MDB_BAD_RSLOT: (.invalid, "A reader slot was used by two transactions at once.")
    case MDB_BAD_TXN: (.invalid, "The transaction had failed before and can only be given up.")
    case MDB_BAD_VALSIZE:
      (.tooLarge, "A key is empty or longer than 511 bytes, or a value is 4 GiB or longer.")
    case MDB_BAD_DBI: (.invalid, "The keyspace is not open in this transaction.")
    case ENOENT: (.missing, "There is no file or directory of that name.")
    case EEXIST: (.exists, "There is a file of that name already.")
    case EACCES, EPERM: (.permission, "Permission to \(reading ? "read" : "write") it is missing.")
    case EROFS: (.readOnlyMedia, "The medium cannot be written.")
    case ENOSPC: (.diskFull, "The disk is full.")
    case EDQUOT: (.diskFull, "The disk quota is used up.")
    case EFBIG: (.diskFull, "The file would exceed the largest size that the process or the disk allows.")
    case ENOMEM: (.outOfMemory, "The process has no memory or address space left.")
    case EMFILE, ENFILE: (.outOfMemory, "Too many files are open.")
    case EAGAIN, EBUSY, EDEADLK: (.busy, "Somebody else is using the store.")
    case EIO: (.io, "The medium failed to read or write.")
    case EINTR: (.io, "A signal interrupted the call; it can be tried again.")
    case ECANCELED: (.other, "The process is ending, and opens and makes no stores any more.")
    case EINVAL: (.invalid, "The system or LMDB refused an argument.")
    case ELOOP: (.aliased, "The name is a symbolic link.")
    case EISDIR, ENOTDIR: (.notADatabase, "A directory stands where a file should, or the other way round.")
    case ENAMETOOLONG: (.invalid, "The name is longer than the file system allows.")
    case ESTALE, ENXIO, ENODEV: (.io, "The medium is gone.")
    default: (.other, "The system or LMDB reported a failure.")
    }
  }
}

extension StorageError {
  /// The error for a file that LMDB knows, and that no store of Strata is in.
  static func foreign(_ path: String) -> StorageError {
    StorageError(
      .notADatabase, operation: "open store", path: path,
      detail: "The file is an LMDB database, but no store of this package.")
  }
}

extension StorageError: ValuelessError {
  /// It names files alone.
  package var textWithoutValues: String { "\(self)" }
}
