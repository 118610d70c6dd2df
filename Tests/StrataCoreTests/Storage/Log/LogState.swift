import Foundation

@testable import StrataCore

/// What a log holds at one moment.
struct LogState: Hashable {
  /// Bytes in the file.
  var fileSize: Int
  /// Transactions since the checkpoint.
  var recordCount: Int
  /// Bytes that count.
  var used: Int
}

extension Environment {
  /// What the log beside the store holds; nil when there is none in force.
  func logState() throws -> LogState? {
    guard let data = FileManager.default.contents(atPath: file.logPath) else { return nil }
    let bytes = [UInt8](data)
    guard case .head(let head) = LogHead.read(bytes), head.state == .inForce else { return nil }
    let records = bytes.withUnsafeBytes { LogRecord.all($0, generation: head.generation) }
    return LogState(
      fileSize: bytes.count, recordCount: records.count, used: records.last?.end ?? LogFormat.recordStart)
  }
}
