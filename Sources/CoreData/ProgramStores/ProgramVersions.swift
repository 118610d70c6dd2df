import Foundation
import StrataCore

/// Which versions of records were handed out, and values that are too large for rows.
struct ProgramVersions {
  private struct Known {
    var version: UInt32
    /// What the store says of that version; nil when it was saved and not read since.
    var stored: UInt64?
    var isGone = false
  }
  private var known: [NSManagedObjectID: Known] = [:]
  /// By slot, newest last.
  private var externals: [NSManagedObjectID: [Int: [(version: UInt32, bytes: Data)]]] = [:]
  private static let mostKept = 3
  /// Not smaller than any version.
  private(set) var newest: UInt32 = 1

  mutating func version(_ id: NSManagedObjectID, stored: UInt64) -> UInt32 {
    var entry = known[id] ?? Known(version: 1, stored: stored)
    if let before = entry.stored, before != stored || entry.isGone { entry.version += 1 }
    entry.stored = stored
    entry.isGone = false
    known[id] = entry
    newest = max(newest, entry.version)
    return entry.version
  }

  mutating func noteSaved(_ id: NSManagedObjectID, _ version: UInt32) {
    known[id] = Known(version: version, stored: nil)
    newest = max(newest, version)
  }

  mutating func noteGone(_ id: NSManagedObjectID) {
    guard var entry = known[id] else { return }
    entry.isGone = true
    known[id] = entry
    externals[id] = nil
  }

  func isNewer(_ id: NSManagedObjectID, than version: UInt32) -> Bool {
    known[id].map { $0.isGone || $0.version != version } ?? false
  }

  mutating func keep(_ values: [ExternalValue], of id: NSManagedObjectID, version: UInt32) {
    for value in values {
      var kept = externals[id]?[value.slot] ?? []
      kept.removeAll { $0.version == version }
      kept.append((version, value.bytes))
      externals[id, default: [:]][value.slot] = kept.suffix(Self.mostKept)
    }
  }

  /// The value that a row of that version refers to; nil when it is not kept any more.
  func external(_ id: NSManagedObjectID, _ slot: Int, _ version: UInt32) -> Data? {
    externals[id]?[slot]?.last { $0.version == version }?.bytes
  }

  /// The newest value that is kept.
  func newestExternal(_ id: NSManagedObjectID, _ slot: Int) -> Data? { externals[id]?[slot]?.last?.bytes }
}
