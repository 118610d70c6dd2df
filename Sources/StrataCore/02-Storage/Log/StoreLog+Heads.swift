import CLMDBShim
import Foundation

/// The heads of a log that is in force, for the process that holds LMDB's write transaction, or has the store alone.
extension StoreLog {
  /// Finds out whether another process has written a head. False when the log is out of force: everything is in the data file, and the head that says so is durable.
  ///
  /// - Throws: ``StorageError``; nothing is known of the heads then, and the next call begins again.
  func readHead() throws -> Bool {
    let isKnown = try areaBuffer.withUnsafeMutableBytes { buffer in
      let count = file.system.read(descriptor, buffer, LogFormat.headArea.lowerBound)
      if count < 0 { throw StorageError(Int32(-count), "pread", path: file.logPath) }
      guard count == buffer.count, count == headArea.count else { return false }
      // Neither is nil: both are of that size.
      return headArea.withUnsafeBytes { memcmp($0.baseAddress!, buffer.baseAddress!, count) } == 0
    }
    if isKnown {
      try requireWhole(head)
      return head.state == .inForce
    }
    let area = try read(LogFormat.headArea)
    headArea = []
    guard case .head(let found) = LogHead.find(area), found.identity == head.identity,
      try found.state == .empty || size() >= found.fileSize
    else {
      throw StorageError(
        .damaged, operation: "pread", path: file.logPath,
        detail: "The log beside the store was overwritten while the store was open. Nothing was written.")
    }
    try requireWhole(found)
    // Who wrote it may have been killed before it was durable, or its flush may have failed. What follows relies on it.
    if !policy.trustsHeads { try LogFile.ensure(descriptor, found, file) }
    if found.state == .inForce, found.generation != head.generation {
      (tail, chain, lastID, lastIsFlushed) = (
        LogFormat.recordStart, found.generation, found.checkpoint, false
      )
      needsCheckpoint = false
      checkpointPage = Int(clamping: MetaPage(found.anchor).lastPage)
      capacity = found.fileSize
    }
    head = found
    headArea = LogFile.copy(descriptor, found, file)
    return found.state == .inForce
  }

  /// - Throws: ``StorageError`` when the medium may not have what the data file seems to hold.
  private func requireWhole(_ head: LogHead) throws {
    if head.flags.contains(.suspect) { throw suspect(StorageError(EIO, "fdatasync", path: file.path)) }
  }

  /// Puts `next` in force.
  ///
  /// - Throws: ``StorageError``. The medium has either head then, and `readHead` must find out which one counts.
  func replaceHead(_ next: LogHead) throws {
    headArea = []
    head = try LogFile.replace(descriptor, head, by: next, file)
    headArea = LogFile.copy(descriptor, head, file)
  }

  /// Notes that in a new head for other processes, as far as possible.
  func flag(_ flags: LogHead.Flags) {
    var next = head
    next.flags.formUnion(flags)
    if next.flags != head.flags { try? replaceHead(next) }
  }

  func size() throws -> Int {
    switch file.system.statusOfDescriptor(descriptor) {
    case .success(let status): return min(status.size, LogFormat.mostFileBytes)
    case .failure(let code): throw StorageError(code.number, "fstat", path: file.logPath)
    }
  }

  func read(_ range: Range<Int>) throws -> [UInt8] {
    try LogFile.read(descriptor, range, file)
  }
}
