import CLMDBShim

/// How an environment is opened. A value; the defaults are right for an ordinary store.
struct EnvironmentOptions: Sendable {
  /// What to do when there is no file, or when there is one.
  enum CreatePolicy: Sendable {
    /// Create the file when it is missing. An existing empty file is damage, not a new store.
    case ifMissing
    /// A missing file is the error `.missing`.
    case never
    /// An existing file is the error `.exists`.
    case mustBeNew
  }

  /// How thoroughly the file is looked at before LMDB maps it.
  enum Inspection: Sendable {
    /// Quick when the file is as it was when it was closed in order (`CleanMark`), else full.
    case automatic
    /// Both meta pages, the records and roots of all keyspaces.
    case quick
    /// Every reachable page and the free list.
    case full
    /// Nothing at all. Only for files this process has inspected already.
    case none
  }

  /// What to do when there is no file, or when there is one.
  var create = CreatePolicy.ifMissing
  /// Refuse writes, unless the store is opened for writing, too. A file that can be written is still opened for writing, since LMDB's locks need it.
  var isReadOnly = false
  /// What survives a power failure.
  var durability = Durability.full
  /// How many keyspaces can be opened at most. Each costs 49 bytes per transaction and no time.
  var maxKeyspaces = 256
  /// Bytes of address space at first; nil tries 1 TiB, 64 GiB, 4 GiB, 256 MiB. It grows when it must.
  var mapSize: Int? = nil
  /// Reader slots in the lock file. Only the first process that opens the file decides it.
  var maxReaders = 1024
  /// Allow NFS, SMB and the like, where neither locks nor the shared map can be trusted.
  var allowsNetworkFileSystem = false
  /// How thoroughly the file is looked at before LMDB maps it.
  var inspection = Inspection.automatic
  /// A file that holds anything, but no keyspace of this name, is another program's. It is refused before LMDB sees it: nothing is made or changed beside it.
  var requiredKeyspace: String?
  /// How long a write waits for its turn, behind other processes above all, before it ends as `.busy`.
  var writerDeadline = Duration.seconds(30)
  /// How long opening waits for others; nil means a `writerDeadline` of its own.
  var patience: Patience?
  /// One that is just being closed and waits for another process is taken as open, also with other options: then opening fails as
  /// `.invalid` at once instead of waiting for its end.
  var meetsClosing = false
  /// After how many commits the slots of killed readers are looked for.
  var readerCheckInterval = 64
  /// The files are made new and unlinked right after opening: nothing is left when the process ends, however
  /// it ends.
  var isTemporary = false
  /// Whether small commits go into a log beside the store. A log that is there already, of another process, is used in any case.
  var keepsLog = false
  /// When a log is made and how much it may hold.
  var log = LogPolicy()
  /// The operating system's file calls.
  var fileSystem = FileSystem.system
  /// The clock that ages of snapshots are taken from.
  var now: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
}

extension EnvironmentOptions {
  /// Whether the store can have a log. A temporary one has no name under which it could be recovered.
  var canHaveLog: Bool { !isTemporary }

  /// Whether a commit without a log is flushed. `.none` promises what `.relaxed` does where there can be a log.
  var flushesCommits: Bool { durability != .none || keepsLog && canHaveLog }

  /// The flags for `mdb_env_open` that make LMDB keep the durability's promise.
  var environmentFlags: UInt32 {
    switch durability {
    case .full: 0
    case .relaxed: UInt32(MDB_NOMETASYNC)
    case .none: UInt32(flushesCommits ? MDB_NOMETASYNC : MDB_NOSYNC)
    }
  }
}
