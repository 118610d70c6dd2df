import CLMDBShim
import Foundation

extension Environment {
  /// `flush()` of a store with a log: a checkpoint. Waits for its turn to write.
  ///
  /// - Throws: what `write` throws; ``StorageError`` `.io` when the medium fails.
  func flush(_ log: StoreLog) throws {
    log.wantFlush()
    try write { _ in }
  }

  /// Whether all processes that have the store open know of logs; false when anything is unclear.
  ///
  /// LMDB's table of readers has numbers of processes, but not where they mean something: two containers can have processes of the same number. LMDB itself has each of them
  /// lock the byte of its number in the lock file. The system tells whose lock that is in terms of this process. So a number is believed when both agree, and the process of that
  /// number has announced itself here.
  func doOthersKnowLogs(_ environment: OpaquePointer) -> Bool {
    ReaderTable.check(environment)
    guard let space = file.system.processSpace(), let probe = try? probeDescriptor() else { return false }
    return ReaderTable.processes(environment).allSatisfy { process in
      guard case .success(let holder) = file.system.holderOfByte(probe, Int64(process)) else { return false }
      // What this process has locked itself is not told.
      if process == getpid() { return holder == nil }
      return holder == process && turn.isAnnounced(process, in: space)
    }
  }

  /// Opens the store again when its pages may not have reached the medium: it is recovered from its log.
  func recoverIfNeeded(until deadline: ContinuousClock.Instant) throws {
    guard log?.reasonToRecover != nil else { return }
    try pool.exclusively(until: deadline) { environment in
      if let environment {
        // Another thread has done it meanwhile.
        if log?.reasonToRecover == nil { return .success(environment) }
        discard(environment)
      }
      return openAgain()
    }
  }

  /// A checkpoint in a quiet moment, so that a recovery has nothing to do. When another process writes, it is not quiet.
  func makeQuietCheckpoint() {
    guard !isReadOnly, (try? checkProcess()) != nil else { return }
    // Never waits: where another thread or process writes, the next write of this process makes the checkpoint.
    _ = lead(
      TypedWriteJob<Void>(patience: .seconds(1)) { _ in
      } completion: { _ in
      })
  }

  /// Ends a log that is in force, because the store's file is to be renamed or replaced. Others may have the store open.
  func retireLog(_ transaction: borrowing WriteTransaction) throws {
    try log?.retire(transaction.read.handle)
  }
}
