/// One thing that happened to a folder of files.
public enum DiskEvent: Sendable {
  /// A file was opened; a new one with `isNew`, an old one cut to nothing with `isCut`.
  case opened(path: String, inode: UInt64, isNew: Bool, isCut: Bool)
  /// Bytes were written; they were on the medium when the call returned when `isDurable`.
  case written(inode: UInt64, offset: Int, bytes: [UInt8], isDurable: Bool)
  /// A file or the folder was flushed.
  case synced(inode: UInt64)
  /// A flush failed: what was to be flushed may never be, even when later flushes succeed.
  case refused(inode: UInt64)
  case truncated(inode: UInt64, size: Int)
  case renamed(from: String, to: String)
  /// Each of two files got the name of the other, in one step.
  case exchanged(String, String)
  case unlinked(path: String)
  /// Nothing happened to a file, but the program had come that far.
  case marked(kind: UInt32, value: UInt64)
}
