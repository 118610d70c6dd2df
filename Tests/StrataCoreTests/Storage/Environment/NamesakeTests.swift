#if os(Linux)
  import CLMDBShim
  import Foundation
  import Testing

  @testable import StrataCore

  /// Another process that has the number of this one: the killed predecessor of a restarted container, or a living process in another container.
  ///
  /// Here it is an environment of LMDB's own that is not closed, beside locks that count within one process, too (`F_OFD_SETLK`): no namespaces are needed, which not
  /// everybody may make.
  @Suite struct NamesakeTests {
    private let directory: ScratchDirectory
    private let path: String
    private let lockFile: Int32

    init() throws {
      directory = try ScratchDirectory()
      path = directory("A")
      let environment = try Environment.open(path: path, options: .scratch)
      try environment.put(try environment.keyspace("rows"), "a", "1")
      environment.close()
      lockFile = open(path + "-lock", O_RDWR | O_CLOEXEC)
      // As a process does that has the store open: so its table of readers is not made anew.
      #expect(set(F_RDLCK, at: 0) == 0)
    }

    private func set(_ kind: Int32, at place: Int) -> Int32 {
      var range = flock()
      (range.l_type, range.l_whence) = (Int16(kind), Int16(SEEK_SET))
      (range.l_start, range.l_len) = (off_t(place), 1)
      return fcntl(lockFile, 37, &range)
    }

    /// The namesake reads. Its environment and its transaction.
    private func namesake() throws -> (environment: OpaquePointer, transaction: OpaquePointer) {
      var environment: OpaquePointer?
      try #require(mdb_env_create(&environment) == 0)
      let opened = try #require(environment)
      try #require(mdb_env_open(opened, path, UInt32(MDB_NOSUBDIR | MDB_NOTLS), 0o600) == 0)
      var transaction: OpaquePointer?
      try #require(mdb_txn_begin(opened, nil, UInt32(MDB_RDONLY), &transaction) == 0)
      return (opened, try #require(transaction))
    }

    /// What it has locked belongs to somebody else from now on.
    private func lockNumber() {
      // Closing any descriptor ends what the process has locked.
      close(open(path + "-lock", O_RDONLY | O_CLOEXEC))
      #expect(set(F_WRLCK, at: Int(getpid())) == 0)
    }

    private func expectNamed(_ error: StorageError) {
      #expect(error.kind == .busy && error.operation == "mdb_txn_begin" && error.path == path)
      #expect(error.detail.contains("number \(getpid()), in another container"))
    }

    @Test func slotsOfADeadNamesakeAreFreedByOpening() throws {
      defer { close(lockFile) }
      let dead = try namesake()
      #expect(ReaderTable.readers(dead.environment).count == 1)
      let environment = try Environment.open(path: path, options: .scratch)
      #expect(ReaderTable.readers(dead.environment).isEmpty)
      let rows = try environment.keyspace("rows")
      #expect(try environment.get(rows, "a") == "1")
      // The slot is one of the living now: no check takes it for free.
      let snapshot = try environment.makeSnapshot()
      #expect(ReaderTable.readers(dead.environment).map(\.process) == [getpid()])
      withExtendedLifetime(snapshot) {}
      environment.close()
      mdb_txn_abort(dead.transaction)
      mdb_env_close(dead.environment)
    }

    @Test func aLivingNamesakeIsNamedAndKeepsItsSlots() throws {
      defer { close(lockFile) }
      let living = try namesake()
      lockNumber()
      for _ in 0..<2 {
        expectNamed(try storageError { _ = try Environment.open(path: path, options: .scratch) })
        #expect(ReaderTable.readers(living.environment).count == 1)
      }
      // It ends.
      mdb_txn_abort(living.transaction)
      mdb_env_close(living.environment)
      #expect(set(F_UNLCK, at: Int(getpid())) == 0)
      let environment = try Environment.open(path: path, options: .scratch)
      #expect(try environment.get(try environment.keyspace("rows"), "a") == "1")
      environment.close()
    }

    /// It reads for the first time when the store is open here, and nobody has read.
    @Test func aNamesakeThatReadsFirstIsNamedByTheNextRead() throws {
      defer { close(lockFile) }
      #expect(set(F_WRLCK, at: Int(getpid())) == 0)
      expectNamed(
        try storageError {
          let environment = try Environment.open(path: path, options: .scratch)
          defer { environment.close() }
          try environment.read { _ in }
        })
    }
  }
#endif
