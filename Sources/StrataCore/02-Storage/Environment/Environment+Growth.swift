import CLMDBShim
import Foundation

/// A larger map, behind the gate.
///
/// LMDB reserves address space when it opens a file and stops when the file would outgrow it
/// (MDB_MAP_FULL), or when another process has outgrown it already (MDB_MAP_RESIZED). Both are answered
/// here, while no section of this process is open; the application never notices it.
extension Environment {
  /// Makes room for more data after MDB_MAP_FULL.
  ///
  /// - Throws: `.mapFull` when the address space is used up, `.busy` when sections stay open.
  func grow(until deadline: ContinuousClock.Instant) throws {
    try remap(until: deadline) { current, _ in
      [current &* 2, current + current / 4, current + 256 << 20, current + 16 << 20]
    }
  }

  /// Makes room for what another process has written after MDB_MAP_RESIZED.
  func adoptForeignGrowth(until deadline: ContinuousClock.Instant) throws {
    try requireOutside(MDB_MAP_RESIZED)
    try remap(until: deadline) { current, needed in
      guard needed > current else { return [] }
      return [max(current &* 2, needed &* 2), needed + needed / 4, needed]
    }
  }

  /// Opens the file again after MDB_PANIC, in place: keyspaces keep their handles, snapshots end.
  ///
  /// Does nothing when another thread has done it meanwhile. When it fails, the next use tries again.
  func reopen(until deadline: ContinuousClock.Instant) throws {
    try requireOutside(MDB_PANIC)
    try pool.exclusively(until: deadline) { environment in
      if let environment {
        var probe: OpaquePointer?
        if mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &probe) != MDB_PANIC {
          if let probe { mdb_txn_abort(probe) }
          return .success(environment)
        }
        discard(environment)
      }
      return openAgain()
    }
  }

  /// Ends everything that hangs on LMDB's environment, and it. The caller holds the gate.
  func discard(_ environment: OpaquePointer) {
    pool.dropParkedReaders()
    let pinned = lock.withLock {
      defer {
        pins.removeAll()
        releasedPins.removeAll()
      }
      return Array(pins.values)
    }
    for transaction in pinned { transaction.end() }
    log?.detach()
    inodePin.hold(environment)
    // Without a descriptor of its own on the lock file, another file may have its inode as soon as LMDB has closed it. A temporary store's has no name, and nobody asks for it.
    lock.withLock { if lockProbe == nil { lockIdentity = nil } }
    mdb_env_close(environment)
    // A recovery, or an opening, must not take the locks that have just been given up for those of another user of the store.
    lock.withLock { lockIdentity = nil }
    closeProbe()
    turn.withdraw()
  }

  /// A thread inside a section cannot wait until it has left it.
  private func requireOutside(_ code: Int32) throws {
    guard pool.isCurrentThreadInside else { return }
    throw StorageError(
      code == MDB_PANIC ? .io : .busy, code: code, operation: "mdb_txn_begin", path: path,
      detail: "The store must be mapped again, which cannot happen inside a read; try again after it.")
  }

  private func remap(
    until deadline: ContinuousClock.Instant, _ candidates: (_ current: Int, _ needed: Int) -> [Int]
  ) throws {
    try pool.exclusively(until: deadline) { environment in
      guard let environment else { return openAgain() }
      var information = MDB_envinfo()
      var statistics = MDB_stat()
      mdb_env_info(environment, &information)
      mdb_env_stat(environment, &statistics)
      let needed = (information.me_last_pgno + 1) * Int(statistics.ms_psize)
      let sizes = candidates(information.me_mapsize, needed)
      // Pages that only dead readers keep are room, too.
      if sizes.isEmpty || ReaderTable.check(environment) > 0 { return .success(environment) }
      return try enlarge(environment, from: information.me_mapsize, to: sizes)
    }
  }

  private func enlarge(
    _ environment: OpaquePointer, from current: Int, to sizes: [Int]
  ) throws -> Result<OpaquePointer, StorageError> {
    for size in sizes where size > current && size < 1 << 47 {
      let size = size.roundedUp(to: 1 << 16)
      // LMDB gives up the old map before it asks for the new one, so ask first.
      guard AddressSpace.hasRoom(for: size - current) else { continue }
      let code = mdb_env_set_mapsize(environment, size)
      if code == 0 { return .success(environment) }
      // Now there is no map at all, and only a new environment gets one.
      discard(environment)
      return openAgain()
    }
    throw StorageError(
      MDB_MAP_FULL, "mdb_env_set_mapsize", path: path,
      detail: "The process has no address space left for more than \(current >> 20) MiB.")
  }

  /// A new environment on the same file, with the same keyspaces under the same handles.
  func openAgain() -> Result<OpaquePointer, StorageError> {
    do {
      if options.isTemporary {
        throw StorageError(
          .io, operation: "mdb_env_open", path: path,
          detail: "A temporary store has no name under which it could be opened again.")
      }
      var options = options
      options.mapSize = nil
      options.isReadOnly = isReadOnly
      options.log.mustRecover = log?.reasonToRecover != nil
      let opened = try FileSizeLimit.withoutSignal {
        try OpenedEnvironment(file, identity, options: options, inspection: .quick, turn: turn)
      }
      do {
        try restoreKeyspaces(opened.handle)
      } catch {
        opened.close()
        throw error
      }
      lock.withLock { (lockIdentity, lockProbe) = (opened.lockIdentity, opened.probe) }
      inodePin.release()
      log?.forgetSuspicion()
      return .success(opened.handle)
    } catch {
      turn.withdraw()
      var reason =
        error as? StorageError
        ?? StorageError(.other, operation: "mdb_env_open", path: path, detail: "\(error)")
      // The code by which the next use knows that it may try again.
      reason.detail = "The store could not be opened again after a failed write. \(reason.detail)"
      reason.code = MDB_PANIC
      return .failure(reason)
    }
  }
}

/// Questions about the address space of the process.
enum AddressSpace {
  /// Whether `count` more bytes can be mapped now.
  static func hasRoom(for count: Int) -> Bool {
    let flags = MAP_PRIVATE | Int32(MAP_ANON) | AddressSpace.noReserve
    guard let start = mmap(nil, count, PROT_NONE, flags, -1, 0), start != MAP_FAILED else { return false }
    munmap(start, count)
    return true
  }

  #if canImport(Darwin)
    private static let noReserve: Int32 = 0
  #else
    private static let noReserve = Int32(MAP_NORESERVE)
  #endif
}
