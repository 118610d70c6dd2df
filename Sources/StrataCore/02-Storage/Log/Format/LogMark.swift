import Foundation

/// A note in the data file that it has a log beside it, without which it need not be whole.
///
/// It lies 1,024 bytes behind the start of page 0, in a sector of its own, where LMDB neither reads nor writes. It is flushed before the log is in force,
/// and removed after the log is empty. Copies and backups have none.
///
/// | offset | bytes | |
/// |---|---|---|
/// | 1024 | 8 | “STRATLOG” |
/// | 1032 | 16 | the log's identity |
/// | 1048 | 8 | checksum of the 24 bytes before |
enum LogMark {
  static let offset = 1_024
  static let size = 32

  static func bytes(_ identity: LogIdentity) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size)
    bytes.withUnsafeMutableBytes { buffer in
      buffer.storeBytes(of: LogFormat.magic.littleEndian, toByteOffset: 0, as: UInt64.self)
      buffer.storeBytes(of: identity.high.littleEndian, toByteOffset: 8, as: UInt64.self)
      buffer.storeBytes(of: identity.low.littleEndian, toByteOffset: 16, as: UInt64.self)
      let checksum = LogFormat.checksum(
        UnsafeRawBufferPointer(rebasing: buffer[..<24]), seed: LogFormat.magic)
      buffer.storeBytes(of: checksum.littleEndian, toByteOffset: 24, as: UInt64.self)
    }
    return bytes
  }

  /// Which log the file behind `descriptor` needs; nil when none.
  static func read(_ file: StoreFile, _ descriptor: Int32) throws -> LogIdentity? {
    var bytes = [UInt8](repeating: 0, count: size)
    let count = try bytes.withUnsafeMutableBytes {
      try FileInspection(file: file, descriptor: descriptor).read($0, at: offset)
    }
    guard count == size else { return nil }
    let identity = bytes.withUnsafeBytes { buffer in
      LogIdentity(
        high: UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
        low: UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: 16, as: UInt64.self)))
    }
    return self.bytes(identity) == bytes ? identity : nil
  }

  /// Writes the note, not flushed.
  static func leave(_ identity: LogIdentity, _ file: StoreFile, _ descriptor: Int32) throws {
    try bytes(identity).withUnsafeBytes {
      try file.system.writeAll(descriptor, $0, at: offset, path: file.path)
    }
  }

  /// Removes the note, and flushes that: the log may go afterwards. Returns whether it is gone for good; a note that stays although the log is empty only
  /// costs reading the log.
  static func remove(_ file: StoreFile, _ descriptor: Int32) -> Bool {
    [UInt8](repeating: 0, count: size).withUnsafeBytes { bytes in
      file.system.write(descriptor, bytes, offset) == size
    } && file.system.syncData(descriptor) == 0
  }
}
