import CLMDBShim
import Foundation

/// What a log in force holds at one moment.
struct LogState: Hashable {
  /// Bytes in the file.
  var fileSize: Int
  /// Transactions since the checkpoint.
  var recordCount: Int
  /// Bytes that count.
  var used: Int

  /// What the log beside `file` holds; nil when there is none in force. One that is written at the same time may seem shorter than it is.
  static func read(_ file: StoreFile, data: Int32) throws -> LogState? {
    guard let mark = try LogMark.read(file, data) else { return nil }
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let log = file.system.open(file.logPath, flags, 0)
    if log == -ENOENT { return nil }
    if log < 0 { throw StorageError(-log, "open for reading", path: file.logPath) }
    defer { _ = file.system.close(log) }
    guard case .success(let status) = file.system.statusOfDescriptor(log), status.kind == .regular,
      status.size <= LogFormat.mostFileBytes, let head = try LogRecovery.head(log, of: mark, file),
      head.state == .inForce
    else { return nil }
    let bytes = try LogFile.read(log, 0..<status.size, file)
    let records = bytes.withUnsafeBytes { LogRecord.all($0, generation: head.generation) }
    return LogState(
      fileSize: bytes.count, recordCount: records.count, used: records.last?.end ?? LogFormat.recordStart)
  }
}

extension Environment {
  /// What the log beside the store holds; nil when there is none in force.
  func logState() throws -> LogState? {
    let (slot, environment) = try claimSection()
    defer { pool.leave(slot) }
    var descriptor: Int32 = -1
    mdb_env_get_fd(environment, &descriptor)
    return try LogState.read(file, data: descriptor)
  }
}
