import Foundation

/// Which versions of the records of a store of the program's own were handed out, and values that are too large for rows.
package struct RecordVersions {
  private struct Known {
    var version: UInt32
    /// What the store says of that version; nil when it was saved and what the store made of it is not known.
    var stored: UInt64?
    var isGone = false
  }
  private var known: [ManagedObjectID: Known] = [:]
  /// By slot, newest last.
  private var externals: [ManagedObjectID: [Int: [(version: UInt32, bytes: Data)]]] = [:]
  private static let mostKept = 3
  /// Not smaller than any version.
  package private(set) var newest: UInt32 = 1

  package init() {}

  /// The version to hand a record out with, of which the store says `stored`: another one than before when that has changed.
  package mutating func version(_ id: ManagedObjectID, stored: UInt64) -> UInt32 {
    var entry = known[id] ?? Known(version: 1, stored: stored)
    if let before = entry.stored, before != stored || entry.isGone { entry.version += 1 }
    entry.stored = stored
    entry.isGone = false
    known[id] = entry
    newest = max(newest, entry.version)
    return entry.version
  }

  /// A save has written that version.
  package mutating func noteSaved(_ id: ManagedObjectID, _ version: UInt32) {
    known[id] = Known(version: version, stored: nil)
    newest = max(newest, version)
  }

  /// A save has handed the store a record as it was: what the store says of it from now on is the same version.
  package mutating func noteSavedAgain(_ id: ManagedObjectID) { known[id]?.stored = nil }

  /// What the store was given for the version that was saved.
  package mutating func noteStored(_ id: ManagedObjectID, _ stored: UInt64) { known[id]?.stored = stored }

  /// The record is not there any more.
  package mutating func noteGone(_ id: ManagedObjectID) {
    guard var entry = known[id] else { return }
    entry.isGone = true
    known[id] = entry
    externals[id] = nil
  }

  /// Whether the record was there, and is not any more.
  package func isGone(_ id: ManagedObjectID) -> Bool { known[id]?.isGone ?? false }

  /// Whether another version than that was handed out since, or the record has gone.
  package func isNewer(_ id: ManagedObjectID, than version: UInt32) -> Bool {
    known[id].map { $0.isGone || $0.version != version } ?? false
  }

  /// Remembers values that are too large for the row of that version.
  package mutating func keep(_ values: [ExternalValue], of id: ManagedObjectID, version: UInt32) {
    for value in values {
      var kept = externals[id]?[value.slot] ?? []
      kept.removeAll { $0.version == version }
      kept.append((version, value.bytes))
      externals[id, default: [:]][value.slot] = kept.suffix(Self.mostKept)
    }
  }

  /// The value that a row of that version refers to; nil when it is not kept any more.
  package func external(_ id: ManagedObjectID, _ slot: Int, _ version: UInt32) -> Data? {
    externals[id]?[slot]?.last { $0.version == version }?.bytes
  }

  /// The newest value that is kept.
  package func newestExternal(_ id: ManagedObjectID, _ slot: Int) -> Data? {
    externals[id]?[slot]?.last?.bytes
  }
}
