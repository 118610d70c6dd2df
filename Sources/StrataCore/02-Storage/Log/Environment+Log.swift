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

  /// Opens the store again when its pages may not have reached the medium: it is recovered from its log.
  func recoverIfNeeded(until deadline: ContinuousClock.Instant) throws {
    guard log?.reasonToRecover != nil else { return }
    try pool.exclusively(until: deadline) { environment in
      if let environment { discard(environment) }
      return openAgain()
    }
  }

  /// What the log beside the store holds; nil when there is none in force.
  func logState() throws -> LogState? {
    guard case .success(let status) = file.system.status(file.logPath), status.kind == .regular else {
      return nil
    }
    let log = file.system.open(file.logPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0)
    if log == -ENOENT { return nil }
    if log < 0 { throw StorageError(-log, "open for reading", path: file.logPath) }
    defer { _ = file.system.close(log) }
    let bytes = try LogFile.read(log, 0..<min(status.size, LogFormat.mostFileBytes), file)
    guard case .head(let head) = LogHead.read(bytes), head.state == .inForce else { return nil }
    let records = bytes.withUnsafeBytes { LogRecord.all($0, generation: head.generation) }
    return LogState(
      fileSize: status.size, recordCount: records.count, used: records.last?.end ?? LogFormat.recordStart)
  }
}

/// What a log holds at one moment.
struct LogState: Sendable, Hashable {
  /// Bytes in the file.
  var fileSize: Int
  /// Transactions since the checkpoint.
  var recordCount: Int
  /// Bytes that count.
  var used: Int
}
