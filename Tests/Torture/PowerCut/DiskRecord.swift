import Foundation
import StoreInterposer
import TortureKit

/// Records what this process does to the files of one folder.
enum DiskRecord {
  /// Runs `body` and returns what happened to the files in `folder` meanwhile, in order.
  static func of(_ folder: String, _ body: () throws -> Void) throws -> [DiskEvent] {
    si_watch(folder)
    guard si_record(1) == 0 else { throw TortureViolation("this system cannot record") }
    defer {
      _ = si_record(0)
      si_watch(nil)
    }
    try body()
    _ = si_record(0)
    return try events()
  }

  /// What there is in the record.
  static func events() throws -> [DiskEvent] {
    let count = si_event_count()
    guard count > 0 else { throw TortureViolation("the record is \(count == 0 ? "empty" : "too long")") }
    return try (0..<count).map { try event(si_event_at($0)) }
  }

  /// Notes in the record that the program has come to some point.
  static func mark(_ kind: UInt32, _ value: UInt64) { si_mark(kind, value) }

  private static func event(_ event: si_event) throws -> DiskEvent {
    let payload = UnsafeRawBufferPointer(start: event.payload, count: Int(event.length))
    var text: String { String(decoding: payload, as: UTF8.self) }
    switch Int(event.kind) {
    case SI_OPENED:
      return .opened(
        path: text, inode: event.inode, isNew: event.flags & 1 != 0, isCut: event.flags & 2 != 0)
    case SI_WRITTEN:
      return .written(
        inode: event.inode, offset: Int(event.offset), bytes: Array(payload), isDurable: event.flags & 1 != 0)
    case SI_SYNCED: return event.flags & 1 == 0 ? .synced(inode: event.inode) : .refused(inode: event.inode)
    case SI_TRUNCATED: return .truncated(inode: event.inode, size: Int(event.offset))
    case SI_RENAMED:
      let parts = text.split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2 else { throw TortureViolation("a renaming with \(parts.count) names") }
      return event.flags & 1 != 0
        ? .exchanged(parts[0], parts[1]) : .renamed(from: parts[0], to: parts[1])
    case SI_UNLINKED: return .unlinked(path: text)
    case SI_MARKED: return .marked(kind: event.flags, value: event.offset)
    default: throw TortureViolation("an unknown event \(event.kind)")
    }
  }
}
